"""Bisect++ and Conquer: its values against other trees, its parts against their definitions, its inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify import HAC, SCC, Affinity, BisectConquer, BisectingKMeans, RandomCut
from cladify.errors import CladifyWarning, InvalidInput
from cladify.objectives import ckmm, mw, random_value
from cladify.similarity import custom, get_similarity, precomputed

METRICS = ["sqeuclidean", "cosine"]


def graph_of(S):
    """The graph of a matrix of similarities."""
    return cladify.NeighborGraph.from_scipy(csr_array(S))


def clustered(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=2.0, size=(9, d))
    return (centres[rng.integers(9, size=n)] + rng.normal(scale=0.7, size=(n, d))).astype(np.float32)


def value(tree, X, metric):
    """The objective that fits the metric; larger is better."""
    return mw(tree, X, metric=metric) if get_similarity(metric).kind == "similarity" else ckmm(tree, X, metric=metric)


# --- values -----------------------------------------------------------------------------------------------------------


@given(st.integers(2, 60), st.integers(1, 4), st.sampled_from(METRICS), st.booleans(), st.integers(0, 1000))
def test_never_below_average_linkage_on_small_sets(n, d, metric, ties, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 4, size=(n, d)).astype(np.float64) if ties else rng.normal(size=(n, d)) + 0.5
    tree = BisectConquer(metric=metric, random_state=seed).fit(X).tree_
    average = HAC(metric=metric).fit(X).tree_
    tree.validate()
    assert tree.is_binary and tree.n_leaves == n
    # Average linkage itself may break its ties in another way.
    floor = value(average, X, metric)
    assert ties or value(tree, X, metric) >= floor - 1e-4 * abs(floor)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("theta", [1, 64])
def test_above_other_scalable_methods(metric, theta):
    X = clustered(n=1500)
    ours = value(BisectConquer(metric=metric, theta=theta, random_state=0).fit(X).tree_, X, metric)
    others = [BisectingKMeans(metric=metric, random_state=0), RandomCut(metric=metric, random_state=0)]
    others += [SCC(metric=metric), Affinity(metric=metric)]
    for other in others:
        assert ours > value(other.fit(X).tree_, X, metric), type(other).__name__


def test_close_to_the_optimum_of_a_few_points():
    rng = np.random.default_rng(1)
    for metric in METRICS:
        reached = []
        for _ in range(30):
            X = rng.normal(size=(8, 3))
            best = cladify.objectives.optimal_tree(X, metric=metric, objective="mw" if metric == "cosine" else "ckmm")
            tree = BisectConquer(metric=metric, random_state=0).fit(X).tree_
            reached.append(value(tree, X, metric) / value(best, X, metric))
        assert np.mean(reached) > 0.98 and min(reached) > 0.9


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "parameters", [{"delta": 0}, {"delta": 0.3}, {"rounding": "random"}, {"delta": 0.2, "rounding": "random"}]
)
def test_fixed_balance_and_random_rounding_beat_random_trees(metric, parameters):
    X = clustered()
    tree = BisectConquer(metric=metric, theta=8, random_state=0, **parameters).fit(X).tree_
    tree.validate()
    objective = "mw" if metric == "cosine" else "ckmm"
    assert value(tree, X, metric) > random_value(X, metric=metric, objective=objective)


def test_thresholds_beat_random_rounding():
    X = clustered(n=1000)
    for metric in METRICS:
        threshold, random = (
            value(BisectConquer(metric=metric, theta=8, delta=0, rounding=r, random_state=0).fit(X).tree_, X, metric)
            for r in ("threshold", "random")
        )
        assert threshold >= random


# --- the parts of the algorithm ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "n"), [(0.0, 100), (0.0, 6001), (0.1, 101), (0.3, 6000), (0.5, 100)])
def test_sides_have_the_sizes_asked_for(delta, n):
    X = clustered(n=n)
    tree = BisectConquer(delta=delta, theta=16, random_state=0).fit(X).tree_
    for v in range(tree.n_nodes - 1, tree.n_nodes - 4, -1):
        m = int(tree.size[v])
        larger = int(tree.size[tree.children(v)].max())
        if m > 64:
            assert larger == min(m - 1, round((0.5 + delta) * m)) or abs(larger - (0.5 + delta) * m) <= 0.5


@pytest.mark.parametrize("metric", METRICS)
def test_theta_above_n_is_average_linkage(metric):
    X = clustered(n=120)
    tree = BisectConquer(metric=metric, delta=0.1, theta=10_000, random_state=0).fit(X).tree_
    expected = HAC(metric=metric).fit(X).tree_
    assert np.allclose(np.sort(tree.height), np.sort(expected.height), rtol=1e-4, atol=1e-5)
    for k in (2, 5, 20, 60):
        assert adjusted_rand_score(tree.cut(n_clusters=k), expected.cut(n_clusters=k)) == 1.0


@pytest.mark.parametrize("metric", [*METRICS, "dot", "euclidean"])
@pytest.mark.parametrize("delta", ["auto", 0.0])
def test_heights_are_mean_distances_across(metric, delta):
    X = clustered(n=150) + 3.0
    similarity = get_similarity(metric)
    W = similarity.block(X.astype(np.float64), X.astype(np.float64))
    heights = (np.diag(W).max() - W) if metric == "dot" else similarity.height(W)
    tree = BisectConquer(metric=metric, delta=delta, theta=4, random_state=0).fit(X).tree_
    for v in range(tree.n_leaves, tree.n_nodes):
        a, b = tree.children(v)
        mean = heights[np.ix_(tree.members(a), tree.members(b))].mean()
        lowest = max(tree.height[a], tree.height[b], 0.0)
        assert tree.height[v] == pytest.approx(max(mean, lowest), rel=1e-3, abs=1e-3 * heights.max())


def test_a_far_group_is_cut_off():
    X = clustered(n=300)
    X[:20] += 1000.0
    tree = BisectConquer(theta=1, random_state=0).fit(X).tree_
    # Its points leave first, alone or together.
    near = min((v for v in range(tree.n_nodes) if tree.size[v] == 280), default=-1)
    assert near >= 0 and tree.members(near).min() >= 20


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_features_matrix_and_graph_agree():
    X = clustered(n=300)
    for metric in METRICS:
        similarity = get_similarity(metric)
        W = similarity.block(X, X)
        W = (W + W.T) / 2
        first = value(BisectConquer(metric=metric, random_state=0).fit(X).tree_, X, metric)
        given = BisectConquer(metric=precomputed(kind=similarity.kind), random_state=0).fit(W).tree_
        assert value(given, X, metric) == pytest.approx(first, rel=0.01)
    np.fill_diagonal(W, 0.0)
    graph = BisectConquer(random_state=0).fit(graph_of(W)).tree_
    assert value(graph, X, "cosine") == pytest.approx(first, rel=0.01)


def test_neighbour_graphs():
    X = np.concatenate([clustered(n=150, seed=1), clustered(n=150, seed=2) + 100.0])
    for metric in ("sqeuclidean", "rbf"):
        graph = cladify.neighbors(X, 10, metric=metric)
        with pytest.warns(CladifyWarning, match="connected components"):
            model = BisectConquer(n_clusters=2, random_state=0).fit(graph)
        model.tree_.validate()
        assert model.tree_.info["weights"] == "graph"
        top = [model.tree_.members(c) for c in model.tree_.children(model.tree_.root)]
        smaller = min(top, key=len)  # no edge runs between the two halves
        assert (smaller < 150).all() or (smaller >= 150).all()
        with pytest.raises(InvalidInput, match="graph"):
            model.predict(X[:2])


@pytest.mark.parametrize("metric", ["rbf", "laplacian", "rbf(0.05)", "euclidean", "jaccard", "dot"])
def test_other_metrics(metric):
    X = clustered(n=200)
    X = (X > 0).astype(np.float32) if metric == "jaccard" else X
    X[:, 0] = 1.0
    tree = BisectConquer(metric=metric, random_state=0).fit(X).tree_
    tree.validate()
    similarity = get_similarity(metric)
    W = similarity.block(X, X).astype(np.float64)
    given = precomputed(kind=similarity.kind)
    objective = "mw" if similarity.kind == "similarity" else "ckmm"
    W = W - min(W.min(), 0.0)
    assert value(tree, W, given) > random_value(W, metric=given, objective=objective)


def test_functions_as_metrics():
    X = clustered(n=100)
    metric = custom(lambda A, B: np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2)), kind="similarity")
    tree = BisectConquer(metric=metric, random_state=0).fit(X).tree_
    assert tree.is_binary and tree.info["weights"] == "matrix"


def test_sparse_rows():
    rng = np.random.default_rng(3)
    X = rng.random((300, 40)) * (rng.random((300, 40)) < 0.2)
    X[:, 0] += 0.1
    for metric in METRICS:
        dense, sparse = (
            value(BisectConquer(metric=metric, random_state=0).fit(A).tree_, X, metric) for A in (X, csr_matrix(X))
        )
        assert sparse == pytest.approx(dense, rel=0.01)


def test_threads_layouts_and_repeats_give_the_same_tree(tmp_path):
    X = clustered(n=6000, d=5)
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=X.shape)
    mapped[:] = X
    for parameters in ({}, {"delta": 0.1}):
        tree = BisectConquer(random_state=5, n_jobs=1, **parameters).fit(X).tree_
        for same in (X, np.asfortranarray(X), mapped):
            assert BisectConquer(random_state=5, n_jobs=2, **parameters).fit(same).tree_ == tree
        assert BisectConquer(random_state=6, n_jobs=2, **parameters).fit(X).tree_ != tree
    graph = cladify.neighbors(X[:5000], 5).connect(X[:5000])
    trees = [BisectConquer(random_state=0, n_jobs=jobs).fit(graph).tree_ for jobs in (1, 2)]
    assert trees[0] == trees[1]


# --- degenerate input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [*METRICS, "rbf", "euclidean"])
@pytest.mark.parametrize("n", [1, 2, 3, 40, 1000])
def test_equal_points(n, metric):
    tree = BisectConquer(metric=metric, theta=1, random_state=0).fit(np.ones((n, 3))).tree_
    assert tree.n_leaves == n and tree.is_binary
    assert np.allclose(tree.height, 0.0, atol=1e-5)
    assert tree.depth <= 60


@pytest.mark.parametrize("theta", [1, None])
@pytest.mark.parametrize("metric", METRICS)
def test_heavy_duplicates_stay_together(metric, theta):
    rng = np.random.default_rng(4)
    points = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
    which = rng.integers(4, size=400)
    tree = BisectConquer(metric=metric, theta=theta, random_state=0).fit(points[which]).tree_
    assert adjusted_rand_score(which, tree.cut(n_clusters=4)) == 1.0


@pytest.mark.parametrize("n", [300, 10_000])
def test_one_far_outlier(n):
    X = clustered(n=n)
    X[123] = 1e6
    tree = BisectConquer(theta=1, random_state=0).fit(X).tree_
    assert 123 in tree.children(tree.root)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": 0.6}, r"delta must be a finite number in \[0.0, 0.5\], got 0.6"),
        ({"delta": -0.1}, r"delta must be a finite number in \[0.0, 0.5\]"),
        ({"delta": "best"}, r"delta must be 'auto' or a number in \[0, 0.5\], got 'best'"),
        ({"theta": 0}, "theta must be an int of at least 1"),
        ({"rounding": "up"}, "rounding 'up' is not known"),
        ({"inside": 2.0}, "inside must be a finite number"),
        ({"metric": "cosin"}, "metric 'cosin' is not known"),
        ({"n_init": 0}, "n_init must be an int"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InvalidInput, match=message):
        BisectConquer(**parameters).fit(clustered(n=10))


def test_bad_rows_and_weights():
    with pytest.raises(InvalidInput, match="X has 1 zero row"):
        BisectConquer(metric="cosine").fit(np.array([[0.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(InvalidInput, match="takes no sample_weight"):
        BisectConquer().fit(clustered(n=3), sample_weight=[1.0, 2.0, 1.0])
    wide = csr_matrix((10**6, 10**7), dtype=np.float32)
    with pytest.raises(InvalidInput, match="TruncatedSVD"):
        BisectConquer().fit(wide)


def test_progress_and_the_command_line(tmp_path):
    seen = []
    X = clustered(n=200)
    BisectConquer(random_state=0).fit(X, progress=lambda *step: seen.append(step))
    assert seen[0] == ("bisect", 0, 200) and seen[-1] == ("bisect", 200, 200)
    from typer.testing import CliRunner

    from cladify.cli import app

    np.save(tmp_path / "X.npy", X)
    out = tmp_path / "X.tree"
    call = ["fit", str(tmp_path / "X.npy"), "--method", "bisect", "--metric", "cosine", "-o", str(out), "--seed", "0"]
    assert CliRunner().invoke(app, call).exit_code == 0
    assert cladify.Tree.load(out) == BisectConquer(metric="cosine", random_state=0).fit(X).tree_


# --- real data --------------------------------------------------------------------------------------------------------


def normalized(tree, X, metric):
    objective = "mw" if metric == "cosine" else "ckmm"
    return cladify.score(tree, X, metric=metric, objective=objective, bound="sampled").normalized


def test_glass_as_published(dataset):
    data = dataset("glass")
    # CKMM: the paper's .98 is above what any tree of this copy of the data is known to reach: refinement from 60 random
    # trees ends at .9709 every time.
    for metric, least in (("cosine", 0.955), ("sqeuclidean", 0.945)):
        tree = BisectConquer(metric=metric, random_state=0).fit(data["X"]).tree_
        assert normalized(tree, data["X"], metric) >= least


def test_spambase_as_published(dataset):
    data = dataset("spambase")
    for metric, published in (("cosine", 0.97), ("sqeuclidean", 0.98)):
        tree = BisectConquer(metric=metric, random_state=0).fit(data["X"]).tree_
        assert normalized(tree, data["X"], metric) >= published


def test_purity_as_published(dataset):
    """Within .01 of the paper's .53 and .75. Its purities are not those of raw features, which its objectives are of:
    average linkage has its .51 on centred columns of Glass, and its .75 on scaled columns of Spambase."""
    for name, scaled, published, linked in (("glass", False, 0.53, 0.51), ("spambase", True, 0.75, 0.75)):
        data = dataset(name)
        X = data["X"].astype(np.float64) - data["X"].mean(axis=0, dtype=np.float64)
        X /= X.std(axis=0) if scaled else 1.0
        purity = [
            cladify.metrics.dendrogram_purity(model.fit(X).tree_, data["y"])
            for model in (HAC(metric="cosine"), BisectConquer(metric="cosine", random_state=0))
        ]
        assert purity[0] == pytest.approx(linked, abs=0.006)
        assert purity[1] >= published - 0.01


@pytest.mark.parametrize(("metric", "average"), [("cosine", 0.599), ("sqeuclidean", 0.615)])
def test_digits_above_average_linkage(metric, average):
    from sklearn.datasets import load_digits

    X = load_digits().data
    trees = [BisectConquer(metric=metric, random_state=seed).fit(X).tree_ for seed in range(5)]
    linked = value(HAC(metric=metric).fit(X).tree_, X, metric)
    values = [value(tree, X, metric) for tree in trees]
    # After another rounding a search may end elsewhere (.008 % below was seen): a seed has .1 % of room, the mean none.
    assert np.mean(values) > linked
    assert min(values) >= (1 - 1e-3) * linked
    assert np.median([normalized(tree, X, metric) for tree in trees]) >= average


@pytest.mark.parametrize("name", ["newsgroups20_minilm", "glove100", "aloi"])
@pytest.mark.parametrize("metric", METRICS)
def test_embeddings_above_other_scalable_methods(dataset, name, metric):
    X = dataset(name)["X"][:: 40 if name != "newsgroups20_minilm" else 8].astype(np.float32)[:1500]
    ours = value(BisectConquer(metric=metric, random_state=0).fit(X).tree_, X, metric)
    for other in (BisectingKMeans, RandomCut, SCC, Affinity):
        model = other(metric=metric)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        assert ours > value(model.fit(X).tree_, X, metric), other.__name__
