"""What the columns of a table are for a person: number, category, time, text, link or image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KINDS", "column_kind"]

KINDS = ("number", "category", "time", "text", "link", "image")
#: Rows that are looked at, spread over the whole column.
_SAMPLE = 10_000
#: Texts are categories if there are so few of them, in all or for each row that was looked at, and if they are short.
_FEW, _SHARE, _SHORT = 30, 0.05, 60
_IMAGE = r"(?i)^(data:image/|[^\s]*\.(png|jpe?g|gif|webp|avif|bmp|svg)([?#]\S*)?$)"
_LINK = r"(?i)^(https?://|mailto:)\S+$"


def column_kind(column: pa.ChunkedArray | pa.Array) -> str:
    """One of :data:`KINDS`, by the type of a column, and for texts by a sample of them.

    Truth values are categories. Texts are images or links if all of them are paths or addresses of such, times if all
    are dates, and categories if they are short and few. What is missing or empty is not looked at.

    >>> import pyarrow as pa
    >>> column_kind(pa.array([3, 4])), column_kind(pa.array(["2026-01-31", "2026-02-01"]))
    ('number', 'time')
    >>> column_kind(pa.array(["a/cat.png", "https://x.org/dog.JPG?w=90"])), column_kind(pa.array(["https://x.org"]))
    ('image', 'link')
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return "category"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_temporal(kind):
        return "number" if pa.types.is_duration(kind) else "time"
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return "text"
    if len(column) > _SAMPLE:
        column = column.take(pa.array(np.linspace(0, len(column) - 1, _SAMPLE).astype(np.int64)))
    column = column.cast(kind)
    filled = column.filter(pc.greater(pc.utf8_length(pc.fill_null(column, "")), 0))
    if not len(filled):
        return "text"
    for name, form in (("image", _IMAGE), ("link", _LINK)):
        if pc.all(pc.match_substring_regex(filled, form)).as_py():
            return name
    different = pc.unique(filled)
    if _are_times(different):
        return "time"
    few = len(different) <= max(min(_FEW, len(filled) // 2), _SHARE * len(filled))
    return "category" if few and pc.max(pc.utf8_length(different)).as_py() <= _SHORT else "text"


def _are_times(texts: pa.Array) -> bool:
    import pyarrow as pa

    for zone in (None, "UTC"):  # texts with a time zone, and those without
        try:
            texts.cast(pa.timestamp("us", zone))
            return True
        except pa.ArrowInvalid:
            continue
    return False
