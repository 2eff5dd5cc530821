"""gHHC: the inner nodes of a tree as points of the Poincaré ball, leaves assigned to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array

from cladify._estimator import TreeEstimator
from cladify._kit.memory import check_memory
from cladify._kit.parallel import one_blas_thread
from cladify._kit.params import check_bool, check_random_state, integer, number, optional
from cladify._kit.progress import Progress
from cladify.data._vectors import columns_in_use
from cladify.data.points import Points
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["GHHC"]

_RIM = 0.999  # no inner node is nearer to the boundary
_MOST_LEAF_ROWS = 4096


@dataclass(kw_only=True, eq=False, repr=False)
class GHHC(TreeEstimator):
    r"""Gradient-based hyperbolic hierarchical clustering, after [1]_.

    The leaves are fixed: the rows of X, scaled to one length near the rim of the Poincaré ball of as many dimensions.
    ``n_nodes`` inner nodes move in that ball. A node is a likely parent of what is near to it and farther out:

    .. math:: d_{cp}(x, v) = d(x, v)\,\bigl(1 + \max(0, |v| - |x|)\bigr).

    For triplets whose rows i and j are more similar to each other than to k, the soft common ancestor of i and j, a
    softmax over the nodes of :math:`-\max(d_{cp}(i, v), d_{cp}(j, v))`, shall be nearer to i and j than to k (a
    logistic loss). In the end every leaf and every node hangs below the nearest node that is nearer to the origin. By
    default nodes with many children become random binary trees over them, so that the tree has cuts of every size.

    It is here for comparison: the method needs vectors, and its trees fit the objectives worse than any linkage.

    Parameters
    ----------
    n_nodes : int, optional
        Inner nodes; by default √n · 4, at most 1000 and less than the rows.
    n_steps : int, optional
        None: 300, and fewer below 60 rows, 5 n.
    batch_size : int
        Triplets a step.
    learning_rate : float
    leaf_radius : float in (0, 1)
    binary : bool
        False: leave nodes with many children as they are.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    random_state : int, Generator or None

    Attributes
    ----------
    tree_ : Tree
    nodes_ : float64 array of shape (n_nodes, d)
    losses_ : list of float

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.05], [0.0, 1.0], [0.1, 1.0], [0.05, 1.0]])
    >>> GHHC(n_nodes=4, n_steps=50, random_state=0).fit(X).tree_.n_leaves
    6

    References
    ----------
    .. [1] Monath, Zaheer, Silva, McCallum, Ahmed. Gradient-based hierarchical clustering using continuous
       representations of trees in hyperbolic space. KDD 2019.
    """

    _checks: ClassVar = {
        "n_nodes": optional(integer(low=1)),
        "n_steps": optional(integer(low=1)),
        "batch_size": integer(low=1),
        "learning_rate": number(low=0.0, open_low=True),
        "leaf_radius": number(low=0.0, high=0.999, open_low=True),
        "binary": check_bool,
    }

    n_nodes: int | None = None
    n_steps: int | None = None
    batch_size: int = 256
    learning_rate: float = 0.01
    leaf_radius: float = 0.95
    binary: bool = True
    random_state: Any = None

    metric = "cosine"  # of `predict`: leaves keep nothing but their direction

    def _fit(self, points: Points, report: Progress) -> Tree:
        if not points.uniform:
            raise InvalidInput("GHHC counts every row once and takes no sample_weight; repeat rows.")
        check_memory(
            16 * points.n * points.d, f"GHHC on {points.n} rows of {points.d} columns", "reduce the columns first."
        )
        leaf = points.similarity.features(points.rows).take(slice(None))  # rows of length 1
        columns = columns_in_use(leaf) if points.is_sparse else np.arange(points.d)  # nodes stay in the span of leaves
        leaf = self.leaf_radius * (leaf[:, columns].toarray() if points.is_sparse else leaf)
        n = len(leaf)
        random = check_random_state(self.random_state)
        count = min(self.n_nodes or min(1000, int(4 * np.sqrt(n))), max(1, n - 1))
        node = leaf[random.choice(n, count, replace=False)] * random.uniform(0.05, 0.9, size=(count, 1))
        self.losses_: list[float] = []
        with one_blas_thread():
            if n >= 3:
                node = self._descend(leaf, node, random, report)
            self.nodes_ = np.zeros((len(node), points.d))
            self.nodes_[:, columns] = node
            parent = assign(leaf, node)
        info = {"method": "ghhc", "n_nodes": count}
        if n == 1:
            return Tree([-1], info=info)
        tree = Tree.from_parents(parent, n, info=info)
        return tree.binarize(random) if self.binary else tree

    def _descend(self, leaf: np.ndarray, node: np.ndarray, random: np.random.Generator, report: Progress) -> np.ndarray:
        mean, square = np.zeros_like(node), np.zeros_like(node)
        steps = self.n_steps or min(300, 5 * len(leaf))
        with report.stage("nodes", steps) as advance:
            for step in range(1, steps + 1):
                loss, gradient = triplet_step(leaf, draw_triplets(leaf, self.batch_size, random), node)
                self.losses_.append(loss)
                # Riemannian: the gradient in the metric of the ball, then Adam, then back inside.
                gradient *= ((1.0 - np.square(node).sum(axis=1, keepdims=True)) ** 2) / 4.0
                mean += 0.1 * (gradient - mean)
                square += 0.01 * (np.square(gradient).sum(axis=1, keepdims=True) - square)
                size = np.sqrt(square / (1.0 - 0.99**step)) + 1e-12
                node = node - self.learning_rate * mean / (1.0 - 0.9**step) / size
                node *= np.minimum(1.0, _RIM / np.maximum(np.linalg.norm(node, axis=1, keepdims=True), 1e-12))
                advance()
        return node


def draw_triplets(leaf: np.ndarray, count: int, random: np.random.Generator) -> np.ndarray:
    """Random triplets, shape (3, count), ordered so that the first two are the most similar pair."""
    ids = random.integers(len(leaf), size=(3, count))
    a, b, c = leaf[ids]
    products = np.stack([(b * c).sum(1), (a * c).sum(1), (a * b).sum(1)])  # row r: the pair without r
    odd = products.argmax(axis=0)
    column = np.arange(count)
    return np.stack([ids[(odd + 1) % 3, column], ids[(odd + 2) % 3, column], ids[odd, column]])


@dataclass(frozen=True)
class Distances:
    """Of all points x and all nodes v: the child-parent distance d_cp, and its terms."""

    cp: np.ndarray
    d: np.ndarray
    apart: np.ndarray  # |x − v|²
    room: np.ndarray  # (1 − |x|²)(1 − |v|²)
    farther: np.ndarray  # |v| − |x|


def distances(x: np.ndarray, v: np.ndarray) -> Distances:
    """d_cp of every x (rows) as a child of every v (columns)."""
    xx, vv = np.square(x).sum(axis=1), np.square(v).sum(axis=1)
    apart = np.maximum(xx[:, None] + vv - 2.0 * (x @ v.T), 0.0)
    room = (1.0 - xx)[:, None] * (1.0 - vv)
    farther = np.sqrt(vv) - np.sqrt(xx)[:, None]
    d = np.arccosh(1.0 + 2.0 * apart / room)
    return Distances(d * (1.0 + np.maximum(farther, 0.0)), d, apart, room, farther)


def triplet_step(leaf: np.ndarray, ids: np.ndarray, node: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean logistic loss of triplets, an array of shape (3, b) of leaves, and its gradient by the nodes."""
    b = ids.shape[1]
    used, place = np.unique(ids, return_inverse=True)  # few leaves are in many triplets
    x, place = leaf[used], place.reshape(3, b)
    near = distances(x, node)
    near_i, near_j, far = near.cp[place]
    first = near_i >= near_j
    pair = np.where(first, near_i, near_j)
    share = np.exp(pair.min(axis=1, keepdims=True) - pair)
    share /= share.sum(axis=1, keepdims=True)
    margin = far - pair
    mean = (share * margin).sum(axis=1, keepdims=True)
    loss = np.logaddexp(0.0, -mean)
    slope = -1.0 / (1.0 + np.exp(np.clip(mean, -50.0, 50.0))) / b
    by_far = slope * share
    by_pair = -by_far * (1.0 + margin - mean)
    by_triplet = np.concatenate([by_pair * first, by_pair * ~first, by_far])  # shape (3 b, nodes)
    at = csc_array((np.ones(3 * b), place.reshape(-1), np.arange(3 * b + 1)), shape=(len(used), 3 * b))
    by_cp = at @ by_triplet  # shape (leaves, nodes)

    # argument of cosh = 1 + 2 |x − v|² / room: by v, 4 (v − x) / room + 4 |x − v|² v / (room (1 − |v|²)).
    vv = np.square(node).sum(axis=1)
    argument = 1.0 + 2.0 * near.apart / near.room
    by_d = by_cp * (1.0 + np.maximum(near.farther, 0.0))
    pull = 4.0 * by_d / np.sqrt(np.maximum(argument * argument - 1.0, 1e-12)) / near.room
    along = (pull * near.apart).sum(axis=0) / (1.0 - vv) + pull.sum(axis=0)
    radial = (by_cp * near.d * (near.farther > 0)).sum(axis=0) / np.maximum(np.sqrt(vv), 1e-12)
    return float(loss.mean()), (along + radial)[:, None] * node - pull.T @ x


