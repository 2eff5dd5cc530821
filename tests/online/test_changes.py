"""Items that come, leave and change, for every online method: invariants after each change, weights, half removed."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from points import blobs

from benchmarks.changes import shake
from cladify.datasets import make_strictly_separated
from cladify.metrics import dendrogram_purity
from cladify.online import OHAC, Greedy, Grinch, LiveTree, MiniBatchHAC, MiniBatchSCC, Perch, Rotate

SUMS = [Greedy, Rotate, Grinch, Perch, OHAC, MiniBatchHAC]  # methods that keep sums of rows
ALL = [*SUMS, partial(Perch, max_leaves=30), MiniBatchSCC, LiveTree]


@pytest.mark.parametrize("method", ALL)
def test_thousands_of_changes_keep_every_invariant(method):
    shake(method(), blobs(4000), 400, batch=11, purge=50)


@pytest.mark.parametrize("method", ALL)
def test_the_folder_holds_what_the_tree_holds(method, tmp_path):
    online = method().partial_fit(blobs(4000)[:1], ids=["first"]).save(tmp_path).remove(["first"])
    shake(online, blobs(4000), 100, seed=1, batch=5, folder=tmp_path, every=10)


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "dot"])
@pytest.mark.parametrize("method", SUMS)
def test_equal_weights_change_nothing(method, metric):
    X = blobs(60)
    plain, heavy = method(metric).fit(X).tree_, method(metric).fit(X, sample_weight=np.full(60, 3.0)).tree_
    assert plain.parent.tolist() == heavy.parent.tolist() and np.allclose(plain.height, heavy.height)


def test_a_row_of_weight_three_is_three_rows():
    X = blobs(12)
    three = np.repeat(X, 3, axis=0)
    for method in (Grinch, Rotate):
        once = method(metric="sqeuclidean").fit(X, sample_weight=np.full(12, 3.0)).tree_
        again = method(metric="sqeuclidean").fit(three).tree_
        assert once.height[-1] == pytest.approx(again.height[-1])


@pytest.mark.parametrize("method", [Grinch, Rotate, Perch, OHAC])
def test_removing_half_is_about_as_good_as_a_fresh_build(method):
    X, y = make_strictly_separated(900, 12, n_features=6, random_state=2)
    X += np.random.default_rng(0).normal(scale=2.0, size=X.shape)
    kept = np.sort(np.random.default_rng(1).permutation(900)[:450])
    online = method(metric="sqeuclidean").fit(X).remove(np.setdiff1d(np.arange(900), kept))
    assert online.ids_.tolist() == kept.tolist()
    fresh = method(metric="sqeuclidean").fit(X[kept])
    assert float(dendrogram_purity(online.tree_, y[kept])) > float(dendrogram_purity(fresh.tree_, y[kept])) - 0.05
