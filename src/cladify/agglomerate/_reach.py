"""Spanning trees under mutual reachability: exact from vectors, exact from any metric, and of a graph.

    w(i, j) = max(core_i, core_j, d(i, j) / α)

Vectors whose metric is a squared distance at heart go through lists of neighbours and Borůvka's rounds
(``core/agglomerate/hac/reach.hpp``); their searches are matrix products in blocks, and blocks that lie too far away
are left out. Other metrics take Prim's algorithm, a row of distances at a time. Both need memory for the data and
a few numbers a point, never for all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cladify import _core
from cladify._kit.memory import check_memory
from cladify._kit.parallel import map_blocks, resolve_jobs, row_blocks
from cladify._kit.progress import Progress
from cladify.agglomerate._links import FAR
from cladify.data._exact import exact_neighbors
from cladify.data._frame import Frame, Rows, row_squares
from cladify.data._vectors import is_sparse
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Similarity

__all__ = ["Spanning", "graph_spanning", "has_order", "matrix_spanning", "vector_spanning"]

_LIST = 16  # neighbours a point starts with, at least
_GROUPS = 8  # components that a search looks for
_ROWS, _COLUMNS = 256, 1024  # a block of products


class Spanning(NamedTuple):
    """The edges of a spanning tree in the order of Prim's algorithm, and the core distance of every point."""

    left: np.ndarray
    right: np.ndarray
    height: np.ndarray
    core: np.ndarray


@dataclass(frozen=True)
class _Order(Similarity):
    """A metric's neighbours with the values that order them: squared distances, of unit rows for cosine."""

    metric: Similarity

    @property
    def order(self) -> Any:  # type: ignore[override]
        return self.metric.order


#: Power of 1/α in the squared distances that stand for a metric.
_POWER = {"euclidean": 2, "sqeuclidean": 1, "cosine": 1}


def has_order(similarity: Similarity, alpha: float) -> bool:
    """Whether squared distances between rows, scaled by a power of 1/α, order pairs as the metric does."""
    return similarity.order in ("distance", "angle") and (similarity.name in _POWER or alpha == 1.0)


# --- vectors ----------------------------------------------------------------------------------------------------------


def vector_spanning(
    X: Any, similarity: Similarity, min_samples: int, alpha: float, *, n_jobs: int | None, report: Progress
) -> Spanning:
    """Of the rows of ``X``, for metrics that :func:`has_order`."""
    n, d = X.shape
    k = min(max(min_samples - 1, _LIST), n - 1)
    # Rows in float32 and, twice while they are sorted, in float64; lists of neighbours, and as edges of a graph.
    check_memory(
        n * (24 * d + 100 * k),
        f"Exact robust single linkage of {n} points of {d} features",
        "use n_neighbors=25, which works on a graph.",
    )
    nearest = exact_neighbors(X, k, _Order(similarity), n_jobs=n_jobs, report=report)
    core = np.zeros(n) if min_samples == 1 else nearest.values[:, min_samples - 2].copy()
    scale = alpha ** -_POWER.get(similarity.name, 0)
    forest = _core.ReachForest(nearest.indices, nearest.values * scale, core)
    points: _Points | None = None
    with report.stage("spanning tree", total=n - 1) as advance:
        before = n
        while (parts := forest.merge()) > 1:
            advance(before - parts)
            before = parts
            if points is None:
                points = _Points.of(X, similarity, core, n_jobs)
            rows = forest.to_search()
            points.arrange(forest.label())
            bound = forest.bound()[rows]
            forest.set_lists(rows, *points.search(rows, bound, min(_GROUPS, parts - 1), scale, n_jobs))
        advance(before - 1)

    def as_height(values: np.ndarray) -> np.ndarray:
        return np.maximum(similarity.height(similarity.from_order(values, d)), 0.0)

    # Core distances make many edges equal. They lie within the lists of neighbours, so Prim's algorithm on these and
    # on the tree picks the edges that it would pick among all pairs.
    a, b, value = forest.edges()
    owner = np.repeat(np.arange(n, dtype=np.int32), k)
    other = nearest.indices.ravel()
    near = np.maximum(np.maximum(core[owner], core[other]), scale * nearest.values.ravel())
    left, right, height = _core.prim_edges(
        np.concatenate([a, owner]), np.concatenate([b, other]), as_height(np.concatenate([value, near])), n
    )
    return Spanning(left, right, height, as_height(core))


