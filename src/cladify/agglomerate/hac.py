"""Hierarchical agglomerative clustering: merge the two nearest clusters until one is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._estimator import TreeEstimator
from cladify._kit.params import choice, integer, number, optional
from cladify._kit.progress import Progress
from cladify.agglomerate._graph_hac import graph_hac
from cladify.agglomerate._matrix import matrix_merges
from cladify.agglomerate._stop import stop_above, tree_of_parts
from cladify.agglomerate._vectors import is_linear, vector_merges
from cladify.data.points import Points
from cladify.data.similarity import Similarity, get_similarity
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["HAC"]


@dataclass(kw_only=True, eq=False, repr=False)
class HAC(TreeEstimator):
    r"""Hierarchical agglomerative clustering (HAC), exact.

    Starts with every point alone and merges, again and again, the two clusters with the smallest linkage distance:

    .. math::
        \text{single} \quad & \min_{x \in A,\, y \in B} d(x, y) \\
        \text{complete} \quad & \max_{x \in A,\, y \in B} d(x, y) \\
        \text{average} \quad & \frac{1}{|A||B|} \sum_{x \in A,\, y \in B} d(x, y) \\
        \text{weighted} \quad & \tfrac12 D(A_1, B) + \tfrac12 D(A_2, B) \\
        \text{ward} \quad & \sqrt{\tfrac{2|A||B|}{|A|+|B|}}\; \lVert \mu_A - \mu_B \rVert \\
        \text{centroid} \quad & \lVert \mu_A - \mu_B \rVert \\
        \text{median} \quad & \lVert m_A - m_B \rVert

    where A is the union of :math:`A_1` and :math:`A_2`, :math:`\mu_A` is the mean of its points and
    :math:`m_A = \tfrac12 (m_{A_1} + m_{A_2})`. The height of a merge is that distance, in SciPy's units. Of equal
    distances, the pair with the smaller leaves merges first; the tree does not depend on the number of threads.

    Two ways lead there, and ``tree.info`` says which was taken:

    * *Linear memory*, no n × n matrix: average and weighted linkage under "sqeuclidean", "cosine" and "dot"; single
      linkage under these, "euclidean" and "rbf"; Ward, centroid and median linkage. The time is about that of one
      product of the data with itself, O(n² d) at the speed of a matrix product; a third of it where the processor has
      int8 products. Candidates are proposed in float32 and decided in float64.
    * *A matrix* of n (n − 1) / 2 distances for everything else: complete linkage, other metrics, functions, and
      matrices that are given. They are float32 for float32 data (``tree.info["distances"]``; Jaccard's are float64
      always), are merged in place in about O(n²) time, and are refused beforehand where they do not fit into memory.
      Single linkage of a given matrix needs no other; under a metric whose matrix does not fit, it works out one row
      of distances at a time.

    Parameters
    ----------
    linkage : "average", "ward", "single", "complete", "weighted", "centroid" or "median"
        Heights of "centroid" and "median" may decrease towards the root (``tree.is_monotone``). On graphs "average",
        "single", "complete" or "weighted".
    metric : str, Similarity or callable
        d(x, y): a metric of :mod:`cladify.similarity`, or a function of two arrays of rows. A distance counts as it is;
        of the similarities, cosine as 1 − cos, those of largest value 1 as 1 − w, others as their largest value over
        the data minus w (so "dot" is max‖x‖² − ⟨x, y⟩). ``"precomputed"`` takes given distances and
        ``"precomputed-similarity"`` given similarities; :mod:`cladify.data.points` has their forms. Ward, centroid and
        median linkage are Euclidean ("euclidean" or "sqeuclidean", which here mean the same) and read given distances
        as such.
    epsilon : float
        On graphs, above 0: merge pairs within a factor 1 + ε of the best similarity either side has or had, many at a
        time (a (1 + ε)-approximate tree; ``tree.info["epsilon"]`` says so). 0 is exact.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``. Merges do not come in the order of their heights, so this
        takes the whole tree.
    distance_threshold : float, optional
        Or cut it at this height.
    full_tree : bool
        False: stop at ``distance_threshold``. Clusters that are farther apart are not compared any further, and one
        node, just above the threshold, joins them all. Not for centroid and median linkage.
    n_jobs : int
        Threads; -1 is all of them.

    Notes
    -----
    ``fit(X, sample_weight=w)`` gives the tree of the data in which point i is there :math:`w_i` times, whose copies are
    merged at height 0 beforehand. Single, complete, weighted and median linkage do not depend on the weights.

    On a :class:`~cladify.NeighborGraph`, and on sparse given values, HAC is exact for the graph: pairs of
    points without an edge have similarity 0 (for distances: are at the largest distance of the graph). A cosine
    similarity w has height 2 − 2w, other similarities count from 1 or from the largest one down; see
    :mod:`cladify.agglomerate._graph_hac`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> tree = HAC().fit(X).tree_
    >>> tree.height[4:].tolist()
    [1.0, 4.0, 111.5]
    >>> HAC(linkage="ward", n_clusters=2).fit_predict(X).tolist()
    [0, 0, 1, 1]
    >>> HAC(distance_threshold=2.0, full_tree=False).fit(X).tree_.n_nodes
    6
    >>> D = np.abs(X - X.T)
    >>> HAC(linkage="complete", metric="precomputed").fit(D).tree_.height[4:].tolist()
    [1.0, 2.0, 12.0]

    References
    ----------
    .. [1] Müllner. Modern hierarchical, agglomerative clustering algorithms. arXiv:1109.2378, 2011.
    """

    _checks: ClassVar = {
        "linkage": choice("average", "ward", "single", "complete", "weighted", "centroid", "median"),
        "epsilon": number(0.0),
        "n_clusters": optional(integer(1)),
        "distance_threshold": optional(number(0.0)),
    }

    linkage: str = "average"
    metric: Any = "sqeuclidean"
    epsilon: float = 0.0
    distance_threshold: float | None = None
    full_tree: bool = True
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        stop, jobs = self._stop(), self.n_jobs
        if points.is_graph:
            tree = graph_hac(points, self.linkage, epsilon=self.epsilon, stop=stop, n_jobs=jobs, report=report)
            tree = stop_above(tree, stop + 4.0 * np.spacing(tree.info.get("missing_distance", 0.0)))
            if np.isfinite(stop):
                tree.info["full_tree"] = False
            return tree
        similarity = points.similarity
        info: dict[str, Any] = {"method": "hac", "linkage": self.linkage}
        if is_linear(self.linkage, similarity):
            merges = vector_merges(points, self.linkage, stop=stop, n_jobs=jobs, report=report)
        else:
            if self.linkage in ("ward", "centroid", "median") and not (
                similarity.is_given and similarity.kind == "distance"
            ):
                raise InvalidInput(
                    f"linkage {self.linkage!r} needs metric 'euclidean', got {str(similarity)!r}. "
                    "Normalise the rows and use 'euclidean', or use linkage='average'."
                )
            merges, how = matrix_merges(points, self.linkage, n_jobs=jobs, report=report)
            info.update(how)
        if np.isfinite(stop):
            tree = tree_of_parts(*merges, points.n, stop)
            tree.info.update(info, full_tree=False)
            return tree
        return Tree.from_merges(*merges, points.n, info=info)

    def _stop(self) -> float:
        """The height that the tree ends at."""
        if self.full_tree:
            return np.inf
        if self.distance_threshold is None:
            raise InvalidInput(
                "full_tree=False stops at distance_threshold, got None; give one, or full_tree=True for n_clusters."
            )
        if self.linkage in ("centroid", "median"):
            raise InvalidInput(
                f"full_tree=False needs heights that rise, and those of {self.linkage!r} linkage may fall."
            )
        return float(self.distance_threshold)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.metric, str | Similarity) and str(self.metric).startswith("precomputed"):
            tags.input_tags.pairwise = True
            tags.input_tags.positive_only = get_similarity(self.metric).kind == "distance"
        return tags
