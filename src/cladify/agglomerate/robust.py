"""Robust single linkage: the hierarchy of HDBSCAN."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.params import check_int, choice, integer, number, optional
from cladify._kit.progress import Progress
from cladify.agglomerate._reach import Spanning, graph_spanning, has_order, matrix_spanning, vector_spanning
from cladify.agglomerate.condensed import SELECTIONS, CondensedTree, condense
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points
from cladify.errors import CladifyWarning, InvalidInput
from cladify.neighbors.build import neighbors
from cladify.tree import Tree

__all__ = ["RobustSingleLinkage"]


@dataclass(kw_only=True, eq=False, repr=False)
class RobustSingleLinkage(TreeEstimator):
    r"""Single linkage of mutual reachability distances ([1]_, [2]_), and the flat clusters of HDBSCAN [3]_.

    .. math:: d^*(a, b) = \max\bigl(\mathrm{core}_k(a),\ \mathrm{core}_k(b),\ d(a, b) / \alpha\bigr)

    where :math:`\mathrm{core}_k(a)` is the distance from a to the k-th nearest point, counting a itself. Points in
    sparse regions move away from all others, so they no longer chain dense regions together. The tree is exact: a
    minimum spanning tree without the n × n matrix, in memory linear in n. Its condensed tree keeps the splits into
    clusters of at least ``min_cluster_size`` points, and ``labels_`` are its most stable clusters; points in none are
    noise, -1. With the same ``min_samples`` and α = 1 the clusters are those of scikit-learn's ``HDBSCAN``.

    Parameters
    ----------
    metric : str, Similarity or callable
        A distance, or a similarity with a largest value. ``"precomputed"``: an n × n matrix of distances.
    min_samples : int, optional
        k; by default ``min_cluster_size``. 1 is plain single linkage.
    alpha : float
        α > 0; between 1 and 2 it weakens the core distances.
    n_neighbors : int, optional
        Take only the edges of the graph of this many nearest neighbours, approximate for large data, linked where it
        falls apart. None is exact.
    min_cluster_size : int
        At least 2.
    cluster_selection_method : {"eom", "leaf"}
        The clusters with the largest excess of mass, or the finest ones.
    allow_single_cluster : bool
        Whether all points may be one cluster.
    n_clusters : int, optional
        Cut ``tree_`` into this many clusters instead, without noise.
    distance_threshold : float, optional
        Or cut it at this height.
    n_jobs : int
        Threads; -1 is all cores. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        Binary; heights are mutual reachability distances.
    labels_ : int64 array of shape (n,)
    probabilities_ : float64 array of shape (n,)
        How firmly each point belongs to its cluster, 0 for noise.
    condensed_tree_ : CondensedTree
    core_distances_ : float64 array of shape (n,)

    Notes
    -----
    ``fit`` also takes a :class:`~cladify.NeighborGraph`, or a sparse matrix with ``metric="precomputed"``; parts of a
    graph that no edge links are joined above the longest edge, with a warning. ``sample_weight`` counts in the sizes
    of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [50.0]])
    >>> model = RobustSingleLinkage(min_cluster_size=3, min_samples=2).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1, -1]
    >>> model.tree_.height[7:].tolist()
    [1.0, 1.0, 1.0, 1.0, 8.0, 38.0]

    References
    ----------
    .. [1] Chaudhuri and Dasgupta. Rates of convergence for the cluster tree. NeurIPS 2010.
    .. [2] Naumov, Yaroslavtsev and Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors. AAAI
       2021, appendix C.2.
    .. [3] Campello, Moulavi and Sander. Density-based clustering based on hierarchical density estimates. PAKDD 2013.
    """

    _checks: ClassVar = {
        "min_samples": optional(integer(1)),
        "alpha": number(0.0, open_low=True),
        "n_neighbors": optional(integer(1)),
        "min_cluster_size": integer(2),
        "cluster_selection_method": choice(*SELECTIONS),
        "n_clusters": optional(integer(1)),
        "distance_threshold": optional(number(0.0)),
    }

    metric: Any = "euclidean"
    min_samples: int | None = None
    alpha: float = 1.0
    n_neighbors: int | None = None
    min_cluster_size: int = 5
    cluster_selection_method: str = "eom"
    allow_single_cluster: bool = False
    distance_threshold: float | None = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        n = points.n
        if points.heights.is_open:
            raise InvalidInput(
                f"metric {points.metric!r} has no largest value to count distances from; use a distance such as "
                "'euclidean', or 'cosine'."
            )
        if points.is_graph:
            _warn_of_parts(points.data)
            tree = self._of_graph(points.data, n, report)
        elif self.n_neighbors is None or n == 1 or points.form == "matrix":
            tree = self._exact(points, report)
        else:
            k = min(max(self.n_neighbors, self._samples(n) - 1), n - 1)
            graph = neighbors(points, k, n_jobs=self.n_jobs, progress=report)
            graph = graph.connect(points.rows, n_jobs=self.n_jobs, progress=report)
            tree = self._of_graph(graph, n, report)
            tree.info["neighbors"] = graph.info
        self.condensed_tree_: CondensedTree = condense(tree, self.min_cluster_size, sample_weight=points.weight)
        tree.info.update(method="robust", min_samples=self._samples(n), alpha=self.alpha)
        return tree

    def _samples(self, n: int) -> int:
        if self.min_samples is None:
            return min(self.min_cluster_size, n)
        return check_int("min_samples", self.min_samples, low=1, high=n, why=f"for {n} points")

    def _exact(self, points: Points, report: Progress) -> Tree:
        X, similarity, n = points.data, points.similarity, points.n
        k = self._samples(n)
        if n == 1:
            self.core_distances_ = np.zeros(1)
            return Tree([-1])
        spanning = vector_spanning if has_order(similarity, self.alpha) else matrix_spanning
        edges = spanning(X, similarity, k, self.alpha, n_jobs=self.n_jobs, report=report)
        self.core_distances_ = edges.core
        return _tree_of(edges, n)

    def _of_graph(self, graph: NeighborGraph, n: int, report: Progress) -> Tree:
        with report.stage("spanning tree", total=1) as advance:
            merges, self.core_distances_ = graph_spanning(graph, self._samples(n), self.alpha, n_jobs=self.n_jobs)
            advance()
        return _binary(merges, n)

    def _cut(self) -> np.ndarray | None:
        condensed = self.condensed_tree_
        chosen = condensed.select(self.cluster_selection_method, allow_single_cluster=bool(self.allow_single_cluster))
        labels, self.probabilities_ = condensed.labels(chosen)
        cut = super()._cut()
        return labels if cut is None else cut


def _warn_of_parts(graph: NeighborGraph) -> None:
    parts = int(graph.components().max()) + 1
    if parts > 1:
        warnings.warn(
            f"The graph has {parts} connected components; they are joined above its longest edge. "
            "Link them by their nearest points with graph.connect(X).",
            CladifyWarning,
            stacklevel=5,
        )


def _tree_of(edges: Spanning, n: int) -> Tree:
    """The single-linkage tree of a spanning tree; equal edges in the order that scikit-learn gives them."""
    order = np.argsort(edges.height).astype(np.int32)
    left, right, height = _core.merge_in_order(edges.left, edges.right, edges.height, order, n)
    return Tree.from_merges(left, right, height, n)


def _binary(merges: Any, n: int) -> Tree:
    """The tree of merges that the core has sorted; its similarities are minus the heights."""
    if n == 1:
        return Tree([-1])
    left, right, similarity = _core.merge_nodes(*merges[:3])
    return Tree.from_merges(left, right, 0.0 - similarity, n)
