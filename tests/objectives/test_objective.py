"""Values of the objectives against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick import seeds
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_array

from cladify import Tree, objectives, similarity
from cladify.errors import InvalidInput

NAMES = ["dasgupta", "mw", "ckmm"]
FEATURES = {"dasgupta": ["cosine", "dot"], "mw": ["cosine", "dot"], "ckmm": ["sqeuclidean"]}


def given_metric(objective):
    """The metric of given values of the objective's kind."""
    return "precomputed" if objective == "ckmm" else "precomputed-similarity"


def forms(objective):
    """Dense or sparse; stored distances are the known ones, and no objective of all pairs."""
    return (np.asarray,) if objective == "ckmm" else (np.asarray, csr_array)


def value(name, *args, **kwargs):
    return getattr(objectives, name)(*args, **kwargs)


def rows(n, rng, d=4):
    return np.abs(rng.normal(size=(n, d))) * (rng.random((n, d)) < 0.7) + np.eye(d)[0]


@pytest.mark.parametrize("batch", seeds(10))
def test_against_the_definitions(batch, random_tree, naive):
    """60 random trees, binary and not, weighted and not: pairs, triples, matrix, graph, features, blocks agree."""
    rng = np.random.default_rng(batch)
    for _ in range(60):
        n = int(rng.integers(2, 10))
        tree = random_tree(n, rng)
        weight = rng.integers(1, 5, size=n).astype(float) if rng.random() < 0.4 else None
        X = rows(n, rng)
        W = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
        W = np.triu(W, 1) + np.triu(W, 1).T
        for name in NAMES:
            reference = naive(tree, W, weight)
            expected = reference.pairs(name)
            assert math.isclose(expected, reference.triples(name), rel_tol=1e-9, abs_tol=1e-9)
            for given_as in forms(name):
                found = value(name, tree, given_as(W), given_metric(name), sample_weight=weight)
                assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
            for metric in FEATURES[name]:
                block = similarity.get_similarity(metric).block(X, X)
                expected = naive(tree, block, weight).pairs(name)
                for given_as in (np.asarray, csr_array):
                    for method in ("features", "pairs"):
                        found = value(name, tree, given_as(X), metric, sample_weight=weight, method=method)
                        assert math.isclose(found, expected, rel_tol=1e-8, abs_tol=1e-8), (name, metric, method)


def _shapes(n, rng, random_tree):
    """A caterpillar of two kinds, a balanced tree, a star, and random ones."""
    path = np.concatenate([[n], np.arange(n, 2 * n - 1), np.arange(n + 1, 2 * n - 1), [-1]])
    yield Tree(path)
    yield Tree(path).relabel(rng.permutation(n))
    yield Tree.from_linkage(linkage(np.arange(n)[:, None] + 1e-3 * rng.random((n, 1)), "complete"))
    yield Tree([n] * n + [-1])
    yield random_tree(n, rng, binary=True)
    yield random_tree(n, rng, binary=False)


