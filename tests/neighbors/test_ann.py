"""The index that grows and shrinks, against an exact search."""

import numpy as np
import pytest

from cladify.errors import InvalidInput
from cladify.neighbors import AnnIndex, neighbors, query

pytest.importorskip("usearch", reason="needs the extra 'ann'")

X = np.random.default_rng(0).normal(size=(600, 12)).astype(np.float32)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "dot", "rbf"])
def test_finds_what_an_exact_search_finds(metric):
    index = AnnIndex(12, metric)
    index.add(np.arange(600), X)
    exact = query(X, X[:50], k=5, metric=metric)
    found = index.search(X[:50], k=5)
    shared = [len(set(a) & set(b)) for a, b in zip(found.indices, exact.indices, strict=True)]
    assert sum(shared) >= 0.95 * 250
    same = found.indices == exact.indices
    np.testing.assert_allclose(found.distance[same], exact.distance[same], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.weight[same], exact.weight[same], rtol=1e-4, atol=1e-4)


def test_removed_points_are_not_found_and_may_come_back():
    index = AnnIndex(12)
    index.add(np.arange(600), X)
    index.remove(np.arange(0, 600, 2))
    assert len(index) == 300 and 2 not in index and 3 in index
    found = index.search(X, k=3).indices
    assert (found % 2 == 1).all()
    exact = query(X[1::2], X, k=3).indices * 2 + 1
    assert np.mean([len(set(a) & set(b)) / 3 for a, b in zip(found, exact, strict=True)]) >= 0.95
    index.add([2], X[[2]])
    assert index.search(X[[2]], k=1).indices.tolist() == [[2]]


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_graph_by_index(metric):
    points = np.concatenate([X, X[:20]])  # with duplicates, which must not hide a neighbour
    exact = neighbors(points, 8, metric=metric)
    graph = neighbors(points, 8, metric=metric, method="ann", n_jobs=1)
    assert graph.info["method"] == "ann" and len(graph.indices) == len(exact.indices)
    rows = lambda g: [set(g.indices[a:b]) for a, b in zip(g.indptr, g.indptr[1:], strict=False)]  # noqa: E731
    assert np.mean([len(a & b) / 8 for a, b in zip(rows(graph), rows(exact), strict=True)]) >= 0.95
    assert all(i not in row for i, row in enumerate(rows(graph)))


def test_same_calls_same_answers():
    answers = []
    for _ in range(2):
        index = AnnIndex(12)
        index.add(np.arange(600), X)
        index.remove(np.arange(100))
        answers.append(index.search(X, k=7).indices)
    assert (answers[0] == answers[1]).all()


def test_fewer_points_than_asked_for():
    index = AnnIndex(12)
    assert index.search(X[:2], k=3).indices.tolist() == [[-1, -1, -1]] * 2
    index.add([5, 9], X[:2])
    for rows in (1, 2):
        found = index.search(X[:rows], k=3)
        assert found.indices[0].tolist() == [5, 9, -1] and np.isinf(found.distance[0, 2])


def test_refusals():
    index = AnnIndex(12)
    index.add([1, 2], X[:2])
    with pytest.raises(InvalidInput, match=r"1 ids are in the index already \(first: 2\)"):
        index.add([2, 3], X[:2])
    with pytest.raises(InvalidInput, match="3 ids for 2 rows"):
        index.add([4, 5, 6], X[:2])
    with pytest.raises(InvalidInput, match="differ from each other"):
        index.add([4, 4], X[:2])
    with pytest.raises(InvalidInput, match=r"1 ids are not in the index \(first: 7\); nothing was removed"):
        index.remove([1, 7])
    assert len(index) == 2
    with pytest.raises(InvalidInput, match="integers of at least 0"):
        index.add([-1], X[:1])
    with pytest.raises(InvalidInput, match="the index is expecting 12 features"):
        index.search(X[:, :3], k=1)
    with pytest.raises(InvalidInput, match="cannot be indexed"):
        AnnIndex(3, "jaccard")
