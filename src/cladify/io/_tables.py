"""Tables through Arrow: ``.parquet``, ``.arrow`` / ``.feather`` and ``.csv`` / ``.tsv``.

Vectors are one column of lists of equal length, or several number columns. Batches are copied straight into the
result, so a file larger than half the memory can be read; an Arrow file with a single batch of fixed-size lists is not
copied at all.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.files import Columns, PathLike, listing, missing_column
from cladify._kit.memory import check_memory
from cladify.errors import CladifyWarning, FileError
from cladify.io._csv import TextTable
from cladify.io._ipc import unpacked_bytes

if TYPE_CHECKING:
    import pyarrow as pa

ARROW = (".arrow", ".feather", ".ipc")
KINDS = (".parquet", *ARROW, ".csv", ".tsv")

#: A Parquet file is read in about so many passes, a few columns each.
_PASSES = 16

#: Number columns with these names are not coordinates unless they are asked for.
NOT_COORDINATES = {"", "id", "index", "y", "label", "labels", "class", "target", "cluster", "__index_level_0__"}


@dataclass(frozen=True)
class Table:
    """A table read batch by batch: its columns, at most how many rows it has, and the batches of some columns."""

    schema: pa.Schema
    max_rows: int
    batches: Any  # (columns) -> iterator of pyarrow.RecordBatch
    first_row: int = 0  # of the file, where only a part of it is read
    column_bytes: Mapping[str, int] = field(default_factory=dict)  # of columns that can be read one by one


#: Text tables have the same attributes; their types are guessed, so that a float column may look like integers.
AnyTable = Table | TextTable


@contextmanager
def open_table(path: PathLike, kind: str, row_groups: Sequence[int] | None = None) -> Iterator[AnyTable]:
    """The table in a file of any of :data:`KINDS`; of a Parquet file, the consecutive row groups asked for."""
    if kind == ".parquet":
        import pyarrow.parquet as pq

        # Without the buffer, a whole row group lies in memory beside what is made of it.
        with pq.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as parquet:
            groups = None if row_groups is None else list(row_groups)

            def some(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
                return parquet.iter_batches(batch_size=8192, row_groups=groups, columns=list(columns))

            rows = [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]
            first = 0 if not groups else sum(rows[: groups[0]])
            count = parquet.metadata.num_rows if groups is None else sum(rows[i] for i in groups)
            size = _column_bytes(parquet.metadata, parquet.schema_arrow.names)
            yield Table(parquet.schema_arrow, max(0, count), some, first_row=first, column_bytes=size)
    elif kind in ARROW:
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            stream = source.read(6) != b"ARROW1"
            source.seek(0)
            need = unpacked_bytes(source.read_buffer(), 0 if stream else 8)
            check_memory(need, f"{path}, unpacked,", "read it in parts, or save its vectors as .npy.")
            source.seek(0)
            reader = pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)
            parts = list(reader) if stream else [reader.get_batch(i) for i in range(reader.num_record_batches)]
            for part in parts:
                part.validate(full=True)  # offsets of a hostile file may point anywhere
            parts = [without_views(part) for part in parts]
            schema = parts[0].schema if parts else reader.schema
            yield Table(schema, sum(part.num_rows for part in parts), lambda names: (p.select(names) for p in parts))
    else:
        yield TextTable(path, kind)


def without_views(rows: Any) -> Any:
    """A table or batch whose texts are arrays, not views as polars has: Arrow can sort and join these."""
    if not any(_has_views(field.type) for field in rows.schema):
        return rows
    columns = [
        _without_views(column) if _has_views(field.type) else column
        for field, column in zip(rows.schema, rows.columns, strict=True)
    ]
    return type(rows).from_arrays(columns, names=rows.schema.names)


def _has_views(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _without_views(column: Any) -> Any:
    import pyarrow as pa

    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kind = pa.large_string() if pa.types.is_string_view(values) else pa.large_binary()
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_without_views(chunk) for chunk in column.chunks], kind)
    if pa.types.is_dictionary(column.type):
        return _without_views(column.dictionary).take(column.indices)
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:  # early versions have views, and no cast of them
        return pa.array(column.to_pylist(), kind)


def _column_bytes(metadata: Any, names: Sequence[str]) -> dict[str, int]:
    """About how much memory each column of a Parquet file takes; parts of nested ones are added up.

    Nothing where a name could also be a part of another column: these can only be read together.
    """
    found = dict.fromkeys(names, 1)
    for name in names:
        while "." in name:
            name = name.rpartition(".")[0]
            if name in found:
                return {}
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            part = group.column(j)
            name = part.path_in_schema
            while name not in found and "." in name:
                name = name.rpartition(".")[0]
            if name in found:
                # A column of few values takes next to nothing in the file, and as much as any other in memory.
                found[name] += max(part.total_uncompressed_size, 8 * part.num_values)
    return found


def read_table_vectors(
    path: PathLike, kind: str, column: Columns, *, row_groups: Sequence[int] | None = None
) -> np.ndarray:
    """The vectors of a table: ``column`` names a column of lists or number columns; by default they are found."""
    with open_table(path, kind, row_groups) as table:
        columns = _vector_columns(path, table, column)
        blocks = _blocks(path, table, columns)
        first = next(blocks, None)
        if first is None:
            raise FileError(f"{path} has no rows.")
        if len(first) == table.max_rows:
            return first
        d = first.shape[1]
        need = table.max_rows * d * first.dtype.itemsize
        check_memory(
            need, f"{path} as an array of {table.max_rows} × {d}", "save it as .npy, which is read without loading."
        )
        vectors = np.empty((table.max_rows, d), dtype=first.dtype)
        done = 0
        for block in _chain(first, blocks):
            if block.shape[1] != d:
                raise FileError(
                    f"{path} has vectors of different length: row 0 has {d}, row {done} has {block.shape[1]}."
                )
            if done + len(block) > len(vectors):
                raise FileError(f"{path} is damaged: it has more rows than the {len(vectors)} it announces.")
            vectors[done : done + len(block)] = block
            done += len(block)
    if done < table.max_rows and not isinstance(table, TextTable):
        raise FileError(f"{path} is damaged: it has {done} rows and announces {table.max_rows}.")
    return vectors[:done]


def matrix_of(path: PathLike, table: pa.Table) -> np.ndarray:
    """The vectors in a column of lists, or in columns of numbers, of a table in memory."""
    names = table.column_names
    for name in names:
        kind = table.schema.field(name).type
        if not (_is_number(kind) or (_is_vector(kind) and len(names) == 1)):
            raise FileError(f"{path}: column {name!r} holds {kind}; expected numbers, or lists of numbers.")
    view = Table(table.schema, len(table), lambda _: table.to_batches())
    blocks = list(_blocks(path, view, names))
    if not blocks:
        raise FileError(f"{path} has no rows.")
    widths = {block.shape[1] for block in blocks}
    if len(widths) > 1:
        raise FileError(f"{path} has vectors of different length: {listing(sorted(map(str, widths)))}.")
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def table_width(path: PathLike, kind: str, column: Columns) -> int:
    """How long the vectors of a table are, by its first rows."""
    with open_table(path, kind) as table:
        first = next(_blocks(path, table, _vector_columns(path, table, column)), None)
        if first is None:
            raise FileError(f"{path} has no rows.")
        return int(first.shape[1])


def read_table_column(path: PathLike, kind: str, column: str | None, names: tuple[str, ...], what: str) -> Any:
    """One column as a pyarrow ChunkedArray: ``column``, or the only (text) column, or the first of ``names``.

    Cells of text files come as they are written there.
    """
    with open_table(path, kind) as table:
        name = _one_column(path, table.schema, column, names, what)
        return read_columns(table, [name]).column(0)


def read_columns(table: AnyTable, names: Sequence[str]) -> pa.Table:
    """Some columns in memory; those of text files as text."""
    import pyarrow as pa

    if isinstance(table, TextTable):
        schema = pa.schema([(name, pa.string()) for name in names])
        read = pa.Table.from_batches(list(table.batches(names, as_text=True)), schema)
        pa.default_memory_pool().release_unused()
        return read
    columns: dict[str, pa.ChunkedArray] = {}
    for some in _passes(names, table.column_bytes):
        part = pa.Table.from_batches(list(table.batches(some)), pa.schema([table.schema.field(name) for name in some]))
        if table.column_bytes:  # what is mapped from a file stays there
            part = part.combine_chunks()
        columns |= zip(some, part.columns, strict=True)
        del part
        pa.default_memory_pool().release_unused()
    return pa.table({name: columns[name] for name in names}, pa.schema([table.schema.field(name) for name in names]))


def _passes(names: Sequence[str], size: Mapping[str, int]) -> list[list[str]]:
    """Columns that are read together, the largest first.

    A builder's arrays are larger than what they hold, and those of many columns lie between each other. So columns
    are read a few at a time and copied to arrays of their size: beside all that were read there is never more than
    one pass twice, and the first pass is the largest.
    """
    if not size or not names:
        return [list(names)]
    passes: list[list[str]] = []
    share, room = sum(size[name] for name in names) // _PASSES, 0
    for name in sorted(names, key=lambda name: -size[name]):
        if size[name] > room or not passes:
            passes.append([])
            room = max(share, size[name])
        passes[-1].append(name)
        room -= size[name]
    return passes


def _one_column(path: PathLike, schema: pa.Schema, column: str | None, names: tuple[str, ...], what: str) -> str:
    import pyarrow as pa

    if column is not None:
        if column not in schema.names:
            raise missing_column(path, column, schema.names)
        return column
    by_lower = {name.lower(): name for name in reversed(schema.names)}
    for name in names:
        if name in by_lower:
            return by_lower[name]
    plain = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)] or schema.names
    if len(plain) == 1:
        return plain[0]
    raise FileError(f"{path} has several columns: {listing(schema.names)}. Choose the one with the {what} by its name.")


def check_distinct(path: PathLike, names: Sequence[str]) -> None:
    """Raise where several columns have one name."""
    duplicates = {name for name, count in Counter(names).items() if count > 1}
    if duplicates:
        raise FileError(f"{path} has several columns of the same name: {listing(sorted(duplicates))}. Rename them.")


# --- which columns are the vectors ------------------------------------------------------------------------------------


def _vector_columns(path: PathLike, table: AnyTable, column: Columns) -> list[str]:
    import pyarrow as pa

    schema = table.schema
    names = schema.names  # a new list at every look
    check_distinct(path, names)
    if column is not None:
        chosen = [column] if isinstance(column, str) else list(column)
        known = set(names)
        for name in chosen:
            if name not in known:
                raise missing_column(path, name, names)
            kind = schema.field(name).type
            if isinstance(table, TextTable) and pa.types.is_string(kind):
                table.refuse_cells(name)
            if not (_is_number(kind) or (_is_vector(kind) and len(chosen) == 1)):
                raise FileError(f"{path}: column {name!r} holds {kind}; expected numbers, or lists of numbers.")
        return chosen
    lists = [field.name for field in schema if _is_vector(field.type)]
    if len(lists) == 1:
        return lists
    if lists:
        raise FileError(f"{path} has several columns of vectors: {listing(lists)}. Choose one with column=...")
    floats = [field.name for field in schema if pa.types.is_floating(field.type)]
    numbers = [field.name for field in schema if _is_number(field.type)]
    chosen = numbers if isinstance(table, TextTable) else floats or numbers
    # A column y is a label, except beside a column x.
    excluded = NOT_COORDINATES - ({"y"} if "x" in (name.lower() for name in chosen) else set())
    chosen = [name for name in chosen if name.lower() not in excluded]
    if isinstance(table, TextTable):
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        misspelt = table.misspelt([name for name in texts if name.lower() not in excluded])
        if misspelt is not None:
            table.refuse_cells(misspelt)
    if not chosen:
        raise FileError(f"{path} has no column of vectors or numbers. It has: {listing(schema.names)}.")
    kept = set(chosen)
    left_out = [name for name in numbers if name not in kept]
    if left_out:
        warnings.warn(
            f"{path}: the vectors are {len(chosen)} number columns without {listing(left_out)}. "
            "Pass column=[...] to choose.",
            CladifyWarning,
            stacklevel=4,
        )
    return chosen


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _is_vector(kind: pa.DataType) -> bool:
    import pyarrow as pa

    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(lists and _is_number(kind.value_type))


# --- batches to arrays ------------------------------------------------------------------------------------------------


def _blocks(path: PathLike, table: AnyTable, columns: list[str]) -> Iterator[np.ndarray]:
    row = table.first_row if isinstance(table, Table) else 0
    for batch in table.batches(columns):
        if batch.num_rows == 0:
            continue
        if _is_vector(batch.schema.field(columns[0]).type):
            yield _rows_of_lists(path, batch.column(columns[0]), columns[0], row)
        else:
            arrays = [_numbers(array) for array in batch.columns]
            # A type of integers becomes float64 in a batch with missing values, so it is one from the start.
            dtype = np.result_type(*arrays) if all(array.dtype.kind == "f" for array in arrays) else np.float64
            block = np.empty((batch.num_rows, len(columns)), dtype=dtype)
            for j, array in enumerate(arrays):
                block[:, j] = array
            yield block
        row += batch.num_rows


def _rows_of_lists(path: PathLike, lists: Any, name: str, row: int) -> np.ndarray:
    import pyarrow as pa

    if lists.null_count:
        first = row + int(np.flatnonzero(~_valid(lists))[0])
        raise FileError(f"{path}: column {name!r} has no vector in row {first}; drop such rows first.")
    values = lists.flatten()
    if values.null_count and pa.types.is_integer(values.type):
        raise FileError(f"{path}: column {name!r} has {values.null_count} missing numbers; impute them first.")
    if pa.types.is_fixed_size_list(lists.type):
        d = lists.type.list_size
    else:
        lengths = np.diff(_numbers(lists.offsets))
        d = int(lengths[0])
        wrong = np.flatnonzero(lengths != d)
        if len(wrong):
            where = f"row {row} has {d}, row {row + wrong[0]} has {lengths[wrong[0]]}"
            raise FileError(f"{path}: column {name!r} has vectors of different length: {where}.")
    if d < 1 or len(values) != d * len(lists):
        raise FileError(f"{path}: column {name!r} has vectors of length {d}; expected at least 1.")
    return _numbers(values).reshape(len(lists), d)


def _numbers(array: Any) -> np.ndarray:
    """An Arrow array of numbers as a NumPy array, missing ones as NaN; not copied where none is missing.

    Arrow's own ``to_numpy`` loads pandas first, where that is installed.
    """
    dtype = np.dtype(array.type.to_pandas_dtype())
    values = np.frombuffer(array.buffers()[1], dtype, count=len(array), offset=array.offset * dtype.itemsize)
    if not array.null_count:
        return values
    return np.where(_valid(array), values, np.nan).astype(dtype if dtype.kind == "f" else np.float64)


def _valid(array: Any) -> np.ndarray:
    """Which entries are not missing."""
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    start = array.offset
    return np.unpackbits(bits, count=start + len(array), bitorder="little")[start:].astype(bool)


def _chain(first: np.ndarray, rest: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    yield first
    yield from rest
