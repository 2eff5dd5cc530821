"""Records as sparse rows: groups of two and three letters and whole words of each column, the rarer the heavier."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Column", "column_rows", "projected"]

_GRAMS = 2**20
#: Directions of the dense rows that candidates are searched with: a cosine is off by 1/√256.
_DIRECTIONS = 256
#: Entries of the random projection in each row: signs, so that it stays sparse.
_SIGNS = 8
_BLOCK = 20_000
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Column:
    """One column of distinct records.

    Attributes
    ----------
    grams, words : CSR of shape (n, ...)
        Weighed by how rare they are; the lengths of rows are kept.
    gram_square, word_square : float64 arrays
        Squared lengths of the rows.
    numbers : list of frozensets
        The numbers in each cell; all empty where most cells of the column have no letter.
    """

    grams: Any
    words: Any
    gram_square: np.ndarray
    word_square: np.ndarray
    numbers: list[frozenset[str]]

    def alike(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """How alike the letters of cells a and b are; NaN where one of the two has none."""
        length = np.sqrt(self.gram_square[a] * self.gram_square[b])
        dot = np.asarray(self.grams[a].multiply(self.grams[b]).sum(axis=1), dtype=np.float64).ravel()
        return np.divide(dot, length, out=np.full(len(a), np.nan), where=length > 0)


def column_rows(cells: Sequence[str], weight: float) -> Column:
    """The rows of one column."""
    from sklearn.feature_extraction.text import HashingVectorizer

    common = {"n_features": _GRAMS, "alternate_sign": False, "norm": None, "lowercase": False, "dtype": np.float32}
    grams = HashingVectorizer(analyzer="char_wb", ngram_range=(2, 3), **common).transform(cells)
    words = HashingVectorizer(analyzer=str.split, **common).transform(_with_initials(cells))
    grams, words = _weighed(grams, weight), _weighed(words, weight)
    lettered = sum(any(char.isalpha() for char in cell) for cell in cells)
    is_text = 2 * lettered > sum(map(bool, cells))
    numbers = [frozenset(_DIGITS.findall(cell)) if is_text else frozenset() for cell in cells]
    return Column(grams, words, _squares(grams), _squares(words), numbers)


def _with_initials(cells: Sequence[str]) -> list[str]:
    """Cells with the initials of their words added, where another cell has these as a word: IBM."""
    seen = Counter(word for cell in cells for word in set(cell.split()) if 2 < len(word) < 7)
    out = []
    for cell in cells:
        words = cell.split()
        letters = "".join(word[0] for word in words)
        starts = {letters[:end] for end in range(max(3, len(letters) - 2), len(letters) + 1)}
        added = sorted(start for start in starts if start in seen)
        out.append(" ".join([cell, *added]))
    return out


def _weighed(counts: Any, weight: float) -> Any:
    """Counts times log(1 + n / number of rows with it), in columns that occur only."""
    from scipy.sparse import csr_array

    n = counts.shape[0]
    known, index = np.unique(counts.indices, return_inverse=True)
    seen = np.bincount(index, minlength=len(known))
    data = np.sqrt(counts.data) * (weight * np.log1p(n / np.maximum(seen, 1))[index])
    rows = csr_array((data.astype(np.float32), index.astype(np.int32), counts.indptr), shape=(n, max(len(known), 1)))
    rows.sort_indices()
    return rows


def _squares(rows: Any) -> np.ndarray:
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()


def projected(columns: Sequence[Column], random_state: int) -> np.ndarray:
    """Dense rows whose cosines are about those of the grams of all columns."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(random_state)
    n = columns[0].grams.shape[0]
    out = np.zeros((n, _DIRECTIONS), np.float32)
    for column in columns:
        width = column.grams.shape[1]
        at = rng.integers(_DIRECTIONS, size=width * _SIGNS, dtype=np.int32)
        sign = rng.choice(np.array([-1.0, 1.0], np.float32), size=width * _SIGNS)
        signs = csr_array((sign, at, np.arange(0, width * _SIGNS + 1, _SIGNS)), shape=(width, _DIRECTIONS))
        for start in range(0, n, _BLOCK):
            out[start : start + _BLOCK] += (column.grams[start : start + _BLOCK] @ signs).toarray()
    return out
