"""Soft membership from a tree and its graph."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import cladify
from cladify import NeighborGraph
from cladify.errors import InvalidInput
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


def test_bad_input():
    graph = cladify.neighbors(np.random.default_rng(0).random((10, 2)), 3)
    for params, message in [
        ({}, "Say which clusters"),
        ({"n_clusters": 2}, "give the tree"),
        ({"labels": [0, 1]}, "labels must be 10 integers"),
        ({"labels": np.zeros(10, dtype=int), "min_weight": 0}, "min_weight must be a finite number"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            soft_membership(None, graph, **params)
