"""Trees from and to merges, parents, linkage matrices, networkx and words."""

import re

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from trees import NaiveTree, path_tree, random_tree, trees

from cladify import Tree
from cladify.errors import InvalidInput

# --- merges -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 30), st.integers(0, 2**32), st.booleans())
def test_merges_in_any_order_give_scipys(n, seed, ties):
    tree = random_tree(n, seed, ties=ties)
    Z = tree.to_linkage()
    merged = Tree.from_merges(Z[:, 0].astype(int), Z[:, 1].astype(int), Z[:, 2], n)
    assert merged == tree
    assert (np.diff(merged.height[n:]) >= 0).all()
    order = np.argsort(Z[:, 2], kind="stable")
    assert merged.height[n:].tolist() == Z[order, 2].tolist()


def test_merges_as_scipy_sorts_them():
    X = np.random.default_rng(0).normal(size=(30, 3))
    Z = hierarchy.linkage(X, "average")
    shuffled = Tree.from_parents(Tree.from_linkage(Z).parent, 30, Tree.from_linkage(Z).height)
    assert np.array_equal(shuffled.to_linkage()[:, 2], Z[:, 2])


def test_inverted_merges_keep_their_order():
    tree = Tree.from_merges([0, 2, 3], [1, 4, 5], [3.0, 1.0, 2.0], 4, level=[1, 2, 2], info={"method": "x"})
    assert tree.height.tolist() == [0, 0, 0, 0, 3, 1, 2]
    assert tree.level.tolist() == [0, 0, 0, 0, 1, 2, 2]
    assert not tree.is_monotone
    assert tree.info == {"method": "x"}


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        (([0], [1], [1.0], 3), "shape"),
        (([0, 3], [1, 2], [1.0, np.nan], 3), "rule 6"),
        (([0, 4], [1, 2], [1.0, 2.0], 3), "Merge 1 uses node 4"),
        (([0, 0], [1, 2], [1.0, 2.0], 3), "Node 0 is merged 2 times"),
        (([0, 3], [1, -2], [1.0, 2.0], 3), "uses node -2"),
        (([0.0, 3.0], [1, 2], [1.0, 2.0], 3), "integers"),
        (([], [], [], 0), "n_leaves must be"),
    ],
)
def test_wrong_merges(merges, message):
    with pytest.raises(InvalidInput, match=message):
        Tree.from_merges(*merges)


# --- parents ----------------------------------------------------------------------------------------------------------


def test_superfluous_nodes_vanish():
    # 4 (above 3) and the root 8 have one child, 5 and 7 have no leaves.
    tree = Tree.from_parents([3, 3, 6, 4, 6, 6, 8, 5, -1], 3, height=[0, 0, 0, 1, 2, 9, 3, 9, 7])
    assert NaiveTree(tree).clusters() == {
        (frozenset([0]), 0),
        (frozenset([1]), 0),
        (frozenset([2]), 0),
        (frozenset([0, 1]), 1),
        (frozenset([0, 1, 2]), 3),
    }
    assert Tree.from_parents([1, 2, -1], 1).parent.tolist() == [-1]


@pytest.mark.parametrize(
    ("parent", "n", "message"),
    [
        ([2, 2, 7], 2, r"parent\[2\] is 7"),
        ([2, 0, -1], 2, "which is a leaf"),
        ([-1, -1], 2, "second root"),
        ([3, 3, 4, 4, 3, -1], 3, "cycle"),
        ([2, 2, 2], 2, "cycle"),
        ([2, 2, -1], 4, r"n_leaves must be an int in \[1, 3\]"),
        ([[2, 2, -1]], 2, "one-dimensional"),
    ],
)
def test_parents_that_are_no_tree(parent, n, message):
    with pytest.raises(InvalidInput, match=message):
        Tree.from_parents(parent, n)
    with pytest.raises(InvalidInput, match="one number a node"):
        Tree.from_parents([2, 2, -1], 2, height=[0, 0])


# --- linkage ----------------------------------------------------------------------------------------------------------


@given(trees(max_children=2, monotone=True))
def test_linkage_round_trip(tree):
    Z = tree.to_linkage()
    again = Tree.from_linkage(Z)
    assert again == tree
    assert again.parent.tolist() == tree.parent.tolist()
    if tree.n_leaves > 1:
        assert hierarchy.is_valid_linkage(Z)
        assert hierarchy.leaves_list(Z).tolist() == tree.leaf_order.tolist()


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "centroid", "median", "ward"])
def test_scipys_linkages(method):
    X = np.random.default_rng(1).normal(size=(50, 3))
    Z = hierarchy.linkage(X, method)
    tree = Tree.from_linkage(Z)
    assert np.array_equal(tree.to_linkage()[:, 2:], Z[:, 2:])
    i, j = np.triu_indices(50, 1)
    assert np.array_equal(tree.height[tree.lca(i, j)], hierarchy.cophenet(Z))


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([[0, 1, 1.0]] * 2, "merged 2 times"),
        ([[0, 5, 1.0, 2]], "uses node 5"),
        ([[0, 0.5, 1.0, 2]], "whole numbers"),
        ([[0, 1, np.inf, 2]], "Row 0.*NaN or inf"),
        ([1, 2, 3], "shape"),
        ([["a", "b", "c", "d"]], "dtype"),
    ],
)
def test_wrong_linkages(Z, message):
    with pytest.raises(InvalidInput, match=message):
        Tree.from_linkage(Z)


