"""From trees to embeddings and back."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick import repeats, seeds
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from trees import random_tree

import cladify
from cladify.hyperbolic import decode, embed_tree, lca_depth
from cladify.hyperbolic.decode import decode_angles
from cladify.hyperbolic.geometry import on_circle
from cladify.objectives import dasgupta


def clusters(tree):
    """The leaf sets of all inner nodes."""
    return {tuple(tree.members(v)) for v in range(tree.n_leaves, tree.n_nodes)}


def naive_single_linkage(Z):
    """Algorithm 1: pairs sorted by depth, joined where they are in different trees."""
    n = len(Z)
    i, j = np.triu_indices(n, 1)
    depth = lca_depth(Z[i], Z[j])
    part = [frozenset([v]) for v in range(n)]
    found = set()
    for p in np.argsort(-depth, kind="stable"):
        if part[i[p]] != part[j[p]]:
            merged = part[i[p]] | part[j[p]]
            found.add(tuple(sorted(merged)))
            for v in merged:
                part[v] = merged
    return found


def random_binary(seed, low=2, high=18):
    random = np.random.default_rng(seed)
    n = int(random.integers(low, high))
    kind = ["uniform", "path"][seed % 2]
    return cladify.RandomTree(kind=kind, random_state=seed).fit(np.zeros((n, 1))).tree_


def test_lemma_c2_on_random_trees():
    """Spread embeddings: common ancestors of every triplet differ by more than 1, and both decoders give the tree."""
    for seed in repeats(500):
        tree = random_binary(seed)
        Z = embed_tree(tree, spread=1.2)
        n = tree.n_leaves
        assert clusters(decode(Z, method="greedy")) == clusters(tree)
        assert clusters(decode(Z, method="exact")) == clusters(tree)
        i, j, k = np.random.default_rng(seed).integers(n, size=(3, 200))
        keep = (i != j) & (i != k) & (j != k)
        i, j, k = i[keep], j[keep], k[keep]
        if len(i) == 0:
            continue
        depths = np.sort(np.stack([lca_depth(Z[a], Z[b]) for a, b in ((i, j), (i, k), (j, k))]), axis=0)
        assert ((depths[2] - depths[1]) > 1.0).all()


@pytest.mark.parametrize("seed", seeds(30))
def test_any_tree_comes_back_without_a_spread(seed):
    tree = random_binary(seed, 2, 400)
    assert clusters(decode(embed_tree(tree))) == clusters(tree)


def test_a_tree_that_is_not_binary_comes_back_refined():
    tree = random_tree(60, 0, max_children=5)
    assert clusters(tree) <= clusters(decode(embed_tree(tree)))


def test_a_path_of_100_000_leaves():
    tree = cladify.RandomTree(kind="path", random_state=0).fit(np.zeros((100_000, 1))).tree_
    again = decode_angles(np.arctan2(*embed_tree(tree).T[::-1]), 0.999)
    i, j = np.random.default_rng(0).integers(100_000, size=(2, 2000))
    assert (tree.size[tree.lca(i, j)] == again.size[again.lca(i, j)]).mean() > 0.999


def test_a_spread_that_float64_cannot_hold():
    tree = cladify.RandomTree(kind="path", random_state=0).fit(np.zeros((60, 1))).tree_
    with pytest.raises(cladify.CladifyError, match="no room for spread=2 on a tree of depth 59"):
        embed_tree(tree, spread=2.0)
    with pytest.raises(cladify.CladifyError, match="spread must be"):
        embed_tree(tree, spread=-1.0)
    with pytest.raises(cladify.CladifyError, match="radius must be"):
        embed_tree(tree, radius=1.5)


@given(st.integers(2, 30), st.integers(0, 10**6))
def test_exact_decoding_is_algorithm_1(n, seed):
    random = np.random.default_rng(seed)
    Z = on_circle(random.uniform(0, 2 * np.pi, n), np.sqrt(random.random(n)) * 0.99)
    tree = decode(Z)
    assert tree.info["decoding"] == "exact"
    assert clusters(tree) == naive_single_linkage(Z)
    assert tree.is_monotone


@pytest.mark.parametrize("seed", seeds(200, daily=20))
def test_decoding_with_ties_has_every_level_of_algorithm_1(seed):
    """Points of a grid of angles and radii, some of them equal: whatever order equal depths are taken in, what is
    joined above a depth is the same."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 20))
    # On one circle the greedy decoding is the same.
    methods, radii = (("exact", "greedy"), [0.9]) if seed % 2 else (("exact",), [0.5, 0.9])
    Z = on_circle(random.integers(8, size=n) * np.pi / 4, random.choice(radii, size=n))
    i, j = np.triu_indices(n, 1)
    depth = squareform(lca_depth(Z[i], Z[j]))
    values = np.unique(depth.round(6))
    expected = set()
    for low in [-1.0, *(values[:-1] + values[1:]) / 2]:
        part = connected_components(depth > low)[1]
        expected |= {tuple(np.flatnonzero(part == label)) for label in np.unique(part) if (part == label).sum() > 1}
    for method in methods:
        tree = decode(Z, method=method)
        assert tree.is_binary and tree.is_monotone and expected <= clusters(tree)


@given(st.integers(2, 30), st.integers(0, 10**6))
def test_on_a_circle_both_decoders_agree(n, seed):
    random = np.random.default_rng(seed)
    Z = on_circle(random.uniform(0, 2 * np.pi, n), 0.9)
    greedy, exact = decode(Z), decode(Z, method="exact")
    assert greedy.info["decoding"] == "greedy"
    assert clusters(greedy) == clusters(exact)
    np.testing.assert_allclose(np.sort(greedy.height), np.sort(exact.height), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(n):
    Z = on_circle(np.arange(n) * 0.3, 0.9)
    for method in ("exact", "greedy"):
        assert decode(Z, method=method).n_leaves == n


def test_equal_points():
    for method in ("exact", "greedy"):
        tree = decode(np.full((50, 2), 0.3), method=method)
        assert tree.n_leaves == 50 and tree.height.max() == pytest.approx(0.0, abs=1e-6)


def test_a_better_tree_has_a_better_decoding():
    X = np.random.default_rng(0).standard_normal((50, 3))
    tree = cladify.fit(X, "hac", metric="cosine")
    assert dasgupta(decode(embed_tree(tree)), X) == pytest.approx(dasgupta(tree, X))


def test_a_hundred_thousand_angles_are_quick():
    angle = np.random.default_rng(0).uniform(0, 6, 100_000)
    start = time.process_time()
    assert decode_angles(angle, 0.999).n_leaves == 100_000
    assert time.process_time() - start < 3
