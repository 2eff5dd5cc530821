"""Soft membership: which other clusters of a cut the points at its borders belong to, by their neighbours.

A tree puts every point in one place. Its graph of neighbours knows better: a point whose neighbours lie partly in
another cluster belongs there too, as much as they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_float, check_int
from cladify.data.points import as_points
from cladify.errors import InvalidInput
from cladify.tree import Tree

if TYPE_CHECKING:
    from cladify.neighbors import NeighborGraph

__all__ = ["SoftMembership", "soft_membership"]

#: Fewer than this are not worth a thread of their own.
_EDGES_A_THREAD = 100_000


@dataclass(frozen=True)
class SoftMembership:
    """Clusters of each point with weights: those of point i are ``cluster[start[i]:start[i + 1]]``, its own first.

    Attributes
    ----------
    labels : int64 array of shape (n,)
        The cluster of each point in the cut.
    start, cluster, weight : arrays
        Weights of a point add up to at most 1; the rest is the share of clusters below ``min_weight``.
    """

    labels: np.ndarray
    start: np.ndarray
    cluster: np.ndarray
    weight: np.ndarray

    def also_in(self, i: int) -> list[tuple[int, float]]:
        """Other clusters of point ``i``, the heaviest first, with their weights."""
        n = len(self.labels)
        i = check_int("point", i, low=0, high=n - 1, why=f"for {n} points")
        rows = slice(self.start[i] + 1, self.start[i + 1])
        return list(zip(self.cluster[rows].tolist(), self.weight[rows].tolist(), strict=True))

    def to_scipy(self) -> Any:
        """A sparse matrix of points by clusters."""
        from scipy.sparse import csr_array

        shape = (len(self.labels), int(self.labels.max(initial=-1)) + 1)
        return csr_array((self.weight.copy(), self.cluster.copy(), self.start.copy()), shape=shape)


def soft_membership(
    tree: Tree | None,
    graph: Any,
    *,
    n_clusters: int | None = None,
    labels: Any = None,
    min_weight: float = 0.2,
    n_others: int = 3,
    n_jobs: int | None = -1,
) -> SoftMembership:
    r"""Clusters of each point with weights, from a cut of its tree and the graph of its neighbours.

    .. math:: p(i, C) = \frac{\sum_{j \in C} w_{ij}}{\sum_j w_{ij}}

    where :math:`w_{ij}` are the weights of the graph's edges. A point is also in C where :math:`p(i, C)` is at least
    ``min_weight``; its own cluster always comes first. Linear in the edges.

    Parameters
    ----------
    tree : Tree
        May be None where ``labels`` are given.
    graph : NeighborGraph
        Over the leaves; both directions of an edge count.
    n_clusters : int, optional
        Which cut of the tree: ``tree.cut(n_clusters=...)``.
    labels : array of shape (n,), optional
        Or the clusters themselves, 0 or above.
    min_weight : float
        Share of its neighbours that a point must have in another cluster.
    n_others : int
        At most so many other clusters a point.
    n_jobs : int
        Threads; -1 is all cores. The result does not depend on it.

    Returns
    -------
    SoftMembership

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [8.0], [9.0], [10.0]])
    >>> graph = cladify.neighbors(X, k=4)
    >>> tree = cladify.fit(X, method="hac")
    >>> soft = cladify.overlap.soft_membership(tree, graph, n_clusters=2)
    >>> soft.labels.tolist(), soft.also_in(3)[0][0], soft.also_in(0)
    ([0, 0, 0, 1, 1, 1, 1], 0, [])
    """
    min_weight = check_float("min_weight", min_weight, low=0.0, high=1.0, open_low=True)
    n_others = check_int("n_others", n_others, low=0)
    graph = _as_graph(graph)
    n = graph.n_points
    labels = _labels(tree, labels, n_clusters, n)
    found = outside(graph, labels, np.full(int(labels.max(initial=0)) + 1, -1), min_weight=min_weight, n_jobs=n_jobs)
    others = np.repeat(np.arange(n), np.diff(found.start))
    point = np.concatenate([np.arange(n), others])
    cluster = np.concatenate([labels, found.group])
    share = np.concatenate([found.own, found.share])
    after = np.arange(len(point)) >= n  # a point's own cluster comes before the others
    order = np.lexsort((cluster, -share, after, point))
    rank = np.arange(len(order)) - np.searchsorted(point[order], point[order])
    order = order[rank <= n_others]
    start = np.concatenate([[0], np.cumsum(np.bincount(point[order], minlength=n))])
    return SoftMembership(labels, start, cluster[order], share[order])


class Outside(NamedTuple):
    """Groups that points are not in and many of their neighbours are; those of point i start at ``start[i]``."""

    own: np.ndarray  # float64 (n,): share of the neighbours that are in the point's lowest group
    start: np.ndarray  # int64 (n + 1,)
    group: np.ndarray  # int32
    share: np.ndarray  # float32


def outside(
    graph: Any, lowest: np.ndarray, parent: np.ndarray, *, min_weight: float = 0.2, n_jobs: int | None = -1
) -> Outside:
    """Groups in groups beside those that hold a point, where the shares of its neighbours are ``min_weight`` or above.

    Parameters
    ----------
    graph : NeighborGraph
        Over the points; both directions of an edge count.
    lowest : int array of shape (n,)
        The lowest group of each point.
    parent : int array
        The group around each group, of a larger number; -1 for none.
    """
    graph = _as_graph(graph)
    lowest, parent = np.ascontiguousarray(lowest, np.int32), np.ascontiguousarray(parent, np.int32)
    threads = min(resolve_jobs(n_jobs), 1 + len(graph.indices) // _EDGES_A_THREAD)
    return Outside(*_core.soft_groups(parent, lowest, graph.indptr, graph.indices, graph.weight, min_weight, threads))


def _as_graph(graph: Any) -> NeighborGraph:
    points = as_points(graph, "precomputed-similarity")
    if not points.is_graph:
        raise InvalidInput("graph must be a NeighborGraph, such as cladify.neighbors(X, 25), or sparse similarities.")
    return points.data.symmetrize()


def _labels(tree: Tree | None, labels: Any, n_clusters: int | None, n: int) -> np.ndarray:
    if (labels is None) == (n_clusters is None):
        raise InvalidInput("Say which clusters: n_clusters= for a cut of the tree, or labels=.")
    if labels is None:
        if tree is None:
            raise InvalidInput("n_clusters= cuts a tree; give the tree, or labels=.")
        labels = tree.cut(n_clusters=n_clusters)
    labels = np.asarray(labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min(initial=0) < 0:
        raise InvalidInput(
            f"labels must be {n} integers of 0 or above, one a point of the graph; got shape {labels.shape}, "
            f"dtype {labels.dtype}."
        )
    return labels.astype(np.int64)
