"""Scores, their meaning and their looks."""

import json
import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import cladify
from cladify import Tree, score
from cladify.errors import InvalidInput


def linkage_tree(X, method):
    return Tree.from_linkage(linkage(X, method))


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("name", "power", "bounds", "costs"),
    [
        ("zoo", 5, ("3.887", "2.750"), {"single": "2.897", "average": "2.829", "complete": "2.802", "ward": "2.827"}),
        ("glass", 6, ("3.959", "2.750"), {"single": "3.018", "average": "2.906", "complete": "2.939", "ward": "2.920"}),
    ],
)
def test_table_of_dasgupta_costs(dataset, name, power, bounds, costs):
    """Chami and others 2020, table 1: columns z-scored, rows of unit length, linkages on 1 - w, pairs counted twice."""
    X = dataset(name)["X"].astype(np.float64)
    X = unit((X - X.mean(axis=0)) / X.std(axis=0))
    shown = lambda value: f"{2 * value / 10**power:.3f}"  # noqa: E731
    for method, cost in costs.items():
        found = score(linkage_tree(0.5 * pdist(X, "cosine"), method), X, metric="cosine", objective="dasgupta")
        assert shown(found.value) == cost, method
        assert (shown(found.upper_bound), shown(found.lower_bound)) == bounds


def test_table_of_normalized_scores(dataset):
    """Naumov and others 2021, tables 7 and 8: raw features. The tables' complete and single linkage are not SciPy's."""
    X = dataset("spambase")["X"].astype(np.float64)
    expected = [("ckmm", X, "average", "0.99"), ("ckmm", X, "ward", "0.85")]
    expected += [("mw", unit(X), "average", "0.97"), ("mw", unit(X), "ward", "0.77")]
    for objective, rows, method, value in expected:
        found = score(linkage_tree(rows, method), X, objective=objective, bound="sampled")
        assert f"{found.normalized:.2f}" == value, (objective, method)
    X = dataset("glass")["X"].astype(np.float64)
    assert f"{score(linkage_tree(unit(X), 'average'), X, objective='mw').normalized:.2f}" == "0.96"


def example(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(n, 5))) + 3 * np.eye(5)[rng.integers(5, size=n)]
    return linkage_tree(X, "average"), X


def test_the_numbers_fit_together():
    tree, X = example()
    found = {name: score(tree, X, objective=name) for name in ("dasgupta", "mw", "ckmm")}
    for s in found.values():
        assert s.lower_bound <= s.value <= s.upper_bound
        assert math.isclose(s.normalized, (s.value - s.random) / (s.bound - s.random))
        assert 0 < s.ratio <= 1 and 0 < s.normalized <= 1
        assert s.interval == (s.bound, s.bound) and s.normalized_interval == (s.normalized, s.normalized)
        assert s.bound_method == "exact" and s.exact and s.n_leaves == 60
    assert math.isclose(found["mw"].normalized, found["dasgupta"].normalized)
    assert found["mw"].ratio == found["mw"].value / found["mw"].upper_bound
    assert found["dasgupta"].ratio == found["dasgupta"].lower_bound / found["dasgupta"].value
    assert found["ckmm"].metric == "sqeuclidean" and found["mw"].metric == "cosine"


def test_sampled_bounds_show_their_interval():
    tree, X = example(300)
    sampled = score(tree, X, objective="mw", bound="sampled")
    exact = score(tree, X, objective="mw", bound="exact")
    assert sampled.bound_method == "sampled" and sampled.value == exact.value
    assert sampled.interval[0] <= exact.upper_bound <= sampled.interval[1]
    assert sampled.normalized_interval[0] <= exact.normalized <= sampled.normalized_interval[1]
    assert "sampled, 95 % within" in str(sampled) and "(exact)" in str(exact)
    assert sampled == score(tree, X, objective="mw", bound="sampled", n_jobs=1)


def test_printing():
    tree, X = example()
    text = str(score(tree, X, metric="rbf(0.1)", objective="dasgupta"))
    assert text.startswith("dasgupta (rbf(0.1), 60 leaves): ") and "to be minimised" in text and "lower bound" in text
    assert "random features" in str(score(tree, X, "rbf", "mw", method="features"))


def test_to_dict_is_json():
    tree, X = example()
    plain = score(tree, X, objective="mw").to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert {"value", "random", "upper_bound", "ratio", "normalized", "interval"} <= set(plain)
    assert score(Tree([2, 2, -1]), np.ones((2, 2))).to_dict()["normalized"] is None


def test_all_trees_worth_the_same():
    found = score(Tree([4, 4, 5, 5, 6, 6, -1]), np.ones((4, 4)), "precomputed-similarity", "mw")
    assert math.isnan(found.normalized) and found.ratio == 1.0
    assert math.isnan(score(Tree([-1]), np.ones((1, 2))).normalized)


def test_weights_and_graphs():
    tree, X = example(20)
    W = cladify.similarity.cosine(X)
    np.fill_diagonal(W, 0)
    from scipy.sparse import csr_array

    weight = np.arange(1, 21)
    scores = [
        score(tree, data, metric, "mw", sample_weight=weight)
        for data, metric in [(X, "cosine"), (W, "precomputed-similarity"), (csr_array(W), "precomputed-similarity")]
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(
            [other.value, other.random, other.upper_bound, other.normalized],
            [scores[0].value, scores[0].random, scores[0].upper_bound, scores[0].normalized],
            rtol=1e-9,
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, X: score(t, X[:-1]), "tree has 60 leaves but X has 59 rows"),
        (
            lambda t, X: score(t, X, "euclidean"),
            "'dasgupta' takes similarities, but metric 'euclidean' gives distances",
        ),
        (lambda t, X: score(t, X, bound="none"), "bound 'none' is not known"),
        (lambda t, X: score(t, X, objective="dendrogram purity"), "objective 'dendrogram purity' is not known"),
        (lambda t, X: score(t, -X[:, :1] * np.sign(np.arange(60) - 30.5)[:, None], "dot"), "must not be negative"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(*example())
