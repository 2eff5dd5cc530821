"""Items, ids and columns of a taxonomy when rows come, are replaced or leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._kept import Kept

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Rows", "find_ids", "numbered", "with_rows", "without_rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Items and what is kept with them, and where each row was before: -1 for one that is new."""

    items: Any
    kept: Kept
    came: np.ndarray


def numbered(facts: Facts, rows: np.ndarray) -> Kept:
    """What is kept with the items, with ids: the numbers of the rows, where there were none."""
    import pyarrow as pa

    kept = facts.kept
    return kept if kept.ids else Kept((pa.array(rows),), (None,), kept.columns)


def find_ids(kept: Kept, wanted: tuple[Any, ...]) -> np.ndarray:
    """The row of each id, -1 where there is none; ``wanted`` has an array a level."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(kept.ids) == 1:
        nowhere = pa.scalar(-1, pa.int32())
        first = np.asarray(pc.index_in(wanted[0], value_set=wanted[0]))  # of those that are given twice
        of = np.asarray(pc.fill_null(pc.index_in(kept.ids[0], value_set=wanted[0]), nowhere))  # a table of the few
        at = np.full(len(first), -1, np.int64)
        there = np.flatnonzero(of >= 0)
        at[of[there]] = there
        return at[first]
    place = {key: i for i, key in enumerate(zip(*(level.to_pylist() for level in kept.ids), strict=True))}
    return np.array(
        [place.get(key, -1) for key in zip(*(level.to_pylist() for level in wanted), strict=True)], np.int64
    )


def like_ids(kept: Kept, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Ids of the types that the taxonomy has; an id that is of another kind raises."""
    import pyarrow as pa

    if len(given) != len(kept.ids):
        raise InvalidInput(f"the taxonomy knows its items by {len(kept.ids)} ids each, got {len(given)}.")
    found = []
    for old, new in zip(kept.ids, given, strict=True):
        try:
            found.append(new if new.type == old.type else new.cast(old.type))
        except pa.ArrowException:
            raise InvalidInput(f"ids of the taxonomy are of type {old.type}, the new ones of {new.type}.") from None
    return tuple(found)


def with_rows(facts: Facts, kept: Kept, items: Any, new: Kept, at: np.ndarray) -> Rows:
    """All rows with new ones behind them; where ``at`` is not -1, a new row takes the place of an old one."""
    n, added = len(facts.items), at < 0
    own = np.arange(n)
    own[at[~added]] = n + np.flatnonzero(~added)
    order = np.concatenate([own, n + np.flatnonzero(added)])
    came = np.where(order < n, order, -1)
    stays = np.concatenate([np.arange(n), n + np.flatnonzero(added)])  # for columns that the new rows have not
    columns = {name: kept.columns.column(name) for name in kept.columns.column_names}
    names = dict.fromkeys([*columns, *new.columns.column_names])
    merged = {}
    for name in names:
        there = name in new.columns.column_names
        before = columns.get(name)
        after = new.columns.column(name) if there else None
        merged[name] = _both(before, after, n, len(at), order if there else stays)
    import pyarrow as pa

    ids = tuple(
        _in_order(pa.chunked_array([old, more]).combine_chunks(), order)
        for old, more in zip(kept.ids, like_ids(kept, new.ids), strict=True)
    )
    return Rows(
        _both(facts.items, items, n, len(at), order).combine_chunks(), Kept(ids, kept.id_names, pa.table(merged)), came
    )


def without_rows(facts: Facts, kept: Kept, gone: np.ndarray) -> Rows:
    """All rows but some."""
    stays = np.ones(len(facts.items), bool)
    stays[gone] = False
    came = np.flatnonzero(stays)
    ids = tuple(level.take(came) for level in kept.ids)
    return Rows(facts.items.take(came), Kept(ids, kept.id_names, kept.columns.take(came)), came)


def _both(before: Any, after: Any, n: int, m: int, order: np.ndarray) -> pa.ChunkedArray:
    """Old and new values of a column in this order; either may be missing."""
    import pyarrow as pa

    first = pa.nulls(n, after.type) if before is None else before
    second = pa.nulls(m, first.type) if after is None else after
    if first.type != second.type:
        first, second = _alike(first, second)
    parts = [chunk for part in (first, second) for chunk in getattr(part, "chunks", [part])]
    joined = pa.chunked_array(parts, first.type).combine_chunks()
    return pa.chunked_array([_in_order(joined, order)])


def _in_order(values: Any, order: np.ndarray) -> Any:
    import pyarrow as pa

    is_same = len(order) == len(values) and bool((np.diff(order) == 1).all())
    return values if is_same else values.take(pa.array(order))


def _alike(first: Any, second: Any) -> tuple[Any, Any]:
    """Two columns of one type: that of the old one where it can hold the new values, else a wider one, else text."""
    import pyarrow as pa

    for kind in (first.type, second.type, pa.float64()):
        try:
            return first.cast(kind), second.cast(kind)
        except pa.ArrowException:
            continue
    return tuple(
        pa.array([None if v is None else str(v) for v in part.to_pylist()], pa.string()) for part in (first, second)
    )
