"""The tree for reading that a taxonomy has where no levels were asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from trees import random_tree

import cladify
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._read.levels import labels_of
from cladify.taxonomy._steer.reading import levels_of, reading_levels, reading_tree


@given(st.integers(3, 300), st.integers(0, 10**6), st.integers(2, 8), st.integers(2, 15))
@settings(max_examples=50, deadline=None)
def test_every_level_is_a_refinement_of_the_one_before(n, seed, small, most):
    tree, ranks = reading_tree(random_tree(n, seed), min_size=small, max_children=most)
    tree.validate()
    assert tree.n_leaves == n
    children = np.bincount(tree.parent[:-1], tree.parent[:-1] >= 0, minlength=tree.n_nodes)[n:]
    assert n < 2 or children.min() >= 1
    if ranks is None:
        return
    sizes = tree.size[n:]
    assert (sizes >= min(small, n)).all()
    inner = [int((tree.children(v) >= n).sum()) for v in range(n, tree.n_nodes)]
    assert max(inner) <= most and 1 not in inner
    labels = [labels_of(tree, nodes) for nodes in levels_of(tree, ranks)]
    counts = [len(np.unique(own)) for own in labels]
    assert all(b >= 1.8 * a for a, b in pairwise(counts))
    for coarse, fine in pairwise(labels):
        assert (coarse >= 0).all()
        assert all(len(np.unique(coarse[fine == c])) == 1 for c in np.unique(fine))


@pytest.fixture(scope="module")
def planted() -> tuple[np.ndarray, list[np.ndarray]]:
    """Six groups of five groups of 40 points."""
    rng = np.random.default_rng(2)
    top = 40 * rng.normal(size=(6, 8))
    low = top[:, None] + 6 * rng.normal(size=(6, 5, 8))
    X = (low[:, :, None] + 0.5 * rng.normal(size=(6, 5, 40, 8))).reshape(-1, 8)
    return X, [np.arange(1200) // 200, np.arange(1200) // 40]


def test_planted_levels_are_levels(planted):
    X, truth = planted
    taxonomy = Taxonomy.fit(X, metric="sqeuclidean")
    labels = [labels_of(taxonomy.tree, level.nodes) for level in taxonomy.levels]
    for own in truth:
        assert max(adjusted_rand_score(own, found) for found in labels) > 0.95


def test_a_level_parts_the_large_groups_of_the_one_before(planted):
    taxonomy = Taxonomy.fit(planted[0], metric="sqeuclidean")
    for coarse, fine in pairwise(taxonomy.levels):
        largest = taxonomy.tree.size[list(coarse.nodes)].max()
        assert taxonomy.tree.size[list(fine.nodes)].max() < largest
        assert fine.stability is not None and 0 <= fine.stability <= 1


def test_levels_of_a_tree_are_those_of_its_taxonomy(planted):
    tree = cladify.fit(planted[0], metric="sqeuclidean", random_state=0)
    taxonomy = Taxonomy.fit(planted[0], metric="sqeuclidean", random_state=0)
    alone = reading_levels(tree)
    assert [len(np.unique(labels)) for labels, _ in alone] == [level.n_clusters for level in taxonomy.levels]
    assert [stability for _, stability in alone] == [level.stability for level in taxonomy.levels]
    for (labels, _), level in zip(alone, taxonomy.levels, strict=True):
        assert np.array_equal(labels, labels_of(taxonomy.tree, level.nodes))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_points(n):
    taxonomy = Taxonomy.fit(np.arange(2.0 * n).reshape(n, 2) + 1, metric="sqeuclidean")
    assert taxonomy.n_items == n and len(taxonomy.levels) >= 1


@pytest.mark.parametrize("levels", [[6, 30], [4, 6], [8, 40, 150]])
def test_an_update_keeps_asked_levels(planted, levels):
    """Those that are near each other, and those of smaller groups than would be suggested, too."""
    X, _ = planted
    taxonomy = Taxonomy.fit(X[:1100], metric="sqeuclidean", levels=levels)
    found = [level.n_clusters for level in taxonomy.levels]
    taxonomy.update(X[1100:])
    after = [level.n_clusters for level in taxonomy.levels]
    assert len(after) == len(levels) and np.allclose(after, found, rtol=0.1)


def test_levels_survive_dicts(planted):
    taxonomy = Taxonomy.fit(planted[0][::4], metric="sqeuclidean")
    again = Taxonomy.from_dict(taxonomy.to_dict(nested=False, items=True))
    assert [level.nodes for level in again.levels] == [level.nodes for level in taxonomy.levels]
