"""The registry: every method on one line, and what it takes, gives and costs.

:func:`cladify.fit`, ``method="auto"``, ``cladify methods``, the table of the documentation and the conformance tests
read it. To add a method, write its estimator and add its :class:`Method` to :data:`METHODS`; its public name, the
command line and the tests follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["INPUTS", "METHODS", "Machine", "Method", "Size", "find_method", "machine"]

#: Forms of data; :mod:`cladify.data.points` says how each is given. Sparse given values are a graph.
INPUTS = ("rows", "sparse", "graph", "distances", "similarities")


class Size(NamedTuple):
    """How much there is to do: points, columns, and the edges of a graph (0 for rows)."""

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
    """What this machine does in a second on all the cores asked for: flops of matrix products, and steps of loops."""

    flops: float
    steps: float


class Method(NamedTuple):
    """One method.

    Attributes
    ----------
    name, estimator, module : str
        As ``fit(method=)`` takes it, the public class, and the module of that.
    family : str
    advice : str
        When to use it, in one line.
    seconds : callable
        About how long it takes: ``seconds(size, machine)``.
    bytes : callable
        About what it needs beside the data: ``bytes(size)``.
    inputs : tuple of str
        Some of :data:`INPUTS`.
    metrics : tuple of str, optional
        The metrics it takes; all where None, and none where it has no such parameter.
    refuses : tuple of str
        Metrics that it does not take where ``metrics`` is None.
    weights : bool
        Whether ``sample_weight`` counts.
    exact : bool
        Whether the tree is the one that its definition names, rather than one found by search or by chance.
    draws : bool
        Whether it has a ``random_state``.
    result : "tree" or "dag"
        Of what type the result is: the estimator has ``tree_`` or ``dag_``.
    online : bool
        Whether it has ``partial_fit`` and ``remove``.
    extra : str, optional
        What to install: ``pip install 'cladify[extra]'``.
    """

    name: str
    estimator: str
    module: str
    family: str
    advice: str
    seconds: Callable[[Size, Machine], float]
    bytes: Callable[[Size], float]
    inputs: tuple[str, ...] = INPUTS
    metrics: tuple[str, ...] | None = None
    refuses: tuple[str, ...] = ()
    weights: bool = True
    exact: bool = True
    draws: bool = False
    result: str = "tree"
    online: bool = False
    extra: str | None = None

    def load(self) -> Any:
        """The estimator's class."""
        from importlib import import_module

        return getattr(import_module(self.module), self.estimator)

    def takes(self, metric: Any, form: str = "rows") -> bool:
        """Whether it takes data of that form under that metric."""
        name = str(metric).partition("(")[0]
        known = name not in self.refuses if self.metrics is None else name in (self.metrics or ("sqeuclidean",))
        return known and form in self.inputs

    def estimate(self, size: Size) -> tuple[float, float]:
        """Seconds and bytes, about, on this machine."""
        return self.seconds(size, machine(size.cores)), self.bytes(size)


# --- what methods cost ------------------------------------------------------------------------------------------------
# The factors are from runs at several sizes and dimensions, in units of what one machine did in its probe.


def pairs(size: Size, machine: Machine) -> float:
    """All pairs of rows by matrix products, each with its turn in a selection of the nearest."""
    return 0.95 * size.n**2 * (size.d + 64.0) / machine.flops


def search(size: Size, machine: Machine) -> float:
    """A graph of neighbours: all pairs of few rows, overlapping shards of many; nothing where there is a graph."""
    from cladify.neighbors.build import EXACT_WORK, pair_work

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


