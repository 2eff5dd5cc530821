"""Trees cut off at a height: all nodes above it become one."""

from __future__ import annotations

import numpy as np

from cladify.tree import Tree

__all__ = ["stop_above", "tree_of_parts"]


def tree_of_parts(left: np.ndarray, right: np.ndarray, height: np.ndarray, n: int, threshold: float) -> Tree:
    """The tree of all merges up to a height: a root just above it joins the parts that are left.

    Merges are as in :meth:`cladify.Tree.from_merges`, but there may be fewer than n − 1 of them.
    """
    root = n + len(left)
    parent = np.full(root + 1, root, dtype=np.int64)
    parent[root] = -1
    parent[left] = parent[right] = np.arange(n, root)
    heights = np.concatenate([np.zeros(n), height, [np.inf]])
    # Nodes above the threshold are removed, and their children move up to the root; parents come after children.
    high = heights > threshold
    high[:n] = False
    parent[high[parent] & (parent >= 0)] = root
    keep = ~high
    keep[root] = True
    number = np.cumsum(keep) - 1
    above = np.where(parent[keep] < 0, -1, number[parent[keep]])
    heights[root] = np.nextafter(threshold, np.inf)
    return Tree.from_parents(above, n, height=heights[keep])


def stop_above(tree: Tree, threshold: float) -> Tree:
    """A binary tree with one node in place of all that are higher than ``threshold``."""
    if tree.height[-1] <= threshold:
        return tree
    linkage = tree.to_linkage()
    left, right = linkage[:, 0].astype(np.int64), linkage[:, 1].astype(np.int64)
    stopped = tree_of_parts(left, right, linkage[:, 2], tree.n_leaves, threshold)
    stopped.info.update(tree.info)
    return stopped
