"""The estimator around the round-based methods: input, cuts, and the attributes they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._estimator import TreeEstimator
from cladify._kit.params import choice, integer, optional
from cladify._kit.progress import Progress
from cladify.agglomerate._centroids import vector_rounds
from cladify.agglomerate._links import Scale, point_links
from cladify.agglomerate._rounds import Rounds, contraction, round_tree, run_rounds
from cladify.data.points import Points
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["SHARED_CHECKS", "RoundMethod", "RoundsEstimator", "round_method"]

SHARED_CHECKS: dict[str, Any] = {
    "n_neighbors": optional(integer(low=1)),
    "linkage": choice("average", "single", "complete", "ward"),
    "cut": choice("exact", "round"),
}


@dataclass(frozen=True)
class RoundMethod:
    """How an estimator merges in rounds, for engines other than its own.

    Attributes
    ----------
    name : str
    pairs : bool
        Whether only pairs merge that are each other's nearest.
    heights_are_thresholds : bool
        Whether a node's height is its round's threshold.
    rule : dict
        Further arguments of :func:`run_rounds`.
    thresholds : callable
        The thresholds of the rounds, as similarities, of a :class:`Scale`.
    """

    name: str
    pairs: bool
    heights_are_thresholds: bool
    rule: dict[str, Any]
    thresholds: Callable[[Scale], Iterable[float]]


def round_method(estimator: RoundsEstimator) -> RoundMethod:
    """The method of an estimator."""
    return RoundMethod(
        estimator._method,
        estimator._pairs,
        estimator._heights_are_thresholds,
        estimator._rule(),
        estimator._thresholds,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class RoundsEstimator(TreeEstimator):
    """Base of the estimators that merge in rounds: the merges become ``tree_``, the rounds ``rounds_``.

    A subclass says which pairs a round merges.
    """

    _method: ClassVar[str]
    #: Merge only pairs that are each other's nearest, or whole components of nearest neighbours.
    _pairs: ClassVar[bool] = False
    #: A node's height is its round's threshold, or the least similarity merged in it.
    _heights_are_thresholds: ClassVar[bool] = False

    metric: Any = "sqeuclidean"
    n_neighbors: int | None = 25
    linkage: str = "average"
    cut: str = "exact"
    distance_threshold: float | None = None
    n_jobs: int | None = -1

    def _thresholds(self, scale: Scale) -> Iterable[float]:
        """The thresholds of the rounds, as similarities."""
        return [scale.floor]

    def _rule(self) -> dict[str, Any]:
        """Further arguments of :func:`run_rounds`."""
        return {}

    def _fit(self, points: Points, report: Progress) -> Tree:
        core: Any
        scale: Scale
        if self.n_neighbors is None and not points.is_graph:
            core, scale = vector_rounds(points, self.linkage, self.n_jobs)
            thresholds = self._thresholds(scale)
        else:
            if self.linkage == "ward":
                raise InvalidInput("linkage 'ward' needs vectors and n_neighbors=None; on a graph use 'average'.")
            k = 25 if self.n_neighbors is None else self.n_neighbors
            scale = links = point_links(points, k, n_jobs=self.n_jobs, report=report)
            thresholds = self._thresholds(scale)
            core = contraction(links, self.linkage, points.weight, self.n_jobs)
        merges, used = run_rounds(
            core, scale, thresholds, pairs=self._pairs, stage=self._method, report=report, **self._rule()
        )
        tree = round_tree(merges, scale, used if self._heights_are_thresholds else None)
        tree.info.update(method=self._method, linkage=self.linkage, n_rounds=merges.n_rounds, n_parts=merges.n_parts)
        tree.info.update(scale.info)
        threshold = scale.height(used) if scale.kind == "distance" else scale.convert(used)
        self.rounds_ = Rounds(merges, threshold if self._heights_are_thresholds else None)
        return tree

    def labels_for(self, n_clusters: int | None = None, *, height: float | None = None) -> np.ndarray:
        if n_clusters is None or height is not None:
            return super().labels_for(n_clusters, height=height)
        return self.rounds_[self.rounds_.closest(n_clusters)] if self.cut == "round" else self._exact(n_clusters)

    def _exact(self, n_clusters: int) -> np.ndarray:
        """Labels of exactly this many clusters."""
        return self.rounds_.exact(n_clusters)

    def _default_labels(self) -> np.ndarray:
        return self._exact(min(2, self.tree_.n_leaves))
