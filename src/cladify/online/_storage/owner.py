"""Who may write to a folder: one open object of one process.

The lock is one of the system: it ends with the process, however that ends. A forked child gets
copies of the object and of its open files, which are made harmless right after the fork: the lock's descriptor is
closed, and the database connection is never closed, because that would clean up under the parent.
"""

from __future__ import annotations

import ctypes
import os
import stat
from pathlib import Path
from typing import Any
from weakref import WeakSet

from cladify._kit.system import OPEN_FLAGS, lock_file
from cladify.errors import FileError

__all__ = ["Owner", "check_plain", "create_plain"]

_owners: WeakSet[Owner] = WeakSet()


class Owner:
    """Holds the lock of a folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.pid = folder, os.getpid()
        self.guarded: Any = None  # a connection that a forked child must not close
        self._file = create_plain(folder / "lock")
        try:
            lock_file(self._file, wait=False)
        except OSError:
            os.close(self._file)
            raise FileError(f"{folder} is being written by another object or process; close that first.") from None
        _owners.add(self)

    @property
    def is_mine(self) -> bool:
        return self.pid == os.getpid()

    def check(self) -> None:
        """Refuses the copy of a forked child."""
        if not self.is_mine:
            raise FileError(
                f"{self.folder} belongs to process {self.pid}; this copy in a forked child cannot write to it. "
                "Change the tree there, or open(folder, read_only=True) here."
            )

    def release(self) -> None:
        if self.is_mine and self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _forked(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self.guarded is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.guarded))


def _after_fork() -> None:
    for owner in list(_owners):
        owner._forked()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_after_fork)


def create_plain(path: Path) -> int:
    """A descriptor of a file that is made, readable by its user only, where it is not there."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, 0o600)
    except OSError as error:
        check_plain(path)
        raise FileError(f"{path} cannot be opened ({error.strerror}).") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileError(f"{path} is not a plain file; remove it.")
    return file


def check_plain(path: Path) -> bool:
    """Whether the file is there; a link or anything else that is no plain file is an error."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror}).") from None
    if not stat.S_ISREG(mode):
        raise FileError(f"{path} is not a plain file (a link?), and is neither read nor written; remove it.")
    return True
