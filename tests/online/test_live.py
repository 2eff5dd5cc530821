"""LiveTree: exact places, a cost that is always right, and trees as good as a rebuild."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from online_lists import scored_lists
from points import labelled_blobs

from cladify import GraphTree, Tree, _core
from cladify.errors import CladifyError, InvalidInput
from cladify.metrics import dendrogram_purity
from cladify.online import LiveTree, MiniBatchSCC
from cladify.online._neighbors import NeighborTree


def groups(n, d=8, clusters=8, seed=0, spread=0.25):
    return labelled_blobs(n, d, clusters, seed=seed, spread=spread)


def naive_cost(tree: Tree, weight: np.ndarray, edges: dict[tuple[int, int], float]) -> float:
    return sum(w * weight[tree.members(tree.lca(i, j))].sum() for (i, j), w in edges.items())


def edges_of(live: LiveTree) -> dict[tuple[int, int], float]:
    """Pairs of leaves of ``tree_`` and their weights, from the lists."""
    state = live._begin()
    place = {int(leaf): i for i, leaf in enumerate(state.items.leaves)}
    out: dict[tuple[int, int], float] = {}
    scale = state.graph.scales()
    for a, b, w in zip(*state.graph.neighbors(state.items.leaves), strict=True):
        i, j = sorted((place[int(a)], place[int(b)]))
        finer = min(scale[a], scale[b])
        value = float(w) if state.rows.similarity.name == "dot" else finer / (finer - float(w))
        out[i, j] = out.get((i, j), 0.0) + 0.5 * value
    return out


def check(live: LiveTree) -> None:
    assert live._begin().tree.broken_rule(1e-9) == ""
    assert live._begin().graph.broken_rule() == ""
    tree = live.tree_
    assert live.cost_ == pytest.approx(naive_cost(tree, np.ones(tree.n_leaves), edges_of(live)), rel=1e-6, abs=1e-6)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
@settings(max_examples=60)
def test_no_other_place_is_better(seed, n):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, size=n + 1).astype(float)
    start = Tree(_random_parents(n, rng))
    tree = _core.MutableTree(0, 1000)
    _core.online_build(tree, start.parent, weight[:n])
    graph = _core.OnlineLiveTree(tree, n, 0, 0, 10 * n)  # no subtree is large enough to move, too
    pairs = {}
    for i in range(n):
        near = rng.permutation(np.delete(np.arange(n), i))[: rng.integers(0, n)].astype(np.int32)
        near = near[near < i]
        value = rng.random(len(near)).astype(np.float32)
        graph.load(np.array([i], np.int32), near[None], value[None])
        pairs |= {(int(j), i): 0.5 * float(w) * weight[i] * weight[j] for j, w in zip(near, value, strict=True)}
    graph.refresh(0.0)
    assert graph.cost() == pytest.approx(naive_cost(start, weight[:n], pairs))
    near, back = np.split(rng.permutation(n).astype(np.int32), [rng.integers(0, n)])
    back = back[: rng.integers(0, len(back) + 1)]
    value = rng.random(len(near)).astype(np.float32)
    back_value = rng.random(len(back)).astype(np.float32)
    # Everybody's list has room, so that x is among the nearest of all of its nearest: such an edge counts in full.
    pairs |= {(int(j), n): float(w) * weight[n] * weight[j] for j, w in zip(near, value, strict=True)}
    pairs |= {(int(j), n): 0.5 * float(w) * weight[n] * weight[j] for j, w in zip(back, back_value, strict=True)}
    best = min(naive_cost(_with_leaf(start, u), weight, pairs) for u in range(start.n_nodes))
    leaf = _core.online_make_leaves(tree, np.empty((1, 0)), weight[n:])
    graph.insert(leaf, near[None], value[None], np.array([0, len(back)]), back, back_value)
    assert graph.cost() == pytest.approx(best)
    order = np.append(np.arange(n), leaf).astype(np.int32)
    assert naive_cost(Tree(tree.freeze(order)[0]), weight, pairs) == pytest.approx(best)


def _random_parents(n, rng):
    parent, roots = [-1] * n, list(range(n))
    while len(roots) > 1:
        i, j = sorted(rng.choice(len(roots), 2, replace=False))
        parent[roots[i]] = parent[roots[j]] = len(parent)
        roots = [r for k, r in enumerate(roots) if k not in (i, j)] + [len(parent)]
        parent.append(-1)
    return parent


def _with_leaf(tree: Tree, u: int) -> Tree:
    """A new last leaf beside node u."""
    n, m = tree.n_leaves, tree.n_nodes
    shift = [i if i < n else i + 1 for i in range(m)]
    parent = np.full(m + 2, -1)
    for i in range(m - 1):
        parent[shift[i]] = shift[tree.parent[i]]
    parent[m + 1] = parent[shift[u]]
    parent[shift[u]] = parent[n] = m + 1
    return Tree.from_parents(parent, n + 1)


def check_nearest(online: NeighborTree, X: np.ndarray, k: int) -> None:
    """Everyone's list holds the k nearest of all other rows, or others that are as near but for rounding."""
    score, of, near = scored_lists(online, X)
    assert (np.bincount(of, minlength=len(X)) == k).all()
    kept = np.sort(score[of, near].reshape(len(X), k), axis=1)
    np.testing.assert_allclose(kept, np.sort(score, axis=1)[:, -k:], atol=1e-5 * np.abs(X).max() ** 2)


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "dot"])
@pytest.mark.parametrize("method", [LiveTree, MiniBatchSCC])
def test_lists_are_those_of_a_search_among_all(metric, method):
    X = groups(1500, d=6, clusters=5, seed=8)[0] + 3.0 * (metric == "dot")  # products above 0 are edges
    online = method(metric, n_neighbors=7).partial_fit(X[:100])
    at = 100
    for step in (1, 1, 5, 40, 1100):  # more than one block of queries, too
        online.partial_fit(X[at : at + step])
        at += step
    check_nearest(online, X[:at], 7)
    online = pickle.loads(pickle.dumps(online))
    online.partial_fit(X[at:])
    check_nearest(online, X, 7)
    if isinstance(online, LiveTree):  # lists with gaps are filled when there is time
        more = groups(100, d=6, clusters=5, seed=9)[0] + 3.0 * (metric == "dot")
        online.remove(range(0, 1500, 10)).partial_fit(more)
        online._mend_all(online._begin(), np.inf)
        check_nearest(online, np.concatenate([X, more])[online.ids_], 7)


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "dot"])
def test_the_cost_is_right_after_every_change(metric):
    X, _ = groups(400, seed=1)
    rng = np.random.default_rng(2)
    live = LiveTree(metric, n_neighbors=6).partial_fit(X[:60])
    check(live)
    at = 60
    for _ in range(40):
        step = int(rng.integers(1, 9))
        live.partial_fit(X[at : at + step])
        at += step
        check(live)
        if rng.random() < 0.5:
            live.remove(rng.permutation(live.ids_)[: rng.integers(1, 10)])
            check(live)
    live.refresh(budget_seconds=5.0)
    check(live)
    before = live.cost_
    live.refresh(budget_seconds=5.0)  # nothing came or went: small moves only
    check(live)
    assert live.cost_ <= before
    ids = live.ids_[:20]
    live.update(ids, groups(20, seed=9)[0])
    check(live)
    assert live.ids_[:20].tolist() == ids.tolist()


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_half_streamed_and_a_tenth_removed_is_as_good_as_a_rebuild(order):
    X, y = groups(1600, d=12, clusters=24, seed=3, spread=0.6)
    come = np.random.default_rng(4).permutation(len(X))
    if order == "sorted":
        come = come[np.argsort(y[come], kind="stable")]
    X, y = X[come], y[come]
    live = LiveTree(n_neighbors=15).partial_fit(X[:800])
    for part in np.array_split(X[800:], 7):
        live.partial_fit(part)
    gone = np.random.default_rng(5).permutation(len(X))[:160]
    live.remove(gone).refresh(budget_seconds=10.0)
    kept = live.ids_
    fresh = GraphTree(metric="cosine", n_neighbors=15).fit(X[kept])
    assert float(dendrogram_purity(live.tree_, y[kept])) > float(dendrogram_purity(fresh.tree_, y[kept])) - 0.02
    rebuilt = LiveTree(n_neighbors=15).partial_fit(X[kept])
    assert live.cost_ < 1.06 * rebuilt.cost_


