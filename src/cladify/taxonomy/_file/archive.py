"""The ``.taxonomy`` file: one zip archive with everything a taxonomy knows.

Members are stored uncompressed:

``cladify-taxonomy.json``
    ``format`` ("cladify-taxonomy"), ``version``, ``cladify`` (the version that wrote it), ``n_items``, ``names``,
    ``keywords``, ``levels``, ``vectors`` (where they are), ``info``, and ``sha256``: the checksum of every other member
    but the next.
``edits.json``
    ``edits`` and ``undone``. It is the last member, and a new one can be appended without touching the rest; see
    :mod:`cladify.taxonomy._file.journal`.
``items.arrow``
    A table in Arrow's stream format, not compressed: the column ``item``, ``id.0``, ``id.1``, … where the items have
    ids, and ``column.0``, … for all columns that came with them. Their names are in the header.
``*.npy``
    Arrays in NumPy's format 1.0; :data:`cladify.taxonomy._file.store.RULES` has them all.

A file is treated as hostile (:mod:`cladify._kit.container`): nothing in it is executed or unpickled, and a file that is
cut short, damaged, forged or newer is refused in one line. Everything is read into memory, nothing is mapped: another
process may cut the file short at any time. An existing file stays as it was until the new one is complete.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

import cladify
from cladify._kit import system
from cladify._kit.atomic import PathLike, atomic_write, unwritable
from cladify._kit.container import Member, first_line, members_of, npy_array, plain, read_member
from cladify._kit.files import instead
from cladify._kit.parallel import map_blocks
from cladify.errors import FileError, InvalidInput
from cladify.io._ipc import unpacked_bytes
from cladify.taxonomy._edits import Edits
from cladify.taxonomy._file.journal import (
    EDITS,
    HEADER,
    Stamp,
    check_stamp,
    edits_bytes,
    locked,
    read_edits,
    stamp_of,
    whole_ends,
)
from cladify.taxonomy._items import is_plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT", "VERSION", "Archive", "read_archive", "refusing", "write_archive"]

FORMAT = "cladify-taxonomy"
VERSION = 3
_META_LIMIT = 2**28
_LONG = ("keywords", "past")  # made of plain values, and of many
_LINES = (",\n     ", ": ")  # in room, for `_header`; an indent would take a coder that is ten times as slow
_HEADER = 30 + 20  # bytes before the content of a member: its header, and its sizes in 64 bits
_NOTHING = 0xD935  # the id of a field that aligns
_ITEMS = "items.arrow"


class Archive(NamedTuple):
    """The content of a file, and its stamp. ``items`` is None where they are damaged; their columns are named there."""

    meta: dict[str, Any]
    items: pa.Table | None
    arrays: dict[str, np.ndarray]
    edits: Edits
    stamp: Stamp


def write_archive(
    path: PathLike,
    meta: Mapping[str, Any],
    items: pa.Table,
    arrays: Mapping[str, np.ndarray],
    edits: Edits,
    expected: Stamp | None = None,
) -> Stamp:
    """Write a taxonomy to ``path``, whole or not at all; a file there must have the stamp ``expected``, if given."""
    members: dict[str, Any] = {_ITEMS: _arrow_bytes(items)}
    members |= {f"{name}.npy": _npy_bytes(array) for name, array in arrays.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "cladify": cladify.__version__,
        **{key: value if key in _LONG else plain(value) for key, value in meta.items()},
        "sha256": dict(zip(members, map_blocks(_sha256, members.values()), strict=True)),
    }
    text = json.dumps(header, ensure_ascii=False, default=plain, separators=_LINES).encode("utf-8", "replace")
    try:
        with locked(path) as old:
            if old is not None and expected is not None:
                check_stamp(old, expected, path)
            if old is not None and system.on_windows():  # which replaces no open file
                old.close()
            with atomic_write(path, "w+b") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                    for name, data in {HEADER: text, **members, EDITS: edits_bytes(edits)}.items():
                        member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
                        member.extra = _padding(file.tell() + _HEADER + len(name))
                        with archive.open(member, "w", force_zip64=True) as out:
                            out.write(data)
                return stamp_of(members_of(file, file.seek(0, io.SEEK_END)))
    except OSError as error:
        raise unwritable(path, error) from None


def _sha256(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def _padding(start: int) -> bytes:
    """A field without meaning, so long that the content of a member begins at a multiple of 64 bytes."""
    size = -(start + 4) % 64
    return struct.pack("<2H", _NOTHING, size) + bytes(size)


def _arrow_bytes(table: pa.Table) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _npy_bytes(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return out.getvalue()


@contextmanager
def refusing(path: PathLike) -> Iterator[None]:
    """Turns whatever a damaged or hostile file raises into one line about that file."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
    except Exception as error:  # zipfile, json, NumPy and Arrow fail in many ways
        kind = "" if isinstance(error, InvalidInput) else f"{type(error).__name__}: "
        why = f"it lacks {error}" if isinstance(error, KeyError) else kind + first_line(error)
        raise FileError(
            f"{path} is not a taxonomy that cladify can read: {why.rstrip('.')}. Taxonomy.save(path) writes such files."
        ) from None


