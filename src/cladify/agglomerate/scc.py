"""SCC, the sub-cluster component algorithm: Affinity held back by a threshold that falls from round to round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._kit.params import check_choice, integer, number, optional
from cladify._kit.progress import Progress
from cladify.agglomerate._estimator import SHARED_CHECKS, RoundsEstimator
from cladify.agglomerate._links import Scale
from cladify.data.points import Points
from cladify.errors import InvalidInput
from cladify.flat.optimal import OptimalCuts, dp_means_cuts
from cladify.tree import Tree

__all__ = ["SCC"]

_SCHEDULES = ("geometric", "linear", "quantile", "exponential")
_LAST = 1e-3  # where the schedules end: this share of the way up from the floor to the largest similarity


@dataclass(kw_only=True, eq=False, repr=False)
class SCC(RoundsEstimator):
    r"""The sub-cluster component algorithm ([1]_; [2]_, algorithm 9).

    Given thresholds :math:`\tau_1 > \tau_2 > \dots` on the similarity, each round links every cluster to its most
    similar one where that similarity reaches the threshold,

    .. math:: f(C, C') \ge \tau, \quad C' = \arg\max_B f(C, B) \text{ or } C = \arg\max_B f(C', B),

    and merges the connected components of these links. Easy decisions come first; many rounds approach hierarchical
    agglomerative clustering, one with a threshold of 0 is :class:`~cladify.Affinity`. On δ-separated data with
    doubling distance thresholds, one of the rounds is the target clustering (theorem 4: δ ≥ 6 for metrics, 30 for
    squared Euclidean distances).

    On a graph, pairs of points without an edge have similarity 0. For distances, missing pairs are at the largest
    distance of the graph. What is left after the last round is joined by one node at the top.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`, and :mod:`cladify.data.points` for graphs and given distances.
    n_neighbors : int or None
        Vectors become the graph of this many nearest neighbours (at most n − 1). None: no graph, exact average or Ward
        linkage of the vectors (``sqeuclidean``, ``cosine``, ``dot``) in O(n²) time and linear memory.
    n_rounds : int
        Number of thresholds L, where they are not given. The work grows only with what merges.
    thresholds : {"geometric", "linear", "quantile", "exponential"} or array
        An array of similarities in decreasing order or, for a metric that is a distance, of distances in increasing
        order. ``"linear"`` goes in equal steps from the largest similarity M of two points to m, a thousandth of it.
        ``"geometric"``: similarities :math:`M (m/M)^{i/L}`; for distances, doubling from the smallest one above 0 to
        half of the largest D, then geometric in what is left of D (if the doubling takes more than half of the
        rounds, by larger steps). ``"quantile"``: quantiles of the similarities of the pairs with an edge; clusters
        that are less similar than any such pair stay apart until the top. ``"exponential"``: for distances the
        thesis' :math:`m (M/m)^{i/L}` from the smallest one above 0 to the largest; similarities as by "geometric".
    until_stable : bool
        Repeat each threshold until nothing merges any more, as algorithm 9 does; by default every threshold gets one
        round, which the thesis found to be as good.
    linkage : {"average", "single", "complete", "ward"}
        ``"ward"`` only without a graph.
    n_clusters : int, optional
        Cut into this many clusters: ``labels_``.
    cut : {"exact", "round"}
        Exactly ``n_clusters`` clusters (the round that would lead below stops at its strongest links), or the round
        with the closest number of clusters, as in the thesis.
    distance_threshold : float, optional
        Or cut at this height, which is one more threshold where ``thresholds`` are not given: clusters exactly that far
        apart join.
    dp_means_lambda : float, optional
        Or take the clustering with the least DP-means cost, squared distances to the cluster means and this price a
        cluster: of all cuts of the tree (``cut="exact"``), or of the rounds (``cut="round"``, as in the thesis). For
        vectors with the metric "sqeuclidean", "euclidean" or "cosine" (whose rows count at length 1).
    n_jobs : int
        Threads; -1 is all cores. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        With one level a round; the height of a node is that of its round's threshold.
    rounds_ : Rounds
        The partition after every round that merged something, and its threshold.
    labels_ : int64 array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0], [12.0]])
    >>> model = SCC(metric="euclidean", n_neighbors=4, thresholds=[1, 2, 4, 8, 16]).fit(X)
    >>> [labels.tolist() for labels in model.rounds_]
    [[0, 1, 2, 3, 4], [0, 0, 1, 2, 3], [0, 0, 1, 2, 2], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
    >>> model.rounds_.threshold.tolist()
    [1.0, 2.0, 4.0, 16.0]

    References
    ----------
    .. [1] Monath et al. Scalable hierarchical agglomerative clustering. KDD 2021.
    .. [2] Monath. Incremental non-greedy clustering at scale. PhD thesis, University of Massachusetts Amherst, 2022.
    """

    _method: ClassVar = "scc"
    _heights_are_thresholds: ClassVar = True
    _checks: ClassVar = {**SHARED_CHECKS, "n_rounds": integer(low=1), "dp_means_lambda": optional(number(low=0.0))}

    n_rounds: int = 50
    thresholds: Any = "geometric"
    until_stable: bool = False
    dp_means_lambda: float | None = None

    def _fit(self, points: Points, report: Progress) -> Tree:
        self._cuts: OptimalCuts | None = None
        if self.dp_means_lambda is not None:
            if self.n_clusters is not None or self.distance_threshold is not None:
                raise InvalidInput("Give one of n_clusters, distance_threshold and dp_means_lambda.")
            metric = _cost_metric(points)
        tree = super()._fit(points, report)
        if self.dp_means_lambda is not None:
            self._cuts = dp_means_cuts(
                tree, points.rows, metric=metric, sample_weight=points.weight, n_jobs=self.n_jobs
            )
        return tree

    def _cut(self) -> np.ndarray | None:
        if self._cuts is None or self.dp_means_lambda is None:
            return super()._cut()
        if self.cut == "exact":
            return self._cuts.labels(self.dp_means_lambda)
        cost = self._round_costs(self._cuts.node_cost) + self.dp_means_lambda * self.rounds_.n_clusters
        return self.rounds_[len(cost) - 1 - int(np.argmin(cost[::-1]))]

    def _round_costs(self, node_cost: np.ndarray) -> np.ndarray:
        """Sum of the costs of the clusters of every round: a node is one from its level to below its parent's."""
        tree, rounds = self.tree_, len(self.rounds_)
        level = tree.level
        assert level is not None
        change = np.zeros(max(rounds, int(level[-1]) + 1) + 1)
        np.add.at(change, level, node_cost)
        np.subtract.at(change, level[tree.parent[:-1]], node_cost[:-1])
        return np.cumsum(change)[:rounds]

    def _rule(self) -> dict[str, Any]:
        return {"until_stable": bool(self.until_stable)}

    def _thresholds(self, scale: Scale) -> Iterable[float]:
        if isinstance(self.thresholds, str):
            check_choice("thresholds", self.thresholds, _SCHEDULES)
            schedule = _schedule(self.thresholds, self.n_rounds, scale)
            if self.distance_threshold is not None:
                cut = scale.to_height.value(self.distance_threshold)
                if scale.floor < cut <= scale.top:
                    schedule = np.unique(np.append(schedule, cut))[::-1]
            return schedule.tolist()
        return _given(self.thresholds, scale).tolist()


def _cost_metric(points: Points) -> str:
    """The metric of the DP-means cost for data of SCC."""
    if points.is_graph or points.metric not in ("sqeuclidean", "euclidean", "cosine"):
        given = "a graph" if points.is_graph else f"metric {points.metric!r}"
        raise InvalidInput(
            f"dp_means_lambda needs vectors with metric 'sqeuclidean', 'euclidean' or 'cosine', got {given}; use "
            "n_clusters, or cladify.flat.by_dp_means(model.tree_, vectors, lam)."
        )
    return "cosine" if points.metric == "cosine" else "sqeuclidean"


def _schedule(name: str, n_rounds: int, scale: Scale) -> np.ndarray:
    """Decreasing similarities."""
    span = scale.top - scale.floor
    last = scale.floor + _LAST * span
    if name == "quantile":
        return scale.quantiles(np.linspace(1.0, 0.0, n_rounds))
    if name == "linear":
        return np.linspace(scale.top, last, n_rounds)
    if scale.kind == "similarity":
        return scale.floor + np.geomspace(span, _LAST * span, n_rounds) if span > 0 else np.full(1, scale.top)
    largest = scale.ceiling - scale.floor
    if largest <= 0:
        return np.full(1, scale.top)
    nearest = min(max(scale.nearest, largest * 2.0**-60), largest / 2)
    if name == "exponential":
        return scale.ceiling - np.geomspace(nearest, largest, n_rounds)
    doublings = int(np.ceil(np.log2(largest / 2 / nearest))) + 1
    low = min(doublings, (n_rounds + 1) // 2)
    ratio = (largest / 2 / nearest) ** (1.0 / max(low - 1, 1))
    near = scale.ceiling - largest / 2 * ratio ** np.arange(1.0 - low, 1.0)
    far = scale.floor + np.geomspace(largest / 2, _LAST * largest, n_rounds - low + 1)[1:]
    return np.concatenate([near, far])


def _given(thresholds: Any, scale: Scale) -> np.ndarray:
    try:
        values = np.asarray(thresholds, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise InvalidInput(
            f"thresholds must be one of {', '.join(map(repr, _SCHEDULES))} or an array of finite numbers, "
            f"got {thresholds!r}."
        )
    similarity = scale.convert(values)
    wrong = np.flatnonzero(np.diff(similarity) >= 0)
    if len(wrong):
        i = int(wrong[0])
        order = "decrease: similarities, the strictest first" if scale.kind == "similarity" else "increase: distances"
        raise InvalidInput(
            f"thresholds must strictly {order}, but thresholds[{i}] is {values[i]} and thresholds[{i + 1}] is "
            f"{values[i + 1]}. Sort them, or check whether metric {scale.info.get('metric')!r} is a {scale.kind}."
        )
    return similarity