def test_one_at_a_time_from_nothing():
    X, y = groups(200, seed=6, clusters=4, spread=0.1)
    live = LiveTree(n_neighbors=5, n_clusters=4)
    for i in range(200):
        live.partial_fit(X[i : i + 1], ids=[f"item {i}"])
    check(live)
    assert float(dendrogram_purity(live.tree_, y)) > 0.95
    assert (live.predict(X) == live.labels_).all()
    for i in range(200):
        live.remove([f"item {i}"])
        assert len(live) == 199 - i
    with pytest.raises(InvalidInput, match="holds no items"):
        _ = live.tree_
    assert live.partial_fit(X[:3]).tree_.n_leaves == 3


def test_weights_count_as_repeated_rows_in_the_sizes():
    X, _ = groups(80, seed=7)
    live = LiveTree(n_neighbors=5).partial_fit(X[:40], sample_weight=np.full(40, 2.0))
    live.partial_fit(X[40:], sample_weight=np.full(40, 3.0))
    assert live._begin().tree.size(live._begin().tree.root) == 200.0
    assert live._begin().tree.broken_rule(1e-9) == ""


def test_bad_input_changes_nothing():
    X, _ = groups(50)
    live = LiveTree(n_neighbors=5).partial_fit(X)
    cost = live.cost_
    for call, message in [
        (lambda: live.partial_fit(X * np.nan), "NaN"),
        (lambda: live.remove([1000]), "not in the tree"),
        (lambda: live.refresh(-1.0), "budget_seconds"),
        (lambda: LiveTree(n_neighbors=0).partial_fit(X), "n_neighbors"),
    ]:
        with pytest.raises(CladifyError, match=message):
            call()
    assert live.cost_ == cost and len(live) == 50


def test_refresh_searches_all_scales_again(monkeypatch):
    for module in ("_scales", "_top"):
        monkeypatch.setattr(f"cladify.graphtree.{module}.LAST", 300)
    X, y = groups(1200, d=12, clusters=30, seed=3, spread=0.6)
    live = LiveTree(n_neighbors=10, n_jobs=1).partial_fit(X[:600])
    assert live.changed_ == 0.0
    for part in np.array_split(X[600:], 10):
        live.partial_fit(part)
    assert live.changed_ == pytest.approx(0.5)
    before, version = live.tree_, live.version_
    other = pickle.loads(pickle.dumps(live)).set_params(n_jobs=2)
    tree = live.refresh(budget_seconds=1000.0).tree_
    assert live.changed_ == 0.0
    assert set(live.node_ids_[1200:].tolist()) == set(live.changes(version).made.tolist())  # the lowest ones, too
    assert float(dendrogram_purity(tree, y)) > float(dendrogram_purity(before, y)) - 0.02
    assert np.array_equal(tree.parent, other.refresh(budget_seconds=1000.0).tree_.parent)
    check(live)
