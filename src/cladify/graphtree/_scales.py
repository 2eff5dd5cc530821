"""Scale by scale: search, contract to micro-clusters, take their neighbours as the next graph, and search again.

With a fixed number of neighbours a graph sees ever finer scales as n grows: it says well which few points belong
together and little about how a hundred thousand of them fall into thirty groups. So the tree of a large graph is kept
only up to nodes of some thirty leaves. These micro-clusters are the points of the next scale. Its edges are their
centroids' nearest neighbours and what is left of the edges of the scale below, :math:`W_{AB} / \\sqrt{|A||B|}`: where
clusters are curved, centroids alone would lose information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.parallel import row_blocks
from cladify.data._frame import row_squares
from cladify.data._vectors import is_sparse
from cladify.data.similarity import Similarity
from cladify.graphtree._edges import Edges, neighbor_edges
from cladify.graphtree._far import link_parts, tie_together
from cladify.graphtree._search import Budget, search_parts, search_small, search_whole
from cladify.neighbors.build import neighbors
from cladify.tree import Tree

__all__ = [
    "LAST",
    "MICRO",
    "Rows",
    "centroids",
    "groups",
    "grow",
    "micro_clusters",
    "next_scale",
    "put_below",
    "roots_of",
    "scale_over",
]

#: Leaves of a micro-cluster, at most.
MICRO = 32
#: A micro-cluster of fewer points is an outlier.
_FEW = 3
#: Up to this many points a scale is the last one.
LAST = 10_000
#: The same for points that are micro-clusters: every contraction loses a little information.
_UPPER = 25_000
#: Weight of all contracted edges, in that of all neighbours of centroids.
_TIES = 1.0
_ROWS = 16_384  # points whose edges are contracted together


@dataclass
class Rows:
    """Rows, their metric, and how many of the given rows each stands for."""

    X: Any
    similarity: Similarity
    count: np.ndarray
    n_neighbors: int


def grow(edges: Edges, rows: Rows | None, budget: Budget, *, upper: bool = False) -> tuple[Tree, list[int]]:
    """The tree over the points of ``edges``, its heights 0, and the number of points of every scale.

    ``upper`` says that the points are micro-clusters already.
    """
    below: list[tuple[Tree, np.ndarray]] = []
    scales = [edges.n_points]
    while edges.n_points > (_UPPER if below or upper else LAST):
        if rows is None:
            return search_parts(edges, budget), scales
        tree = search_small(edges, budget.share(0.5))
        label = micro_clusters(tree, MICRO)
        m = int(label.max()) + 1
        if 2 * m > edges.n_points:  # a tree of hardly anything but single leaves off a trunk
            rows = None
            continue
        group = groups(edges, label)
        label = group[label]
        below.append((tree, group))
        scales.append(int(label.max()) + 1)
        edges, rows = next_scale(edges, rows, label, budget)
    tree = search_whole(edges, budget)
    for tree_below, group in reversed(below):
        tree = put_below(tree_below, MICRO, group, tree)
    return tree, scales


def micro_clusters(tree: Tree, size: int) -> np.ndarray:
    """The largest subtree of at most ``size`` leaves that each leaf is in, numbered in the order of their nodes.

    >>> tree = Tree.from_newick("(((0,1),2),(3,4));")
    >>> micro_clusters(tree, 2).tolist()
    [1, 1, 0, 2, 2]
    """
    roots = roots_of(tree, size)
    order = np.argsort(tree.first[roots])
    label = np.empty(tree.n_leaves, dtype=np.int32)
    label[tree.leaf_order] = np.repeat(order, tree.size[roots][order])
    return label


def roots_of(tree: Tree, size: int) -> np.ndarray:
    small = tree.size <= size
    above = tree.parent.copy()
    above[-1] = tree.n_nodes - 1
    return np.flatnonzero(small & ~small[above]) if not small[-1] else np.array([tree.n_nodes - 1])


def groups(edges: Edges, label: np.ndarray) -> np.ndarray:
    """The point of the next scale that each micro-cluster is part of, numbered from 0.

    Those of very few points are outliers. As points of their own they would leave the trunk of the next tree one by
    one; so each goes with the larger one that it is tied to most.
    """
    size = np.bincount(label)
    goal = np.arange(len(size))
    leaves = np.flatnonzero(size[label] < _FEW)
    if len(leaves) and (size >= _FEW).any():
        tied = _contracted(edges, _members(label), leaves).tocoo()
        inside = size[tied.col] >= _FEW
        few, large = tied.row[inside], tied.col[inside]
        order = np.lexsort((large, tied.data[inside] / np.sqrt(size[large]), few))
        last = np.append(np.diff(few[order]) > 0, True)[: len(order)]
        goal[few[order][last]] = large[order][last]
    return np.unique(goal, return_inverse=True)[1].astype(np.int32).reshape(-1)


def _members(label: np.ndarray) -> Any:
    """The matrix that has 1 where a point (row) is in a micro-cluster (column)."""
    from scipy.sparse import csr_array

    n, m = len(label), int(label.max()) + 1
    return csr_array((np.ones(n, dtype=np.float32), label, np.arange(n + 1)), shape=(n, m))


def _contracted(edges: Edges, member: Any, points: np.ndarray) -> Any:
    """Sums of the edges that leave some points, from micro-cluster to micro-cluster; some rows at a time."""
    from scipy.sparse import csr_array

    weight = edges.to_scipy()
    some = [points[block] for block in row_blocks(len(points), _ROWS)]
    sums = [(member[rows].T @ (weight[rows] @ member)).tocsr() for rows in some]
    # Two by two: added to one sum of all, each would cost as much as that sum.
    while len(sums) > 1:
        sums = [sums[i] + sums[i + 1] if i + 1 < len(sums) else sums[i] for i in range(0, len(sums), 2)]
    return sums[0] if sums else csr_array((member.shape[1], member.shape[1]), dtype=np.float32)


def put_below(tree: Tree, size: int, group: np.ndarray, top: Tree) -> Tree:
    """``top`` with its leaves opened: the micro-clusters of ``tree`` that are in each, the larger ones joined first."""
    roots = roots_of(tree, size)
    kept = np.flatnonzero(tree.size <= size)
    name = np.full(tree.n_nodes, -1, dtype=np.int64)
    name[kept] = np.arange(len(kept))
    order = np.lexsort((-tree.size[roots], group))
    first = np.append(True, np.diff(group[order]) > 0)
    joints = len(kept) + np.arange(len(roots) - top.n_leaves)
    base = len(kept) + len(joints)
    parent = np.full(base + top.n_nodes - top.n_leaves, -1, dtype=np.int64)
    inside = tree.parent[kept]
    parent[: len(kept)] = np.where(inside >= 0, name[inside], -1)
    # A chain of joints a group: its largest micro-cluster with the next, that with the one after, and so on.
    members = name[roots[order]]
    ends = members.copy()
    ends[~first] = joints
    parent[members[~first]] = joints
    follows = np.flatnonzero(~first)
    parent[ends[follows - 1]] = joints
    last = np.append(first[1:], True)
    names = np.concatenate([ends[last], base + np.arange(top.n_nodes - top.n_leaves)])
    parent[names[:-1]] = names[top.parent[:-1]]
    return Tree(parent)


def next_scale(edges: Edges, rows: Rows, label: np.ndarray, budget: Budget) -> tuple[Edges, Rows]:
    """The graph over micro-clusters: neighbours of their centroids and contracted edges; and the centroids."""
    tied = _contracted(edges, _members(label), np.argsort(label, kind="stable"))
    mass = np.bincount(label, weights=edges.mass)
    return scale_over(centroids(rows, label), tied, np.bincount(label), mass, budget)


def scale_over(rows: Rows, tied: Any, size: np.ndarray, mass: np.ndarray, budget: Budget) -> tuple[Edges, Rows]:
    """The graph over centroids, from what ties their points together, and how many these are; and the centroids."""
    from scipy.sparse import diags_array

    m = len(size)
    graph = neighbors(
        rows.X,
        min(rows.n_neighbors, m - 1),
        rows.similarity,
        random_state=budget.random_state,
        n_jobs=budget.n_jobs,
        progress=budget.report,
    )
    if m <= _UPPER:
        graph = link_parts(graph, rows.X, budget)
    mass = mass / mass.mean()
    near = neighbor_edges(graph, mass, budget.n_jobs).to_scipy()
    tied.setdiag(0)
    tied.eliminate_zeros()
    share = diags_array((1.0 / np.sqrt(size)).astype(np.float32))
    tied = (share @ tied @ share).tocsr()
    if tied.nnz:
        tied.data *= np.float32(_TIES * near.data.sum(dtype=np.float64) / tied.data.sum(dtype=np.float64))
    edges = Edges.from_scipy((near + tied).tocsr(), mass)
    return tie_together(edges, graph, rows.X, rows.similarity, budget) if m <= _UPPER else edges, rows


def centroids(rows: Rows, label: np.ndarray) -> Rows:
    """Means of the rows of each micro-cluster: of their directions, for cosine."""
    from scipy.sparse import diags_array

    X = rows.X
    count = np.bincount(label, weights=rows.count)
    factor = rows.count / count[label]
    if rows.similarity.order == "angle":
        factor = factor / np.sqrt(np.maximum(row_squares(X, dtype=np.float64), np.finfo(np.float32).tiny))
    mean = (diags_array(factor.astype(np.float32)) @ _members(label)).tocsr().T @ X
    if is_sparse(mean):
        return Rows(mean.tocsr(), rows.similarity, count, rows.n_neighbors)
    mean = np.ascontiguousarray(mean, dtype=np.float32)
    # Directions that cancel leave none: one of them stands for all.
    lost = np.flatnonzero(row_squares(mean) < 1e-12)
    if rows.similarity.order == "angle" and len(lost):
        first = np.unique(label, return_index=True)[1]
        mean[lost] = X[first[lost]]
    return Rows(mean, rows.similarity, count, rows.n_neighbors)
