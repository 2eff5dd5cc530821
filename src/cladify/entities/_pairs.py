"""Pairs of records that may be the same: which ones to look at, and what speaks for and against each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.entities._grams import Column, projected
from cladify.neighbors.build import neighbors

__all__ = ["FEATURES", "Records", "distinct_pairs", "with_groups"]

#: What :meth:`Records.features` gives for a pair, in this order.
FEATURES = ("letters", "gap", "numbers", "words", "within", "chance")
#: Records that each is compared with.
_NEAR = 15
#: Pairs whose features are worked out at a time.
_BLOCK = 100_000


class Records:
    """Distinct records, ready to be compared in pairs.

    Parameters
    ----------
    columns : sequence of Column
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = list(columns)
        self.n = columns[0].grams.shape[0]
        self.crowd = np.zeros(self.n)
        self.there = [float((column.gram_square > 0).mean()) for column in self.columns]

    def near(self, random_state: int, n_jobs: int | None, report: Progress) -> np.ndarray:
        """Pairs of each record with its nearest ones, as rows (smaller, larger); sets what a crowd is around each."""
        rows = projected(self.columns, random_state)
        there = np.flatnonzero(rows.any(axis=1))  # others have no cell in these columns
        k = min(_NEAR, len(there) - 1)
        if k < 1:
            return np.empty((0, 2), np.int64)
        rows = rows if len(there) == self.n else rows[there]
        graph = neighbors(rows, k, "cosine", random_state=random_state, n_jobs=n_jobs, progress=report)
        near = there[np.asarray(graph.indices, np.int64)]
        a = np.repeat(there, k)
        # The median of its candidates: how alike a record is to others that are not the same.
        likeness = -np.sort(-self._letters(np.stack([a, near], axis=1)).reshape(len(there), k), axis=1)
        self.crowd[there] = likeness[:, (k - 1) // 2]
        return distinct_pairs(a, near, self.n)

    def _letters(self, pairs: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [self._cosines(pairs[s : s + _BLOCK])[0] for s in range(0, len(pairs), _BLOCK)] or [np.empty(0)]
        )

    def _cosines(self, pairs: np.ndarray) -> tuple[np.ndarray, ...]:
        """Letters, words, within and chance of pairs, over the columns that both have."""
        a, b = pairs.T
        dot, word_dot, common = np.zeros(len(a)), np.zeros(len(a)), np.zeros(len(a))
        gram_a, gram_b, word_a, word_b = (np.zeros(len(a)) for _ in range(4))
        for column in self.columns:
            both = (column.gram_square[a] > 0) & (column.gram_square[b] > 0)
            shared = column.words[a].multiply(column.words[b]).tocsr()
            dot += _sums(column.grams[a].multiply(column.grams[b]))
            word_dot += _sums(shared)
            shared.data = np.sqrt(shared.data)
            common += _sums(shared)
            gram_a += np.where(both, column.gram_square[a], 0.0)
            gram_b += np.where(both, column.gram_square[b], 0.0)
            word_a += np.where(both, column.word_square[a], 0.0)
            word_b += np.where(both, column.word_square[b], 0.0)
        letters = _ratio(dot, np.sqrt(gram_a * gram_b))
        words = _ratio(word_dot, np.sqrt(word_a * word_b))
        within = _ratio(word_dot, np.minimum(word_a, word_b))
        return letters, words, within, common / np.log1p(self.n)

    def alike(self, pairs: np.ndarray) -> np.ndarray:
        """How alike the letters of a pair are in each column; NaN where one of the two has none."""
        return np.stack([column.alike(*pairs.T) for column in self.columns], axis=1)

    def features(self, pairs: np.ndarray) -> np.ndarray:
        """One row of :data:`FEATURES` a pair."""
        out = np.empty((len(pairs), len(FEATURES)))
        for start in range(0, len(pairs), _BLOCK):
            some = pairs[start : start + _BLOCK]
            letters, words, within, chance = self._cosines(some)
            crowd = np.maximum(self.crowd[some[:, 0]], self.crowd[some[:, 1]])
            gap = (letters - crowd) / (1.01 - np.minimum(crowd, 1.0))
            parts = [letters, gap, self._numbers_differ(some), words, within, chance]
            out[start : start + _BLOCK] = np.stack(parts, axis=1)
        return out

    def _numbers_differ(self, pairs: np.ndarray) -> np.ndarray:
        """1 where both have a number in their first column that the other has not; half where one has more."""
        numbers = self.columns[0].numbers
        out = np.zeros(len(pairs))
        if not any(numbers):
            return out
        for at, (a, b) in enumerate(pairs.tolist()):
            left, right = numbers[a], numbers[b]
            if left and right and left != right:
                out[at] = 0.5 * bool(left - right) + 0.5 * bool(right - left)
        return out


def distinct_pairs(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """The pairs, smaller first, each once and in order."""
    keys = np.unique(np.minimum(a, b) * n + np.maximum(a, b))
    return np.stack([keys // n, keys % n], axis=1)


def with_groups(pairs: np.ndarray, labels: np.ndarray, limit: int) -> np.ndarray:
    """All pairs within groups of up to ``limit`` records, beside the given ones."""
    n = len(labels)
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    found = [pairs]
    for part in parts:
        if 2 < len(part) <= limit:
            i, j = np.triu_indices(len(part), 1)
            found.append(np.stack([part[i], part[j]], axis=1))
    joined = np.concatenate(found)
    return distinct_pairs(joined[:, 0], joined[:, 1], n)


def _sums(rows: Any) -> np.ndarray:
    return np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()


def _ratio(value: np.ndarray, by: np.ndarray) -> np.ndarray:
    return np.divide(value, by, out=np.zeros(len(value)), where=by > 0)
