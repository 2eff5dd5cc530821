"""Trees for reading: splits in the order of their spread, and the condensed tree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cladify import _core
from cladify._kit.params import check_int
from cladify.errors import InvalidInput

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["condense", "default_min_size", "min_size_for", "spreads"]


def spreads(tree: Tree) -> np.ndarray:
    """Spread of each node: its leaves times its height, never decreasing towards the root.

    Heights that are sums over the leaves, as :class:`~cladify.GraphTree` has them, are that already.
    """
    height = _from_zero(tree)
    return height if _are_sums(tree) else tree.size * height


def mean_heights(tree: Tree) -> np.ndarray:
    """How far the leaves of each node lie apart, however many they are; never decreasing towards the root."""
    height = _from_zero(tree)
    return _core.tree_largest_heights(tree.parent, height / tree.size, tree.n_leaves) if _are_sums(tree) else height


def _from_zero(tree: Tree) -> np.ndarray:
    """Heights below 0, as similarities give them, are counted from the lowest one."""
    height = tree._largest_height
    return height - min(0.0, float(height.min()))


def _are_sums(tree: Tree) -> bool:
    return tree.info.get("heights") == "sums"


def min_size_for(tree: Tree, n_clusters: int) -> int:
    """The size below which a part is an outlier in a cut for reading: a fifth of an average cluster.

    Less, where the tree has not as many parts of that size.
    """
    most = max(1, tree.n_leaves // (5 * n_clusters))
    return int(_core.tree_min_size_for(tree.parent, tree.size, n_clusters, most))


def default_min_size(n_leaves: int) -> int:
    """The smallest cluster worth a line in an outline of n leaves: √n / 3, and at least 2."""
    return max(2, round(math.sqrt(n_leaves) / 3))


def condense(tree: Tree, min_size: int | None, max_children: int, *, size: np.ndarray | None = None) -> Tree:
    """The k-ary tree of the splits that a reader needs; see :meth:`cladify.Tree.condense`.

    ``size`` are the sizes of nodes that ``min_size`` is compared with, where these are not their leaves.
    """
    n = tree.n_leaves
    max_children = check_int("max_children", max_children, low=2)
    if min_size is None:
        small = min(default_min_size(n), n)
    else:
        small = check_int("min_size", min_size, low=1, high=n, why=f"for {n} leaves")
    size = tree.size if size is None else size
    parent, source = _core.tree_condense(tree.parent, size, spreads(tree), n, small, max_children)
    condensed = tree._derive(parent, source)
    condensed.info["condense"] = {"min_size": small, "max_children": max_children, "nodes": source[n:]}
    return condensed


def check_order(by: str, n_clusters: int | None, height: float | None) -> None:
    """``by`` orders the splits that lead to a number of clusters; nothing else."""
    if by not in ("height", "spread"):
        raise InvalidInput(f'by must be "height" or "spread", got {by!r}.')
    if by == "spread" and (n_clusters is None or height is not None):
        raise InvalidInput('by="spread" chooses the splits that lead to n_clusters; give n_clusters, and no height.')
