"""What every estimator shares: the scikit-learn calling convention around a function from data to a `Tree`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ramify.errors import InvalidInput
from ramify.progress import Progress, ProgressLike, reporting
from ramify.similarity import get_similarity
from ramify.tree import Tree
from ramify.validate import Check, check_sample_weight, check_vectors, integer, is_sparse, number, optional

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
        self._check_cut()
        self._check_names(X, reset=True)
        shape = getattr(X, "shape", None) or np.asarray(X).shape
        if len(shape) == 2:
            sample_weight = check_sample_weight(sample_weight, shape[0])
        with reporting(progress) as report:
            self.tree_: Tree = self._fit(X, sample_weight, report)
        self.n_features_in_: int = int(shape[1])
        self._fit_X = X
        self._labels = self._cut()
        return self

    def predict(self, X: Any, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Cluster of each new row: that of the nearest row the model was fitted on.

        A row the model was fitted on is its own nearest, so at every cut it gets its own cluster back.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, d)
            New rows; with ``metric="precomputed"`` their distances to the n fitted ones, shape (m, n).
        n_clusters, height : optional
            Another cut than the model's own, as in :meth:`ramify.Tree.cut`.

        Returns
        -------
        labels : int64 array of shape (m,)

        Examples
        --------
        >>> import numpy as np, ramify
        >>> model = ramify.HAC(n_clusters=2).fit(np.array([[0.0], [1.0], [10.0]]))
        >>> model.predict(np.array([[8.0], [0.4]])).tolist()
        [1, 0]
        >>> model.predict(np.array([[8.0], [0.4]]), n_clusters=3).tolist()
        [2, 0]
        """
        check_is_fitted(self, "tree_")
        self._check_names(X, reset=False)
        own_cut = n_clusters is None and height is None
        labels = self.labels_ if own_cut else self.tree_.cut(n_clusters=n_clusters, height=height)
        return labels[self._nearest_leaf(X)]

    def _nearest_leaf(self, X: Any) -> np.ndarray:
        """The fitted row nearest to each row of ``X``."""
        from scipy.sparse import csr_array

        from ramify.neighbors import NeighborGraph, query

        if isinstance(self._fit_X, NeighborGraph):
            raise InvalidInput(
                "predict needs the vectors, and this model was fitted on a graph of neighbours; fit it on vectors, or "
                "assign new rows with ramify.neighbors.query(X, X_new) and model.labels_."
            )
        similarity = get_similarity(getattr(self, "metric", "sqeuclidean"))
        if similarity.name == "precomputed":
            values = check_vectors(X, accept_sparse=False, n_features=self.n_features_in_, model=type(self).__name__)
            return values.argmin(axis=1) if similarity.kind == "distance" else values.argmax(axis=1)
        fitted, X = (
            check_vectors(self._fit_X),
            check_vectors(X, n_features=self.n_features_in_, model=type(self).__name__),
        )
        if is_sparse(fitted) != is_sparse(X):
            X = X.toarray() if is_sparse(X) else csr_array(X)
        # The largest product with a row is not its own: only a distance finds a fitted row again.
        metric = "sqeuclidean" if similarity.order == "product" else similarity
        return query(fitted, X, k=1, metric=metric, n_jobs=getattr(self, "n_jobs", -1)).indices[:, 0]

    @property
    def labels_(self) -> np.ndarray:
        """Cluster of every row: the cut asked for, or the two clusters at the top of the tree where none was."""
        return self._default_labels() if self._labels is None else self._labels

    @labels_.setter
    def labels_(self, labels: np.ndarray) -> None:
        self._labels = labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, sample_weight: Any, report: Progress) -> Tree:
        raise NotImplementedError

    def _check_names(self, X: Any, *, reset: bool) -> None:
        """``feature_names_in_``: the columns of a data frame, which later ones must have too."""
        if hasattr(X, "columns") or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _check_cut(self) -> None:
        """Before the work, not after it."""
        n_clusters = getattr(self, "n_clusters", None)
        threshold = getattr(self, "distance_threshold", None)
        optional(integer(low=1))("n_clusters", n_clusters)
        optional(number(low=0.0))("distance_threshold", threshold)
        if n_clusters is not None and threshold is not None:
            raise InvalidInput("Give n_clusters or distance_threshold, not both.")

    def _cut(self) -> np.ndarray | None:
        """The labels that the estimator's own parameters ask for."""
        n_clusters = getattr(self, "n_clusters", None)
        threshold = getattr(self, "distance_threshold", None)
        if n_clusters is not None:
            return self.tree_.cut(n_clusters=n_clusters)
        if threshold is not None:
            return self.tree_.cut(height=threshold)
        return None

    def _default_labels(self) -> np.ndarray:
        """The labels where no cut was asked for."""
        return self.tree_.cut(n_clusters=min(2, self.tree_.n_leaves))

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """``labels_`` after ``fit``."""
        return self.fit(X, y, **kwargs).labels_
