"""Groups of a tree that has changed: as it was where it can be, and in any case a tree that follows the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cladify
from cladify.taxonomy._steer.reading import levels_of, reading_tree, with_groups
from cladify.taxonomy._update.shape import condensed_like
from cladify.tree import Tree


def binary(n: int, seed: int) -> Tree:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return cladify.fit(X, method="hac", metric="sqeuclidean", linkage="average")


def sets(tree: Tree) -> set[frozenset[int]]:
    return {frozenset(tree.members(v).tolist()) for v in range(tree.n_leaves, tree.n_nodes)}


@given(st.integers(3, 9), st.integers(0, 10**6), st.integers(2, 15))
def test_a_tree_that_has_not_changed_keeps_its_groups(clusters, seed, most):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(clusters), rng.integers(8, 16, size=clusters))
    X = 9 * rng.normal(size=(clusters, 6))[y] + 0.1 * rng.normal(size=(len(y), 6))
    full = cladify.fit(X, method="hac", metric="sqeuclidean", linkage="average")
    old = full.condense(min_size=8, max_children=most)
    found = condensed_like(old, full, np.arange(len(y)), min_size=8, max_children=most)[0]
    assert sets(found) >= {frozenset(np.flatnonzero(y == c).tolist()) for c in range(clusters)}
    assert sets(found) == sets(old)


@given(st.integers(20, 120), st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 15))
def test_groups_of_another_tree_follow_the_rules(n, seed, min_size, most):
    full, other = binary(n, seed), binary(n + 7, seed + 1)
    old = other.condense(min_size=min_size + 1, max_children=most)
    found = condensed_like(old, full, np.arange(n), min_size=min_size, max_children=most)[0]
    found.validate()
    below = np.bincount(found.parent[n:-1] - n, minlength=found.n_nodes - n)
    leaves = np.bincount(found.parent[:n] - n, minlength=found.n_nodes - n)
    assert (below <= most).all() and not (below == 1).any()
    assert (leaves[below > 0] == 0).all()  # every item is in a last group
    assert found.size[n:].min() >= min(0.6 * min_size, n)


def test_a_group_that_is_there_may_become_smaller_than_a_new_one():
    ten, six = [f"{i}" for i in range(10)], [f"{i}" for i in range(10, 16)]
    full = Tree.from_newick(f"(({','.join(ten)}),({','.join(six)}));").binarize(0)
    assert full.condense(min_size=8).n_nodes == 17
    before = Tree.from_newick(f"(({','.join(ten)}),({','.join([*six, '16', '17'])}));")
    kept = condensed_like(before, full, np.arange(16), min_size=8, max_children=15)[0]
    assert {frozenset(range(10)), frozenset(range(10, 16))} <= sets(kept)
    unlike = Tree.from_newick(f"(({','.join(ten[:5] + six[:3])}),({','.join([*ten[5:], *six[3:], '16', '17'])}));")
    assert condensed_like(unlike, full, np.arange(16), min_size=8, max_children=15)[0].n_nodes == 17


@pytest.mark.parametrize("most", [2, 3, 5])
def test_a_group_of_too_many_is_given_a_level(most):
    full = binary(200, 1)
    flat = full.condense(min_size=5, max_children=60)
    found = condensed_like(flat, full, np.arange(200), min_size=5, max_children=most)[0]
    assert np.bincount(found.parent[200:-1] - 200).max() <= most
    assert sets(flat) <= sets(found)


def test_levels_stay_and_new_items_make_a_group_of_their_own():
    rng = np.random.default_rng(3)
    centres = 9 * rng.normal(size=(6, 4))
    y = np.concatenate([np.repeat(np.arange(5), 30), np.repeat(5, 25)])
    X = centres[y] + 0.3 * rng.normal(size=(len(y), 4))
    before = reading_tree(cladify.fit(X[:150], metric="sqeuclidean"), min_size=4)
    assert before.ranks is not None
    full = cladify.fit(X, metric="sqeuclidean")
    came = np.where(np.arange(175) < 150, np.arange(175), -1)
    found, ranks = condensed_like(before.tree, full, came, min_size=4, max_children=15, ranks=before.ranks)
    assert frozenset(range(150, 175)) in sets(found)
    assert found.n_nodes - 175 <= before.tree.n_nodes - 150 + 4
    finest = ranks.max()
    assert ranks[-1] == -1 and (ranks >= -1).all()
    for nodes in levels_of(found, ranks):
        held = np.concatenate([found.members(v) for v in nodes])
        assert sorted(held.tolist()) == list(range(175))
    last = np.setdiff1d(np.arange(len(ranks)), found.parent[175:-1] - 175)
    assert (ranks[last] == finest).all()


@pytest.mark.parametrize("seed", range(20))
def test_where_all_groups_are_nodes_they_are_found_again(seed):
    full = binary(200, seed)
    before = reading_tree(full, min_size=4)
    assert before.ranks is not None
    gathered = with_groups(full, *before)
    found, ranks = condensed_like(
        before.tree, gathered, np.arange(200), min_size=4, max_children=15, ranks=before.ranks
    )
    assert sets(found) == sets(before.tree)
    assert [len(nodes) for nodes in levels_of(found, ranks)] == [len(nodes) for nodes in levels_of(*before)]
