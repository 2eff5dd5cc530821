"""Files that appear whole or not at all, and never in place of a file that is being read.

A result is written to a temporary file in the same folder and moved over the old one only when it is complete and on
disk, so a run that fails, is interrupted or loses power leaves the existing file as it was.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from cladify._kit.system import OPEN_FLAGS, on_windows
from cladify.errors import FileError

__all__ = ["atomic_path", "atomic_write", "check_not_input", "check_writable", "protected", "unwritable"]

PathLike = str | os.PathLike[str]

#: Files and folders that no result may replace; see :func:`protected`.
_INPUTS: ContextVar[tuple[PathLike, ...]] = ContextVar("inputs", default=())


@contextmanager
def protected(inputs: Iterable[PathLike]) -> Iterator[None]:
    """Within the block, no file is written over one of ``inputs``, whatever name or link leads to it."""
    token = _INPUTS.set((*_INPUTS.get(), *inputs))
    try:
        yield
    finally:
        _INPUTS.reset(token)


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """A temporary path beside ``path`` to write to; it becomes ``path`` when the block ends without an error.

    For writers that want a file name; see :func:`atomic_write` for an open file.

    >>> from tempfile import mkdtemp
    >>> target = Path(mkdtemp()) / "labels.txt"
    >>> with atomic_path(target) as draft:
    ...     _ = draft.write_text("0 0 1")
    >>> target.read_text()
    '0 0 1'
    """
    with _draft(path) as (draft, descriptor):
        os.close(descriptor)
        yield draft


@contextmanager
def atomic_write(path: PathLike, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """An open file that becomes ``path`` when the block ends without an error; text is UTF-8.

    >>> from tempfile import mkdtemp
    >>> target = Path(mkdtemp()) / "tree.nwk"
    >>> with atomic_write(target, "w") as file:
    ...     _ = file.write("(0,1);")
    >>> target.read_text()
    '(0,1);'
    """
    if "b" not in mode:
        options.setdefault("encoding", "utf-8")
        options.setdefault("newline", "")
    with _draft(path) as (_, descriptor), open(descriptor, mode, **options) as file:
        yield file


@contextmanager
def _draft(path: PathLike) -> Iterator[tuple[Path, int]]:
    """A new file beside ``path``, and its descriptor, which the block closes; published at the end of the block."""
    target = _resolve(path)
    draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
    try:
        # Exclusive: a file or a link that somebody put under this name is an error, and is not followed.
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o666)
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        yield draft, descriptor
        _publish(draft, target)
    except OSError as error:
        # An error of some other file that the block touched is not explained as one of this file.
        if error.filename not in (None, str(draft), str(target)):
            raise
        raise unwritable(target, error) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def check_writable(path: PathLike, *inputs: PathLike | None) -> None:
    """Raise now, before long work, if ``path`` could not be written at its end, or is one of the files to be read."""
    with protected(source for source in inputs if source is not None):
        target = _resolve(path)
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(target, error) from None


def check_not_input(path: PathLike, inputs: Iterable[PathLike]) -> None:
    """Raise if writing ``path`` would replace one of ``inputs``: the same file by device and inode, or one within."""
    if not os.path.exists(path):
        return
    for source in inputs:
        if os.path.exists(source) and os.path.samefile(path, source):
            raise FileError(
                f"{path} is read by this command and would be overwritten; choose another name for the result."
            )
        if os.path.isdir(source) and any(os.path.samefile(folder, source) for folder in _folders_of(path)):
            raise FileError(
                f"{path} lies in the folder {source}, which this command reads, and would be overwritten; "
                "choose another name for the result."
            )


def _folders_of(path: PathLike) -> list[Path]:
    return list(Path(os.path.realpath(path)).parents)


def _resolve(path: PathLike) -> Path:
    """The file that ``path`` names, through links, so that replacing it keeps a link a link."""
    target = Path(os.path.realpath(path))
    check_not_input(path, _INPUTS.get())
    if target.is_dir():
        raise FileError(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {path}: the folder {target.parent} does not exist; create it first.")
    return target


def _publish(draft: Path, target: Path) -> None:
    descriptor = os.open(draft, os.O_RDWR | OPEN_FLAGS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    with suppress(FileNotFoundError):
        os.chmod(draft, target.stat().st_mode & 0o777)
    os.replace(draft, target)
    # The new name must survive a power cut, too; not every system can sync a folder.
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def unwritable(target: PathLike, error: OSError) -> FileError:
    """The error for a file that cannot be written, with the way out."""
    ways_out = {
        errno.EACCES: "choose a folder you may write to",
        errno.EPERM: "choose a folder you may write to",
        errno.EROFS: "choose a folder on a disk that is not read-only",
        errno.ENOSPC: "free some space or choose another disk",
        errno.EDQUOT: "free some space or choose another disk",
        errno.ENAMETOOLONG: "choose a shorter name",
    }
    if on_windows():
        ways_out[errno.EACCES] = "close it in other programs, or choose a folder you may write to"
    way_out = ways_out.get(error.errno or 0, "choose another place")
    return FileError(f"cannot write {target}: {error.strerror or error}; {way_out}.")
