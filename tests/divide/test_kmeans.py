"""Bisecting k-means: inertia, local optimality, early stops, weights, degenerate input."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_matrix
from sklearn.cluster import BisectingKMeans as Theirs
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify import BisectingKMeans
from cladify.errors import InvalidInput


def blobs(n=600, d=5, k=8, seed=0):
    X, y = make_blobs(n, d, centers=k, random_state=seed, cluster_std=0.5)
    return X.astype(np.float32), y


def inertia(X, weight, metric):
    X = X.astype(np.float64)
    if metric == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        return weight.sum() - np.linalg.norm(weight @ X)
    return weight @ ((X - weight @ X / weight.sum()) ** 2).sum(axis=1)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("theta", [1, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_heights_are_inertia(metric, theta, weighted):
    X = np.random.default_rng(0).normal(loc=1.0, size=(300, 4)).astype(np.float32)
    weight = np.random.default_rng(1).uniform(0.5, 3.0, size=300) if weighted else np.ones(300)
    model = BisectingKMeans(metric=metric, theta=theta, random_state=0)
    tree = model.fit(X, sample_weight=weight if weighted else None).tree_
    assert tree.is_binary and tree.is_monotone and tree.n_leaves == 300
    for v in range(tree.n_leaves, tree.n_nodes):
        members = tree.members(v)
        assert tree.height[v] == pytest.approx(inertia(X[members], weight[members], metric), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_every_split_is_where_lloyd_stops(metric):
    X = np.random.default_rng(2).normal(size=(500, 6)).astype(np.float32)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    tree = BisectingKMeans(metric=metric, tol=0.0, n_iter=1000, random_state=0).fit(X).tree_
    for v in range(tree.n_leaves, tree.n_nodes):
        sides = [Z[tree.members(c)].astype(np.float64) for c in tree.children(v)]
        centres = [side.mean(axis=0) for side in sides]
        if metric == "cosine":
            centres = [c / np.linalg.norm(c) for c in centres]
        for own, other, side in ((0, 1, sides[0]), (1, 0, sides[1])):
            near = ((side - centres[own]) ** 2).sum(axis=1)
            far = ((side - centres[other]) ** 2).sum(axis=1)
            assert (near <= far + 1e-4).all()


def test_early_stop_is_the_top_of_the_whole_tree():
    X, _ = blobs()
    whole = BisectingKMeans(random_state=0).fit(X).tree_
    for k in (1, 2, 7, 50, 600):
        model = BisectingKMeans(n_clusters=k, random_state=0).fit(X)
        assert len(np.unique(model.labels_)) == k
        assert adjusted_rand_score(model.labels_, whole.cut(n_clusters=k)) == 1.0
        assert model.tree_.n_leaves == len(X)


def test_as_good_as_scikit_learn():
    X, y = blobs(n=1500, d=10, k=20, seed=3)
    ours = BisectingKMeans(n_clusters=20, n_init=4, random_state=0).fit(X)
    theirs = Theirs(20, n_init=4, random_state=0).fit(X)
    total = sum(inertia(X[ours.labels_ == c], np.ones((ours.labels_ == c).sum()), "sqeuclidean") for c in range(20))
    assert total <= 1.1 * theirs.inertia_
    assert adjusted_rand_score(y, ours.labels_) > 0.8


def test_theta_above_n_is_average_linkage():
    X = np.random.default_rng(4).normal(size=(80, 3))
    tree = BisectingKMeans(theta=100, random_state=0).fit(X).tree_
    expected = cladify.Tree.from_linkage(linkage(X, "average", metric="sqeuclidean"))
    for k in range(2, 80):
        assert adjusted_rand_score(cut_by_count(tree, expected, k), expected.cut(n_clusters=k)) == 1.0


def cut_by_count(tree, like, k):
    """The clusters of ``tree`` that are the same sets as those of ``like`` at k clusters, found by their members."""
    labels = like.cut(n_clusters=k)
    known = {frozenset(tree.members(v).tolist()) for v in range(tree.n_nodes)}
    assert all(frozenset(np.flatnonzero(labels == c).tolist()) in known for c in range(k))
    return labels


def test_weights_are_repeated_rows():
    X, _ = blobs(n=60, k=4, seed=5)
    weight = np.random.default_rng(6).integers(1, 5, size=60)
    weighted = BisectingKMeans(n_clusters=4, n_init=8, random_state=0).fit(X, sample_weight=weight)
    repeated = BisectingKMeans(n_clusters=4, n_init=8, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert adjusted_rand_score(np.repeat(weighted.labels_, weight), repeated.labels_) == 1.0
    assert weighted.tree_.height[-1] == pytest.approx(repeated.tree_.height[-1], rel=1e-4)


def test_threads_layouts_and_types_give_the_same_tree(tmp_path):
    X = np.random.default_rng(7).normal(size=(20_000, 8)).astype(np.float32)
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=X.shape)
    mapped[:] = X
    tree = BisectingKMeans(random_state=5, n_jobs=1).fit(X).tree_
    assert tree.n_leaves == len(X) and tree.is_binary
    for same in (X, np.asfortranarray(X), mapped):
        assert BisectingKMeans(random_state=5, n_jobs=2).fit(same).tree_ == tree
    assert BisectingKMeans(random_state=6, n_jobs=2).fit(X).tree_ != tree
    labels = [BisectingKMeans(n_clusters=50, random_state=5, n_jobs=j).fit(X).labels_ for j in (1, 2)]
    assert np.array_equal(*labels)


def test_sparse_rows():
    X = np.random.default_rng(8).normal(size=(200, 6)) * (np.random.default_rng(9).random((200, 6)) < 0.4)
    X[:, 0] = 1.0
    for metric in ("sqeuclidean", "cosine"):
        dense, sparse = (
            BisectingKMeans(metric=metric, n_clusters=5, random_state=0).fit(A) for A in (X, csr_matrix(X))
        )
        assert adjusted_rand_score(dense.labels_, sparse.labels_) > 0.9


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_equal_points(n, metric):
    tree = BisectingKMeans(metric=metric, random_state=0).fit(np.ones((n, 3))).tree_
    assert tree.n_leaves == n and tree.is_binary
    assert (np.abs(tree.height) <= 1e-5 * n).all()  # unit rows have unit length to float32
    assert tree.depth <= 11  # halved again and again, not peeled off one by one


def test_heavy_duplicates_stay_together():
    rng = np.random.default_rng(10)
    points = rng.normal(size=(5, 3))
    which = rng.integers(5, size=400)
    model = BisectingKMeans(n_clusters=5, n_init=5, random_state=0).fit(points[which])
    assert adjusted_rand_score(which, model.labels_) == 1.0


def test_one_far_outlier():
    X = np.random.default_rng(11).normal(size=(300, 2))
    X[123] = 1e6
    tree = BisectingKMeans(random_state=0).fit(X).tree_
    assert 123 in tree.children(tree.root)


def test_progress():
    seen = []
    X, _ = blobs()
    BisectingKMeans(random_state=0).fit(X, progress=lambda stage, done, total: seen.append((stage, done, total)))
    assert seen[0] == ("k-means", 0, 600) and seen[-1] == ("k-means", 600, 600)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 11}, r"n_clusters must be an int of at most 10 for 10 points, got 11"),
        ({"n_clusters": 0}, "n_clusters must be an int"),
        ({"theta": 0}, "theta must be an int"),
        ({"metric": "dot"}, "metric 'dot' is not known"),
        ({"tol": -1.0}, "tol must be a finite number"),
        ({"n_clusters": 2, "distance_threshold": 1.0}, "not both"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        BisectingKMeans(**parameters).fit(np.random.default_rng(0).normal(size=(10, 2)))
