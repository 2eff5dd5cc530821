"""`Tree.levels`: planted hierarchies are found, levels are nested, and they stay when rows leave."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import adjusted_rand_score
from trees import balanced_tree, path_tree, random_tree, trees

import cladify
from cladify.errors import InvalidInput
from cladify.tree._levels import _prominence


def planted(
    branching: tuple[int, int, int],
    ratio: float,
    size: int,
    seed: int,
    *,
    noise: int = 0,
    uneven: float = 0.3,
    d: int = 10,
):
    """Clusters of clusters of clusters of points; each level is ``ratio`` times as wide as the next.

    ``uneven`` is the standard deviation of the logarithm of the sizes of the finest.
    """
    rng = np.random.default_rng(seed)
    place = np.zeros((1, d))
    truth = []
    for level, k in enumerate(branching):
        wide = ratio ** (3 - level)
        step = rng.normal(size=(len(place), k, d))
        step *= np.sqrt(d) / np.linalg.norm(step, axis=2, keepdims=True)
        place = (place[:, None] + wide * step).reshape(-1, d)
        truth.append(np.arange(len(place)))
    sizes = np.maximum(4, (size * np.exp(uneven * rng.normal(size=len(place)))).astype(int))
    fine = np.repeat(truth[2], sizes)
    X = place[fine] + rng.normal(size=(len(fine), d))
    far = rng.uniform(X.min(), X.max(), size=(noise, d))
    coarse = [fine // (branching[1] * branching[2]), fine // branching[2], fine]
    return np.concatenate([X, far]), coarse


CASES = [
    ((4, 4, 4), 4.0, 20, 0, 0),
    ((3, 5, 4), 4.0, 15, 1, 0),
    ((6, 3, 4), 4.0, 20, 2, 20),
    ((5, 5, 5), 5.0, 8, 3, 0),
    ((2, 6, 6), 4.0, 20, 4, 20),
]


@pytest.mark.parametrize("linkage", ["average", "ward"])
@pytest.mark.parametrize(("branching", "ratio", "size", "seed", "noise"), CASES)
def test_planted_levels_are_found(branching, ratio, size, seed, noise, linkage):
    X, truth = planted(branching, ratio, size, seed, noise=noise)
    n = len(truth[0])
    levels = cladify.fit(X, "hac", linkage=linkage).levels()
    assert 3 <= len(levels) <= 6
    for y in truth:
        assert max(adjusted_rand_score(y, level.labels[:n]) for level in levels) > 0.9


@pytest.mark.parametrize(("branching", "seed"), [((4, 4, 4), 0), ((2, 6, 6), 4)])
def test_planted_levels_of_uneven_sizes_are_found_in_the_default_tree(branching, seed):
    """Its heights are sums over the leaves: large clusters must not pass for coarse ones."""
    X, truth = planted(branching, 4.0, 20, seed, uneven=1.0)
    levels = cladify.fit(X, "graph").levels()
    for y in truth:
        assert max(adjusted_rand_score(y, level.labels) for level in levels) > 0.9


def test_levels_stay_when_a_tenth_of_the_rows_leaves():
    X, _ = planted((4, 4, 4), 4.0, 20, 0)
    whole = cladify.fit(X, "hac").levels()
    rng = np.random.default_rng(0)
    for _ in range(3):
        keep = np.sort(rng.permutation(len(X))[: int(0.9 * len(X))])
        some = cladify.fit(X[keep], "hac").levels()
        for level in whole:
            assert max(adjusted_rand_score(level.labels[keep], other.labels) for other in some) > 0.9


def test_levels_from_data_where_heights_say_nothing():
    """A tree whose heights are sizes, as a search on a graph may leave it."""
    X, truth = planted((4, 4, 4), 4.0, 20, 0)
    tree = cladify.fit(X, "hac")
    shape = cladify.Tree(tree.parent, tree.size - 1.0)
    levels = shape.levels(X)
    for y in truth:
        assert max(adjusted_rand_score(y, level.labels) for level in levels) > 0.9
    assert [level.n_clusters for level in levels] == [level.n_clusters for level in shape.levels(X.astype(np.float32))]
    with pytest.raises(InvalidInput, match="leaves but X has"):
        shape.levels(X[:-1])
    with pytest.raises(InvalidInput, match="metric 'jaccard' is not known"):
        shape.levels(X, metric="jaccard")


@given(trees(max_leaves=60))
def test_levels_are_nested_cuts(tree):
    levels = tree.levels()
    assert len(levels) <= 6
    for level in levels:
        assert 0 <= level.stability <= 1
        assert len(level.nodes) == level.n_clusters == level.labels.max() + 1
        for cluster, v in enumerate(level.nodes.tolist()):
            assert (level.labels[tree.members(v)] == cluster).all()
    for coarse, fine in pairwise(levels):
        assert fine.n_clusters > coarse.n_clusters
        assert len(set(zip(fine.labels.tolist(), coarse.labels.tolist(), strict=True))) == fine.n_clusters


def test_prominence_against_scipy():
    from scipy.signal import find_peaks

    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.random(int(rng.integers(2, 30)))
        peaks, found = find_peaks(np.concatenate([[0.0], values, [0.0]]), prominence=0)
        expected = np.zeros(len(values))
        expected[peaks - 1] = found["prominences"]
        assert np.allclose(_prominence(values), expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_leaves_have_few_levels(n):
    assert len(random_tree(n, 0).levels()) <= 1


def test_at_most_as_many_as_asked_for():
    tree = random_tree(300, 1)
    assert len(tree.levels(max_levels=1)) == 1
    assert all(level.min_size >= 4 for level in tree.levels(min_size=4))
    with pytest.raises(InvalidInput, match="max_levels must be an int of at least 1"):
        tree.levels(max_levels=0)
    with pytest.raises(InvalidInput, match="min_size must be an int in"):
        tree.levels(min_size=301)


@pytest.mark.parametrize("make", [path_tree, balanced_tree])
def test_a_million_leaves(make):
    tree = make(1_000_000)
    start = time.process_time()
    levels = tree.levels()
    assert time.process_time() - start < 60  # about 2; sanitizers take many times as long
    assert len(levels) <= 6
