"""The order of leaves: a given one checked, and one in which neighbours are similar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cladify import _core
from cladify.data._cost_features import check_metric
from cladify.data._frame import row_squares
from cladify.data._vectors import check_vectors, is_sparse
from cladify.errors import InvalidTree
from cladify.tree._build import from_merges
from cladify.tree._rules import check_leaves, read_only

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["default_metric", "order_leaves", "own_order"]

_ENDS = 8  # pairs of ends kept a node: within about 1 % of the best order, in a few seconds for a million leaves
_SPARSE_COLUMNS = 64  # sparse rows are projected to this many numbers


def own_order(order: Any, parent: np.ndarray, size: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The layout that a given order of the leaves makes: a copy of it, and where each node begins and ends in it."""
    rule = "tree breaks rule 8 (order has each leaf once, the leaves of every node side by side): "
    array = np.array(order)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise InvalidTree(f"{rule}got dtype {array.dtype} and shape {array.shape} for {n} leaves.")
    array = array.astype(np.int64, copy=False)
    if array.min() < 0 or array.max() >= n or np.bincount(array, minlength=n).max() > 1:
        raise InvalidTree(f"{rule}it is not a permutation of 0 .. {n - 1}.")
    broken, first, last = _core.tree_layout_of(parent, size, array)
    if broken >= 0:
        raise InvalidTree(f"{rule}other leaves lie between those of node {broken}.")
    return read_only(array), read_only(first), read_only(last)


def default_metric(tree: Tree, metric: Any) -> Any:
    """The metric given; by default cosine for trees made with it, and the squared distance for others."""
    if metric is not None:
        return metric
    return "cosine" if str(tree.info.get("metric")) == "cosine" else "sqeuclidean"


def order_leaves(tree: Tree, X: Any, metric: Any) -> np.ndarray:
    """The leaves in an order that follows the tree, with similar ones side by side."""
    metric = check_metric(default_metric(tree, metric))
    X = check_vectors(X)
    check_leaves(tree, X.shape[0])
    if is_sparse(X):
        rng = np.random.default_rng(0)
        X = X @ rng.standard_normal((X.shape[1], _SPARSE_COLUMNS), dtype=np.float32)
    rows = np.array(X, dtype=np.float32, order="C")
    if metric == "cosine":
        rows /= np.maximum(np.sqrt(row_squares(rows)), np.finfo(np.float32).tiny)[:, None]
    parent = tree.parent if tree.is_binary else _binary_parents(tree, rows)
    start, child = _core.tree_children(parent, tree.n_leaves)
    return _core.tree_near_order(parent, start, child, tree.n_leaves, rows, _ENDS)


def _binary_parents(tree: Tree, rows: np.ndarray) -> np.ndarray:
    """Parents of a binary tree in which the children of every node are joined by the distances between their means."""
    n = tree.n_leaves
    weights = np.repeat(1.0, n)
    mass = _core.node_sums(tree.parent, weights)
    mean = np.empty((tree.n_nodes, rows.shape[1]), dtype=np.float32)
    for column in range(rows.shape[1]):
        mean[:, column] = _core.node_sums(tree.parent, rows[:, column].astype(np.float64)) / mass
    left: list[int] = []
    right: list[int] = []
    now = np.arange(tree.n_nodes)  # the node of the binary tree for each node of this one
    start, child = tree.child_start, tree.child_ids
    for v in range(n, tree.n_nodes):
        children = child[start[v - n] : start[v - n + 1]]
        pairs = _join(mean[children])
        names = [int(now[c]) for c in children]
        for a, b in pairs:
            left.append(names[a])
            right.append(names[b])
            names.append(n + len(left) - 1)
        now[v] = names[-1]
    return from_merges(left, right, np.arange(len(left), dtype=np.float64), n, None)[0]


def _join(mean: np.ndarray) -> list[tuple[int, int]]:
    """Merges of a few points: by average linkage, of very many along their widest direction."""
    if len(mean) == 2:
        return [(0, 1)]
    if len(mean) <= 2000:
        from scipy.cluster.hierarchy import linkage

        return [(int(a), int(b)) for a, b in linkage(mean.astype(np.float64), "average")[:, :2]]
    centred = mean - mean.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    along = np.argsort(centred @ axes[:, -1], kind="stable").tolist()
    names = [*along]
    pairs: list[tuple[int, int]] = []
    while len(names) > 1:  # neighbours along it, level by level
        joined = [(names[i], names[i + 1]) for i in range(0, len(names) - 1, 2)]
        rest = names[2 * len(joined) :]
        names = [len(mean) + len(pairs) + i for i in range(len(joined))] + rest
        pairs += joined
    return pairs
