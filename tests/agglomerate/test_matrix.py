"""HAC over distance matrices: given ones, those of metrics that need one, and what is wrong with a matrix."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from points import blobs
from quick import seeds
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import cdist, pdist, squareform

from cladify import HAC, similarity
from cladify._kit.progress import Progress
from cladify.agglomerate._matrix import distance_matrix
from cladify.data.similarity import get_similarity
from cladify.errors import InvalidInput, NotEnoughMemory
from tests.agglomerate.test_hac import EUCLIDEAN, LINKAGES, random_points
from tests.oracles import assert_minimal_merges, assert_same_merges


def given_matrix(D: np.ndarray, linkage: str = "average", **params):
    return HAC(linkage=linkage, metric="precomputed", **params).fit(D).tree_


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("block", seeds(2, daily=1))
def test_same_merges_as_scipy(method, block):
    for seed in range(100 * block, 100 * block + 100):
        D = pdist(random_points(seed))
        if seed % 2:  # any numbers will do, except for the linkages that need points
            D = np.random.default_rng(seed).uniform(1, 9, len(D)) if method not in EUCLIDEAN else D
        assert_same_merges(given_matrix(squareform(D), method), linkage(D, method))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_distances_of_several_blocks(metric, dtype):
    X = 1e3 + blobs(2300, 7, 30, spread=0.4).astype(dtype)
    distance, shift = distance_matrix(X, get_similarity(metric), np.dtype(dtype), 2, Progress())
    assert distance.dtype == dtype
    assert shift == 0.0
    np.testing.assert_allclose(distance, pdist(X.astype(np.float64), metric), rtol=np.finfo(dtype).eps, atol=1e-9)


@pytest.mark.parametrize("method", LINKAGES)
def test_same_merges_as_scipy_large_float32(method):
    D = pdist(blobs(2500, 12, 30, spread=0.4, seed=3).astype(float)).astype(np.float32)
    tree = given_matrix(squareform(D), method)
    assert tree.info["distances"] == ("one row at a time" if method == "single" else "float32 matrix")
    np.testing.assert_allclose(
        np.sort(tree.height[2500:]), np.sort(linkage(D.astype(float), method)[:, 2]), rtol=1e-5, atol=1e-5
    )


@given(st.data())
def test_ties_go_to_one_of_the_nearest(data):
    n = data.draw(st.integers(2, 12))
    method = data.draw(st.sampled_from(["single", "complete", "average", "weighted"]))
    values = data.draw(st.lists(st.integers(0, 4), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    D = squareform(np.array(values, dtype=float)).reshape(n, n)
    tree = given_matrix(D, method)
    tree.validate()
    assert is_valid_linkage(tree.to_linkage())
    assert_minimal_merges(tree, D, method)


@pytest.mark.parametrize("method", LINKAGES)
def test_threads_and_repeats_change_nothing(method):
    X = np.random.default_rng(3).integers(0, 4, (9000, 3)).astype(np.float32) if method == "complete" else None
    D = squareform(pdist(np.random.default_rng(3).integers(1, 4, (500, 6)))).astype(np.float32)
    trees = [given_matrix(D, method, n_jobs=j) for j in (1, 2, 2)]
    assert trees[0] == trees[1] == trees[2]
    if X is not None:
        X += np.random.default_rng(4).standard_normal(X.shape).astype(np.float32) * (np.arange(9000) % 2)[:, None]
        assert HAC(linkage=method, n_jobs=1).fit(X).tree_ == HAC(linkage=method, n_jobs=2).fit(X).tree_


@pytest.mark.parametrize("method", LINKAGES)
def test_sample_weight_is_multiplicity(method):
    rng = np.random.default_rng(4)
    for _ in range(10):
        X, weight = rng.standard_normal((30, 3)), rng.integers(1, 5, 30)
        tree = HAC(linkage=method, metric="precomputed").fit(cdist(X, X), sample_weight=weight).tree_
        copies = given_matrix(cdist(Y := np.repeat(X, weight, axis=0), Y), method)
        np.testing.assert_allclose(np.sort(copies.height)[-29:], np.sort(tree.height[30:]))


METRICS = {
    "euclidean": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "cosine": "cosine",
    "dot": lambda x, y: -x @ y,
    "rbf(0.3)": lambda x, y: 1 - np.exp(-0.3 * (x - y) @ (x - y)),
    "laplacian(0.3)": lambda x, y: 1 - np.exp(-0.3 * np.abs(x - y).sum()),
    "jaccard": lambda x, y: 1 - ((x != 0) & (y != 0)).sum() / max(1, ((x != 0) | (y != 0)).sum()),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted"])
def test_every_metric(method, metric):
    rng = np.random.default_rng(5)
    X = np.unique(rng.standard_normal((60, 9)) * (rng.uniform(size=(60, 9)) < 0.6), axis=0)
    X = X[(X != 0).any(axis=1)]
    D = cdist(X, X, METRICS[metric])
    if metric == "dot":
        D = D + np.einsum("ij,ij->i", X, X).max()
    np.fill_diagonal(D, 0)
    model = HAC(linkage=method, metric=metric)
    assert_minimal_merges(model.fit(X).tree_, D, method)
    assert model.tree_.info["metric"] == metric
    dense, sparse = model.tree_, model.fit(scipy.sparse.csr_array(X)).tree_
    np.testing.assert_allclose(np.sort(sparse.height), np.sort(dense.height), rtol=1e-6, atol=1e-9)
    twice = model.fit(np.concatenate([X, X])).tree_
    if metric != "dot":
        assert (twice.height[len(twice.parent) // 2 + 1 :] == 0).sum() >= len(X)


def test_sets_are_decided_in_float64():
    """Means of ratios that differ by 1e-8; in float32 a third of the clusters are others."""
    X = np.random.default_rng(5).random((200, 30)) < 0.5
    tree = HAC(metric="jaccard").fit(X).tree_
    assert tree.info["distances"] == "float64 matrix"
    assert_minimal_merges(tree, squareform(pdist(X, "jaccard")), "average")
    assert tree == HAC(metric="jaccard").fit(X.astype(np.float64)).tree_


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted"])
def test_functions(method):
    X = np.random.default_rng(6).standard_normal((50, 3))
    tree = HAC(linkage=method, metric=lambda A, B: cdist(A, B, "cityblock")).fit(X).tree_
    assert_same_merges(tree, linkage(X, method, "cityblock"))
    near = similarity.custom(lambda A, B: 5.0 - cdist(A, B, "cityblock"), kind="similarity", name="near")
    assert_same_merges(HAC(linkage=method, metric=near).fit(X).tree_, linkage(X, method, "cityblock"))


def test_single_linkage_without_room_for_a_matrix(monkeypatch):
    X = np.random.default_rng(6).standard_normal((70, 3))
    X[40:50] = X[:10]
    near = similarity.custom(lambda A, B: -cdist(A, B, "cityblock"), kind="similarity")
    for metric in ("laplacian(0.1)", lambda A, B: cdist(A, B, "cityblock"), near):
        model = HAC(linkage="single", metric=metric)
        expected = model.fit(X).tree_
        with monkeypatch.context() as patch:
            patch.setattr("cladify.agglomerate._matrix.available_memory", lambda: 0)
            tree = model.fit(X).tree_
        assert tree == expected
        assert (tree.info["distances"], expected.info["distances"]) == ("one row at a time", "float64 matrix")


def test_precomputed_similarities_count_from_the_largest():
    X = np.random.default_rng(7).standard_normal((40, 5))
    given = similarity.precomputed(kind="similarity")
    for method in ("single", "complete", "average", "weighted"):
        tree = HAC(linkage=method, metric=given).fit(X @ X.T).tree_
        expected = HAC(linkage=method, metric="dot").fit(X).tree_
        np.testing.assert_allclose(np.sort(tree.height), np.sort(expected.height), atol=1e-9)
    with pytest.raises(InvalidInput, match="needs metric 'euclidean', got 'precomputed-similarity'"):
        HAC(linkage="ward", metric=given).fit(X @ X.T)


def test_accepted_matrices_give_the_same_tree(tmp_path):
    D = squareform(pdist(np.random.default_rng(8).integers(0, 30, (80, 4)), "cityblock"))
    expected = given_matrix(D, "complete")
    np.save(tmp_path / "d.npy", D.astype(np.float32))
    before = D.copy()
    for other in (
        D,
        D.astype(int),
        D.astype(np.float16),
        np.asfortranarray(D),
        D.tolist(),
        np.load(tmp_path / "d.npy", mmap_mode="r"),
    ):
        assert given_matrix(other, "complete") == expected
    np.testing.assert_array_equal(D, before)


@pytest.mark.parametrize("method", LINKAGES)
def test_degenerate(method):
    assert given_matrix(np.zeros((1, 1)), method).n_leaves == 1
    assert given_matrix([[0.0, 3.0], [3.0, 0.0]], method).height.tolist() == [0.0, 0.0, 3.0]
    assert (given_matrix(np.zeros((50, 50)), method).height == 0).all()
    large = given_matrix(1e30 * squareform(pdist(np.arange(5.0)[:, None] ** 2)).astype(np.float32), method)
    assert np.isfinite(large.height).all() and (large.height[5:] > 1e29).all()
    X = np.random.default_rng(0).standard_normal((60, 4))
    half = given_matrix(cdist(Y := np.concatenate([X, X]), Y), method)
    assert (half.height[120:] == 0).sum() == 60


def test_what_is_wrong_with_a_matrix(monkeypatch):
    D = squareform(pdist(np.random.default_rng(9).standard_normal((20, 3))))

    def changed(i, j, value):
        other = D.copy()
        other[i, j] = other[j, i] = value
        return other

    with pytest.raises(InvalidInput, match="NaN in 2 rows"):
        given_matrix(changed(3, 4, np.nan))
    with pytest.raises(InvalidInput, match="inf in 2 rows"):
        given_matrix(changed(3, 4, np.inf))
    with pytest.raises(InvalidInput, match=r"X has -2, and distances .*'precomputed-similarity'"):
        given_matrix(changed(3, 4, -2.0))
    with pytest.raises(InvalidInput, match=r"X\[5, 5\] is 1, but a point's distance to itself is 0"):
        given_matrix(changed(5, 5, 1.0))
    with pytest.raises(InvalidInput, match="square matrix of n x n values"):
        given_matrix(D[:10])
    lopsided = D.copy()
    lopsided[2, 7] *= 2
    with pytest.raises(InvalidInput, match=r"symmetric matrix.*symmetrise"):
        given_matrix(lopsided)
    with pytest.raises(InvalidInput, match="returned nan"):
        HAC(linkage="complete", metric=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(D)
    with pytest.raises(InvalidInput, match="Negative values in data"):
        HAC(linkage="complete", metric=lambda A, B: A @ B.T).fit(np.eye(3) - 0.5)
    rounding = changed(3, 4, -1e-12)
    assert given_matrix(rounding).height.min() == 0
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match=r"HAC with complete linkage .* 20 points needs .* free; pass float32"):
        HAC(linkage="complete").fit(D)
    with pytest.raises(NotEnoughMemory, match=r'use linkage="average" \(linear memory\) or method="scc"'):
        HAC(linkage="complete").fit(D.astype(np.float32))
    with pytest.raises(NotEnoughMemory, match="sparse matrix of the nearest pairs"):
        given_matrix(D)


def test_progress_and_labels():
    X = np.random.default_rng(0).standard_normal((900, 4))
    seen = {}
    model = HAC(linkage="complete", n_clusters=3).fit(
        X, progress=lambda stage, done, total: seen.update({stage: (done, total)})
    )
    assert seen["distances"][0] == seen["distances"][1]
    assert seen["merge"] == (899, 899)
    assert len(np.unique(model.labels_)) == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    D = squareform(pdist(X))
    fitted = HAC(linkage="complete", metric="precomputed", distance_threshold=4.0).fit(D)
    np.testing.assert_array_equal(fitted.predict(D), fitted.labels_)


def test_scikit_learn_conventions(conforms):
    rows = "hands rows to an estimator that says that it takes matrices"
    conforms(HAC(metric="precomputed"), check_clustering=rows, check_estimators_nan_inf=rows)
