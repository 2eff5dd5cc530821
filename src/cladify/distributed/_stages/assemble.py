"""One tree from a top and what workers built below its leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cladify.tree import Tree

__all__ = ["Below", "put_together"]


class Below(NamedTuple):
    """Trees over some of all rows, numbered as in :class:`Tree` but for roots, whose parent is -1.

    ``ids`` are the rows that their leaves stand for, ``label`` the leaf of the top that each row is below. Rows with
    the same label have one root in common.
    """

    ids: np.ndarray
    label: np.ndarray
    parent: np.ndarray
    height: np.ndarray


def put_together(n: int, below: Iterable[Below], top: np.ndarray, top_height: np.ndarray) -> Tree:
    """The tree over n rows: the parents and heights of ``top``, a binary tree, with its leaves opened."""
    below = list(below)
    m = (len(top) + 1) // 2
    inner = n + np.concatenate([[0], np.cumsum([len(each.parent) - len(each.ids) for each in below])])
    first = int(inner[-1])  # of the nodes of the top that are not its leaves
    parent = np.full(first + len(top) - m, -1, dtype=np.int64)
    height = np.zeros(len(parent))
    leaf = np.empty(m, dtype=np.int64)  # the node that each leaf of the top stands for
    for each, start in zip(below, inner, strict=False):
        own = each.parent
        name = np.concatenate([each.ids, start + np.arange(len(own) - len(each.ids))])
        inside = own >= 0
        parent[name[inside]] = name[own[inside]]
        height[name] = each.height
        above = np.where(inside, own, np.arange(len(own)))
        while not np.array_equal(higher := above[above], above):
            above = higher
        leaf[each.label] = name[above[: len(each.ids)]]
    names = np.concatenate([leaf, first + np.arange(len(top) - m)])
    parent[names[:-1]] = names[top[:-1]]
    height[names[m:]] = top_height[m:]
    return Tree.from_parents(parent, n, height)
