"""Answers of namers that outlive the process: a cache of answers, and an audit of what was sent.

Both are written before anything else is done with an answer, so that stopping the process at any moment loses none
that was received.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, Self

from cladify._kit.atomic import unwritable
from cladify.errors import FileError

__all__ = ["Answers", "Audit", "check_answers", "check_audit"]

PathLike = str | os.PathLike[str]

#: "clad" as a number: the mark of our files among those of SQLite.
_MARK = 0x636C6164
_START = b"SQLite format 3\0"


class Answers:
    """Answers by a key, in an SQLite file (or in memory without one) that several threads and processes may share."""

    def __init__(self, path: PathLike | None) -> None:
        self._lock = threading.Lock()
        self._path = path
        if path is None:
            self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            self._create()
            return
        check_answers(path)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise unwritable(path, error) from None
        with self._trouble():
            self._database = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
            self._create()

    def _create(self) -> None:
        self._database.execute(f"PRAGMA application_id = {_MARK}")
        self._database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")

    def get(self, key: str) -> str | None:
        """The answer to a question, if it was asked before."""
        with self._lock, self._trouble():
            row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, answer: str) -> None:
        """Keep an answer; it is in the file when this returns."""
        with self._lock, self._trouble():
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FileError(f"the answers in {self._path} cannot be read or written: {error}.") from None


def check_answers(path: PathLike) -> None:
    """Raise where ``path`` is a file of something else, to which answers would be added."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(_START))
        if not start:
            return
        if start == _START:
            with closing(sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)) as database:
                if database.execute("PRAGMA application_id").fetchone()[0] in (_MARK, 0) and _is_ours(database):
                    return
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from None
    except sqlite3.Error:
        pass
    raise FileError(f"{path} is not a file of answers that cladify wrote; give --cache another name.")


def _is_ours(database: sqlite3.Connection) -> bool:
    """Whether there is no table but ours; a process may have been stopped before it made that."""
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} <= {"answers"}


def _quoted(path: PathLike) -> str:
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


class Audit:
    """A file of JSON lines with every question before it is sent, and every answer; only its owner may read it."""

    def __init__(self, path: PathLike | None) -> None:
        self._path = path
        self._file: int | None = None
        if path is not None:
            check_audit(path)
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                if hasattr(os, "fchmod"):
                    os.fchmod(self._file, 0o600)
            except OSError as error:
                raise unwritable(path, error) from None

    def add(self, event: str, **facts: Any) -> None:
        """Add a line, whole or not at all."""
        if self._file is None or self._path is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, **facts}, ensure_ascii=False) + "\n"
        try:
            os.write(self._file, line.encode("utf-8", "replace"))
        except OSError as error:
            raise unwritable(self._path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def check_audit(path: PathLike) -> None:
    """Raise where ``path`` is a file of something else, to which questions would be added."""
    try:
        with open(path, "rb") as file:
            start = file.readline(1 << 20)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from None
    if start and not start.startswith(b'{"time": '):
        raise FileError(f"{path} is not an audit that cladify wrote; give --audit another name.")
