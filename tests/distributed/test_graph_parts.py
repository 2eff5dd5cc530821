"""A graph in parts is the graph: cut, symmetrised and put together again."""

from itertools import pairwise

import numpy as np
import pytest
from points import rows

import cladify
from cladify.errors import InvalidInput

pytest.importorskip("distributed")

from cladify.distributed import ShardedGraph
from cladify.distributed._edges import even_offsets, part_of


def directed_parts(graph, n_parts, values):
    from dask import delayed

    offsets = even_offsets(graph.n_points, n_parts)
    parts = []
    for low, high in pairwise(offsets):
        edges = slice(graph.indptr[low], graph.indptr[high])
        indptr = graph.indptr[low : high + 1] - graph.indptr[low]
        parts.append(delayed((indptr, graph.indices[edges].astype(np.int64), graph.values(values)[edges])))
    return ShardedGraph(offsets, parts, values=values, metric=graph.metric)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot"])
@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_symmetrize_is_the_local_one(metric, n_parts):
    graph = cladify.neighbors(rows(120), 4, metric=metric)
    values = "weight" if metric == "dot" else "distance"
    whole = graph.symmetrize()
    parts = directed_parts(graph, n_parts, values).symmetrize()
    assert parts.symmetric and parts.symmetrize() is parts
    for found in (parts.gather(), ShardedGraph.from_graph(graph, n_parts).gather()):
        np.testing.assert_array_equal(found.indptr, whole.indptr)
        np.testing.assert_array_equal(found.indices, whole.indices)
        np.testing.assert_array_equal(found.values(values), whole.values(values))
        assert (found.metric, found.kind, found.symmetric) == (whole.metric, whole.kind, True)


def test_the_two_directions_may_differ():
    from scipy.sparse import csr_array

    matrix = csr_array(np.array([[0, 1.0, 5.0], [3.0, 0, 0], [0, 2.0, 0]], dtype=np.float32))
    for kind, values in (("similarity", "weight"), ("distance", "distance")):
        graph = cladify.NeighborGraph.from_scipy(matrix, kind=kind)
        parts = directed_parts(graph, 2, values)
        found = ShardedGraph(parts.offsets, parts.parts, values=values, kind=kind).symmetrize().gather()
        whole = graph.symmetrize()
        np.testing.assert_array_equal(found.to_scipy(values).toarray(), whole.to_scipy(values).toarray())


def test_more_parts_than_points_and_a_single_point():
    graph = cladify.neighbors(rows(3), 2)
    parts = ShardedGraph.from_graph(graph, 5)
    assert parts.n == 3 and parts.n_parts == 5
    np.testing.assert_array_equal(parts.gather().indices, graph.symmetrize().indices)
    lonely = cladify.NeighborGraph([0, 0], np.empty(0, np.int32), np.empty(0, np.float32))
    assert ShardedGraph.from_graph(lonely, 2).gather().n_points == 1


def test_part_of_skips_empty_parts():
    offsets = np.array([0, 0, 2, 2, 5])
    assert part_of(offsets, np.arange(5)).tolist() == [1, 1, 3, 3, 3]


def test_offsets_must_fit_the_parts():
    with pytest.raises(InvalidInput, match="2 parts need 3 offsets, got 2"):
        ShardedGraph(np.array([0, 5]), [None, None])
