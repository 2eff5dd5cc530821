"""Merges: the result of every linkage algorithm, from which a `Tree` is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Merges", "duplicates_first"]


class Merges(NamedTuple):
    """Merge ``i`` joins nodes ``left[i]`` and ``right[i]`` into node ``n + i``."""

    left: np.ndarray
    right: np.ndarray
    height: np.ndarray


class Distinct(NamedTuple):
    """The distinct points of a data set: node and smallest leaf of each, and the merges that made these nodes.

    ``owner[i]`` is the place among them of the one that point i is equal to.
    """

    node: np.ndarray
    leaf: np.ndarray
    merges: Merges
    owner: np.ndarray


def duplicates_first(first: np.ndarray) -> Distinct:
    """Merges at height 0 of the points that are equal, one after the other in the order of the leaves.

    ``first[i]`` is the first point equal to point i.

    >>> nodes = duplicates_first(np.array([0, 1, 0, 0]))
    >>> nodes.node.tolist(), nodes.merges.left.tolist(), nodes.merges.right.tolist()
    ([5, 1], [0, 4], [2, 3])
    """
    n = len(first)
    node = np.arange(n, dtype=np.int32)
    again = np.flatnonzero(first != node)
    right = again[np.argsort(first[again], kind="stable")].astype(np.int32)
    original = first[right]
    made = n + np.arange(len(right), dtype=np.int32)
    starts = np.ones(len(right), dtype=bool)
    starts[1:] = original[1:] != original[:-1]
    left = np.where(starts, original, made - 1).astype(np.int32)
    node[original] = made  # the last of each group is the one that stays
    leaf = np.flatnonzero(first == np.arange(n)).astype(np.int32)
    owner = np.searchsorted(leaf, first)
    return Distinct(node[leaf], leaf, Merges(left, right, np.zeros(len(right))), owner)
