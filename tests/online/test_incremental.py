"""Greedy, Rotate and Grinch: the theorems, a naive version, and everything that can be asked of an online tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from points import blobs

import cladify
from cladify.datasets import arrival_order, make_model_separated, make_strictly_separated
from cladify.errors import CladifyError, InvalidInput
from cladify.metrics import dendrogram_purity
from cladify.online import OHAC, Greedy, Grinch, LiveTree, MiniBatchHAC, MiniBatchSCC, Perch, Rotate

METHODS = [Greedy, Rotate, Grinch]
EXACT = {"cap": None, "single_elimination": False, "single_search": False}


def healthy(online):
    return online._begin().tree.broken_rule(1e-6) == ""


# --- theory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["random", "round-robin", "sorted"])
def test_rotate_and_grinch_find_strictly_separated_clusters_in_any_order(order):
    for seed in range(12):
        X, y = make_strictly_separated(60, 6, n_features=4, random_state=seed)
        come = arrival_order(y, order, random_state=seed)
        for online in (Rotate(metric="sqeuclidean"), Grinch(metric="sqeuclidean")):
            assert float(dendrogram_purity(online.fit(X[come]).tree_, y[come])) == 1.0


def separated_graph(seed):
    """Chains, cliques and trees of points, and a linkage that is high where the union of two sets is connected.

    Rows are one-hot; the linkage of equal cases differs by a little noise, the same for the same sets.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 26))
    y = np.sort(rng.integers(0, rng.integers(2, 6), size=n))
    joined = np.eye(n, dtype=bool)
    for c in np.unique(y):
        points = rng.permutation(np.flatnonzero(y == c))
        kind = rng.integers(3)
        for i in range(1, len(points)):
            before = [i - 1] if kind == 0 else range(i) if kind == 1 else [int(rng.integers(i))]
            for j in before:
                joined[points[i], points[j]] = joined[points[j], points[i]] = True
    salt = rng.random(n)

    def linkage(A, B):
        a, b = A.any(axis=0), B.any(axis=0)
        inside = a | b
        reached = np.zeros(n, dtype=bool)
        reached[np.argmax(inside)] = True
        while True:
            more = joined[reached].any(axis=0) & inside
            if (more == reached).all():
                break
            reached = more
        return float((reached == inside).all()) + 0.5 * ((salt[a].sum() * 7.0 + salt[b].sum() * 13.0) % 1.0)

    order = rng.permutation(n)
    return np.eye(n, dtype=np.float32)[order], y[order], linkage


def test_grinch_finds_whatever_the_linkage_separates_and_rotate_does_not():
    rotate = []
    for seed in range(200):
        X, y, linkage = separated_graph(seed)
        online = Grinch(linkage=linkage, **EXACT).partial_fit(X)
        assert float(dendrogram_purity(online.tree_, y)) == 1.0, seed
        assert healthy(online)
        rotate.append(float(dendrogram_purity(Rotate(linkage=linkage).partial_fit(X).tree_, y)))
    assert min(rotate) < 0.9


def test_words_of_one_topic():
    X, y = make_model_separated(500, 20, random_state=1)
    purity = {m: float(dendrogram_purity(m(linkage="centroid").fit(X).tree_, y)) for m in METHODS}
    assert purity[Grinch] >= 0.99 > purity[Rotate] > purity[Greedy]
    assert float(dendrogram_purity(Grinch(linkage="centroid", **EXACT).fit(X).tree_, y)) == 1.0


# --- against a naive version ------------------------------------------------------------------------------------------


class Naive:
    """The pseudo-code on nested lists of points; a tree is a dict from frozensets to their two parts."""

    def __init__(self, f):
        self.f, self.parts, self.root = f, {}, None

    def parent(self, v):
        return min((u for u in self.parts if v < u), key=len, default=None)

    def sibling(self, v):
        a, b = self.parts[self.parent(v)]
        return b if a == v else a

    def insert(self, x, rotate):
        point = frozenset([x])
        if self.root is None:
            self.root = point
            return
        v = max((frozenset([i]) for i in sorted(self.root)), key=lambda leaf: self.f(leaf, point))
        while rotate and v != self.root and self.f(v, point) < self.f(v, self.sibling(v)):
            v = self.parent(v)
        grown = {}
        for u, (a, b) in self.parts.items():
            grown[u | point if v < u else u] = tuple(part | point if v <= part else part for part in (a, b))
        grown[v | point] = (v, point)
        self.parts, self.root = grown, self.root | point


