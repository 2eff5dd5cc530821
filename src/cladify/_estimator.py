"""The base of the estimators of trees: scikit-learn's conventions around a function from data to a `Tree`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from cladify._kit.estimator import Estimator
from cladify._kit.params import integer, number, optional
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify._version import __version__
from cladify.data.points import Points, as_points
from cladify.errors import InvalidInput
from cladify.neighbors._nearest import nearest
from cladify.tree import Tree

__all__ = ["PointsEstimator", "TreeEstimator", "complete_info", "plain_value"]


class PointsEstimator(Estimator):
    """Base of the estimators of trees and of graphs of clusters.

    A subclass declares its parameters as fields of a dataclass, lists their checks in ``_checks``, and implements
    ``_fit(points, report)``, where ``points`` are the checked data with their metric and weights
    (:class:`cladify.data.Points`).
    """

    #: False where ``_fit`` checks for NaN and infinity itself, which saves a pass over the data.
    _finite: ClassVar[bool] = True

    def _build(self, X: Any, sample_weight: Any, progress: ProgressLike | Progress) -> Any:
        """Check parameters and data, and call ``_fit``: the result, with its info completed."""
        self.check_params()
        self._check_names(X, reset=True)
        points = as_points(X, getattr(self, "metric", "sqeuclidean"), sample_weight, finite=self._finite)
        began = time.perf_counter()
        with reporting(progress) as report:
            result = self._fit(points, report)
        complete_info(self, result.info, points, time.perf_counter() - began)
        self.n_features_in_: int = points.d
        self.points_: Points = points
        return result

    def _fit(self, points: Points, report: Progress) -> Any:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class TreeEstimator(ClusterMixin, PointsEstimator):
    """Base of the estimators of trees: ``fit`` checks the parameters, calls ``_fit``, and keeps the tree and its cut.

    The cut that ``n_clusters``, or a parameter ``distance_threshold``, asks for becomes ``labels_``.
    """

    n_clusters: int | None = None

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, progress: ProgressLike | Progress = None
    ) -> Self:
        """Build the tree of the rows of ``X``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One row a leaf. Graphs and given distances where the class says so; :mod:`cladify.data.points` has them all.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : array of shape (n,), optional
            How many leaves each row stands for; 0 for a row that gets its place but counts nowhere.
        progress : bool or callable, optional
            ``True`` for a bar in the terminal, or a callback ``(stage, done, total)``.

        Returns
        -------
        The estimator itself, with ``tree_`` and ``labels_``.
        """
        self.tree_: Tree = self._build(X, sample_weight, progress)
        self._labels = self._cut()
        return self

    def check_params(self) -> None:
        super().check_params()
        self._check_cut()

    def predict(self, X: Any, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Cluster of each new row: that of the nearest row the model was fitted on.

        A row the model was fitted on is its own nearest, so at every cut it gets its own cluster back.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, d)
            New rows; with given distances or similarities those to the n fitted ones, shape (m, n), dense or sparse.
        n_clusters, height : optional
            Another cut than the model's own, as in :meth:`cladify.Tree.cut`.

        Returns
        -------
        labels : int64 array of shape (m,)

        Examples
        --------
        >>> import numpy as np, cladify
        >>> model = cladify.HAC(n_clusters=2).fit(np.array([[0.0], [1.0], [10.0]]))
        >>> model.predict(np.array([[8.0], [0.4]])).tolist()
        [1, 0]
        >>> model.predict(np.array([[8.0], [0.4]]), n_clusters=3).tolist()
        [2, 0]
        """
        check_is_fitted(self, "tree_")
        self._check_names(X, reset=False)
        own_cut = n_clusters is None and height is None
        labels = self.labels_ if own_cut else self.tree_.cut(n_clusters=n_clusters, height=height)
        jobs = getattr(self, "n_jobs", -1)
        return labels[nearest(self.points_, X, n_jobs=jobs, model=type(self).__name__)]

    @property
    def labels_(self) -> np.ndarray:
        """Cluster of every row: the cut asked for, or the two clusters at the top of the tree where none was."""
        return self._default_labels() if self._labels is None else self._labels

    @labels_.setter
    def labels_(self, labels: np.ndarray) -> None:
        self._labels = labels

    def _check_cut(self) -> None:
        """Before the work, not after it."""
        threshold = getattr(self, "distance_threshold", None)
        optional(integer(low=1))("n_clusters", self.n_clusters)
        optional(number(low=0.0))("distance_threshold", threshold)
        if self.n_clusters is not None and threshold is not None:
            raise InvalidInput("Give n_clusters or distance_threshold, not both.")

    def labels_for(self, n_clusters: int | None = None, *, height: float | None = None) -> np.ndarray:
        """``labels_`` as they would be with this ``n_clusters``, or with ``height`` as ``distance_threshold``."""
        check_is_fitted(self, "tree_")
        if height is not None and (missing := self.tree_.info.get("missing_distance")):
            # Heights of a graph of distances count from the largest one, whose last digit they are off by.
            height += 4.0 * np.spacing(missing)
        return self.tree_.cut(n_clusters=n_clusters, height=height)

    def _cut(self) -> np.ndarray | None:
        """The labels that the estimator's own parameters ask for."""
        height = getattr(self, "distance_threshold", None)
        return None if self.n_clusters is None and height is None else self.labels_for(self.n_clusters, height=height)

    def _default_labels(self) -> np.ndarray:
        """The labels where no cut was asked for."""
        return self.tree_.cut(n_clusters=min(2, self.tree_.n_leaves))

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """``labels_`` after ``fit``."""
        return self.fit(X, y, **kwargs).labels_


def complete_info(model: BaseEstimator, info: dict[str, Any], points: Points, seconds: float) -> None:
    """Complete the info of a result: first the entries that every method has, then those of this method."""
    found = dict(info)
    params = {name: plain_value(value) for name, value in model.get_params(deep=False).items()}
    common = {
        "method": found.pop("method", type(model).__name__),
        "params": params,
        "metric": points.metric,
        "seed": params.get("random_state"),
        "version": __version__,
        "n": points.n,
        "d": points.d,
        "input": points.form,
        "seconds": seconds,
        "approximations": found.pop("approximations", []) + _approximations(found),
    }
    info.clear()
    info.update(common | {name: value for name, value in found.items() if name not in common})


def plain_value(value: Any) -> Any:
    """A parameter as info keeps it: plain values as they are, arrays as lists, other objects by their name."""
    plain = isinstance(value, (bool, int, float, str, type(None), list, tuple))
    return value if plain else value.tolist() if isinstance(value, np.ndarray) else str(value)


def _approximations(found: dict[str, Any]) -> list[str]:
    """The approximations that the tree was made with, in words."""
    graph = found.get("neighbors", {})
    named = [f"neighbours by {graph['method']}, recall {graph['recall']:.3f}"] if "recall" in graph else []
    return [*named, f"epsilon {found['epsilon']:g}"] if found.get("epsilon") else named
