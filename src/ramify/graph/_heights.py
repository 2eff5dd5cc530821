"""Heights of a tree whose shape is known: what a cluster leaves unexplained.

The height of a node is the sum of squared distances of its rows to their mean (of unit rows, for cosine). It never
decreases towards the root, and a cut into k clusters splits whatever leaves most unexplained: it does not give k − 1
outliers and a rest, as heights by distance do. A row that lies far from its neighbours, compared with how far these
lie from theirs, counts for less: squares would let a few such rows decide what is split. Without rows the height is the
number of leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify import _core
from ramify.graph._edges import is_distance, own_scale
from ramify.neighbors.graph import NeighborGraph
from ramify.similarity import Similarity
from ramify.tree import Tree

__all__ = ["by_count", "by_rows", "typicality"]

_COLUMNS = 4  # summed at a time
_ROWS = 65_536  # looked at together


def typicality(graph: NeighborGraph) -> np.ndarray:
    """How much each row of a graph of neighbours counts: 1, or the scale of its neighbours in that of its own.

    Scales are distances to the fifth nearest; of the neighbours' it is the median.
    """
    if not graph.n_edges or not is_distance(graph):
        return np.ones(graph.n_points)
    scale, degree = own_scale(graph), graph.degree
    if np.ptp(degree) > 0:
        return np.ones(graph.n_points)
    near = graph.indices.reshape(graph.n_points, -1)
    usual = [np.median(scale[near[i : i + _ROWS]], axis=1) for i in range(0, len(near), _ROWS)]
    return np.minimum(1.0, np.concatenate(usual) / scale)


def by_count(tree: Tree, mass: np.ndarray) -> np.ndarray:
    """Leaves of each node, less one."""
    height = np.asarray(_core.node_sums(tree.parent, mass), dtype=np.float64) - float(mass.min())
    height[: tree.n_leaves] = 0.0
    return _rising(tree, height)


def by_rows(tree: Tree, X: Any, similarity: Similarity, mass: np.ndarray) -> np.ndarray:
    """Sum of squared distances to the mean of each node's rows."""
    scale = np.ones(len(X))
    centre = X.mean(axis=0, dtype=np.float64)
    if similarity.order == "angle":
        norm = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        scale = 1.0 / np.maximum(norm, np.finfo(np.float32).tiny)
        centre = np.zeros(X.shape[1])
    order, first, last = tree.leaf_order, tree.first, tree.first + tree.size
    own = mass[order]
    length = np.zeros(tree.n_nodes)
    square = np.zeros(tree.n_leaves)
    for start in range(0, X.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        z = (X[order, columns] - centre[columns]) * scale[order, None]
        square += np.einsum("ij,ij->i", z, z)
        sums = np.zeros((len(z) + 1, z.shape[1]))
        np.cumsum(z * own[:, None], axis=0, out=sums[1:])
        below = sums[last] - sums[first]
        length += np.einsum("ij,ij->i", below, below)
    total = np.concatenate([[0.0], np.cumsum(own * square)])
    weight = np.concatenate([[0.0], np.cumsum(own)])
    height = total[last] - total[first] - length / np.maximum(weight[last] - weight[first], np.finfo(float).tiny)
    # What is left of equal rows is rounding.
    height[height < 1e-9 * max(float(height[-1]), 0.0)] = 0.0
    height[: tree.n_leaves] = 0.0
    return _rising(tree, height)


def _rising(tree: Tree, height: np.ndarray) -> np.ndarray:
    return np.asarray(_core.tree_largest_heights(tree.parent, height, tree.n_leaves))
