"""The plan of a sharded search: cells from a sample, how many a row probes, and groups of cells that fit a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.data._frame import Frame, Rows, row_squares
from cladify.data.similarity import Similarity
from cladify.distributed._storage.work_folder import Receipt, WorkFolder, read_arrays, write_arrays
from cladify.neighbors._cells import Cells, cells_of
from cladify.neighbors._shards import cell_ranks, probing_plan

__all__ = ["CELLS", "GROUP_SHARE", "Plan", "distinct", "load_plan", "make_cells", "make_plan", "row_bytes"]

CELLS = "cells"  # a file of the work folder, beside "plan"
GROUP_SHARE = 0.25  # of a task's memory for the rows of a group


def make_cells(path: str, sample: np.ndarray, similarity: Similarity, count: int, random: dict[str, Any]) -> Receipt:
    """Cells of a sample; the receipt has the state of the random numbers after it."""
    assert similarity.order is not None
    frame = Frame.of(sample, similarity.order, 1)
    assert frame.centre is not None
    rng = np.random.default_rng()
    rng.bit_generator.state = random
    z = Rows.of(sample, frame, 1).z[: len(sample)]
    cells = cells_of(z, count, rng, n_jobs=1, report=Progress())
    write_arrays(path, frame=frame.centre, unit=np.array([frame.unit]), centre=cells.centre)
    return {"random": rng.bit_generator.state}


def make_plan(
    path: str,
    work: WorkFolder,
    both: np.ndarray,
    where: tuple[np.ndarray, np.ndarray],
    sized: np.ndarray,
    similarity: Similarity,
    shape: tuple[int, int, int, float, int],
    recall: float,
) -> Receipt:
    """The probes that find the true neighbours of some rows, and groups that fit a worker."""
    n, d, k, memory, tasks = shape
    frame, cells = _load_cells(work, similarity)
    asked, truth = where
    rank = cell_ranks(Rows.of(both, frame, 1), cells, asked, truth, n_jobs=1)
    plan = probing_plan(cells, rank, recall)
    probed = cells.nearest(Rows.of(sized, frame, 1).z, plan.probes, n_jobs=1)
    most = max(1.0, GROUP_SHARE * memory / row_bytes(d, k, plan.probes))
    group = _groups(cells, probed, n / len(sized), most, min(tasks, max(1, n // 10_000)))
    write_arrays(path, group=group, probes=np.array([plan.probes]))
    return {**plan.info, "groups": int(group.max()) + 1}


def row_bytes(d: int, k: int, probes: int) -> int:
    """Memory of a row while its group is searched: as read, as ``z``, its candidates and their records."""
    return 12 * d + 8 * probes + 48 * k + 64


def _groups(cells: Cells, probed: np.ndarray, scale: float, most: float, least: int) -> np.ndarray:
    """The group of each cell: at least ``least`` of them, and so many that no one is sent more than ``most`` rows."""
    weight = np.bincount(probed[:, 0], minlength=len(cells)) + 1.0
    count = min(least, len(cells))
    while True:
        group = _halved(cells.centre, weight, count)
        copies = distinct((group[probed] + np.arange(len(probed), dtype=np.int64)[:, None] * count).ravel())
        if count == len(cells) or np.bincount(copies % count).max() * scale <= most:
            return group
        count = min(2 * count, len(cells))


def _halved(centre: np.ndarray, weight: np.ndarray, count: int) -> np.ndarray:
    """Cells in ``count`` groups of about equal weight: cut across the longest direction, again and again."""
    group = np.zeros(len(centre), dtype=np.int32)
    waiting = [(np.arange(len(centre)), 0, count)]
    while waiting:
        some, first, share = waiting.pop()
        if share == 1:
            group[some] = first
            continue
        z = centre[some] - centre[some].mean(axis=0)
        order = some[np.argsort(z @ _long_direction(z), kind="stable")]
        half = share // 2
        sums = np.cumsum(weight[order])
        cut = int(np.searchsorted(sums, sums[-1] * half / share))
        cut = min(max(cut, half), len(order) - (share - half))  # at least a cell for every group
        waiting += [(order[:cut], first, half), (order[cut:], first + half, share - half)]
    return group


def _long_direction(z: np.ndarray) -> np.ndarray:
    """About the direction in which rows around 0 spread most: some steps from the longest row towards it."""
    direction = z[np.argmax(row_squares(z))].astype(np.float64)
    for _ in range(8):
        direction = z.T @ (z @ direction)
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return direction


@dataclass(frozen=True)
class Plan:
    """The plan as a worker reads it."""

    frame: Frame
    cells: Cells
    group: np.ndarray
    probes: int

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1


def _load_cells(work: WorkFolder, similarity: Similarity) -> tuple[Frame, Cells]:
    assert similarity.order is not None
    found = {name: np.array(array) for name, array in read_arrays(work.path(CELLS)).items()}
    return Frame(similarity.order, found["frame"], float(found["unit"][0])), Cells.of(found["centre"])


def load_plan(work: WorkFolder, similarity: Similarity) -> Plan:
    found = read_arrays(work.path("plan"))
    return Plan(*_load_cells(work, similarity), np.array(found["group"]), int(found["probes"][0]))


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values, ascending; ``np.unique`` hashes them, which takes longer."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values
