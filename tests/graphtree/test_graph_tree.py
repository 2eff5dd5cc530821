"""`GraphTree`: the cost it reaches, scales, graphs that are given, and what it refuses."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from quick import seeds
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify import GraphTree, objectives
from cladify._kit.progress import Progress
from cladify.data.points import as_points
from cladify.errors import InvalidInput
from cladify.graphtree import _scales as scales
from cladify.graphtree import _search as search
from cladify.graphtree._edges import neighbor_edges
from cladify.graphtree._far import tie_together
from cladify.graphtree._heights import typicality
from cladify.graphtree._scales import micro_clusters, put_below
from cladify.graphtree._search import Budget
from cladify.metrics import dendrogram_purity


def planted(n, seed=0, spread=0.4):
    """Rows in 4 groups of 4 clusters each, in 8 dimensions; the group and the cluster of each."""
    rng = np.random.default_rng(seed)
    top = 10 * rng.normal(size=(4, 8))
    centres = (top[:, None] + 3 * rng.normal(size=(4, 4, 8))).reshape(16, 8)
    cluster = rng.integers(16, size=n)
    X = centres[cluster] + spread * rng.normal(size=(n, 8))
    return X.astype(np.float32), cluster // 4, cluster


def random_graph(n, degree, seed):
    rng = np.random.default_rng(seed)
    W = sp.random_array((n, n), density=degree / n, rng=rng, format="csr", dtype=np.float64)
    W = sp.csr_array(sp.triu(W, k=1))
    return (W + W.T).tocsr()


def test_planted_clusters_come_back():
    X, group, cluster = planted(1500)
    tree = GraphTree().fit(X).tree_
    assert tree.is_binary and tree.is_monotone
    assert dendrogram_purity(tree, cluster) > 0.99 and dendrogram_purity(tree, group) > 0.99
    assert adjusted_rand_score(group, tree.cut(n_clusters=4)) > 0.99
    assert np.bincount(tree.cut(n_clusters=30)).max() < 0.15 * len(X)


def test_scale_by_scale_finds_the_same_clusters(monkeypatch):
    X, group, cluster = planted(3000, seed=1)
    monkeypatch.setattr(scales, "LAST", 400)
    model = GraphTree().fit(X)
    assert len(model.tree_.info["scales"]) == 2 and model.tree_.info["scales"][1] <= 400
    assert dendrogram_purity(model.tree_, cluster) > 0.98
    assert adjusted_rand_score(group, model.tree_.cut(n_clusters=4)) > 0.98


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot", "rbf"])
def test_every_metric_on_two_scales(monkeypatch, metric):
    X, _, cluster = planted(800, seed=2)
    monkeypatch.setattr(scales, "LAST", 150)
    tree = GraphTree(metric=metric, n_neighbors=10).fit(X).tree_
    assert tree.n_leaves == 800 and tree.is_binary
    if metric != "dot":
        assert dendrogram_purity(tree, cluster) > 0.9


@pytest.mark.parametrize("seed", seeds(20))
def test_outliers_are_put_back_with_the_cluster_they_went_with(seed):
    rng = np.random.default_rng(seed)
    tree = cladify.fit(rng.normal(size=(int(rng.integers(30, 150)), 3)), "hac")
    size = int(rng.integers(2, 9))
    label = micro_clusters(tree, size)
    m = int(label.max()) + 1
    group = np.unique(rng.integers(0, m // 2, m), return_inverse=True)[1]
    top = cladify.fit(rng.normal(size=(int(group.max()) + 1, 2)), "hac")
    whole = put_below(tree, size, group, top)
    assert whole.is_binary and whole.n_leaves == tree.n_leaves
    for c in range(top.n_leaves):
        members = np.flatnonzero(group[label] == c)
        node = members[0]
        for leaf in members[1:]:
            node = whole.lca(int(node), int(leaf))
        assert whole.size[node] == len(members)


@given(n=st.integers(2, 40), size=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_micro_clusters_are_the_largest_small_subtrees_and_can_be_put_back(n, size, seed):
    tree = cladify.fit(np.arange(n)[:, None], method="random", random_state=seed).binarize(seed)
    label = micro_clusters(tree, size)
    sizes = np.bincount(label)
    assert (sizes > 0).all() and sizes.max() <= size
    for c in range(len(sizes)):
        members = np.flatnonzero(label == c)
        node = max(tree.lca(members[0], m) if m != members[0] else members[0] for m in members)
        assert tree.size[node] == len(members)
        assert node == tree.n_nodes - 1 or tree.size[tree.parent[node]] > size
    top = tree.prune([int(np.flatnonzero(label == c)[0]) for c in range(len(sizes))])
    order = np.argsort([int(np.flatnonzero(label == c)[0]) for c in range(len(sizes))])
    if np.array_equal(order, np.arange(len(sizes))):  # prune keeps the order of the leaves
        assert put_below(tree, size, np.arange(top.n_leaves), cladify.Tree(top.parent)) == cladify.Tree(tree.parent)


def test_small_graph_costs_no_more_than_refinement():
    for seed in range(3):
        W = random_graph(100, 8, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cladify.CladifyWarning)
            start = cladify.fit(W, method="reciprocal", metric="precomputed-similarity")
        cost = objectives.dasgupta(GraphTree(metric="precomputed-similarity").fit(W).tree_, W, "precomputed-similarity")
        single = objectives.dasgupta(cladify.refine(start, W, "precomputed-similarity"), W, "precomputed-similarity")
        assert cost <= 1.01 * single


def test_large_graph_costs_no_more_than_the_search_of_the_whole(monkeypatch):
    X, _, _ = planted(4000, seed=3, spread=2.0)
    graph = cladify.neighbors(X, 10).connect(X).symmetrize()
    single = objectives.dasgupta(cladify.refine(cladify.fit(graph, method="reciprocal"), graph), graph)
    monkeypatch.setattr(scales, "LAST", 500)
    at_once = GraphTree().fit(graph).tree_
    assert objectives.dasgupta(at_once, graph) <= 1.001 * single
    monkeypatch.setattr(search, "_WHOLE", 500)
    parts = GraphTree().fit(graph).tree_
    assert parts != at_once and objectives.dasgupta(parts, graph) <= 1.001 * single


def test_local_scale_of_neighbours():
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    X[0] = 9.0  # an outlier
    graph = cladify.neighbors(X, 7)
    D = graph.to_scipy("distance").toarray().astype(np.float64)
    sigma = np.array([np.sort(row[row > 0])[4] for row in D])
    finer = np.minimum.outer(sigma, sigma)
    A = np.where(D > 0, finer / (finer + D), 0.0)
    assert np.allclose(neighbor_edges(graph, np.ones(60), 1).to_scipy().toarray(), (A + A.T) / 2, atol=1e-5)


def test_duplicates_keep_their_ties_to_the_rest():
    X = np.repeat(np.random.default_rng(0).normal(size=(12, 3)), 30, axis=0)
    tree = GraphTree(n_neighbors=10).fit(X).tree_
    group = np.repeat(np.arange(12), 30)
    assert dendrogram_purity(tree, group) == 1.0
    assert adjusted_rand_score(group, tree.cut(n_clusters=12)) == 1.0
    assert GraphTree().fit(np.ones((50, 2))).tree_.n_leaves == 50


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_rows(n):
    X = np.arange(n, dtype=np.float32)[:, None]
    model = GraphTree().fit(X)
    assert model.tree_.n_leaves == n and model.graph_.n_points == n
    assert model.predict(X).tolist() == model.labels_.tolist()


def test_heights_are_what_is_left_unexplained():
    X, _, _ = planted(300, seed=4)
    model = GraphTree().fit(X)
    tree, weight = model.tree_, typicality(model.graph_)
    for v in (len(tree.parent) - 1, 400, 550):
        rows, own = X[tree.members(v)].astype(np.float64), weight[tree.members(v)]
        mean = np.average(rows, axis=0, weights=own)
        assert tree.height[v] == pytest.approx((own[:, None] * (rows - mean) ** 2).sum(), rel=1e-6)


def test_rows_far_from_their_neighbours_count_for_less():
    X = np.concatenate([np.random.default_rng(0).normal(size=(200, 3)), [[50.0, 0.0, 0.0]]])
    weight = typicality(cladify.neighbors(X, 10))
    assert weight[-1] < 1e-3
    assert 0.7 < weight[:-1].mean() <= 1.0
    assert (typicality(cladify.neighbors(X, 10, "dot")) == 1.0).all()


def hierarchy(seed, noise):
    """Three groups of four groups of five clusters of 20 points, each level three times as wide as the next."""
    rng = np.random.default_rng(seed)
    place = np.zeros((1, 6))
    for wide, count in ((27, 3), (9, 4), (3, 5)):
        step = rng.normal(size=(len(place), count, 6))
        step *= 6**0.5 / np.linalg.norm(step, axis=2, keepdims=True)
        place = (place[:, None] + wide * step).reshape(-1, 6)
    cluster = np.repeat(np.arange(60), 20)
    X = place[cluster] + rng.normal(size=(1200, 6))
    return np.concatenate([X, rng.uniform(X.min(), X.max(), size=(noise, 6))]), cluster


@pytest.mark.parametrize("noise", [0, 30])
def test_clusters_of_clusters_that_share_no_neighbours(noise):
    X, cluster = hierarchy(1, noise)
    tree = GraphTree().fit(X).tree_
    for y, purity in ((cluster // 20, 0.99), (cluster // 5, 0.95), (cluster, 0.95)):
        assert dendrogram_purity(tree.prune(np.arange(1200)), y) > purity
    assert adjusted_rand_score(cluster // 20, tree.cut(n_clusters=3)[:1200]) > 0.99


def test_ties_over_long_distances_connect_the_graph():
    X, _ = hierarchy(2, 0)
    graph = cladify.neighbors(X, 10)
    assert not graph.is_connected
    points = as_points(X, "sqeuclidean")
    edges = neighbor_edges(graph, np.ones(1200), 1)
    tied = tie_together(edges, graph, points.rows, points.similarity, Budget(None, 0, 1, Progress())).to_scipy()
    assert connected_components(tied, directed=False)[0] == 1
    assert (tied != tied.T).nnz == 0
    # Three rounds, among 120, 12 and 11 of them, each with a tenth of the weight of the one before.
    assert tied.sum() == pytest.approx(1.0555 * edges.value.sum(), rel=1e-5)


def test_threads_do_not_change_the_tree(monkeypatch):
    X, _, _ = planted(2500, seed=5, spread=1.5)
    monkeypatch.setattr(scales, "LAST", 400)
    one = GraphTree(n_jobs=1).fit(X).tree_
    many = GraphTree(n_jobs=3).fit(X).tree_
    assert np.array_equal(one.parent, many.parent) and np.array_equal(one.height, many.height)


def test_weights_count_as_copies():
    """Of two groups, the heavy one is split first."""
    X = np.concatenate([np.arange(10.0), 100 + np.arange(10.0)])[:, None]
    weight = np.repeat([1.0, 50.0], 10)
    labels = GraphTree(n_neighbors=4, n_clusters=3).fit(X, sample_weight=weight).labels_
    assert len(set(labels[:10])) == 1 and len(set(labels[10:])) == 2


def test_sparse_rows_and_given_graphs():
    X, _, cluster = planted(400, seed=6)
    rows = sp.csr_array(np.where(np.abs(X) > 1, X, 0))
    assert GraphTree(metric="cosine").fit(rows).tree_.n_leaves == 400
    graph = cladify.neighbors(X, 15)
    model = GraphTree(n_clusters=16).fit(graph)
    assert model.graph_ is graph and model.tree_.info["input"] == "graph"
    assert adjusted_rand_score(cluster, model.labels_) > 0.8
    with pytest.raises(InvalidInput, match="predict needs the vectors"):
        model.predict(X)


def test_budget_and_interruption():
    X, _, _ = planted(3000, seed=7, spread=3.0)
    start = time.monotonic()
    GraphTree(budget_seconds=0.01).fit(X)
    assert time.monotonic() - start < 20
    seen = []

    def stop(stage, done, total):
        seen.append(stage)
        if stage == "refining":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GraphTree().fit(X, progress=stop)
    assert "start" in seen


def test_refusals():
    X = np.ones((5, 2))
    with pytest.raises(InvalidInput, match="n_neighbors must be an int"):
        GraphTree(n_neighbors=0).fit(X)
    with pytest.raises(InvalidInput, match="budget_seconds must be"):
        GraphTree(budget_seconds=0).fit(X)
    with pytest.raises(InvalidInput, match="not negative"):
        GraphTree(metric="precomputed-similarity").fit(sp.csr_array([[0, -1.0], [-1.0, 0]]))
    with pytest.raises(InvalidInput, match="distances are at least 0"):
        GraphTree(metric="precomputed").fit(sp.csr_array([[0, -1.0], [-1.0, 0]]))
    with pytest.raises(InvalidInput, match="0 points"):
        GraphTree(metric="precomputed-similarity").fit(sp.csr_array((0, 0)))


@pytest.mark.parametrize("method", ["graph", "live"])
def test_weights_of_very_different_sizes(method):
    """Most masses are lost beside the largest; heights stay finite, and nothing warns."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(200, 8)).astype(float)
    weight = 10.0 ** rng.uniform(-99, 99, 200)
    tree = cladify.fit(X, method=method, metric="dot" if method == "live" else "sqeuclidean", sample_weight=weight)
    assert np.isfinite(tree.height).all() and tree.is_monotone
