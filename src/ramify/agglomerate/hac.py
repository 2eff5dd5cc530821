"""Hierarchical agglomerative clustering: merge the two nearest clusters until one is left."""

from __future__ import annotations

from typing import Any, ClassVar

from ramify.agglomerate._links import is_graph
from ramify.agglomerate._vectors import LINKAGES, METRICS, vector_merges
from ramify.agglomerate.graph_hac import GRAPH_LINKAGES, graph_hac
from ramify.base import TreeEstimator
from ramify.errors import InvalidInput
from ramify.progress import Progress
from ramify.tree import Tree
from ramify.validate import check_choice, check_vectors, choice, integer, number, optional

__all__ = ["HAC"]


class HAC(TreeEstimator):
    r"""Hierarchical agglomerative clustering (HAC), exact.

    Starts with every point alone and merges, again and again, the two clusters with the smallest linkage distance:

    .. math::
        \text{average} \quad & \frac{1}{|A||B|} \sum_{x \in A,\, y \in B} d(x, y) \\
        \text{ward} \quad & \sqrt{\tfrac{2|A||B|}{|A|+|B|}}\; \lVert \mu_A - \mu_B \rVert \\
        \text{centroid} \quad & \lVert \mu_A - \mu_B \rVert

    where :math:`\mu_A` is the mean of the points in A. The height of a merge is that distance, in SciPy's units.

    Memory is linear in n: no n × n matrix is made. The time is little more than that of one product of the data with
    itself, O(n² d) at the speed of a matrix product. Candidates are proposed in float32 and decided in float64. Of
    equal distances, the pair with the smaller leaves merges first; the tree does not depend on the number of threads.

    Parameters
    ----------
    linkage : "average", "ward" or "centroid"; on graphs "average", "single" or "complete"
        Heights of "centroid" may decrease towards the root (``tree.is_monotone``).
    metric : "sqeuclidean", "cosine" or "dot"
        d(x, y) of average linkage: the squared Euclidean distance; 1 − cos; or max‖x‖² − ⟨x, y⟩, whose maximum is over
        the data and makes heights positive. Ward and centroid linkage are Euclidean ("euclidean" or "sqeuclidean",
        which here mean the same).
    epsilon : float
        On graphs, above 0: merge pairs within a factor 1 + ε of the best similarity either side has or had, many at a
        time (a (1 + ε)-approximate tree; ``tree.info["epsilon"]`` says so). 0 is exact.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    n_jobs : int
        Threads; -1 is all of them.

    Notes
    -----
    ``fit(X, sample_weight=w)`` gives the tree of the data in which point i is there :math:`w_i` times, whose copies are
    merged at height 0 beforehand.

    On a :class:`~ramify.NeighborGraph` or a square sparse matrix of similarities, HAC is exact for the graph: pairs of
    points without an edge have similarity 0 (for distances: are at the largest distance of the graph). A cosine
    similarity w has height 2 − 2w, other similarities count from 1 or from the largest one down; see
    :mod:`ramify.agglomerate.graph_hac`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> tree = HAC().fit(X).tree_
    >>> tree.height[4:].tolist()
    [1.0, 4.0, 111.5]
    >>> HAC(linkage="ward", n_clusters=2).fit_predict(X).tolist()
    [0, 0, 1, 1]

    References
    ----------
    .. [1] Müllner. Modern hierarchical, agglomerative clustering algorithms. arXiv:1109.2378, 2011.
    """

    _checks: ClassVar = {
        "linkage": choice(*LINKAGES, *(linkage for linkage in GRAPH_LINKAGES if linkage not in LINKAGES)),
        "epsilon": number(0.0),
        "n_clusters": optional(integer(1)),
        "distance_threshold": optional(number(0.0)),
    }

    def __init__(
        self,
        *,
        linkage: str = "average",
        metric: Any = "sqeuclidean",
        epsilon: float = 0.0,
        n_clusters: int | None = None,
        distance_threshold: float | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.linkage = linkage
        self.metric = metric
        self.epsilon = epsilon
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.n_jobs = n_jobs

    def _fit(self, X: Any, sample_weight: Any, report: Progress) -> Tree:
        if is_graph(X, self.metric):
            return graph_hac(
                X,
                self.metric,
                self.linkage,
                epsilon=self.epsilon,
                sample_weight=sample_weight,
                n_jobs=self.n_jobs,
                report=report,
            )
        metric = self.metric
        if self.linkage not in LINKAGES:
            raise InvalidInput(
                f"linkage {self.linkage!r} needs a graph, got vectors; use ramify.neighbors(X), or one of {LINKAGES}."
            )
        if self.linkage == "average":
            check_choice("metric", metric, METRICS)
        elif metric not in ("euclidean", "sqeuclidean"):
            raise InvalidInput(
                f"linkage {self.linkage!r} needs metric 'euclidean', got {metric!r}. "
                "Normalise the rows and use 'euclidean', or use linkage='average'."
            )
        else:
            metric = "sqeuclidean"
        X = check_vectors(X, nonzero_rows=metric == "cosine")
        merges = vector_merges(X, self.linkage, metric, sample_weight, n_jobs=self.n_jobs, report=report)
        info = {"method": "hac", "linkage": self.linkage, "metric": self.metric}
        return Tree.from_merges(*merges, X.shape[0], info=info)
