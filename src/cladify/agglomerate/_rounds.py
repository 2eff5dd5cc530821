"""Shared by the round-based methods: the loop over rounds, its merges as a tree with levels, every round as labels.

A method is a rule that a contraction repeats. A contraction is the state of the clusters between two rounds: of a
graph (the native core's) or of vectors (:mod:`cladify.agglomerate._centroids`); both have ``round(threshold, pairs,
epsilon)``, ``n_clusters`` and ``finish(floor)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from cladify import _core
from cladify._kit.memory import check_memory
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_int
from cladify._kit.progress import Progress
from cladify.agglomerate._links import Links, Scale
from cladify.tree import Tree

__all__ = ["RoundMerges", "Rounds", "contraction", "round_tree", "run_rounds"]


@dataclass(frozen=True)
class RoundMerges:
    """All n − 1 merges of a run, round by round and within a round strongest first.

    A cluster is named by its smallest point; merge i joins cluster ``right[i]`` into ``left[i]``.

    Attributes
    ----------
    left, right : int32 arrays of shape (n - 1,)
    similarity : float64 array
        Linkage of the two clusters; the floor of the scale where parts that no rule merged were joined.
    round : int32 array
        1, 2, …; ``n_rounds + 1`` where such parts were joined.
    n_rounds : int
        Rounds that merged something.
    """

    left: np.ndarray
    right: np.ndarray
    similarity: np.ndarray
    round: np.ndarray
    n_rounds: int

    @property
    def n_points(self) -> int:
        return len(self.left) + 1

    @property
    def n_parts(self) -> int:
        """Clusters that were left when no rule merged any more."""
        return self.n_points - int(np.searchsorted(self.round, self.n_rounds, side="right"))

    def labels(self, count: int) -> np.ndarray:
        """Clusters after the first ``count`` merges, numbered in order of their smallest points."""
        parent = np.arange(self.n_points)
        parent[self.right[:count]] = self.left[:count]
        while not np.array_equal(above := parent[parent], parent):  # each step doubles the length that is covered
            parent = above
        number = np.cumsum(parent == np.arange(self.n_points)) - 1
        return number[parent]


class Rounds(Sequence[np.ndarray]):
    """The partitions of a method that works in rounds; ``rounds[i]`` has the labels after round i.

    ``rounds[0]`` is every point on its own. Labels are computed when asked for, in O(n).

    Attributes
    ----------
    n_clusters : int64 array
        Number of clusters after each round.
    threshold : float64 array or None
        Threshold of rounds 1, 2, … in the units of the metric, for methods that have one.
    """

    def __init__(self, merges: RoundMerges, threshold: np.ndarray | None = None) -> None:
        self._merges = merges
        done = np.searchsorted(merges.round, np.arange(merges.n_rounds + 1), side="right")
        self.n_clusters: np.ndarray = merges.n_points - done
        self.threshold = threshold

    def __len__(self) -> int:
        return len(self.n_clusters)

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[np.ndarray]: ...
    def __getitem__(self, index: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"round {index} of {len(self)}")
        return self._merges.labels(self._merges.n_points - int(self.n_clusters[index]))

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def closest(self, n_clusters: int) -> int:
        """The round whose number of clusters is closest to ``n_clusters``; of two, the one with more clusters."""
        return int(np.argmin(np.abs(self.n_clusters - self._check(n_clusters))))

    def exact(self, n_clusters: int) -> np.ndarray:
        """Labels of exactly ``n_clusters`` clusters: the round that would lead below stops at its strongest merges."""
        return self._merges.labels(self._merges.n_points - self._check(n_clusters))

    def _check(self, n_clusters: int) -> int:
        n = self._merges.n_points
        return check_int("n_clusters", n_clusters, low=1, high=n, why=f"for {n} points")

    def __repr__(self) -> str:
        return f"Rounds({len(self)} partitions, {self.n_clusters[0]} to {self.n_clusters[-1]} clusters)"


def contraction(links: Links, linkage: str, sample_weight: np.ndarray | None, n_jobs: int | None) -> Any:
    """The native contraction of a graph, which takes the edges over: it frees them once no cluster reads them.

    Only average linkage counts how many points a row stands for.
    """
    mass = sample_weight if linkage == "average" else None
    edges = links.take()
    _check_room(len(edges[0]) - 1, len(edges[1]), linkage, resolve_jobs(n_jobs))
    return _core.GraphContraction(*edges, links.shift, links.scale, mass, _core.Linkage[linkage], resolve_jobs(n_jobs))


def _check_room(n: int, edges: int, linkage: str, threads: int) -> None:
    """Raise before a contraction that would not fit.

    The edges of merged clusters are written again, with a quarter of room to spare and a chunk a thread
    (``core/common/lists.hpp``); a point has some numbers of its own, and a table of all points is kept a thread.
    """
    edge = 4 + (8 if linkage in ("average", "single") else 16)
    check_memory(
        n * (100 + 4 * threads) + edge * (edges * 5 // 4 + threads * 2**16),
        f"Contraction of a graph of {n} points and {edges} edges under {linkage} linkage",
        "build it with fewer neighbours.",
    )


def run_rounds(
    core: Any,
    scale: Scale,
    thresholds: Iterable[float],
    *,
    pairs: bool,
    epsilon: float = 0.0,
    until_stable: bool = True,
    stage: str,
    report: Progress,
) -> tuple[RoundMerges, np.ndarray]:
    """Rounds with each threshold in turn, one or ``until_stable``, as long as there is something to merge.

    Returns the merges, and the threshold of each round that merged something.
    """
    used: list[float] = []
    with report.stage(stage, total=core.n_clusters - 1) as advance:
        for threshold in thresholds:
            while core.n_clusters > 1 and (merged := core.round(threshold, pairs, epsilon)):
                used.append(threshold)
                advance(merged)
                if not until_stable:
                    break
    left, right, similarity, round_ = core.finish(scale.floor)
    return RoundMerges(left, right, similarity, round_, n_rounds=len(used)), np.array(used)


def round_tree(merges: RoundMerges, scale: Scale, used: np.ndarray | None = None) -> Tree:
    """The tree of the clusters of all rounds, one level a round.

    A node's height is that of the least similarity merged in it or, with ``used``, of its round's threshold.
    """
    if merges.n_points == 1:
        return Tree([-1], level=[0])
    parent, level, similarity = _core.round_tree(merges.left, merges.right, merges.similarity, merges.round)
    if used is not None:
        similarity = np.concatenate([[0.0], used, [scale.floor]])[level]
    heights = scale.height(similarity)
    heights[: merges.n_points] = 0.0
    return Tree(parent, heights, level=level)
