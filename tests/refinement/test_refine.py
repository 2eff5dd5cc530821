"""Refinement: never worse, exact, the best published costs, and the true optimum of a few points."""

import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from quick import nightly
from scipy.cluster.hierarchy import linkage

import cladify
from cladify import Tree, objectives
from cladify.errors import InvalidInput

METRIC = {"dasgupta": "cosine", "mw": "cosine", "ckmm": "sqeuclidean"}


def random_tree(n, seed):
    return cladify.fit(np.zeros((n, 1)), method="random", random_state=seed)


@given(n=st.integers(1, 40), seed=st.integers(0, 10**6), objective=st.sampled_from(sorted(METRIC)))
def test_never_worse_and_as_good_as_it_says(n, seed, objective):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[n // 2 :] = X[: n - n // 2]  # duplicates
    tree = random_tree(n, seed)
    value = getattr(objectives, objective)
    better = cladify.refine(tree, X, objective=objective)
    before, after = value(tree, X, METRIC[objective]), value(better, X, METRIC[objective])
    assert better.n_leaves == n and better.is_monotone
    assert after <= before * (1 + 1e-9) if objective == "dasgupta" else after >= before * (1 - 1e-9)
    if "refine" in better.info:
        assert better.info["refine"]["after"] == pytest.approx(after, rel=1e-6)


@pytest.mark.parametrize("objective", sorted(METRIC))
def test_reaches_the_optimum_of_few_points(objective):
    hits, trials = 0, 100
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 10))
        X = rng.normal(size=(n, 3))
        value = getattr(objectives, objective)
        best = value(objectives.optimal_tree(X, objective=objective), X)
        reached = value(cladify.refine(random_tree(n, seed), X, objective=objective), X)
        hits += abs(reached - best) <= 1e-9 * abs(best)
    assert hits >= 0.9 * trials


def table_a(X):
    """The convention of HypHC's table 1: z-scores, then rows of length 1."""
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


STARTS = ["average", "random", nightly("complete"), nightly("ward")]


def start_from(start, X):
    return random_tree(len(X), 0) if start == "random" else Tree.from_linkage(linkage(X, start))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    ("name", "bar"),
    [
        ("zoo", 2.8009e5),
        ("iris", 7.8630e5),
        ("glass", 2.8830e6),
        ("segmentation", 3.3280e9),
        nightly("spambase", 3.118e10),
    ],
)
def test_below_the_best_published_cost_from_every_start(dataset, name, bar, start):
    X = table_a(dataset(name)["X"].astype(np.float64))
    assert 2 * objectives.dasgupta(cladify.refine(start_from(start, X), X), X) <= bar


@pytest.mark.parametrize(("name", "bar"), [("spambase", 3.118e10), nightly("letter", 2.383e12)])
def test_below_the_best_published_cost_of_thousands_of_points(dataset, name, bar):
    X = table_a(dataset(name)["X"].astype(np.float64))
    assert 2 * objectives.dasgupta(cladify.refine(random_tree(len(X), 0), X), X) < bar


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    X = load_digits().data
    return X, {name: cladify.score(random_tree(len(X), 0), X, objective=name) for name in ("mw", "ckmm")}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("objective", "bar"), [("mw", 0.652), ("ckmm", 0.656)])
def test_digits_from_every_start(digits, objective, bar, start):
    X, reference = digits
    better = cladify.refine(start_from(start, X), X, objective=objective)
    random, bound = reference[objective].random, reference[objective].upper_bound
    assert (getattr(objectives, objective)(better, X) - random) / (bound - random) >= bar


def test_threads_and_repeats_do_not_change_the_tree():
    X = np.random.default_rng(0).normal(size=(900, 6)).astype(np.float32)
    tree = random_tree(900, 1)
    trees = [cladify.refine(tree, X, objective="ckmm", n_jobs=jobs) for jobs in (1, 2, 2)]
    assert trees[0] == trees[1] == trees[2]


def test_large_trees_part_by_part(monkeypatch):
    from cladify.refinement import _search

    monkeypatch.setattr(_search, "_STEPS", 1e5)
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 8))[rng.integers(30, size=1500)] + 0.2 * rng.normal(size=(1500, 8))).astype(np.float32)
    tree = random_tree(1500, 0)
    trees = [cladify.refine(tree, X, objective="ckmm", n_jobs=jobs) for jobs in (1, 2)]
    assert trees[0] == trees[1]
    before, after = (cladify.score(t, X, objective="ckmm").normalized for t in (tree, trees[0]))
    assert after > before + 0.2


def test_matrices_graphs_and_weights():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4))
    W = cladify.similarity.cosine(X)
    tree = random_tree(40, 5)
    by_vectors = objectives.dasgupta(cladify.refine(tree, X), X)
    by_matrix = objectives.dasgupta(cladify.refine(tree, W, "precomputed-similarity"), X)
    by_graph = objectives.dasgupta(cladify.refine(tree, sp.csr_array(W), "precomputed-similarity"), X)
    assert by_matrix == pytest.approx(by_vectors, rel=2e-3) and by_graph == pytest.approx(by_vectors, rel=2e-3)
    weight = rng.integers(1, 5, size=40).astype(float)
    better = cladify.refine(tree, X, sample_weight=weight)
    assert objectives.dasgupta(better, X, sample_weight=weight) < objectives.dasgupta(tree, X, sample_weight=weight)


def test_trees_that_are_not_binary():
    X = np.random.default_rng(2).normal(size=(30, 3))
    star = Tree([30] * 30 + [-1])
    better = cladify.refine(star, X, objective="mw")
    assert better.is_binary and objectives.mw(better, X) > objectives.mw(star, X)


def test_progress_is_told_often_and_ends_at_its_total():
    X = np.random.default_rng(2).normal(size=(2500, 16)).astype(np.float32)
    seen = []
    cladify.refine(random_tree(2500, 0), X, progress=lambda *step: seen.append(step))
    steps = [(done, total) for stage, done, total in seen if stage == "refining"]
    assert len(steps) > 3 and steps[0][0] < steps[-1][0] == steps[-1][1]
    assert all(done <= total for done, total in steps) and steps == sorted(steps)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm clock")
@pytest.mark.parametrize("source", ["vectors, by parts", "vectors", "graph"])
def test_ctrl_c_stops_within_a_second(source):
    X = np.random.default_rng(2).normal(size=(26_000 if "parts" in source else 15_000, 32)).astype(np.float32)
    tree = random_tree(len(X), 0)
    if source == "graph":
        X = cladify.neighbors(X[:, :4], 30, metric="cosine", method="exact")

    def stop(*_):
        nonlocal start
        start = time.monotonic()
        raise KeyboardInterrupt

    start, before = 0.0, signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        with pytest.raises(KeyboardInterrupt):
            cladify.refine(tree, X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 1.0


def test_budget_and_refusals():
    X = np.random.default_rng(2).normal(size=(3000, 16)).astype(np.float32)
    tree = random_tree(3000, 0)
    assert cladify.refine(tree, X, budget_seconds=0.05).n_leaves == 3000
    for bad in (0, -1, "soon"):
        with pytest.raises(InvalidInput, match="budget_seconds must be"):
            cladify.refine(tree, X, budget_seconds=bad)
    with pytest.raises(InvalidInput, match="3000 leaves but X has 10 rows"):
        cladify.refine(tree, X[:10])
    with pytest.raises(InvalidInput, match="takes similarities"):
        cladify.refine(tree, X, "sqeuclidean", "mw")
