"""The container of cladify's own files: a plain zip archive of one JSON member and some arrays, all uncompressed.

The JSON member says ``format``, ``version``, ``cladify`` (the version that wrote it), whatever figures the format has,
``info``, and ``sha256``, the checksum of the arrays' bytes in the format's order. Arrays are in NumPy's ``.npy`` format
1.0, little-endian, one-dimensional, so that ``numpy.load(path)["parent"]`` works. Nothing in a file is ever executed or
unpickled. The same content always gives the same bytes.

A file is treated as hostile: :func:`members_of` bounds the directory of the archive and checks that every member is
stored uncompressed, inside the file, and apart from all others, so that reading takes no more memory than the file has
bytes. Files are read through their descriptor, never mapped: a file that is cut short meanwhile is an error, not a
crash.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from cladify._kit.arrays import PARSING, aligned
from cladify._kit.atomic import PathLike, atomic_write
from cladify._version import __version__
from cladify.errors import FileError, InvalidInput

__all__ = [
    "Format",
    "Member",
    "first_line",
    "formats_in",
    "members_of",
    "narrow",
    "npy_array",
    "plain",
    "read_member",
]

_META_LIMIT = 2**26
_END = struct.Struct("<4s4H2LH")  # the record at the end of an archive
_END_64 = struct.Struct("<4sQ2H2L4Q")  # the same in 64 bits, before a locator of 20 bytes and the record itself
_LOCAL = struct.Struct("<4s5H3L2H")  # before the content of each member
_MOST_DIRECTORY = 2**16  # bytes
_MOST_NPY_HEADER = 2**16 + 16


class Member(NamedTuple):
    """Where a member of an archive begins (with its header, and its content), its size, and the CRC of its content."""

    offset: int
    start: int
    size: int
    crc: int


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Attributes
    ----------
    name : str
        What ``format`` says; the JSON member is called ``name.json``.
    version : int
        The newest version that can be read, and the one that is written.
    what, writer : str
        For messages: the content of such a file, and the function that writes it.
    dtypes : mapping
        The types that each array may have.
    required : tuple of str
        Arrays without which a file is not whole.
    """

    name: str
    version: int
    what: str
    writer: str
    dtypes: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]

    @property
    def meta(self) -> str:
        return f"{self.name}.json"

    def write(self, path: PathLike, figures: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Write a file; an existing one stays as it was until the new one is complete."""
        meta = {
            "format": self.name,
            "version": self.version,
            "cladify": __version__,
            **figures,
            "sha256": self._checksum(arrays),
        }
        with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_member(self.meta), json.dumps(meta, ensure_ascii=False, indent=1).encode())
            for name, array in arrays.items():
                header = io.BytesIO()
                np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
                with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as out:
                    out.write(header.getvalue())
                    out.write(np.ascontiguousarray(array).data)

    def read(self, path: PathLike, build: Any) -> Any:
        """``build(figures, arrays)`` of a file; anything else than a whole file of this format is a FileError."""
        try:
            with open(path, "rb") as file:
                figures, arrays = self._read(file, path)
            return build(figures, arrays)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
        except InvalidInput as error:
            raise self.refuse(path, str(error)) from None
        except Exception as error:  # hostile archives fail in many ways inside zipfile and json; all mean the same here
            raise self.refuse(path, f"{type(error).__name__}: {first_line(error)}") from None

    def check_version(self, version: Any, what: str) -> None:
        if not isinstance(version, int) or not 1 <= version <= self.version:
            raise FileError(
                f"{what} is a {self.what} in version {version!r} of the format; this cladify reads up to "
                f"{self.version}. Update cladify."
            )

    def refuse(self, path: PathLike, why: str) -> FileError:
        return FileError(
            f"{path} is not a {self.what} that cladify can read: {why.rstrip('.')}. {self.writer} writes such files."
        )

    def _read(self, file: IO[bytes], path: PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        members = members_of(file, file.seek(0, io.SEEK_END))
        if self.meta not in members:
            raise self.refuse(path, f"it has no {self.meta}")
        if members[self.meta].size > _META_LIMIT:
            raise self.refuse(path, f"{self.meta} is larger than {_META_LIMIT} bytes")
        figures = json.loads(read_member(file, self.meta, members))
        good = isinstance(figures, dict) and figures.get("format") == self.name
        if not good or not isinstance(figures.get("info"), dict):
            raise self.refuse(path, f"{self.meta} does not describe a {self.what}")
        self.check_version(figures.get("version"), f"{path}")
        arrays = {name: self._array(file, name, members) for name in self.dtypes if f"{name}.npy" in members}
        missing = [name for name in self.required if name not in arrays]
        if missing:
            raise self.refuse(path, f"it lacks {', '.join(missing)}")
        if self._checksum(arrays) != figures.get("sha256"):
            raise self.refuse(path, "its checksum does not match: the file is damaged. Make it again or use a copy")
        return figures, arrays

    def _array(self, file: IO[bytes], name: str, members: Mapping[str, Member]) -> np.ndarray:
        array = npy_array(name, read_member(file, f"{name}.npy", members))
        if array.dtype.str not in self.dtypes[name] or array.ndim != 1:
            raise InvalidInput(f"{name} has dtype {array.dtype.str} and shape {array.shape}")
        return array

    def _checksum(self, arrays: Mapping[str, np.ndarray]) -> str:
        digest = hashlib.sha256()
        for name in self.dtypes:
            if name in arrays:
                digest.update(np.ascontiguousarray(arrays[name]).data)
        return digest.hexdigest()


class _Part(io.RawIOBase):
    """The first bytes of an open file as a file of their own."""

    def __init__(self, file: IO[bytes], end: int) -> None:
        self.file, self.end, self.at = file, end, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = max(0, offset + (0, self.at, self.end)[whence])
        return self.at

    def readinto(self, buffer: Any) -> int:
        self.file.seek(self.at)
        data = self.file.read(max(0, min(len(buffer), self.end - self.at)))
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def members_of(file: IO[bytes], end: int) -> dict[str, Member]:
    """The members of the zip archive in the first ``end`` bytes of a file, each checked to be whole and by itself."""
    _check_end(file, end)
    try:
        with zipfile.ZipFile(_Part(file, end)) as archive:
            found, directory = archive.infolist(), archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError, struct.error, ValueError, OverflowError) as error:
        raise InvalidInput(f"it is not a zip archive, or it is cut short ({first_line(error)})") from None
    members: dict[str, Member] = {}
    free = 0  # where the next member may begin
    for entry in sorted(found, key=lambda entry: entry.header_offset):
        name = entry.filename
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size or entry.flag_bits & 1:
            raise InvalidInput(f"its member {name!r} is compressed or encrypted")
        file.seek(max(entry.header_offset, 0))
        header = file.read(_LOCAL.size)
        if entry.header_offset < free or len(header) < _LOCAL.size or header[:4] != b"PK\3\4" or name in members:
            raise InvalidInput(f"its member {name!r} overlaps another one or is cut short")
        start = entry.header_offset + _LOCAL.size + sum(_LOCAL.unpack(header)[-2:])
        free = start + entry.file_size
        if free > directory:
            raise InvalidInput(f"its member {name!r} overlaps another one or is cut short")
        members[name] = Member(entry.header_offset, start, entry.file_size, entry.CRC)
    return members


def _check_end(file: IO[bytes], end: int) -> None:
    """Refuse an archive with a directory larger than any that cladify writes, before it is read."""
    file.seek(max(0, end - _END.size - 20 - _END_64.size))
    tail = file.read(end - file.tell())
    if len(tail) < _END.size or tail[-_END.size :][:4] != b"PK\5\6":
        raise InvalidInput("it is not a zip archive, or it is cut short")
    sizes = [_END.unpack(tail[-_END.size :])[5]]
    if tail[-_END.size - 20 :][:4] == b"PK\6\7" and len(tail) == _END.size + 20 + _END_64.size:
        sizes.append(_END_64.unpack(tail[: _END_64.size])[8])
        sizes = [size for size in sizes if size != 0xFFFFFFFF]
    if not sizes or max(sizes) > _MOST_DIRECTORY:
        raise InvalidInput(f"its directory is larger than {_MOST_DIRECTORY} bytes")


def read_member(file: IO[bytes], name: str, members: Mapping[str, Member]) -> bytes:
    """The content of a member, which must be as it was written."""
    member = members[name]
    file.seek(member.start)
    data = file.read(member.size)
    if len(data) != member.size or zlib.crc32(data) != member.crc:
        raise InvalidInput(f"the checksum of {name} does not match: the file is damaged. Use a copy")
    return data


def npy_array(name: str, data: Any) -> np.ndarray:
    """The array in the bytes of a ``.npy`` file of version 1.0: numbers, at most two axes, no more bytes than there."""
    stream = io.BytesIO(bytes(data[:_MOST_NPY_HEADER]))
    if np.lib.format.read_magic(stream) != (1, 0):
        raise InvalidInput(f"{name} is not in .npy format 1.0")
    with PARSING:
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    start = stream.tell()
    n_values = int(np.prod(shape, dtype=object)) if shape else 1
    whole = min(shape, default=0) >= 0 and n_values * dtype.itemsize == len(data) - start
    if dtype.kind not in "iuf" or fortran or len(shape) > 2 or not whole:
        raise InvalidInput(f"{name} has dtype {dtype.str}, shape {shape} and {len(data) - start} bytes")
    return aligned(np.frombuffer(data, dtype, offset=start).reshape(shape))


def formats_in(path: PathLike) -> set[str]:
    """The names of cladify's formats that an archive holds; empty for anything else."""
    try:
        with open(path, "rb") as file:
            names = members_of(file, file.seek(0, io.SEEK_END))
        return {name.removesuffix(".json") for name in names if name.startswith("cladify-")}
    except Exception:  # not an archive, or a damaged one: the reader of the format says what is wrong
        return set()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def narrow(ids: np.ndarray) -> np.ndarray:
    """Integers in half the room where they fit."""
    fits = not ids.size or (ids.min() >= -(2**31) and ids.max() < 2**31)
    return ids.astype("<i4" if fits else "<i8")


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


def plain(value: Any) -> Any:
    """``value`` in a form that JSON holds; values without one become their ``repr``."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return repr(value)
