"""`GraphTree`: Dasgupta's cost on the graph of nearest neighbours, scale by scale."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._estimator import TreeEstimator
from cladify._kit.params import integer, number, optional
from cladify._kit.progress import Progress
from cladify.data._vectors import is_sparse
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points
from cladify.graphtree._edges import Edges, default_neighbors, given_edges, neighbor_edges
from cladify.graphtree._far import edges_at_once
from cladify.graphtree._guide import Guide, check_guide, guided, heights_with, labels_of
from cladify.graphtree._heights import by_count, by_rows, typicality
from cladify.graphtree._labels import KnownLabels
from cladify.graphtree._scales import LAST, Rows, grow
from cladify.graphtree._search import Budget
from cladify.neighbors.build import neighbors
from cladify.tree import Tree

__all__ = ["GraphTree"]


@dataclass(kw_only=True, eq=False, repr=False)
class GraphTree(TreeEstimator):
    r"""The tree of least Dasgupta cost that a local search finds on the graph of nearest neighbours.

    Dasgupta's cost [1]_ of a tree T on a graph with weights w is

    .. math:: \sum_{i < j} w_{ij} \, |T(i \vee j)|

    where :math:`|T(i \vee j)|` is the number of leaves below the node where i and j meet: pairs that belong together
    should meet low. Over all pairs of vectors the cost is ruled by the many pairs that are far apart and all look
    alike; over nearest neighbours it makes trees for people: pure, with cuts and a top worth reading.

    A quick start (average linkage on the graph) is refined by moving subtrees to better places
    (:func:`cladify.refine`). Weak ties to neighbours among fewer and fewer of the rows say how clusters that have no
    neighbours in common lie to each other. More than 10 000 rows are taken scale by scale: small subtrees are moved,
    the tree is contracted to micro-clusters of at most 32 rows, their centroids' neighbours and the contracted edges
    are the graph of the next scale, and so on to the top. Time is near-linear after the neighbours; memory a few times
    the graph.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`. For embeddings of texts and images mostly ``"cosine"``.
    n_neighbors : int, optional
        Neighbours of a row, at most n − 1; by default 25, and down to 10 for few rows (n^0.375), whose neighbourhoods
        would reach too far. An edge weighs more where it is short by the scale of its ends.
    n_clusters : int, optional
        Cut into this many clusters: ``labels_``.
    budget_seconds : float, optional
        The search stops after about this time with what it has. The neighbours are found in any case.
    guide : Guide, optional
        Known labels of some rows, and pairs of rows that belong together or apart.
    random_state : None, int or Generator
        For random starts of the top and for the search of neighbours.
    n_jobs : int
        Threads; -1 is all cores. The tree does not depend on it, unless the time budget ends the search.

    Attributes
    ----------
    tree_ : Tree
        Binary. A node's height is the sum of squared distances of its rows to their mean (of unit rows, for cosine), so
        that a cut splits what is explained least; rows far from their neighbours count for less. It is the number of
        leaves less one for graphs, sparse rows and metrics without means. ``info["scales"]`` has the number of points
        of every scale.
    graph_ : NeighborGraph
        The nearest neighbours, or the graph that was given.
    labels_ : int64 array of shape (n,)

    Notes
    -----
    On a given graph (a :class:`~cladify.NeighborGraph`, or a sparse matrix with ``metric="precomputed-similarity"``)
    the cost is that of its weights as they are, and all of it is searched under this one cost: above 100 000 points
    part by part. ``sample_weight`` is how many leaves a row counts for in the cost and in the centroids.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0], [13.0]])
    >>> model = GraphTree(n_neighbors=2, n_clusters=2).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.predict(np.array([[9.0]])).tolist()
    [1]

    References
    ----------
    .. [1] Dasgupta. A cost function for similarity-based hierarchical clustering. STOC 2016.

    See Also
    --------
    cladify.refine : the same search from any tree.
    cladify.graphtree.confidence : how firmly each item sits in its cluster.
    """

    _checks: ClassVar = {
        "n_neighbors": optional(integer(low=1)),
        "budget_seconds": optional(number(low=0.0, open_low=True)),
        "guide": optional(check_guide),
    }

    metric: Any = "sqeuclidean"
    n_neighbors: int | None = None
    budget_seconds: float | None = None
    guide: Guide | None = None
    random_state: Any = 0
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        deadline = None if self.budget_seconds is None else time.monotonic() + self.budget_seconds
        budget = Budget(deadline, self.random_state, self.n_jobs, report)
        mass = np.ones(points.n) if points.weight is None else points.weight
        tree = self._of_graph(points, mass, budget) if points.is_graph else self._of_pairs(points, mass, budget)
        tree.info.update(method="graph", n_edges=self.graph_.n_edges)
        return tree

    def _of_graph(self, points: Points, mass: np.ndarray, budget: Budget) -> Tree:
        self.graph_ = points.data
        tree, scales, _ = self._grown(given_edges(self.graph_, mass, self.n_jobs), None, budget)
        return Tree(tree.parent, by_count(tree, mass), info={"scales": scales})

    def _grown(self, edges: Edges, rows: Rows | None, budget: Budget) -> tuple[Tree, list[int], KnownLabels | None]:
        """The tree and its scales; known labels are compared with the tree that there is without them."""
        if self.guide is None:
            return *grow(edges, rows, budget), None
        labels, free = labels_of(edges, self.guide, self.random_state), None
        if labels is not None:
            free, _ = grow(edges, rows, budget.share(0.5))
        return *grow(guided(edges, self.guide, labels, free, self.random_state), rows, budget), labels

    def _of_pairs(self, points: Points, mass: np.ndarray, budget: Budget, graph: NeighborGraph | None = None) -> Tree:
        n, similarity = points.n, points.similarity
        k = default_neighbors(n) if self.n_neighbors is None else self.n_neighbors
        self.graph_ = graph or neighbors(
            points,
            min(k, max(n - 1, 1)),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            progress=budget.report,
        )
        if n == 1:
            return Tree([-1], info={"scales": [1]})
        is_rows = points.form == "rows"
        has_means = is_rows and similarity.order is not None
        rows = Rows(points.rows, similarity, mass, k) if has_means else None
        if n <= LAST and is_rows:
            edges = edges_at_once(self.graph_, mass, points.rows, similarity, budget)
        else:
            edges = neighbor_edges(self.graph_, mass, self.n_jobs)
        tree, scales, labels = self._grown(edges, rows, budget)
        del edges
        info = {"scales": scales, "neighbors": self.graph_.info}
        if not has_means or is_sparse(points.rows):
            return Tree(tree.parent, by_count(tree, mass), info=info)
        # Readers of the tree need to know that heights grow with the number of leaves.
        height = by_rows(tree, points.rows, similarity, mass * typicality(self.graph_), self.n_jobs)
        return Tree(tree.parent, heights_with(labels, tree, height), info={"heights": "sums", **info})


def tree_of_pairs(estimator: GraphTree, points: Points, mass: np.ndarray, budget: Budget, graph: NeighborGraph) -> Tree:
    """The tree of rows whose graph of neighbours is known."""
    return estimator._of_pairs(points, mass, budget, graph)