def assign(leaf: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Parents of leaves and nodes: the nearest node that is nearer to the origin; nodes with one child are left out."""
    n = len(leaf)
    rank = np.argsort(np.square(node).sum(axis=1), kind="stable")[::-1]  # from the rim to the root
    node = node[rank]
    m = len(node)
    parent = np.full(n + m, -1, dtype=np.int64)
    for start in range(0, n, _MOST_LEAF_ROWS):
        part = slice(start, min(n, start + _MOST_LEAF_ROWS))
        parent[part] = n + distances(leaf[part], node).cp.argmin(axis=1)
    cp = distances(node, node).cp
    for v in range(m - 1):  # a parent comes later in the order: no cycles
        parent[n + v] = n + v + 1 + int(cp[v, v + 1 :].argmin())
    children = np.zeros(n + m, dtype=np.int64)
    kept = np.ones(n + m, dtype=bool)
    only = np.full(n + m, -1, dtype=np.int64)
    top = np.arange(n + m)  # the node that replaces one that is left out
    for v in range(n + m):
        if v >= n and children[v] < 2:
            kept[v] = False
            top[v] = only[v]
        if top[v] >= 0 and parent[v] >= 0:
            children[parent[v]] += 1
            only[parent[v]] = top[v]
    up = parent.copy()
    for v in range(n + m - 1, -1, -1):  # parents first: skip those that were left out
        while up[v] >= 0 and not kept[up[v]]:
            up[v] = up[up[v]]
    number = np.cumsum(kept) - 1
    result = up[kept]
    return np.where(result >= 0, number[result], -1)
