"""Edits put behind what a ``.taxonomy`` file holds already, so that saving one takes milliseconds at any size.

A zip archive ends with a directory of its members. New edits are written **behind** the old end: a member with the
whole list of edits, and a new directory that names it in the place of the old one. Until the last byte is there, the
file is read up to its old end, so a crash at any time leaves a readable file; no byte that was there is ever changed.
What old lists and directories take is given back when the file is written anew, which happens when it gets too much.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import struct
import sys
import zipfile
from collections.abc import Mapping
from typing import IO, Any

from cladify._kit.atomic import PathLike, unwritable
from cladify._kit.container import plain
from cladify.errors import InvalidInput

__all__ = [
    "EDITS",
    "EDIT_LISTS",
    "HEADER",
    "Stamp",
    "append_edits",
    "edits_bytes",
    "read_edits",
    "stamp_of",
    "whole_end",
]

HEADER = "cladify-taxonomy.json"
EDITS = "edits.json"
EDIT_LISTS = ("edits", "undone")
Stamp = tuple[int, int]
_EDITS_LIMIT = 2**26
_MOST_WASTE = 2**20  # bytes, and a quarter of the rest
_END = struct.Struct("<4s4H2LH")  # the record at the end of an archive
_SIGNATURE, _LOCATOR = b"PK\5\6", b"PK\6\7"
_RECORDS_64 = 56 + 20  # bytes between directory and end in archives of gigabytes
_TRIES = 100  # ends that are looked at; the bytes of one may stand anywhere by chance


def append_edits(path: PathLike, stamp: Stamp | None, edits: Mapping[str, Any]) -> bool:
    """Write edits behind the taxonomy in ``path``; False where it must be written as a whole.

    That is where there is no such file, where it holds another taxonomy than the one with this stamp, and where old
    edits take too much of it.
    """
    if stamp is None or sys.platform == "win32":
        return False
    import fcntl

    try:
        file = open(path, "r+b")  # noqa: SIM115
    except OSError:  # writing it as a whole may do, or says what is wrong
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        except OSError:  # some network disks have no locks, and two at a time would write over each other
            return False
        end = whole_end(file)
        if end is None:
            return False
        try:
            file.truncate(end)  # what a crash has left behind it
            with zipfile.ZipFile(file, "a") as archive:
                if stamp_of(archive) != stamp or _waste(archive, end) > _MOST_WASTE + end // 4:
                    return False
                archive.filelist = [member for member in archive.filelist if member.filename != EDITS]
                archive.NameToInfo.pop(EDITS, None)
                archive.start_dir = end  # zipfile itself would write over the old directory
                archive.writestr(zipfile.ZipInfo(EDITS, date_time=(1980, 1, 1, 0, 0, 0)), edits_bytes(edits))
            file.flush()
            os.fsync(file.fileno())
        except zipfile.BadZipFile:
            return False
        except OSError as error:
            file.truncate(end)
            raise unwritable(path, error) from None
    return True


def _waste(archive: zipfile.ZipFile, end: int) -> int:
    return end - sum(member.file_size for member in archive.infolist())


def edits_bytes(edits: Mapping[str, Any]) -> bytes:
    """Edits as a member of the file."""
    return json.dumps(plain(dict(edits)), ensure_ascii=False).encode("utf-8", "replace")


def read_edits(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The lists of edits in an archive; zip's own checksum says whether they are as they were written."""
    if archive.getinfo(EDITS).file_size > _EDITS_LIMIT:
        raise InvalidInput(f"{EDITS} is larger than {_EDITS_LIMIT} bytes")
    edits = json.loads(archive.read(EDITS))
    if not isinstance(edits, dict) or set(edits) != set(EDIT_LISTS):
        raise InvalidInput(f"{EDITS} does not hold edits")
    return edits


def stamp_of(archive: zipfile.ZipFile) -> Stamp:
    """Checksum and size of an archive's header, which has the checksums of everything else."""
    header = archive.NameToInfo.get(HEADER)
    return (0, 0) if header is None else (header.CRC, header.file_size)


def whole_end(file: IO[bytes]) -> int | None:
    """Where the last whole archive in a file ends; None if there is none."""
    n_bytes = file.seek(0, io.SEEK_END)
    if n_bytes < _END.size:
        return None
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        at = n_bytes
        for _ in range(_TRIES):
            at = view.rfind(_SIGNATURE, 0, at + len(_SIGNATURE) - 1)
            if at < 0:
                return None
            if _is_end(view, at):
                return at + _END.size
    return None


def _is_end(view: mmap.mmap, at: int) -> bool:
    """Whether the record of an end follows its directory, as it does where an archive is whole."""
    if at + _END.size > len(view):
        return False
    *_, size, start, comment = _END.unpack(view[at : at + _END.size])
    if view[at - 20 : at - 16] == _LOCATOR:
        return bool(comment == 0 and (start == 0xFFFFFFFF or start + size + _RECORDS_64 == at))
    return bool(comment == 0 and start + size == at)