@pytest.mark.parametrize("given_as", [np.asarray, csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_large_enough_for_all_code_paths(given_as, dtype, random_tree):
    """3000 leaves: subtrees that are worked out in parallel, ones too small for it, and nodes with many children."""
    rng = np.random.default_rng(0)
    n = 3000
    X = rows(n, rng).astype(dtype)
    W = similarity.sqeuclidean.block(X.astype(np.float64), X.astype(np.float64))
    for tree in _shapes(n, rng, random_tree):
        expected = objectives.ckmm(tree, W, "precomputed")
        one, two = (objectives.ckmm(tree, given_as(X), n_jobs=jobs) for jobs in (1, 2))
        assert one == two
        assert math.isclose(one, expected, rel_tol=1e-9)


def test_sum_of_dasgupta_and_mw_is_constant(random_tree):
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = int(rng.integers(2, 40))
        X = rows(n, rng)
        tree = random_tree(n, rng)
        total = np.triu(similarity.cosine.block(X, X), 1).sum()
        assert math.isclose(objectives.dasgupta(tree, X) + objectives.mw(tree, X), n * total, rel_tol=1e-10)


@given(st.integers(2, 30), st.integers(0, 1000))
def test_every_tree_of_a_unit_clique_costs_the_same(random_tree, n, seed):
    tree = random_tree(n, np.random.default_rng(seed))
    assert math.isclose(objectives.dasgupta(tree, np.ones((n, n)), "precomputed-similarity"), n * (n * n - 1) / 3)


def test_larger_nodes_are_worth_their_random_binarisations(random_tree):
    rng = np.random.default_rng(2)
    X = rows(12, rng)
    tree = random_tree(12, rng, binary=False)
    for name, metric in [("mw", "cosine"), ("ckmm", "sqeuclidean"), ("dasgupta", "cosine")]:
        values = [value(name, tree.binarize(seed), X, metric) for seed in range(800)]
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - value(name, tree, X, metric)) < 4 * error


def test_sample_weight_counts_copies(random_tree):
    """A row of weight m is m equal leaves below one node; for distances their own pairs weigh nothing."""
    rng = np.random.default_rng(3)
    n = 8
    X, tree = rows(n, rng), random_tree(n, rng)
    copies = rng.integers(1, 4, size=n)
    source = np.repeat(np.arange(n), copies)
    first = np.cumsum(copies) - copies
    parent = np.empty(len(source) + tree.n_nodes, dtype=np.int64)
    parent[: len(source)] = len(source) + source
    parent[len(source) :] = np.where(tree.parent < 0, -1, tree.parent + len(source))
    expanded = Tree.from_parents(parent, len(source))
    assert len(first) == n
    found = objectives.ckmm(tree, X, sample_weight=copies)
    assert math.isclose(found, objectives.ckmm(expanded, X[source]), rel_tol=1e-9)


def test_other_metrics_and_functions(random_tree, naive):
    rng = np.random.default_rng(4)
    X, tree = rows(9, rng), random_tree(9, rng)
    for metric in (
        "rbf",
        "laplacian",
        "jaccard",
        similarity.rbf(gamma=2.0),
        lambda A, B: np.minimum(A[:, None], B).sum(2),
    ):
        W = similarity.get_similarity(metric, kind="similarity").block(X, X)
        for name in ("mw", "dasgupta"):
            assert math.isclose(value(name, tree, X, metric), naive(tree, W).pairs(name), rel_tol=1e-9)
    for metric in ("euclidean", lambda A, B: np.abs(A[:, None] - B).sum(2)):
        W = similarity.get_similarity(metric).block(X, X)
        assert math.isclose(objectives.ckmm(tree, X, metric), naive(tree, W).pairs("ckmm"), rel_tol=1e-6)


@pytest.mark.parametrize("metric", ["rbf", "laplacian"])
def test_random_features_come_near(metric, random_tree):
    rng = np.random.default_rng(5)
    X, tree = rows(300, rng).astype(np.float32), random_tree(300, rng)
    exact = objectives.mw(tree, X, metric)
    found = objectives.mw(tree, X, metric, method="features", random_state=0)
    assert found == objectives.mw(tree, X, metric, method="features", random_state=0)
    assert abs(found / exact - 1) < 0.05 and found != exact


def test_blocks_report_progress_and_do_not_depend_on_threads(random_tree):
    rng = np.random.default_rng(6)
    X, tree = rows(3000, rng), random_tree(3000, rng)
    seen = []
    one = objectives.mw(tree, X, "jaccard", n_jobs=1, progress=lambda *step: seen.append(step))
    assert one == objectives.mw(tree, X, "jaccard", n_jobs=2)
    assert seen[0] == ("pairs", 0, seen[0][2]) and seen[-1][1] == seen[-1][2] > 1


def test_one_and_two_leaves():
    assert objectives.mw(Tree([-1]), np.ones((1, 2))) == 0.0
    assert objectives.ckmm(Tree([2, 2, -1]), np.array([[0.0], [3.0]])) == 18.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, X: objectives.mw(t, X[:4]), "tree has 5 leaves but X has 4 rows"),
        (
            lambda t, X: objectives.mw(t, X, "sqeuclidean"),
            "objective 'mw' takes similarities, but metric 'sqeuclidean' gives distances",
        ),
        (
            lambda t, X: objectives.ckmm(t, X, "cosine"),
            "'ckmm' takes distances, .* Use metric='sqeuclidean', or objective 'dasgupta' or 'mw'",
        ),
        (lambda t, X: objectives.dasgupta(t, X - 5.0 * (np.arange(5) == 2)[:, None], "dot"), "must not be negative"),
        (
            lambda t, X: objectives.dasgupta(t, -np.ones((5, 5)), "precomputed-similarity"),
            r"negative, got -1 \(the matrix at \[0, 1\]",
        ),
        (
            lambda t, X: objectives.dasgupta(t, csr_array(-np.ones((5, 5))), "precomputed-similarity"),
            "negative, got -1",
        ),
        (lambda t, X: objectives.mw(t, X, lambda A, B: A @ B.T - 99), "must not be negative"),
        (lambda t, X: objectives.mw(t, np.where(X > 1, np.nan, X)), "X has NaN"),
        (lambda t, X: objectives.mw(t, X, method="fast"), "method 'fast' is not known"),
        (lambda t, X: objectives.mw(t, X, "jaccard", method="features"), "no feature map"),
        (
            lambda t, X: objectives.mw(np.ones((4, 4)), X),
            "tree must be a cladify.Tree, got ndarray; use Tree.from_linkage",
        ),
        (lambda t, X: objectives.mw(t, X, sample_weight=[1, 2]), "sample_weight must have shape"),
    ],
)
def test_bad_input(call, message):
    tree = Tree([5, 5, 6, 6, 7, 7, 8, 8, -1])
    X = rows(5, np.random.default_rng(0)) + 1
    with pytest.raises(InvalidInput, match=message):
        call(tree, X)