def test_linkage_needs_a_binary_tree_with_heights_from_0():
    with pytest.raises(InvalidInput, match=r"node 3 has 3 children; use tree.binarize"):
        Tree([3, 3, 3, -1]).to_linkage()
    with pytest.raises(InvalidInput, match="negative"):
        Tree([2, 2, -1], [0, 0, -1.0]).to_linkage()


# --- networkx and words -----------------------------------------------------------------------------------------------


@given(trees())
def test_networkx(tree):
    graph = tree.to_networkx()
    assert graph.number_of_nodes() == tree.n_nodes
    assert networkx.is_arborescence(graph)
    assert {(v, p) for p, v in graph.edges} == {(v, p) for v, p in enumerate(tree.parent.tolist()) if p >= 0}
    assert [graph.nodes[v]["height"] for v in range(tree.n_nodes)] == tree.height.tolist()
    assert [graph.nodes[v]["size"] for v in range(tree.n_nodes)] == tree.size.tolist()
    graph.remove_node(0)
    assert 0 not in graph


def test_describe():
    balanced, path = Tree([4, 4, 5, 5, 6, 6, -1]).describe(), path_tree(100).describe()
    assert (balanced["depth"], balanced["balance"], balanced["is_binary"]) == (2, 1.0, True)
    assert path["depth"] == 99
    assert path["balance"] < 0.2
    assert "mean leaf depth" in str(path)
    assert Tree([2, 2, -1], level=[0, 0, 4], info={"method": "scc"}).describe()["n_rounds"] == 4


def test_summary_tells_the_top():
    tree = Tree.from_newick("((((0:1,1:1):1,2:2):1,3:3):5,((4:1,5:1):2,6:3):5);")
    text = tree.summary([f"item\n{i}" for i in range(7)], n_clusters=2, n_examples=2)
    assert text.splitlines() == [
        "7 leaves, height 8",
        "├─ 4 leaves, height 3: item 2 · item 1 …",
        "└─ 3 leaves, height 3: item 6 · item 5 …",
    ]
    assert tree.summary(n_clusters=1, n_examples=0) == "7 leaves, height 8"
    with pytest.raises(InvalidInput, match="one entry a leaf"):
        tree.summary(["a"])


@given(trees(max_leaves=40), st.integers(1, 50))
def test_summary_ends_in_disjoint_branches(tree, k):
    lines = tree.summary(n_clusters=k, n_examples=1000).splitlines()
    ends = [line.split(": ")[1].split(" · ") for line in lines if ": " in line]
    shown = [leaf for end in ends for leaf in end]
    assert len(shown) == len(set(shown)) <= tree.n_leaves
    assert 1 <= len(ends) <= k


@given(trees(max_leaves=60), st.integers(1, 8))
def test_outlines_account_for_every_leaf(tree, k):
    lines = tree.summary(n_clusters=k, n_examples=0).splitlines()
    depth = [(len(line) - len(line.lstrip("│├└─ "))) // 3 for line in lines]
    text = [line.lstrip("│├└─ ") for line in lines]
    counts = []
    for line in text:
        rest = re.match(r"… and (\d+) smaller branch(?:es)?, (\d+) items?$", line)
        counts.append(int(rest[2]) if rest else int(re.match(r"\d+", line)[0]))
        assert rest is None or int(rest[1]) >= 1
    assert counts[0] == tree.n_leaves
    for i, d in enumerate(depth):
        below = []
        for j in range(i + 1, len(lines)):
            if depth[j] <= d:
                break
            if depth[j] == d + 1:
                below.append(counts[j])
        assert not below or sum(below) == counts[i]


def test_an_outline_names_what_it_leaves_out():
    """Two clusters, and outliers that join above both."""
    X = np.concatenate([np.linspace(0, 1, 40), np.linspace(50, 51, 40), [300.0, 500.0, 900.0]])[:, None]
    tree = Tree.from_linkage(hierarchy.linkage(X, "average"))
    lines = tree.summary(n_clusters=2).splitlines()
    assert lines[-1] == "└─ … and 2 smaller branches, 3 items"


def test_items_are_shown_and_not_obeyed():
    tree = Tree([2, 2, -1])
    text = tree.summary(["\x1b[31mred\x07", "[bold]$x$[/bold]\nnext"], n_clusters=1)
    assert "\x1b" not in text and "\x07" not in text
    assert "[bold]$x$[/bold] next" in text
