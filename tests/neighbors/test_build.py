"""`neighbors`: its warnings before the work, and the index that grows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import cladify
from cladify.errors import CladifyWarning, InvalidInput
from cladify.neighbors import build


class Stop(Exception):
    """The search would begin now."""


def ring(n):
    """A graph in which every point is linked to the next one and the one before."""
    i = np.arange(n)
    ends = np.concatenate([i, (i + 1) % n]), np.concatenate([(i + 1) % n, i])
    return csr_array((np.ones(2 * n, np.float32), ends), shape=(n, n))


@pytest.fixture
def no_search(monkeypatch):
    def stop(*args, **kwargs):
        raise Stop

    monkeypatch.setattr(build, "exact_neighbors", stop)


def test_a_large_graph_given_as_rows_is_named_at_once(no_search):
    said = "read as 300000 rows.* takes about [0-9]+ s.*'precomputed-similarity' or NeighborGraph.from_scipy"
    with pytest.warns(CladifyWarning, match=said), pytest.raises(Stop):
        cladify.SCC().fit(ring(300_000))


def test_other_sparse_rows_are_not(no_search):
    lopsided = ring(20_000)
    lopsided.data[0] = 2.0
    for rows in (ring(500), lopsided, ring(20_000)[:, :19_000]):
        with pytest.raises(Stop):
            cladify.neighbors(rows, 3)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot"])
def test_the_growing_index_finds_what_an_exact_search_finds(metric):
    X = np.random.default_rng(0).normal(size=(600, 12)).astype(np.float32)
    points = np.concatenate([X, X[:20]])  # with duplicates, which must not hide a neighbour
    exact, graph = (cladify.neighbors(points, 8, metric=metric, method=method) for method in ("exact", "ann"))
    assert graph.info["method"] == "ann" and len(graph.indices) == len(exact.indices)
    pairs = zip(graph.indices.reshape(-1, 8), exact.indices.reshape(-1, 8), strict=True)
    assert np.mean([len(set(a) & set(b)) / 8 for a, b in pairs]) >= 0.95
    assert (graph.indices.reshape(-1, 8) != np.arange(620)[:, None]).all()
    with pytest.raises(InvalidInput, match="'ann' needs dense rows and another metric than 'jaccard'"):
        cladify.neighbors(np.abs(X), 3, metric="jaccard", method="ann")
