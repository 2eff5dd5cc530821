"""Spectral cuts: against brute force over all cuts of the order, planted groups, and graphs that fall apart."""

import numpy as np
import pytest
from quick import seeds
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify.divide import _parts
from cladify.divide._parts import DensePart, FeaturePart, GraphPart
from cladify.errors import InvalidInput, NotEnoughMemory
from cladify.similarity import custom, get_similarity


def graph_of(S):
    """The graph of a matrix of similarities."""
    return cladify.NeighborGraph.from_scipy(csr_array(S))


def random_similarities(n, seed, density=1.0):
    random = np.random.default_rng(seed)
    W = random.random((n, n)) * (random.random((n, n)) < density)
    W = np.triu(W, 1)
    return W + W.T


def ncut(W, left):
    crossing = W[np.ix_(left, ~left)].sum()
    return crossing / W[left].sum() + crossing / W[~left].sum()


@pytest.mark.parametrize("seed", seeds(10))
def test_a_cut_is_the_best_along_the_second_eigenvector(seed):
    W = random_similarities(25, seed)
    left, mean = DensePart.of(W, np.ones(len(W))).cut(np.random.default_rng(0))
    root = np.sqrt(W.sum(axis=1))
    vector = np.linalg.eigh(W / root[:, None] / root)[1][:, -2] / root
    order = np.argsort(vector)
    values = []
    for size in range(1, 25):
        side = np.zeros(25, dtype=bool)
        side[order[:size]] = True
        values.append(ncut(W, side))
    assert ncut(W, left) == pytest.approx(min(values))
    assert mean == pytest.approx(W[np.ix_(left, ~left)].mean())


@pytest.mark.parametrize("seed", range(5))
def test_graph_and_features_cut_as_the_matrix_does(seed):
    X = make_blobs(300, centers=2, n_features=5, cluster_std=2.0, random_state=seed)[0] + 20.0
    features = FeaturePart.of(get_similarity("cosine").features(X), np.ones(300))
    W = get_similarity("cosine")(X).astype(np.float64)
    np.fill_diagonal(W, 0.0)
    x = np.random.default_rng(seed).standard_normal(300)
    assert np.allclose(features.product(x), W @ x, rtol=1e-3, atol=1e-3)
    order = np.random.default_rng(seed).permutation(300)
    expected = np.tril(W[np.ix_(order, order)], -1).sum(axis=1)
    for part in (features, DensePart.of(W, np.ones(len(W))), GraphPart(csr_array(W), np.ones(len(W)))):
        assert np.allclose(part.before(order), expected, atol=1e-3)
    best = ncut(W, DensePart.of(W, np.ones(len(W))).cut(np.random.default_rng(0))[0])
    for part in (features, GraphPart(csr_array(W), np.ones(len(W)))):
        assert ncut(W, part.cut(np.random.default_rng(0))[0]) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("options", [{}, {"n_neighbors": None, "metric": "rbf(0.01)"}], ids=["graph", "features"])
def test_blobs_are_found(options):
    X, y = make_blobs(400, centers=5, n_features=6, cluster_std=0.7, random_state=3)
    model = cladify.SpectralCut(n_clusters=5, random_state=0, **options).fit(X)
    assert model.tree_.is_binary and model.tree_.is_monotone
    assert adjusted_rand_score(y, model.labels_) > 0.98
    again = cladify.SpectralCut(n_clusters=5, random_state=0, n_jobs=1, **options).fit(X)
    assert np.array_equal(model.tree_.parent, again.tree_.parent)


def test_a_row_may_stand_for_several():
    """Weights count like repeated rows, apart from the similarity of copies to each other."""
    X = np.random.default_rng(0).standard_normal((40, 4)) + 3.0
    weight = np.random.default_rng(1).integers(1, 4, size=40).astype(float)
    W = get_similarity("cosine")(X).astype(np.float64)
    np.fill_diagonal(W, 0.0)
    dense = DensePart.of(W.copy(), weight)
    features = FeaturePart.of(get_similarity("cosine").features(X), weight)
    graph = GraphPart.of(cladify.NeighborGraph.from_scipy(csr_array(W)), weight)
    x, order = np.random.default_rng(2).standard_normal(40), np.random.default_rng(3).permutation(40)
    for part in (features, graph):
        assert np.allclose(part.product(x), dense.product(x), atol=1e-3)
        assert np.allclose(part.before(order), dense.before(order), atol=1e-3)
    model = cladify.SpectralCut(random_state=0)
    assert model.fit(X, sample_weight=weight).tree_.n_leaves == 40


def test_components_are_never_cut_first():
    W = random_similarities(60, 1, 0.5)
    W[:20, 20:] = W[20:, :20] = W[40:, :40] = W[:40, 40:] = 0
    tree = cladify.SpectralCut(random_state=0).fit(graph_of(W)).tree_
    assert adjusted_rand_score(np.repeat([0, 1, 2], 20), tree.cut(n_clusters=3)) == 1.0
    lonely = cladify.SpectralCut(random_state=0).fit(graph_of((50, 50))).tree_
    assert lonely.n_leaves == 50 and lonely.depth <= 6


def test_a_matrix_is_rearranged_block_by_block(monkeypatch):
    W = random_similarities(50, 4)
    order = np.random.default_rng(0).permutation(50)
    expected = np.tril(W[np.ix_(order, order)], -1).sum(axis=1)
    monkeypatch.setattr(_parts, "_VALUES", 170)  # three rows
    assert np.allclose(DensePart.of(W, np.ones(50)).before(order), expected)


def test_a_matrix_and_its_sides_must_fit(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 3))
    model = cladify.SpectralCut(metric=custom(lambda A, B: np.exp(-cdist(A, B)), kind="similarity"), n_neighbors=None)
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 12 * 100**2)
    with pytest.raises(NotEnoughMemory, match="on 100 points needs 160 kB"):
        model.fit(X)
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 20 * 100**2)
    assert model.fit(X).tree_.n_leaves == 100


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_equal_points(n):
    for options in ({}, {"n_neighbors": None, "metric": "cosine"}):
        tree = cladify.SpectralCut(random_state=0, **options).fit(np.ones((n, 3))).tree_
        assert tree.n_leaves == n and tree.is_binary


def test_what_it_refuses():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(InvalidInput, match="needs a similarity"):
        cladify.SpectralCut(n_neighbors=None).fit(X)
    with pytest.raises(InvalidInput, match="not negative"):
        cladify.SpectralCut().fit(graph_of(X @ X.T))
