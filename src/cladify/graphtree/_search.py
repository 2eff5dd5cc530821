"""One scale: a quick start on a graph of similarities, and the search for a tree of small Dasgupta cost.

The start merges reciprocal nearest neighbours by average linkage. The search is that of :func:`cladify.refine`. On a
large graph only small subtrees are offered new places: they are nearly all there are, while what a large one is tied to
takes a walk over all its edges. The large ones are rearranged where each is a leaf: on the next scale or, on a graph
that was given, in the topmost part of the tree.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_random_state
from cladify._kit.progress import Progress
from cladify.agglomerate._links import Links
from cladify.agglomerate._rounds import contraction, run_rounds
from cladify.data._heights import HeightRule
from cladify.graphtree._edges import Edges
from cladify.refinement._search import Run
from cladify.tree import Tree

__all__ = ["Budget", "search_parts", "search_small", "search_whole"]

#: Leaves of the largest subtree that moves where the large ones have their turn later; and after they had it, where all
#: subtrees together, edge by edge, would take more than so many steps.
_LARGEST, _LARGER, _STEPS = 64, 2048, 5e8
#: A sweep that gains less than this share of the cost is the last: where more follows, and at the end.
_ROUGH, _FINE = 1e-5, 1e-6
#: Topmost nodes that are rebuilt from random trees, and how often at most.
_TOP, _RESTARTS = 1024, 4
#: Leaves of a part of a large tree; a second size for the topmost one moves all cuts, so that no border stays.
_PART, _FIRST = 8192, 3072
#: The same where only small subtrees move, once: larger parts do more for a tree than another pass over smaller ones.
_DRAFT = 16_384
#: Up to this many points a tree is searched as a whole: its small subtrees, and all of them where that is quick.
_WHOLE = 100_000
_PASSES = 6


@dataclass
class Budget:
    """Time, threads and random numbers of one fit."""

    deadline: float | None
    random_state: Any
    n_jobs: int | None
    report: Progress

    def run(self, edges: Edges) -> Run:
        left, right = _start(edges, self)
        search = _core.RefineGraph32(left, right, edges.mass, edges.indptr, edges.indices, edges.value, 1.0)
        return Run(search, self.deadline, resolve_jobs(self.n_jobs), self.report)

    def share(self, part: float) -> Budget:
        """A part of the time that is left."""
        if self.deadline is None:
            return self
        now = time.monotonic()
        return replace(self, deadline=now + part * max(self.deadline - now, 0.0))


def search_small(edges: Edges, budget: Budget) -> Tree:
    """A tree whose small subtrees are where they belong; the way these are put together is a first draft.

    A large tree is searched part by part: most good moves are short, and paths inside a part are short.
    """
    run = budget.run(edges)
    if edges.n_points <= _WHOLE:
        _move_small(run, edges)
    else:
        run.do(run.search.run, _DRAFT, _DRAFT, 10 * _ROUGH, _LARGEST * float(edges.mass.mean()))
    return _tree(run.search, edges.n_points)


def search_whole(edges: Edges, budget: Budget) -> Tree:
    """A tree in which no subtree has a better place, from the best of a few tops."""
    if edges.n_points == 1:
        return Tree([-1])
    run = budget.run(edges)
    n = edges.n_points
    run.do(run.search.run, n, n, _FINE, np.inf)
    for _ in _new_tops(run, n, budget):
        run.do(run.search.run, n, n, _FINE, np.inf)
    return _tree(run.search, n)


def search_parts(edges: Edges, budget: Budget) -> Tree:
    """The same for a large graph. Where all of it at once would take long, part by part first.

    That is small subtrees everywhere, then all subtrees of each part. It leads to a tree that is a little worse.
    """
    run = budget.run(edges)
    n = edges.n_points

    def is_quick() -> bool:
        return bool(run.search.mean_depth() * len(edges.indices) <= _STEPS)

    if n > _WHOLE or not is_quick():
        _move_small(run, edges)
        _move_in_parts(run)
    largest = np.inf if is_quick() else _LARGER * float(edges.mass.mean())
    run.do(run.search.run, n, n, _FINE, largest)
    for _ in _new_tops(run, n, budget):
        run.do(run.search.run, n, n, _FINE, largest)
    return _tree(run.search, n)


def _move_small(run: Run, edges: Edges) -> None:
    n = edges.n_points
    run.do(run.search.run, n, n, _ROUGH, _LARGEST * float(edges.mass.mean()))


def _move_in_parts(run: Run) -> None:
    for number in range(_PASSES):
        if run.out_of_time:
            break
        _, gained = run.do(run.search.run, _PART, _PART if number % 2 == 0 else _FIRST, _FINE, np.inf)
        if gained <= 10 * _ROUGH * run.search.objective():
            break


def _new_tops(run: Run, n: int, budget: Budget) -> Iterator[None]:
    """Yields whenever rebuilding the top of the tree has improved the cost."""
    starts = min(max(6, 6 * _TOP // min(_TOP, n)), 24)
    for seed in check_random_state(budget.random_state).integers(2**63, size=_RESTARTS):
        if run.out_of_time or run.do(run.search.restart, _TOP, starts, int(seed), _FINE)[0] == 0:
            return
        yield


def _start(edges: Edges, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Children of the nodes of average linkage, pairs without an edge having similarity 0."""
    top = float(edges.value.max(initial=0.0))
    links = Links(
        kind="similarity",
        ceiling=top,
        to_height=HeightRule(top, -1.0),
        top=top,
        floor=0.0,
        nearest=0.0,
        indptr=edges.indptr,
        indices=edges.indices,
        value=edges.value,
    )
    core = contraction(links, "average", edges.mass, budget.n_jobs)
    merges, _ = run_rounds(core, links, [0.0], pairs=True, stage="start", report=budget.report)
    left, right, _ = _core.merge_nodes(merges.left, merges.right, merges.similarity)
    return np.asarray(left, dtype=np.int32), np.asarray(right, dtype=np.int32)


def _tree(search: Any, n: int) -> Tree:
    left, right, _, _ = search.links()
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    inner = np.arange(n, 2 * n - 1)
    parent[left], parent[right] = inner, inner
    return Tree.from_parents(parent, n)
