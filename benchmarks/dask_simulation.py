"""What a run of the Dask engine on more rows and workers than are at hand would take: tasks simulated one by one.

``python -m benchmarks.dask_simulation --rows 1e9 --workers 256 --memory 16GB`` prints a line a stage: its tasks, the
bytes that pass between them, the memory that the largest takes, and when it ends. Numbers of cells, parts and groups
come from the engine's own functions, the work of a task from its products and edges. Tasks go to the first worker that
is free, in order; a group may be 30 % larger or smaller than the mean; a worker may be lost, and its task begins again.

The rates below are those of one core, fitted to quiet runs of 10⁶ rows (:mod:`benchmarks.dask_study`); what they say of
10⁷ is beside the measured figures in ``docs/scale.md``.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cladify.distributed._job import Job
from cladify.distributed._stages.plan import GROUP_SHARE, row_bytes
from cladify.distributed._stages.rounds import SORTED_EDGE
from cladify.distributed.sources import part_bytes_for
from cladify.neighbors._cells import ROWS_A_CELL
from cladify.neighbors._shards import n_cells, sample_size

PRODUCTS = 36e9  # operations of matrix products a second
MEANS = 10e9  # the same, of k-means
PAIRS = 20e9  # the same where each product is a candidate for a list of neighbours
EDGE = 0.8e-6  # seconds of an edge in all rounds together
DISK = 0.5e9  # bytes a second that a worker reads and writes
TASK = 1.5e-3  # seconds of the scheduler, which has one thread, for a task
BARE = 2e8  # bytes of a worker without a task
COPIES = 1.6  # groups that a row is sent to
ROUNDS, ON_PARTS = 50, 38  # of SCC; those before one worker goes on alone
JOINED = 5  # edges a row that one worker then goes on with, at most


@dataclass(frozen=True)
class Workers:
    """So much of a client as the engine asks for its plan."""

    count: int
    memory: float

    def nthreads(self) -> dict[int, int]:
        return dict.fromkeys(range(self.count), 1)

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {0: {"memory_limit": self.memory, "nthreads": 1}}}


@dataclass
class Stage:
    """Tasks that may run at the same time."""

    name: str
    tasks: int
    seconds: float  # of one core, in all
    passes: float = 0.0  # bytes between tasks
    memory: float = 0.0  # bytes of the largest task
    uneven: float = 0.0  # how far tasks are from their mean
    rounds: int = 1


@dataclass
class Run:
    """The stages of SCC over n rows."""

    n: int
    d: int
    k: int
    probes: int
    workers: Workers
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self) -> None:
        n, d, k, p, workers = self.n, self.d, self.k, self.probes, self.workers
        job = Job(workers)
        memory, room, threads = job.memory, job.room, workers.count
        cells = n_cells(n, k)
        parts = -(-4 * n * d // part_bytes_for(workers))
        rows = n / parts
        sample = min(ROWS_A_CELL * cells, max(4 * cells, int(memory / (64 * d))))
        asked = sample_size(n, d)
        most = GROUP_SHARE * memory / row_bytes(d, k, p)
        groups = min(4 * threads, max(1, n // 10_000))
        while n / groups * COPIES > most and groups < cells:
            groups *= 2
        row = 20 + 4 * p + 4 * d
        near = 2 * d * n * p * (n / cells) / PAIRS
        edges = 1.7 * k * n  # in both directions, where they are not the same edge
        pieces = int(np.ceil(n * 2 * k * SORTED_EDGE / (room / 2)))
        pieces = min(max(pieces, threads), parts)
        io = 4 * n * d / DISK
        self.stages = [
            Stage("check", parts, 2 * io, memory=10 * rows * 4 * d),
            Stage("cells", 1, 2 * 2 * 8 * sample * np.sqrt(cells) * d / MEANS, memory=16 * sample * d),
            Stage("sample", parts, io + 2 * n * asked * d / PRODUCTS, 8 * k * asked * parts, 10 * rows * 4 * d),
            Stage("probes", 1, 2 * (asked * (k + 1) + 50_000) * cells * d / PRODUCTS, memory=4 * 50_000 * cells / 16),
            Stage("assign", parts, io + 2 * n * cells * d / PRODUCTS, n * row, 10 * rows * 4 * d),
            Stage("search", groups, near, n * (8 + 8 * k + (COPIES - 1) * row), row_bytes(d, k, p) * n / groups, 0.3),
            Stage("visit", groups, 0.35 * near, 2.0 * n * k, COPIES * row_bytes(d, k, p) * n / groups, 0.3),
            Stage("merge", parts, 2e-6 * n * k / 10, 8 * k * n, 40 * k * rows),
            Stage("both directions", 2 * pieces, 0.12 * EDGE * edges, 12 * edges, SORTED_EDGE * edges / pieces),
            Stage("rounds", 2 * pieces, 0.88 * EDGE * edges, 12 * edges + ON_PARTS * 15 * n, room / 2 + 12 * n),
            Stage("unite", 1, ON_PARTS * 2e-8 * n, memory=12 * n + min(80 * n, 0.8 * room)),
            Stage("finish", 1, EDGE * min(JOINED * n, room / 60), memory=room),
        ]
        for stage in self.stages:
            stage.rounds = ON_PARTS if stage.name in ("rounds", "unite") else 1


def end_of(stage: Stage, workers: int, begun: float, lost: float, rng: np.random.Generator) -> tuple[float, int]:
    """When the last task of a stage ends, and how many began again; a worker is ``lost`` so often an hour."""
    free = [begun] * workers
    heapq.heapify(free)
    end, asked, again = begun, begun, 0
    mean = stage.seconds / stage.tasks / stage.rounds + stage.passes / stage.tasks / stage.rounds / DISK
    for _ in range(stage.rounds):
        for seconds in mean * rng.uniform(1 - stage.uneven, 1 + stage.uneven, stage.tasks):
            asked += TASK
            start = max(heapq.heappop(free), asked)
            while rng.random() < seconds * lost / 3600:
                start, again = start + rng.uniform(0, seconds), again + 1
            heapq.heappush(free, start + seconds)
            end = max(end, start + seconds)
        asked = max(asked, end)  # all tasks of a round need those of the last
        free = [end] * workers
    return end, again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--probes", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=float, default=1.2, help="gigabytes of a worker, which has one thread")
    parser.add_argument("--lost", type=float, default=0.0, help="how often an hour a worker is lost")
    args = parser.parse_args()
    workers = Workers(args.workers, 1e9 * args.memory)
    run = Run(int(args.rows), args.columns, args.neighbors, args.probes, workers)
    rng = np.random.default_rng(0)
    end, again = 0.0, 0
    print(f"{'stage':16} {'tasks':>8} {'GB pass':>9} {'GB a task':>9} {'CPU s':>11} {'ends at s':>11}")
    for stage in run.stages:
        end, more = end_of(stage, args.workers, end, args.lost, rng)
        again += more
        gigabytes = f"{stage.passes / 1e9:9.2f} {(BARE + stage.memory) / 1e9:9.2f}"
        print(f"{stage.name:16} {stage.tasks * stage.rounds:8d} {gigabytes} {stage.seconds:11.0f} {end:11.0f}")
    total, passes = sum(stage.seconds for stage in run.stages), sum(stage.passes for stage in run.stages)
    print(f"{total / 3600:.2f} core-hours, {passes / 1e9:.1f} GB, {end / 3600:.2f} h, {again} tasks begun again")


if __name__ == "__main__":
    main()
