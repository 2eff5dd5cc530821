"""Perch, MiniBatchSCC and the baselines: against their definitions, and through thousands of changes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_levels import NaiveLevels
from points import blobs
from quick import seeds
from scipy.sparse import csr_array

import cladify
from cladify.datasets import arrival_order, make_strictly_separated
from cladify.errors import CladifyError
from cladify.metrics import dendrogram_purity
from cladify.online import OHAC, LiveTree, MiniBatchHAC, MiniBatchSCC, Perch

METHODS = [Perch, MiniBatchSCC, MiniBatchHAC, OHAC]


def whole(online):
    return online._begin().tree.broken_rule(1e-6) == ""


def nodes_of(tree):
    return {frozenset(tree.members(v).tolist()) for v in range(tree.n_leaves, tree.n_nodes)}


@pytest.mark.parametrize("order", ["random", "round-robin", "sorted"])
def test_clusters_far_apart_are_found_in_any_order(order):
    for seed in range(6):
        X, y = make_strictly_separated(60, 6, n_features=4, random_state=seed)
        come = arrival_order(y, order, random_state=seed)
        for online in (Perch(metric="sqeuclidean"), Perch(metric="sqeuclidean", balance=False), OHAC("sqeuclidean")):
            assert float(dendrogram_purity(online.fit(X[come]).tree_, y[come])) == 1.0
        levels = MiniBatchSCC("sqeuclidean", n_neighbors=9)
        for part in np.array_split(come, 7):
            levels.partial_fit(X[part])
        assert float(dendrogram_purity(levels.tree_, y[come])) == 1.0


def test_rotations_for_balance_make_flatter_trees():
    X = np.sort(np.random.default_rng(0).normal(size=(300, 1)), axis=0)
    flat, deep = (Perch(metric="sqeuclidean", balance=balance).fit(X) for balance in (True, False))
    assert flat.tree_.depth < deep.tree_.depth and flat.n_balancings_ > 0 and deep.n_balancings_ == 0


def test_so_many_leaves_are_kept_apart():
    X, y = make_strictly_separated(300, 10, n_features=4, random_state=0)
    online = Perch(metric="sqeuclidean", max_leaves=40)
    for part in np.array_split(np.arange(300), 11):
        online.partial_fit(X[part])
        assert whole(online) and ends(online) == min(40, part[-1] + 1)
    assert online.n_collapses_ == 260
    # Leaves that became one are near each other: the clusters are still there.
    assert float(dendrogram_purity(online.tree_, y)) == 1.0
    tree = online.tree_
    wide = [v for v in range(300, tree.n_nodes) if len(tree.children(v)) > 2]
    assert wide and all((tree.children(v) < 300).all() for v in wide)
    for v in wide:  # the height of such a leaf is the mean over its pairs
        rows = X[tree.children(v)].astype(float)
        apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
        assert tree.height[v] == pytest.approx(apart.sum() / (len(rows) * (len(rows) - 1)), rel=1e-6)
    # A leaf that lost its items makes room for others.
    online.remove(range(150))
    assert ends(online) <= 40
    assert ends(online.partial_fit(X[:150])) == 40 and whole(online)


def ends(online):
    """Leaves that are kept apart: those that the tree has besides its collapsed nodes, and these."""
    tree = online.tree_
    marked = online._begin().tree.state()[8] != 0  # the weight of its own that a collapsed node has
    closed = [v for v in range(tree.n_leaves, tree.n_nodes) if marked[online.node_ids_[v]]]
    return tree.n_leaves - sum(len(tree.children(v)) for v in closed) + len(closed)


def test_the_two_nearest_siblings_become_one():
    X = np.array([[0.0], [1.0], [10.0], [10.1], [30.0], [32.0]])
    online = Perch(metric="sqeuclidean", max_leaves=5).fit(X)
    assert {2, 3} in [set(online.tree_.children(v).tolist()) for v in range(6, online.tree_.n_nodes)]
    assert online.n_collapses_ == 1
    online.partial_fit(np.array([[10.05]]))  # beside the one that holds two, and then in it
    assert {2, 3, 6} in [set(online.tree_.children(v).tolist()) for v in range(7, online.tree_.n_nodes)]


def test_equal_points_collapse():
    online = Perch(max_leaves=10).fit(np.ones((3000, 1)))
    assert ends(online) == 10 and online.tree_.n_leaves == 3000


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), k=st.integers(1, 8), rounds=st.integers(1, 30))
@settings(max_examples=40)
def test_one_batch_is_the_batch_method(seed, n, k, rounds):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X += 3.0 * np.eye(3)[np.arange(n) % 3]
    k = min(k, n - 1)
    online = MiniBatchSCC(n_neighbors=k, n_rounds=rounds).fit(X)
    state = online._begin()
    place = np.empty(state.tree.capacity, dtype=np.int64)
    place[state.items.leaves] = np.arange(n)
    # The graph that came of it: a point's list is cut where nearer ones arrived later.
    a, b, weight = state.graph.neighbors(state.items.leaves)
    table = np.zeros((n, n))
    table[place[a], place[b]] = weight
    graph = cladify.NeighborGraph.from_scipy(csr_array(np.maximum(table, table.T)), kind="similarity")
    batch = naive_levels(graph.to_scipy("weight").toarray(), np.linspace(1.0, 1.0 / rounds, rounds))
    assert nodes_of(online.tree_) == batch


def test_batches_schedules_and_given_thresholds():
    X = blobs(90, seed=2)
    online = MiniBatchSCC(batch_size=20).fit(X)
    parts = MiniBatchSCC()
    for start in range(0, 90, 20):
        parts.partial_fit(X[start : start + 20], ids=list(range(start, min(start + 20, 90))))
    assert nodes_of(online.tree_) == nodes_of(parts.tree_)
    given = MiniBatchSCC(thresholds=np.geomspace(1.0, 1e-3, 30)).fit(X)
    assert nodes_of(given.tree_) == nodes_of(MiniBatchSCC(thresholds="geometric", n_rounds=30).fit(X).tree_)
    with pytest.raises(CladifyError, match="similarities above 0 that fall"):
        MiniBatchSCC(thresholds=[0.5, 0.6]).fit(X)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", seeds(200, daily=6))
def test_batches_are_algorithm_10_as_it_is_read(ties, seed):
    """Several batches; with ties, products of whole numbers over 16 are the weights, and their sums are exact.

    The first threshold is above all weights, so that the twin need not know who enters whose list of nearest.
    """
    random = np.random.default_rng(seed)
    n, k, rounds = (int(random.integers(*span)) for span in ((4, 30), (1, 6), (1, 12)))
    X = random.integers(-2, 3, size=(n, 2)) + (0.0 if ties else random.normal(size=(n, 2)))
    X[~X.any(axis=1)] = 1.0
    X[:2] = (4.0, 0.0) if ties else X[:2]
    thresholds = np.append(2.0, np.linspace(1.0, 1.0 / rounds, rounds))
    online = MiniBatchSCC("dot" if ties else "cosine", n_neighbors=k, thresholds=thresholds)
    naive, start = NaiveLevels(thresholds), 0
    while start < n:
        stop = min(n, start + int(random.integers(1, 8)) + 2 * (start == 0))
        online.partial_fit(X[start:stop])
        state = online._begin()
        W = np.zeros((state.tree.capacity,) * 2)
        a, b, weight = state.graph.neighbors(state.items.leaves)
        W[a, b] = weight
        naive.batch(np.maximum(W, W.T), stop - start)
        place = {leaf: i for i, leaf in enumerate(state.items.leaves.tolist())}
        assert nodes_of(online.tree_) == {frozenset(place[leaf] for leaf in c) for c in naive.clusters()}
        start = stop


def naive_levels(W, thresholds):
    """SCC by its definition: all clusters of all rounds with more than one point."""
    n = len(W)
    clusters = [frozenset([i]) for i in range(n)]
    found = set()
    for tau in thresholds:
        link = {}
        for c in clusters:
            f = {o: W[np.ix_(sorted(c), sorted(o))].mean() for o in clusters if o != c}
            if f and max(f.values()) > 0 and max(f.values()) >= tau:
                link[c] = max(f, key=f.get)
        group = {c: c for c in clusters}

        def root(c, group=group):
            while group[c] != c:
                c = group[c]
            return c

        for c, o in link.items():
            group[root(c)] = root(o)
        merged = {}
        for c in clusters:
            merged.setdefault(root(c), set()).update(c)
        clusters = [frozenset(c) for c in merged.values()]
        found.update(c for c in clusters if len(c) > 1)
    return found | {frozenset(range(n))}


def test_batches_are_about_as_good_as_one():
    X, rng = blobs(1500, d=12, k=60, seed=3), np.random.default_rng(3)
    y = np.argmin(((X[:, None] - X[rng.permutation(1500)[:60]]) ** 2).sum(axis=2), axis=1)
    one = MiniBatchSCC().fit(X)
    purity = []
    for size in (1, 40, 400):
        online = MiniBatchSCC()
        for start in range(0, 1500, size):
            online.partial_fit(X[start : start + size])
        assert whole(online)
        purity.append(float(dendrogram_purity(online.tree_, y)))
    assert min(purity) > float(dendrogram_purity(one.tree_, y)) - 0.05


def test_what_is_left_stays_where_it_was():
    rng = np.random.default_rng(6)
    X = blobs(900, k=20, seed=6)
    online = MiniBatchSCC(n_neighbors=8).partial_fit(X[:300])
    for start in range(300, 900, 100):
        before, ids = online.tree_, online.ids_
        gone = rng.permutation(len(ids))[: int(rng.integers(1, 150))]
        kept = np.setdiff1d(np.arange(len(ids)), gone)
        asked = online._begin().graph.decisions
        if start % 200:
            online.remove(ids[gone])
        else:
            for item in ids[gone]:
                online.remove([item])
        assert online.tree_ == before.prune(kept) and online._begin().graph.decisions == asked
        online.partial_fit(X[start : start + 100])
        assert whole(online) and online._begin().graph.broken_rule() == ""
    online.remove(online.ids_[1:])
    assert online.tree_.n_leaves == 1
    assert len(online.remove(online.ids_)) == 0 and len(online.partial_fit(X[:30])) == 30


def test_many_that_come_and_go_leave_a_tree_as_good_as_a_fresh_one():
    X, y = make_strictly_separated(2400, 30, n_features=6, random_state=4)
    X += np.random.default_rng(0).normal(scale=2.5, size=X.shape)
    online, rng = MiniBatchSCC("sqeuclidean", n_neighbors=10).partial_fit(X[:600]), np.random.default_rng(1)
    for start in range(600, 2400, 100):
        online.remove(rng.permutation(online.ids_)[:100]).partial_fit(X[start : start + 100])
    kept = online.ids_
    fresh = MiniBatchSCC("sqeuclidean", n_neighbors=10).fit(X[kept])
    purity = float(dendrogram_purity(fresh.tree_, y[kept]))
    assert purity < 0.95 and float(dendrogram_purity(online.tree_, y[kept])) > purity - 0.05


def test_a_change_far_away_asks_few_clusters():
    X = blobs(4000, d=8, k=200, seed=4)
    online = MiniBatchSCC().fit(X)
    before = online._begin().graph.decisions
    online.partial_fit(X[:1] + 0.01)
    assert online._begin().graph.decisions - before < 0.02 * before


def test_a_buffer_for_all_is_average_linkage():
    X = blobs(80, seed=5)
    assert nodes_of(MiniBatchHAC("sqeuclidean", buffer_size=80).fit(X).tree_) == nodes_of(
        cladify.HAC(metric="sqeuclidean").fit(X).tree_
    )
    small = MiniBatchHAC("sqeuclidean", buffer_size=2).fit(X)
    assert whole(small) and small.tree_.is_binary


@pytest.mark.parametrize("method", [*METHODS, LiveTree])
def test_folders_and_copies_go_on_as_the_original_does(method, tmp_path):
    X = blobs(300, seed=7)
    online = method().partial_fit(X[:150]).remove(range(20))
    copy = pickle.loads(pickle.dumps(online))
    assert copy.tree_ == online.tree_ and copy.ids_.tolist() == online.ids_.tolist()
    online.save(tmp_path / "tree")
    online.partial_fit(X[150:250]).remove([30, 31])
    online.close()
    again = method.open(tmp_path / "tree")
    assert again.tree_ == online.tree_
    for one in (again, online):
        one.update([40, 41], X[:2]).partial_fit(X[250:])
    assert whole(again) and again.tree_ == online.tree_
    again.close()


@pytest.mark.parametrize("method", METHODS)
def test_bad_parameters(method):
    with pytest.raises(CladifyError, match="not one of cosine"):
        method(metric="jaccard").fit(blobs(5))
    with pytest.raises(CladifyError, match="not both"):
        method(n_clusters=2, distance_threshold=1.0).fit(blobs(5))
    with pytest.raises(CladifyError, match="takes vectors"):
        method().fit(cladify.neighbors(blobs(20), 3))


def test_purity_on_images(dataset):
    """Against tables 3.3 and 4.11 of the thesis, on a part that takes a second."""
    data = dataset("aloi")
    some = np.random.default_rng(0).permutation(len(data["y"]))[:5000]
    X, y = data["X"][some], data["y"][some]
    purity = {m: float(dendrogram_purity(m().fit(X).tree_, y)) for m in (Perch, OHAC, MiniBatchSCC)}
    assert purity[Perch] > 0.47 and purity[OHAC] > 0.49 and purity[MiniBatchSCC] > 0.49
