"""DP-means: k-means with a price for each cluster in place of their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.parallel import map_blocks, one_blas_thread, row_blocks
from cladify._kit.params import check_float, check_int, check_random_state
from cladify._kit.progress import ProgressLike, reporting
from cladify.data._cost_features import cost_features
from cladify.data._frame import row_squares
from cladify.data._vectors import check_vectors, is_sparse
from cladify.data.features import FeatureMap
from cladify.errors import InvalidInput

__all__ = ["DPMeans", "dp_means", "dp_means_pp"]

_VALUES = 1 << 21  # distances or coordinates of a block


@dataclass(frozen=True)
class DPMeans:
    """A flat clustering and its DP-means cost.

    Attributes
    ----------
    labels : int64 array of shape (n,)
        Clusters 0, 1, … in order of their smallest points.
    centers : float64 array of shape (k, d)
        Mean of each cluster; with ``metric="cosine"`` of its rows at length 1.
    cost : float
        Squared distances to the means, and λ a cluster.
    n_iter : int
        Passes over the data; for :func:`dp_means_pp` centres that were drawn.
    """

    labels: np.ndarray
    centers: np.ndarray
    cost: float
    n_iter: int


def dp_means(
    X: Any,
    lam: float,
    *,
    metric: str = "sqeuclidean",
    init: Any = None,
    order: Any = None,
    max_iter: int = 100,
    progress: ProgressLike = None,
) -> DPMeans:
    r"""Serial DP-means: a point farther than λ from every centre becomes one.

    Minimises :math:`\sum_{C} \sum_{x \in C} \|x - \mu_C\|^2 + \lambda |\mathcal{C}|` locally. A pass visits the points
    one after the other; each joins its nearest centre, or starts a cluster where the squared distance is above λ. Then
    centres move to the means, and passes go on until no point changes its cluster. The cost falls with every pass.
    The outcome depends on the order of the points. O(nkd) a pass, computed in float64 blocks of matrix products.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    lam : float
        Price of a cluster, λ ≥ 0, in squared distances.
    metric : {"sqeuclidean", "cosine"}
        ``"cosine"`` takes every row at length 1.
    init : array of shape (k, d), optional
        First centres; by default the mean of the data.
    order : permutation of ``range(n)``, optional
        In which the points are visited, such as that of :func:`cladify.datasets.arrival_order`; by default as they are.
    max_iter : int
        Passes at most.
    progress : bool or callable, optional

    Returns
    -------
    DPMeans

    Examples
    --------
    >>> result = dp_means([[0.0], [1.0], [10.0], [12.0]], lam=9.0)
    >>> result.labels.tolist(), result.cost
    ([0, 0, 1, 1], 20.5)

    See Also
    --------
    dp_means_pp : centres by sampling.
    dp_means_cuts : the best cuts of a tree.

    References
    ----------
    Kulis and Jordan, Revisiting k-means: new algorithms via Bayesian nonparametrics, ICML 2012; Monath, Incremental
    non-greedy clustering at scale, 2022, §4.4.3 (SerialDPMeans).
    """
    features = cost_features(X, metric)
    n, d = features.shape
    lam = check_float("lam", lam, low=0.0)
    max_iter = check_int("max_iter", max_iter, low=1)
    places = _check_order(order, n)
    labels = np.zeros(n, dtype=np.int64)
    if init is None:
        centers = _means(features, labels, 1)[0]
    else:
        init = check_vectors(init, name="init", accept_sparse=False, n_features=d, model="X")
        centers = cost_features(init, metric).take(slice(None)) if metric == "cosine" else init - _origin(features)
    passes = 0
    with reporting(progress) as report, report.stage("dp-means", total=max_iter) as advance, one_blas_thread():
        while passes < max_iter:
            new, centers = _visit(features, places, centers, lam)
            passes += 1
            advance()
            same = np.array_equal(new, labels) and passes > 1
            labels = new
            centers, used = _means(features, labels, len(centers))
            if not used.all():
                labels = (np.cumsum(used) - 1)[labels]
                centers = centers[used]
            if same:
                break
    return _result(features, labels, lam, passes)


def _check_order(order: Any, n: int) -> np.ndarray:
    if order is None:
        return np.arange(n)
    places = np.asarray(order)
    if places.shape != (n,) or places.dtype.kind not in "iu" or not np.array_equal(np.sort(places), np.arange(n)):
        raise InvalidInput(f"order must be a permutation of range({n}), one place a row.")
    return places


def _origin(features: FeatureMap) -> Any:
    return 0.0 if features.centre is None else features.centre


def _visit(features: FeatureMap, places: np.ndarray, centers: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """One pass: the label of each point, and the centres with those that were added."""
    labels = np.empty(len(places), dtype=np.int64)
    count = len(centers)
    start = 0
    while start < len(places):
        rows = places[start : start + max(64, _VALUES // max(count, features.shape[1]))]
        start += len(rows)
        Z = features.take(rows)
        norm = row_squares(Z)
        distance = norm[:, None] + row_squares(centers[:count]) - 2.0 * (Z @ centers[:count].T)
        nearest = distance.argmin(axis=1)
        closest = distance[np.arange(len(rows)), nearest]
        done = 0
        while len(far := np.flatnonzero(closest[done:] > lam)):
            first = done + int(far[0])
            center = Z[[first]].toarray()[0] if is_sparse(Z) else Z[first]
            if count == len(centers):
                centers = np.concatenate([centers, np.empty((max(16, count), centers.shape[1]))])
            centers[count] = center
            to_new = norm[first:] + norm[first] - 2.0 * (Z[first:] @ center)
            to_new[0] = 0.0
            closer = to_new < closest[first:]
            nearest[first:][closer] = count
            closest[first:][closer] = to_new[closer]
            count += 1
            done = first + 1
        labels[rows] = nearest
    return labels, centers[:count]


def _means(features: FeatureMap, labels: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean of every cluster, and whether it has points."""
    from scipy.sparse import csr_array

    size = np.bincount(labels, minlength=count)
    total = np.zeros((count, features.shape[1]))
    for rows in row_blocks(len(labels), max(1, _VALUES // features.shape[1])):
        found, place = np.unique(labels[rows], return_inverse=True)
        ones = np.ones(len(place))
        pick = csr_array((ones, (place, np.arange(len(place)))), shape=(len(found), len(place)))
        part = pick @ features.take(rows)
        total[found] += part.toarray() if is_sparse(part) else part
    return total / np.maximum(size, 1)[:, None], size > 0


def _result(features: FeatureMap, labels: np.ndarray, lam: float, n_iter: int) -> DPMeans:
    """The clustering with its means and its cost, clusters in order of their smallest points."""
    first = np.unique(labels, return_index=True)[1]
    rank = np.empty(int(labels.max()) + 1, dtype=np.int64)
    rank[labels[np.sort(first)]] = np.arange(len(first))
    labels = rank[labels]
    centers, _ = _means(features, labels, len(first))
    squares = 0.0
    for rows in row_blocks(len(labels), max(1, _VALUES // features.shape[1])):
        Z = features.take(rows)
        off = (Z.toarray() if is_sparse(Z) else Z) - centers[labels[rows]]
        squares += float(np.einsum("ij,ij->", off, off))
    return DPMeans(labels, centers + _origin(features), squares + lam * len(centers), n_iter)


def dp_means_pp(
    X: Any,
    lam: float,
    *,
    metric: str = "sqeuclidean",
    random_state: Any = None,
    n_jobs: int | None = -1,
    progress: ProgressLike = None,
) -> DPMeans:
    r"""DP-means++: centres drawn as in k-means++, as many as pay off.

    The first centre is a uniformly random point, each further one a point drawn with probability proportional to its
    squared distance D² from the nearest centre so far. The cost of k centres is :math:`\sum_x D^2(x) + \lambda k`;
    centres are drawn until λk alone reaches the least cost so far, from where on no number of centres can be better,
    and the number with the least cost is taken. Points then join their nearest centre, and the means of these clusters
    are the centres. (The original stops at a bound on ΣD² that holds in expectation; taking the best number is never
    worse.) O(nd) a centre.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    lam : float
        Price of a cluster, λ > 0, in squared distances.
    metric : {"sqeuclidean", "cosine"}
        ``"cosine"`` takes every row at length 1.
    random_state : int or Generator, optional
    n_jobs : int
        Threads; -1 is all cores. The result does not depend on it.
    progress : bool or callable, optional

    Returns
    -------
    DPMeans

    Examples
    --------
    >>> result = dp_means_pp([[0.0], [1.0], [10.0], [12.0]], lam=9.0, random_state=0)
    >>> result.labels.tolist(), result.cost
    ([0, 0, 1, 1], 20.5)

    References
    ----------
    Bachem, Lucic and Krause, Coresets for nonparametric estimation: the case of DP-means, ICML 2015; Monath,
    Incremental non-greedy clustering at scale, 2022, §4.4.3.
    """
    features = cost_features(X, metric)
    lam = check_float("lam", lam, low=0.0, open_low=True)
    rng = check_random_state(random_state)
    n, d = features.shape
    Z = features.z
    norm = np.empty(n)
    blocks = row_blocks(n, max(1, _VALUES // d))
    for rows in blocks:
        norm[rows] = row_squares(Z[rows].astype(np.float64))
    closest = np.full(n, np.inf)
    nearest = np.zeros(n, dtype=np.int64)
    assigned = nearest
    best, count = np.inf, 0
    chosen = int(rng.integers(n))

    def come_closer(rows: slice) -> None:
        center = Z[[chosen]].toarray()[0] if is_sparse(Z) else Z[chosen]
        distance = np.maximum(norm[rows] + norm[chosen] - 2.0 * (Z[rows] @ center), 0.0)
        closer = distance < closest[rows]
        closest[rows][closer] = distance[closer]
        nearest[rows][closer] = count

    with reporting(progress) as report, report.stage("dp-means++", total=n) as advance:
        while True:
            map_blocks(come_closer, blocks, n_jobs=n_jobs)
            closest[chosen] = 0.0
            nearest[chosen] = count
            count += 1
            advance()
            reach = np.cumsum(closest)
            if reach[-1] + lam * count < best:
                best = float(reach[-1] + lam * count)
                assigned = nearest.copy()
            if lam * count >= best or reach[-1] == 0.0:
                break
            chosen = min(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")), n - 1)
    return _result(features, assigned, lam, count)