def read_archive(path: PathLike, lost: list[str] | None = None) -> Archive:
    """The content of the file ``path``; anything else than a whole taxonomy raises.

    With ``lost``, members that are damaged are left out and named there.
    """
    with open(path, "rb") as file:
        end = next(whole_ends(file), None)
        if end is None:
            file.seek(0)
            if file.read(2) not in (b"PK", b"") and Path(path).suffix.lower() != ".taxonomy":
                raise FileError(f"{path} is not a taxonomy, which Taxonomy.save(path) writes.{instead(path)}")
            raise InvalidInput("it is not a zip archive, or it is cut short")
        try:
            return _read(file, end, path, lost)
        except InvalidInput as error:
            if lost is None:
                raise
            if isinstance(error, FileError):
                raise
            lost[:] = [f"the last edits: {first_line(error)}"]
            older = next((older for older in whole_ends(file) if older < end), None)
            return _read(file, end if older is None else older, path, lost, with_edits=older is not None)


def _read(file: IO[bytes], end: int, path: PathLike, lost: list[str] | None, *, with_edits: bool = True) -> Archive:
    members = members_of(file, end)
    try:
        meta = _header(file, members, path)
    except Exception as error:
        if lost is None or isinstance(error, FileError):
            raise
        lost.append(f"{HEADER}: {first_line(error)}")
        meta = {"sha256": dict.fromkeys(set(members) - {HEADER, EDITS})}
    edits = read_edits(file, members) if with_edits else Edits()
    sums = meta.get("sha256")
    if not isinstance(sums, dict) or (lost is None and set(sums) != set(members) - {HEADER, EDITS}):
        raise InvalidInput("its members are not those of its header")
    items, arrays = None, {}
    for name, expected in sums.items():
        try:
            data = read_member(file, name, members)
            if (expected is not None or lost is None) and hashlib.sha256(data).hexdigest() != expected:
                raise InvalidInput(f"the checksum of {name} does not match: the file is damaged. Use a copy")
            if name == _ITEMS:
                items = _items(data)
            elif name.endswith(".npy"):
                arrays[name.removesuffix(".npy")] = npy_array(name, data)
        except Exception as error:
            if lost is None:
                raise
            lost.append(f"{name}: {first_line(error)}")
    if items is None and lost is None:
        raise InvalidInput(f"it has no {_ITEMS}")
    return Archive(meta, items, arrays, edits, stamp_of(members))


def _header(file: IO[bytes], members: dict[str, Member], path: PathLike) -> dict[str, Any]:
    if HEADER not in members:
        raise InvalidInput(f"it has no {HEADER}")
    if members[HEADER].size > _META_LIMIT:
        raise InvalidInput(f"{HEADER} is larger than {_META_LIMIT} bytes")
    text = read_member(file, HEADER, members)
    # Parsed values take about 60 bytes each; in a header that cladify wrote, one has 8 bytes or more.
    if len(text) > 2**20 and 4 * (text.count(b",") + text.count(b"[") + text.count(b"{")) > len(text):
        raise InvalidInput(f"{HEADER} has too many values for its size")
    meta = json.loads(text)
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise InvalidInput(f"{HEADER} does not describe a taxonomy")
    version = meta.get("version")
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        raise FileError(
            f"{path} is a taxonomy in version {str(version)[:20]!r} of the format; this cladify reads {VERSION}. "
            + ("Update cladify." if newer else "Make it again.")
        )
    return meta


def _items(data: bytes) -> pa.Table:
    import pyarrow as pa

    buffer = pa.py_buffer(data)
    if unpacked_bytes(buffer, 0):
        raise InvalidInput("its items are compressed")
    with pa.ipc.open_stream(buffer) as reader:
        schema = reader.schema
        if schema.names[:1] != ["item"] or len(set(schema.names)) != len(schema):
            raise InvalidInput("its items are not a table with a column 'item'")
        if not all(is_plain(field.type) for field in schema):
            raise InvalidInput("its items are not columns of plain values")
        batches, n_bytes = [], 0
        for batch in reader:
            n_bytes += batch.nbytes
            if n_bytes > len(data):
                raise InvalidInput("its items take more bytes than the file has")
            batch.validate(full=True)  # offsets of a hostile file may point anywhere
            batches.append(batch)
    items = pa.Table.from_batches(batches, schema).combine_chunks()
    for column in items.columns:
        _check_values(column)
    return items


def _check_values(column: pa.ChunkedArray) -> None:
    """Dates out of range and the like are found now. A million Python values would take more memory than the file."""
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_floating(kind):
        return
    if types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None and kind.unit != "ns"):
        pc.min_max(column).as_py()  # between two dates that Python has there are no others
        return
    column.to_pylist()
