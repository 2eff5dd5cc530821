"""Ties over long distances: nearest neighbours among fewer and fewer of the points.

The nearest neighbours of a point say nothing about farther points. Where clusters are smaller than a neighbourhood
is wide, or lie far apart, the graph of neighbours has clusters and no clusters of clusters: it falls apart, and how its
parts are put together is left to chance. So each point is also tied to its nearest neighbours among a random tenth of
the points, among a tenth of those, and so on down to eleven, which makes the graph connected. All edges of a round
weigh a small share of those of the round before: they decide only where nearer neighbours have no say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cladify._kit.params import check_random_state
from cladify.data._exact import exact_query
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Similarity
from cladify.graphtree._edges import SCALE_AT, Edges, is_distance, neighbor_edges, own_scale
from cladify.graphtree._search import Budget

__all__ = ["edges_at_once", "link_parts", "tie_together"]

#: Points of a round, one in so many of the round before; and how many of them each point is tied to.
_FEWER, _TIES = 10, 10
#: Weight of all edges of the first round, in that of the graph; and of each round in that of the one before.
_SHARE, _FADE = 0.05, 0.1


def link_parts(graph: NeighborGraph, X: Any, budget: Budget) -> NeighborGraph:
    """A graph that :func:`tie_together` cannot help, values that are no distances or a few points, made connected."""
    if _has_ties(graph) or graph.is_connected:
        return graph
    return graph.connect(X, n_jobs=budget.n_jobs)


def edges_at_once(graph: NeighborGraph, mass: np.ndarray, X: Any, similarity: Similarity, budget: Budget) -> Edges:
    """The edges of points that are searched as a whole, at one scale: they have to say how far clusters lie apart."""
    edges = neighbor_edges(link_parts(graph, X, budget), mass, budget.n_jobs)
    return tie_together(edges, graph, X, similarity, budget)


def tie_together(edges: Edges, graph: NeighborGraph, X: Any, similarity: Similarity, budget: Budget) -> Edges:
    """``edges``, made from a graph of neighbours, and its ties over long distances."""
    if not _has_ties(graph):
        return edges
    scale = own_scale(graph)
    total = float(edges.value.sum(dtype=np.float64))
    matrix = edges.to_scipy()
    for number, far in enumerate(_rounds(X, similarity, scale, budget)):
        far.data *= np.float32(0.5 * _SHARE * _FADE**number * total / far.data.sum(dtype=np.float64))
        matrix = matrix + far + far.T
    return Edges.from_scipy(matrix.tocsr(), edges.mass)


def _has_ties(graph: NeighborGraph) -> bool:
    return graph.n_points > 2 * _TIES and is_distance(graph)


def _rounds(X: Any, similarity: Similarity, scale: np.ndarray, budget: Budget) -> Iterator[Any]:
    from scipy.sparse import csr_array

    n, k = X.shape[0], _TIES
    chance = check_random_state(budget.random_state).permutation(n).astype(np.int32)
    everyone = np.arange(n, dtype=np.int32)
    count = n
    while count > k + 1:
        count = max(count // _FEWER, k + 1)
        some = np.sort(chance[:count])
        found = exact_query(
            X[some], X, k, similarity, groups=(everyone, some), n_jobs=budget.n_jobs, report=budget.report
        )
        distance = np.maximum(similarity.height(found.values), 0.0)
        # The scale of this round; the finer one of the two ends, as an outlier's would tie everything together.
        own = np.maximum(distance[:, SCALE_AT], scale)
        own = np.minimum(own[:, None], own[some[found.indices]])
        weight = np.square(own / (own + distance))
        column = some[found.indices].ravel()
        yield csr_array((weight.ravel().astype(np.float32), column, np.arange(0, n * k + 1, k)), shape=(n, n))
