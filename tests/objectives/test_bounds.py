"""Bounds and expectations against their definitions, and sampled bounds against exact ones."""

import itertools
import math

import numpy as np
import pytest
from quick import nightly
from scipy.sparse import csr_array

from cladify import Tree, _core, objectives, similarity
from cladify.errors import InvalidInput
from cladify.objectives import bounds, max_upper, max_upper_1d, random_value, sum_upper_1d

NAMES = ["dasgupta", "mw", "ckmm"]


def given_metric(objective):
    """The metric of given values of the objective's kind."""
    return "precomputed" if objective == "ckmm" else "precomputed-similarity"


def forms(objective):
    """Dense or sparse; stored distances are the known ones, and no objective of all pairs."""
    return (np.asarray,) if objective == "ckmm" else (np.asarray, csr_array)


def weights(n, rng, density=1.0):
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return W + W.T


@pytest.mark.parametrize("name", NAMES)
def test_exact_bounds_meet_the_definition(name, random_tree, naive):
    rng = np.random.default_rng(0)
    for trial in range(40):
        n = int(rng.integers(2, 12))
        weight = rng.integers(1, 4, size=n) if trial % 2 else None
        W = weights(n, rng, density=rng.random())
        expected = naive(random_tree(n, rng), W, weight).bounds(name)
        for given_as in forms(name):
            found = bounds(given_as(W), given_metric(name), name, sample_weight=weight)
            np.testing.assert_allclose((found.lower, found.upper), expected, rtol=1e-9, atol=1e-9)
            assert found.exact and found.lower_interval == (found.lower, found.lower)


@pytest.mark.parametrize("name", NAMES)
def test_no_tree_passes_the_bounds(name, random_tree):
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(3, 30))
        W, tree = weights(n, rng), random_tree(n, rng)
        found = bounds(W, given_metric(name), name)
        value = getattr(objectives, name)(tree, W, given_metric(name))
        assert found.lower * (1 - 1e-12) <= value <= found.upper * (1 + 1e-12)
        assert found.lower <= found.random <= found.upper


def test_tiles_and_chunks_of_the_triple_kernels():
    """Sizes on both sides of every block length, against sums over sorted triples in NumPy."""
    for n in (3, 15, 16, 17, 63, 64, 65, 130, 530):
        W = weights(n, np.random.default_rng(n))
        if n % 2:
            W = W.round(1)  # ties
        low = high = 0.0
        for i in range(n - 2):
            three = np.stack(np.broadcast_arrays(W[i, i + 1 :, None], W[i, None, i + 1 :], W[i + 1 :, i + 1 :]))
            j, k = np.triu_indices(n - i - 1, 1)
            low += three[:, j, k].min(axis=0).sum()
            high += three[:, j, k].max(axis=0).sum()
        one, two = ([_core.counted_triple_sums(W, j), _core.triple_sums(W, np.ones(n), j)] for j in (1, 2))
        assert one == two
        np.testing.assert_allclose(one, [(high, low)] * 2, rtol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_random_trees_meet_their_expectation(name, weighted, random_tree):
    rng = np.random.default_rng(2)
    n = 15
    weight = rng.integers(1, 5, size=n) if weighted else None
    W = weights(n, rng)
    expected = random_value(W, given_metric(name), name, sample_weight=weight)
    values = [
        getattr(objectives, name)(random_tree(n, rng, binary=True), W, given_metric(name), sample_weight=weight)
        for _ in range(500)
    ]
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / np.sqrt(len(values))
    if not weighted:
        total = W.sum() / 2
        assert math.isclose(expected, (n - 2) / 3 * total if name == "mw" else 2 / 3 * (n + 1) * total)


def data(kind, rng):
    n, d = 400, 8
    if kind == "clusters":
        return rng.normal(size=(n, d)) + 4 * rng.normal(size=(10, d))[rng.integers(10, size=n)]
    return np.exp(1.5 * rng.normal(size=(n, d)))  # a few points far out


@pytest.mark.parametrize(
    ("kind", "name", "metric", "sets"),
    [
        ("clusters", "mw", "cosine", 320),
        ("heavy tails", "ckmm", "sqeuclidean", 320),
        nightly("heavy tails", "mw", "rbf", 1024),
    ],
)
def test_intervals_cover(kind, name, metric, sets, monkeypatch):
    """95 % intervals hold the exact bound in at least 93 of 100 seeded trials, and their centres have no bias."""
    monkeypatch.setattr("cladify.objectives._bounds._SETS", sets)
    X = data(kind, np.random.default_rng(3))
    W = similarity.get_similarity(metric).block(X, X)
    exact = bounds(W, given_metric(name), name, method="exact")
    covered = np.zeros(2)
    centres = []
    for seed in range(100):
        found = bounds(W, given_metric(name), name, method="sampled", random_state=seed)
        assert not found.exact
        for side, (low, high) in enumerate([found.lower_interval, found.upper_interval]):
            covered[side] += low <= (exact.lower, exact.upper)[side] <= high
        centres.append((found.lower, found.upper))
    assert (covered >= 93).all(), covered
    centres = np.array(centres)
    bias = np.abs(centres.mean(axis=0) - (exact.lower, exact.upper))
    assert (bias < 4 * centres.std(axis=0) / 10).all()


def test_sampled_bounds_with_weights():
    rng = np.random.default_rng(4)
    W, weight = weights(150, rng), rng.integers(1, 6, size=150)
    exact = bounds(W, "precomputed", "ckmm", method="exact", sample_weight=weight)
    found = bounds(W, "precomputed", "ckmm", method="sampled", sample_weight=weight)
    assert found.upper_interval[0] <= exact.upper <= found.upper_interval[1]
    assert found == bounds(W, "precomputed", "ckmm", method="sampled", sample_weight=weight, n_jobs=1)


def test_large_data_is_sampled_and_a_large_graph_is_not():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5500, 5))
    found = bounds(X, objective="ckmm")
    assert not found.exact and found.upper_interval[0] < found.upper < found.upper_interval[1]
    assert (found.upper_interval[1] - found.upper_interval[0]) < 0.01 * found.upper
    i, j = rng.integers(5500, size=(2, 20000))
    graph = csr_array((rng.random(20000), (i, j)), shape=(5500, 5500))
    graph = graph + graph.T
    assert bounds(graph, "precomputed-similarity", "mw").exact


