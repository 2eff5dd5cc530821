"""`cladify.fit`: the choice of a method, refinement, and what it refuses."""

import time

import numpy as np
import pytest
from quick import FEW_STEPS
from scipy.sparse import csr_array

import cladify
from cladify import _choice
from cladify._costs import search
from cladify.errors import InvalidInput
from cladify.methods import METHODS, Machine, Size

X = np.random.default_rng(0).normal(size=(80, 5)).astype(np.float32)


def slow(monkeypatch, method, seconds):
    """Make a method look slow."""
    monkeypatch.setitem(METHODS, method, METHODS[method]._replace(seconds=lambda size, machine: seconds))


def test_auto_is_the_tree_of_the_neighbour_graph(monkeypatch):
    tree = cladify.fit(X)
    assert tree.info["method"] == "graph" and tree.info["auto"].startswith("graph: the neighbours of 80 rows")
    assert tree == cladify.fit(X, method="graph")
    assert tree == cladify.fit(X, budget_seconds=60)
    slow(monkeypatch, "graph", 1e6)
    tree = cladify.fit(X)
    assert tree.info["method"] == "random-cut" and "80 rows would take about 1000000 s" in tree.info["auto"]


def test_auto_is_exact_for_a_handful_of_rows():
    tree = cladify.fit(X[:20])
    assert tree.info["auto"].startswith("hac: 20 rows are few") and tree == cladify.fit(X[:20], method="hac")


def test_one_choice_for_all_callers():
    for data in (X[:30], X, cladify.neighbors(X, 5)):
        method, why = _choice.choose(data)
        tree = cladify.fit(data)
        assert tree.info["method"] == method and tree.info["auto"].partition(":")[0] == why.partition(":")[0] == method
    assert _choice.choose(X, engine="dask")[0] == "scc"


def test_auto_keeps_metrics_without_means_exact_while_the_matrix_fits(monkeypatch):
    assert cladify.fit(X, metric="laplacian").info["method"] == "hac"
    assert "no means of rows" in cladify.fit(np.abs(X), metric="jaccard").info["auto"]
    monkeypatch.setattr(_choice, "available_memory", lambda: 1000)
    assert cladify.fit(X, metric="laplacian").info["method"] == "graph"


@pytest.mark.parametrize(("objective", "metric"), [("ckmm", "sqeuclidean"), ("mw", "cosine"), ("dasgupta", "cosine")])
def test_objective_is_at_least_as_good_as_every_method(objective, metric):
    tree = cladify.fit(X, objective=objective, budget_seconds=30)
    value = cladify.score(tree, X, metric=metric, objective=objective).value
    assert "kept" in tree.info["auto"] and "hac + refine" in tree.info["auto"]
    worse = max if objective != "dasgupta" else min
    for method in ("hac", "bisect", "kmeans", "scc", "random"):
        other = cladify.fit(X, method=method, random_state=0, **({} if method == "random" else {"metric": metric}))
        assert worse(value, cladify.score(other, X, metric=metric, objective=objective).value) == value
    assert tree == cladify.fit(X, objective=objective, budget_seconds=30)


@pytest.mark.parametrize(
    ("metric", "objective"),
    [
        (cladify.similarity.get_similarity("cosine"), "mw"),
        (lambda A, B: np.abs(A[:, None] - B[None]).sum(axis=2), "ckmm"),
    ],
)
def test_a_metric_that_is_no_name_and_no_time(metric, objective):
    """What is left to try then must take the metric as it was given."""
    tree = cladify.fit(X, objective=objective, metric=metric, budget_seconds=1e-6)
    assert tree.n_leaves == len(X)


def test_objective_of_groups_far_apart():
    """Neighbours within the groups do not link them; that is no matter to warn about where all pairs are looked at."""
    rows = np.concatenate([X, X + 1e3]).astype(np.float32)
    tree = cladify.fit(rows, objective="ckmm", budget_seconds=30)
    assert all(f"{method} + refine" in tree.info["auto"] for method in ("hac", "bisect", "scc"))
    assert sorted(tree.size[tree.children(tree.root)]) == [len(X), len(X)]


def test_objective_on_graphs_and_with_weights():
    graph = cladify.neighbors(X, 10, metric="cosine").symmetrize().connect(X)
    tree = cladify.fit(graph, objective="mw", budget_seconds=10)
    assert tree.n_leaves == 80 and "reciprocal + refine" in tree.info["auto"]
    weight = np.arange(1.0, 81.0)
    tree = cladify.fit(X, objective="ckmm", budget_seconds=10, sample_weight=weight)
    assert "kmeans + refine" in tree.info["auto"]


@pytest.mark.parametrize("objective", ["mw", "dasgupta"])
def test_objective_on_a_sparse_matrix_is_that_of_its_graph(objective):
    graph = cladify.neighbors(X, 10, metric="cosine").symmetrize().connect(X)
    tree = cladify.fit(graph.to_scipy(), metric="precomputed-similarity", objective=objective, budget_seconds=10)
    assert np.array_equal(tree.parent, cladify.fit(graph, objective=objective, budget_seconds=10).parent)
    value = getattr(cladify.objectives, objective)(tree, graph)
    assert f"refine {value:.6g}" in tree.info["auto"]
    assert tree.info["refine"]["after"] == pytest.approx(value)
    with pytest.raises(InvalidInput, match="weights of a neighbour graph are similarities"):
        cladify.fit(graph.to_scipy(), metric="precomputed-similarity", objective="ckmm")


