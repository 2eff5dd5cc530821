"""Edges in parts: how points are cut into parts, and pairs that occur several times combined into one."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Part", "combine_pairs", "even_offsets", "part_of"]

#: ``(indptr, indices, value)``: the rows of a part in CSR form.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


def even_offsets(n: int, n_parts: int) -> np.ndarray:
    """Where the parts begin and end when n rows are cut evenly."""
    return np.arange(n_parts + 1, dtype=np.int64) * n // n_parts


def part_of(offsets: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The part that each point lies in."""
    return np.searchsorted(offsets, points, side="right") - 1


def combine_pairs(
    rows: np.ndarray, columns: np.ndarray, value: np.ndarray, combine: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different pairs by row and column: rows, columns, and the values of equal pairs combined by a ufunc.

    Rows are below 2³¹ and columns below 2³². Values are combined in the order in which they come.

    >>> combine_pairs(np.array([1, 0, 1]), np.array([2, 5, 2]), np.array([1.0, 2.0, 3.0]), np.add)
    (array([0, 1]), array([5, 2]), array([2., 4.]))
    """
    key = rows.astype(np.int64) << 32 | columns
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    del order
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))[: len(key)]
    if len(key):
        value = combine.reduceat(value, first)
    key = key[first]
    return key >> 32, key & 0xFFFFFFFF, value
