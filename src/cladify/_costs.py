"""Estimates of time and memory of the methods, and the probe of the machine's speed that they need.

The factors are from runs at several sizes and dimensions, in units of the probe's results on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import NamedTuple

__all__ = [
    "EXACT_WORK",
    "Machine",
    "Size",
    "arrivals",
    "ball",
    "graph_bytes",
    "linkage",
    "machine",
    "online_bytes",
    "pair_work",
    "pairs",
    "rounds",
    "search",
    "sparse_pairs",
    "splits",
    "triplets",
]

#: Up to this :func:`pair_work`, the search for neighbours computes every pair: about 10 s on two cores.
EXACT_WORK = 2e12


class Size(NamedTuple):
    """Size of the data: points, columns, and the edges of a graph (0 for rows)."""

    n: int
    d: int
    edges: int = 0
    cores: int = 1

    @property
    def linked(self) -> int:
        """Edges of the graph, or of the graph of 25 neighbours that rows become."""
        return self.edges or 25 * self.n

    @property
    def sorted(self) -> float:
        """n log₂ n."""
        return self.n * math.log2(self.n + 1)


class Machine(NamedTuple):
    """Speed of a machine on the cores asked for: flops a second in matrix products, and steps a second in loops."""

    flops: float
    steps: float


@lru_cache(maxsize=8)
def machine(cores: int = 1) -> Machine:
    """The speed of this machine, measured once in some 50 ms; the best of several runs, as other work may slow it."""
    import numpy as np

    from cladify._kit.parallel import map_blocks  # imported here, as `import cladify` needs neither

    began = perf_counter()
    a = np.ones((256, 256), dtype=np.float32)
    b = np.ones((256, 1024), dtype=np.float32)

    def fastest(task: Callable[[], object], until: float) -> float:
        times: list[float] = []
        while len(times) < 3 or perf_counter() - began < until:
            start = perf_counter()
            task()
            times.append(perf_counter() - start)
        return min(times)

    a @ b
    product = min(map_blocks(lambda _: fastest(lambda: a @ b, 0.025), range(cores), n_jobs=cores))
    flops = 2.0 * a.size * b.shape[1] / product
    ids = np.random.default_rng(0).permutation(1 << 16)
    sort = fastest(lambda: np.sort(ids[ids], kind="stable"), 0.045)
    return Machine(flops * cores, 20.0 * len(ids) / sort * cores)


# --- estimates --------------------------------------------------------------------------------------------------------


def pair_work(n: int, d: int) -> float:
    """Work of looking at every pair of rows: its product, and its turn in the selection of the nearest."""
    return n**2 * (d + 64.0)


def pairs(size: Size, machine: Machine) -> float:
    """All pairs of rows by matrix products, each with its turn in a selection of the nearest."""
    return 0.95 * pair_work(size.n, size.d) / machine.flops


def sparse_pairs(n: int, entries: float, machine: Machine) -> float:
    """All pairs of sparse rows with so many entries each."""
    return 1.8 * n**2 * (1.0 + entries / 60.0) / machine.steps


def search(size: Size, machine: Machine) -> float:
    """A graph of neighbours: all pairs of few rows, overlapping shards of many; nothing where there is a graph."""
    if size.edges:
        return 0.0
    few = pair_work(size.n, size.d) <= EXACT_WORK
    return pairs(size, machine) if few else 150.0 * size.n**1.5 * size.d / machine.flops


def rounds(size: Size, machine: Machine) -> float:
    return search(size, machine) + 40.0 * size.linked / machine.steps


def linkage(size: Size, machine: Machine) -> float:
    """Exact average linkage; on a graph its rounds."""
    return rounds(size, machine) if size.edges else 7.6 * size.n**2 * size.d / machine.flops


def splits(size: Size, machine: Machine) -> float:
    return 1900.0 * size.d * size.sorted / machine.flops + 40.0 * size.edges * math.log2(size.n + 1) / machine.steps


def triplets(size: Size, machine: Machine) -> float:
    """The starts and steps of HypHC: all triplets of blocks of 128 points."""
    starts = 4 if size.n <= 50 else 8 if size.n <= 500 else 4 if size.n <= 5000 else 2 if size.n <= 20_000 else 1
    steps = min(500, 5 * size.n)
    return splits(size, machine) + steps * (4e-4 + 1400.0 * starts * size.n / machine.steps)


def ball(size: Size, machine: Machine) -> float:
    """300 steps of 768 rows against up to 1000 nodes, then every row against them."""
    nodes = min(1000.0, 4.0 * math.sqrt(size.n))
    return 300.0 * (2e-4 + 768.0 * nodes * (4.0 * size.d / machine.flops + 10.0 / machine.steps)) + (
        size.n * nodes * (2.0 * size.d / machine.flops + 10.0 / machine.steps)
    )


def arrivals(size: Size, machine: Machine) -> float:
    """Each row finds its neighbours among those before it, then a place in the tree."""
    return search(size, machine) + size.n * (2e-5 + 60.0 * size.d / machine.steps)


def online_bytes(size: Size) -> float:
    return size.n * (24.0 * size.d + 400.0)


def graph_bytes(size: Size) -> float:
    return 40.0 * size.linked
