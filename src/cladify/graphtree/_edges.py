"""Edges of the graph that the cost is counted on: from distances of neighbours to weights that suit every region.

The similarity of two rows says little by itself: in a dense region all of a point's neighbours are close, in a sparse
one none is. So distances are weighed by the scale of the two ends, the distance to a point's fifth nearest neighbour:

.. math::
    a_{ij} = \\frac{\\sigma_{ij}}{\\sigma_{ij} + d_{ij}}, \\qquad \\sigma_{ij} = \\min(\\sigma_i, \\sigma_j),
    \\qquad W = A + A^T

and an edge that both ends have counts twice. The finer of the two scales decides: to an outlier everything is about as
far, and by its own scale it would tie all that is around it together. The choice is that of the study in
``docs/studies/graph.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify.data._edges import EdgeLists
from cladify.data.graph import NeighborGraph
from cladify.errors import InvalidInput

__all__ = [
    "LEAST_SCALE",
    "SCALE_AT",
    "Edges",
    "at_least",
    "default_neighbors",
    "fifth_distance",
    "given_edges",
    "is_distance",
    "neighbor_edges",
    "own_scale",
    "typical_scale",
]

#: The neighbour, counted from 0, whose distance is a point's own scale.
SCALE_AT = 4
#: A point's scale is at least this share of the median: among duplicates it would be 0, and cut all ties to the rest.
LEAST_SCALE = 0.05
_MEAN = 2  # how the core combines the two directions of an edge


@dataclass
class Edges(EdgeLists):
    """Similarities of points, and how many leaves each point stands for."""

    mass: np.ndarray

    @classmethod
    def from_scipy(cls, matrix: Any, mass: np.ndarray) -> Edges:
        matrix.sort_indices()
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False),
            np.ascontiguousarray(matrix.data, dtype=np.float32),
            mass,
        )


def default_neighbors(n: int) -> int:
    """Default number of neighbours: n^0.375, clipped to 10–25."""
    return int(np.clip(round(n**0.375), 10, 25))


def neighbor_edges(graph: NeighborGraph, mass: np.ndarray, n_jobs: int | None) -> Edges:
    """The edges of a graph of nearest neighbours, weighed by the scale of their ends."""
    weight = _weights(graph)
    # The mean of both directions, one that is missing counting as 0: half of A + Aᵀ.
    indptr, indices, both = _core.symmetrize(graph.indptr, graph.indices, weight, _MEAN, resolve_jobs(n_jobs))
    return Edges(indptr, indices, both, mass)


def given_edges(graph: NeighborGraph, mass: np.ndarray, n_jobs: int | None) -> Edges:
    """The edges of a graph that was given, as they are."""
    both = graph.symmetrize(n_jobs=n_jobs)
    weight = both.weight
    if len(weight) and not (np.isfinite(weight).all() and weight.min() >= 0):
        raise InvalidInput(
            f"the weights of a graph must be finite and not negative, got {weight.min():.4g}; shift or clip them first."
        )
    return Edges(both.indptr, both.indices, weight, mass)


def own_scale(graph: NeighborGraph) -> np.ndarray:
    """The distance of each point to its fifth nearest neighbour, or to its last if it has fewer."""
    scale = fifth_distance(graph.indptr, graph.distances())
    return at_least(scale, typical_scale(scale))


def fifth_distance(indptr: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The same as it is, infinite for a point with fewer neighbours than all others have."""
    degree = np.diff(indptr)
    n, k = len(degree), int(degree.max(initial=1))
    if (degree == k).all():
        table = distance.reshape(n, k)
    else:
        table = np.full((n, k), np.inf, dtype=distance.dtype)
        row = np.repeat(np.arange(n), degree)
        table[row, np.arange(len(distance)) - indptr[row]] = distance
    at = min(SCALE_AT, k - 1)
    return np.asarray(np.partition(table, at, axis=1)[:, at].astype(np.float64))


def typical_scale(scale: np.ndarray) -> float:
    """The median of the scales of points."""
    finite = scale[np.isfinite(scale)]
    return float(np.median(finite[finite > 0])) if (finite > 0).any() else 1.0


def at_least(scale: np.ndarray, typical: float) -> np.ndarray:
    """Scales of all points: at least a share of the typical one, which also replaces infinite ones."""
    return np.clip(np.where(np.isfinite(scale), scale, typical), LEAST_SCALE * typical, None)


def is_distance(graph: NeighborGraph) -> bool:
    """Whether the values of a graph can be turned into distances, 0 for equal points: products cannot."""
    return graph.kind == "distance" or graph.to_height[0] != 0.0


def _weights(graph: NeighborGraph) -> np.ndarray:
    distance = graph.distances()
    if not len(distance) or not is_distance(graph):
        return _by_rank(graph)
    scale = own_scale(graph).astype(distance.dtype)
    finer = np.minimum(np.repeat(scale, graph.degree), scale[graph.indices])
    weight: np.ndarray = (finer / (finer + distance)).astype(np.float32)
    return weight


def _by_rank(graph: NeighborGraph) -> np.ndarray:
    """For similarities that are no distance, such as products: nearer neighbours weigh more, whatever the values."""
    row = np.repeat(np.arange(graph.n_points), graph.degree)
    order = np.lexsort((-graph.weight, row))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order)) - graph.indptr[row]
    weight: np.ndarray = (1.0 / np.sqrt(rank + 1.0)).astype(np.float32)
    return weight
