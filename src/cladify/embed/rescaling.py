"""Rescaling: clusters of an embedding moved apart, their shapes kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.data._vectors import check_vectors
from cladify.embed._clusters import graph_clusters, moments
from cladify.errors import InvalidInput

__all__ = ["Rescale", "rescale"]


def rescale(Z: Any, means: Any, assignment: Any, s: float = 3.0) -> np.ndarray:
    r"""Move every point by s times the mean of its cluster.

    .. math:: z''_i = z_i + s \, \mu_{c(i)}

    Distances inside a cluster stay as they are; distances between the centres of clusters grow by the factor 1 + s, so
    that Ward's linkage finds the clusters first and then their hierarchy.

    Parameters
    ----------
    Z : array of shape (n, h)
    means : array of shape (k, h)
    assignment : integer array of shape (n,)
        The cluster of each point.
    s : float

    Returns
    -------
    array of shape (n, h)

    Examples
    --------
    >>> rescale([[1.0], [2.0], [10.0]], [[1.5], [10.0]], [0, 0, 1], s=3).tolist()
    [[5.5], [6.5], [40.0]]

    References
    ----------
    .. [1] Zhao, Hao, Rashtchian. Unsupervised embedding of hierarchical structure in Euclidean space. 2020, §3.1.
    """
    Z = check_vectors(Z, name="Z", accept_sparse=False)
    means = check_vectors(means, name="means", accept_sparse=False, n_features=Z.shape[1], model="rescale")
    check_float("s", s)
    assignment = np.asarray(assignment)
    if assignment.shape != (len(Z),) or assignment.dtype.kind not in "iu":
        raise InvalidInput(
            f"assignment must hold one whole number a point, shape ({len(Z)},), got {assignment.dtype} of shape "
            f"{assignment.shape}."
        )
    if len(assignment) and not (assignment.min() >= 0 and assignment.max() < len(means)):
        raise InvalidInput(f"assignment must name one of the {len(means)} means, 0 to {len(means) - 1}.")
    return Z + Z.dtype.type(s) * means[assignment].astype(Z.dtype)


@dataclass(kw_only=True, eq=False, repr=False)
class Rescale(TransformerMixin, BaseEstimator):
    """:func:`rescale` as a step of a pipeline: the clusters are those that ``method="graph"`` sees in the embedding.

    A row is in the cluster of the nearest row of ``fit``. :meth:`VaDE.rescaled` moves the model's own clusters instead.

    Parameters
    ----------
    s : float
        How far to move the clusters apart.
    n_components : int
        How many clusters to look for.
    random_state : int, optional
    n_jobs : int

    Attributes
    ----------
    labels_ : integer array of shape (n,)
        The cluster of every row of ``fit``.
    means_ : float64 array of shape (k, h)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from cladify import HAC
    >>> Z = np.array([[0.0], [0.2], [1.0], [1.1]])
    >>> model = make_pipeline(Rescale(n_components=2, random_state=0), HAC(linkage="ward", n_clusters=2))
    >>> model.fit_predict(Z).tolist()
    [0, 0, 1, 1]
    """

    s: float = 3.0
    n_components: int = 10
    random_state: Any = None
    n_jobs: int | None = -1

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters among the rows of ``X``."""
        X = check_vectors(X, accept_sparse=False)
        check_float("s", self.s)
        k = check_int("n_components", self.n_components, low=1, high=len(X), why=f"for {len(X)} points")
        seed = int(check_random_state(self.random_state).integers(2**31))
        self.labels_ = graph_clusters(X, k, metric="sqeuclidean", random_state=seed, n_jobs=self.n_jobs)
        self.means_ = moments(X.astype(np.float64), self.labels_, k)[0]
        self._nearest = KNeighborsClassifier(1, n_jobs=self.n_jobs).fit(X, self.labels_)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The rows of ``X``, each moved by ``s`` times the mean of its cluster."""
        check_is_fitted(self, "means_")
        X = check_vectors(X, accept_sparse=False, n_features=self.n_features_in_, model="Rescale")
        return rescale(X, self.means_, self._nearest.predict(X), self.s)
