"""Ids and columns that came with the items. They stay with the rows they belong to, in memory and in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cladify.errors import InvalidInput, InvalidType
from cladify.io._tables import without_views
from cladify.taxonomy._items import as_items
from cladify.taxonomy._kinds import column_kind

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kept", "columns_of", "keep"]


@dataclass(frozen=True, eq=False)
class Kept:
    """Ids and columns, one entry a row.

    Attributes
    ----------
    ids : tuple of Arrow arrays
        The ids; several for a pandas index of several levels, none where rows are known by their number alone.
    id_names : tuple of str or None
    columns : Arrow table
        All other columns that were given.
    index : pandas.Index, optional
        The index as it was given. A file does not have it; it is made from the ids there.
    """

    ids: tuple[pa.Array, ...]
    id_names: tuple[str | None, ...]
    columns: pa.Table
    index: Any = None

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each column is for a person."""
        return {name: column_kind(self.columns.column(name)) for name in self.columns.column_names}

    def id_columns(self, taken: Iterable[str]) -> dict[str, pa.Array]:
        """The ids under names that are not among ``taken``."""
        used, found = set(taken), {}
        for i, (name, values) in enumerate(zip(self.id_names, self.ids, strict=True)):
            name = name or ("id" if len(self.ids) == 1 else f"id_{i}")
            while name in used:
                name += "_"
            used.add(name)
            found[name] = values
        return found

    def pandas_index(self) -> Any:
        """The ids as a pandas index; None where there are none."""
        if self.index is not None or not self.ids:
            return self.index
        import pandas as pd

        levels = [values.to_pandas() for values in self.ids]
        if len(levels) > 1:
            return pd.MultiIndex.from_arrays(levels, names=list(self.id_names))
        return pd.Index(levels[0], name=self.id_names[0])

    def id_list(self, n: int) -> list[Any]:
        """One id a row: a tuple for several levels, the number of the row where there are no ids."""
        if not self.ids:
            return list(range(n))
        levels = [values.to_pylist() for values in self.ids]
        return levels[0] if len(levels) == 1 else list(zip(*levels, strict=True))


def keep(n: int, ids: Any = None, columns: Any = None, sources: Iterable[Any] = ()) -> Kept:
    """The ids and columns of ``n`` rows.

    Parameters
    ----------
    ids : list, array, column or table of one column, optional
        All different. By default the index of the first of ``sources`` that is a pandas Series or frame.
    columns : table, frame or mapping of columns, optional
    sources : what the rows were given as

    Examples
    --------
    >>> keep(2, ["a", "b"], {"year": [1999, 2024]}).columns.to_pydict()
    {'year': [1999, 2024]}
    >>> keep(2, ["a", "a"])
    Traceback (most recent call last):
    ...
    cladify.errors.InvalidInput: ids must be different: 'a' is the id of rows 0 and 1.
    """
    if isinstance(ids, Kept):
        return ids
    table = columns_of(columns, n)
    if ids is not None:
        name = next(iter(getattr(ids, "column_names", getattr(ids, "columns", ()))), getattr(ids, "name", None))
        array = as_items(ids, n, what="ids")
        _check_different(array.to_pylist())
        return Kept((array,), (name if isinstance(name, str) else None,), table)
    index = next((found for source in sources if (found := _pandas_index(source)) is not None), None)
    if index is None or len(index) != n or _is_default(index):
        return Kept((), (), table)
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    names = tuple(None if name is None else str(name) for name in index.names)
    return Kept(tuple(_level(level, n) for level in levels), names, table, index)


def _level(level: Any, n: int) -> pa.Array:
    """A level of an index as an array. Times keep their unit, which Python's own would make microseconds."""
    import pyarrow as pa

    if getattr(level.dtype, "kind", "O") not in "mM":
        return as_items(list(level), n, what="index")
    return pa.array(level, from_pandas=True)


def _check_different(values: list[Any]) -> None:
    seen: dict[Any, int] = {}
    for row, value in enumerate(values):
        if value is None or value != value:
            raise InvalidInput(f"ids must not be missing: row {row} has none.")
        first = seen.setdefault(value if value.__hash__ else repr(value), row)
        if first != row:
            raise InvalidInput(f"ids must be different: {value!r} is the id of rows {first} and {row}.")


def _pandas_index(source: Any) -> Any:
    is_pandas = type(source).__module__.partition(".")[0] == "pandas"
    return getattr(source, "index", None) if is_pandas else None


def _is_default(index: Any) -> bool:
    """Whether an index only counts the rows."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None


def columns_of(columns: Any, n: int) -> pa.Table:
    """Columns of plain Arrow arrays, one entry a row."""
    import pyarrow as pa

    if columns is None:
        return pa.table({})
    if isinstance(columns, Mapping):
        given = {str(name): values for name, values in columns.items()}
    elif type(columns).__module__.partition(".")[0] == "pandas":
        frame = columns.to_frame() if columns.ndim == 1 else columns
        given = {str(name): frame.iloc[:, i] for i, name in enumerate(frame.columns)}
    elif hasattr(columns, "__arrow_c_stream__"):
        table = without_views(pa.table(columns))
        given = dict(zip(table.column_names, map(_decoded, table.columns), strict=True))
    else:
        raise InvalidType(f"columns must be a table, a frame or a mapping of columns, got {type(columns).__name__}.")
    return pa.table({name: as_items(values, n, what=f"values of column {name!r}") for name, values in given.items()})


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
