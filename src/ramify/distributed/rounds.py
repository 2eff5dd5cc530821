"""Affinity, SCC and ReciprocalNN over a graph in parts: the trees of the local engine.

A round runs on all parts while the contracted graph is larger than ``finish_bytes``; then one worker has room for it
and goes on with the native contraction from there. The clusters of a part are :mod:`ramify.distributed._clusters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramify import _core
from ramify.agglomerate.estimator import RoundsEstimator
from ramify.agglomerate.links import Scale, Spread, as_links, link_scale
from ramify.agglomerate.rounds import RoundMerges, contraction, round_tree, run_rounds
from ramify.distributed import _clusters as steps
from ramify.distributed._components import unite_parts
from ramify.distributed._shuffle import Shuffle, nbytes, piece
from ramify.distributed.cluster import task_memory
from ramify.distributed.graph_parts import Part, ShardedGraph
from ramify.errors import InvalidInput
from ramify.heights import HeightRule
from ramify.neighbors.graph import NeighborGraph
from ramify.parallel import resolve_jobs
from ramify.progress import Progress
from ramify.tree import Tree

__all__ = ["rounds_tree"]

_EDGE = 12  # bytes of an edge between clusters: where it ends, and its value


@dataclass
class _PartsScale(Scale):
    """A scale whose values lie in parts."""

    sample: Any = None  # a function: some thousand of the similarities

    def quantiles(self, q: np.ndarray) -> np.ndarray:
        some = self.sample()
        return np.quantile(some, q) if len(some) else np.zeros(len(q))


def rounds_tree(
    graph: ShardedGraph,
    estimator: RoundsEstimator,
    client: Any,
    report: Progress | None = None,
    *,
    finish_bytes: float | None = None,
) -> Tree:
    """The tree of a round-based estimator over a graph in parts.

    Parameters
    ----------
    graph : ShardedGraph
    estimator : Affinity, SCC or ReciprocalNN
        Its parameters, as for the local engine.
    client : distributed.Client
    report : Progress, optional
    finish_bytes : float, optional
        One worker goes on alone with a contracted graph of at most this many bytes, 12 an edge (20 with complete
        linkage). By default an eighth of what a task may use: with copies and the native lists it takes up to four
        times as much.
    """
    if estimator.linkage == "ward":
        raise InvalidInput("linkage 'ward' needs vectors and n_neighbors=None; on a graph use 'average'.")
    graph = graph.symmetrize()
    report = report or Progress()
    if finish_bytes is None:
        finish_bytes = task_memory(client) / 8
    run = _Run(graph, estimator, client, float(finish_bytes))
    thresholds = list(estimator._thresholds(run.scale))
    with report.stage(estimator._method, total=max(graph.n - 1, 1)) as advance:
        merges, used = run.merge(thresholds, advance)
    tree = round_tree(merges, run.scale, used if estimator._heights_are_thresholds else None)
    tree.info.update(
        method=estimator._method, linkage=estimator.linkage, n_rounds=merges.n_rounds, n_parts=merges.n_parts
    )
    tree.info.update(run.scale.info)
    tree.info["distributed"] = run.told
    return tree


class _Run:
    """The state of a run: clusters as futures, one a part, and the merges so far."""

    def __init__(self, graph: ShardedGraph, estimator: RoundsEstimator, client: Any, finish_bytes: float) -> None:
        from dask import is_dask_collection

        self.graph, self.estimator, self.client, self.finish_bytes = graph, estimator, client, finish_bytes
        self.rule = {"epsilon": 0.0, "until_stable": True, **estimator._rule()}
        self.shuffle = Shuffle(client, graph.n_parts)
        empty = np.empty(0, dtype=np.float32)
        known = NeighborGraph([0], [], empty, metric=graph.metric, kind=graph.kind)
        self.parts = [client.compute(part) if is_dask_collection(part) else part for part in graph.parts]
        same = {"stored": graph.values, "kind": known.kind, "to_height": known.to_height}
        self.edges = self.shuffle.map(_similarities, self.parts, **same)
        spreads = client.gather(self.shuffle.map(_spread, self.edges))
        spread = sum(spreads, start=Spread())
        scale = link_scale(known.kind, known.to_height, spread)
        self.shift, self.slope = scale.pop("shift", 0.0), scale.pop("scale", 1.0)
        self.largest = max(spread.high, 0.0)
        self.scale = _PartsScale(**scale, sample=lambda: self._sample([each.count for each in spreads]))
        self.scale.info = {"metric": known.metric, "n_edges": spread.count // 2} | self.scale.info
        if graph.info:
            self.scale.info["neighbors"] = graph.info
        self.told: dict[str, Any] = {
            "n_parts": graph.n_parts,
            "finish_bytes": self.finish_bytes,
            "rounds": 0,
            "bytes_shuffled": [],
            "finish_edges": spread.count,
        }

    def _sample(self, counts: Sequence[int]) -> np.ndarray:
        """The same values as :meth:`Links.quantiles` takes."""
        stride = max(1, sum(counts) >> 20)
        first = -(np.cumsum(counts) - counts) % stride
        some = np.concatenate(self.client.gather(self.shuffle.map(_every, self.edges, first.tolist(), stride=stride)))
        return self.shift + self.slope * some.astype(np.float64)

    def merge(self, thresholds: list[float], advance: Any) -> tuple[RoundMerges, np.ndarray]:
        """All merges, and the threshold of each round that merged something."""
        edge = _EDGE + (8 if self.estimator.linkage == "complete" else 0)
        n, n_edges = self.graph.n, self.told["finish_edges"]
        if n_edges * edge <= self.finish_bytes or n == 1:
            about = {what: getattr(self.graph, what) for what in ("offsets", "values", "metric", "kind")}
            task = (_whole, self.parts, about, self.estimator, thresholds, self.rule)
            merges, used_here = self.client.submit(*task, pure=False).result()
            advance(n - 1)
            return merges, used_here
        same = {"offsets": self.graph.offsets, "linkage": self.estimator.linkage}
        same |= {"shift": self.shift, "slope": self.slope, "largest": self.largest}
        clusters = self.shuffle.map(_start, self.edges, self.graph.offsets[:-1].tolist(), **same)
        self.parts, self.edges = [], []
        done: list[steps.Merged] = []
        used: list[float] = []
        left, again = list(thresholds), False
        while left and n_edges * edge > self.finish_bytes:
            if not again:
                threshold = left[0]
            rule = steps.Rule(threshold, self.estimator._pairs, self.rule["epsilon"])
            before = self.shuffle.bytes
            clusters, merged = self._round(clusters, rule)
            again = bool(len(merged.left)) and self.rule["until_stable"]
            if not again:
                left.pop(0)
            if len(merged.left):
                done.append(merged)
                used.append(threshold)
                advance(len(merged.left))
                n_edges = sum(self.client.gather(self.shuffle.map(_count, clusters)))
                self.shuffle.notes([])
                self.told["bytes_shuffled"].append(self.shuffle.bytes - before)
        self.told.update(rounds=len(done), finish_edges=n_edges)
        rule_of = (self.rule, self.estimator._pairs, self.scale.floor, self.estimator.n_jobs)
        rest, more = self.client.submit(_finish, clusters, left, *rule_of, pure=False).result()
        advance(len(rest.left))
        used += more
        return _joined(done, rest, len(used)), np.array(used)

    def _round(self, clusters: list[Any], rule: steps.Rule) -> tuple[list[Any], steps.Merged]:
        """One round on all parts: the clusters after it, and its merges."""
        shuffle, offsets = self.shuffle, self.graph.offsets
        clusters = shuffle.map(steps.look, clusters, rule=rule)
        chosen = shuffle.map(steps.choices, clusters)
        size = sum(self.client.gather(shuffle.map(nbytes, chosen)))
        if size <= self.finish_bytes:
            one = self.client.submit(_unite_all, chosen, rule, offsets, pure=False)
            merged, told_size = self.client.submit(_merged_and_size, one, pure=False).result()
            shuffle.bytes += size + told_size
            if not len(merged.left):
                return clusters, merged
            told = [[self.client.submit(piece, one, j, pure=False)] for j in range(self.graph.n_parts)]
            sent = shuffle.map(steps.announce, [None] * len(told), told, clusters)
        else:
            parts, merged = unite_parts(shuffle, chosen, rule, offsets)
            if not len(merged.left):
                return clusters, merged
            sent = shuffle.exchange(steps.announce, parts, clusters)
        return shuffle.exchange(steps.rebuild, shuffle.exchange(steps.rename, sent)), merged


# --- tasks ------------------------------------------------------------------------------------------------------------


def _similarities(part: Part, *, stored: str, kind: str, to_height: HeightRule) -> Part:
    """The values that clusters merge by: distances for a distance, weights for a similarity."""
    indptr, indices, value = part
    wanted = "distance" if kind == "distance" else "weight"
    if stored == wanted:
        return part
    if wanted == "distance":
        raise InvalidInput("a graph of distances in parts must keep the distances, values='distance', not weights.")
    return indptr, indices, to_height.value(value.astype(np.float64)).astype(value.dtype)


def _spread(part: Part) -> Spread:
    return Spread.of(part[2])


def _every(part: Part, first: int, *, stride: int) -> np.ndarray:
    return part[2][first::stride]


def _start(
    part: Part, low: int, *, shift: float, slope: float, largest: float, offsets: np.ndarray, linkage: str
) -> steps.Clusters:
    indptr, indices, value = part
    value = np.where(np.isfinite(value), value, value.dtype.type(largest)).astype(np.float64)
    return steps.start(indptr, indices, shift + slope * value, low, offsets, linkage)


def _count(clusters: steps.Clusters) -> int:
    return clusters.n_edges


def _unite_all(chosen: list[Any], rule: steps.Rule, offsets: np.ndarray) -> Any:
    return steps.unite(
        tuple(np.concatenate(column) for column in zip(*chosen, strict=True)), rule=rule, offsets=offsets
    )


def _merged_and_size(sent: Any) -> tuple[steps.Merged, int]:
    return sent.note, sum(nbytes(piece) for piece in sent.pieces)


def _whole(
    parts: list[Part], graph: dict[str, Any], estimator: RoundsEstimator, thresholds: list[float], rule: dict[str, Any]
) -> tuple[RoundMerges, np.ndarray]:
    """The local engine, on one worker."""
    links = as_links(ShardedGraph(parts=parts, symmetric=True, **graph).assemble(parts), estimator.n_jobs)
    core = contraction(links, estimator.linkage, None, estimator.n_jobs)
    return run_rounds(
        core, links, thresholds, pairs=estimator._pairs, stage=estimator._method, report=Progress(), **rule
    )


def _finish(
    parts: list[steps.Clusters],
    thresholds: Iterable[float],
    rule: dict[str, Any],
    pairs: bool,
    floor: float,
    n_jobs: int | None,
) -> tuple[RoundMerges, list[float]]:
    """Goes on with all clusters on this worker; names in the result are those of the clusters."""
    thresholds = list(thresholds)
    name = np.concatenate([part.name for part in parts])
    if thresholds:
        degree = np.concatenate([np.diff(part.indptr) for part in parts])
        ends = [np.searchsorted(name, part.table).astype(np.int32)[part.key] for part in parts]
        value, number = (np.concatenate([getattr(part, what) for part in parts]) for what in ("value", "pairs"))
    else:  # only the names and sizes of what is left count
        degree, ends, value, number = np.zeros_like(name), [np.empty(0, np.int32)], np.empty(0), np.empty(0)
    nearest = np.concatenate([part.nearest for part in parts])
    at = np.minimum(np.searchsorted(name, nearest), len(name) - 1)
    per_cluster = ("size", "best", "clean", "single", "weakest")
    whole = {what: np.concatenate([getattr(part, what) for part in parts]) for what in per_cluster}
    core = _core.GraphContraction(
        np.concatenate([[0], np.cumsum(degree)]),
        np.concatenate(ends),
        value,
        number,
        whole["single"],
        whole["size"],
        np.where(name[at] == nearest, at, -1).astype(np.int32),
        whole["best"],
        whole["clean"],
        whole["weakest"] if rule["epsilon"] > 0 else np.empty(0),
        _core.Linkage[parts[0].linkage],
        resolve_jobs(n_jobs),
    )
    scale = Scale("similarity", 0.0, HeightRule(0.0, 1.0), 0.0, floor, 0.0)
    merges, used = run_rounds(core, scale, thresholds, pairs=pairs, stage="", report=Progress(), **rule)
    return RoundMerges(
        name[merges.left], name[merges.right], merges.similarity, merges.round - 1, merges.n_rounds
    ), used.tolist()


def _joined(done: list[steps.Merged], rest: RoundMerges, n_rounds: int) -> RoundMerges:
    """The merges of the rounds on parts, then of those on one worker."""
    left, right, similarity = (
        np.concatenate([getattr(merged, what) for merged in done] + [getattr(rest, what)])
        for what in ("left", "right", "similarity")
    )
    numbers = [np.full(len(merged.left), i + 1) for i, merged in enumerate(done)] + [rest.round + len(done)]
    return RoundMerges(
        left.astype(np.int32), right.astype(np.int32), similarity, np.concatenate(numbers).astype(np.int32), n_rounds
    )
