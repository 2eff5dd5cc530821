"""Taxonomies that are steered: asked-for levels, named groups, links and known labels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import random_tree

import cladify
from cladify.errors import CladifyWarning, InvalidInput
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._steer.gather import gather
from cladify.taxonomy._steer.shape import level_of, shape
from cladify.tree import Tree


def clusters_of(tree: Tree) -> set[frozenset[int]]:
    return {frozenset(tree.members(v).tolist()) for v in range(tree.n_leaves, tree.n_nodes)}


def level_labels(taxonomy: Taxonomy, number: int) -> np.ndarray:
    return np.asarray(taxonomy.table(taxonomy.levels[number : number + 1], form="arrow").column("label_1"))


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=240)
    return (4 * rng.normal(size=(10, 6)))[y] + rng.normal(size=(240, 6)), y


# --- gather -----------------------------------------------------------------------------------------------------------


@given(st.integers(3, 40), st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_gathered_clusters_are_subtrees_and_the_rest_is_as_it_was(n, seed, k, finer):
    rng = np.random.default_rng(seed)
    tree = random_tree(n, seed)
    coarse = rng.integers(k, size=n)
    fine = coarse * finer + rng.integers(finer, size=n)
    made = gather(tree, [coarse, fine])
    made.validate()
    found = clusters_of(made)
    for labels in (coarse, fine):
        for c in np.unique(labels):
            rows = np.flatnonzero(labels == c)
            assert len(rows) == 1 or frozenset(rows.tolist()) in found
    for c in np.unique(fine):  # within a cluster the tree is that of its leaves
        rows = np.flatnonzero(fine == c)
        if len(rows) > 2:
            assert clusters_of(made.prune(rows)) == clusters_of(tree.prune(rows))
    assert (made.height[made.parent[:-1]] >= made.height[:-1]).all()


def test_gathering_what_is_together_changes_nothing():
    tree = random_tree(30, 3)
    assert gather(tree, [tree.cut(n_clusters=5)]) == tree


# --- shape ------------------------------------------------------------------------------------------------------------


@given(st.integers(20, 120), st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_levels_are_nested_groups_of_two_or_more(n, seed, most):
    tree = random_tree(n, seed)
    counts = [3, 7, 12]
    made = shape(tree, counts, max_children=most)
    made.tree.validate()
    children = np.bincount(made.tree.parent[:-1], minlength=made.tree.n_nodes)[n:]
    assert children.min() >= 2
    for v in range(n, made.tree.n_nodes):
        groups = int((made.tree.children(v) >= n).sum())
        assert groups in (0, len(made.tree.children(v))) and groups <= most
    for coarse, fine in zip(made.levels, made.levels[1:], strict=False):
        assert all(len(np.unique(coarse[fine == c])) == 1 for c in np.unique(fine))
    for labels, k in zip(made.levels, counts, strict=True):
        assert np.bincount(np.unique(labels, return_inverse=True)[1]).min() >= 2
        assert len(np.unique(labels)) <= k


@pytest.mark.parametrize("k", [5, 20])
def test_a_level_is_the_free_cut_where_no_group_is_too_large(blobs, k):
    tree = cladify.fit(blobs[0], "graph")
    free = tree.cut(n_clusters=k, by="spread")
    ours = np.unique(level_of(tree, k, 2, None), return_inverse=True)[1]
    if np.bincount(free).max() <= 5 * len(free) / k:
        table = np.zeros((k, k), int)
        np.add.at(table, (free, ours), 1)
        assert ((table > 0).sum(axis=1) == 1).all()
    assert len(np.unique(ours)) == k


def test_asked_levels_are_those_of_the_taxonomy_and_of_its_file(blobs, tmp_path):
    made = Taxonomy.fit(blobs[0], metric="sqeuclidean", levels=[4, 12, 30])
    assert [level.n_clusters for level in made.levels] == [4, 12, 30]
    made.rename(made.levels[0].nodes[0], "mine")
    made.save(tmp_path / "x.taxonomy")
    loaded = Taxonomy.load(tmp_path / "x.taxonomy")
    assert loaded.levels == made.levels and loaded.table(30, form="arrow").equals(made.table(30, form="arrow"))
    first, second = loaded.levels[0].nodes[:2]
    loaded.merge([first, second])
    assert loaded.levels[0].n_clusters == 3 and 10 <= loaded.levels[1].n_clusters <= 12


def test_a_shape_that_cannot_be_had_is_said(blobs):
    with pytest.warns(CladifyWarning, match=r"in place of 100 groups"):
        made = Taxonomy.fit(blobs[0], metric="sqeuclidean", levels=[4, 100], min_size=20)
    assert made.levels[1].n_clusters <= 12 and made.tree.size[made.levels[1].nodes[0]] >= 20


@pytest.mark.parametrize("levels", [[], [10, 5], [4, 4], "8,40", 8, [0, 3], [5, 241], [2.5]])
def test_bad_levels_are_one_line(blobs, levels):
    with pytest.raises((InvalidInput, TypeError), match="levels"):
        Taxonomy.fit(blobs[0], levels=levels)


# --- seeds and labels -------------------------------------------------------------------------------------------------


def test_named_groups_have_their_seeds_and_mostly_their_kind(blobs):
    X, y = blobs
    seeds = {str(c): np.flatnonzero(y == c)[:3] for c in range(3)}
    made = Taxonomy.fit(X, metric="sqeuclidean", seeds=seeds, levels=[10, 25])
    nodes = {name: v for v, name in made.names.items() if name in seeds}
    assert len(nodes) == 3 and set(nodes.values()) <= set(made.levels[0].nodes)
    for name, v in nodes.items():
        members = made.tree.members(v)
        assert set(seeds[name].tolist()) <= set(members.tolist())
        assert (y[members] == int(name)).mean() > 0.8
    assert [level.n_clusters for level in made.levels] == [10, 25]


def test_one_seed_does_not_rename_the_group_around_it(blobs):
    X, y = blobs
    strays = [int(np.flatnonzero(y == c)[0]) for c in (1, 2)]
    seeds = {"zero": [*np.flatnonzero(y == 0)[:5].tolist(), *strays]}
    made = Taxonomy.fit(X, metric="sqeuclidean", seeds=seeds, levels=[10])
    named = made.tree.members(next(v for v, name in made.names.items() if name == "zero"))
    assert set(strays) <= set(named.tolist())
    assert (y[named] == 0).sum() > 0.8 * (y == 0).sum() and len(named) < 1.4 * (y == 0).sum()


def test_paths_of_names_and_another_taxonomy(blobs):
    X, y = blobs
    known = [f"{'low' if label < 5 else 'high'}/{label}" if i % 4 == 0 else None for i, label in enumerate(y)]
    made = Taxonomy.fit(X, metric="sqeuclidean", seeds=known)
    assert {made.names[v] for v in made.levels[0].nodes} == {"low", "high"}
    at = {name: v for v, name in made.names.items()}
    for label in range(10):
        v = at[str(label)]
        assert made.names[made.path(v)[0]] == ("low" if label < 5 else "high")
    again = Taxonomy.fit(X[:200], metric="sqeuclidean", seeds=made)
    assert {"low", "high"} == {again.names[v] for v in again.levels[0].nodes}


def test_labels_guide_without_groups_of_their_own(blobs):
    X, y = blobs
    rng = np.random.default_rng(1)
    noisy = X + 3.0 * rng.normal(size=X.shape)
    known = rng.random(len(y)) < 0.2
    labels = [int(label) if k else None for label, k in zip(y, known, strict=True)]
    made = [Taxonomy.fit(noisy, metric="sqeuclidean", labels=given) for given in (None, labels)]
    scores = [cladify.metrics.dendrogram_purity(one.full, y) for one in made]
    assert scores[1] > scores[0] + 0.02 and not len(made[1].edits)


def test_seeds_of_texts_are_examples_terms_or_ids():
    fruit = ["ripe apple", "green apple pie", "pear and apple", "sweet pear", "apple juice", "pear cake"]
    steam = ["steam engine", "old engine", "diesel engine", "engine oil", "engine repair", "broken engine"]
    bills = ["invoice wrong", "second invoice", "invoice is late", "pay the invoice", "no invoice", "invoice lost"]
    texts = [*fruit, *steam, *bills]
    seeds = {"Billing": ["invoice"], "Food": ["sweet pear", 0]}
    made = Taxonomy.from_texts(texts, seeds=seeds, levels=[3], min_size=2)
    at = {name: set(made.tree.members(v).tolist()) for v, name in made.names.items()}
    assert at["Billing"] >= {12, 13, 14} and not at["Billing"] & set(range(12))
    assert at["Food"] >= {0, 3} and not at["Food"] & set(range(12, 18))


def test_bad_seeds_and_links_are_one_line(blobs):
    X, _ = blobs

    def refused(match: str, **wishes: object) -> None:
        with pytest.raises((InvalidInput, TypeError), match=match):
            Taxonomy.fit(X, **wishes)

    refused("neither the id of an item nor an item", seeds={"a": [9999]})
    refused("list of examples", seeds={"a": "text"})
    refused("for both 'a' and 'b'", seeds={"a": [1], "b": [1]})
    refused("no examples", seeds={"a": []})
    refused("not both", seeds={"a": [1]}, labels=[1] * 240)
    refused("no row has a label", labels=[None] * 240)
    refused("3 labels for 240", labels=[1, 2, 3])
    refused("not the id of an item", must_link=[(0, "x")])
    refused("with itself", cannot_link=[(3, 3)])
    refused("pairs of ids", must_link=[(1, 2, 3)])
    refused("joins seeds of 'a' and of 'b'", seeds={"a": [1], "b": [2]}, must_link=[(1, 5), (5, 2)])
    refused("method 'hac'", method="hac", must_link=[(0, 1)])


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [None, [8, 20]])
def test_links_are_kept(blobs, levels):
    X, _ = blobs
    rng = np.random.default_rng(5)
    ids = [f"t{i}" for i in range(240)]
    rows = rng.permutation(240)
    must, cannot = rows[:60].reshape(-1, 2), rows[31:131].reshape(-1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = Taxonomy.fit(
            X,
            ids=ids,
            metric="sqeuclidean",
            levels=levels,
            must_link=[(ids[a], ids[b]) for a, b in must],
            cannot_link=[(ids[a], ids[b]) for a, b in cannot],
        )
    lowest = made.tree.parent[:240]
    assert (lowest[must[:, 0]] == lowest[must[:, 1]]).all()
    for number in range(len(made.levels)):
        labels = level_labels(made, number)
        assert (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()
    assert made.info["links"] == {"must_link": 30, "cannot_link": 50, "must_link_broken": 0, "cannot_link_broken": 0}


def test_links_that_contradict_each_other_are_said(blobs):
    with pytest.warns(CladifyWarning, match="1 of 1 pairs of cannot_link"):
        made = Taxonomy.fit(blobs[0], must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    assert made.info["links"]["cannot_link_broken"] == 1
