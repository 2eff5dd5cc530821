"""What every estimator shares: the scikit-learn calling convention around a function from data to a `Tree`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from ramify.errors import InvalidInput
from ramify.progress import Progress, ProgressLike, reporting
from ramify.tree import Tree
from ramify.validate import Check

__all__ = ["TreeEstimator"]


class TreeEstimator(ClusterMixin, BaseEstimator):
    """Base of the estimators: ``fit`` checks the parameters, calls ``_fit``, and keeps the tree and its cut.

    A subclass stores its parameters in ``__init__``, lists their checks in ``_checks``, and implements
    ``_fit(X, sample_weight, report) -> Tree``. With a parameter ``n_clusters`` or ``distance_threshold``, the cut it
    asks for becomes ``labels_``.
    """

    _checks: ClassVar[dict[str, Check]] = {}

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, progress: ProgressLike | Progress = None
    ) -> Self:
        """Build the tree of the rows of ``X``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One row a leaf. Other inputs (graphs, matrices) where the class says so.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : array of shape (n,), optional
            How many leaves each row stands for.
        progress : bool or callable, optional
            ``True`` for a bar in the terminal, or a callback ``(stage, done, total)``.

        Returns
        -------
        The estimator itself, with ``tree_``, and with ``labels_`` where a cut was asked for.
        """
        for name, check in self._checks.items():
            check(name, getattr(self, name))
        with reporting(progress) as report:
            self.tree_: Tree = self._fit(X, sample_weight, report)
        shape = getattr(X, "shape", None) or np.shape(X)
        self.n_features_in_: int = int(shape[1])
        cut = self._cut()
        if cut is not None:
            self.labels_: np.ndarray = cut
        return self

    def _fit(self, X: Any, sample_weight: Any, report: Progress) -> Tree:
        raise NotImplementedError

    def _cut(self) -> np.ndarray | None:
        """The labels that the estimator's own parameters ask for."""
        n_clusters = getattr(self, "n_clusters", None)
        threshold = getattr(self, "distance_threshold", None)
        if n_clusters is not None and threshold is not None:
            raise InvalidInput("Give n_clusters or distance_threshold, not both.")
        if n_clusters is not None:
            return self.tree_.cut(n_clusters=n_clusters)
        if threshold is not None:
            return self.tree_.cut(height=threshold)
        return None

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """Labels of the rows of ``X`` after ``fit``; needs ``n_clusters`` or ``distance_threshold``."""
        self.fit(X, y, **kwargs)
        if not hasattr(self, "labels_"):
            raise InvalidInput(
                f"{type(self).__name__} was not told where to cut the tree; pass n_clusters=... or distance_threshold=..., "
                "or use fit(X).tree_.cut(...)."
            )
        return self.labels_
