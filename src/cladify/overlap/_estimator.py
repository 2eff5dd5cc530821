"""The scikit-learn calling convention around a function from data to a `ClusterDag`."""

from __future__ import annotations

import time
from typing import Any, Self

from cladify._estimator import complete_info
from cladify._kit.estimator import Estimator
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data.points import Points, as_points
from cladify.errors import InvalidInput
from cladify.tree.dag import ClusterDag

__all__ = ["DagEstimator"]


class DagEstimator(Estimator):
    """Base of the estimators of overlapping clusters: ``fit`` checks the parameters, calls ``_fit``, keeps ``dag_``."""

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, progress: ProgressLike | Progress = None
    ) -> Self:
        """Build the graph of clusters of the rows of ``X``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or NeighborGraph
            One row a leaf, or a graph over the leaves.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : None
            Not supported: every row counts once.
        progress : bool or callable, optional
            ``True`` for a bar in the terminal, or a callback ``(stage, done, total)``.

        Returns
        -------
        The estimator itself, with ``dag_``.
        """
        self.check_params()
        if sample_weight is not None:
            raise InvalidInput(f"{type(self).__name__} has no use for sample_weight; repeat or drop rows instead.")
        self._check_names(X, reset=True)
        points = as_points(X, getattr(self, "metric", "sqeuclidean"))
        began = time.perf_counter()
        with reporting(progress) as report:
            self.dag_: ClusterDag = self._fit(points, report)
        complete_info(self, self.dag_.info, points, time.perf_counter() - began)
        self.n_features_in_: int = points.d
        self.points_: Points = points
        return self

    def _fit(self, points: Points, report: Progress) -> ClusterDag:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
