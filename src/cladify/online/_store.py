"""A folder that holds an online tree: a snapshot, and a journal of what happened since.

``current.json`` names the snapshot and the journal that belong together, and is replaced as a whole; whatever else lies
in the folder is left over from a moment when the power went, and is removed. One object at a time writes: a folder that
is open is refused to others. Opening what an object of this process has saved takes the folder over from it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from cladify.errors import FileError
from cladify.online._journal import Journal

__all__ = ["Store"]

_FORMAT = 1
_GROWN = 64 << 20  # bytes of journal that a snapshot is worth, at least
_saved: WeakValueDictionary[Path, Store] = WeakValueDictionary()  # folders that this process has by save, not by open


class Store:
    """An open folder.

    Parameters
    ----------
    folder : path
    sync : bool
        See :class:`Journal`.
    """

    def __init__(self, folder: Any, *, sync: bool, create: bool) -> None:
        self.folder = Path(folder)
        self.sync = sync
        if create:
            self.folder.mkdir(parents=True, exist_ok=True)
        if not self.folder.is_dir():
            raise FileError(
                f"{self.folder} is not a folder with an online tree; save(folder) or `cladify add` makes one."
            )
        here = self.folder.resolve()
        if not create and (saver := _saved.pop(here, None)) is not None:
            saver.hand_over()
        self._lock = open(self.folder / "lock", "a")  # noqa: SIM115
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise FileError(f"{self.folder} is being written by another object or process; close that first.") from None
        if create:
            _saved[here] = self
        self._journal: Journal | None = None
        self._snapshot_size = 0
        self._number = 0
        self._lost = False

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray], list[bytes]]:
        """The snapshot and the records since; the store then goes on writing after them."""
        current = self._current()
        path = self.folder / current["snapshot"]
        if not path.is_file() or _digest(path) != current["sha256"]:
            raise FileError(f"{path} is damaged or missing; restore the folder from a copy.")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(bytes(arrays.pop("meta")).decode())
        journal = self.folder / current["journal"]
        if not journal.is_file():
            raise FileError(f"{journal} is missing; restore the folder from a copy.")
        records = list(Journal.read(journal))
        self._journal = Journal(journal, sync=self.sync)
        self._snapshot_size, self._number = path.stat().st_size, int(current["number"])
        self._tidy(current)
        return meta, arrays, records

    def _current(self) -> dict[str, Any]:
        path = self.folder / "current.json"
        if not path.is_file():
            raise FileError(
                f"{self.folder} is not a folder with an online tree; save(folder) or `cladify add` makes one."
            )
        try:
            whole = json.loads(path.read_text())
            current = dict(whole["current"])
            good = whole["sha256"] == _digest_text(current)
        except (ValueError, KeyError, TypeError):
            good = False
        if not good:
            raise FileError(f"{path} is damaged; restore the folder from a copy.")
        if current["format"] > _FORMAT:
            raise FileError(f"{self.folder} was written by a newer cladify (format {current['format']}); upgrade.")
        return current

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """A snapshot, and an empty journal after it. The old ones stay until the new ones are safe."""
        self._check_held()
        if (self.folder / "current.json").is_file() and self._journal is None:
            self._number = int(self._current()["number"])
        number = self._number + 1
        snapshot, journal = f"snapshot-{number}.npz", f"journal-{number}.log"
        path = self.folder / snapshot
        try:
            with open(path, "wb") as file:
                np.savez(file, meta=np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8), **arrays)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            (self.folder / journal).write_bytes(b"")
            current = {
                "format": _FORMAT,
                "number": number,
                "snapshot": snapshot,
                "sha256": _digest(path),
                "journal": journal,
            }
            fresh = self.folder / "current.json.new"
            with open(fresh, "w") as text:
                text.write(json.dumps({"current": current, "sha256": _digest_text(current)}))
                text.flush()
                os.fsync(text.fileno())
            os.replace(fresh, self.folder / "current.json")
            _sync_folder(self.folder)
        except OSError as error:
            for half in (path, self.folder / journal, self.folder / "current.json.new"):  # they would fill the disk
                half.unlink(missing_ok=True)
            raise FileError(f"{self.folder} cannot be written ({error.strerror}); the folder is as it was.") from error
        if self._journal is not None:
            self._journal.close()
        self._journal = Journal(self.folder / journal, sync=self.sync)
        self._snapshot_size, self._number = path.stat().st_size, number
        self._tidy(current)

    def append(self, payload: bytes) -> None:
        self._check_held()
        assert self._journal is not None
        self._journal.append(payload)

    @property
    def is_long(self) -> bool:
        """Whether reading the journal would take longer than a snapshot."""
        assert self._journal is not None
        return self._journal.size > max(_GROWN, 2 * self._snapshot_size)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
        self._lock.close()

    def hand_over(self) -> None:
        """Let another object of this process have the folder."""
        self.close()
        self._lost = True

    def _check_held(self) -> None:
        if self._lost:
            raise FileError(
                f"{self.folder} was opened again in this process, and that object writes to it; go on with that one, "
                "or save this one to another folder."
            )

    def __del__(self) -> None:
        # A tree that nobody holds any more lets go of its folder; everything is written already.
        if "_journal" in self.__dict__:
            self.close()

    def _tidy(self, current: dict[str, Any]) -> None:
        for path in [*self.folder.glob("snapshot-*.npz"), *self.folder.glob("journal-*.log")]:
            if path.name not in (current["snapshot"], current["journal"]):
                path.unlink()


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_text(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
