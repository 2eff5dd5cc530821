"""Items at the door: whatever holds one thing a row becomes an Arrow array, by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput, InvalidType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_items", "as_texts", "is_plain", "joined_texts"]


def as_items(items: Any, n: int | None = None, *, what: str = "items") -> pa.Array:
    """One item a row, by position: an index of a Series or a frame plays no part.

    Parameters
    ----------
    items : list, NumPy array, pandas or polars Series or frame of one column, Arrow array
    n : int, optional
        How many there must be.

    Examples
    --------
    >>> as_items(["oak", None, "elm"], 3).to_pylist()
    ['oak', None, 'elm']
    >>> as_items(["oak"], 3)
    Traceback (most recent call last):
    ...
    cladify.errors.InvalidInput: there are 1 items for 3 rows of X; there must be one for each, in the same order.
    """
    import pyarrow as pa

    values = _values(items, what)
    if n is not None and len(values) != n:
        raise InvalidInput(
            f"there are {len(values)} {what} for {n} rows of X; there must be one for each, in the same order."
        )
    if isinstance(values, pa.Array):
        return values if is_plain(values.type) else as_items(values.to_pylist(), what=what)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError):
        return pa.array([_as_text(value) for value in values], pa.string())


def joined_texts(columns: Mapping[str, list[Any]], weights: Mapping[str, int]) -> list[Any]:
    """Columns below each other, each as often as it weighs; one column is as it was.

    >>> joined_texts({"title": ["Oak", None], "body": ["It is old.", "Elm"]}, {"title": 2, "body": 1})
    ['Oak\\nOak\\nIt is old.', 'Elm']
    """
    if len(weights) == 1:
        return columns[next(iter(weights))]
    parts = [columns[name] for name, weight in weights.items() for _ in range(weight)]
    return ["\n".join(str(cell) for cell in row if cell not in (None, "")) for row in zip(*parts, strict=True)]


def is_plain(kind: pa.DataType) -> bool:
    """Whether a type holds its values once and in order, so that they take no more memory than their bytes."""
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(is_plain(field.type) for field in kind)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    return bool(text or number or types.is_temporal(kind) or types.is_null(kind) or types.is_fixed_size_binary(kind))


def _values(items: Any, what: str) -> Any:
    import pyarrow as pa

    if isinstance(items, pa.Table) and items.num_columns == 1:
        items = items.column(0)
    if isinstance(items, pa.ChunkedArray):
        return items.combine_chunks()
    if isinstance(items, pa.Array | list | tuple):
        return items
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidType(
            f"{what} must be a list, an array or a column with one entry a row, got {type(items).__name__}."
        )
    shape = getattr(items, "shape", None)
    if shape is None:
        return list(items)
    array = np.asarray(items, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        names = [str(name) for name in getattr(items, "columns", [])][:8]
        hint = f"; choose one of its columns, or use Taxonomy.from_table: {', '.join(names)}" if names else ""
        raise InvalidInput(f"{what} must be one column, got shape {tuple(shape)}{hint}.")
    return array.tolist()


def _as_text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def as_texts(texts: Any, n: int | None = None, *, what: str = "texts") -> list[str]:
    """One text a row; what is missing is an empty text, and numbers become text.

    >>> as_texts(["oak", None, 3.5])
    ['oak', '', '3.5']
    """
    values = as_items(texts, n, what=what).to_pylist()
    return [value if isinstance(value, str) else "" if value is None else _as_text(value) or "" for value in values]
