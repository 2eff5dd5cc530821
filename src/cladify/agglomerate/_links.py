"""The input of the round-based methods: a graph of similarities between points, 0 where there is no edge.

A similarity graph is taken as it is. For distances an edge counts as ``missing − d``, where ``missing`` is the largest
distance of the graph: the mean over the pairs of two clusters is then their mean distance, with the pairs that have no
edge at the largest distance; on a complete graph it is average linkage itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.data._edges import EdgeLists
from cladify.data._heights import HeightRule
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points
from cladify.errors import CladifyWarning, InvalidInput
from cladify.neighbors.build import neighbors

__all__ = ["FAR", "Links", "Scale", "Spread", "as_links", "link_scale", "point_links"]


#: The height of points of which no pair is known: a cut at any threshold leaves them apart.
FAR = float(np.finfo(np.float32).max) / 2


@dataclass
class Scale:
    """How the similarities that clusters merge by relate to the user's thresholds and to the tree's heights.

    Attributes
    ----------
    kind : "similarity" or "distance"
        Kind of the user's thresholds.
    ceiling : float
        For distances d, the similarity is ``ceiling − d``.
    to_height : HeightRule
        The height of a similarity.
    top, floor : float
        The largest similarity of two points, and a lower bound of all, at which unmerged parts are joined.
    nearest : float
        For distances: the smallest one above 0.
    info : dict
        For the tree's info.
    """

    kind: str
    ceiling: float
    to_height: HeightRule
    top: float
    floor: float
    nearest: float
    info: dict[str, Any] = field(default_factory=dict)

    def height(self, similarity: Any) -> np.ndarray:
        """Heights of similarities, at least 0."""
        height = np.maximum(self.to_height(np.asarray(similarity)), 0.0)
        if self.kind == "similarity" or self.ceiling <= 0:
            return height
        # d comes back from ceiling − d but for the ceiling's last digit; a number of fewer digits is the one meant.
        short = np.round(height, 14 - int(np.ceil(np.log10(self.ceiling))))
        return np.where(np.abs(short - height) <= 2.0 * np.spacing(self.ceiling), short, height)

    def convert(self, threshold: Any) -> np.ndarray:
        """The user's thresholds as similarities, and back."""
        threshold = np.asarray(threshold, dtype=np.float64)
        return threshold if self.kind == "similarity" else self.ceiling - threshold

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        """Quantiles of the similarities of pairs of points."""
        raise NotImplementedError


@dataclass
class Links(Scale, EdgeLists):
    """Edges with a scale; the similarity of an edge is ``shift + scale · value``."""

    shift: float = 0.0
    scale: float = 1.0

    def take(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hand the edges over, so that the caller can free them early.

        The links have no ``indices`` and no ``value`` afterwards: a second call, or ``quantiles``, raises.
        """
        edges = self.indptr, self.indices, self.value
        del self.indices, self.value
        return edges

    def take32(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The edges, handed over in float32; `scale` absorbs a power of two where they are too large."""
        indptr, indices, value = self.take()
        if value.dtype != np.float32 and (largest := float(np.abs(value).max(initial=0.0))) > float(
            np.finfo(np.float32).max
        ):
            power = np.exp2(np.floor(np.log2(largest)))
            value, self.scale = value / power, self.scale * power
        return indptr, indices, value.astype(np.float32, copy=False)

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        some = self.value[:: max(1, len(self.value) >> 20)].astype(np.float64)
        return np.quantile(self.shift + self.scale * some, q) if len(some) else np.zeros(len(q))


@dataclass(frozen=True)
class Spread:
    """The range of the values of a graph; the ranges of parts can be added.

    Attributes
    ----------
    count : int
        Number of values.
    low, high, nearest : float
        The least and the largest finite value, and the least one above 0.
    finite : bool
        Whether all are.
    """

    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    nearest: float = np.inf
    finite: bool = True

    @classmethod
    def of(cls, value: np.ndarray) -> Spread:
        low, high = float(value.min(initial=np.inf)), float(value.max(initial=-np.inf))
        finite = not len(value) or bool(np.isfinite([low, high]).all())
        if not finite:
            known = np.isfinite(value)
            low = float(value.min(initial=np.inf, where=known))
            high = float(value.max(initial=-np.inf, where=known))
        return cls(len(value), low, high, float(value.min(initial=np.inf, where=value > 0)), finite)

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            self.count + other.count,
            min(self.low, other.low),
            max(self.high, other.high),
            min(self.nearest, other.nearest),
            self.finite and other.finite,
        )


