"""Every method of Tree on a million leaves, path-shaped, balanced and wide, within generous limits."""

import time

import numpy as np
import pytest
from scipy.cluster import hierarchy
from trees import balanced_tree, path_tree

from cladify import Tree

pytestmark = pytest.mark.slow

N = 1_000_000
LIMIT = 8.0  # seconds a call, on a machine that may be busy; idle, each takes under 2 s


@pytest.fixture(scope="module", params=["path", "balanced", "wide"])
def tree(request):
    if request.param == "wide":
        leaves = np.repeat(np.arange(N, N + 1000), N // 1000)
        return Tree(np.concatenate([leaves, np.full(1000, N + 1000), [-1]]))
    return {"path": path_tree, "balanced": balanced_tree}[request.param](N)


def timed(call):
    start = time.perf_counter()
    value = call()
    took = time.perf_counter() - start
    assert took < LIMIT, f"{took:.1f} s"
    return value


def test_questions(tree):
    timed(lambda: tree.validate())
    assert timed(lambda: tree.size)[-1] == N
    assert len(timed(lambda: tree.members(tree.root))) == N
    assert timed(lambda: tree.ancestors(0))[-1] == tree.root
    assert len(timed(lambda: tree.children(tree.root))) in (2, 1000)
    assert timed(lambda: tree.depth) in (N - 1, 20, 2)
    assert timed(lambda: tree.is_monotone)
    assert timed(tree.describe)["n_leaves"] == N
    assert "1 000 000 leaves" in timed(tree.summary)


def test_ten_million_ancestors(tree):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, N, (2, 10_000_000))
    found = timed(lambda: tree.lca(i, j))
    some = rng.integers(0, len(i), 1000)
    first, last = tree.first[found[some]], tree.last[found[some]]
    for leaf in (i[some], j[some]):
        assert ((first <= tree.first[leaf]) & (tree.first[leaf] < last)).all()


@pytest.mark.filterwarnings("ignore::cladify.CladifyWarning")
def test_cuts(tree):
    binary = tree.is_binary
    for k in (1, 2, 1000, N // 3, N):
        count = timed(lambda k=k: tree.cut(n_clusters=k)).max() + 1
        assert count == k if binary else count <= k
    assert np.bincount(timed(lambda: tree.cut(min_size=100))).min() >= 100
    assert np.bincount(timed(lambda: tree.cut(max_size=100))).max() <= 100
    timed(lambda: tree.cut(n_clusters=50, min_size=100, max_size=N // 10))
    timed(lambda: tree.cut(height=float(np.median(tree.height[N:]))))


def test_trees_from_trees(tree):
    rng = np.random.default_rng(1)
    half = tree.n_leaves // 2
    assert timed(lambda: tree.prune(rng.permutation(N)[:half])).n_leaves == half
    perm = rng.permutation(N)
    assert timed(lambda: timed(lambda: tree.relabel(perm)).relabel(np.argsort(perm)) == tree)
    assert timed(lambda: tree.binarize(0)).is_binary
    v = int(tree.parent[tree.root - 1])
    assert timed(lambda: tree.subtree(v)).n_leaves == tree.size[v]
    assert timed(lambda: Tree.from_parents(tree.parent, N, tree.height)) == tree
    shifted = Tree.from_parents(np.where(tree.parent < 0, -1, tree.parent), N, tree.height)
    assert timed(lambda: shifted == tree)


def test_round_trips(tree, tmp_path):
    timed(lambda: tree.save(tmp_path / "a.tree"))
    assert timed(lambda: Tree.load(tmp_path / "a.tree")) == tree
    text = timed(tree.to_newick)
    assert timed(lambda: Tree.from_newick(text)) == tree
    data = timed(tree.to_dict)
    assert timed(lambda: Tree.from_dict(data)) == tree
    if tree.is_binary:
        Z = timed(tree.to_linkage)
        assert hierarchy.is_valid_linkage(Z)
        assert timed(lambda: Tree.from_linkage(Z)) == tree


def test_networkx():
    graph = timed(balanced_tree(200_000).to_networkx)
    assert graph.number_of_edges() == 399_998
