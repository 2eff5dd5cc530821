"""Texts on one line, and search in many of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.taxonomy._names.words import WordIndex, as_strings, fold, index_words

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Items", "Texts", "one_line"]

_BETWEEN = re.compile(r"[\s,·]+")  # the words of a name


def one_line(text: Any, most: int = 160) -> str:
    """A text without line breaks and control characters, at most so long.

    >>> one_line("two\\n lines \\x1b[31m", 20)
    'two lines [31m'
    """
    head = str(text)[: 4 * most]
    shown = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return shown if len(shown) <= most and len(str(text)) <= 4 * most else shown[: most - 1].rstrip() + "…"


class Items:
    """Items one by one from an Arrow array: a list of a million of them would take more memory than the tree."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, i: int) -> str:
        return as_text(self.column[i].as_py())

    def take(self, rows: np.ndarray) -> list[str]:
        """Several items."""
        return [as_text(value) for value in self.column.take(rows).to_pylist()]

    def index(self) -> WordIndex:
        """The words of the items."""
        return index_words(self.column)


def as_text(value: Any) -> str:
    """An item as text; a missing one is empty."""
    return "" if value is None else str(value)


class Texts:
    """Items and names, searched together.

    Parameters
    ----------
    items : Items
    words : WordIndex
        Of the items.
    names : mapping from nodes to str
    size : int array
        Of every node; among names that match, the largest node comes first.
    kept : bool array of shape (n,), optional
        Rows that may be found; by default all.
    """

    def __init__(
        self,
        items: Items,
        words: WordIndex,
        names: Mapping[int, str],
        size: np.ndarray,
        kept: np.ndarray | None = None,
    ) -> None:
        self.items = items
        self.words = words
        self.kept = kept
        self.nodes = sorted(names, key=lambda v: -int(size[v]))
        self.names = [names[v].lower() for v in self.nodes]

    def find(self, query: str, limit: int) -> tuple[list[int], list[int], int]:
        """Nodes and rows that have all words of the query, the best first, and how many there are in all.

        Whole words come before parts of words, texts that begin with the query's first word before others; then large
        clusters before small ones, and short items before long ones.
        """
        wanted = query.lower().split()[:8]
        if not wanted:
            return [], [], 0
        named = [i for i, name in enumerate(self.names) if all(word in name for word in wanted)]
        named.sort(key=lambda i: self._name_rank(i, wanted))
        rows, whole = self.words.find(query)
        if self.kept is not None:
            keep = self.kept[rows]
            rows, whole = rows[keep], whole[keep]
        best = self._best(rows, whole, wanted[0], limit)
        return [self.nodes[i] for i in named[: limit // 2 or 1]], best, len(named) + len(rows)

    def _name_rank(self, i: int, wanted: list[str]) -> tuple[bool, bool]:
        name = self.names[i]
        return not set(wanted) <= set(_BETWEEN.split(name)), not name.startswith(wanted[0])

    def _best(self, rows: np.ndarray, whole: np.ndarray, first: str, limit: int) -> list[int]:
        """The best of all rows found. One number says it all for a row, its place last, so that none are equal."""
        begins = self._beginning(first)[rows]
        rank = (2 * ~whole + ~begins).astype(np.int64) << 61
        rank |= np.minimum(self._length[rows], 2**29 - 1).astype(np.int64) << 32
        rank |= rows
        if len(rank) > limit:
            rank = np.partition(rank, limit - 1)[:limit]
        return (np.sort(rank) & 0xFFFFFFFF).tolist()

    def _beginning(self, first: str) -> np.ndarray:
        """Which items begin with a word: a run of the items in alphabetical order, found by halving."""
        order, word = self.words.order, first.encode()
        low, high = (bisect_left(order, end, key=self._folded) for end in (word, word + b"\xff"))
        begins = np.zeros(len(order), bool)
        begins[order[low:high]] = True
        return begins

    def _folded(self, row: int) -> bytes:
        return fold(self.items.column[int(row) : int(row) + 1])[0].as_buffer().to_pybytes()

    @cached_property
    def _length(self) -> np.ndarray:
        """Bytes of each item, int32."""
        import pyarrow.compute as pc
        from pyarrow import types

        column = self.items.column
        texts = column if types.is_string(column.type) else as_strings(column)
        return np.asarray(pc.fill_null(pc.binary_length(texts), 0)).astype(np.int32)