_VECTORS = ("rows", "sparse")
_EUCLIDEAN = ("sqeuclidean", "euclidean", "cosine")
_SUMS = ("cosine", "dot", "sqeuclidean")
_ONLINE = "cladify.online"
_UP, _DOWN, _GRADIENT = "cladify.agglomerate", "cladify.divide", "cladify.hyperbolic"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("affinity", "Affinity", _UP, "bottom-up",
               "The fewest rounds on a graph of neighbours; a coarse, quick tree.",
               rounds, graph_bytes),
        Method("birch", "Birch", _UP, "bottom-up",
               "One pass over rows in order, for low dimensions; a baseline.",
               lambda size, machine: 2e-4 * size.n, lambda size: 24.0 * size.n * size.d,
               inputs=_VECTORS, metrics=(), weights=False, exact=False),
        Method("bisect", "BisectConquer", _DOWN, "top-down",
               "Good splits at the top, in near-linear time, for objectives.",
               splits, lambda size: 4.0 * size.n * size.d + 12.0 * size.edges, weights=False, exact=False, draws=True),
        Method("ghhc", "GHHC", _GRADIENT, "gradient",
               "Inner nodes that move in the hyperbolic ball; a baseline of the literature.",
               ball, lambda size: 16.0 * size.n * size.d + 2e5 * math.sqrt(size.n),
               inputs=_VECTORS, metrics=(), weights=False, exact=False, draws=True),
        Method("graph", "GraphTree", "cladify.graphtree", "graph",
               "The best trees for people: Dasgupta's cost on the graph of neighbours.",
               lambda size, machine: search(size, machine) + 4000.0 * size.linked / machine.steps, graph_bytes,
               exact=False, draws=True),
        Method("greedy", "Greedy", _ONLINE, "online",
               "Points arrive and go beside their nearest neighbour; a baseline.",
               arrivals, online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("grinch", "Grinch", _ONLINE, "online",
               "Points arrive and leave, and wrong places are mended; any linkage.",
               lambda size, machine: 2.0 * arrivals(size, machine), online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("hac", "HAC", _UP, "bottom-up",
               "Exact linkage (average, Ward, ...) up to some 100 000 rows; the reference.",
               linkage, lambda size: size.n * (12.0 * size.d + 700.0) if not size.edges else graph_bytes(size)),
        Method("hyphc", "HypHC", _GRADIENT, "gradient",
               "Gradient descent on Dasgupta's cost in the disk, with an embedding to draw.",
               triplets, lambda size: size.n * (4.0 * size.d + 1200.0) + 24.0 * size.edges,
               weights=False, exact=False, draws=True),
        Method("kmeans", "BisectingKMeans", _DOWN, "top-down",
               "k-means with k = 2 all the way down; counts sample_weight.",
               splits, lambda size: 4.0 * size.n * size.d,
               inputs=_VECTORS, metrics=_EUCLIDEAN, exact=False, draws=True),
        Method("live", "LiveTree", _ONLINE, "online",
               "The tree of \"graph\", kept up to date while points arrive and leave.",
               lambda size, machine: search(size, machine) + 4000.0 * size.linked / machine.steps,
               lambda size: size.n * 4.0 * size.d + 2.0 * graph_bytes(size),
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("llama", "Llama", "cladify.overlap", "overlapping",
               "Clusters that overlap: points with several senses get several parents.",
               lambda size, machine: search(size, machine) + 4000.0 * size.linked / machine.steps,
               lambda size: 6.0 * graph_bytes(size), weights=False, result="dag"),
        Method("mini-batch-hac", "MiniBatchHAC", _ONLINE, "online",
               "Average linkage with a buffer of clusters; a baseline.",
               lambda size, machine: search(size, machine) + 12.0 * size.n * min(size.n, 2000) * size.d / machine.flops,
               online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("mini-batch-scc", "MiniBatchSCC", _ONLINE, "online",
               "SCC for points that arrive in batches, and leave.",
               lambda size, machine: search(size, machine) + 1000.0 * size.linked / machine.steps,
               lambda size: size.n * 4.0 * size.d + 3.0 * graph_bytes(size),
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("ohac", "OHAC", _ONLINE, "online",
               "What lies above a new point's neighbour is put together anew; a baseline.",
               lambda size, machine: 2.0 * arrivals(size, machine), online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("perch", "Perch", _ONLINE, "online",
               "Points arrive beside their nearest neighbour; rotations for purity and balance.",
               arrivals, online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("random", "RandomTree", _DOWN, "top-down",
               "A random tree, to compare with.",
               lambda size, machine: 60.0 * size.n / machine.steps, lambda size: 40.0 * size.n,
               weights=False, exact=False, draws=True),
        Method("random-cut", "RandomCut", _DOWN, "top-down",
               "Millions of rows in seconds, as good as one projection can be.",
               lambda size, machine: (60.0 + 2.0 * size.d) * size.n / machine.steps, lambda size: 40.0 * size.n,
               inputs=_VECTORS, metrics=_EUCLIDEAN, weights=False, exact=False, draws=True),
        Method("reciprocal", "ReciprocalNN", _UP, "bottom-up",
               "HAC on a graph of neighbours, many merges a round.",
               rounds, graph_bytes),
        Method("robust", "RobustSingleLinkage", _UP, "bottom-up",
               "HDBSCAN: clusters of any shape, and noise.",
               lambda size, machine: rounds(size, machine) if size.edges else 2.0 * pairs(size, machine),
               lambda size: size.n * (24.0 * size.d + 1600.0) if not size.edges else graph_bytes(size),
               inputs=("rows", "sparse", "graph", "distances"), refuses=("dot", "precomputed-similarity")),
        Method("rotate", "Rotate", _ONLINE, "online",
               "Points arrive and climb until they fit; right where clusters are far apart.",
               arrivals, online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("sat", "SatConquer", _DOWN, "top-down",
               "The best of three trees around a Max-2-SAT partition, for objectives.",
               lambda size, machine: 4.0 * splits(size, machine),
               lambda size: 12.0 * size.n * size.d + 24.0 * size.edges,
               weights=False, exact=False, draws=True),
        Method("scc", "SCC", _UP, "bottom-up",
               "Large data: components of neighbours under a falling threshold, in rounds.",
               rounds, graph_bytes),
        Method("spectral", "SpectralCut", _DOWN, "top-down",
               "Normalised cuts of a graph of neighbours, down to the points.",
               lambda size, machine: search(size, machine) + 3e-4 * size.n + 600.0 * size.linked / machine.steps,
               lambda size: 3.0 * graph_bytes(size), inputs=("rows", "sparse", "graph", "similarities"),
               exact=False, draws=True),
        Method("ufit", "UFit", _GRADIENT, "gradient",
               "The ultrametric nearest to the distances, for up to some 1000 rows.",
               lambda size, machine: 300.0 * (2e-4 + 6.0 * size.n**2 / machine.steps), lambda size: 16.0 * size.n**2,
               inputs=("rows", "sparse", "distances", "similarities"), weights=False, exact=False, draws=True),
    )
}  # fmt: skip

#: What people call methods elsewhere -> how to ask for them here.
HINTS = {
    "agglomerative": "method='hac'",
    "average": "method='hac', linkage='average'",
    "centroid": "method='hac', linkage='centroid'",
    "complete": "method='hac', linkage='complete'",
    "median": "method='hac', linkage='median'",
    "single": "method='hac', linkage='single'",
    "upgma": "method='hac', linkage='average'",
    "ward": "method='hac', linkage='ward'",
    "weighted": "method='hac', linkage='weighted'",
    "dbscan": "method='robust'",
    "hdbscan": "method='robust'",
    "b++&c": "method='bisect'",
    "b2sat&c": "method='sat'",
    "bisecting": "method='kmeans'",
    "k-means": "method='kmeans'",
    "rnn": "method='reciprocal'",
}


def find_method(name: Any) -> Method:
    """The method of that name, or an error that says what it is called here.

    >>> find_method("scc").estimator
    'SCC'
    >>> find_method("ward")
    Traceback (most recent call last):
    ...
    cladify.errors.InvalidInput: method 'ward' is not known. Use method='hac', linkage='ward'.
    """
    from cladify._kit.params import check_choice
    from cladify.errors import InvalidInput

    if isinstance(name, str) and name not in METHODS:
        word = name.lower()
        classes = {method.estimator.lower(): f"method={method.name!r}" for method in METHODS.values()}
        hint = f"method={word!r}" if word in METHODS else {**classes, **HINTS}.get(word)
        if hint:
            raise InvalidInput(f"method {name!r} is not known. Use {hint}.")
    return METHODS[check_choice("method", name, ["auto", *METHODS])]


@lru_cache(maxsize=8)
def machine(cores: int = 1) -> Machine:
    """What this machine does in a second, measured once in some 50 ms, also where other work slows it down."""
    from time import perf_counter

    import numpy as np

    from cladify._kit.parallel import map_blocks

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
