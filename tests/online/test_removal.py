"""Many items leave: lists of neighbours are mended from around, and refresh() searches for them among all."""

from __future__ import annotations

import numpy as np
import pytest
from online_lists import scored_lists
from points import labelled_blobs

from cladify.online import LiveTree, MiniBatchSCC

K = 10


def found(online, X):
    """How many neighbours each item has, and which share of them are truly among its K nearest."""
    score, of, near = scored_lists(online, X[online.ids_])
    least = np.sort(score, axis=1)[:, -K] - 1e-5 * np.abs(score[np.isfinite(score)]).max()
    return np.bincount(of, minlength=len(score)), (score[of, near] >= least[of]).mean()


def whole(online):
    state = online._begin()
    return state.tree.broken_rule(1e-6) == "" and state.graph.broken_rule() == ""


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean"])
@pytest.mark.parametrize("method", [LiveTree, MiniBatchSCC])
@pytest.mark.parametrize("step", [1, 350])
def test_lists_are_right_after_half_have_left(method, metric, step):
    X, _ = labelled_blobs(700, 8, 12, seed=1, spread=0.4)
    online = method(metric, n_neighbors=K).fit(X)
    gone = np.random.default_rng(2).permutation(700)[:350]
    for start in range(0, 350, step):
        online.remove(gone[start : start + step])
    assert whole(online)
    online.partial_fit(X[:1] + 1e-3)  # those that still wait are served before anything arrives
    count, right = found(online, np.concatenate([X, X[:1] + 1e-3]))
    assert count.min() >= 2 * K / 3 and right > 0.95
    if isinstance(online, LiveTree):
        count, right = found(online.refresh(budget_seconds=20.0), np.concatenate([X, X[:1] + 1e-3]))
        assert count.min() == K and right == 1.0 and whole(online)


@pytest.mark.parametrize("method", [LiveTree, MiniBatchSCC])
def test_the_last_of_a_cluster_finds_others(method):
    X, y = labelled_blobs(600, 8, 4, seed=3, spread=0.4)
    online = method(n_neighbors=K).fit(X)
    last = np.flatnonzero(y == 0)[0]
    online.remove(np.setdiff1d(np.flatnonzero(y == 0), [last]))
    online.partial_fit(X[:1])
    count, right = found(online, np.concatenate([X, X[:1]]))
    assert count.min() >= 2 * K / 3 and right > 0.95 and whole(online)


@pytest.mark.parametrize("method", [LiveTree, MiniBatchSCC])
def test_lists_that_wait_wait_in_a_folder_too(method, tmp_path):
    X, _ = labelled_blobs(900, 8, 12, seed=4, spread=0.4)
    online = method(n_neighbors=K).partial_fit(X[:800])
    gone = np.random.default_rng(5).permutation(800)
    for item in gone[:100]:
        online.remove([item])
    assert 0 < len(online._begin().graph.short()) < 800 // 16
    online.save(tmp_path / "tree")
    online.close()
    again = method.open(tmp_path / "tree")
    for one in (online, again):
        for item in gone[100:300]:
            one.remove([item])
        one.partial_fit(X[800:])
    assert again.tree_ == online.tree_ and whole(again)
    again.close()


def test_hardly_any_left():
    X, _ = labelled_blobs(400, 8, 12, seed=6, spread=0.4)
    for method in (LiveTree, MiniBatchSCC):
        online = method(n_neighbors=K).fit(X).remove(range(395))
        assert whole(online) and online.tree_.n_leaves == 5
        online.partial_fit(X[:3])
        state = online._begin()
        own, _, _ = state.graph.neighbors(state.items.leaves)
        assert whole(online) and np.bincount(own)[state.items.leaves].tolist() == [7] * 8
