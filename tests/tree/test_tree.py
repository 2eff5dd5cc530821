"""Tree: the arrays, questions about them, cuts, and trees made from trees; against a naive reference and SciPy."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from trees import NaiveTree, blocks, random_tree, trees

from cladify import CladifyWarning, Tree
from cladify.errors import InvalidInput, InvalidTree

FOUR = [4, 4, 5, 5, 6, 6, -1]


def relabelled(sets, new):
    return {frozenset(int(new[i]) for i in members) for members in sets}


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parent", "rule"),
    [
        ([], 1),
        ([[1, -1]], 1),
        ([0.5, -1.0], 1),
        ([2, 2, 0], 2),
        ([-1, 2, -1], 2),
        ([2, 9, -1], 2),
        ([3, 3, 1, -1], 3),
        ([2, 2, 4, 4, -1], 4),
        ([3, 3, 3, 4, -1], 5),
    ],
)
def test_broken_rule_is_named(parent, rule):
    with pytest.raises(InvalidTree, match=f"rule {rule} "):
        Tree(parent)


@pytest.mark.parametrize(
    ("height", "where"),
    [([0, 0, 1.0, 2.0], "4 heights"), ([0, 0, 0, np.nan, 1], r"height\[3\]"), ([0, 1, 0, 1, 2], "node 1 is a leaf")],
)
def test_wrong_heights(height, where):
    with pytest.raises(InvalidTree, match=f"rule 6.*{where}"):
        Tree([3, 3, 4, 4, -1], height)


@pytest.mark.parametrize("level", [[0, 0, 0, 2, 1], [1, 0, 0, 1, 2], [0, 0, 0, 1], [0.0, 0, 0, 1, 1]])
def test_wrong_levels(level):
    with pytest.raises(InvalidTree, match="rule 7"):
        Tree([3, 3, 4, 4, -1], level=level)


def test_one_leaf():
    tree = Tree([-1])
    assert (tree.n_leaves, tree.depth, tree.is_binary, tree.is_monotone, tree.lca(0, 0)) == (1, 0, True, True, 0)
    assert tree.cut(n_clusters=1).tolist() == tree.cut(height=0).tolist() == tree.cut(min_size=1).tolist() == [0]
    assert tree.to_linkage().shape == (0, 4)
    for other in (Tree.from_linkage(tree.to_linkage()), Tree.from_newick(tree.to_newick()), tree.prune([0])):
        assert other == tree
    assert tree.subtree(0) == tree.binarize() == tree.relabel([0]) == tree
    assert tree.to_newick() == "0;"
    assert "1 leaf" in tree.summary(["only"])
    assert tree.describe()["n_leaves"] == 1


def test_immutable():
    parent = np.array(FOUR)
    tree = Tree(parent)
    parent[0] = 5
    assert tree.parent.tolist() == FOUR
    for array in (tree.parent, tree.height, tree.size, tree.first, tree.last, tree.leaf_order, tree.children(6)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        tree.parent = parent


# --- questions --------------------------------------------------------------------------------------------------------


@given(trees())
def test_nodes_against_naive(tree):
    naive = NaiveTree(tree)
    assert tree.n_leaves == naive.n
    for v in range(tree.n_nodes):
        assert tree.children(v).tolist() == naive.children[v]
        assert tree.members(v).tolist() == sorted(naive.members[v])
        assert tree.ancestors(v).tolist() == naive.ancestors(v)
        assert tree.size[v] == len(naive.members[v])
        assert set(tree.leaf_order[tree.first[v] : tree.last[v]].tolist()) == naive.members[v]
        assert tree.node_depth[v] == len(naive.ancestors(v))
    assert tree.depth == max(len(naive.ancestors(v)) for v in range(naive.n))
    assert tree.is_binary == all(len(c) in (0, 2) for c in naive.children.values())
    assert tree.is_monotone == all(naive.height[p] >= naive.height[v] for v, p in enumerate(naive.parent) if p >= 0)
    assert sorted(tree.leaf_order.tolist()) == list(range(naive.n))


@given(trees(max_leaves=60), st.integers(0, 2**32))
def test_lca_against_naive(tree, seed):
    naive = NaiveTree(tree)
    u, v = np.random.default_rng(seed).integers(0, tree.n_nodes, (2, 40))
    assert tree.lca(u, v).tolist() == [naive.lca(a, b) for a, b in zip(u.tolist(), v.tolist(), strict=True)]


def test_lca_over_many_blocks():
    tree = random_tree(700, 3)
    naive = NaiveTree(tree)
    every = np.arange(0, 700, 7)
    found = tree.lca(every[:, None], every[None, :])
    assert found.shape == (100, 100)
    assert found.tolist() == [[naive.lca(a, b) for b in every.tolist()] for a in every.tolist()]


def test_lca_of_scalars_and_wrong_nodes():
    tree = Tree(FOUR)
    assert tree.lca(0, 3) == 6
    assert isinstance(tree.lca(0, 3), int)
    assert tree.lca([], []).shape == (0,)
    with pytest.raises(InvalidInput, match=r"\[0, 6\].*got 7"):
        tree.lca([0, 1], 7)
    with pytest.raises(InvalidInput, match="integers"):
        tree.lca(0.5, 1)
    with pytest.raises(InvalidInput, match="broadcast"):
        tree.lca([0, 1], [0, 1, 2])
    with pytest.raises(InvalidInput, match="node must be an int"):
        tree.members(7)


def test_default_height_is_the_longest_way_down():
    assert Tree([4, 4, 4, 5, 5, -1]).height.tolist() == [0, 0, 0, 0, 1, 2]


# --- cuts -------------------------------------------------------------------------------------------------------------


@given(trees(max_children=2), st.data())
def test_binary_trees_cut_into_exactly_k(tree, data):
    k = data.draw(st.integers(1, tree.n_leaves))
    labels = tree.cut(n_clusters=k)
    naive = NaiveTree(tree)
    assert labels.dtype == np.int64
    assert len(np.unique(labels)) == k
    assert blocks(labels) <= set(naive.members.values())
    # Highest first: no cluster that was kept whole has a larger height in it than one that was split.
    kept = {v for v in naive.members if naive.members[v] in blocks(labels)}
    split = {a for v in kept for a in naive.ancestors(v)}
    if split:
        assert max((naive.largest_height(v) for v in kept), default=-np.inf) <= min(map(naive.largest_height, split))


def possible_counts(naive, v, may_stay):
    """Every number of clusters that a cut below node v can have; ``may_stay(v)`` says whether v may stay whole."""
    if not naive.children[v]:
        return {1}
    counts = {0}
    for c in naive.children[v]:
        counts = {a + b for a in counts for b in possible_counts(naive, c, may_stay)}
    return counts | ({1} if may_stay(v) else set())


@given(trees(max_leaves=30, max_children=8), st.data())
def test_any_tree_cut_into_the_closest_number(tree, data):
    k = data.draw(st.integers(1, tree.n_leaves))
    naive = NaiveTree(tree)
    closest = max(count for count in possible_counts(naive, tree.root, lambda v: True) if count <= k)
    if closest < k:
        with pytest.warns(CladifyWarning, match=f"{closest} clusters, not {k}"):
            labels = tree.cut(n_clusters=k)
    else:
        labels = tree.cut(n_clusters=k)
    assert len(np.unique(labels)) == closest
    assert blocks(labels) <= set(naive.members.values())


@given(trees(max_leaves=20, max_children=6), st.data())
def test_the_closest_number_with_a_largest_size(tree, data):
    k, s = data.draw(st.integers(1, tree.n_leaves)), data.draw(st.integers(1, tree.n_leaves))
    naive = NaiveTree(tree)
    counts = possible_counts(naive, tree.root, lambda v: len(naive.members[v]) <= s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)
        labels = tree.cut(n_clusters=k, max_size=s)
    fitting = [count for count in counts if count <= k]
    assert len(np.unique(labels)) == (max(fitting) if fitting else min(counts))


def test_no_cut_into_k_says_so():
    with pytest.warns(CladifyWarning, match="1 clusters, not 3"):
        assert Tree([4, 4, 4, 4, -1]).cut(n_clusters=3).tolist() == [0, 0, 0, 0]
    # Of nodes with 3 and 4 children, only the lower one leads to 5.
    tree = Tree([7, 7, 7, 8, 8, 8, 8, 9, 9, -1], [0, 0, 0, 0, 0, 0, 0, 6, 5, 9])
    assert tree.cut(n_clusters=5).tolist() == [0, 0, 0, 1, 2, 3, 4]
    # A split that goes too far is left out, and a lower one that fits is made.
    tree = Tree([6, 6, 6, 6, 7, 7, 8, 8, -1], [0, 0, 0, 0, 0, 0, 5, 4, 9])
    assert tree.cut(n_clusters=3).tolist() == [0, 0, 0, 0, 1, 2]


@given(trees(), st.data())
def test_cut_by_height_against_naive(tree, data):
    h = data.draw(st.sampled_from([-1.0, 0.0, np.inf, *tree.height.tolist(), *(tree.height * 0.9).tolist()]))
    labels = tree.cut(height=h)
    assert blocks(labels) == NaiveTree(tree).cut_by_height(h)
    _, first = np.unique(labels, return_index=True)
    assert (np.diff(first) > 0).all()  # numbered by smallest leaf


@pytest.mark.parametrize("method", ["single", "average", "centroid", "median"])
@pytest.mark.parametrize("seed", range(5))
def test_cuts_agree_with_scipy(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) if seed else rng.integers(0, 4, size=(40, 2)).astype(float)
    Z = hierarchy.linkage(X, method)
    tree = Tree.from_linkage(Z)
    for k in range(1, 41):
        flat = hierarchy.fcluster(Z, k, "maxclust")
        if len(np.unique(flat)) == k:
            assert blocks(tree.cut(n_clusters=k)) == blocks(flat)
    for h in (*Z[:, 2], 0.0, Z[:, 2].mean()):
        assert blocks(tree.cut(height=h)) == blocks(hierarchy.fcluster(Z, h, "distance"))


@given(trees(), st.data())
def test_sizes_are_kept(tree, data):
    s = data.draw(st.integers(1, tree.n_leaves))
    naive = NaiveTree(tree)
    small = tree.cut(min_size=s)
    assert np.bincount(small).min() >= s
    # As fine as possible: a cluster has no node inside that splits into two parts of s leaves or more.
    for members in blocks(small):
        for v, below in naive.members.items():
            if below <= members:
                assert sum(len(naive.members[c]) >= s for c in naive.children[v]) < 2
    large = tree.cut(max_size=s)
    assert np.bincount(large).max() <= s
    fits = {v for v in naive.members if len(naive.members[v]) <= s}
    assert blocks(large) == {naive.members[v] for v in fits if naive.parent[v] not in fits}


@given(trees(max_children=3), st.data())
def test_sizes_combine(tree, data):
    n = tree.n_leaves
    s, k = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)
        both = tree.cut(n_clusters=k, min_size=s)
        assert np.bincount(both).min() >= s
        assert len(np.unique(both)) <= k
        finest = tree.cut(min_size=s)
        assert all(any(small <= large for large in blocks(both)) for small in blocks(finest))
        at_most = tree.cut(n_clusters=k, max_size=s)
        assert np.bincount(at_most).max() <= s
        by_height = tree.cut(height=float(tree.height[-1]) / 2, max_size=s)
        assert np.bincount(by_height).max() <= s
        window = tree.cut(min_size=s, max_size=min(n, 2 * s))
        assert np.bincount(window).min() >= s


def test_outliers_do_not_stop_a_cut():
    # Two groups of three, and two outliers that join at the top.
    tree = Tree.from_newick("((((0,1),2),((3,4),5)),(6,7));")
    assert tree.cut(min_size=3).tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    assert tree.cut(n_clusters=2, min_size=3).tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    with pytest.warns(CladifyWarning, match="2 clusters, not 3: no split is left with min_size=3"):
        tree.cut(n_clusters=3, min_size=3)


def test_sizes_that_cannot_hold_say_so():
    tree = Tree.from_newick("((0,1),(2,3));")
    with pytest.warns(CladifyWarning, match="more than max_size=3"):
        assert tree.cut(min_size=3, max_size=3).tolist() == [0, 0, 0, 0]
    with pytest.warns(CladifyWarning, match="4 clusters, not 2: max_size asks for more"):
        tree.cut(n_clusters=2, max_size=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "Say where to cut"),
        ({"n_clusters": 0}, r"n_clusters must be an int in \[1, 4\] for 4 leaves, got 0"),
        ({"n_clusters": 5}, "got 5"),
        ({"n_clusters": 2.5}, "got 2.5"),
        ({"n_clusters": 2, "height": 1.0}, "not both"),
        ({"height": np.nan}, "height must be a finite number"),
        ({"min_size": 5}, "min_size must be an int"),
        ({"max_size": 0}, "max_size must be an int"),
        ({"min_size": 3, "max_size": 2}, "must not be above"),
    ],
)
def test_wrong_cuts(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        Tree(FOUR).cut(**wrong)


def test_rounds_come_back_as_partitions():
    tree = Tree([5, 5, 5, 6, 6, 7, 7, -1], level=[0, 0, 0, 0, 0, 1, 1, 3])
    assert tree.partition(0).tolist() == [0, 1, 2, 3, 4]
    assert tree.partition(1).tolist() == tree.partition(2).tolist() == [0, 0, 0, 1, 1]
    assert tree.partition(3).tolist() == [0] * 5
    with pytest.raises(InvalidInput, match="no levels"):
        Tree(FOUR).partition(1)


# --- trees from trees -------------------------------------------------------------------------------------------------


@given(trees(), st.data())
def test_subtree_against_naive(tree, data):
    v = data.draw(st.integers(0, tree.root))
    naive, part = NaiveTree(tree), NaiveTree(tree.subtree(v))
    old = sorted(naive.members[v])
    inside = {(members, h) for members, h in naive.clusters() if members <= naive.members[v]}
    assert {(frozenset(old[i] for i in members), h) for members, h in part.clusters()} == inside


@given(trees(), st.integers(0, 2**32))
def test_prune_against_naive(tree, seed):
    rng = np.random.default_rng(seed)
    keep = rng.permutation(tree.n_leaves)[: rng.integers(1, tree.n_leaves + 1)]
    pruned = tree.prune(keep)
    naive = NaiveTree(tree)
    left = {members & set(keep.tolist()) for members in naive.members.values()} - {frozenset()}
    assert relabelled(NaiveTree(pruned).members.values(), keep) == left
    i, j = rng.integers(0, len(keep), (2, 20))
    assert (pruned.height[pruned.lca(i, j)] == tree.height[tree.lca(keep[i], keep[j])]).all()
    mask = np.zeros(tree.n_leaves, dtype=bool)
    mask[keep] = True
    assert tree.prune(mask) == tree.prune(np.sort(keep))


@given(trees(), st.integers(0, 2**32))
def test_relabel(tree, seed):
    perm = np.random.default_rng(seed).permutation(tree.n_leaves)
    renamed = tree.relabel(perm)
    assert relabelled(NaiveTree(tree).members.values(), perm) == set(NaiveTree(renamed).members.values())
    assert renamed.relabel(np.argsort(perm)) == tree
    assert renamed.prune(perm) == tree


@given(trees(), st.integers(0, 2**32))
def test_binarize(tree, seed):
    binary = tree.binarize(seed)
    assert binary.is_binary
    assert NaiveTree(tree).clusters() <= NaiveTree(binary).clusters()
    assert binary == tree.binarize(seed)
    i, j = np.random.default_rng(seed).integers(0, tree.n_leaves, (2, 20))
    assert (binary.height[binary.lca(i, j)] == tree.height[tree.lca(i, j)]).all()
    assert binary.is_monotone == tree.is_monotone


def test_binarize_is_fair():
    star = Tree([3, 3, 3, -1])
    closest = [tuple(star.binarize(seed).members(3)) for seed in range(600)]
    counts = [closest.count(pair) for pair in [(0, 1), (0, 2), (1, 2)]]
    assert sum(counts) == 600
    assert min(counts) > 150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.prune([]), "at least one leaf"),
        (lambda t: t.prune([0, 4]), "4, which is not a leaf"),
        (lambda t: t.prune([0, 0]), "leaf 0 more than once"),
        (lambda t: t.prune([True, False]), "shape"),
        (lambda t: t.prune([0.0, 1.0]), "integers"),
        (lambda t: t.relabel([0, 1]), "shape"),
        (lambda t: t.relabel([0, 1, 2, 2]), "more than once"),
        (lambda t: t.subtree(-1), "node must be an int"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(Tree(FOUR))


# --- being a value ----------------------------------------------------------------------------------------------------


def test_equality_ignores_numbering_and_info_only():
    tree = Tree(FOUR, [0, 0, 0, 0, 1, 2, 3], info={"method": "a"})
    swapped = Tree([5, 5, 4, 4, 6, 6, -1], [0, 0, 0, 0, 2, 1, 3])
    assert tree == swapped
    assert hash(tree) == hash(swapped)
    assert tree != Tree(FOUR, [0, 0, 0, 0, 1, 2, 4])
    assert tree != Tree(FOUR, [0, 0, 0, 0, 2, 1, 3])
    assert tree != Tree(FOUR, [0, 0, 0, 0, 1, 2, 3], level=[0, 0, 0, 0, 1, 1, 2])
    assert Tree([4, 5, 4, 5, 6, 6, -1], tree.height) != tree
    assert tree != "tree"


@given(trees(), st.integers(0, 2**32))
def test_any_numbering_gives_the_same_tree(tree, seed):
    n, m = tree.n_leaves, tree.n_nodes
    new = np.concatenate([np.arange(n), n + np.random.default_rng(seed).permutation(m - n)])
    parent, height = np.empty(m, dtype=int), np.empty(m)
    parent[new] = np.where(tree.parent < 0, -1, new[tree.parent])
    height[new] = tree.height
    again = Tree.from_parents(parent, n, height)
    assert again == tree
    assert NaiveTree(again).clusters() == NaiveTree(tree).clusters()
    assert again.parent.tolist() == Tree.from_parents(tree.parent, n, tree.height).parent.tolist()


@given(trees())
def test_copies(tree):
    tree.info["method"] = "test"
    for other in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree), tree.with_info(a=1)):
        assert other == tree
        assert other.info["method"] == "test"


def test_repr_and_info():
    assert repr(Tree(FOUR)) == "Tree(n_leaves=4, n_nodes=7, depth=2)"
    assert repr(Tree(FOUR, info={"method": "hac"})).endswith("method='hac')")
