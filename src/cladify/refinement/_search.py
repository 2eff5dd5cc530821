"""The native search behind `refine`: its input for every kind of weights, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.memory import available_memory, check_memory
from cladify._kit.params import check_random_state
from cladify._kit.progress import Progress
from cladify.data._pairs import BlockWeights, FeatureWeights, GraphWeights, PairWeights
from cladify.data._vectors import is_sparse
from cladify.tree import Tree

__all__ = ["Moves", "Run"]

#: Up to this many leaves the tree is searched as a whole, on vectors and on a matrix; on a graph always.
_VECTORS, _MATRIX = 25_000, 6_000
#: Unless it is so deep that the subtrees, added up leaf by leaf, would take more steps than this.
_STEPS = 4e9
#: Leaves a part; a second size for the topmost part moves all cuts, so that no border stays where it was.
_PART, _FIRST = 1024, 384
#: A sweep that gains less than this share of the objective is the last; and, by parts, a pass.
_TOLERANCE, _PASS_TOLERANCE = 1e-7, 1e-4
_PASSES = 20
#: Then the topmost nodes are rebuilt from random trees while that improves the value, at most so many times.
_RESTARTS = 4


@dataclass
class Moves:
    """Makes searches that move subtrees until Σ w·|LCA| is small; for distances the weights change sign.

    Attributes
    ----------
    weight : array of shape (n,)
        Leaves that each row stands for.
    start : callable
        From the children of all inner nodes to a native search.
    whole : int
        Up to this many leaves a tree is searched as a whole; above, part by part.
    row : float
        Steps it takes to add up one leaf.
    top : int
        Topmost nodes that are rebuilt.
    """

    weight: np.ndarray
    start: Callable[[np.ndarray, np.ndarray], Any]
    whole: int
    row: float
    top: int = 1024

    @classmethod
    def of(cls, weights: PairWeights, sign: float, n_jobs: int | None, report: Progress) -> Moves:
        if isinstance(weights, FeatureWeights):
            return _by_features(weights, sign)
        if isinstance(weights, GraphWeights):
            return _by_graph(weights, sign)
        assert isinstance(weights, BlockWeights)
        return _by_matrix(weights, sign, n_jobs, report)

    def search(self, tree: Tree, deadline: float | None, random_state: Any, threads: int, report: Progress) -> Any:
        """A native search that has run, from the binary ``tree``."""
        children = np.argsort(tree.parent[:-1], kind="stable").astype(np.int32)
        search = self.start(np.ascontiguousarray(children[0::2]), np.ascontiguousarray(children[1::2]))
        run = Run(search, deadline, threads, report)
        self._passes(run, tree.n_leaves)
        starts = min(max(6, 6144 // min(self.top, tree.n_leaves)), 24)
        for seed in check_random_state(random_state).integers(2**63, size=_RESTARTS):
            if run.out_of_time or run.do(search.restart, self.top, starts, int(seed), _TOLERANCE)[0] == 0:
                break
            self._passes(run, tree.n_leaves)
        return search

    def _passes(self, run: Run, n: int) -> None:
        for number in range(_PASSES):
            if number > 0 and run.out_of_time:
                break
            whole = n <= self.whole and n * run.search.mean_depth() * self.row <= _STEPS
            part, first = (n, n) if whole else (_PART, _PART if number % 2 == 0 else _FIRST)
            # Parts that are about to be cut elsewhere need not be searched to the end.
            tolerance = _TOLERANCE if whole else max(_TOLERANCE, 10.0 ** -(2 + number))
            moves, gained = run.do(run.search.run, part, first, tolerance, np.inf)
            last = tolerance <= _PASS_TOLERANCE and gained <= _PASS_TOLERANCE * abs(run.search.objective())
            if moves == 0 or whole or last:
                break


@dataclass
class Run:
    """One search: its time, its threads, and how far it says it is."""

    search: Any
    deadline: float | None
    threads: int
    report: Progress
    done: int = 0
    total: int = 0

    @property
    def out_of_time(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def do(self, step: Callable[..., tuple[int, float]], *args: float) -> tuple[int, float]:
        """The number of moves of a native step, and their gain."""
        done, total = self.done, self.total

        def show(more: int, of: int) -> None:
            self.done, self.total = done + more, total + of
            if self.total > 0:
                self.report.update("refining", self.done, self.total)

        left = -1.0 if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        return step(*args, self.threads, left, show)


def _by_features(weights: FeatureWeights, sign: float) -> Moves:
    features = weights.features
    if is_sparse(features.rows):
        need = f"Refinement keeps sparse rows as dense ones, which for shape {features.shape}"
        check_memory(
            4 * features.shape[0] * features.shape[1], need, "reduce them first, or pass a graph of neighbours."
        )
    rows = features.z if is_sparse(features.rows) else features.rows
    rows = np.ascontiguousarray(rows.toarray() if is_sparse(rows) else rows)
    kind = _core.RefineFeatures32 if rows.dtype == np.float32 else _core.RefineFeatures64
    none = np.zeros(0)
    arrays = (
        weights.weight,
        rows,
        none if features.centre is None else features.centre,
        none if features.row_scale is None or is_sparse(features.rows) else features.row_scale,
        sign * np.ascontiguousarray(features.offset, dtype=np.float64),
        sign * features.scale,
        sign * features.shift,
    )
    return Moves(weights.weight, lambda left, right: kind(left, right, *arrays), whole=_VECTORS, row=rows.shape[1])


def _by_graph(weights: GraphWeights, sign: float) -> Moves:
    graph = weights.graph
    kind = _core.RefineGraph32 if graph.dtype == np.float32 else _core.RefineGraph64
    arrays = (weights.weight, graph.indptr.astype(np.int64), graph.indices.astype(np.int32, copy=False), graph.data)
    row = graph.nnz / max(1, weights.n)
    return Moves(weights.weight, lambda left, right: kind(left, right, *arrays, sign), whole=weights.n, row=row)


def _by_matrix(weights: BlockWeights, sign: float, n_jobs: int | None, report: Progress) -> Moves:
    matrix = np.ascontiguousarray(weights.matrix(n_jobs, report))
    kind = _core.RefineMatrix32 if matrix.dtype == np.float32 else _core.RefineMatrix64

    def start(left: np.ndarray, right: np.ndarray) -> Any:
        return kind(left, right, weights.weight, matrix, sign)

    # As a whole the search keeps a row in float64 for every node.
    fits = 16 * weights.n**2 <= available_memory() // 2
    return Moves(weights.weight, start, whole=_MATRIX if fits else 0, row=1.0, top=256)
