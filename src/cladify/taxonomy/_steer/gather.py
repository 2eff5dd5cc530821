"""A tree in which given clusters are subtrees, and that is otherwise as it was.

All leaves are put in a row: clusters beside each other, the leaves of each in the order of the old tree. Where two
neighbours of the row met in the old tree says how high they meet in the new one; leaves of different clusters meet
above all those of one cluster. The new tree is the Cartesian tree of these heights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cladify import _core
from cladify.tree import Tree

__all__ = ["gather"]


def gather(tree: Tree, partitions: Sequence[np.ndarray]) -> Tree:
    """The tree with every cluster of some partitions, each within one of the partition before, as a subtree.

    >>> tree = Tree([5, 5, 6, 6, 7, 8, 7, 8, -1], [0, 0, 0, 0, 0, 1, 1, 2, 3])
    >>> gathered = gather(tree, [np.array([0, 1, 0, 1, 1])])
    >>> sorted(gathered.members(v).tolist() for v in gathered.children(gathered.root))
    [[0, 2], [1, 3, 4]]
    """
    n = tree.n_leaves
    if n < 3 or not partitions:
        return tree
    position = np.empty(n, np.int64)
    position[tree.leaf_order] = np.arange(n)
    keys, middles = [], []
    for labels in partitions:
        place, middle = _places(labels, position, tree.leaf_order)
        keys.append(place)
        middles.append(middle)
    order = np.lexsort((position, *reversed(keys)))
    left, right = order[:-1], order[1:]
    met = tree.lca(left, right)
    # Where neighbours of the row are in different clusters: the coarsest partition that parts them.
    rank = met.astype(np.int64)
    for number in range(len(partitions) - 1, -1, -1):
        parted = keys[number][left] != keys[number][right]
        met[parted] = tree.lca(middles[number][left[parted]], middles[number][right[parted]])
        rank[parted] = met[parted] + (len(partitions) - number) * tree.n_nodes
    # Of equal neighbours the right ones meet above the left ones.
    by_rank = np.argsort(rank, kind="stable")
    parent = _joined(left, right, by_rank)
    met = met[by_rank]
    height = np.concatenate([np.zeros(n), tree.height[met]])
    if tree.info.get("heights") == "sums":  # they grow with the leaves, and a node may have lost some
        height[n:] *= np.minimum(1.0, _core.tree_sizes(parent, n)[n:] / tree.size[met])
    return Tree(parent, _core.tree_largest_heights(parent, height, n), info=tree.info)


def _places(labels: np.ndarray, position: np.ndarray, leaf_order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each leaf: the place of its cluster among all, and the leaf in the middle of the cluster."""
    _, cluster, size = np.unique(labels, return_inverse=True, return_counts=True)
    cluster = cluster.reshape(-1)
    sorted_ = np.lexsort((position, cluster))
    start = np.concatenate([[0], np.cumsum(size)[:-1]])
    middle = position[sorted_[start + size // 2]]
    place = np.empty(len(size), np.int64)
    place[np.argsort(middle, kind="stable")] = np.arange(len(size))
    return place[cluster], leaf_order[middle[cluster]]


def _joined(left: np.ndarray, right: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Parents in the tree that joins neighbours of the row in some order; its inner nodes are numbered by that."""
    n = len(left) + 1
    ends = (left.astype(np.int32), right.astype(np.int32), np.zeros(n - 1), order.astype(np.int32))
    a, b, _ = _core.merge_in_order(*ends, n)
    parent = np.full(2 * n - 1, -1, np.int64)
    parent[a] = parent[b] = n + np.arange(n - 1)
    return parent
