"""Affinity, SCC and ReciprocalNN over a graph in parts: the trees of the local engine.

A round runs on all parts while the contracted graph is larger than ``finish_bytes``; then one worker has room for it
and goes on with the native contraction from there. Every step leaves files in the work folder
(:mod:`cladify.distributed._stages.clusters`), each with a receipt: a run that was cut off goes on from its last step.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.atomic import PathLike
from cladify._kit.parallel import resolve_jobs
from cladify._kit.progress import Progress
from cladify.agglomerate._estimator import RoundsEstimator, round_method
from cladify.agglomerate._links import Links, Scale, Spread, link_scale
from cladify.agglomerate._rounds import RoundMerges, contraction, round_tree, run_rounds
from cladify.data._heights import HeightRule
from cladify.data.graph import NeighborGraph
from cladify.distributed._edges import Part, combine_pairs
from cladify.distributed._job import Job
from cladify.distributed._stages import clusters as steps
from cladify.distributed._stages.below import Below, write_rounds
from cladify.distributed._stages.components import unite_parts
from cladify.distributed._storage.work_folder import (
    Receipt,
    WorkFolder,
    read_arrays,
    read_split,
    write_arrays,
    write_split,
)
from cladify.distributed.graph_parts import ShardedGraph
from cladify.distributed.tree_folder import TreeFolder
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["SORTED_EDGE", "Rounds", "rounds_tree"]

_EDGE = 12  # bytes of an edge between clusters: where it ends, and its value
SORTED_EDGE = 100  # bytes of an edge while a part's graph is put together
_CHOICE = 80  # bytes of a cluster and its nearest while they are united
_UNITED = 100  # the same, in parts; a task may take as much as one that finishes


@dataclass
class _PartsScale(Scale):
    """A scale whose values lie in parts."""

    sample: Any = None  # a function: some thousand of the similarities

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        some = self.sample()
        return np.quantile(some, q) if len(some) else np.zeros(len(q))

    def plain(self) -> Scale:
        """The scale without its function, which tasks cannot be sent."""
        return Scale(self.kind, self.ceiling, self.to_height, self.top, self.floor, self.nearest)


def rounds_tree(
    graph: ShardedGraph,
    estimator: RoundsEstimator,
    job: Job,
    *,
    sample_weight: np.ndarray | None = None,
    out: PathLike | None = None,
    finish_bytes: float | None = None,
) -> Tree | TreeFolder:
    """The tree of a round-based estimator over a graph in parts.

    Parameters
    ----------
    graph : ShardedGraph
    estimator : Affinity, SCC or ReciprocalNN
        Its parameters, as for the local engine.
    job : Job
        Its work folder is for this graph and these parameters; without one, a temporary folder is used.
    sample_weight : array of shape (n,), optional
        How many points each one stands for; average linkage counts them.
    out : path, optional
        A folder that all workers see: they write the tree there, and a :class:`TreeFolder` comes back.
    finish_bytes : float, optional
        One worker goes on alone with a contracted graph of at most this many bytes, 12 an edge (20 with complete
        linkage). By default a fifth of a task's room: with copies and the native lists it takes up to five times as
        much.
    """
    if estimator.linkage == "ward":
        raise InvalidInput("linkage 'ward' needs vectors and n_neighbors=None; on a graph use 'average'.")
    method = round_method(estimator)
    if finish_bytes is None:
        finish_bytes = job.room / 5
    with job.working(method.name) as own:
        rounds = Rounds(graph, estimator, own, sample_weight, float(finish_bytes))
        thresholds = list(method.thresholds(rounds.scale))
        with job.report.stage(method.name, total=max(graph.n - 1, 1)) as advance:
            done, rest, used = rounds.merge(thresholds, advance)
        heights = used if method.heights_are_thresholds else None
        tree: Tree | TreeFolder
        if out is not None and done:
            about = Below(rounds.work, rounds.names, done, heights, rounds.scale.plain())
            tree = write_rounds(about, rest, rounds.job, {}, Path(out))
        else:
            merges = _joined([steps.read_merges(rounds.work, i) for i in done], rest, len(used))
            tree = round_tree(merges, rounds.scale, heights)
            tree = tree if out is None else TreeFolder.write(tree, out)
    n_parts = len(rest.left) + 1 - int(np.count_nonzero(rest.round + len(done) <= len(used)))
    tree.info.update(method=method.name, linkage=estimator.linkage, n_rounds=len(used), n_parts=n_parts)
    tree.info.update(rounds.scale.info)
    tree.info["distributed"] = rounds.info
    return tree


class Rounds:
    """The rounds over a graph in files, one a part."""

    def __init__(
        self,
        graph: ShardedGraph,
        estimator: RoundsEstimator,
        job: Job,
        sample_weight: np.ndarray | None,
        finish_bytes: float,
    ) -> None:
        self.graph, self.estimator, self.finish_bytes = graph, estimator, finish_bytes
        self.method = round_method(estimator)
        self.mass = sample_weight if estimator.linkage == "average" else None
        self.n_parts = _count_parts(graph, job)
        self.homes = steps.Homes(graph.n, self.n_parts)
        self.job = job.below(f"{self.n_parts}-homes-{finish_bytes:.0f}")
        assert self.job.work is not None
        self.work = self.job.work
        self.rule = {"epsilon": 0.0, "until_stable": True, **self.method.rule}
        empty = np.empty(0, dtype=np.float32)
        known = NeighborGraph([0], [], empty, metric=graph.metric, kind=graph.kind)
        self.spread = self._base(known)
        self.links = link_scale(known.kind, known.to_height, self.spread)
        scale = dict(self.links)
        self.shift, self.slope = scale.pop("shift", 0.0), scale.pop("scale", 1.0)
        self.scale = _PartsScale(**scale, sample=self._sample)
        self.scale.info = {"metric": known.metric, "n_edges": self.spread.count // 2} | self.scale.info
        if graph.info:
            self.scale.info["neighbors"] = graph.info if graph.symmetric else {**graph.info, "symmetrized": "max"}
        self.info: dict[str, Any] = {
            "n_parts": self.n_parts,
            "finish_bytes": self.finish_bytes,
            "rounds": 0,
            "bytes_shuffled": [],
            "finish_edges": self.spread.count,
        }
        self.names = "names-start"
        self._names, self._lists = "names-start", dict[int, set[int]]()  # files of the step before

    def _each(self, what: str, step: int, task: Any, *same: Any) -> list[Receipt]:
        """Run ``task(path, part, step, *same)`` for every part."""
        names = [steps.file_name(what, step, j) for j in range(self.n_parts)]
        return self.job.stage(names, lambda j: (task, self._part(j), step, *same))

    def _part(self, j: int) -> steps.PartInfo:
        about = (self.shift, self.slope, max(self.spread.high, 0.0), self.spread.finite, self.mass is not None)
        return steps.PartInfo(self.work, j, self.homes, self.estimator.linkage, *about)

    # --- the graph ----------------------------------------------------------------------------------------------------

    def _base(self, known: NeighborGraph) -> Spread:
        """Writes the graph with both directions of every edge, a file a part; gives the spread of its values."""
        graph, work = self.graph, self.work
        turned = [f"turned-{i:05d}" for i in range(graph.n_parts)]
        base = [f"base-{j:05d}" for j in range(self.n_parts)]

        def turn(i: int) -> tuple[Any, ...]:
            return _turn, graph.parts[i], int(graph.offsets[i]), self.homes, graph.symmetric

        def both(j: int) -> tuple[Any, ...]:
            about = (graph.values, known.kind, known.to_height)
            return _both, work, turned, j, self.homes, *about

        self.job.stage(turned, turn)
        receipts = self.job.stage(base, both)
        work.drop(turned)
        return sum((Spread(**receipt) for receipt in receipts), start=Spread())

    def _sample(self) -> np.ndarray:
        """The same values as :meth:`Links.quantiles` takes: every so many-th edge of the whole graph."""
        parts = [read_arrays(self.work.path(f"base-{j:05d}")) for j in range(self.n_parts)]
        rows = [self.homes.names(j) for j in range(self.n_parts)]
        indptr = _indptr(rows, [np.diff(part["indptr"]) for part in parts])
        stride = max(1, int(indptr[-1]) >> 20)
        some = []
        for part, row in zip(parts, rows, strict=True):
            first = -indptr[row] % stride
            count = -(-(np.diff(part["indptr"]) - first) // stride).clip(max=0)
            nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            some.append(part["value"][np.repeat(part["indptr"][:-1] + first, count) + nth * stride])
        return self.shift + self.slope * np.concatenate(some).astype(np.float64)

    # --- the rounds ---------------------------------------------------------------------------------------------------

    def merge(self, thresholds: list[float], advance: Any) -> tuple[list[int], RoundMerges, np.ndarray]:
        """The steps that merged something on parts, the merges of one worker after these, and all thresholds used."""
        edge = _EDGE + (8 if self.estimator.linkage == "complete" else 0)
        n, n_edges = self.graph.n, self.spread.count
        if n_edges * edge <= self.finish_bytes or n == 1:
            about = (self.work, self.homes, self.links, self.mass, self.estimator, thresholds, self.rule)
            merges, used_here = self.job.call(_whole, *about)
            advance(n - 1)
            return [], merges, used_here
        names, merged = "names-start", None
        begin = (steps.begin_names, n, self.mass, self.rule["epsilon"] > 0)
        self.job.stage([names], lambda i: begin)
        done: list[int] = []
        used: list[float] = []
        left, step = list(thresholds), 0
        while left:
            rule = steps.Rule(left[0], self.method.pairs, self.rule["epsilon"])
            chosen = self._each("state", step, steps.choose, names, merged, rule)
            n_edges = sum(receipt["edges"] for receipt in chosen)
            self._tidy(step, names, chosen)
            if n_edges * edge <= self.finish_bytes:
                break
            found = self._unite(step, names, rule, sum(receipt["choices"] for receipt in chosen))
            merged = None
            if found["merges"]:
                names, merged = f"names-{step:04d}", step
                sent = self._each("sent", step, steps.send, names)
                done.append(step)
                used.append(left[0])
                advance(found["merges"])
                self.info["bytes_shuffled"].append(sum(receipt["bytes"] for receipt in (*chosen, found, *sent)))
            if merged is None or not self.rule["until_stable"]:
                left.pop(0)
            step += 1
        self.info.update(rounds=len(done), finish_edges=n_edges)
        parts = [self._part(j) for j in range(self.n_parts)]
        rule_of = (self.rule, self.method.pairs, self.scale.floor, self.estimator.n_jobs)
        rest, more = self.job.call(_finish, parts, step, names, left, *rule_of)
        advance(len(rest.left))
        self.names = names
        return done, rest, np.array([*used, *more])

    def _unite(self, step: int, names: str, rule: steps.Rule, count: int) -> Receipt:
        """The merges of a step: on one worker or, where the choices are too many for one, in parts."""
        name = f"merges-{step:04d}"
        found = self.work.receipt(name)
        if found is None and count * _CHOICE <= 4 * self.finish_bytes:
            task: tuple[Any, ...] = (steps.unite_all, self.work, step, self.n_parts, self.graph.n, names, rule)
            (found,) = self.job.stage([name], lambda i: task)
        elif found is None:
            # Few parts, as large as a task has room for: their pieces are as many as their square.
            share = max(self.job.n_threads, count * _UNITED / max(self.finish_bytes, 1.0))
            n_parts = int(min(np.ceil(share), self.n_parts))
            before = self.job.bytes
            files = [self.work.path(steps.file_name("choices", step, j)) for j in range(self.n_parts)]
            chosen = self.job.map(steps.choices, [files[m::n_parts] for m in range(n_parts)])
            united = unite_parts(self.job, chosen, rule, self.homes)
            write_arrays(self.work.path("united"), left=united.left, right=united.right, similarity=united.similarity)
            task = (steps.apply_file, self.work, step, names, "united")
            (found,) = self.job.stage([name], lambda i: task)
            self.work.drop(["united"])
            found = {**found, "bytes": found["bytes"] + self.job.bytes - before}
        return found

    def _tidy(self, step: int, names: str, chosen: list[Receipt]) -> None:
        """Remove the files that no later step reads."""
        old = [steps.file_name(what, step - 1, j) for what in ("state", "choices", "sent") for j in range(self.n_parts)]
        self.work.drop(old if step else [])
        for j, receipt in enumerate(chosen):
            kept = set(receipt["lists"])
            self.work.drop(steps.file_name("lists", i, j) for i in self._lists.get(j, set()) - kept)
            self._lists[j] = kept
        if self._names not in (names, "names-start"):
            self.work.drop([self._names])
        self._names = names


# --- tasks ------------------------------------------------------------------------------------------------------------


def _count_parts(graph: ShardedGraph, job: Job) -> int:
    """Parts for the rounds: no more than the graph's own, as large as a task has room for."""
    k = int(graph.info.get("k", 25))
    wanted = int(np.ceil(graph.n * 2 * k * SORTED_EDGE / (job.room / 2)))
    return min(max(wanted, job.n_threads), graph.n_parts)


