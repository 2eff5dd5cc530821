"""Cuts for reading, the nodes of a cut, and condensed trees."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import NaiveTree, balanced_tree, blocks, path_tree, random_tree, trees

import cladify
from cladify import Tree
from cladify.errors import InvalidInput


def naive_spread_cut(tree: Tree, k: int, min_size: int) -> set[frozenset[int]]:
    """Splits of a binary tree from the largest spread down; crumbs go with their heaviest sibling."""
    naive = NaiveTree(tree)
    size = {v: len(members) for v, members in naive.members.items()}
    spread = {v: size[v] * tree._largest_height[v] for v in naive.members}

    def end(v: int) -> int:  # where a node that only loses crumbs splits
        while True:
            big = [c for c in naive.children[v] if size[c] >= min_size]
            if len(big) != 1:
                return v
            v = big[0]

    def splits(v: int) -> list[int]:
        return [c for c in naive.children[end(v)] if size[c] >= min_size]

    clusters = {tree.root: set(naive.members[tree.root])}
    while len(clusters) < k:
        open_ = [v for v in clusters if splits(v)]
        if not open_:
            break
        v = max(open_, key=lambda v: (spread[end(v)], end(v)))
        whole, parts = clusters.pop(v), splits(v)
        heavy = max(parts, key=lambda c: (size[c], -c))
        for c in parts:
            clusters[c] = set(naive.members[c])
        clusters[heavy] |= whole.difference(*(clusters[c] for c in parts))
    return {frozenset(cluster) for cluster in clusters.values()}


@given(trees(max_children=2, monotone=True), st.data())
def test_spread_cut_against_its_definition(tree, data):
    k = data.draw(st.integers(1, tree.n_leaves))
    parts = [int(((tree.size >= s) & (_largest_child(tree) < s)).sum()) for s in range(1, tree.n_leaves + 1)]
    most = max(1, tree.n_leaves // (5 * k))
    min_size = max(s for s in range(1, most + 1) if s == 1 or parts[s - 1] >= k)
    labels, nodes = tree.cut(n_clusters=k, by="spread", return_nodes=True)
    assert blocks(labels) == naive_spread_cut(tree, k, min_size)
    assert len(nodes) == labels.max() + 1 == k


def _largest_child(tree: Tree) -> np.ndarray:
    largest = np.zeros(tree.n_nodes, dtype=np.int64)
    np.maximum.at(largest, tree.parent[:-1], tree.size[:-1])
    return largest


@given(trees(), st.data())
def test_nodes_are_the_highest_inside_their_clusters(tree, data):
    n = tree.n_leaves
    options = data.draw(
        st.fixed_dictionaries({}, optional={"min_size": st.integers(1, n), "n_clusters": st.integers(1, n)})
    )
    if not options:
        options = {"height": data.draw(st.floats(0, 3))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cladify.errors.CladifyWarning)
        labels, nodes = tree.cut(**options, return_nodes=True)
        assert np.array_equal(labels, tree.cut(**options))
    for cluster, v in enumerate(nodes.tolist()):
        assert (labels[tree.members(v)] == cluster).all()
        assert v == tree.root or (labels[tree.members(int(tree.parent[v]))] != cluster).any()
        if "min_size" not in options:
            assert np.array_equal(tree.members(v), np.flatnonzero(labels == cluster))


def test_spread_keeps_outliers_with_their_siblings():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])
    y = np.repeat(np.arange(4), 100)
    X = np.concatenate([centres[y] + rng.normal(size=(400, 2)), rng.uniform(-60, 60, size=(8, 2))])
    tree = cladify.fit(X, "hac")
    assert np.bincount(tree.cut(n_clusters=4)).max() > 390
    labels = tree.cut(n_clusters=4, by="spread")[:400]
    assert ((labels[:, None] == labels) == (y[:, None] == y)).mean() > 0.99


def test_wrong_order_of_splits():
    tree = random_tree(10, 0)
    with pytest.raises(InvalidInput, match='by must be "height" or "spread"'):
        tree.cut(n_clusters=2, by="size")
    with pytest.raises(InvalidInput, match="give n_clusters, and no height"):
        tree.cut(height=1.0, by="spread")
    with pytest.raises(InvalidInput, match="give n_clusters"):
        tree.cut(min_size=2, by="spread")


# --- condensed trees --------------------------------------------------------------------------------------------------


@given(trees(max_leaves=40), st.data())
def test_condensed_trees_keep_leaves_clusters_and_limits(tree, data):
    n = tree.n_leaves
    min_size = data.draw(st.integers(1, min(n, 6)))
    limit = data.draw(st.integers(2, 6))
    condensed = tree.condense(min_size=min_size, max_children=limit)
    info = condensed.info["condense"]
    assert (condensed.n_leaves, info["min_size"], info["max_children"]) == (n, min_size, limit)
    assert len(info["nodes"]) == condensed.n_nodes - n
    assert np.array_equal(condensed.height[n:], tree.height[info["nodes"]])
    naive = NaiveTree(condensed)
    for v, source in enumerate(info["nodes"].tolist(), start=n):
        assert set(tree.members(source)) <= naive.members[v]
        inner = [c for c in naive.children[v] if c >= n]
        if min_size > 1:  # either clusters or leaves, never both
            assert len(inner) in (0, len(naive.children[v]))
            assert len(naive.members[v]) >= min_size
        if tree.is_binary and (inner or min_size == 1):
            assert 2 <= len(naive.children[v]) <= limit
    if tree.is_binary and min_size > 1:
        last = {naive.members[v] for v in range(n, condensed.n_nodes) if max(naive.children[v]) < n}
        assert last == blocks(tree.cut(min_size=min_size))


def test_a_chain_becomes_one_node():
    """Eight clusters that join one after the other are eight children of the root."""
    centres = 100.0 * 1.05 ** np.arange(8)
    X = (np.cumsum(centres)[:, None] + np.linspace(0, 1, 12)).reshape(-1, 1)
    condensed = cladify.fit(X, "hac").condense(min_size=4)
    assert sorted(condensed.size[condensed.children(condensed.root)].tolist()) == [12] * 8


def test_condensed_tree_of_digits_has_ten_branches():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    condensed = cladify.fit(X, "hac", linkage="ward").condense()
    top = condensed.children(condensed.root)
    assert 7 <= len(top) <= 15
    assert np.mean([np.bincount(y[condensed.members(v)]).max() / condensed.size[v] for v in top]) > 0.85


@pytest.mark.parametrize(
    ("half", "quarters", "block", "sizes"),
    [(45.0, (40.0, 39.0, 38.0, 37.0), 31.0, [12] * 8), (25.0, (23.0, 23.0, 22.0, 22.0), 18.0, [48, 24, 24])],
)
def test_half_of_all_is_one_branch_only_where_it_stands_out(half, quarters, block, sizes):
    """Eight blocks in pairs; the widest gap is below the third branch, twice in spread and then nearly four times."""
    n = 96
    pairs = range(n + 8, n + 12)
    parent = [*np.repeat(range(n, n + 8), 12), *np.repeat(pairs, 2), n + 12, n + 12, n + 13, n + 13, n + 14, n + 14, -1]
    height = [*[0.0] * n, *[block] * 8, *quarters, half, 90.0, 100.0]
    tree = Tree(parent, height, info={"heights": "sums"})
    condensed = tree.condense(min_size=4)
    top = condensed.size[condensed.children(condensed.root)]
    assert sorted(top.tolist(), reverse=True) == sizes


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_small_condensed_trees(n):
    condensed = random_tree(n, 0).condense()
    assert condensed.n_leaves == n
    assert condensed.condense() == condensed.condense()


def test_condense_says_what_is_wrong():
    tree = random_tree(10, 0)
    with pytest.raises(InvalidInput, match=r"min_size must be an int in \[1, 10\]"):
        tree.condense(min_size=11)
    with pytest.raises(InvalidInput, match="max_children must be an int of at least 2"):
        tree.condense(max_children=1)


@pytest.mark.parametrize("make", [path_tree, balanced_tree])
def test_a_million_leaves(make):
    tree = make(1_000_000)
    start = time.process_time()
    condensed = tree.condense()
    labels, nodes = tree.cut(n_clusters=30, by="spread", return_nodes=True)
    assert time.process_time() - start < 5
    assert (condensed.n_leaves, len(nodes), labels.max()) == (1_000_000, 30, 29)
    arity = np.diff(condensed.child_start)
    with_clusters = np.bincount(condensed.parent[1_000_000:-1] - 1_000_000, minlength=len(arity)) > 0
    assert not with_clusters.any() or arity[with_clusters].max() <= 15
