"""Bisecting k-means: split in two by k-means, then split the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.memory import check_memory
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_int, check_random_state, choice, integer, number
from cladify._kit.progress import Progress
from cladify.data.points import Points
from cladify.data.similarity import get_similarity
from cladify.divide._rows import leaf_counter, shuffled_features
from cladify.tree import Tree

__all__ = ["BisectingKMeans"]


@dataclass(kw_only=True, eq=False, repr=False)
class BisectingKMeans(TreeEstimator):
    r"""Bisecting k-means [1]_: every part is split by k-means with two centres, down to the leaves.

    A split looks for two centres that make the inertia

    .. math:: I = \sum_{i \in A} w_i \lVert x_i - \mu_A \rVert^2 + \sum_{i \in B} w_i \lVert x_i - \mu_B \rVert^2

    small, from k-means++ starts and by Lloyd's iterations. Under "cosine" the rows and centres have unit length and
    the inertia is :math:`\sum w_i (1 - \langle x_i, \mu\rangle)` (spherical k-means). The height of a node is its own
    inertia about one centre.

    One copy of the data is rearranged in place, so memory is that of a second X and a few numbers a point. The time is
    O(n d log n) for splits that are not too uneven.

    Parameters
    ----------
    metric : "sqeuclidean", "euclidean" (the same) or "cosine"
    n_clusters : int, optional
        Stop at this many clusters, always splitting the one with the largest inertia: ``labels_``. The tree has the
        points of a cluster right below it. None: go on down to single points.
    theta : int
        Parts of up to this many points are finished by average linkage instead; 1 splits on to single points. Not
        used with ``n_clusters``.
    n_init : int
        Starts a split, of which the best is kept.
    n_iter : int
        Lloyd iterations a start, at most.
    tol : float
        A start is done when its centres move less than this, relative to the variance of the part.
    distance_threshold : float, optional
        Cut the full tree at this height.
    random_state : int, Generator or None
    n_jobs : int
        Threads; -1 is all of them. The tree does not depend on it.

    Notes
    -----
    ``fit(X, sample_weight=w)`` counts row i :math:`w_i` times.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0]])
    >>> BisectingKMeans(n_clusters=3, random_state=0).fit_predict(X).tolist()
    [0, 0, 1, 1, 2]
    >>> round(float(BisectingKMeans(random_state=0).fit(X).tree_.height[-1]), 3)  # about the mean, 8.4
    269.2

    References
    ----------
    .. [1] Steinbach, Karypis, Kumar. A comparison of document clustering techniques. KDD workshop on text mining, 2000.
    """

    _checks: ClassVar = {
        "metric": choice("sqeuclidean", "euclidean", "cosine"),
        "theta": integer(low=1),
        "n_init": integer(low=1),
        "n_iter": integer(low=1),
        "tol": number(low=0.0),
    }

    metric: str = "sqeuclidean"
    theta: int = 1
    n_init: int = 1
    n_iter: int = 100
    tol: float = 1e-4
    distance_threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        similarity = get_similarity("cosine" if self.metric == "cosine" else "sqeuclidean")
        n, sample_weight = points.n, points.weight
        random = check_random_state(self.random_state)
        order = random.permutation(n)
        stop = self.n_clusters is not None and self.distance_threshold is None
        if stop:
            check_int("n_clusters", self.n_clusters, high=n, why=f"for {n} points")
        theta, threads = 1 if stop else min(self.theta, n), resolve_jobs(self.n_jobs)
        check_memory(4 * threads * theta**2, f"average linkage of {theta} points", "use a smaller theta.")
        features, unit = similarity.features(points.rows).in_units()
        z = shuffled_features(features, order, self.n_jobs)
        with leaf_counter(report, "k-means", n) as on_leaves:
            parent, height = _core.divide_kmeans(
                z,
                order,
                None if sample_weight is None else sample_weight[order],
                self.metric == "cosine",
                self.n_init,
                self.n_iter,
                float(self.tol),
                theta,
                (self.n_clusters or 0) - 1 if stop else -1,
                int(random.integers(2**63)),
                threads,
                on_leaves,
            )
        height *= unit
        parent.flags.writeable = height.flags.writeable = False  # ours to give away: Tree need not copy them
        info = {"method": "kmeans", "height": "inertia"}
        return Tree.from_parents(parent, n, height, info=info) if stop else Tree(parent, height, info=info)
