"""The ``.taxonomy`` file: one zip archive with everything a taxonomy knows.

Members are stored uncompressed, so that no more memory is taken than the file has bytes:

``cladify-taxonomy.json``
    ``format`` ("cladify-taxonomy"), ``version``, ``cladify`` (the version that wrote it), ``n_items``, ``names``,
    ``keywords``, ``levels``, ``vectors`` (where they are), ``info``, and ``sha256``: the checksum of every other member
    but the next.
``edits.json``
    ``edits`` and ``undone``. It is the last member, and a new one can be put behind it without touching the rest; see
    :mod:`cladify.taxonomy._append`. In version 1 of the format the header has them.
``items.arrow``
    The items, one column in Arrow's stream format.
``*.npy``
    Arrays in NumPy's format 1.0: ``parent`` and ``height`` of the tree as built, ``full_parent`` and ``full_height`` of
    the tree it was condensed from, ``central``, ``boundary``, ``centres``, ``cohesion``, ``firmness``, ``also_start``,
    ``also_node`` and ``also_share`` (other groups that items belong to), those of the embedder, and from 20 000 items
    on ``words_*``: which items have which words.

Large members are mapped, not copied: what nobody asks for takes no memory.

Nothing in a file is ever executed or unpickled; a file that is cut short, damaged, forged or newer is refused in one
line, and an existing file stays as it was until the new one is complete.
"""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import struct
import sys
import zipfile
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

import cladify
from cladify._kit.atomic import PathLike, atomic_write
from cladify._kit.container import plain
from cladify.data._vectors import aligned
from cladify.errors import FileError, InvalidInput
from cladify.taxonomy._append import EDIT_LISTS, EDITS, HEADER, Stamp, edits_bytes, read_edits, stamp_of, whole_end

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT", "VERSION", "Archive", "read_archive", "release", "write_archive"]

FORMAT = "cladify-taxonomy"
VERSION = 2
_META_LIMIT = 2**28
_MAPPED = 2**22  # bytes from which on a member is mapped
_HEADER = 30 + 20  # bytes before the content of a member: its header, and its sizes in 64 bits
_NOTHING = 0xD935  # the id of a field that aligns
_MOST_HEADER = 2**16 + 16  # of an array in format 1.0
_ITEMS = "items.arrow"
_KINDS = "iuf"


class Archive(NamedTuple):
    """What a file holds, and a stamp of its header: a file with another one holds another taxonomy."""

    meta: dict[str, Any]
    items: pa.Array
    arrays: dict[str, np.ndarray]
    stamp: Stamp


