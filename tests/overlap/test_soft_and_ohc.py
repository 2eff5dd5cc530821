"""Soft membership from a tree and its graph, and the OHC baseline."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import cladify
from cladify import OHC, NeighborGraph, datasets
from cladify.errors import InvalidInput, NotEnoughMemory
from cladify.overlap import soft_membership


def test_weights_are_shares_of_neighbours():
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((40, 40)) * (rng.random((40, 40)) < 0.3), 1)
    labels = rng.integers(0, 5, 40)
    soft = soft_membership(
        None, NeighborGraph.from_scipy(csr_array(W + W.T)), labels=labels, min_weight=0.15, n_others=9
    )
    share = (W + W.T) @ np.eye(5)[labels]
    share /= share.sum(axis=1, keepdims=True)
    expected = np.where((share >= 0.15) | (np.arange(5) == labels[:, None]), share, 0.0)
    np.testing.assert_allclose(soft.to_scipy().toarray(), expected, rtol=1e-6)
    for i in range(40):
        assert soft.cluster[soft.start[i]] == labels[i]
        weights = [weight for _, weight in soft.also_in(i)]
        assert weights == sorted(weights, reverse=True)
    fewer = soft_membership(None, csr_array(W + W.T), labels=labels, min_weight=0.15, n_others=1)
    assert all(fewer.also_in(i) == soft.also_in(i)[:1] for i in range(40))


def test_only_the_border_is_in_two_clusters():
    X = np.concatenate([np.random.default_rng(0).normal(c, 1.0, (200, 2)) for c in (0.0, 3.0)])
    tree = cladify.fit(X, method="hac", linkage="ward")
    soft = soft_membership(tree, cladify.neighbors(X, 10), n_clusters=2)
    border = np.array([bool(soft.also_in(i)) for i in range(400)])
    middle = np.abs(X.sum(axis=1) - 3.0)
    assert 0 < border.sum() < 60 and middle[border].mean() < 0.5 * middle.mean()


def test_soft_membership_refuses():
    graph = cladify.neighbors(np.random.default_rng(0).random((10, 2)), 3)
    for params, message in [
        ({}, "Say which clusters"),
        ({"n_clusters": 2}, "give the tree"),
        ({"labels": [0, 1]}, "labels must be 10 integers"),
        ({"labels": np.zeros(10, dtype=int), "min_weight": 0}, "min_weight must be a finite number"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            soft_membership(None, graph, **params)


def test_ohc_finds_separated_clusters():
    X, y = datasets.make_delta_separated(90, 5, n_features=3, random_state=0)
    for merging in (0.1, 0.5, 1.0):
        dag = OHC(metric="euclidean", merging=merging).fit(X).dag_
        assert cladify.metrics.jaccard_per_label(dag, y) == 1.0
        assert dag.size[dag.root] == 90 and (dag.height[dag.parent_ids[:90]] > 0).all()


def test_ohc_overlaps_in_the_middle():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    dag = OHC(merging=0.5, n_batches=500).fit(X).dag_
    assert not dag.is_tree
    assert dag.n_leaves == 6 and dag.minimal().n_nodes == dag.n_nodes


def test_ohc_tiny_and_bad_input(monkeypatch):
    assert OHC().fit(np.ones((1, 2))).dag_.n_nodes == 1
    assert OHC(metric="cosine").fit(np.eye(3)).dag_.n_leaves == 3
    with pytest.raises(InvalidInput, match="merging must be a finite number"):
        OHC(merging=1.5).fit(np.ones((3, 2)))
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match="use Llama"):
        OHC().fit(np.ones((300, 2)))
