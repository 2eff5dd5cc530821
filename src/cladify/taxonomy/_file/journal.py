"""Edits appended to a ``.taxonomy`` file, so that saving one takes milliseconds at any size.

A zip archive ends with a directory of its members. New edits are written **behind** the old end: a member with the
whole list of edits, and a new directory that names it in the place of the old one. Until the last byte is there, the
file is read up to its old end, so a crash at any time leaves a readable file; no byte that was there is ever changed.
The room that old lists take is given back when the file is written as a whole, which happens when it gets too much.

Writers exclude each other by a lock on the file, and compare its :class:`Stamp` with the one that they know: where
another writer was there first, the edits are refused with :class:`~cladify.errors.Stale`, and nothing is lost.
"""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, NamedTuple

from cladify._kit.atomic import PathLike, unwritable
from cladify._kit.container import Member, members_of, read_member
from cladify._kit.system import lock_file
from cladify.errors import InvalidInput, Stale
from cladify.taxonomy._edits import Edits

__all__ = [
    "EDITS",
    "HEADER",
    "Stamp",
    "append_edits",
    "check_stamp",
    "edits_bytes",
    "locked",
    "read_edits",
    "stamp_of",
    "whole_ends",
]

HEADER = "cladify-taxonomy.json"
EDITS = "edits.json"
_EDITS_LIMIT = 2**26
_MOST_WASTE = 2**20  # bytes, and a quarter of the rest
_END = struct.Struct("<4s4H2LH")  # the record at the end of an archive
_SIGNATURE, _LOCATOR = b"PK\5\6", b"PK\6\7"
_RECORDS_64 = 56 + 20  # bytes between directory and end in archives of gigabytes
_TRIES = 100  # ends that are looked at; the bytes of one may stand anywhere by chance
_CHUNK = 2**16


class Stamp(NamedTuple):
    """Identifies one state of a file: its header, which has the checksums of all other members, and its edits."""

    header: Member
    edits: Member


@contextmanager
def locked(path: PathLike, mode: str = "rb") -> Iterator[IO[bytes] | None]:
    """The file at ``path``, which no other writer changes or replaces meanwhile; None if there is none.

    Where the system or the disk has no locks, a file to read comes without one, and one to change does not come.
    """
    while True:
        try:
            file = open(path, mode)  # noqa: SIM115
        except FileNotFoundError:
            yield None
            return
        with file:
            if not _lock(file) and mode != "rb":
                yield None
                return
            try:
                current = os.path.samestat(os.fstat(file.fileno()), os.stat(path))
            except FileNotFoundError:
                current = False
            if current:  # else it was replaced while we waited
                yield file
                return


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; False where there are no locks, as on some network disks."""
    try:
        lock_file(file.fileno(), wait=True)
    except OSError:
        return False
    return True


def check_stamp(file: IO[bytes], stamp: Stamp, path: PathLike) -> int:
    """The end of the archive in an open file, which must be the one with this stamp."""
    end = next(whole_ends(file), None)
    try:
        now = None if end is None else stamp_of(members_of(file, end))
    except InvalidInput:
        now = None
    if end is None or now is None or now.header[2:] != stamp.header[2:]:
        raise Stale(
            f"{path} holds something else than when it was read; nothing was written. "
            "Load it again, or save under another name."
        )
    if now.edits != stamp.edits:
        raise Stale(f"{path} was changed by another; nothing was written. Load it again and repeat the edit.")
    return end


def append_edits(path: PathLike, stamp: Stamp, edits: Edits) -> Stamp | None:
    """Write edits behind the taxonomy in ``path``, and return its new stamp; None where it must be written as a whole.

    That is where there is no such file, where it may not be changed in place, and where old edits take too much room.
    """
    try:
        with locked(path, "r+b") as file:
            if file is None:
                return None
            end = check_stamp(file, stamp, path)
            members = members_of(file, end)
            if end - sum(member.size for member in members.values()) > _MOST_WASTE + end // 4:
                return None
            return _append(file, end, members, edits_bytes(edits))
    except PermissionError:
        return None
    except OSError as error:
        raise unwritable(path, error) from None


def _append(file: IO[bytes], end: int, members: dict[str, Member], data: bytes) -> Stamp:
    try:
        file.truncate(end)  # removes what an interrupted writer left
        with zipfile.ZipFile(file, "a") as archive:
            if set(archive.namelist()) != set(members):  # zipfile starts a new archive where it cannot read the old one
                raise OSError(errno.EIO, "its directory cannot be read")
            archive.filelist = [member for member in archive.filelist if member.filename != EDITS]
            archive.NameToInfo.pop(EDITS, None)
            archive.start_dir = end  # zipfile itself would write over the old directory
            archive.writestr(zipfile.ZipInfo(EDITS, date_time=(1980, 1, 1, 0, 0, 0)), data)
        file.flush()
        os.fsync(file.fileno())
        return stamp_of(members_of(file, file.seek(0, io.SEEK_END)))
    except BaseException:
        with suppress(OSError):
            file.truncate(end)
        raise


def edits_bytes(edits: Edits) -> bytes:
    """Edits as a member of the file."""
    return json.dumps(edits.to_dict(), ensure_ascii=False).encode("utf-8", "replace")


def read_edits(file: IO[bytes], members: dict[str, Member]) -> Edits:
    """The edits in an archive."""
    if EDITS not in members:
        raise InvalidInput(f"it has no {EDITS}")
    if members[EDITS].size > _EDITS_LIMIT:
        raise InvalidInput(f"{EDITS} is larger than {_EDITS_LIMIT} bytes")
    return Edits.from_dict(json.loads(read_member(file, EDITS, members)))


def stamp_of(members: dict[str, Member]) -> Stamp:
    """The stamp of an archive."""
    nothing = Member(0, 0, 0, 0)
    return Stamp(members.get(HEADER, nothing), members.get(EDITS, nothing))


def whole_ends(file: IO[bytes]) -> Iterator[int]:
    """Where whole archives in a file end, the last one first."""
    at = file.seek(0, io.SEEK_END)  # everything from here on has been searched
    tail = b""
    tries = 0
    while at > 0 and tries < _TRIES:
        begin = max(0, at - _CHUNK)
        file.seek(begin)
        chunk = file.read(at - begin) + tail[: len(_SIGNATURE) - 1]
        found = chunk.rfind(_SIGNATURE)
        while found >= 0 and tries < _TRIES:
            tries += 1
            if _is_end(file, begin + found):
                yield begin + found + _END.size
            found = chunk.rfind(_SIGNATURE, 0, found + len(_SIGNATURE) - 1)
        at, tail = begin, chunk


def _is_end(file: IO[bytes], at: int) -> bool:
    """Whether the record of an end follows its directory, as it does where an archive is whole."""
    before = min(at, 20)
    file.seek(at - before)
    data = file.read(before + _END.size)
    if len(data) < before + _END.size:
        return False
    *_, size, start, comment = _END.unpack(data[before:])
    if data[:4] == _LOCATOR and before == 20:
        return bool(comment == 0 and (start == 0xFFFFFFFF or start + size + _RECORDS_64 == at))
    return bool(comment == 0 and start + size == at)