def _line(seed, n=12):
    return np.random.default_rng(seed).normal(size=n) * 3


@pytest.mark.parametrize("metric", ["rbf", "laplacian(0.7)", lambda A, B: 1 / (1 + np.abs(A - B.T))])
def test_bounds_on_a_line(metric):
    for seed in range(10):
        x = _line(seed)
        W = similarity.get_similarity(metric, kind="similarity").block(np.sort(x)[:, None], np.sort(x)[:, None])
        triples = list(itertools.combinations(range(len(x)), 3))
        expected_max = sum(max(W[i, j], W[j, k]) for i, j, k in triples)
        expected_sum = sum(W[i, j] + W[j, k] for i, j, k in triples)
        assert math.isclose(max_upper_1d(x, metric), expected_max)
        assert math.isclose(sum_upper_1d(x[:, None], metric), expected_sum)
        assert math.isclose(max_upper(x[:, None], metric), expected_max)  # the same in one dimension
        assert expected_max <= expected_sum


def test_equal_points_on_a_line():
    x = np.array([1.0, 1.0, 1.0, 2.0])
    assert math.isclose(max_upper_1d(x), max_upper(x[:, None], "rbf"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: max_upper_1d(np.ones((3, 2))), r"points on a line, .* got \(3, 2\)"),
        (lambda: max_upper_1d(np.ones(3), "sqeuclidean"), "take a similarity such as 'rbf', got 'sqeuclidean'"),
        (lambda: max_upper_1d(np.arange(4), lambda A, B: np.abs(A - B.T)), "grows with the distance"),
        (lambda: bounds(np.ones((3, 2)), method="sample"), "method 'sample' is not known. Did you mean 'sampled'"),
        (lambda: bounds(np.ones((3, 2)), objective="ckm"), "objective 'ckm' is not known. Did you mean 'ckmm'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_few_points():
    assert bounds(np.ones((1, 2))).upper == 0.0
    found = bounds(np.array([[0.0], [2.0]]), objective="ckmm")
    assert found.lower == found.upper == found.random == 8.0
    assert random_value(np.ones((1, 2))) == 0.0
    assert Tree([-1]).n_leaves == 1
