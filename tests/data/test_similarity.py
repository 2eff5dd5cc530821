"""Metrics against SciPy and scikit-learn, and their feature maps against their blocks."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist

import cladify
from cladify import similarity
from cladify._kit.progress import Progress
from cladify.data._vectors import squared_norms
from cladify.errors import InvalidInput
from cladify.similarity import get_similarity

ALL = ["cosine", "dot", "sqeuclidean", "euclidean", "jaccard", "rbf", "laplacian"]
EXACT = ["cosine", "dot", "sqeuclidean"]

REFERENCE = {
    "cosine": lambda A, B: 1 - 0.5 * cdist(A, B, "cosine"),
    "dot": lambda A, B: A @ B.T,
    "sqeuclidean": lambda A, B: cdist(A, B, "sqeuclidean"),
    "euclidean": lambda A, B: cdist(A, B),
    "jaccard": lambda A, B: 1 - cdist(A != 0, B != 0, "jaccard"),
    "rbf": lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / A.shape[1]),
    "laplacian": lambda A, B: np.exp(-cdist(A, B, "cityblock") / A.shape[1]),
}


def rows(n, d=7, seed=0, zeros=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) >= zeros)
    X[:, 0] += 3.0  # no zero rows
    return X


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr_array, csr_matrix, np.asfortranarray])
def test_block_meets_reference(name, dtype, form):
    A, B = rows(30).astype(dtype), rows(20, seed=1).astype(dtype)
    value = get_similarity(name).block(form(A), form(B))
    assert isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == (30, 20)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    expected = REFERENCE[name](A.astype(np.float64), B.astype(np.float64))
    # A square root of a small difference keeps half of the digits.
    np.testing.assert_allclose(
        value,
        expected,
        rtol=0,
        atol=tolerance * (10 if name == "euclidean" else 1) * max(1, abs(expected).max()),
    )


@pytest.mark.parametrize("name", ALL)
def test_block_of_rows_with_themselves(name):
    X = rows(25)
    metric = get_similarity(name)
    value = metric.block(X, X)
    np.testing.assert_allclose(value, value.T, atol=1e-12)
    np.testing.assert_array_equal(metric.block_of(X, slice(3, 9), np.array([1, 4])), metric.block(X[3:9], X[[1, 4]]))
    np.testing.assert_array_equal(metric(X), value)
    if metric.kind == "distance":
        assert (np.diag(value) == 0).all() and (value >= 0).all()
    elif name != "dot":
        np.testing.assert_allclose(np.diag(value), 1.0)
        assert (value >= 0).all() and (value <= 1 + 1e-12).all()


def test_distances_far_from_the_origin_keep_their_digits():
    X = rows(40)
    expected = cdist(X, X, "sqeuclidean")
    far = (X + 1000.0).astype(np.float32)
    value = similarity.sqeuclidean.block(far[:20], far[20:])
    np.testing.assert_allclose(value, expected[:20, 20:], atol=2e-2)
    np.testing.assert_allclose(
        similarity.sqeuclidean.features(far).block(slice(0, 20), slice(20, 40)), expected[:20, 20:], atol=2e-2
    )


@given(arrays(np.float32, (9, 3), elements=st.floats(-1e4, 1e4, width=32)))
def test_distances_are_never_negative(X):
    assert (similarity.sqeuclidean.block(X, X.copy()) >= 0).all()
    assert np.isfinite(similarity.euclidean.block(X, X.copy())).all()


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_features_meet_the_block(name, form, dtype):
    X = form(rows(40).astype(dtype))
    metric = get_similarity(name)
    features = metric.features(X)
    assert features.exact and features.shape == (40, 7) and metric.has_features
    expected = REFERENCE[name](*[rows(40)] * 2)
    np.testing.assert_allclose(
        features.block(slice(None), slice(None)), expected, atol=1e-12 if dtype == np.float64 else 2e-5
    )
    z = features.z
    assert z.dtype == np.float32
    z = z.toarray() if hasattr(z, "toarray") else z
    w = (
        features.shift
        + features.offset[:, None]
        + features.offset
        + features.scale * z.astype(float) @ z.T.astype(float)
    )
    np.testing.assert_allclose(w, expected, atol=2e-5)
    product = features.phi @ features.psi.T
    product = product.toarray() if hasattr(product, "toarray") else product
    np.testing.assert_allclose(product, expected, atol=1e-4)


def test_features_do_not_touch_or_copy_float32_rows():
    X = rows(50).astype(np.float32)
    before = X.copy()
    assert similarity.dot.features(X).z is X
    for name in EXACT:
        features = get_similarity(name).features(X)
        assert features.rows is X
        assert features.z is features.z
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(("name", "sigma"), [("rbf", 1.0), ("laplacian", 0.5)])
def test_random_features_err_as_stated(name, sigma, form):
    """Root mean square error within the stated standard deviation, and no bias, over 30 seeds."""
    X = form(rows(30, d=4).astype(np.float32))
    errors = []
    for seed in range(30):
        metric = getattr(similarity, name)(gamma=0.3, n_features=256)
        features = metric.features(X, random_state=seed)
        assert not features.exact and features.z.dtype == np.float32
        errors.append(features.block(slice(None), slice(None)) - metric.block(X, X))
    errors = np.stack(errors)
    bound = sigma / np.sqrt(256)
    assert np.sqrt((errors**2).mean()) <= bound
    assert np.abs(errors.mean(axis=0)).max() <= 5 * bound / np.sqrt(30)
    assert np.abs(errors).max() <= 6 * bound
    np.testing.assert_allclose(np.diagonal(errors, axis1=1, axis2=2), 0, atol=1e-5)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_more_random_features_err_less(name):
    X = rows(40)
    error = {}
    for count in (64, 4096):
        metric = getattr(similarity, name)(n_features=count)
        error[count] = np.sqrt(
            np.mean((metric.features(X, 0).block(slice(None), slice(None)) - metric.block(X, X)) ** 2)
        )
    assert error[4096] < error[64] / 4


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_random_features_repeat_with_their_seed(name):
    X = rows(30).astype(np.float32)
    metric = get_similarity(name)
    first, again, other = (metric.features(X, seed).block(slice(None), slice(None)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_jaccard_of_empty_sets():
    value = similarity.jaccard(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert value.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_heights():
    X = rows(10)
    np.testing.assert_allclose(similarity.cosine.height(similarity.cosine(X)), cdist(X, X, "cosine"), atol=1e-12)
    np.testing.assert_allclose(similarity.rbf(1.0).height(np.array([1.0, 0.25])), [0.0, 0.75])
    assert similarity.sqeuclidean.height(3.0) == 3.0
    assert similarity.precomputed(kind="similarity").height(3.0) == -3.0


def test_precomputed():
    D = cdist(rows(6), rows(6))
    metric = get_similarity("precomputed")
    assert metric.kind == "distance" and get_similarity("precomputed", kind="similarity").kind == "distance"
    assert get_similarity("precomputed-similarity") == similarity.precomputed(kind="similarity")
    assert get_similarity(similarity.precomputed(kind="distance")).kind == "distance"
    np.testing.assert_array_equal(metric.block_of(metric.check(D), slice(1, 3), [0, 5]), D[1:3][:, [0, 5]])
    np.testing.assert_array_equal(metric.block_of(csr_array(D), slice(1, 3), [0, 5]), D[1:3][:, [0, 5]])
    with pytest.raises(InvalidInput, match=r"square matrix .* got shape \(6, 5\)"):
        metric.check(D[:, :5])
    D[0, 1] += 1
    with pytest.raises(InvalidInput, match="symmetric"):
        metric.check(D)
    with pytest.raises(InvalidInput, match="symmetric"):
        metric.check(csr_array(D))
    with pytest.raises(InvalidInput, match="no values for new rows"):
        metric.block(D, D)


def test_custom_functions():
    def overlap(A, B):
        return np.minimum(A[:, None], B[None]).sum(axis=2)

    assert (
        get_similarity(overlap).kind == "distance" and get_similarity(overlap, kind="similarity").kind == "similarity"
    )
    metric = similarity.custom(overlap, kind="similarity")
    assert get_similarity(metric) is metric and str(metric) == "overlap"
    assert metric(np.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(InvalidInput, match=r"returned shape \(3,\) for 3 and 3 rows"):
        get_similarity(lambda A, B: A[:, 0])(np.eye(3))
    with pytest.raises(InvalidInput, match="returned nan for rows 0 and 0"):
        get_similarity(lambda A, B: np.full((len(A), len(B)), np.nan))(np.eye(3))
    with pytest.raises(InvalidInput, match="no feature map"):
        metric.features(np.eye(3))
    with pytest.raises(InvalidInput, match="kind 'sim' is not known"):
        similarity.custom(overlap, kind="sim")


def test_spellings():
    assert get_similarity("cosine") is similarity.cosine is cladify.similarity.cosine
    assert get_similarity("rbf") == similarity.rbf() == get_similarity(similarity.rbf)
    assert get_similarity("rbf(0.5)") == get_similarity("rbf(gamma=0.5)") == similarity.rbf(gamma=0.5)
    for name in [*ALL, "rbf(0.25)", "precomputed"]:
        assert str(get_similarity(name)) == name
    for wrong, match in [
        ("sqeuclid", "Did you mean 'sqeuclidean'"),
        ("rbf(wide)", "gamma must be a number"),
        ("rbf(-1)", "gamma must be a finite number above 0"),
        (3, "metric must be a name"),
    ]:
        with pytest.raises(InvalidInput, match=match):
            get_similarity(wrong)


@pytest.mark.parametrize("name", [*ALL, "precomputed"])
def test_metrics_pickle_and_copy(name):
    metric = get_similarity(name)
    assert pickle.loads(pickle.dumps(metric)) == metric == copy.deepcopy(metric)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_norms(dtype):
    X = rows(300, d=5).astype(dtype)
    centre = np.arange(5.0)
    expected = ((X.astype(np.float64) - centre) ** 2).sum(axis=1)
    for form in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_allclose(squared_norms(form, centre), expected, rtol=1e-12)
    np.testing.assert_allclose(squared_norms(csr_array(X)), squared_norms(X), rtol=1e-6)


def test_cosine_refuses_zero_rows():
    with pytest.raises(InvalidInput, match="zero row"):
        similarity.cosine(np.zeros((2, 3)))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "jaccard", "precomputed"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_matrices_are_filled_by_blocks(metric, n_jobs, monkeypatch):
    X = np.random.default_rng(0).random((41, 7)).astype(np.float32)
    X = X @ X.T if metric == "precomputed" else X
    order = np.random.default_rng(1).permutation(41)
    expected = X if metric == "precomputed" else get_similarity(metric).block(X, X)
    monkeypatch.setattr("cladify.data.similarity._BLOCK", 130)
    seen = []
    report = Progress(lambda *step: seen.append(step))
    matrix = get_similarity(metric).matrix(X, n_jobs=n_jobs, report=report)
    assert matrix.dtype == np.float32 and np.allclose(matrix, expected, atol=1e-3)
    assert seen[-1] == ("matrix", 14, 14)
    shuffled = get_similarity(metric).matrix(X, order, dtype=np.float64, n_jobs=n_jobs)
    assert shuffled.dtype == np.float64 and np.allclose(shuffled, expected[np.ix_(order, order)], atol=1e-3)