@pytest.mark.parametrize("method", ["hac", "scc", "bisect", "sat", "spectral"])
def test_refinement_on_a_sparse_matrix_is_that_of_its_graph(method):
    graph = cladify.neighbors(X, 10, metric="cosine").symmetrize().connect(X)
    tree = cladify.fit(graph.to_scipy(), method=method, metric="precomputed-similarity", refine=True, random_state=0)
    assert tree.info["refine"]["objective"] == "mw"
    assert tree.info["refine"]["after"] == pytest.approx(cladify.objectives.mw(tree, graph))


def test_refinement_of_square_sparse_rows_stays_with_rows():
    """k-means takes no graphs: the rows of its matrix are vectors, square or not."""
    rows = csr_array(np.abs(X[:5]))
    tree = cladify.fit(rows, method="kmeans", refine=True, random_state=0)
    assert tree.info.get("refine", {"objective": "ckmm"})["objective"] == "ckmm"


def test_estimates_of_time_fit_what_was_measured():
    """Within a factor of five, on the safe side for a million rows; on two cores of a modest machine."""
    modest = Machine(flops=1.9e11, steps=3e8)
    for n, d, seconds in ((50_000, 64, 1.9), (100_000, 64, 5.8), (198_000, 100, 7.6), (1_000_000, 128, 23.0)):
        assert seconds / 2 < search(Size(n, d), modest) < 5 * seconds


def test_a_short_budget_ends_in_time():
    rows = np.random.default_rng(0).normal(size=(4000, 16)).astype(np.float32)
    start = time.perf_counter()
    tree = cladify.fit(rows, objective="ckmm", budget_seconds=1.0)
    assert time.perf_counter() - start < 20  # a second, and room for a loaded machine
    assert tree.n_leaves == 4000


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("budget", [1e-9, 0.2])
@pytest.mark.parametrize("metric", ["rbf", "jaccard", "precomputed", "graph"])
def test_objective_tries_only_what_takes_the_metric_and_the_weights(metric, budget, weighted):
    weight = np.linspace(1.0, 2.0, len(X)) if weighted else None
    if metric == "graph":
        with pytest.warns(cladify.errors.CladifyWarning, match="connected components"):
            graph = cladify.neighbors(np.repeat(X[:20], 4, axis=0), 3)
            tree = cladify.fit(graph, objective="mw", budget_seconds=budget, sample_weight=weight)
    else:
        data = np.linalg.norm(X[:, None] - X[None], axis=2) if metric == "precomputed" else np.abs(X)
        objective = "ckmm" if metric == "precomputed" else "mw"
        tree = cladify.fit(data, objective=objective, metric=metric, budget_seconds=budget, sample_weight=weight)
        assert cladify.fit(data, metric=metric, budget_seconds=budget).info["method"] in ("hac", "graph")
    assert tree.n_leaves == 80 and "kept" in tree.info["auto"]


def test_auto_takes_a_graph():
    tree = cladify.fit(cladify.neighbors(X, 5))
    assert tree.n_leaves == 80 and tree.info["auto"] == "graph: the data is a graph of neighbours"


@pytest.mark.parametrize(
    ("metric", "refine", "objective"),
    [("cosine", True, "mw"), ("sqeuclidean", True, "ckmm"), ("cosine", "dasgupta", "dasgupta")],
)
def test_refine_improves_the_objective(metric, refine, objective):
    plain = cladify.fit(X, method="hac", metric=metric)
    better = cladify.fit(X, method="hac", metric=metric, refine=refine)
    assert better.info["refine"]["objective"] == objective and better.info["method"] == "hac"
    before, after = (
        cladify.score(tree, X, metric=metric, objective="mw" if metric == "cosine" else "ckmm")
        for tree in (plain, better)
    )
    assert after.value > before.value


def test_every_method_takes_random_state_and_n_jobs():
    for method in METHODS:
        params = FEW_STEPS.get(method, {})
        assert cladify.fit(X, method=method, random_state=0, n_jobs=1, **params).n_leaves == 80


def test_refusals():
    with pytest.raises(InvalidInput, match=r"method 'hacc' is not known. Did you mean 'hac'"):
        cladify.fit(X, method="hacc")
    with pytest.raises(InvalidInput, match=r"method 'hac' has no parameter 'linkge'. It takes: distance_threshold"):
        cladify.fit(X, method="hac", linkge="ward")
    with pytest.raises(InvalidInput, match="objective 'mv' is not known"):
        cladify.fit(X, refine="mv")
    with pytest.raises(InvalidInput, match="needs method='auto'"):
        cladify.fit(X, method="scc", objective="mw")
    with pytest.raises(InvalidInput, match="objective='mw' refines its trees under that objective, got refine='ckmm'"):
        cladify.fit(X, objective="mw", refine="ckmm")
    with pytest.raises(InvalidInput, match="budget_seconds"):
        cladify.fit(X, budget_seconds=-1)
