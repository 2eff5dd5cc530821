"""Refinement through feature maps, on matrices, on graphs and with functions: the same moves, with exact gains."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import cladify
from cladify import Tree, objectives, similarity
from cladify._kit.progress import Progress
from cladify.errors import InvalidInput, NotEnoughMemory
from cladify.objectives._objective import get_objective
from cladify.refinement import _search

SIGN = {"dasgupta": 1.0, "mw": 1.0, "ckmm": -1.0}
SOURCES = ["features", "matrix", "graph"]


def random_tree(n, seed):
    return cladify.fit(np.zeros((n, 1)), method="random", random_state=seed)


def path(n):
    inner = np.arange(n, 2 * n - 1)
    return Tree(np.concatenate([[n], inner, inner[1:], [-1]]))


def sample(source, objective, n, rng, density=0.4):
    """Data of a kind, and its metric."""
    if source == "features" or (source, objective) == ("graph", "ckmm"):  # a graph has similarities
        return rng.normal(size=(n, 3)), "sqeuclidean" if objective == "ckmm" else "cosine"
    W = np.triu(rng.random((n, n)), 1)
    if source == "graph":
        W *= rng.random((n, n)) < density
    W = W + W.T
    metric = "precomputed" if objective == "ckmm" and source == "matrix" else "precomputed-similarity"
    return (sp.csr_array(W) if source == "graph" else W), metric


def tree_of(search, n):
    left, right, *_ = search.links()
    parent = np.full(2 * n - 1, -1)
    parent[left] = parent[right] = np.arange(n, 2 * n - 1)
    return Tree.from_parents(parent, n)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("objective", ["dasgupta", "ckmm"])
def test_every_gain_is_the_change_of_the_objective(source, objective):
    """Two passes over 120 random trees, whole and in parts: what the moves claim is what the definition says."""
    value, goal = getattr(objectives, objective), get_objective(objective)
    most = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 40))
        X, metric = sample(source, objective, n, rng)
        weight = rng.integers(1, 4, size=n).astype(float) if seed % 3 == 0 else None
        weights = goal.weights(goal.points(X, metric, weight))
        moves = _search.Moves.of(weights, SIGN[objective], 1, Progress())
        tree = path(n) if seed % 5 == 0 else random_tree(n, seed)
        children = np.argsort(tree.parent[:-1], kind="stable").astype(np.int32)
        search = moves.start(children[0::2].copy(), children[1::2].copy())
        known = SIGN[objective] * value(tree, X, metric, sample_weight=weight)
        for part, first in [(n, n), (n, n)] if seed % 2 else [(6, 6), (6, 4)]:
            count, gained = search.run(part, first, 0.0, np.inf, 1, -1.0, lambda done, total: None)
            known -= gained
            exact = SIGN[objective] * value(tree_of(search, n), X, metric, sample_weight=weight)
            assert known == pytest.approx(exact, rel=1e-10) and search.objective() == pytest.approx(exact, rel=1e-10)
            most = max(most, count)
    assert most > 20


def test_gains_stay_exact_where_many_moves_follow_one_look(grouped):
    """From a random tree and a path hundreds of subtrees, small and large ones, move between two looks at a graph."""
    matrix = cladify.neighbors(grouped[:700], 8, metric="cosine").connect(grouped[:700]).symmetrize().to_scipy()
    goal = get_objective("dasgupta")
    weights = goal.weights(goal.points(matrix, "precomputed-similarity", None))
    found = []
    for tree in (random_tree(700, 0), path(700)):
        children = np.argsort(tree.parent[:-1], kind="stable").astype(np.int32)
        for threads in (1, 3):
            moves = _search.Moves.of(weights, 1.0, threads, Progress())
            search = moves.start(children[0::2].copy(), children[1::2].copy())
            count, gained = search.run(700, 700, 1e-6, np.inf, threads, -1.0, lambda done, total: None)
            exact = objectives.dasgupta(tree_of(search, 700), matrix, "precomputed-similarity")
            before = objectives.dasgupta(tree, matrix, "precomputed-similarity")
            assert count > 700 and before - gained == pytest.approx(exact, rel=1e-9)
            found.append((count, gained))
    assert found[0] == found[1] and found[2] == found[3]


@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    objective=st.sampled_from(sorted(SIGN)),
    source=st.sampled_from(["matrix", "graph"]),
    density=st.floats(0.0, 1.0),
)
def test_never_worse_and_as_good_as_it_says(n, seed, objective, source, density):
    X, metric = sample(source, objective, n, np.random.default_rng(seed), density)
    tree, value = random_tree(n, seed), getattr(objectives, objective)
    better = cladify.refine(tree, X, metric, objective)
    before, after = value(tree, X, metric), value(better, X, metric)
    assert better.n_leaves == n and better.is_monotone
    assert after <= before * (1 + 1e-9) if objective == "dasgupta" else after >= before * (1 - 1e-9)
    assert better.info.get("refine", {"after": after})["after"] == pytest.approx(after, rel=1e-9)


@pytest.mark.parametrize("source", ["matrix", "graph"])
@pytest.mark.parametrize("objective", sorted(SIGN))
def test_reaches_the_optimum_of_few_points(source, objective):
    hits, trials, value = 0, 100, getattr(objectives, objective)
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        X, metric = sample(source, objective, int(rng.integers(4, 10)), rng)
        best = value(objectives.optimal_tree(X, objective, metric), X, metric)
        reached = value(cladify.refine(random_tree(X.shape[0], seed), X, metric, objective), X, metric)
        hits += abs(reached - best) <= 1e-9 * abs(best)
    assert hits >= 0.9 * trials, hits


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(30, 8))[rng.integers(30, size=1200)] + 0.3 * rng.normal(size=(1200, 8))).astype(np.float32)


@pytest.mark.parametrize("steps", [4e9, 1e4])
@pytest.mark.parametrize("source", ["matrix", "graph"])
def test_threads_and_repeats_do_not_change_the_tree(grouped, source, steps, monkeypatch):
    monkeypatch.setattr(_search, "_STEPS", steps)  # few: part by part
    rows = grouped[:500]
    X = similarity.cosine(rows) if source == "matrix" else cladify.neighbors(rows, 10, metric="cosine")
    tree = cladify.fit(rows, method="random-cut", random_state=0)
    trees = [cladify.refine(tree, X, "precomputed-similarity", n_jobs=jobs) for jobs in (1, 2, 2)]
    assert trees[0] == trees[1] == trees[2] != tree


def test_a_path_is_as_good_a_start_on_a_graph(grouped):
    graph = cladify.neighbors(grouped, 10, metric="cosine").connect(grouped)
    cost = [objectives.dasgupta(cladify.refine(t, graph), graph) for t in (path(1200), random_tree(1200, 0))]
    good = objectives.dasgupta(cladify.fit(graph, method="hac"), graph)
    assert max(cost) < good and max(cost) < 1.05 * min(cost)


def test_a_matrix_and_its_vectors_agree(grouped):
    X = grouped[:600]
    tree = random_tree(600, 1)
    for objective, metric in [("mw", "cosine"), ("ckmm", "sqeuclidean")]:
        value = getattr(objectives, objective)
        W = similarity.get_similarity(metric)(X)
        given = "precomputed" if objective == "ckmm" else "precomputed-similarity"
        by = [cladify.refine(tree, W, given, objective), cladify.refine(tree, X, metric, objective)]
        assert value(by[0], X, metric) == pytest.approx(value(by[1], X, metric), rel=1e-3)


def test_heights_say_how_far_the_sides_are(grouped):
    """1 − cos from vectors; from the matrix the same, counted from the most similar two sides."""
    X, tree = grouped[:300], random_tree(300, 1)
    better = cladify.refine(tree, similarity.cosine(X), "precomputed-similarity")
    side = [better.members(c) for c in better.children(better.n_nodes - 1)]
    apart = [1 - similarity.cosine(X[side[0]], X[side[1]]).mean(), cladify.refine(tree, X).height[-1]]
    assert better.height[-1] > better.height[300:].mean() > 0
    assert better.height[-1] == pytest.approx(apart[0], abs=0.05) and apart[1] == pytest.approx(2 * apart[0], rel=0.1)
    graph = cladify.neighbors(X, 10, metric="sqeuclidean").connect(X)
    better = cladify.fit(graph, method="hac", refine=True)
    assert better.info["refine"]["metric"] == "sqeuclidean" and better.info["refine"]["objective"] == "mw"
    assert 0 < better.height[300] < better.height[-1] <= 1


def test_functions_and_metrics_without_features(grouped):
    X = np.maximum(grouped[:200], 0) + 0.1
    tree = random_tree(200, 0)
    X[:, 1:] -= 0.1
    for metric in ("jaccard", lambda A, B: np.minimum(A[:, None], B).sum(2)):
        better = cladify.refine(tree, X, metric, "mw")
        assert objectives.mw(better, X, metric) > objectives.mw(tree, X, metric)
    better = cladify.refine(tree, X, "euclidean", "ckmm")
    assert objectives.ckmm(better, X, "euclidean") > objectives.ckmm(tree, X, "euclidean")


def test_what_does_not_fit_says_what_would(grouped, monkeypatch):
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 10**6)
    with pytest.raises(NotEnoughMemory, match=r"'jaccard' has no feature map.*; pass a graph, cladify.neighbors"):
        cladify.refine(random_tree(1200, 0), grouped, "jaccard")


def test_sparse_rows(grouped, monkeypatch):
    X = sp.csr_array(np.maximum(grouped, 0)[:300] + 0.01)
    tree = random_tree(300, 0)
    same = [cladify.refine(tree, rows) for rows in (X, X.toarray())]
    assert objectives.dasgupta(same[0], X) == pytest.approx(objectives.dasgupta(same[1], X), rel=1e-3)
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 10**3)
    with pytest.raises(NotEnoughMemory, match=r"keeps sparse rows as dense ones.*; reduce them first, or pass a graph"):
        cladify.refine(tree, X)


def test_isolated_points_and_empty_graphs():
    tree = random_tree(12, 0)
    empty = sp.csr_array((12, 12))
    assert cladify.refine(tree, empty, "precomputed-similarity") is tree
    one = sp.csr_array(([1.0, 1.0], ([0, 7], [7, 0])), shape=(12, 12))
    better = cladify.refine(tree, one, "precomputed-similarity")
    assert objectives.dasgupta(better, one, "precomputed-similarity") == 2.0


@pytest.mark.parametrize(
    ("X", "metric", "objective", "message"),
    [
        (np.ones((5, 5)), "precomputed-similarity", "mw", "tree has 6 leaves but X has 5 rows"),
        (-np.ones((6, 6)), "precomputed-similarity", "mw", "must not be negative"),
        (sp.csr_array(-np.ones((6, 6))), "precomputed-similarity", "mw", "must not be negative"),
        (np.ones((6, 4)), "precomputed-similarity", "mw", "needs a square matrix"),
        (np.ones((6, 2)), lambda A, B: A @ B.T - 9, "mw", "must not be negative"),
        (np.ones((6, 6)) - np.eye(6), "precomputed", "mw", "objective 'mw' takes similarities"),
        (np.ones((6, 6)), similarity.precomputed(kind="similarity"), "ckmm", "objective 'ckmm' takes distances"),
    ],
)
def test_bad_input(X, metric, objective, message):
    with pytest.raises(InvalidInput, match=message):
        cladify.refine(random_tree(6, 0), X, metric, objective)


def test_a_neighbour_graph_holds_similarities(grouped):
    graph = cladify.neighbors(grouped[:50], 5, metric="cosine")
    with pytest.raises(InvalidInput, match="'ckmm' takes distances, but the weights of a neighbour graph are simil"):
        cladify.refine(random_tree(50, 0), graph, objective="ckmm")
