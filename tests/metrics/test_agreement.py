"""Two trees: triples and cophenetic heights against brute force and SciPy, and intervals that cover."""

import json
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from trees import NaiveTree, balanced_tree, path_tree, random_tree

from cladify import Tree, metrics
from cladify.errors import InvalidInput


@st.composite
def tree_pairs(draw, max_leaves=14):
    n = draw(st.integers(3, max_leaves))
    seed = draw(st.integers(0, 2**32))
    return tuple(random_tree(n, seed + i, max_children=draw(st.integers(2, 5))) for i in range(2))


def naive_shape(naive, i, j, k):
    pairs = {frozenset((i, j)): naive.lca(i, j), frozenset((i, k)): naive.lca(i, k), frozenset((j, k)): naive.lca(j, k)}
    low = min(pairs.values())
    return None if max(pairs.values()) == low else next(pair for pair, v in pairs.items() if v == low)


@given(tree_pairs())
def test_triples_against_brute_force(pair):
    a, b = pair
    naive_a, naive_b = NaiveTree(a), NaiveTree(b)
    same = [
        naive_shape(naive_a, *triple) == naive_shape(naive_b, *triple) for triple in combinations(range(a.n_leaves), 3)
    ]
    found = metrics.triplet_agreement(a, b)
    assert found.exact
    assert found == pytest.approx(np.mean(same), rel=1e-12)
    assert metrics.triplet_agreement(b, a, n_jobs=1) == found
    assert metrics.triplet_agreement(a, a) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_sampled_triples_meet_the_exact_share(seed):
    a, b = random_tree(300, seed, max_children=3), random_tree(300, seed + 10, max_children=4)
    exact = metrics.triplet_agreement(a, b)
    hits = 0
    for trial in range(100):
        found = metrics.triplet_agreement(a, b, n_samples=400, random_state=trial)
        hits += found.interval[0] <= exact <= found.interval[1]
    assert hits >= 88
    assert not metrics.triplet_agreement(a, b, n_samples=10).exact


def test_large_trees_are_sampled_and_say_so():
    a, b = balanced_tree(30_000), path_tree(30_000)
    found = metrics.triplet_agreement(a, b, random_state=0)
    assert (found.exact, found.n_samples) == (False, 1_000_000)
    assert metrics.triplet_agreement(a, a, random_state=0) == 1.0
    correlation = metrics.cophenetic_correlation(a, b, random_state=0)
    assert not correlation.exact
    assert correlation == metrics.cophenetic_correlation(a, b, random_state=0)


@given(tree_pairs())
def test_cophenetic_correlation_against_brute_force(pair):
    a, b = pair
    i, j = np.triu_indices(a.n_leaves, 1)
    x, y = a.height[a.lca(i, j)], b.height[b.lca(i, j)]
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        with pytest.raises(InvalidInput, match="no correlation"):
            metrics.cophenetic_correlation(a, b)
        return
    expected = np.corrcoef(x, y)[0, 1]
    assert metrics.cophenetic_correlation(a, b) == pytest.approx(expected, abs=1e-9)
    assert metrics.cophenetic_correlation(a, y) == pytest.approx(expected, abs=1e-9)


def test_cophenetic_correlation_with_distances_is_scipys():
    X = np.random.default_rng(0).normal(size=(3000, 4))[:700]
    distance = pdist(X)
    Z = hierarchy.linkage(distance, "average")
    expected, _ = hierarchy.cophenet(Z, distance)
    tree = Tree.from_linkage(Z)
    assert metrics.cophenetic_correlation(tree, distance) == pytest.approx(expected, rel=1e-9)
    assert metrics.cophenetic_correlation(tree, squareform(distance)) == pytest.approx(expected, rel=1e-9)
    sampled = metrics.cophenetic_correlation(tree, distance, n_samples=20_000, random_state=1)
    assert sampled == pytest.approx(expected, abs=0.03)


def test_sampled_correlation_covers():
    a, b = random_tree(200, 0), random_tree(200, 1)
    b = Tree(b.parent, b.height).prune(np.arange(200))
    exact = metrics.cophenetic_correlation(a, b)
    hits = 0
    for trial in range(100):
        low, high = metrics.cophenetic_correlation(a, b, n_samples=400, random_state=trial).interval
        hits += low <= exact <= high
    assert hits >= 85


def test_wrong_pairs_of_trees():
    a, b = random_tree(5, 0), random_tree(6, 0)
    for metric in (metrics.triplet_agreement, metrics.cophenetic_correlation):
        with pytest.raises(InvalidInput, match="same leaves, got 5 and 6"):
            metric(a, b)
        with pytest.raises(InvalidInput, match="at least 3"):
            metric(random_tree(2, 0), random_tree(2, 0))
    with pytest.raises(InvalidInput, match="must be a Tree"):
        metrics.triplet_agreement(a, a.parent)
    with pytest.raises(InvalidInput, match=r"shape \(10,\) for 5 leaves"):
        metrics.cophenetic_correlation(a, np.ones(7))
    with pytest.raises(InvalidInput, match="NaN"):
        metrics.cophenetic_correlation(a, np.full(10, np.nan))
    with pytest.raises(InvalidInput, match="Tree or distances"):
        metrics.cophenetic_correlation(a, "tree")


def test_estimates_are_floats_that_travel():
    value = metrics.Estimate(0.25, (0.2, 0.3), 10)
    again = pickle.loads(pickle.dumps(value))
    assert (again, again.interval, again.n_samples, again.exact) == (0.25, (0.2, 0.3), 10, False)
    assert json.dumps(value) == "0.25"
    assert f"{value:.1%}" == "25.0%"
    f1 = pickle.loads(pickle.dumps(metrics.pairwise_f1([0, 0, 1], [0, 0, 0])))
    assert (f1.precision, f1.recall) == (1.0, 1 / 3)
    assert str(value) == "0.25"
