"""What known labels say of other rows, against a plain count of it."""

import numpy as np
import pytest

import cladify
from cladify.graphtree import Guide
from cladify.graphtree._edges import neighbor_edges
from cladify.graphtree._labels import KnownLabels, walks
from cladify.metrics import pairwise_f1
from tests.points import labelled_blobs


def parts(n_labels, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    known = np.where(rng.random(n) < 0.6, rng.integers(n_labels, size=n), -1)
    weight = neighbor_edges(cladify.neighbors.neighbors(X, 6), np.ones(n), 1).to_scipy()
    return X, known, weight, cladify.fit(X, "graph")


def plain_walks(weight, known):
    P = weight.toarray().astype(np.float64)
    P /= P.sum(axis=1, keepdims=True)
    fixed = np.zeros((len(known), known.max() + 1))
    fixed[known >= 0, known[known >= 0]] = 1
    share = fixed.copy()
    for _ in range(30):
        share = 0.95 * P @ share
        share[known >= 0] = fixed[known >= 0]
    return share


@pytest.mark.parametrize("n_labels", [2, 16, 35])
def test_blocks_of_labels_are_those_of_all_at_once(n_labels):
    _, known, weight, _ = parts(n_labels)
    found = np.concatenate([share for _, share in walks(weight, known)], axis=1)
    np.testing.assert_allclose(found, plain_walks(weight, known), atol=1e-5)


@pytest.mark.parametrize("n_labels", [3, 35])
def test_factors_and_mixture_by_their_definition(n_labels):
    X, known, weight, tree = parts(n_labels)
    n, is_known = len(X), known >= 0
    labels = KnownLabels(weight, known, 0)
    labels.trust = 0.7
    share, usual = plain_walks(weight, known), np.bincount(known[is_known]) / is_known.sum()
    reached = share.sum(axis=1, keepdims=True)
    around = np.zeros((tree.n_nodes, len(usual)))
    for v in range(tree.n_nodes - 1, -1, -1):
        above = usual if v == tree.root else around[tree.parent[v]]
        rows = known[tree.members(v)]
        count = np.bincount(rows[rows >= 0], minlength=len(usual))
        around[v] = (count + above) / (count.sum() + 1)
    both = np.sqrt(((share + 0.05 * usual) / (reached + 0.05) + 0.01) * (around[:n] + 0.01))
    both = 0.7 * both / both.sum(axis=1, keepdims=True) + 0.3 * usual
    both[is_known] = 0.02 * usual + 0.98 * np.eye(len(usual))[known[is_known]]
    a = np.repeat(np.arange(n), np.diff(weight.indptr))
    expected = np.sqrt((both[a] * both[weight.indices]).sum(axis=1) / (usual**2).sum())
    np.testing.assert_allclose(labels.factors(tree), expected, rtol=1e-3)

    one, sure = share / reached, (reached / (reached + 0.05)).ravel()
    for v in range(n, tree.n_nodes):
        rows = tree.members(v)
        mean = np.average(one[rows], axis=0, weights=sure[rows])
        mixed = (sure[rows] * ((one[rows] - mean) ** 2).sum(axis=1)).sum()
        assert labels.mixed(tree)[v] == pytest.approx(mixed, abs=1e-3)


def test_trust_is_what_hidden_labels_deserve():
    X, y = labelled_blobs(300, k=4, seed=3)
    weight = neighbor_edges(cladify.neighbors.neighbors(X, 8), np.ones(len(X)), 1).to_scipy()
    rng = np.random.default_rng(0)
    known = np.where(rng.random(len(X)) < 0.2, y, -1)
    assert KnownLabels(weight, known, 0).trust > 0.9
    known[known >= 0] = rng.permutation(known[known >= 0])
    assert KnownLabels(weight, known, 0).trust < 0.3
    assert KnownLabels(weight, np.where(np.arange(len(X)) == 7, 2, -1), 0).trust == 0.0


def test_labels_of_a_tenth_help_the_others():
    """Each label is two of eight clusters, wherever these lie."""
    X, y = labelled_blobs(400, k=8, seed=5)
    y = y // 2
    known = np.random.default_rng(1).random(len(X)) < 0.1
    free = cladify.fit(X, "graph").cut(n_clusters=4, by="spread")
    told = cladify.fit(X, "graph", guide=Guide(labels=np.where(known, y, -1))).cut(n_clusters=4, by="spread")
    assert pairwise_f1(told[~known], y[~known]) > pairwise_f1(free[~known], y[~known]) + 0.1
