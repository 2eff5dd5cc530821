"""The OHC baseline."""

import numpy as np
import pytest

import cladify
from cladify import OHC, datasets
from cladify.errors import InvalidInput, NotEnoughMemory


def test_finds_separated_clusters():
    X, y = datasets.make_delta_separated(90, 5, n_features=3, random_state=0)
    for merging in (0.1, 0.5, 1.0):
        dag = OHC(metric="euclidean", merging=merging).fit(X).dag_
        assert cladify.metrics.jaccard_per_label(dag, y) == 1.0
        assert dag.size[dag.root] == 90 and (dag.height[dag.parent_ids[:90]] > 0).all()


def test_overlaps_in_the_middle():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    dag = OHC(merging=0.5, n_batches=500).fit(X).dag_
    assert not dag.is_tree
    assert dag.n_leaves == 6 and dag.minimal().n_nodes == dag.n_nodes


def test_tiny_and_bad_input(monkeypatch):
    assert OHC().fit(np.ones((1, 2))).dag_.n_nodes == 1
    assert OHC(metric="cosine").fit(np.eye(3)).dag_.n_leaves == 3
    with pytest.raises(InvalidInput, match="merging must be a finite number"):
        OHC(merging=1.5).fit(np.ones((3, 2)))
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match="use Llama"):
        OHC().fit(np.ones((300, 2)))
