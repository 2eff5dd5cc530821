"""What the items say, where that is more than what they are shown as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cladify.taxonomy._items import as_texts, joined_texts
from cladify.taxonomy._kept import Kept

__all__ = ["own_texts"]


def own_texts(info: Mapping[str, Any], items: Any, kept: Kept, rows: np.ndarray | None = None) -> list[str] | None:
    """The texts that a taxonomy was made from, of all items or some; None where it does not have them.

    Its first column of texts is what items are shown as, unless it is among the columns.
    """
    if rows is not None:
        items = items.take(rows)
    if (info.get("texts") or {}).get("items"):
        return as_texts(items)
    column = (info.get("source") or {}).get("column")
    weights = column if isinstance(column, Mapping) else {} if column is None else {column: 1}
    found = {}
    for name in weights:
        if name in kept.columns.column_names:
            values = kept.columns.column(name)
            found[name] = (values if rows is None else values.take(rows)).to_pylist()
        elif not found:
            found[name] = items.to_pylist()
        else:
            return None
    return as_texts(joined_texts(found, weights)) if found else None
