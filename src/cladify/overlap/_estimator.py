"""The scikit-learn calling convention around a function from data to a `ClusterDag`."""

from __future__ import annotations

from typing import Any, Self

from cladify._estimator import PointsEstimator
from cladify._kit.progress import Progress, ProgressLike
from cladify.errors import InvalidInput
from cladify.tree.dag import ClusterDag

__all__ = ["DagEstimator"]


class DagEstimator(PointsEstimator):
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
        if sample_weight is not None:
            raise InvalidInput(f"{type(self).__name__} has no use for sample_weight; repeat or drop rows instead.")
        self.dag_: ClusterDag = self._build(X, None, progress)
        return self
