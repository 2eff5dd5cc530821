"""Files that appear whole or not at all.

A result is written to a temporary file in the same folder and moved over the old one only when it is complete and on
disk, so a run that fails, is interrupted or loses power leaves the existing file as it was.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cladify.errors import FileError

__all__ = ["atomic_path", "atomic_write", "check_writable", "unwritable"]

PathLike = str | os.PathLike[str]


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
    target = _resolve(path)
    draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
    try:
        draft.touch(exist_ok=False)
    except OSError as error:
        raise unwritable(target, error) from None
    try:
        yield draft
        _publish(draft, target)
    except OSError as error:
        # An error of some other file that the block touched is not ours to explain.
        if error.filename not in (None, str(draft), str(target)):
            raise
        raise unwritable(target, error) from None
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


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
    with atomic_path(path) as draft, open(draft, mode, **options) as file:
        yield file


def check_writable(path: PathLike, *inputs: PathLike | None) -> None:
    """Raise now, before long work, if ``path`` could not be written at its end, or is one of the files to be read."""
    target = _resolve(path)
    for source in inputs:
        if source is not None and target.exists() and os.path.exists(source) and os.path.samefile(target, source):
            raise FileError(
                f"{path} is read by this command and would be overwritten; choose another name for the result."
            )
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(target, error) from None


def _resolve(path: PathLike) -> Path:
    """The file that ``path`` means, through links, so that replacing it keeps a link a link."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {path}: the folder {target.parent} does not exist; create it first.")
    return target


def _publish(draft: Path, target: Path) -> None:
    with open(draft, "rb+") as file:
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        os.chmod(draft, target.stat().st_mode & 0o777)
    os.replace(draft, target)


def unwritable(target: PathLike, error: OSError) -> FileError:
    """The one line for a file that cannot be written, with the way out."""
    ways_out = {
        errno.EACCES: "choose a folder you may write to",
        errno.EPERM: "choose a folder you may write to",
        errno.EROFS: "choose a folder on a disk that is not read-only",
        errno.ENOSPC: "free some space or choose another disk",
        errno.EDQUOT: "free some space or choose another disk",
        errno.ENAMETOOLONG: "choose a shorter name",
    }
    way_out = ways_out.get(error.errno or 0, "choose another place")
    return FileError(f"cannot write {target}: {error.strerror or error}; {way_out}.")
