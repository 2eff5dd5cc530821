"""GraphTree over vectors in parts: the lowest scale on many workers, all above it on one.

The lowest scale of :mod:`cladify.graphtree._scales` only moves small subtrees, and what they are tied to is near. So
rows near one another form *groups*, each of which one worker refines by itself: at first runs of subtrees of average
linkage on the graph, which is where the local search starts from; then rows go to the group they are tied to most, a
few times over. What is lost is the ties across groups that remain, while micro-clusters form. From there on nothing is
lost: the micro-clusters' centroids and all contracted edges, across groups too, go to one worker, which builds the
scales above.

Rows stay in their parts; a group gets copies of its rows and of the edges inside it. Every stage leaves its files in
the work folder, so that a worker holds no more than its current task.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cladify.agglomerate.reciprocal import ReciprocalNN
from cladify.data.similarity import Similarity, get_similarity
from cladify.distributed._job import Job
from cladify.distributed._stages import graph_tree_tasks as tasks
from cladify.distributed._stages.assemble import Below, put_together
from cladify.distributed._stages.rounds import rounds_tree
from cladify.distributed._storage.work_folder import read_arrays, write_arrays
from cladify.distributed.graph_parts import ShardedGraph
from cladify.distributed.sources import ShardedVectors
from cladify.graphtree._edges import typical_scale
from cladify.graphtree._heights import settled
from cladify.graphtree._scales import LAST, micro_clusters
from cladify.graphtree.graph_tree import GraphTree
from cladify.tree import Tree

__all__ = ["graph_tree"]

_VOTES = 8  # times that rows go to the group they are tied to most
_ROOM = 1.3  # rows of a group, at most, in those of a group of the mean size
_SAMPLE = 1 << 20  # distances from which the typical scale is estimated


def graph_tree(
    vectors: ShardedVectors,
    graph: ShardedGraph,
    estimator: GraphTree,
    job: Job,
    *,
    n_groups: int | None = None,
) -> Tree:
    """The tree of :class:`GraphTree` over vectors in parts and the directed graph of their neighbours.

    Parameters
    ----------
    vectors : ShardedVectors
    graph : ShardedGraph
        Distances to the nearest neighbours, in the parts of the vectors.
    estimator : GraphTree
    job : Job
        Its work folder is for these vectors and parameters; without one, a temporary folder is used.
    n_groups : int, optional
        By default so many that a task has room for a group, and 1 for up to 10 000 rows: with one group a worker runs
        the local engine.
    """
    similarity = get_similarity(estimator.metric)
    if n_groups is None:
        need = vectors.n * (12 * vectors.d + 60 * int(graph.info.get("k", 25)) + 400)
        n_groups = 1 if vectors.n <= LAST else max(1, int(np.ceil(need / (0.5 * job.memory))))
    began, seconds = time.monotonic(), estimator.budget_seconds
    figures: dict[str, Any] = {"n_parts": len(vectors.parts), "n_groups": n_groups}
    if n_groups == 1:
        parts = job.compute(graph.parts), job.compute(vectors.parts)
        about = {what: getattr(graph, what) for what in ("offsets", "values", "metric", "kind", "info")}
        tree: Tree = job.call(tasks.whole, *parts, about, estimator)
        tree.info["distributed"] = figures | {"bytes_shuffled": []}
        return tree
    with job.working("graph tree") as own:
        scales_of = _Scales(vectors, graph, estimator, similarity, own.below(f"{n_groups}-groups"), n_groups)
        stages = (scales_of.homes, scales_of.weigh, scales_of.find_groups, scales_of.grow_groups, scales_of.contract)
        with job.report.stage("graph tree", total=len(stages) + 1) as advance:
            for stage in stages:
                stage()
                advance()
            left = None if seconds is None else max(seconds - (time.monotonic() - began), 0.0)
            tree, scales = scales_of.top(left)
            advance()
    figures["bytes_shuffled"] = scales_of.bytes
    info = {
        "method": "graph",
        "heights": "sums",
        "scales": [vectors.n, *scales],
        "n_edges": scales_of.n_edges,
        "neighbors": graph.info,
    }
    tree.info.update(info, distributed=figures)
    return tree


class _Scales:
    """The stages: tasks a part, or a group, that leave their files in the work folder."""

    def __init__(
        self,
        vectors: ShardedVectors,
        graph: ShardedGraph,
        estimator: GraphTree,
        similarity: Similarity,
        job: Job,
        n_groups: int,
    ) -> None:
        self.vectors, self.graph, self.estimator, self.similarity = vectors, graph, estimator, similarity
        assert job.work is not None
        self.job, self.n_groups, self.work = job, n_groups, job.work
        self.offsets, self.n_parts = vectors.offsets, len(vectors.parts)
        self.k = int(graph.info.get("k", 25))
        self.bytes: list[int] = []  # that passed between tasks, a stage each

    def _parts(self, what: str) -> list[str]:
        """The names of a file a part."""
        return [f"{what}-{i:05d}" for i in range(self.n_parts)]

    def _groups(self, what: str) -> list[str]:
        """The names of a file a group."""
        return [f"{what}-{g:05d}" for g in range(self.n_groups)]

    def _low(self, i: int) -> int:
        return int(self.offsets[i])

    def _read(self, names: list[str]) -> list[dict[str, np.ndarray]]:
        return [read_arrays(self.work.path(name)) for name in names]

    def homes(self) -> None:
        """The distance of every row to its fifth neighbour."""
        vectors, graph, n = self.vectors, self.graph, self.vectors.n
        names = self._parts("home")
        self.job.stage(names, lambda i: (tasks.home, vectors.parts[i], graph.parts[i], self.similarity))
        homes = self._read(names)
        self.centre = np.sum([home["total"] for home in homes], axis=0) / n
        scale = np.concatenate([home["scale"] for home in homes])
        self.typical = typical_scale(np.concatenate([home["scale"][:: max(1, n // _SAMPLE)] for home in homes]))
        self.bytes.append(write_arrays(self.work.path(tasks.SCALE), scale=scale))

    def weigh(self) -> None:
        """The weight of every edge, in both directions, and how typical each row is."""

        def weigh(i: int) -> tuple[Any, ...]:
            return tasks.weigh, self.work, self.graph.parts[i], i, self.offsets, self.typical

        names = self._parts("weighed")
        weighed = self.job.stage(names, weigh)
        files = [self.work.path(name) for name in names]
        self.job.stage(self._parts("tied"), lambda j: (tasks.both, self.work, files, j, self.offsets))
        self.work.drop([*names, *self._parts("typical")])
        self.n_edges = sum(receipt["edges"] for receipt in weighed)
        self.bytes.append(sum(receipt["bytes"] for receipt in weighed))

    def find_groups(self) -> None:
        """The group of every row: runs of subtrees of average linkage, then where most of its ties lead.

        Newsgroups in 4 groups: purity .412 by the runs alone, .431 after the votes, and .432 in one.
        """
        from dask import delayed

        parts = [delayed(tasks.ties)(path) for path in map(self.work.path, self._parts("tied"))]
        weighed = ShardedGraph(self.offsets, parts, symmetric=True, info={"k": self.k})
        model = ReciprocalNN(n_jobs=self.estimator.n_jobs)
        start = rounds_tree(weighed, model, self.job.below("start", quiet=True))
        assert isinstance(start, Tree)
        self.bytes += start.info["distributed"]["bytes_shuffled"]
        group = _runs(start, self.n_groups)
        for turn in range(_VOTES):
            names = self._parts(f"vote-{turn}")
            write_arrays(self.work.path(tasks.GROUP), group=group)
            self.job.stage(names, lambda i: (tasks.vote, self.work, i, self._low(i)))
            found = self._read(names)
            wanted, gain = (np.concatenate([vote[what] for vote in found]) for what in ("wanted", "gain"))
            group = _moved(group, wanted, gain, self.n_groups)
        write_arrays(self.work.path(tasks.GROUP), group=group)

    def grow_groups(self) -> None:
        """The small subtrees of every group, and their centroids."""
        seconds = None if self.estimator.budget_seconds is None else 0.5 * self.estimator.budget_seconds
        about = (self.similarity, self.centre, self.k, seconds, self.estimator.n_jobs)

        def send(i: int) -> tuple[Any, ...]:
            return tasks.send, self.work, self.vectors.parts[i], i, self._low(i), self.n_groups

        sent = self.job.stage(self._parts("rows"), send)
        grown = self.job.stage(self._groups("grown"), lambda g: (tasks.grow, self.work, self.n_parts, g, *about))
        self.work.drop([*self._parts("rows"), *self._parts("inside")])
        self.base = np.concatenate([[0], np.cumsum([receipt["count"] for receipt in grown])])
        self.bytes.append(sum(receipt["bytes"] for receipt in sent))

    def contract(self) -> None:
        """The edges between micro-clusters."""
        self.job.stage([tasks.LABEL], lambda i: (tasks.labels, self.work, self.vectors.n, self.base))
        names = self._parts("between")
        tied = self.job.stage(names, lambda j: (tasks.contract, self.work, j, self._low(j), self.base))
        files = [self.work.path(name) for name in names]
        self.job.stage(self._groups("joined"), lambda g: (tasks.join, files, g, self.base))
        self.work.drop(names)
        self.bytes.append(sum(receipt["bytes"] for receipt in tied))

    def top(self, seconds: float | None) -> tuple[Tree, list[int]]:
        """All scales above, and the whole tree."""
        same = (self.similarity, self.vectors.d, self.k, seconds, self.estimator.random_state, self.estimator.n_jobs)
        (receipt,) = self.job.stage(["top"], lambda i: (tasks.top, self.work, self.n_groups, *same))
        (top,) = self._read(["top"])
        below = [
            Below(group["ids"], group["label"] + base, group["parent"], group["height"])
            for group, base in zip(self._read(self._groups("grown")), self.base[:-1], strict=True)
        ]
        tree = put_together(self.vectors.n, below, top["parent"], top["height"])
        return Tree(tree.parent, settled(tree, tree.height)), receipt["scales"]


def _runs(tree: Tree, n_groups: int) -> np.ndarray:
    """Leaves of a tree in groups of about one size, each a run of subtrees that are smaller than a group."""
    label = micro_clusters(tree, max(1, tree.n_leaves // (8 * n_groups)))
    of_run = label[tree.leaf_order]
    begins = np.flatnonzero(np.append(True, np.diff(of_run) != 0))
    group = np.minimum(begins * n_groups // tree.n_leaves, n_groups - 1).astype(np.int16)
    result = np.empty(tree.n_leaves, dtype=np.int16)
    result[tree.leaf_order] = np.repeat(group, np.diff(np.append(begins, tree.n_leaves)))
    return result


def _moved(group: np.ndarray, wanted: np.ndarray, gain: np.ndarray, n_groups: int) -> np.ndarray:
    """Rows in the groups they are tied to most, those with the largest gain first, as long as there is room."""
    size = np.bincount(group, minlength=n_groups)
    room = int(_ROOM * len(group) / n_groups) - size
    result = group.copy()
    for g in range(n_groups):
        some = np.flatnonzero((wanted == g) & (gain > 0))
        some = some[np.argsort(-gain[some], kind="stable")][: max(int(room[g]), 0)]
        result[some] = g
    return result
