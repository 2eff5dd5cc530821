"""Cells to columns, some thousand rows at a time: Python values of a whole file would take many times its size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from cladify.errors import FileError
from cladify.io._tables import check_distinct
from cladify.taxonomy._items import as_items

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["cells_to_table", "objects_to_table"]

_BATCH = 10_000


def cells_to_table(path: str, header: Sequence[str], batches: Iterable[Sequence[Any]]) -> pa.Table:
    """A table of rows of cells; columns without a name are left out."""
    check_distinct(path, [name for name in header if name])
    chunks = [
        {name: as_items([row[i] for row in rows]) for i, name in enumerate(header) if name} for rows in batches if rows
    ]
    if not chunks:
        raise FileError(f"{path} has no rows.")
    return _stacked(chunks)


def objects_to_table(path: str, values: Iterable[Any]) -> pa.Table:
    """A column a key; a value within an object has the key ``outer.inner``; what is no object is in column ``text``."""
    waiting, chunks = iter(values), []
    while rows := [_flat(row) if isinstance(row, Mapping) else {"text": row} for row in islice(waiting, _BATCH)]:
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: as_items([_plain(row.get(name)) for row in rows]) for name in names}
        chunks.append(columns or {"text": as_items([None] * len(rows))})
    if not chunks:
        raise FileError(f"{path} has no rows.")
    return _stacked(chunks)


def _stacked(chunks: list[dict[str, pa.Array]]) -> pa.Table:
    """Chunks below each other; a column that one of them lacks is empty there."""
    import pyarrow as pa

    names = dict.fromkeys(name for chunk in chunks for name in chunk)
    sizes = [len(next(iter(chunk.values()))) for chunk in chunks]
    columns = {}
    for name in names:
        parts = [chunk.pop(name, None) for chunk in chunks]
        filled = [pa.nulls(size) if part is None else part for part, size in zip(parts, sizes, strict=True)]
        columns[name] = _unified(filled)
    return pa.table(columns)


def _unified(parts: list[pa.Array]) -> pa.ChunkedArray:
    """Arrays of one type: numbers of both kinds are fractions, anything else that differs is text."""
    import pyarrow as pa

    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.null()
    elif all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        kind = pa.float64()
    elif all(pa.types.is_list(kind) and not pa.types.is_string(kind.value_type) for kind in kinds):
        kind = pa.list_(pa.float64())
    else:
        kind = pa.string()
        parts = [
            part if pa.types.is_string(part.type) else pa.array(map(_text, part.to_pylist()), kind) for part in parts
        ]
    return pa.chunked_array([part.cast(kind) for part in parts], kind)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str | None) else str(value)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an object and of the objects within it.

    >>> _flat({"id": 1, "fields": {"body": "a", "by": {"name": "b"}}})
    {'id': 1, 'fields.body': 'a', 'fields.by.name': 'b'}
    """
    flat: dict[str, Any] = {}
    waiting = [("", row)]
    while waiting:
        prefix, values = waiting.pop()
        for key, value in values.items():
            if isinstance(value, Mapping) and value:
                waiting.append((f"{prefix}{key}.", value))
            else:
                flat[f"{prefix}{key}"] = value
    return flat


def _plain(value: Any) -> Any:
    """Texts, numbers and vectors as they are, everything else as JSON."""
    if isinstance(value, str | int | float | None):
        return value
    kinds = set(map(type, value)) if isinstance(value, list) else set()
    if float in kinds and kinds <= {int, float}:  # whole numbers alone are a list of codes
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
