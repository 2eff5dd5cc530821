"""Approximate nearest neighbours at the speed of matrix products: overlapping shards.

The data are cut into coarse cells (k-means on a sample). Every row *probes* the few cells whose centres are nearest to
it, so the rows that probe a cell form a shard around it, and shards overlap [1]_. One block of matrix products compares
the members of a cell with all rows of its shard, and serves both sides: two rows find each other when either of them
probes the cell of the other.

How many cells to probe is not guessed. For a sample of rows the true neighbours are computed, and the ranks of the
cells show, before the search, which share of them will be found with any number of probes: the smallest number that
reaches the recall asked for is taken, with two standard errors to spare. That share is the ``recall`` in the graph's
``info``. The distances themselves are exact: the candidates' are computed again in float64.

References
----------
.. [1] Monath. Incremental Non-Greedy Clustering at Scale (thesis), §4.1.3: overlapping k-means shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.params import check_random_state
from cladify._kit.progress import Progress
from cladify.data._exact import Buffers, decide_into, empty_heaps, propose
from cladify.data._frame import Frame, Rows
from cladify.data.similarity import Similarity
from cladify.neighbors._cells import Cells, find_cells

__all__ = ["Plan", "shard_neighbors"]

SPARE = 4  # candidates above k, for those that float64 puts in another order
_LEFT, _RIGHT = 512, 2048  # rows of a cell, and of its shard, in one block


@dataclass(frozen=True)
class Plan:
    """Cells, and how many of them each row probes.

    Attributes
    ----------
    cells : Cells
    probes : int
    recall : float
        Share of the true neighbours of a sample of rows that will be found.
    error : float
        Its standard error.
    sample : int
        Rows in the sample.
    """

    cells: Cells
    probes: int
    recall: float
    error: float
    sample: int

    @property
    def info(self) -> dict[str, Any]:
        return {
            "cells": len(self.cells),
            "probes": self.probes,
            "recall": round(self.recall, 4),
            "recall_error": round(self.error, 4),
            "recall_sample": self.sample,
        }


def shard_neighbors(
    X: Any,
    k: int,
    similarity: Similarity,
    store: Callable[[np.ndarray], np.ndarray],
    *,
    recall: float,
    random_state: Any,
    n_jobs: int | None,
    report: Progress,
) -> tuple[np.ndarray, np.ndarray, Plan]:
    """About the share ``recall`` of the ``k`` nearest other rows of every row of ``X``, nearest first.

    Their ids, and what ``store`` makes of the metric's values. Memory beside ``X``: a little more than the result, and
    once more while candidates are gathered.
    """
    assert similarity.order is not None
    rng = check_random_state(random_state)
    rows = Rows.of(X, Frame.of(X, similarity.order, n_jobs), n_jobs, keep=False)
    plan = make_plan(rows, k, recall, rng, n_jobs=n_jobs, report=report)
    keys = _search(rows, plan, k, n_jobs=n_jobs, report=report)
    ids = np.arange(len(rows), dtype=np.int32)
    values = np.empty((len(rows), k), dtype=X.dtype)
    indices, _ = decide_into(
        values,
        rows,
        rows,
        ids,
        keys,
        store=lambda order: store(similarity.from_order(order, rows.width)),
        n_jobs=n_jobs,
        report=report,
    )
    return indices, values, plan


def make_plan(
    rows: Rows, k: int, recall: float, rng: np.random.Generator, *, n_jobs: int | None, report: Progress
) -> Plan:
    """Cells, and the least number of probes that finds the share ``recall`` of a sample's true neighbours."""
    n = len(rows)
    cells = find_cells(rows.z, n_cells(n, k), rng, n_jobs=n_jobs, report=report)
    sample = np.sort(rng.choice(n, size=sample_size(n, rows.width), replace=False)).astype(np.int32)
    truth = _true_neighbors(rows, sample, k, n_jobs=n_jobs, report=report)
    return probing_plan(cells, cell_ranks(rows, cells, sample, truth, n_jobs=n_jobs), recall)


def probing_plan(cells: Cells, rank: np.ndarray, recall: float) -> Plan:
    """The least number of probes that finds the share ``recall`` of true neighbours with these ranks."""
    size = len(rank)
    for probes in range(1, len(cells) + 1):
        share = (rank < probes).mean(axis=1)
        error = float(share.std() / np.sqrt(size))
        if share.mean() >= min(recall + 2 * error, 1.0):
            break
    return Plan(cells, probes, float(share.mean()), error, size)


def sample_size(n: int, d: int) -> int:
    """Rows whose true neighbours are looked for: enough to know the recall, and a small part of the whole work."""
    return int(np.clip(5e10 / (n * d), min(n, 256), min(n, 1024)))