def link_scale(kind: str, to_height: HeightRule, spread: Spread) -> dict[str, Any]:
    """The fields of :class:`Links` but for its edges, from the distances or the similarities of a graph.

    Infinite distances, which :meth:`NeighborGraph.connect` without X puts between parts, count as the largest one.
    """
    if kind == "distance":
        largest = max(spread.high, 0.0) if spread.count else FAR
        # Above the largest, so that even the longest edge says more than no edge.
        missing = max(largest * (1.0 + 2.0**-23), 2.0**-149)
        return {
            "kind": "distance",
            "ceiling": missing,
            "to_height": HeightRule(missing, -1.0),
            "top": missing - min(spread.low, largest),
            "floor": 0.0,
            "nearest": min(spread.nearest, largest),
            "info": {"missing_distance": missing},
            "shift": missing,
            "scale": -1.0,
        }
    if not spread.finite:
        raise InvalidInput("graph has an infinite similarity; similarities must be finite.")
    if spread.count and spread.high <= 0:
        raise InvalidInput(
            f"graph has no positive similarity (the largest is {spread.high:.4g}), so nothing can be merged on it. "
            "Make it with NeighborGraph.from_scipy(matrix, kind='distance') if its entries are distances."
        )
    top = max(spread.high, 0.0)
    # A metric without a largest value, such as dot, counts heights from the most similar pair.
    heights = to_height.from_top(top if spread.count else FAR)
    return {
        "kind": "similarity",
        "ceiling": top,
        "to_height": heights,
        "top": top,
        "floor": 0.0,
        "nearest": 0.0,
    }


def as_links(graph: NeighborGraph, n_jobs: int | None = -1) -> Links:
    """The links of a graph; one direction of an edge is enough."""
    graph = graph.symmetrize(n_jobs=n_jobs)
    value = graph.values("distance" if graph.kind == "distance" else "weight")
    spread = Spread.of(value)
    links = Links(
        **link_scale(graph.kind, graph.to_height, spread),
        indptr=graph.indptr,
        indices=graph.indices,
        value=value if spread.finite else np.where(np.isfinite(value), value, value.dtype.type(max(spread.high, 0.0))),
    )
    links.info = {"metric": graph.metric, "n_edges": graph.n_edges // 2} | links.info
    return links


def point_links(
    points: Points, n_neighbors: int, *, n_jobs: int | None, report: Progress, recall: float = 0.95
) -> Links:
    """The links of the points: of the graph that they are, or of their nearest neighbours."""
    if points.is_graph:
        graph: NeighborGraph = points.data
        links = as_links(graph, n_jobs)
        parts = int(graph.components().max(initial=0)) + 1
        if parts > 1:
            warnings.warn(
                f"The graph has {parts} connected components; they are joined at the top of the tree with similarity 0."
                " Link them by their nearest points with graph.connect(X).",
                CladifyWarning,
                stacklevel=6,
            )
        return links
    if points.n == 1:
        graph = NeighborGraph([0, 0], np.empty(0, dtype=np.int32), np.empty(0), metric=points.similarity)
    else:
        graph = neighbors(points, min(n_neighbors, points.n - 1), recall=recall, n_jobs=n_jobs, progress=report)
    links = as_links(graph, n_jobs)
    links.info["neighbors"] = graph.info
    return links
