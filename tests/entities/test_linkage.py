"""Linkages learned from labelled pairs."""

from __future__ import annotations

import numpy as np
import pytest

from cladify.agglomerate import HAC
from cladify.entities import BlockLinkage, LearnedLinkage, best_height, pair_features
from cladify.errors import InvalidInput
from cladify.metrics import best_f1, dendrogram_purity, pairwise_f1
from cladify.online import Grinch


def entities(n, k, seed, noise=0.25):
    """Only the first four columns tell entities apart; the others are large and mean nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.normal(size=(k, 4))[y] + noise * rng.normal(size=(n, 4))
    return np.concatenate([X, 2.0 * rng.normal(size=(n, 4))], axis=1), y


def columns(A, B):
    return np.abs(A - B)


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_it_learns_what_matters(model):
    X, y = entities(500, 50, 0)
    X_new, y_new = entities(120, 12, 1)
    link = LearnedLinkage(model, features=columns).fit(X, y)
    i, j = np.triu_indices(120, 1)
    p = link.probability(X_new[i], X_new[j])
    same = y_new[i] == y_new[j]
    assert p[same].mean() > 3 * p[~same].mean()
    if model == "logistic":  # the other takes long, a pair at a time
        learned = Grinch(linkage=link, n_neighbors=10).partial_fit(X_new)
        plain = Grinch(n_neighbors=10).partial_fit(X_new)
        purity = [float(dendrogram_purity(online.tree_, y_new)) for online in (learned, plain)]
        assert purity[0] > purity[1] + 0.1
        assert ((learned.tree_.height >= 0) & (learned.tree_.height <= 1)).all()


def test_a_cluster_counts_by_its_pairs():
    X, y = entities(200, 10, 2)
    link = LearnedLinkage(features=columns, max_pairs=1000).fit(X, y)
    A, B = X[:5], X[5:9]
    a, b = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    assert link(A, B) == pytest.approx(link.probability(A[a], B[b]).mean())
    assert 0.0 <= LearnedLinkage(max_pairs=3).fit(X, y)(X[:50], X[50:]) <= 1.0


def test_probabilities_are_those_of_the_classifier():
    X, y = entities(200, 10, 2)
    for model in ("logistic", "boosting"):
        link = LearnedLinkage(model, n_neighbors=3).fit(X, y)
        for size in (1, 7, 64):
            A, B = X[:size], X[size : 2 * size]
            assert (link.probability(A, B) == link.classifier_.predict_proba(pair_features(A, B))[:, 1]).all()


def test_features_of_a_pair():
    values = pair_features(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [3.0, 4.0]]))
    assert values == pytest.approx(np.array([[0.0, np.sqrt(2), 1.0, 1.0], [0.0, 5.0, 4.0, 3.5]]))


def test_bad_input():
    X, y = entities(30, 3, 3)
    with pytest.raises(InvalidInput, match="only one kind"):
        LearnedLinkage().fit(X, np.zeros(30, dtype=int))
    with pytest.raises(InvalidInput, match="model"):
        LearnedLinkage("forest").fit(X, y)
    with pytest.raises(InvalidInput, match="one row a pair"):
        LearnedLinkage(features=lambda A, B: np.ones(3)).fit(X, y)
    with pytest.raises(InvalidInput, match="finite numbers"):
        LearnedLinkage(features=lambda A, B: np.full_like(A, np.nan)).fit(X, y)


def test_blocks_are_average_linkage_of_the_log_odds():
    rng = np.random.default_rng(3)
    y = rng.integers(60, size=600)
    signal, weak = rng.normal(size=(60, 5))[y] + 0.3 * rng.normal(size=(600, 5)), rng.normal(size=(60, 3))[y]
    X = np.hstack([signal, weak + 2.0 * rng.normal(size=weak.shape), rng.normal(size=(600, 4))])
    link = BlockLinkage([5, 8]).fit(X[:300], y[:300])
    assert link.weights_.sum() == pytest.approx(1.0) and link.weights_[0] > 0.8 and (link.weights_ >= 0).all()
    Z = link.transform(X)
    cosine = [np.sum(a * b, axis=1) for a, b in _blocks(X[:50], X[50:100], [5, 8])]
    assert np.allclose(np.sum(Z[:50] * Z[50:100], axis=1), link.weights_ @ cosine, atol=1e-5)
    tree = Grinch().fit(Z[300:]).tree_
    assert best_f1(tree, y[300:]).f1 > best_f1(Grinch().fit(X[300:]).tree_, y[300:]).f1
    assert pairwise_f1(tree.cut(height=link.threshold_), y[300:]).f1 > 0.5


def _blocks(A, B, ends):
    for a, b in zip(np.split(A, ends, axis=1), np.split(B, ends, axis=1), strict=True):
        yield a / np.linalg.norm(a, axis=1, keepdims=True), b / np.linalg.norm(b, axis=1, keepdims=True)


def test_blocks_say_what_is_wrong():
    X, y = np.random.default_rng(0).normal(size=(40, 6)), np.arange(40) % 10
    with pytest.raises(InvalidInput, match="blocks must rise"):
        BlockLinkage([4, 2]).fit(X, y)
    with pytest.raises(InvalidInput, match="blocks must rise"):
        BlockLinkage([6]).fit(X, y)
    with pytest.raises(InvalidInput, match="only one kind"):
        BlockLinkage([3]).fit(X, np.zeros(40, dtype=int))


def test_best_height_sees_the_unknown_items_of_a_cluster():
    rng = np.random.default_rng(3)
    y = rng.integers(40, size=300)
    X = rng.normal(size=(40, 3))[y] + 0.3 * rng.normal(size=(300, 3))
    tree = HAC(metric="sqeuclidean").fit(X).tree_
    known = y < 3
    height = best_height(tree, np.where(known, y, -1), n_heights=400)

    def worth(labels):
        clusters = [set(np.flatnonzero(labels == c)) for c in range(labels.max() + 1)]
        entities = [set(np.flatnonzero(y == e)) for e in range(40)]
        shared = [(clusters[labels[i]], entities[y[i]]) for i in np.flatnonzero(known)]
        precision = np.mean([len(k & r) / len(k) for k, r in shared])
        recall = np.mean([len(k & r) / len(r) for k, r in shared])
        return 2 * precision * recall / (precision + recall)

    best = max(worth(tree.cut(height=h)) for h in tree.height[299:])
    assert worth(tree.cut(height=height)) == pytest.approx(best)
    # Among the known items alone a cut that joins them to strangers looks as good.
    alone = best_f1(tree, np.where(known, y, -1), over="heights").height
    assert worth(tree.cut(height=alone)) < best
    with pytest.raises(InvalidInput, match="No item is known"):
        best_height(tree, np.full(300, -1))