@pytest.mark.parametrize("method", [Greedy, Rotate])
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14))
@settings(max_examples=30)
def test_the_same_tree_as_the_pseudo_code(method, seed, n):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    naive = Naive(lambda a, b: float((Z[sorted(a)] @ Z[sorted(b)].T).mean()))
    for i in range(n):
        naive.insert(i, method is Rotate)
    tree = method().fit(X).tree_
    nodes = {frozenset(tree.members(v).tolist()) for v in range(n, tree.n_nodes)}
    assert nodes == set(naive.parts)


def test_average_linkage_by_sums_is_that_of_all_pairs():
    X = blobs(120)

    def average(A, B):
        A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A.astype(float), B.astype(float)))
        return float((A @ B.T).mean())

    given = Grinch(linkage=average, n_neighbors=10).fit(X)
    sums = Grinch(n_neighbors=10).fit(X)
    assert given.tree_.parent.tolist() == sums.tree_.parent.tolist()
    assert np.allclose(given.tree_.height, sums.tree_.height)


# --- coming and going -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", ["cosine", "dot", "sqeuclidean"])
def test_batches_of_any_size_give_the_same_tree(method, metric):
    X = blobs(300, seed=3)
    whole = method(metric=metric).fit(X)
    parts = method(metric=metric)
    for part in np.split(X, [1, 2, 50, 51, 200]) if metric != "sqeuclidean" else [X[:200], X[200:]]:
        parts.partial_fit(part)
    assert healthy(whole) and healthy(parts)
    if metric != "sqeuclidean":  # whose origin, and so whose rounding, is that of the first batch
        assert whole.tree_ == parts.tree_
    assert whole.tree_.is_binary and whole.tree_.is_monotone


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_changes_nothing(method):
    X = blobs(700, seed=4)
    one, two = (method(n_jobs=jobs, search="cells").partial_fit(X[:400]).partial_fit(X[400:]) for jobs in (1, 2))
    assert one.tree_.parent.tolist() == two.tree_.parent.tolist()


def test_cells_find_almost_what_the_whole_search_finds():
    X = blobs(3000, d=16, seed=5, k=40)
    y = Rotate(search="exact").fit(X).tree_.cut(n_clusters=40)
    assert float(dendrogram_purity(Rotate(search="cells").fit(X).tree_, y)) > 0.9


def test_changes_tell_what_happened():
    X = blobs(200, seed=7)
    online = Grinch().fit(X[:150])
    before, nodes, since = online.tree_, online.node_ids_, online.version_
    online.partial_fit(X[150:]).remove([3, 4])
    changes = online.changes(since)
    now = set(online.node_ids_.tolist())
    again = set(changes.made.tolist()) & set(changes.removed.tolist())
    assert set(changes.made.tolist()) - again == now - set(nodes.tolist())
    assert set(changes.removed.tolist()) - again == set(nodes.tolist()) - now
    assert before.n_leaves == 150  # a snapshot stays as it was
    untouched = set(nodes.tolist()) & now - set(changes.touched.tolist()) - again
    then = {int(v): set(before.members(i).tolist()) for i, v in enumerate(nodes)}
    names, tree = online.ids_, online.tree_
    for i, v in enumerate(online.node_ids_.tolist()):
        if v in untouched:
            assert {int(names[j]) for j in tree.members(i)} == then[v]
    with pytest.raises(InvalidInput, match="Changes are known since version"):
        online.changes(online.version_ + 1)


# --- the rest of the door ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_predict_agrees_with_the_labels_of_the_items(method):
    X = blobs(300, seed=8)
    online = method(metric="cosine", n_clusters=5).fit(X)
    assert (online.predict(X) == online.labels_).all()
    assert (online.predict(X, n_clusters=9) == online.tree_.cut(n_clusters=9)).all()
    assert online.tree_.n_leaves == 300
    assert len(online.predict(X[:0])) == 0