def write_archive(path: PathLike, meta: Mapping[str, Any], items: pa.Array, arrays: Mapping[str, np.ndarray]) -> Stamp:
    """Write a taxonomy's header, items and arrays to ``path``, whole or not at all."""
    edits = {name: meta[name] for name in EDIT_LISTS}
    meta = {name: value for name, value in meta.items() if name not in edits}
    members: dict[str, Any] = {_ITEMS: _arrow_bytes(items)}
    members |= {f"{name}.npy": _npy_bytes(array) for name, array in arrays.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "cladify": cladify.__version__,
        **plain(meta),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(header, ensure_ascii=False, indent=1).encode("utf-8", "replace")
        for name, data in {HEADER: text, **members, EDITS: edits_bytes(edits)}.items():
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.extra = _padding(file.tell() + _HEADER + len(name))
            with archive.open(member, "w", force_zip64=True) as out:
                out.write(data)
        return stamp_of(archive)


def _padding(start: int) -> bytes:
    """A field that says nothing, so long that the content of a member begins at a multiple of 64 bytes."""
    size = -(start + 4) % 64
    return struct.pack("<2H", _NOTHING, size) + bytes(size)


def _arrow_bytes(items: pa.Array) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.table({"item": items})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _npy_bytes(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def read_archive(path: PathLike) -> Archive:
    """Header, items and arrays of the file ``path``; anything else than a whole taxonomy is a FileError."""
    try:
        with open(path, "rb") as file:
            n_bytes = whole_end(file)
            if n_bytes is None:
                raise FileError(not_a_taxonomy(path, "it is not a zip archive, or it is cut short"))
            whole: IO[bytes] = file
            if n_bytes < file.seek(0, io.SEEK_END):  # behind it are edits of which not all got there
                file.seek(0)
                whole = io.BytesIO(file.read(n_bytes))
            with zipfile.ZipFile(whole) as archive:
                return _read(archive, file, n_bytes, path)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
    except Exception as error:  # hostile archives fail in many ways inside zipfile, json and Arrow
        reason = (str(error).splitlines() or [""])[0][:200]
        raise FileError(not_a_taxonomy(path, f"{type(error).__name__}: {reason}")) from None


def _read(archive: zipfile.ZipFile, file: IO[bytes], n_bytes: int, path: PathLike) -> Archive:
    members = {member.filename: member for member in archive.infolist()}
    if HEADER not in members:
        raise FileError(not_a_taxonomy(path, f"it has no {HEADER}"))
    for member in members.values():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size > n_bytes or member.flag_bits & 1:
            raise FileError(not_a_taxonomy(path, f"its member {member.filename!r} is compressed or cut short"))
    if members[HEADER].file_size > _META_LIMIT:
        raise FileError(not_a_taxonomy(path, f"{HEADER} is larger than {_META_LIMIT} bytes"))
    meta = json.loads(archive.read(HEADER))
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise FileError(not_a_taxonomy(path, f"{HEADER} does not describe a taxonomy"))
    version = meta.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise FileError(
            f"{path} is a taxonomy in version {version!r} of the format; this cladify reads up to {VERSION}. "
            "Update cladify."
        )
    sums = meta.get("sha256")
    if not isinstance(sums, dict) or set(sums) != set(members) - {HEADER, EDITS} or _ITEMS not in sums:
        raise FileError(not_a_taxonomy(path, "its members are not those of its header"))
    data = _members(archive, file, n_bytes, {name: members[name] for name in sums})
    for name, expected in sums.items():
        if hashlib.sha256(data[name]).hexdigest() != expected:
            raise FileError(
                not_a_taxonomy(path, f"the checksum of {name} does not match: the file is damaged. Use a copy")
            )
    arrays = {name.removesuffix(".npy"): _array(name, data[name]) for name in sums if name.endswith(".npy")}
    if EDITS in members:
        meta |= read_edits(archive)
    return Archive(meta, _items(data[_ITEMS]), arrays, stamp_of(archive))


def _members(
    archive: zipfile.ZipFile, file: IO[bytes], n_bytes: int, members: Mapping[str, zipfile.ZipInfo]
) -> dict[str, Any]:
    """The content of each member; large ones are mapped where a mapped file can be written anew."""
    large = {name for name, member in members.items() if member.file_size >= _MAPPED and sys.platform != "win32"}
    data: dict[str, Any] = {name: archive.read(name) for name in members if name not in large}
    if large:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        for name in large:
            file.seek(members[name].header_offset + 26)  # the lengths of the name and of more before the content
            start = members[name].header_offset + 30 + sum(struct.unpack("<2H", file.read(4)))
            if start + members[name].file_size > n_bytes:
                raise InvalidInput(f"{name} is cut short")
            data[name] = view[start : start + members[name].file_size]
    return data


def _items(data: Any) -> pa.Array:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        table = reader.read_all()
    table.validate(full=True)  # offsets of a hostile file may point anywhere
    if table.column_names != ["item"]:
        raise InvalidInput("the items are not one column")
    column = table.column("item")
    if column.num_chunks == 1:
        return column.chunk(0)  # as it lies in the file, without a copy
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _array(name: str, data: Any) -> np.ndarray:
    stream = io.BytesIO(bytes(data[:_MOST_HEADER]))
    if np.lib.format.read_magic(stream) != (1, 0):
        raise InvalidInput(f"{name} is not in .npy format 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    start = stream.tell()
    n_values = int(np.prod(shape, dtype=object)) if shape else 1
    if dtype.kind not in _KINDS or fortran or len(shape) > 2 or n_values * dtype.itemsize != len(data) - start:
        raise InvalidInput(f"{name} has dtype {dtype.str}, shape {shape} and {len(data) - start} bytes")
    return aligned(np.frombuffer(data, dtype, offset=start).reshape(shape))


def release(arrays: Iterable[np.ndarray]) -> None:
    """Hand back the memory of mapped arrays, of which the checks have read all; it is mapped again where it is read."""
    maps = set()
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap):
            maps.add(base.obj)
    for mapped in maps:
        if sys.platform != "win32":
            mapped.madvise(mmap.MADV_DONTNEED)


def not_a_taxonomy(path: PathLike, why: str) -> str:
    """The one line for a file that is not what it should be."""
    return f"{path} is not a taxonomy that cladify can read: {why.rstrip('.')}. Taxonomy.save(path) writes such files."