class _Points:
    """Float64 rows, kept in the order of their components so that blocks are of few of them, and close together."""

    def __init__(self, rows: Any, core: np.ndarray, unit: float) -> None:
        self.rows = rows
        self.unit = unit  # the length in the rows of 1 in the data
        self.core = core
        self.square = row_squares(rows)
        self.longest = float(np.sqrt(self.square.max()))
        self.id = np.arange(rows.shape[0], dtype=np.int32)
        self.group = self.id

    @classmethod
    def of(cls, X: Any, similarity: Similarity, core: np.ndarray, n_jobs: int | None) -> _Points:
        assert similarity.order is not None
        frame = Frame.of(X, similarity.order, n_jobs)
        return cls(Rows.of(X, frame, n_jobs).take(slice(None)), core * frame.unit**2, frame.unit)

    def arrange(self, label: np.ndarray) -> None:
        """Sort by component."""
        order = np.argsort(label[self.id], kind="stable")
        self.rows, self.core = self.rows[order], self.core[order]
        self.square, self.id = self.square[order], self.id[order]
        self.group = label[self.id]

    def search(
        self, rows: np.ndarray, bound: np.ndarray, m: int, scale: float, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each of ``rows`` the nearest point of each of the ``m`` nearest other components: ids and distances.

        A distance stands for the core distance of the point that was found where that is larger. ``bound`` has
        distances that nothing to be found is below.
        """
        place = np.empty(len(self.id), dtype=np.int64)
        place[self.id] = np.arange(len(self.id))
        at, bound = place[rows], bound * self.unit**2 / scale
        found = np.full((len(rows), m), -1, dtype=np.int32)
        distance = np.full((len(rows), m), np.inf)
        columns = row_blocks(len(self.id), _COLUMNS)
        balls = [_ball(self.rows[part]) for part in columns]
        centres, radii = np.array([c for c, _ in balls]), np.array([r for _, r in balls])
        low = None if is_sparse(self.rows) else (self.rows.astype(np.float32), self.square.astype(np.float32))
        nothing = np.empty((0, 0))

        def work(part: slice) -> None:
            own = at[part]
            queries, square, group = self.rows[own], self.square[own], self.group[own]
            centre, radius = _ball(queries)
            gap = np.maximum(np.sqrt(((centres - centre) ** 2).sum(axis=1)) - radii - radius, 0.0)
            value, ids, groups = distance[part], found[part], np.full((len(own), m), -1, dtype=np.int32)
            margin = self._rounding(float(np.sqrt(square.max())))
            # Candidates come from float32 where it resolves the distances, otherwise from float64.
            single = low is not None and margin <= 0.05 * float(bound[part].min())
            all_rows, all_squares = low if single and low is not None else (self.rows, self.square)
            left, left_square = all_rows[own], all_squares[own]
            for block in np.argsort(gap, kind="stable"):
                # Rounding of the radii is far below this margin.
                if scale * gap[block] ** 2 * (1 - 1e-9) > value.max():
                    break
                J = columns[block]
                others = self.group[J]
                if others[0] == others[-1] == group[0] == group[-1]:
                    continue
                product = left @ all_rows[J].T
                exact: tuple[Any, Any] = (nothing, nothing) if is_sparse(product) else (queries, self.rows[J])
                product = product.toarray() if is_sparse(product) else product
                _core.reach_scan(
                    np.ascontiguousarray(product),
                    left_square,
                    all_squares[J],
                    group,
                    others,
                    self.id[J],
                    self.core[J],
                    scale,
                    margin if single else 2.0**-24 * margin,
                    *exact,
                    value,
                    ids,
                    groups,
                )

        map_blocks(work, row_blocks(len(rows), _ROWS), n_jobs=n_jobs)
        distance /= self.unit**2
        return found, distance

    def _rounding(self, length: float) -> float:
        """How far a squared distance of float32 products can be off, for rows of up to this length."""
        d = self.rows.shape[1]
        return 2.0**-24 * (2 * (d + 4) * length * self.longest + 4 * (length**2 + self.longest**2))


def _ball(rows: Any) -> tuple[np.ndarray, float]:
    """Centre and radius of some rows."""
    centre = np.asarray(rows.mean(axis=0)).ravel()
    square = row_squares(rows) + centre @ centre - 2.0 * np.asarray(rows @ centre).ravel()
    # The rounding of this form must not make the radius too short.
    return centre, float(np.sqrt(max(square.max(), 0.0) + 1e-12 * row_squares(rows).max()))


# --- other metrics ----------------------------------------------------------------------------------------------------


def matrix_spanning(
    X: Any, similarity: Similarity, min_samples: int, alpha: float, *, n_jobs: int | None, report: Progress
) -> Spanning:
    """Of data under any metric, or of a matrix of distances: Prim's algorithm, n rows of n values."""
    n = X.shape[0]
    core = np.zeros(n)
    if min_samples > 1:
        nearest = exact_neighbors(X, min_samples - 1, similarity, n_jobs=n_jobs, report=report)
        core = np.maximum(similarity.height(nearest.values[:, -1]), 0.0)
    left, right, height = (np.empty(n - 1, dtype=t) for t in (np.int32, np.int32, np.float64))
    # The points that are not in the tree yet: the shortest edge that leads there, and from where.
    outside = np.arange(1, n)
    shortest, source = np.full(n, np.inf), np.zeros(n, dtype=np.int32)
    newest = 0
    with report.stage("spanning tree", total=n - 1) as advance:
        for step in range(n - 1):
            values = similarity.block_of(X, slice(newest, newest + 1), slice(0, n))[0]
            reach = np.maximum(similarity.height(values.astype(np.float64)), 0.0)[outside] / alpha
            reach = np.maximum(np.maximum(reach, core[newest]), core[outside])
            closer = reach < shortest[outside]
            shortest[outside[closer]] = reach[closer]
            source[outside[closer]] = newest
            pick = int(np.argmin(shortest[outside]))
            newest = int(outside[pick])
            left[step], right[step], height[step] = source[newest], newest, shortest[newest]
            outside = np.delete(outside, pick)
            advance()
    return Spanning(left, right, height, core)


# --- graphs -----------------------------------------------------------------------------------------------------------


def graph_spanning(graph: NeighborGraph, min_samples: int, alpha: float, *, n_jobs: int | None) -> Any:
    """The single-linkage merges of a graph under mutual reachability, and the core distances.

    A point with fewer than ``min_samples`` − 1 edges has its longest one as core distance. Parts that no edge links
    are joined above the longest edge.
    """
    n = graph.n_points
    core = np.zeros(n)
    if min_samples > 1:
        nearest = graph.top(min_samples - 1)
        rows = np.flatnonzero(nearest.degree)
        core[rows] = np.maximum.reduceat(nearest.values("distance").astype(np.float64), nearest.indptr[rows])
    graph = graph.symmetrize()
    owner = np.repeat(np.arange(n), graph.degree)
    value = np.maximum(
        graph.values("distance").astype(np.float64) / alpha, np.maximum(core[owner], core[graph.indices])
    )
    top = float(np.nextafter(value.max(), np.inf)) if len(value) else FAR
    merges = _core.single_linkage(graph.indptr, graph.indices, value, -1.0, -top, resolve_jobs(n_jobs))
    return merges, core
