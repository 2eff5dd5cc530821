"""Exact neighbours against the definition: all distances in float64, ties to the smaller id."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

import cladify
from cladify.data import _exact
from cladify.errors import InvalidInput
from cladify.neighbors import query

METRICS = ["sqeuclidean", "euclidean", "cosine", "dot", "rbf(0.3)", "laplacian(0.3)", "jaccard"]


def distances(A, B, metric):
    """Heights of all pairs, straight from the definitions."""
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if metric == "cosine":
        A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
        return cdist(A, B, "sqeuclidean") / 2
    if metric == "dot":
        return -(A @ B.T)
    if metric.startswith("rbf"):
        return 1 - np.exp(-0.3 * cdist(A, B, "sqeuclidean"))
    if metric.startswith("laplacian"):
        return 1 - np.exp(-0.3 * cdist(A, B, "cityblock"))
    if metric == "jaccard":
        return cdist(A != 0, B != 0, "jaccard")
    return cdist(A, B, metric)


def naive(D, k, *, skip_self=True):
    """Indices and distances of the k nearest of each row, ties to the smaller id."""
    D = D.copy()
    if skip_self:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def as_matrix(graph, values):
    k = graph.degree[0]
    return graph.indices.reshape(-1, k), values.reshape(-1, k)


def assert_nearest(graph, D, k, *, exact_ids=True, tolerance=1e-6):
    assert (graph.degree == k).all()
    ids, found = as_matrix(graph, graph.distances())
    order, expected = naive(D, k)
    scale = max(1e-30, np.abs(expected).max())
    np.testing.assert_allclose(np.sort(found, axis=1), expected, rtol=tolerance, atol=tolerance * scale)
    if exact_ids:
        assert (ids == np.sort(order, axis=1)).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [2, 3, 40, 1300])
def test_every_metric_equals_the_definition(metric, n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 6)).astype(np.float32)
    if metric == "jaccard":
        X = (X > 0.4).astype(np.float32)
    k = min(10, n - 1)
    graph = cladify.neighbors(X, k, metric, method="exact")
    by_value = metric.startswith(("laplacian", "jaccard"))  # from float32 blocks: ties within rounding
    assert_nearest(graph, distances(X, X, metric), k, exact_ids=not by_value, tolerance=1e-5)
    assert graph.metric == metric and graph.info["method"] == "exact"


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_data_far_from_the_origin(metric, offset):
    X = np.random.default_rng(1).standard_normal((700, 20)) + offset
    # A million from the origin, cosine distances are 1e-13: the reference itself has four digits left.
    last_digits = metric == "cosine" and offset == 1e6
    graph = cladify.neighbors(X, 12, metric)
    tolerance = 2e-3 if last_digits else 1e-6
    assert_nearest(graph, distances(X, X, metric), 12, exact_ids=not last_digits, tolerance=tolerance)


def test_small_clusters_far_apart():
    # Products of rows this far from their mean have errors above the distances within a cluster.
    rng = np.random.default_rng(2)
    X = 1e5 * rng.standard_normal((8, 10))[rng.integers(8, size=900)] + rng.standard_normal((900, 10))
    assert_nearest(cladify.neighbors(X, 15), distances(X, X, "sqeuclidean"), 15)


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_sizes_whose_squares_float32_cannot_hold(size):
    X = np.random.default_rng(3).standard_normal((300, 5))
    found = query(X * size, X[:50] * size, k=7)
    assert (found.indices == naive(distances(X[:50], X, "sqeuclidean"), 7, skip_self=False)[0]).all()


@given(n=st.integers(2, 90), d=st.integers(1, 4), levels=st.integers(1, 4), seed=st.integers(0, 10**6), data=st.data())
def test_ties_go_to_the_smaller_id(n, d, levels, seed, data):
    """Integer points, so that many distances are equal, and many points are duplicates."""
    k = data.draw(st.integers(1, n - 1))
    X = np.random.default_rng(seed).integers(0, levels, size=(n, d)).astype(np.float32)
    assert_nearest(cladify.neighbors(X, k), distances(X, X, "sqeuclidean"), k)


def test_all_points_equal():
    graph = cladify.neighbors(np.ones((1500, 3)), 4)
    ids, distance = as_matrix(graph, graph.distances())
    assert (distance == 0).all()
    assert ids[0].tolist() == [1, 2, 3, 4]
    assert ids[2].tolist() == [0, 1, 3, 4]
    assert (ids[5:] == [0, 1, 2, 3]).all()
    assert (graph.weight == 1).all()


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_many_duplicates_among_others(metric):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 17)).astype(np.float32)[rng.integers(60, size=2400)]
    assert_nearest(cladify.neighbors(X, 30, metric), distances(X, X, metric), 30)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot"])
def test_a_few_near_ties_need_no_float64_search(metric, monkeypatch):
    def never(*_):
        raise AssertionError("searched again")

    monkeypatch.setattr(_exact, "_search_float64", never)
    X = np.random.default_rng(6).standard_normal((1200, 24)).astype(np.float32)
    X[rows_of_copies := np.arange(7, 1200, 21)] = X[7]
    assert len(rows_of_copies) > 10 + _exact._SPARE + 1
    if metric == "dot":  # all rows are as long, or few would have the copies among their nearest
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert_nearest(cladify.neighbors(X, 10, metric), distances(X, X, metric), 10, exact_ids=metric != "dot")
    found = query(X, X[:300], 10, metric)
    np.testing.assert_allclose(found.distance, naive(distances(X[:300], X, metric), 10, skip_self=False)[1], atol=1e-5)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot", "euclidean"])
def test_sparse_rows_equal_dense_rows(metric):
    X = sparse.random_array((1200, 80), density=0.08, rng=5, format="csr", dtype=np.float32)
    X = X[np.flatnonzero(np.diff(X.indptr))]
    found = cladify.neighbors(X, 9, metric)
    assert_nearest(found, distances(X.toarray(), X.toarray(), metric), 9)


@pytest.mark.parametrize("metric", METRICS)
def test_query_equals_the_definition(metric):
    rng = np.random.default_rng(6)
    X, Y = (rng.standard_normal((n, 5)) for n in (1100, 70))
    if metric == "jaccard":
        X, Y = (X > 0.3).astype(np.float64), (Y > 0.3).astype(np.float64)
    found = query(X, Y, 11, metric)
    order, expected = naive(distances(Y, X, metric), 11, skip_self=False)
    np.testing.assert_allclose(found.distance, expected, rtol=1e-5, atol=1e-5)
    if metric != "jaccard":
        assert (found.indices == order).mean() > 0.999
    assert (np.diff(found.weight, axis=1) <= 0).all()


def test_query_finds_a_training_row_itself():
    X = np.random.default_rng(7).standard_normal((500, 12)).astype(np.float32)
    found = query(X, X, 1, "cosine")
    assert (found.indices[:, 0] == np.arange(500)).all()
    assert (found.distance == 0).all()


def test_threads_and_repeats_change_nothing():
    X = np.random.default_rng(8).standard_normal((2600, 24)).astype(np.float32)
    X[::3] = np.round(X[::3])
    graphs = [cladify.neighbors(X, 25, "cosine", n_jobs=jobs) for jobs in (1, 2, 5, 2, 1)]
    for other in graphs[1:]:
        assert (other.indices == graphs[0].indices).all()
        assert (other.distances() == graphs[0].distances()).all()


@pytest.mark.parametrize("make", [np.asfortranarray, lambda X: X[:, ::-1][:, ::-1], lambda X: X.astype(np.float16)])
def test_layouts_and_types(make):
    X = make(np.random.default_rng(9).standard_normal((150, 4)).astype(np.float16).astype(np.float32))
    assert_nearest(cladify.neighbors(X, 5), distances(X, X, "sqeuclidean"), 5)


def test_custom_and_precomputed():
    X = np.random.default_rng(10).standard_normal((310, 3))
    D = cdist(X, X, "chebyshev")
    given = cladify.neighbors(D, 6, "precomputed")
    custom = cladify.neighbors(X, 6, lambda A, B: cdist(A, B, "chebyshev"))
    for graph in (given, custom):
        assert graph.kind == "distance"
        assert_nearest(graph, D, 6)


def test_progress_and_one_point():
    seen = []
    cladify.neighbors(np.eye(30), 3, progress=lambda *step: seen.append(step))
    assert {stage for stage, _, _ in seen} >= {"neighbours", "float64 distances"}
    assert cladify.neighbors(np.ones((1, 3)), 5).n_edges == 0


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.eye(5), {"k": 5}, r"k must be an int in \[1, 4\] for 5 points, got 5"),
        (np.eye(5), {"k": 0}, "k must be an int"),
        (np.eye(5), {"k": 2.5}, "k must be an int"),
        (np.eye(5), {"k": 2, "method": "exakt"}, "Did you mean 'exact'"),
        (np.eye(5), {"k": 2, "metric": "cosin"}, "Did you mean 'cosine'"),
        (np.zeros((5, 2)), {"k": 2, "metric": "cosine"}, "zero row"),
        (np.full((5, 2), np.nan), {"k": 2}, "NaN"),
        (np.full((5, 2), np.inf), {"k": 2}, "inf"),
        (np.ones(5), {"k": 2}, "2-D"),
        (np.empty((0, 3)), {"k": 2}, "0 sample"),
        (np.array([["a", "b"]]), {"k": 2}, "numbers"),
    ],
)
def test_bad_input_says_what_to_do(X, options, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        cladify.neighbors(X, **options)
    assert "\n" not in str(caught.value)


def test_bad_queries():
    with pytest.raises(InvalidInput, match="Y has 3 columns, X has 5"):
        query(np.eye(5), np.ones((2, 3)))
    with pytest.raises(InvalidInput, match=r"k must be an int in \[1, 5\]"):
        query(np.eye(5), np.eye(5), k=6)
    with pytest.raises(InvalidInput, match="both be dense or both be sparse"):
        query(np.eye(5), sparse.csr_array(np.eye(5)))
