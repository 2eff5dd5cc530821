"""`confidence`: how firmly items sit in their clusters."""

import numpy as np
import pytest

import cladify
from cladify.errors import InvalidInput
from cladify.graphtree import confidence
from cladify.graphtree._edges import neighbor_edges


def blobs(seed=0):
    rng = np.random.default_rng(seed)
    label = np.repeat([0, 1, 2], 60)
    return (rng.normal(size=(180, 2)) + np.array([[0, 0], [6, 0], [0, 6]])[label]).astype(np.float32), label


def test_against_the_definition():
    X, label = blobs()
    graph = cladify.neighbors(X, 6)
    W = neighbor_edges(graph, np.ones(180), 1).to_scipy().toarray().astype(np.float64)
    P = W / W.sum(axis=1, keepdims=True)
    walks = sum(np.linalg.matrix_power(P, t) for t in (1, 2, 3, 4)) / 4
    same = label[:, None] == label[None, :]
    stays = (walks * same).sum(axis=1)
    cluster = np.array([stays[label == c].mean() for c in range(3)])
    assert np.allclose(confidence(graph, label), np.sqrt(stays * cluster[label]), atol=1e-6)


def test_nobody_sits_firmly_in_a_loose_cluster():
    X, label = blobs()
    label[label == 2] = np.random.default_rng(0).integers(2, 4, size=60)  # one blob, shared by two clusters at random
    firm = confidence(X, label)
    assert np.median(firm[label < 2]) > 0.95 and firm[label >= 2].max() < 0.8


def test_points_between_clusters_are_the_least_firm():
    X, label = blobs()
    X[5] = [3.0, 0.0]
    label[7] = 1  # an item that has been put into the wrong cluster
    firm = confidence(X, label)
    assert firm.min() >= 0 and firm.max() <= 1 and np.median(firm) > 0.95
    assert firm[7] < 0.5 and firm[5] < 0.9


def test_rows_and_their_graph_agree_and_labels_may_be_anything():
    X, label = blobs()
    model = cladify.GraphTree(metric="cosine").fit(X)
    a = confidence(X, label, metric="cosine")
    assert np.allclose(a, confidence(model.graph_, label))
    assert np.allclose(a, confidence(X, np.array(["x", "y", "z"])[label], metric="cosine"))
    assert confidence(X, np.zeros(180)).min() > 1 - 1e-9
    assert confidence(X[:1], [0]).tolist() == [0.0]


def test_refusals():
    X, label = blobs()
    with pytest.raises(InvalidInput, match="labels must have shape"):
        confidence(X, label[:5])
    with pytest.raises(InvalidInput, match="n_neighbors must be an int"):
        confidence(X, label, n_neighbors=0)
