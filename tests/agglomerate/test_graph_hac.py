"""HAC on graphs: against SciPy on the full matrix in which missing pairs have similarity 0."""

import numpy as np
import pytest
from quick import seeds
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

import cladify
from cladify import HAC, NeighborGraph, Tree
from cladify.errors import CladifyWarning, InvalidInput


def graph_of(S):
    """The graph of a matrix of similarities."""
    return cladify.NeighborGraph.from_scipy(csr_array(S))


def random_similarities(n: int, density: float, seed: int) -> np.ndarray:
    """Symmetric, without ties among the edges, connected, exact in float32."""
    rng = np.random.default_rng(seed)
    S = rng.random((n, n)) * (rng.random((n, n)) < density)
    S[np.arange(n - 1), np.arange(1, n)] = 0.05 + rng.random(n - 1)
    S = np.triu(S, 1).astype(np.float32).astype(np.float64)
    return S + S.T


def same_above_zero(tree: Tree, Z: np.ndarray, top: float) -> None:
    """The same clusters, down from the last merge that has a similarity above 0."""
    n = tree.n_leaves
    heights = np.sort(tree.height[n:])
    assert np.allclose(heights, Z[:, 2], rtol=1e-6, atol=1e-7)
    expected = Tree.from_linkage(Z)
    for k in range(int((Z[:, 2] >= top - 1e-9).sum()) + 1, n + 1):
        assert np.array_equal(tree.cut(n_clusters=k), expected.cut(n_clusters=k))


@pytest.mark.parametrize("linkage", ["average", "single", "complete", "weighted"])
@pytest.mark.parametrize("seed", seeds(8))
def test_equals_scipy_with_missing_pairs_at_zero(linkage, seed):
    n = [3, 10, 50, 90][seed % 4]
    S = random_similarities(n, [0.2, 1.0][seed % 2], seed)
    top = S.max()
    D = top - S
    np.fill_diagonal(D, 0.0)
    tree = HAC(linkage=linkage).fit(graph_of(S)).tree_
    assert is_valid_linkage(tree.to_linkage())
    same_above_zero(tree, scipy_linkage(squareform(D, checks=False), linkage), top)


@pytest.mark.parametrize("linkage", ["average", "single", "complete", "weighted"])
def test_distances(linkage):
    X = np.random.default_rng(0).normal(size=(70, 3)).astype(np.float32)
    graph = cladify.neighbors(X, 69, metric="euclidean")
    D = graph.to_scipy("distance").toarray()
    D = np.maximum(D, D.T)
    tree = HAC(linkage=linkage).fit(graph).tree_
    same_above_zero(tree, scipy_linkage(squareform(D.astype(float), checks=False), linkage), np.inf)


def clusters(tree: Tree) -> set[frozenset[int]]:
    return {frozenset(tree.members(v).tolist()) for v in range(tree.n_leaves, tree.n_nodes)}


def weighted_naive(S: np.ndarray) -> set[frozenset[int]]:
    """All clusters of weighted linkage on similarities: the row of a union is the mean of its parts' rows."""
    S = S.astype(float)
    members = {i: frozenset([i]) for i in range(len(S))}
    found = set()
    while len(members) > 1:
        a, b = np.unravel_index(np.argmax(S), S.shape)
        S[a] = S[:, a] = 0.5 * (S[a] + S[b])
        S[b] = S[:, b] = S[a, a] = 0.0
        members[a] |= members.pop(b)
        found.add(members[a])
    return found


@pytest.mark.parametrize("hub", [0, 30, 59])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.3])
def test_weighted_linkage_of_a_hub(hub, density):
    # One point near all others: every merge halves what is left of its links, and may give its cluster a new name.
    rng = np.random.default_rng(hub)
    S = rng.random((60, 60)) * (rng.random((60, 60)) < density)
    S[hub] = rng.random(60)
    S = np.triu(np.maximum(S, S.T), 1).astype(np.float32).astype(float)
    expected = weighted_naive(S + S.T)
    for jobs in (1, 2):
        assert clusters(HAC(linkage="weighted", n_jobs=jobs).fit(graph_of(S)).tree_) == expected


def test_weighted_linkage_of_a_deep_tree():
    # More halvings than a double has exponents: what is left has similarity 0 as far as heights can tell.
    n = 3000
    star = csr_array((np.linspace(1.0, 2.0, n - 1), (np.full(n - 1, n - 1), np.arange(n - 1))), shape=(n, n))
    star = graph_of(star)
    tree = HAC(linkage="weighted").fit(star).tree_
    assert is_valid_linkage(tree.to_linkage())
    assert np.allclose(np.sort(tree.height[n:])[:4], 2.0 - np.array([2.0, 1.0, 0.5, 0.25]), atol=1e-2)
    assert tree.depth > 1000


def test_cosine_heights_are_those_of_vectors():
    X = np.random.default_rng(0).normal(size=(50, 4))
    on_graph = HAC(metric="cosine").fit(cladify.neighbors(X, 49, metric="cosine")).tree_
    on_vectors = HAC(metric="cosine").fit(X).tree_
    assert np.allclose(on_graph.height, on_vectors.height, atol=1e-5)
    assert np.array_equal(on_graph.parent, on_vectors.parent)


@pytest.mark.parametrize("linkage", ["average", "single", "complete", "weighted"])
def test_disconnected_parts_are_joined_at_similarity_zero(linkage):
    S = np.zeros((9, 9))
    S[0, 1] = S[1, 2] = S[0, 2] = 0.5
    S[4, 5] = 0.9
    with pytest.warns(CladifyWarning, match="6 connected components"):
        tree = HAC(linkage=linkage).fit(graph_of(S)).tree_
    assert tree.is_binary
    assert is_valid_linkage(tree.to_linkage())
    assert np.allclose(tree.height[9:], [0.0, 0.4, 0.4, *[0.9] * 5])
    assert tree.info["n_parts"] == 6
    # The smallest parts are joined first.
    assert tree.cut(n_clusters=2).tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_the_forest_is_minimal_also_with_ties(seed):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.integers(0, 4, (60, 60)), 1).astype(float)
    S[np.arange(59), np.arange(1, 60)] += 1
    D = 5.0 - (S + S.T)
    np.fill_diagonal(D, 0.0)
    Z = scipy_linkage(squareform(D), "single")
    for jobs in (1, 2):
        tree = HAC(linkage="single", n_jobs=jobs).fit(graph_of(S)).tree_
        for height in (0, 1, 2, 3):
            expected = Tree.from_linkage(Z).cut(height=height + 0.5 + (5 - S.max()))
            assert np.array_equal(tree.cut(height=height + 0.5), expected)


def test_epsilon_is_stated():
    S = graph_of(random_similarities(80, 0.3, 0))
    assert HAC(epsilon=0.2).fit(S).tree_.info["epsilon"] == 0.2
    assert "epsilon" not in HAC().fit(S).tree_.info
    assert "epsilon" not in HAC(linkage="single", epsilon=0.2).fit(S).tree_.info


def test_messages():
    graph = NeighborGraph.from_scipy(csr_array(random_similarities(5, 1.0, 0)))
    with pytest.raises(InvalidInput, match="linkage 'ward' needs vectors or a full matrix, got a graph"):
        HAC(linkage="ward").fit(graph)
    with pytest.raises(InvalidInput, match="epsilon must be a finite number of at least 0"):
        HAC(epsilon=-1).fit(graph)
