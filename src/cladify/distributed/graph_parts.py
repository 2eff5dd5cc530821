"""`ShardedGraph`: a neighbour graph whose rows lie in parts, one contiguous range of points each.

A part is ``(indptr, indices, value)``: the rows of its points in CSR form, columns ascending within a row. Columns are
points of the whole graph, int64. Values are the weights or the distances of the edges, whichever the graph keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Similarity
from cladify.distributed._edges import Part, combine_pairs, even_offsets
from cladify.errors import InvalidInput

__all__ = ["ShardedGraph"]


@dataclass(frozen=True)
class ShardedGraph:
    """A graph in parts of contiguous rows.

    Attributes
    ----------
    offsets : int64 array of shape (n_parts + 1,)
        Part i has the rows ``offsets[i]:offsets[i + 1]``.
    parts : list of Delayed or Future
        ``(indptr int64, indices int64, value float32)`` of each part.
    values : "weight" or "distance"
        The kind of the values; graphs of a distance, and of cosine, keep distances.
    metric : str or Similarity
    kind : "similarity" or "distance", optional
        Which of the two the metric is, where its name does not say.
    symmetric : bool
        Whether every edge has its reverse with the same value.
    info : dict
        How the graph was made.
    """

    offsets: np.ndarray
    parts: list[Any]
    values: Literal["weight", "distance"] = "weight"
    metric: str | Similarity = "precomputed"
    kind: Literal["similarity", "distance"] | None = None
    symmetric: bool = False
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.parts) + 1:
            raise InvalidInput(f"{len(self.parts)} parts need {len(self.parts) + 1} offsets, got {len(self.offsets)}.")

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.offsets[-1])

    @property
    def n_parts(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return f"ShardedGraph({self.n} points in {self.n_parts} parts, metric={str(self.metric)!r})"

    @classmethod
    def from_graph(cls, graph: NeighborGraph, n_parts: int) -> ShardedGraph:
        """The graph in parts of about the same number of rows, with both directions of every edge."""
        from dask import delayed

        graph = graph.symmetrize()
        own = graph.kind == "similarity" and graph._distance is None
        what: Literal["weight", "distance"] = "weight" if own else "distance"
        value, offsets = graph.values(what), even_offsets(graph.n_points, n_parts)
        parts = []
        for low, high in pairwise(offsets):
            edges = slice(graph.indptr[low], graph.indptr[high])
            rows = graph.indptr[low : high + 1] - graph.indptr[low]
            parts.append(delayed((rows, graph.indices[edges].astype(np.int64), value[edges]), traverse=False))
        return cls(
            offsets,
            parts,
            values=what,
            metric=graph.similarity or graph.metric,
            kind=graph.kind,
            symmetric=True,
            info=dict(graph.info),
        )

    def symmetrize(self) -> ShardedGraph:
        """The graph with both directions of every edge, as :meth:`NeighborGraph.symmetrize` makes it.

        An edge that goes both ways keeps the larger weight or the smaller distance. Each part sends every other one
        the reverse of the edges that end there.
        """
        if self.symmetric:
            return self
        from dask import delayed

        send, both = delayed(_reverse, pure=True), delayed(_merge, pure=True)
        ranges = list(pairwise(self.offsets.tolist()))
        sent = [send(part, low, self.offsets) for part, (low, _) in zip(self.parts, ranges, strict=True)]
        parts = [
            both(part, low, high, [pieces[j] for pieces in sent], self.values == "distance")
            for j, (part, (low, high)) in enumerate(zip(self.parts, ranges, strict=True))
        ]
        return replace(self, parts=parts, symmetric=True, info={**self.info, "symmetrized": "max"})

    def gather(self, client: Any = None) -> NeighborGraph:
        """The whole graph on one machine."""
        import dask

        parts: Sequence[Part]
        parts = dask.compute(*self.parts) if client is None else client.gather(client.compute(self.parts))
        return self.assemble(parts)

    def assemble(self, parts: Sequence[Part]) -> NeighborGraph:
        """The graph of the parts' arrays, in their order."""
        ends = np.cumsum([0] + [len(indices) for _, indices, _ in parts])
        indptr = [rows[:-1] + start for (rows, _, _), start in zip(parts, ends[:-1], strict=True)] + [ends[-1:]]
        values: dict[str, Any] = {self.values: np.concatenate([value for _, _, value in parts])}
        return NeighborGraph(
            np.concatenate(indptr),
            np.concatenate([indices for _, indices, _ in parts]),
            **values,
            metric=self.metric,
            kind=self.kind,
            symmetric=self.symmetric or None,
            info=self.info,
        )


def _reverse(part: Part, low: int, offsets: np.ndarray) -> list[Part]:
    """The edges of a part reversed: rows, columns and values for each part they end in."""
    indptr, indices, value = part
    owner = np.repeat(np.arange(low, low + len(indptr) - 1), np.diff(indptr))
    order = np.argsort(indices, kind="stable")
    cuts = np.searchsorted(indices[order], offsets)
    pieces = [order[a:b] for a, b in pairwise(cuts)]
    return [(indices[piece], owner[piece], value[piece]) for piece in pieces]


def _merge(part: Part, low: int, high: int, pieces: list[Part], smaller: bool) -> Part:
    """A part with the edges that come back to it; of two directions the larger value stays, or the ``smaller``."""
    indptr, indices, value = part
    rows = np.concatenate([np.repeat(np.arange(low, high), np.diff(indptr)), *(piece[0] for piece in pieces)]) - low
    columns = np.concatenate([indices, *(piece[1] for piece in pieces)])
    values = np.concatenate([value, *(piece[2] for piece in pieces)])
    rows, columns, values = combine_pairs(rows, columns, values, np.minimum if smaller else np.maximum)
    degree = np.bincount(rows, minlength=high - low)
    return np.concatenate([[0], np.cumsum(degree)]), columns, values