def n_cells(n: int, k: int) -> int:
    """Few enough that finding a row's cells costs less than searching them, and cells larger than neighbourhoods."""
    return int(np.clip(3 * np.sqrt(n), 1, max(1, n // max(16, 4 * k))))


def _true_neighbors(rows: Rows, sample: np.ndarray, k: int, *, n_jobs: int | None, report: Progress) -> np.ndarray:
    ids = np.arange(len(rows), dtype=np.int32)
    keys = propose(rows.part(sample), rows, k, (sample, ids), n_jobs=n_jobs, report=report, stage="sample")
    truth = np.empty((len(sample), k), dtype=np.int32)
    _core.best(keys, truth, np.empty(truth.shape, dtype=np.float32))
    return truth


def cell_ranks(rows: Rows, cells: Cells, sample: np.ndarray, truth: np.ndarray, *, n_jobs: int | None) -> np.ndarray:
    """For each sampled row and true neighbour: how many centres are nearer to one than that of the other's cell.

    Of the two ways round the lower one counts: with more probes than that, the two find each other.
    """
    m, k = truth.shape
    others, place = np.unique(truth, return_inverse=True)
    place = place.reshape(truth.shape)
    cell_of_sample = cells.nearest(rows.z[sample], 1, n_jobs=n_jobs)[:, 0]
    cell_of_other = cells.nearest(rows.z[others], 1, n_jobs=n_jobs)[:, 0]
    rank = np.empty((m, k), dtype=np.int64)

    def work(I: slice) -> None:
        for i in range(I.start, I.stop):
            own = cells.scores(rows.z[sample[i : i + 1]])[0] + cells.bias
            back = cells.scores(rows.z[truth[i]]) + cells.bias
            ahead = (own > own[cell_of_other[place[i]]][:, None]).sum(axis=1)
            behind = (back > back[:, cell_of_sample[i], None]).sum(axis=1)
            rank[i] = np.minimum(ahead, behind)

    map_blocks(work, row_blocks(m, 16), n_jobs=n_jobs)
    return rank


def _search(rows: Rows, plan: Plan, k: int, *, n_jobs: int | None, report: Progress) -> np.ndarray:
    """Candidates of every row: members of the cells that it probes, and rows that probe its own cell."""
    n, cells = len(rows), plan.cells
    with report.stage("assign to cells", total=-(-n // 512)) as advance:
        probed = cells.nearest(rows.z, plan.probes, n_jobs=n_jobs, advance=advance)
    members, shards = by_cell(probed[:, :1], len(cells)), by_cell(probed[:, 1:], len(cells))
    del probed
    keys, _ = empty_heaps(n, min(k + SPARE, n - 1))
    search_cells(rows, members, shards, keys, n_jobs=n_jobs, report=report)
    return _fill_up(rows, keys, n_jobs=n_jobs, report=report)


Lists = tuple[np.ndarray, np.ndarray]  # where each cell's rows begin, and the rows


def search_cells(
    rows: Rows,
    member_lists: Lists,
    shard_lists: Lists,
    keys: np.ndarray,
    *,
    within: bool = True,
    n_jobs: int | None,
    report: Progress,
) -> None:
    """Offer candidates to the heaps of all rows: each cell's members meet the other rows of its shard.

    And, with ``within``, one another.
    """
    (member_start, members), (shard_start, shards) = member_lists, shard_lists
    locks = np.zeros(len(keys), dtype=np.uint8)
    scores, lefts, rights = Buffers(), Buffers(), Buffers()

    def compare(task: tuple[np.ndarray, np.ndarray, bool]) -> None:
        left, right, both = task
        tall = rows.gather(left, lefts(len(left), rows.width))
        wide = rows.gather(right, rights(len(right), rows.width))
        score = np.matmul(tall, wide.T, out=scores(len(left), len(right)))
        # A pair may meet twice, once on each side's probes.
        _core.offer(keys, locks, score, left, right, left, right, rows.bias[left], rows.bias[right], both, True)

    inside, around = [], []
    for c in range(len(member_start) - 1):
        own = _split(members[member_start[c] : member_start[c + 1]], _LEFT)
        shard = _split(shards[shard_start[c] : shard_start[c + 1]], _RIGHT)
        if within:
            inside += [(own[i], own[j], i != j) for i in range(len(own)) for j in range(i, len(own))]
        around += [(left, right, True) for left in own for right in shard]
    with report.stage("neighbours", total=len(inside) + len(around)) as advance:
        # A row's own cell first: its candidates prune the later cells.
        map_blocks(compare, inside, n_jobs=n_jobs, advance=advance)
        map_blocks(compare, around, n_jobs=n_jobs, advance=advance)


def _split(ids: np.ndarray, size: int) -> list[np.ndarray]:
    return [ids[part] for part in row_blocks(len(ids), size)]


def _fill_up(rows: Rows, keys: np.ndarray, *, n_jobs: int | None, report: Progress) -> np.ndarray:
    """Rows whose cells had fewer rows than they need neighbours search everywhere."""
    few = np.flatnonzero((keys == 0).any(axis=1)).astype(np.int32)
    if len(few):
        ids = np.arange(len(rows), dtype=np.int32)
        keys[few] = propose(
            rows.part(few), rows, keys.shape[1], (few, ids), n_jobs=n_jobs, report=report, stage="small cells"
        )
    return keys


def by_cell(cell: np.ndarray, count: int) -> Lists:
    """The rows that name each cell, ascending; -1 names none."""
    from scipy.sparse import csr_array

    named = cell >= 0
    names = cell[named]
    # Of the type of the names, or SciPy copies these.
    indptr = np.concatenate([[0], np.cumsum(named.sum(axis=1))])
    indptr = indptr.astype(np.int32) if len(names) < 2**31 else indptr
    named = csr_array((np.ones(len(names), dtype=np.int8), names, indptr), shape=(len(cell), count)).tocsc()
    return named.indptr.astype(np.int64), named.indices.astype(np.int32)
