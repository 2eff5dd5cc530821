"""`layout`: the public function, and the schedule of its steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_int, check_random_state
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points, as_points
from cladify.data.similarity import Similarity
from cladify.errors import InvalidInput
from cladify.maps._start import (
    cells_of_graph,
    cells_of_tree,
    known_start,
    means_start,
    merged,
    paths_start,
    scaled,
)
from cladify.neighbors.build import neighbors
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["layout"]

_CURVE = (1.577, 0.895)  # a and b of UMAP for its default min_dist of 0.1
_GRAVITY = 2e-3  # keeps points without neighbours near
_MOMENTUM = 0.5  # share of its last move that a point repeats
_RATE = 1.0  # of the first step; it falls to 0,
_FALL = 1.5  # as this power of what is left
_PUSH = 5.0  # the mean push counts as much as this many pulls
_CELL_PUSH = 1.0  # the same between cells: less of it keeps their order
_HOLDS = 5  # code of core's symmetrize: a + b - ab
_CELLS = 1000
_CELL_STEPS = 60
_SPREAD = 0.07  # root mean square distance of cells to the centre, for the root of the number of points,
_WIDEST = 10.0  # but no more: a pull falls with the distance, and in a wider map points do not reach their neighbours
_JITTER = 0.3  # the same of points to their cell
_STAGES = 50  # reports of progress


def layout(
    X: Any,
    tree: Tree | None = None,
    *,
    metric: str | Similarity | Any = "sqeuclidean",
    graph: NeighborGraph | None = None,
    n_neighbors: int = 15,
    n_steps: int = 200,
    init: Any = None,
    fixed: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = -1,
    progress: ProgressLike | Progress = None,
) -> np.ndarray:
    r"""Coordinates of a map in which neighbours are near each other.

    Edges have the weights of UMAP: a row's own scale decides, and an edge holds if either end says so. The similarity
    of two points at distance d in the map is

    .. math:: \frac{1}{1 + a d^{2b}}, \qquad a = 1.577, \; b = 0.895.

    In every step each point moves by the sum of the pulls of its neighbours and of the pushes of 16 random points, all
    from the positions of the step before, and by half its last move; so the map is the same for any number of threads.
    The steps become shorter.
    First up to 1000 cells (clusters of ``tree``, or grown along the graph) are laid out, from
    the main axes of their means or of the paths between them: that decides the order of large distances. Each point
    then starts at its cell. Time O(n k) a step, memory about 24 bytes an edge.

    Parameters
    ----------
    X : array or CSR of shape (n, d), a :class:`~cladify.NeighborGraph`, or given values (:mod:`cladify.data.points`)
    tree : Tree, optional
        Over the same points; its clusters stay together at the start.
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`. A graph has its own.
    graph : NeighborGraph, optional
        The neighbours of the rows of X, where they are known already.
    n_neighbors : int
        Neighbours a row, where the graph is built here; at most n - 1 are taken.
    n_steps : int
        More give a calmer map. 0 returns the start.
    init : array of shape (n, 2), optional
        Where the points start. Rows of NaN start between their neighbours.
    fixed : bool array of shape (n,), optional
        Points that stay where ``init`` has them, such as those of an older map that new points are placed into. They
        cost nothing in a step, and their own rows of the graph may be empty: the edges of the new points are enough.
    random_state : None, int or Generator
    n_jobs : int, optional
        Threads; -1 is all cores. The map does not depend on it.
    progress : bool or callable ``(stage, done, total)``, optional

    Returns
    -------
    float32 array of shape (n, 2)
        Around the origin, unless ``init`` was given.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 9.0]], 20, axis=0)
    >>> X += np.random.default_rng(0).normal(size=X.shape)
    >>> Y = cladify.layout(X)
    >>> Y.shape, Y.dtype
    ((60, 2), dtype('float32'))
    >>> cladify.fit(Y, method="hac").cut(n_clusters=3).tolist() == [0] * 20 + [1] * 20 + [2] * 20
    True

    New points move into a map that stays as it is:

    >>> more = np.vstack([X, X[:2] + 0.1])
    >>> again = cladify.layout(more, init=np.vstack([Y, np.full((2, 2), np.nan)]), fixed=np.arange(62) < 60)
    >>> bool((again[:60] == Y).all()), bool((np.abs(again[60:] - Y[:2]) < 3).all())
    (True, True)

    References
    ----------
    L. McInnes, J. Healy, J. Melville, UMAP: Uniform Manifold Approximation and Projection (2018), arXiv:1802.03426.
    """
    points = as_points(X, metric)
    n = points.n
    n_steps = check_int("n_steps", n_steps, low=0)
    n_neighbors = check_int("n_neighbors", n_neighbors, low=1)
    if tree is not None:
        check_tree(tree, n)
    if graph is not None and graph.n_points != n:
        raise InvalidInput(f"graph has {graph.n_points} points, X has {n}; build it from the same rows.")
    init, fixed = _check_start(init, fixed, n)
    random = check_random_state(random_state)
    if n == 1:
        return np.zeros((1, 2), dtype=np.float32) if init is None else np.nan_to_num(init)
    with reporting(progress) as report:
        if points.is_graph:
            graph = points.data
        elif graph is None:
            graph = neighbors(
                points, min(n_neighbors, n - 1), random_state=random_state, n_jobs=n_jobs, progress=report
            )
        weights = _weights(graph, n_jobs)
        run = _Run(random, resolve_jobs(n_jobs), report)
        if init is not None:
            return run.steps(weights, known_start(weights, init, random), n_steps, "map", fixed=fixed)
        start = _start(points, weights, tree, run)
        result = run.steps(weights, start, n_steps, "map")
        return result - result.mean(axis=0)


def _check_start(init: Any, fixed: Any, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    if init is not None:
        init = np.asarray(init, dtype=np.float32)
        if init.shape != (n, 2):
            raise InvalidInput(f"init must have shape ({n}, 2), two coordinates a point, got {init.shape}.")
        if np.isinf(init).any():
            raise InvalidInput("init has infinite coordinates; use NaN for points that have none yet.")
    if fixed is not None:
        fixed = np.asarray(fixed)
        if fixed.shape != (n,) or fixed.dtype != bool:
            raise InvalidInput(f"fixed must be a bool array of shape ({n},), got {fixed.dtype} of {fixed.shape}.")
        if init is None:
            raise InvalidInput("fixed points need their coordinates; give init=.")
        if not np.isfinite(init[fixed]).all():
            raise InvalidInput("init has NaN for points that are fixed; give their coordinates.")
    return init, fixed


def _weights(graph: NeighborGraph, n_jobs: int | None) -> csr_array:
    """The symmetric graph of the pulls."""
    distance = graph.distances()
    if graph.metric == "sqeuclidean":
        distance = np.sqrt(distance)
    weight = np.empty(graph.n_edges, dtype=np.float32)
    threads = resolve_jobs(n_jobs)
    _core.map_weights(graph.indptr, np.ascontiguousarray(distance), weight, threads)
    indptr, indices, value = _core.symmetrize(graph.indptr, graph.indices, weight, _HOLDS, threads)
    result = csr_array(graph.shape, dtype=np.float32)
    result.indptr, result.indices, result.data = indptr, indices, value
    return result


def _start(points: Points, weights: csr_array, tree: Tree | None, run: _Run) -> np.ndarray:
    n = points.n
    count = min(_CELLS, n // 10)
    if count < 30:
        cell = np.arange(n)
    elif tree is not None:
        cell = cells_of_tree(tree, count)
    else:
        cell = cells_of_graph(weights, count, run.random)
    between = merged(weights, cell)
    has_rows = points.form == "rows" and points.similarity.order in ("distance", "angle")
    place = means_start(points, cell) if has_rows else paths_start(between)
    spread = float(np.clip(_SPREAD * np.sqrt(n), 4.0, _WIDEST))
    place = scaled(place, 0.5 * spread) + 0.01 * run.random.standard_normal(place.shape)
    if len(place) < n:
        place = scaled(run.steps(between, place, _CELL_STEPS, "cells", push=_CELL_PUSH), spread)
    return place[cell] + _JITTER * run.random.standard_normal((n, 2))


class _Run:
    """Steps of the forces, with their progress."""

    def __init__(self, random: np.random.Generator, threads: int, report: Progress) -> None:
        self.random, self.threads, self.report = random, threads, report

    def steps(
        self,
        weights: csr_array,
        start: np.ndarray,
        count: int,
        stage: str,
        *,
        push: float = _PUSH,
        fixed: np.ndarray | None = None,
    ) -> np.ndarray:
        forces = _core.MapForces(
            weights.indptr.astype(np.int64, copy=False),
            weights.indices.astype(np.int32, copy=False),
            weights.data.astype(np.float32, copy=False),
            np.ascontiguousarray(start, dtype=np.float32),
            np.empty(0, dtype=np.uint8) if fixed is None else fixed.astype(np.uint8),
            *_CURVE,
            push,
            _GRAVITY,
            _MOMENTUM,
            int(self.random.integers(2**63)),
            self.threads,
        )
        left = 1.0 - np.arange(count) / max(count, 1)
        rates = (_RATE * left**_FALL).astype(np.float32)
        chunk = max(1, -(-count // _STAGES))
        with self.report.stage(stage, total=count) as advance:
            for first in range(0, count, chunk):
                part = slice(first, first + chunk)
                forces.steps(rates[part])
                advance(len(rates[part]))
        result = np.empty((weights.shape[0], 2), dtype=np.float32)
        forces.read(result)
        return result
