"""Orders of leaves: given, kept, and made so that neighbours are similar."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist, squareform
from trees import balanced_tree, path_tree, random_tree, trees

import cladify
from cladify import Tree
from cladify.errors import InvalidInput, InvalidTree


def length(order: np.ndarray, D: np.ndarray) -> float:
    return float(D[order[:-1], order[1:]].sum())


def shortest(tree: Tree, D: np.ndarray) -> float:
    """The least length of all orders of a binary tree: the best for every pair of ends, from the leaves up."""
    best: list[dict[tuple[int, int], float]] = [{(i, i): 0.0} for i in range(tree.n_leaves)]
    for v in range(tree.n_leaves, tree.n_nodes):
        a, b = tree.children(v).tolist()
        both: dict[tuple[int, int], float] = {}
        for (i, j), one in best[a].items():
            for (k, m), two in best[b].items():
                for first, inner in ((i, j), (j, i)):
                    for outer, last in ((k, m), (m, k)):
                        cost = one + two + D[inner, outer]
                        ends = min(first, last), max(first, last)
                        both[ends] = min(cost, both.get(ends, np.inf))
        best.append(both)
    return min(best[-1].values())


@pytest.mark.parametrize("seed", range(6))
def test_small_orders_are_the_best(seed):
    X = np.random.default_rng(seed).normal(size=(9, 3))
    tree = cladify.fit(X, "hac")
    D = squareform(pdist(X))
    assert length(tree.order_leaves(X).leaf_order, D) == pytest.approx(shortest(tree, D), rel=1e-6)


@pytest.mark.parametrize("method", ["average", "ward"])
def test_orders_are_near_the_best_and_not_above_scipys(method):
    X = np.random.default_rng(0).normal(size=(60, 5))
    Z = linkage(X, method)
    D = squareform(pdist(X))
    tree = Tree.from_linkage(Z)
    found = length(tree.order_leaves(X).leaf_order, D)
    assert found <= 1.02 * shortest(tree, D)
    assert found <= 1.001 * length(leaves_list(optimal_leaf_ordering(Z, pdist(X))), D)


@given(trees(max_leaves=40), st.integers(0, 2**32))
def test_an_order_follows_the_tree(tree, seed):
    X = np.random.default_rng(seed).normal(size=(tree.n_leaves, 3))
    ordered = tree.order_leaves(X)
    assert ordered == tree
    assert np.array_equal(ordered.parent, tree.parent)
    assert sorted(ordered.leaf_order.tolist()) == list(range(tree.n_leaves))
    for v in range(tree.n_nodes):
        assert np.array_equal(ordered.members(v), tree.members(v))
        assert sorted(ordered.children(v).tolist()) == tree.children(v).tolist()
        starts = ordered.first[ordered.children(v)]
        assert (np.diff(starts) > 0).all()
    assert np.array_equal(tree.order_leaves(X).leaf_order, ordered.leaf_order)


def test_nodes_of_many_children_are_ordered_too():
    star = Tree([20] * 20 + [-1])
    X = np.random.default_rng(0).permutation(20).astype(float)[:, None]
    order = star.order_leaves(X).leaf_order
    assert abs(np.diff(X[order, 0])).sum() == 19
    wide = Tree([3000] * 3000 + [-1])
    X = np.random.default_rng(0).permutation(3000).astype(float)[:, None]
    assert abs(np.diff(X[wide.order_leaves(X).leaf_order, 0])).sum() < 4500


def test_cosine_and_sparse_rows():
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    tree = cladify.fit(X, "hac", metric="cosine")
    D = squareform(pdist(X / np.linalg.norm(X, axis=1, keepdims=True)))
    far = length(tree.leaf_order, D)
    assert length(tree.order_leaves(X * rng.uniform(0.1, 10, size=(200, 1))).leaf_order, D) < 0.95 * far
    assert length(tree.order_leaves(csr_array(X)).leaf_order, D) < far
    with pytest.raises(InvalidInput, match="200 leaves but X has 199 rows"):
        tree.order_leaves(X[1:])
    with pytest.raises(InvalidInput, match="metric 'jaccard' is not known"):
        tree.order_leaves(X, metric="jaccard")


@given(st.integers(2, 40), st.integers(0, 2**32))
def test_the_order_of_a_linkage_survives(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    Z = optimal_leaf_ordering(linkage(X, "average"), X)
    tree = Tree.from_linkage(Z)
    assert np.array_equal(tree.leaf_order, leaves_list(Z))
    assert np.array_equal(leaves_list(tree.to_linkage()), leaves_list(Z))
    assert tree == Tree.from_linkage(linkage(X, "average"))


@given(trees(max_leaves=30), st.data())
def test_orders_are_kept(tree, data):
    n = tree.n_leaves
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ordered = tree.order_leaves(rng.normal(size=(n, 2)))
    order = ordered.leaf_order
    for same in (pickle.loads(pickle.dumps(ordered)), ordered.with_info(a=1), Tree.from_dict(ordered.to_dict())):
        assert np.array_equal(same.leaf_order, order)
    perm = rng.permutation(n)
    assert np.array_equal(ordered.relabel(perm).leaf_order, perm[order])
    keep = rng.permutation(n)[: int(rng.integers(1, n + 1))]
    assert keep[ordered.prune(keep).leaf_order].tolist() == [i for i in order.tolist() if i in set(keep.tolist())]
    i, j = rng.integers(0, tree.n_nodes, size=(2, 20))
    assert np.array_equal(ordered.lca(i, j), tree.lca(i, j))


def test_orders_are_saved(tmp_path):
    tree = random_tree(50, 0)
    ordered = tree.order_leaves(np.random.default_rng(0).normal(size=(50, 2)))
    for name in ("a.tree", "a.json", "a.npy"):
        ordered.save(tmp_path / name)
        assert np.array_equal(Tree.load(tmp_path / name).leaf_order, ordered.leaf_order)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1], "got dtype int64 and shape"),
        ([0.0, 1.0, 2.0], "got dtype float64"),
        ([0, 1, 1], "not a permutation"),
        ([0, 1, 3], "not a permutation"),
        ([0, 2, 1], "other leaves lie between those of node 3"),
    ],
)
def test_wrong_orders(order, message):
    with pytest.raises(InvalidTree, match=f"rule 8.*{message}"):
        Tree([3, 3, 4, 4, -1], order=order)


@pytest.mark.parametrize("make", [path_tree, balanced_tree])
def test_a_million_leaves(make):
    tree = make(1_000_000)
    X = np.random.default_rng(0).normal(size=(1_000_000, 2)).astype(np.float32)
    start = time.process_time()
    ordered = tree.order_leaves(X)
    assert ordered.first[ordered.root] == 0
    assert time.process_time() - start < 60  # some seconds; sanitizers take many times as long