def test_one_two_and_no_points():
    for method in METHODS:
        online = method()
        with pytest.raises(InvalidInput, match="holds no items"):
            _ = online.tree_
        online.partial_fit(np.empty((0, 3)))
        assert len(online.ids_) == 0
        assert online.partial_fit([[1.0, 2.0]]).tree_.n_leaves == 1
        assert online.partial_fit([[1.0, 2.0]]).tree_.n_leaves == 2  # a duplicate
        assert online.remove([0, 1]).ids_.tolist() == []
        assert online.partial_fit([[1.0, 2.0], [2.0, 1.0], [1.0, 2.1]]).ids_.tolist() == [2, 3, 4]


@pytest.mark.parametrize("method", [*METHODS, Perch, OHAC, MiniBatchHAC, MiniBatchSCC, LiveTree])
def test_bad_input_changes_nothing(method):
    X = blobs(20)
    online = method().partial_fit(X)
    before = online.version_
    bad = X.copy()
    bad[7, 2] = np.nan
    for call, message in [
        (lambda: online.partial_fit(bad), "NaN"),
        (lambda: online.partial_fit(X[:, :3]), "features|columns"),
        (lambda: online.partial_fit(X, ids=range(20)), "id 0 is in the tree already"),
        (lambda: online.partial_fit(X[:2], ids=["a", "a"]), "two rows"),
        (lambda: online.partial_fit(X[:2], ids=[1.5, 2.5]), "whole numbers or strings"),
        (lambda: online.partial_fit(X[:2], ids=["a"]), "equal length"),
        (lambda: online.partial_fit(X[:2], sample_weight=[1.0, -1.0]), "weight"),
        (lambda: online.partial_fit(np.zeros((1, 6))), "zero|cosine"),
        (lambda: online.remove(["nobody"]), "not in the tree; nothing was changed"),
        (lambda: online.remove([1, 1]), "twice"),
        (lambda: online.update([1, 2], X[:1]), "equal length"),
        (lambda: online.update([99], X[:1]), "not in the tree"),
    ]:
        with pytest.raises(CladifyError, match=message):
            call()
        assert online.version_ == before and len(online.ids_) == 20
    online.partial_fit(X[:0]).remove([]).update([], X[:0])
    assert online.version_ == before and len(online.remove(range(20))) == 0  # down to the last
    assert online.partial_fit(X[:3]).tree_.n_leaves == 3


def test_bad_parameters():
    X = blobs(20)
    for wrong, message in [
        ({"metric": "jaccard"}, "linkage= a function"),
        ({"linkage": "wrad"}, "linkage"),
        ({"linkage": "centroid", "metric": "dot"}, "needs metric 'cosine'"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"search": "magic"}, "search"),
    ]:
        with pytest.raises(CladifyError, match=message):
            Grinch(**wrong).partial_fit(X)


def test_a_linkage_that_fails_leaves_the_tree_as_it_was():
    X = blobs(30)
    calls = []

    def moody(A, B):
        calls.append(1)
        return float("nan") if len(calls) > 400 else -float(((A.mean(0) - B.mean(0)) ** 2).sum())

    online = Rotate(linkage=moody).partial_fit(X[:10])
    calls.extend([1] * 395)
    with pytest.raises(InvalidInput, match="returned NaN"):
        online.partial_fit(X[10:])
    calls.clear()
    assert healthy(online) and online.ids_.tolist() == list(range(10))
    assert online.partial_fit(X[10:]).tree_.n_leaves == 30


def test_sklearn_can_copy_it():
    from sklearn.base import clone

    online = Grinch(n_neighbors=7, cap=None).fit(blobs(30))
    assert clone(online).get_params() == online.get_params()
    assert not hasattr(clone(online), "_state")


def test_purity_on_images(dataset):
    """Against table 3.3 of the thesis, on a part that takes a second."""
    data = dataset("aloi")
    some = np.random.default_rng(0).permutation(len(data["y"]))[:5000]
    X, y = data["X"][some], data["y"][some]
    purity = {m: float(dendrogram_purity(m().fit(X).tree_, y)) for m in METHODS}
    assert purity[Greedy] > 0.42 and purity[Rotate] > 0.48 and purity[Grinch] > 0.51


def test_public_names():
    assert cladify.Grinch is Grinch and cladify.online.Rotate is Rotate
