"""Cuts by count, height and size, as functions; :meth:`cladify.Tree.cut` has their rules and combines them."""

from __future__ import annotations

import numpy as np

from cladify.tree import Tree

__all__ = ["by_count", "by_height", "by_size"]


def by_count(tree: Tree, n_clusters: int) -> np.ndarray:
    """Labels of ``n_clusters`` clusters; where a tree that is not binary has no such cut, the closest below.

    Examples
    --------
    >>> by_count(Tree([4, 4, 5, 5, 6, 6, -1]), 2).tolist()
    [0, 0, 1, 1]
    """
    return tree.cut(n_clusters=n_clusters)


def by_height(tree: Tree, height: float) -> np.ndarray:
    """Labels that keep together what was joined at ``height`` or below.

    Examples
    --------
    >>> by_height(Tree([4, 4, 5, 5, 6, 6, -1]), 1.0).tolist()
    [0, 0, 1, 1]
    """
    return tree.cut(height=height)


def by_size(tree: Tree, *, min_size: int | None = None, max_size: int | None = None) -> np.ndarray:
    """Labels of clusters of at least ``min_size`` (the finest) or at most ``max_size`` leaves (the coarsest).

    Examples
    --------
    >>> by_size(Tree([4, 4, 5, 5, 6, 6, -1]), max_size=3).tolist()
    [0, 0, 1, 1]
    """
    return tree.cut(min_size=min_size, max_size=max_size)
