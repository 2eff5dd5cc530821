"""Texts on one line, and search in many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.taxonomy.words import WordIndex, index_words

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Items", "Texts", "one_line"]


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
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, i: int) -> str:
        return as_text(self._column[i].as_py())

    def take(self, rows: np.ndarray) -> list[str]:
        """Several items."""
        return [as_text(value) for value in self._column.take(rows).to_pylist()]

    def index(self) -> WordIndex:
        """The words of the items."""
        return index_words(self._column)


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
    """

    def __init__(self, items: Items, words: WordIndex, names: Mapping[int, str], size: np.ndarray) -> None:
        self.items = items
        self.words = words
        self.nodes = sorted(names, key=lambda v: -int(size[v]))
        self.names = [names[v].lower() for v in self.nodes]

    def find(self, query: str, limit: int) -> tuple[list[int], list[int], int]:
        """Nodes and rows that have all words of the query, the best first, and how many there are in all.

        Whole words come before parts of words, items that begin with the query before others, short before long.
        """
        wanted = query.lower().split()[:8]
        if not wanted:
            return [], [], 0
        named = [i for i, name in enumerate(self.names) if all(word in name for word in wanted)]
        named.sort(key=lambda i: not self.names[i].startswith(wanted[0]))
        rows, whole = self.words.find(query)
        total = len(named) + len(rows)
        best = self._best(rows[whole], wanted[0], limit)
        if len(best) < limit:
            best += self._best(rows[~whole], wanted[0], limit - len(best))
        return [self.nodes[i] for i in named[: limit // 2 or 1]], best, total

    def _best(self, rows: np.ndarray, first: str, limit: int) -> list[int]:
        """The shortest of the rows; of thousands, only the first 5000 are looked at."""
        rows = rows[:5000]
        texts = self.items.take(rows)
        short = sorted(range(len(rows)), key=lambda i: len(texts[i]))[: 4 * limit]
        return [int(rows[i]) for i in sorted(short, key=lambda i: not texts[i].lower().startswith(first))[:limit]]
