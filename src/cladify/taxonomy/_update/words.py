"""The index of the words of items that come and go: what stays is copied, and only new items are split into words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cladify.taxonomy._names.words import WordIndex, fold, index_words

__all__ = ["carry_words"]

#: Up to this share of new items the index is carried over; else it is made anew.
_MOST = 0.25


def carry_words(old: WordIndex, came: np.ndarray, items: Any) -> WordIndex:
    """The index of ``items``, as :func:`index_words` makes it.

    Parameters
    ----------
    old : WordIndex
        Of the items before.
    came : int array
        The row of each item before, -1 for one that is new.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    fresh, stays = np.flatnonzero(came < 0), np.flatnonzero(came >= 0)
    if len(fresh) > _MOST * len(came) or (np.diff(came[stays]) <= 0).any():
        return index_words(items)
    now = np.full(len(old.order), -1, np.int64)
    now[came[stays]] = stays
    new = index_words(items.take(pa.array(fresh)))
    at = _indices(pc.index_in(new.words, value_set=old.words) if len(new.words) else pa.array([], pa.int32()))
    words, unknown = old.words, np.flatnonzero(at < 0)
    place = np.arange(len(words))  # of each old word among all
    if len(unknown):
        before = _bisect(len(words), lambda i: words.take(pa.array(i)), new.words.take(pa.array(unknown)))
        place += np.searchsorted(before, place, side="right")
        at[at >= 0] = place[at[at >= 0]]
        at[unknown] = before + np.arange(len(unknown))
        order = np.empty(len(words) + len(unknown), np.int64)
        order[place], order[at[unknown]] = np.arange(len(words)), len(words) + np.arange(len(unknown))
        words = pa.concat_arrays([words, new.words.take(pa.array(unknown))]).take(pa.array(order))

    rows, n = now[old.rows], len(came)
    entry = np.repeat(place, np.diff(old.start)) * n + rows
    if len(stays) < len(old.order):
        entry = entry[rows >= 0]
    added = np.repeat(at, np.diff(new.start)) * n + fresh[new.rows]
    added.sort()
    word, rows = np.divmod(np.insert(entry, np.searchsorted(entry, added), added), n)
    count = np.bincount(word, minlength=len(words))
    if not count.all():
        words = words.filter(pa.array(count > 0))
        count = count[count > 0]
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)

    order = now[old.order]
    order = order[order >= 0]
    came_in = fresh[new.order]
    told = fold(items.take(pa.array(came_in)))
    behind = _bisect(len(order), lambda i: fold(items.take(pa.array(order[i]))), told, (order, came_in))
    return WordIndex(words, start, rows.astype(np.int32), np.insert(order, behind, came_in).astype(np.int32))


def _indices(found: Any) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(found, pa.scalar(-1, pa.int32()))).astype(np.int64)


def _bisect(
    n: int, text: Callable[[np.ndarray], Any], wanted: Any, rows: tuple[np.ndarray, np.ndarray] | None = None
) -> np.ndarray:
    """How many of ``n`` sorted texts come before each of those wanted; equal ones by their ``rows``."""
    import pyarrow.compute as pc

    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), n)
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) // 2
        here, there = text(middle), wanted.take(open_)
        less = np.asarray(pc.less(here, there))
        if rows is not None:
            less = less | (np.asarray(pc.equal(here, there)) & (rows[0][middle] < rows[1][open_]))
        low[open_[less]], high[open_[~less]] = middle[less] + 1, middle[~less]
    return low
