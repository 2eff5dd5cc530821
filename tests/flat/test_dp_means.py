"""DP-means and DP-means++ against the algorithms as they are written down."""

import numpy as np
import pytest
from quick import seeds
from scipy.sparse import csr_array

from cladify import datasets
from cladify.errors import InvalidInput
from cladify.flat import dp_means, dp_means_pp
from cladify.metrics import dp_means_cost


def by_first_point(labels):
    seen = dict.fromkeys(labels)
    number = {label: i for i, label in enumerate(seen)}
    return [number[label] for label in labels]


def naive_dp_means(X, lam, order, max_iter=100):
    """Kulis and Jordan's algorithm 1, point by point."""
    centers = [X.mean(axis=0)]
    labels = [None] * len(X)
    for _ in range(max_iter):
        before = list(labels)
        for i in order:
            distance = [((X[i] - c) ** 2).sum() for c in centers]
            if min(distance) > lam:
                centers.append(X[i])
                labels[i] = len(centers) - 1
            else:
                labels[i] = int(np.argmin(distance))
        used = sorted(set(labels))
        centers = [X[[label == c for label in labels]].mean(axis=0) for c in used]
        labels = [used.index(label) for label in labels]
        if labels == before:
            break
    return by_first_point(labels)


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize("lam", [0.01, 1.0, 9.0, 60.0, 1e6])
def test_serial(seed, lam) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)) + 8 * rng.integers(0, 3, size=(150, 3))
    order = rng.permutation(150)
    result = dp_means(X, lam, order=order)
    assert result.labels.tolist() == naive_dp_means(X, lam, order)
    assert result.cost == pytest.approx(dp_means_cost(X, result.labels, lam))
    for c in range(len(result.centers)):
        np.testing.assert_allclose(result.centers[c], X[result.labels == c].mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("seed", seeds(200, daily=10))
def test_serial_with_ties(seed) -> None:
    """Points of a small grid: many are equal, and equally far from two centres or just as far as the threshold.

    One pass, from a mean of zero to centres that are points: all in whole numbers. Later means are fractions, and what
    is equal is decided by their rounding; so further passes are followed without ties.
    """
    rng = np.random.default_rng(seed)
    half = rng.integers(-3, 4, size=(int(rng.integers(1, 13)), 2)).astype(float)
    X = rng.permutation(np.concatenate([half, -half]))
    order = rng.permutation(len(X))
    lam = float(rng.integers(1, 12))
    assert dp_means(X, lam, order=order, max_iter=1).labels.tolist() == naive_dp_means(X, lam, order, max_iter=1)
    X += rng.normal(scale=0.01, size=X.shape)
    assert dp_means(X, lam, order=order).labels.tolist() == naive_dp_means(X, lam, order)


def naive_dp_means_pp(X, lam, rng):
    chosen = [int(rng.integers(len(X)))]
    best, kept = np.inf, None
    while True:
        distance = np.array([[((x - X[c]) ** 2).sum() for c in chosen] for x in X])
        closest = distance.min(axis=1)
        if closest.sum() + lam * len(chosen) < best:
            best, kept = closest.sum() + lam * len(chosen), distance.argmin(axis=1)
        if lam * len(chosen) >= best or closest.sum() == 0:
            return by_first_point(kept.tolist()), best
        chosen.append(int(np.searchsorted(np.cumsum(closest), rng.random() * closest.sum(), side="right")))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lam", [5.0, 40.0, 1e6])
def test_sampled(seed, lam) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(80, 3)) + 8 * rng.integers(0, 3, size=(80, 3))).astype(np.float32)
    result = dp_means_pp(X, lam, random_state=seed)
    labels, sampled_cost = naive_dp_means_pp(X.astype(np.float64), lam, np.random.default_rng(seed))
    assert result.labels.tolist() == labels
    assert result.cost == pytest.approx(dp_means_cost(X, result.labels, lam))
    assert result.cost <= sampled_cost * (1 + 1e-6)  # means are better centres than points
    again = dp_means_pp(X, lam, random_state=seed, n_jobs=1)
    assert again.labels.tolist() == labels


def test_separated_clusters_are_found() -> None:
    X, y = datasets.make_delta_separated(400, 8, n_features=5, delta=30.0, random_state=0)
    for result in (dp_means(X, 100.0), dp_means_pp(X, 100.0, random_state=0)):
        assert result.labels.tolist() == by_first_point(y.tolist())


def test_sampling_is_a_good_start() -> None:
    data = datasets.make_dirichlet_mixture(2000, concentration=10.0, random_state=0)
    lam = 40.0
    sampled = dp_means_pp(data.X, lam, random_state=0)
    improved = dp_means(data.X, lam, init=sampled.centers)
    assert improved.cost <= sampled.cost
    assert improved.cost < 1.1 * dp_means_cost(data.X, data.y, lam)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_sparse_rows(metric) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((60, 20)) * (rng.random((60, 20)) < 0.3) + np.eye(60, 20)
    sparse = csr_array(X)
    lam = 0.7 if metric == "cosine" else 2.5
    for one, two in (
        (dp_means(X, lam, metric=metric), dp_means(sparse, lam, metric=metric)),
        (dp_means_pp(X, lam, metric=metric, random_state=1), dp_means_pp(sparse, lam, metric=metric, random_state=1)),
    ):
        assert one.labels.tolist() == two.labels.tolist() and 1 < one.labels.max() < 59
        assert one.cost == pytest.approx(two.cost)
        np.testing.assert_allclose(one.centers, two.centers, atol=1e-8)


def test_cosine_is_the_cost_of_unit_rows() -> None:
    X = np.random.default_rng(0).normal(size=(100, 4))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    one, two = dp_means(X, 0.5, metric="cosine"), dp_means(unit, 0.5)
    assert one.labels.tolist() == two.labels.tolist()
    assert one.cost == pytest.approx(dp_means_cost(unit, one.labels, 0.5))


def test_small_and_equal_data() -> None:
    assert dp_means([[1.0]], 1.0).cost == 1.0
    assert dp_means_pp([[1.0]], 1.0, random_state=0).labels.tolist() == [0]
    same = np.ones((20, 3))
    assert dp_means(same, 0.0).labels.max() == 0
    assert dp_means_pp(same, 0.5, random_state=0).labels.max() == 0
    twins = np.repeat([[0.0], [5.0]], 4, axis=0)
    assert dp_means_pp(twins, 1e-9, random_state=0).labels.tolist() == [0] * 4 + [1] * 4


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match=r"order must be a permutation of range\(3\)"):
        dp_means(np.ones((3, 1)), 1.0, order=[0, 1, 1])
    with pytest.raises(InvalidInput, match="lam must be a finite number above 0"):
        dp_means_pp(np.ones((3, 1)), 0.0)
    with pytest.raises(InvalidInput, match="init has 2 features, but X is expecting 1"):
        dp_means(np.ones((3, 1)), 1.0, init=np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="zero row"):
        dp_means(np.zeros((3, 1)), 1.0, metric="cosine")
