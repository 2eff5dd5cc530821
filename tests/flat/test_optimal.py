"""Optimal cuts against all cuts of small trees, and on large ones of extreme shapes."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from trees import NaiveTree, balanced_tree, path_tree, trees

import cladify
from cladify import Tree, flat
from cladify.errors import InvalidInput
from cladify.metrics import dp_means_cost


def all_cuts(naive: NaiveTree, v: int) -> list[list[int]]:
    """Every partition of the leaves below v into nodes."""
    if not naive.children[v]:
        return [[v]]
    below = [all_cuts(naive, c) for c in naive.children[v]]
    return [[v], *([node for part in parts for node in part] for parts in product(*below))]


@given(trees(max_leaves=9, max_children=4), st.data())
def test_cheapest_of_all_cuts(tree, data) -> None:
    # Small integers make many ties.
    cost = np.array(data.draw(st.lists(st.integers(0, 12), min_size=tree.n_nodes, max_size=tree.n_nodes)), dtype=float)
    cuts = flat.optimal_cuts(tree, cost)
    every = [(cost[cut].sum(), len(cut)) for cut in all_cuts(NaiveTree(tree), tree.root)]
    for lam in (-3.0, 0.0, 0.5, 1.0, 2.0, 7 / 3, 5.0, 20.0):
        best = min(total + lam * count for total, count in every)
        assert cuts.cost(lam) == pytest.approx(best, abs=1e-9)
        labels = cuts.labels(lam)
        count = labels.max() + 1
        assert cuts.n_clusters(lam) == count
        tops = [
            max(np.flatnonzero([set(m) == set(np.flatnonzero(labels == c)) for m in members(tree)]))
            for c in range(count)
        ]
        assert cost[tops].sum() + lam * count == pytest.approx(best, abs=1e-9)
        # Of equal cuts the coarser one.
        assert count == min(c for total, c in every if total + lam * c <= best + 1e-9)


def members(tree: Tree) -> list[list[int]]:
    return [tree.members(v).tolist() for v in range(tree.n_nodes)]


@given(trees(max_leaves=8, max_children=4), st.integers(0, 2**32), st.sampled_from(["dense", "float32", "sparse"]))
def test_dp_means_of_every_cut(tree, seed, kind) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(tree.n_leaves, 3)) + 100.0 * rng.integers(0, 3, size=(tree.n_leaves, 1))
    X = {"dense": X, "float32": X.astype(np.float32), "sparse": csr_array(X)}[kind]
    naive = NaiveTree(tree)
    every = []
    for cut in all_cuts(naive, tree.root):
        labels = np.empty(tree.n_leaves, dtype=np.int64)
        for i, v in enumerate(cut):
            labels[list(naive.members[v])] = i
        every.append(labels)
    cuts = flat.dp_means_cuts(tree, X)
    for lam in (0.0, 0.3, 3.0, 1000.0, 1e5):
        best = min(dp_means_cost(X, labels, lam) for labels in every)
        assert cuts.cost(lam) == pytest.approx(best, rel=1e-8, abs=1e-8)
        assert dp_means_cost(X, cuts.labels(lam), lam) == pytest.approx(best, rel=1e-8, abs=1e-8)


def test_many_prices_at_once() -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    tree = cladify.fit(X, "hac", linkage="ward")
    cuts = flat.dp_means_cuts(tree, X)
    prices = np.geomspace(1e-3, 1e4, 60)
    counts = cuts.n_clusters(prices)
    assert (np.diff(counts) <= 0).all() and counts[0] > 250 and counts[-1] == 1
    for lam, cost, count in zip(prices, cuts.cost(prices), counts, strict=True):
        labels = cuts.labels(lam)
        assert labels.max() + 1 == count
        assert dp_means_cost(X, labels, lam) == pytest.approx(cost)
        # Never above the best cut by count or height.
        assert cost <= min(dp_means_cost(X, tree.cut(n_clusters=k), lam) for k in (1, 5, 50, 300)) + 1e-9
    assert (np.diff(cuts.prices) <= 0).all()


def test_weights_count_points() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2))
    times = rng.integers(1, 4, size=12)
    tree = cladify.fit(X, "hac")
    source = np.repeat(np.arange(12), times)
    doubled = cladify.fit(X[source], "hac")
    weighted = flat.dp_means_cuts(tree, X, sample_weight=times)
    for lam in (0.1, 1.0, 5.0):
        labels = weighted.labels(lam)
        assert weighted.cost(lam) == pytest.approx(dp_means_cost(X[source], labels[source], lam))
    assert weighted.node_cost[-1] == pytest.approx(flat.dp_means_cuts(doubled, X[source]).node_cost[-1])


def test_cosine_takes_rows_at_unit_length() -> None:
    X = np.random.default_rng(2).normal(size=(40, 3))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    tree = cladify.fit(X, "hac", metric="cosine")
    one, two = flat.dp_means_cuts(tree, X, metric="cosine"), flat.dp_means_cuts(tree, unit)
    np.testing.assert_allclose(one.node_cost, two.node_cost, atol=1e-12)
    assert one.labels(0.5).tolist() == two.labels(0.5).tolist()
    assert flat.by_dp_means(tree, X, 0.5, metric="cosine").tolist() == one.labels(0.5).tolist()


@pytest.mark.parametrize("shape", [path_tree, balanced_tree])
def test_a_million_leaves(shape) -> None:
    n = 1_000_000
    tree = shape(n)
    tree.child_ids, tree.size  # noqa: B018  what other methods have computed as well
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    start = time.process_time()
    cuts = flat.dp_means_cuts(tree, X, n_jobs=1)
    counts = cuts.n_clusters(np.geomspace(1e-6, 1e7, 100))
    labels = cuts.labels(1.0)
    assert time.process_time() - start < 10
    assert counts[0] == pytest.approx(n, rel=0.01) and counts[-1] == 1
    assert dp_means_cost(X, labels, 1.0) == pytest.approx(cuts.cost(1.0), rel=1e-6)


def test_one_leaf() -> None:
    cuts = flat.dp_means_cuts(Tree([-1]), [[3.0]])
    assert cuts.labels(1.0).tolist() == [0] and cuts.cost(2.0) == 2.0 and cuts.n_clusters(0.0) == 1


def test_threads_change_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float32)
    tree = cladify.fit(X, "random-cut", random_state=0)
    one, two = (flat.dp_means_cuts(tree, X, n_jobs=jobs).node_cost for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_bad_input() -> None:
    tree = Tree([3, 3, 4, 4, -1])
    with pytest.raises(InvalidInput, match="X has 2 rows and the tree 3 leaves"):
        flat.dp_means_cuts(tree, [[0.0], [1.0]])
    with pytest.raises(InvalidInput, match="node_cost must have shape"):
        flat.optimal_cuts(tree, [1.0])
    with pytest.raises(InvalidInput, match="node_cost must be finite, got nan"):
        flat.optimal_cuts(tree, [0.0, 0.0, np.nan, 1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"metric 'cosin' is not known\. Did you mean 'cosine'"):
        flat.by_dp_means(tree, np.ones((3, 1)), 1.0, metric="cosin")
    with pytest.raises(InvalidInput, match=r"lam must be a finite number of at least 0\.0, got -1"):
        flat.by_dp_means(tree, np.ones((3, 1)), -1)
