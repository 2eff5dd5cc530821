"""Vectors on disk, by model and text: a text that was embedded once is not embedded again.

One SQLite database for all models and runs, in the user's cache folder or ``CLADIFY_CACHE``. It holds hashes of texts
and vectors, no texts; it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from cladify.errors import CladifyWarning

__all__ = ["VectorCache", "cache_path"]

_BATCH = 500


def cache_path() -> Path:
    """Where the vectors are kept."""
    home = os.environ.get("CLADIFY_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "cladify" / "vectors.sqlite"


class VectorCache:
    """Vectors of one model. What cannot be read or written is left out, with a warning: a cache is no result.

    Parameters
    ----------
    model : str
        Name of the model.
    path : path, optional
        By default :func:`cache_path`.
    """

    def __init__(self, model: str, path: Path | None = None) -> None:
        self.model = model
        self.path = cache_path() if path is None else path
        self._database: sqlite3.Connection | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (model TEXT, text BLOB, vector BLOB, PRIMARY KEY (model, text)) "
                "WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def read(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The vectors of those texts that have one."""
        found: dict[str, np.ndarray] = {}
        for start in range(0, len(texts) if self._database is not None else 0, _BATCH):
            by_hash = {_hash(text): text for text in texts[start : start + _BATCH]}
            query = f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({', '.join('?' * len(by_hash))})"
            try:
                assert self._database is not None
                rows = self._database.execute(query, (self.model, *by_hash)).fetchall()
            except sqlite3.Error as error:
                self._give_up(error)
                break
            for key, vector in rows:
                if len(vector) and len(vector) % 4 == 0:
                    found[by_hash[key]] = np.frombuffer(vector, "<f4")
        return found

    def write(self, texts: Iterable[str], vectors: np.ndarray) -> None:
        """Keep vectors; they are there after a crash once this has returned."""
        if self._database is None:
            return
        rows = [(self.model, _hash(t), v.astype("<f4").tobytes()) for t, v in zip(texts, vectors, strict=True)]
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            self._give_up(error)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _give_up(self, error: Exception) -> None:
        self.close()
        warnings.warn(
            f"vectors are not kept for the next run: {self.path}: {error}. Delete the file, or set CLADIFY_CACHE to "
            "another folder.",
            CladifyWarning,
            stacklevel=6,
        )


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
