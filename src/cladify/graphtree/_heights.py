"""Heights of a tree of known shape: the spread of each cluster.

The height of a node is the sum of squared distances of its rows to their mean (of unit rows, for cosine). It never
decreases towards the root, and a cut into k clusters splits whatever leaves most unexplained: it does not give k − 1
outliers and a rest, as heights by distance do. A row that lies far from its neighbours, compared with how far these
lie from theirs, counts for less: squares would let a few such rows decide what is split. Without rows the height is the
number of leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cladify import _core
from cladify.data._frame import row_squares
from cladify.data._pairs import FeatureWeights
from cladify.data.features import FeatureMap
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Similarity, sqeuclidean
from cladify.graphtree._edges import is_distance, own_scale
from cladify.tree import Tree

__all__ = ["by_count", "by_rows", "row_scale", "settled", "spread_of_rows", "spread_of_sums", "typicality"]

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


def by_rows(tree: Tree, X: Any, similarity: Similarity, mass: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
    """Sum of squared distances to the mean of each node's rows."""
    return settled(tree, spread_of_rows(tree, X, similarity, mass, n_jobs))


def spread_of_rows(
    tree: Tree, X: np.ndarray, similarity: Similarity, mass: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """The same before rounding is mended: one pass over the rows."""
    if similarity.order == "angle":
        scale = row_scale(X, similarity)
        features = FeatureMap(X, np.ones(len(X)), -2.0, 0.0, exact=True, row_scale=scale)
    else:
        features = sqeuclidean.features(X)
    return FeatureWeights(features, similarity.name, mass).spreads(tree, n_jobs)


def spread_of_sums(tree: Tree, total: np.ndarray, square: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The same where a leaf stands for rows: sums of these, of their squares, and their mass."""
    order = tree.leaf_order
    blocks = (total[order, start : start + _COLUMNS] for start in range(0, total.shape[1], _COLUMNS))
    return _spread(tree, square[order], mass[order], _lengths(tree, blocks))


def settled(tree: Tree, height: np.ndarray) -> np.ndarray:
    """Heights that never decrease towards the root, 0 where equal rows differ by rounding only."""
    height = np.where(height < 1e-9 * max(float(height[-1]), 0.0), 0.0, height)
    height[: tree.n_leaves] = 0.0
    return _rising(tree, height)


def row_scale(X: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Factor of each row: 1 / length for cosine, otherwise 1."""
    if similarity.order != "angle":
        return np.ones(len(X))
    norm = np.sqrt(row_squares(X, dtype=np.float64))
    return np.asarray(1.0 / np.maximum(norm, np.finfo(np.float32).tiny))


def _lengths(tree: Tree, blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Squared lengths of the sums over each node's leaves, given in their order, some columns at a time."""
    first, last = tree.first, tree.first + tree.size
    length = np.zeros(tree.n_nodes)
    for block in blocks:
        sums = np.zeros((len(block) + 1, block.shape[1]))
        np.cumsum(block, axis=0, out=sums[1:])
        below = sums[last] - sums[first]
        length += row_squares(below)
    return length


def _spread(tree: Tree, square: np.ndarray, own: np.ndarray, length: np.ndarray) -> np.ndarray:
    first, last = tree.first, tree.first + tree.size
    total = np.concatenate([[0.0], np.cumsum(square)])
    weight = np.concatenate([[0.0], np.cumsum(own)])
    # Masses that are lost beside that of all leave nothing but rounding, which must not be divided by next to nothing.
    below = np.maximum(weight[last] - weight[first], max(np.finfo(float).eps * weight[-1], np.finfo(float).tiny))
    return np.asarray(total[last] - total[first] - length / below)


def _rising(tree: Tree, height: np.ndarray) -> np.ndarray:
    return np.asarray(_core.tree_largest_heights(tree.parent, height, tree.n_leaves))
