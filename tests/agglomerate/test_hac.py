"""HAC against SciPy's linkage, against the definition, and at its edges."""

import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from points import blobs
from quick import seeds
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import cdist, squareform

import cladify
from cladify import HAC
from cladify.errors import InvalidInput, NotEnoughMemory
from tests.oracles import assert_minimal_merges, assert_same_merges

#: Those that take linear memory, and complete linkage, which takes a matrix.
CASES = [
    ("average", "sqeuclidean"),
    ("average", "cosine"),
    ("average", "dot"),
    ("ward", "euclidean"),
    ("centroid", "euclidean"),
    ("median", "euclidean"),
    ("weighted", "sqeuclidean"),
    ("weighted", "cosine"),
    ("weighted", "dot"),
    ("single", "sqeuclidean"),
    ("single", "cosine"),
    ("single", "dot"),
    ("complete", "sqeuclidean"),
]
LINKAGES = ("average", "ward", "centroid", "median", "weighted", "single", "complete")
EUCLIDEAN = ("ward", "centroid", "median")  # their heights are distances; those of the others here are squares


def random_points(seed: int) -> np.ndarray:
    """Sets of many shapes: uniform or clustered, few or many dimensions, of any scale, near the origin or far away."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 160)), int(rng.integers(1, 20))
    X = rng.standard_normal((n, d))
    if seed % 3 == 0:
        X += 4.0 * rng.standard_normal((6, d))[rng.integers(0, 6, n)]
    if seed % 4 == 0:
        X[: n // 2] *= 0.01
    if seed % 5 == 0:
        X = 1e-3 * X + rng.standard_normal(d)
    return X * 10.0 ** rng.integers(-6, 7)


def scipy_linkage(X: np.ndarray, method: str, metric: str | None = None) -> np.ndarray:
    X = X.astype(np.float64)
    if metric == "dot":
        gram = X @ X.T
        return linkage(squareform(gram.diagonal().max() - gram, checks=False), method)
    return linkage(X, method, metric=metric or ("euclidean" if method in EUCLIDEAN else "sqeuclidean"))


@pytest.mark.parametrize(("method", "metric"), CASES)
@pytest.mark.parametrize("block", seeds(4, daily=1))
def test_same_merges_as_scipy(method, metric, block):
    for seed in range(50 * block, 50 * block + 50):
        X = random_points(seed)
        if metric == "cosine" and X.shape[1] == 1:
            continue  # all distances are 0 or 2
        assert_same_merges(HAC(linkage=method, metric=metric).fit(X).tree_, scipy_linkage(X, method, metric))


@pytest.mark.parametrize(("method", "metric"), CASES)
def test_same_merges_as_scipy_large_float32(method, metric):
    X = blobs(2100, 24, 40, spread=0.4, seed=7)
    assert_same_merges(HAC(linkage=method, metric=metric).fit(X).tree_, scipy_linkage(X, method, metric))


@pytest.mark.parametrize("method", LINKAGES)
def test_far_from_the_origin_in_float32(method):
    X = (1000.0 + np.random.default_rng(0).standard_normal((800, 16))).astype(np.float32)
    assert_same_merges(HAC(linkage=method).fit(X).tree_, scipy_linkage(X, method))


@pytest.mark.parametrize("method", LINKAGES)
def test_closer_together_than_float32_can_tell(method):
    # Groups of 60 points a millionth apart, more than a list holds: float32 sees one place, float64 decides.
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((5, 8)), 60, axis=0) + 1e-6 * rng.standard_normal((300, 8))
    assert_same_merges(HAC(linkage=method).fit(X).tree_, scipy_linkage(X, method))


@pytest.mark.parametrize("method", LINKAGES)
def test_one_far_outlier(method):
    X = np.random.default_rng(2).standard_normal((500, 4))
    X[77] = 1e7
    assert_same_merges(HAC(linkage=method).fit(X).tree_, scipy_linkage(X, method))


@given(st.data())
def test_ties_go_to_one_of_the_nearest(data):
    method = data.draw(st.sampled_from(LINKAGES))
    n, d = data.draw(st.integers(2, 14)), data.draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 4), min_size=d, max_size=d)
    X = np.array(data.draw(st.lists(row, min_size=n, max_size=n)), dtype=float)
    tree = HAC(linkage=method).fit(X).tree_
    tree.validate()
    metric = "euclidean" if method in EUCLIDEAN else "sqeuclidean"
    if tree.is_monotone:  # otherwise a tree does not say in which order it was made
        assert_minimal_merges(tree, cdist(X, X, metric), method)


def test_ties_go_to_the_smaller_leaves():
    # Four points in a row, one apart: of the three nearest pairs, the first merges first, then what is left of them.
    for method in ("complete", "average", "weighted"):
        tree = HAC(linkage=method).fit(np.arange(4.0)[:, None]).tree_
        assert tree.parent.tolist() == [4, 4, 5, 5, 6, 6, -1]
    # Three corners of a triangle with equal sides, in any of the linkages.
    for method in LINKAGES:
        assert HAC(linkage=method).fit(np.eye(3)).tree_.parent.tolist() == [3, 3, 4, 4, -1]


@pytest.mark.parametrize(("method", "metric"), CASES)
def test_many_ties_are_valid_and_deterministic(method, metric):
    X = np.random.default_rng(3).integers(1, 4, (700, 6))
    trees = [HAC(linkage=method, metric=metric, n_jobs=j).fit(X).tree_ for j in (1, 2, 2)]
    assert trees[0] == trees[1] == trees[2]
    trees[0].validate()
    if trees[0].is_monotone:
        assert is_valid_linkage(trees[0].to_linkage())


@pytest.mark.parametrize("method", LINKAGES)
def test_all_equally_far(method):
    n = 90
    tree = HAC(linkage=method).fit(np.eye(n)).tree_
    tree.validate()
    assert tree.is_monotone == (method not in ("centroid", "median"))
    if method not in EUCLIDEAN:
        np.testing.assert_allclose(tree.height[n:], 2.0)


@pytest.mark.parametrize("method", LINKAGES)
def test_sample_weight_is_multiplicity(method):
    rng = np.random.default_rng(4)
    for _ in range(20):
        X = rng.standard_normal((30, 3))
        weight = rng.integers(1, 5, 30)
        tree = HAC(linkage=method).fit(X, sample_weight=weight).tree_
        if tree.is_monotone:
            assert_minimal_merges(
                tree, cdist(X, X, "euclidean" if method in EUCLIDEAN else "sqeuclidean"), method, weight
            )
        copies = HAC(linkage=method).fit(np.repeat(X, weight, axis=0)).tree_
        heights = np.sort(copies.height[weight.sum() :])
        assert (heights[:-29] == 0).all()
        np.testing.assert_allclose(heights[-29:], np.sort(tree.height[30:]))


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_sample_weight_under_other_metrics(metric):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 5))
    X /= np.linalg.norm(X, axis=1)[:, None]  # so that under dot, too, a copy is the nearest there is
    weight = np.where(np.arange(40) % 3 == 0, 2, 1)
    tree = HAC(metric=metric).fit(X, sample_weight=weight).tree_
    copies = HAC(metric=metric).fit(np.repeat(X, weight, axis=0)).tree_
    heights = np.sort(copies.height[weight.sum() :])
    np.testing.assert_allclose(heights[-39:], np.sort(tree.height[40:]), rtol=1e-9)


@pytest.mark.parametrize("method", LINKAGES)
def test_degenerate(method):
    assert HAC(linkage=method).fit([[1.0, 2.0]]).tree_.n_leaves == 1
    two = HAC(linkage=method).fit([[0.0], [3.0]]).tree_
    assert two.height.tolist() == [0.0, 0.0, 3.0 if method in EUCLIDEAN else 9.0]
    assert (HAC(linkage=method).fit(np.ones((1000, 3))).tree_.height == 0).all()
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 2] = 7.0
    assert_same_merges(HAC(linkage=method).fit(X).tree_, scipy_linkage(X, method))
    half = HAC(linkage=method).fit(np.concatenate([X, X])).tree_
    assert (half.height[120:] == 0).sum() == 60


def test_accepted_inputs_give_the_same_tree(tmp_path):
    X = np.random.default_rng(0).integers(-9, 10, (120, 6))
    expected = HAC().fit(X.astype(np.float64)).tree_
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    for other in (
        X,
        X.astype(np.float16),
        X.astype(np.int8),
        np.asfortranarray(X, dtype=np.float32),
        np.load(tmp_path / "x.npy", mmap_mode="r"),
        scipy.sparse.csr_array(X),
        X.tolist(),
    ):
        assert HAC().fit(other).tree_ == expected


def test_input_is_left_alone():
    X = np.random.default_rng(0).standard_normal((50, 3))
    before = X.copy()
    HAC(linkage="ward").fit(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(("method", "metric"), CASES)
def test_threads_and_repeats_change_nothing(method, metric):
    X = blobs(2500, 32, 30, spread=0.4, seed=6)
    trees = [HAC(linkage=method, metric=metric, n_jobs=j).fit(X).tree_ for j in (1, 2, 2, 2, 3)]
    assert all(tree == trees[0] for tree in trees)


def test_labels():
    X = np.array([[0.0], [1.0], [10.0], [12.0]])
    assert HAC(n_clusters=2).fit(X).labels_.tolist() == [0, 0, 1, 1]
    assert HAC(distance_threshold=1.5).fit_predict(X).tolist() == [0, 0, 1, 2]
    assert cladify.fit(X, method="hac", linkage="ward").info["linkage"] == "ward"
    with pytest.raises(InvalidInput, match="not both"):
        HAC(n_clusters=2, distance_threshold=1.0).fit(X)


def test_errors_say_what_to_do(monkeypatch):
    X = np.ones((4, 2))
    with pytest.raises(InvalidInput, match="Did you mean 'ward'"):
        HAC(linkage="wrad").fit(X)
    with pytest.raises(InvalidInput, match="needs metric 'euclidean', got 'cosine'"):
        HAC(linkage="ward", metric="cosine").fit(X)
    with pytest.raises(InvalidInput, match="zero row"):
        HAC(metric="cosine").fit(np.zeros((3, 2)))
    with pytest.raises(InvalidInput, match="NaN in 1 row"):
        HAC().fit([[np.nan], [1.0]])
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match=r"HAC with average linkage on 4 points of 2 features needs .* are free"):
        HAC().fit(X)


@pytest.mark.parametrize("method", ["average", "weighted", "ward", "single", "complete"])
@pytest.mark.parametrize("seed", range(5))
def test_stopping_at_a_height_gives_the_same_clusters(method, seed):
    X = blobs(300, 5, 12, spread=0.4, seed=seed)
    X[50:60] = X[40:50]
    whole = HAC(linkage=method).fit(X).tree_
    for share in (0.0, 0.3, 0.9, 0.97, 1.0, 2.0):
        threshold = float(np.quantile(whole.height[300:], min(share, 1.0)) * max(share, 1.0))
        model = HAC(linkage=method, distance_threshold=threshold, full_tree=False).fit(X)
        assert np.array_equal(model.labels_, whole.cut(height=threshold))
        tree = model.tree_
        tree.validate()
        below = whole.height[whole.height <= threshold]
        np.testing.assert_allclose(
            np.sort(tree.height[tree.height <= threshold]), np.sort(below), rtol=1e-9, atol=1e-12
        )
        assert tree.n_nodes == len(below) + (whole.height[-1] > threshold)


def test_stopping_at_a_height_saves_searches():
    """Noise has few near pairs: most rows are never searched for again."""
    X = np.random.default_rng(0).standard_normal((6000, 16)).astype(np.float32)
    seen = {}
    low = float(np.quantile(HAC().fit(X[:600]).tree_.height[600:], 0.05))
    HAC(distance_threshold=low, full_tree=False).fit(
        X, progress=lambda stage, done, total: seen.update({stage: (done, total)})
    )
    assert seen["merge"][0] < 5000


def test_stopping_on_a_graph():
    X = blobs(400, 5, 12, spread=0.4, seed=1)
    graph = cladify.neighbors(X, 10).connect(X)
    for method in ("average", "single", "complete"):
        whole = HAC(linkage=method).fit(graph).tree_
        threshold = float(np.quantile(whole.height[400:], 0.8))
        model = HAC(linkage=method, distance_threshold=threshold, full_tree=False).fit(graph)
        assert np.array_equal(model.labels_, whole.cut(height=threshold))
        assert model.tree_.info["full_tree"] is False and "full_tree" not in whole.info


def test_what_stopping_refuses():
    X = np.zeros((4, 2))
    with pytest.raises(InvalidInput, match="full_tree=False stops at distance_threshold"):
        HAC(full_tree=False).fit(X)
    with pytest.raises(InvalidInput, match="needs heights that rise"):
        HAC(linkage="median", distance_threshold=1.0, full_tree=False).fit(X)


def test_progress_reaches_the_end():
    seen = {}
    HAC().fit(
        np.random.default_rng(0).standard_normal((900, 4)),
        progress=lambda stage, done, total: seen.update({stage: (done, total)}),
    )
    assert seen["search"][0] == seen["search"][1]
    assert seen["merge"] == (899, 899)


@pytest.mark.parametrize(("method", "n"), [("average", 100_000), ("complete", 30_000)])
def test_interrupt_within_a_second(method, n):
    """The data is large enough that the fit cannot end first; a busy machine gets two seconds more."""
    X = np.random.default_rng(0).standard_normal((n, 64), dtype=np.float32)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    def start(stage, done, total):
        if done == 0 and stage in ("search", "distances"):
            threading.Timer(0.3, press).start()

    with pytest.raises(KeyboardInterrupt):
        HAC(linkage=method).fit(X, progress=start)
    assert time.perf_counter() - pressed[0] < 3.0


@pytest.mark.parametrize(
    "estimator",
    [HAC(linkage="ward", n_clusters=2), HAC(linkage="complete", metric="euclidean"), HAC(linkage="single")],
    ids=lambda hac: hac.linkage,
)
def test_scikit_learn_conventions(estimator, conforms):
    conforms(estimator)
