"""What the round-based methods merge on: a graph of similarities between points, 0 where there is no edge.

A similarity graph is taken as it is. For distances an edge counts as ``missing − d``, where ``missing`` is the largest
distance of the graph: the mean over the pairs of two clusters is then their mean distance, with the pairs that have no
edge at the largest distance; on a complete graph it is average linkage itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramify.errors import InvalidInput, RamifyWarning
from ramify.neighbors.build import neighbors
from ramify.neighbors.graph import NeighborGraph, as_graph
from ramify.progress import Progress
from ramify.similarity import Similarity, get_similarity
from ramify.validate import is_sparse

__all__ = ["Links", "Scale", "as_links", "is_graph", "point_links"]


@dataclass
class Scale:
    """How the similarities that clusters merge by relate to the user's thresholds and to the tree's heights.

    Attributes
    ----------
    kind : "similarity" or "distance"
        What the user's thresholds are.
    ceiling : float
        For distances d, the similarity is ``ceiling − d``.
    to_height : (a, b)
        Height of a similarity s: ``a + b·s``.
    top, floor : float
        The largest similarity of two points, and one that no two points are below; what no rule merges is joined there.
    nearest : float
        For distances: the smallest one above 0.
    info : dict
        For the tree's info.
    """

    kind: str
    ceiling: float
    to_height: tuple[float, float]
    top: float
    floor: float
    nearest: float
    info: dict[str, Any] = field(default_factory=dict)

    def height(self, similarity: Any) -> np.ndarray:
        """Heights of similarities, at least 0."""
        a, b = self.to_height
        return np.maximum(a + b * np.asarray(similarity), 0.0)

    def similarity(self, height: float) -> float:
        """The similarity of a height."""
        a, b = self.to_height
        return (height - a) / b

    def convert(self, threshold: Any) -> np.ndarray:
        """The user's thresholds as similarities, and back."""
        threshold = np.asarray(threshold, dtype=np.float64)
        return threshold if self.kind == "similarity" else self.ceiling - threshold

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        """Quantiles of the similarities of pairs of points."""
        raise NotImplementedError


@dataclass
class Links(Scale):
    """A symmetric graph in CSR form; the similarity of an edge is ``shift + scale · value``."""

    indptr: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    indices: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    value: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    shift: float = 0.0
    scale: float = 1.0

    @property
    def n_points(self) -> int:
        return len(self.indptr) - 1

    def take(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The edges, handed over: the caller decides how long they live."""
        edges = self.indptr, self.indices, self.value
        self.indices, self.value = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
        return edges

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        some = self.value[:: max(1, len(self.value) >> 20)].astype(np.float64)
        return np.quantile(self.shift + self.scale * some, q) if len(some) else np.zeros(len(q))


def is_graph(X: Any, metric: Any) -> bool:
    """Whether ``X`` is a graph over the points: a NeighborGraph, or a sparse matrix that is square or precomputed."""
    if isinstance(X, NeighborGraph):
        return True
    if not is_sparse(X):
        return False
    precomputed = isinstance(metric, str | Similarity) and str(metric) == "precomputed"
    return precomputed or (X.ndim == 2 and X.shape[0] == X.shape[1])


def as_links(graph: NeighborGraph, n_jobs: int | None = -1) -> Links:
    """The links of a graph; one direction of an edge is enough."""
    graph = graph.symmetrize(n_jobs=n_jobs)
    info = {"metric": graph.metric, "n_edges": graph.n_edges // 2}
    if graph.kind == "distance":
        value = graph.distances()
        largest = value.max(initial=0.0)
        if not np.isfinite(largest):  # what NeighborGraph.connect() without X puts between parts
            finite = np.isfinite(value)
            largest = value[finite].max(initial=0.0)
            value = np.where(finite, value, largest)
        # Above the largest, so that even the longest edge says more than no edge.
        missing = float(np.nextafter(largest, np.float32(np.inf)))
        info["missing_distance"] = missing
        return Links(
            kind="distance",
            ceiling=missing,
            to_height=(missing, -1.0),
            top=missing - float(value.min(initial=largest)),
            floor=0.0,
            nearest=float(value.min(initial=largest, where=value > 0)),
            info=info,
            indptr=graph.indptr,
            indices=graph.indices,
            value=value,
            shift=missing,
            scale=-1.0,
        )
    value = graph.weight
    top = float(value.max(initial=-np.inf))
    if len(value) and not (np.isfinite(top) and np.isfinite(value.min())):
        raise InvalidInput("graph has an infinite similarity; similarities must be finite.")
    if len(value) and top <= 0:
        raise InvalidInput(
            f"graph has no positive similarity (the largest is {top:.4g}), so nothing can be merged on it. "
            "Make it with NeighborGraph.from_scipy(matrix, kind='distance') if its entries are distances."
        )
    top = max(top, 0.0)
    return Links(
        kind="similarity",
        ceiling=top,
        # A metric without a largest value, such as dot, counts heights from the most similar pair.
        to_height=graph.to_height if graph.to_height[0] > 0 else (top, -1.0),
        top=top,
        floor=0.0,
        nearest=0.0,
        info=info,
        indptr=graph.indptr,
        indices=graph.indices,
        value=value,
    )


def point_links(X: Any, metric: Any, n_neighbors: int, *, n_jobs: int | None, report: Progress) -> Links:
    """The links of ``X``: of the graph that it is, or of its rows' nearest neighbours."""
    if is_graph(X, metric):
        graph = as_graph(X, metric)
        if graph.n_points == 0:
            raise InvalidInput("graph has 0 points (shape=(0, 0)) while a minimum of 1 is required.")
        links = as_links(graph, n_jobs)
        links.info["input"] = "graph"
        parts = int(graph.components().max(initial=0)) + 1
        if parts > 1:
            warnings.warn(
                f"The graph has {parts} connected components; they are joined at the top of the tree with similarity 0."
                " Link them by their nearest points with graph.connect(X).",
                RamifyWarning,
                stacklevel=4,
            )
        return links
    similarity = get_similarity(metric)
    X = similarity.check(X)
    n = X.shape[0]
    if n == 1:
        graph = NeighborGraph([0, 0], np.empty(0, dtype=np.int32), np.empty(0), metric=similarity)
    else:
        graph = neighbors(X, min(n_neighbors, n - 1), similarity, n_jobs=n_jobs, progress=report)
    links = as_links(graph, n_jobs)
    links.info["neighbors"] = graph.info
    return links
