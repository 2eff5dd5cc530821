"""Labels that stay while clusters change."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cladify.online import Rotate
from cladify.online._labels import StableLabels


def test_numbers_stay_split_and_merge():
    labels = StableLabels()
    first = labels.update(list("abcdef"), np.array([0, 0, 0, 1, 1, 1]))
    assert first.labels.tolist() == [0, 0, 0, 1, 1, 1] and first.born == [0, 1] and first.gone == []
    # The clusters come in another order, one loses an item and a new one appears.
    second = labels.update(list("fedcbxy"), np.array([0, 0, 0, 1, 1, 2, 2]))
    assert second.labels.tolist() == [1, 1, 1, 0, 0, 2, 2]
    assert (second.born, second.gone, second.split, second.merged) == ([2], [], {}, {})
    third = labels.update(list("fedcbxy"), np.array([0, 1, 1, 2, 2, 2, 2]))
    assert third.labels.tolist() == [3, 1, 1, 0, 0, 0, 0]
    assert (third.born, third.gone, third.split, third.merged) == ([3], [2], {1: [1, 3]}, {0: [0, 2]})
    # A number is never used again.
    assert labels.update(["z"], np.array([0])).labels.tolist() == [4]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), unique_by=lambda pair: pair[0], min_size=1), st.data()
)
def test_a_renumbered_partition_keeps_its_labels(pairs, data):
    ids = [i for i, _ in pairs]
    cluster = np.unique([c for _, c in pairs], return_inverse=True)[1]
    labels = StableLabels()
    before = labels.update(ids, cluster).labels
    again = np.array(data.draw(st.permutations(range(int(cluster.max()) + 1))))[cluster]
    now = labels.update(ids, again)
    assert now.labels.tolist() == before.tolist()
    assert (now.born, now.gone, now.split, now.merged) == ([], [], {}, {})


def test_they_are_kept_in_the_folder(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    online = Rotate().partial_fit(X[:40])
    online.clusters(n_clusters=4)
    online.save(tmp_path).partial_fit(X[40:])
    before = online.clusters(n_clusters=6)
    online.close()
    again = Rotate.open(tmp_path)
    assert again.clusters(n_clusters=6).labels.tolist() == before.labels.tolist()
