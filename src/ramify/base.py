"""What every estimator shares: the scikit-learn calling convention around a function from data to a `Tree`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from ramify.errors import InvalidInput
from ramify.progress import Progress, ProgressLike, reporting
from ramify.tree import Tree
from ramify.validate import Check, check_sample_weight

__all__ = ["TreeEstimator"]


class TreeEstimator(ClusterMixin, BaseEstimator):
    """Base of the estimators: ``fit`` checks the parameters, calls ``_fit``, and keeps the tree and its cut.

    A subclass stores its parameters in ``__init__``, lists their checks in ``_checks``, and implements
    ``_fit(X, sample_weight, report) -> Tree``; the weights that come in are checked. With a parameter ``n_clusters``
    or ``distance_threshold``, the cut it asks for becomes ``labels_``.
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
        The estimator itself, with ``tree_`` and ``labels_``.
        """
        for name, check in self._checks.items():
            check(name, getattr(self, name))
        shape = getattr(X, "shape", None) or np.asarray(X).shape
        if len(shape) == 2:
            sample_weight = check_sample_weight(sample_weight, shape[0])
        with reporting(progress) as report:
            self.tree_: Tree = self._fit(X, sample_weight, report)
        self.n_features_in_: int = int(shape[1])
        self._labels = self._cut()
        return self

    @property
    def labels_(self) -> np.ndarray:
        """Cluster of every row: the cut asked for, or the two clusters at the top of the tree where none was."""
        tree = self.tree_
        if self._labels is None:
            self._labels = tree.cut(n_clusters=min(2, tree.n_leaves))
        return self._labels

    @labels_.setter
    def labels_(self, labels: np.ndarray) -> None:
        self._labels = labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

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
        """``labels_`` after ``fit``."""
        return self.fit(X, y, **kwargs).labels_
