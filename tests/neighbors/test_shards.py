"""Overlapping shards: the recall asked for, exact values, and the same graph for any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp

import cladify
from cladify.data._frame import Frame, Prepared, Rows
from cladify.errors import InvalidInput

rng = np.random.default_rng(0)
X = (rng.normal(size=(40, 16))[rng.integers(40, size=6000)] + 0.4 * rng.normal(size=(6000, 16))).astype(np.float32)


def rows(graph):
    return graph.indices.reshape(graph.n_points if hasattr(graph, "n_points") else len(graph.indptr) - 1, -1)


def recall(found, true):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(rows(found), rows(true), strict=True)])


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("target", [0.8, 0.95])
def test_reaches_the_recall_asked_for(metric, target):
    exact = cladify.neighbors(X, 10, metric=metric, method="exact")
    found = cladify.neighbors(X, 10, metric=metric, method="shards", recall=target)
    assert recall(found, exact) >= target - 0.01
    assert abs(found.info["recall"] - recall(found, exact)) < 0.03
    same = rows(found) == rows(exact)
    np.testing.assert_allclose(
        found.distances().reshape(same.shape)[same], exact.distances().reshape(same.shape)[same], rtol=1e-5, atol=1e-6
    )
    assert (np.diff(np.sort(rows(found), axis=1), axis=1) > 0).all()
    assert not (rows(found) == np.arange(len(X))[:, None]).any()


def test_threads_and_repeats_do_not_change_the_graph():
    graphs = [cladify.neighbors(X, 10, method="shards", n_jobs=jobs, random_state=3) for jobs in (1, 2, 2)]
    for other in graphs[1:]:
        assert (other.indices == graphs[0].indices).all() and (other.weight == graphs[0].weight).all()


def test_duplicates_and_few_points():
    points = np.repeat(X[:50], 40, axis=0)
    found = cladify.neighbors(points, 10, method="shards")
    assert (found.distances() < 1e-4).mean() >= 0.95
    few = cladify.neighbors(X[:12], 11, method="shards")
    assert (np.sort(rows(few)) == np.sort(rows(cladify.neighbors(X[:12], 11, method="exact")))).all()


def test_auto_takes_shards_for_much_work(monkeypatch):
    from cladify.neighbors import build

    assert cladify.neighbors(X, 5).info["method"] == "exact"
    monkeypatch.setattr(build, "EXACT_WORK", 1e6)
    assert cladify.neighbors(X, 5).info["method"] == "shards"
    assert cladify.neighbors(X[:500], 5, metric="dot").info["method"] == "exact"


def test_refusals():
    with pytest.raises(InvalidInput, match="method 'shards' needs dense rows"):
        cladify.neighbors(sp.csr_array(X[:100]), 5, method="shards")
    with pytest.raises(InvalidInput, match="needs cosine or a Euclidean metric, got 'dot'"):
        cladify.neighbors(X[:100], 5, metric="dot", method="shards")
    with pytest.raises(InvalidInput, match="recall must be"):
        cladify.neighbors(X[:100], 5, recall=1.5)


@pytest.mark.parametrize("order", ["distance", "angle"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_made_when_asked_for_are_those_that_are_kept(order, dtype):
    """Far from the origin, and so large that they are scaled: what the search works on needs no copy of the data."""
    data = (X[:300] + 50.0).astype(dtype) * dtype(1e14)
    frame = Frame.of(data, order, 1)
    kept, made = Rows.of(data, frame, 1), Rows.of(data, frame, 1, keep=False)
    assert isinstance(made.z, Prepared) and np.array_equal(made.bias, kept.bias)
    scale = np.abs(kept.z).max()
    for some in (slice(10, 40), np.array([299, 0, 7])):
        np.testing.assert_allclose(made.z[some], kept.z[some], rtol=0, atol=1e-7 * scale)