def _turn(path: str, part: Part, low: int, homes: steps.Homes, symmetric: bool) -> Receipt:
    """The edges of a part in both directions, by the part of their row."""
    indptr, columns, value = part
    rows = np.repeat(np.arange(low, low + len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    columns = columns.astype(np.int32)
    if not symmetric:
        rows, columns, value = np.append(rows, columns), np.append(columns, rows), np.append(value, value)
    return {"bytes": write_split(path, homes.part(rows), homes.n_parts, row=rows, column=columns, value=value)}


def _both(
    path: str,
    work: WorkFolder,
    turned: list[str],
    j: int,
    homes: steps.Homes,
    stored: str,
    kind: str,
    to_height: HeightRule,
) -> dict[str, Any]:
    """The graph of a part; of two directions the larger value stays, or the smaller distance."""
    rows, columns, value = read_split([work.path(name) for name in turned], j, "row", "column", "value")
    combine = np.minimum if stored == "distance" else np.maximum
    rows, columns, value = combine_pairs(homes.place(rows), columns, value, combine)
    indptr = np.searchsorted(rows, np.arange(len(homes.names(j)) + 1))
    value = _similarities(value, stored, kind, to_height)
    write_arrays(path, indptr=indptr, indices=columns.astype(np.int32), value=value)
    return asdict(Spread.of(value))


def _similarities(value: np.ndarray, stored: str, kind: str, to_height: HeightRule) -> np.ndarray:
    """The values that clusters merge by: distances for a distance, weights for a similarity."""
    wanted = "distance" if kind == "distance" else "weight"
    if stored == wanted:
        return value
    if wanted == "distance":
        raise InvalidInput("a graph of distances in parts must keep the distances, values='distance', not weights.")
    return to_height.value(value.astype(np.float64)).astype(value.dtype)


def _whole(
    work: WorkFolder,
    homes: steps.Homes,
    about: dict[str, Any],
    mass: np.ndarray | None,
    estimator: RoundsEstimator,
    thresholds: list[float],
    rule: dict[str, Any],
) -> tuple[RoundMerges, np.ndarray]:
    """The local engine, on one worker."""
    parts = [read_arrays(work.path(f"base-{j:05d}")) for j in range(homes.n_parts)]
    rows = [homes.names(j) for j in range(homes.n_parts)]
    degree = [np.diff(part["indptr"]) for part in parts]
    indptr, indices, value = _woven(rows, degree, *([part[name] for part in parts] for name in ("indices", "value")))
    known = np.isfinite(value)
    if not known.all():
        value = np.where(known, value, value.max(initial=0.0, where=known))
    links = Links(**about, indptr=indptr, indices=indices, value=value)
    core = contraction(links, estimator.linkage, mass, estimator.n_jobs)
    method = round_method(estimator)
    return run_rounds(core, links, thresholds, pairs=method.pairs, stage=method.name, report=Progress(), **rule)


def _finish(
    parts: list[steps.PartInfo],
    step: int,
    names: str,
    thresholds: list[float],
    rule: dict[str, Any],
    pairs: bool,
    floor: float,
    n_jobs: int | None,
) -> tuple[RoundMerges, list[float]]:
    """Goes on with all clusters on this worker; names in the result are those of the clusters."""
    known = read_arrays(parts[0].work.path(names))
    label = known["label"]
    alive = np.flatnonzero(label == np.arange(len(label), dtype=np.int32))
    some = parts if thresholds else []  # after the last round only the names and sizes of what is left count
    of_parts = [steps.remaining(part, step, label, alive) for part in some] or [steps.no_edges(len(alive))]
    rows, degree, *columns = (list(column) for column in zip(*of_parts, strict=True))
    del of_parts
    indptr, ends, value, number = _woven(rows, degree, *columns[:3])
    order = np.argsort(np.concatenate(rows))
    best, nearest, clean, single = (np.concatenate(column)[order] for column in columns[3:])
    core = _core.GraphContraction(
        indptr,
        ends,
        value,
        number,
        single,
        known["size"][alive],
        nearest,
        best,
        clean,
        known["weakest"][alive] if "weakest" in known else np.empty(0),
        _core.Linkage[parts[0].linkage],
        resolve_jobs(n_jobs),
    )
    scale = Scale("similarity", 0.0, HeightRule(0.0, 1.0), 0.0, floor, 0.0)
    merges, used = run_rounds(core, scale, thresholds, pairs=pairs, stage="", report=Progress(), **rule)
    return RoundMerges(
        alive[merges.left], alive[merges.right], merges.similarity, merges.round - 1, merges.n_rounds
    ), used.tolist()


def _indptr(rows: list[np.ndarray], degree: list[np.ndarray]) -> np.ndarray:
    """Where the edges of each row of a whole graph begin, of the rows of its parts."""
    indptr = np.zeros(sum(map(len, rows)) + 1, dtype=np.int64)
    for row, count in zip(rows, degree, strict=True):
        indptr[row + 1] = count
    return np.cumsum(indptr, out=indptr)


def _woven(rows: list[np.ndarray], degree: list[np.ndarray], *columns: list[np.ndarray]) -> list[np.ndarray]:
    """The whole graph of parts: ``indptr``, then each column of its edges. Parts are let go as they are read."""
    indptr = _indptr(rows, degree)
    whole = [np.empty(indptr[-1] if any(map(len, column)) else 0, dtype=column[0].dtype) for column in columns]
    for j, (row, count) in enumerate(zip(rows, degree, strict=True)):
        at = np.repeat(indptr[row] - (np.cumsum(count) - count), count) + np.arange(count.sum())
        for one, column in zip(whole, columns, strict=True):
            if len(column[j]):  # complete linkage alone keeps numbers of pairs
                one[at] = column[j]
            column[j] = column[j][:0]
    return [indptr, *whole]


def _joined(done: list[tuple[np.ndarray, ...]], rest: RoundMerges, n_rounds: int) -> RoundMerges:
    """The merges of the rounds on parts, then of those on one worker."""
    columns = zip(*done, (rest.left, rest.right, rest.similarity), strict=True)
    left, right, similarity = (np.concatenate(column) for column in columns)
    numbers = [np.full(len(merged[0]), i + 1) for i, merged in enumerate(done)] + [rest.round + len(done)]
    return RoundMerges(
        left.astype(np.int32), right.astype(np.int32), similarity, np.concatenate(numbers).astype(np.int32), n_rounds
    )
