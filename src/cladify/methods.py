"""The registry: every method on one line, and what it takes, gives and costs.

:func:`cladify.fit`, ``method="auto"``, ``cladify methods``, the table of the documentation and the conformance tests
read it. To add a method, write its estimator and add its :class:`Method` to :data:`METHODS`; its public name, the
command line and the tests follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from cladify._costs import (
    Machine,
    Size,
    arrivals,
    ball,
    graph_bytes,
    linkage,
    machine,
    online_bytes,
    pairs,
    rounds,
    search,
    splits,
    triplets,
)

__all__ = ["INPUTS", "METHODS", "Machine", "Method", "Size", "find_method", "machine"]

#: Forms of data; :mod:`cladify.data.points` says how each is given. Sparse given values are a graph.
INPUTS = ("rows", "sparse", "graph", "distances", "similarities")


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
        return getattr(import_module(self.module), self.estimator)

    def takes(self, metric: Any, form: str = "rows") -> bool:
        """Whether it takes data of that form under that metric."""
        name = str(metric).partition("(")[0]
        known = name not in self.refuses if self.metrics is None else name in (self.metrics or ("sqeuclidean",))
        return known and form in self.inputs

    def estimate(self, size: Size) -> tuple[float, float]:
        """Seconds and bytes, about, on this machine."""
        return self.seconds(size, machine(size.cores)), self.bytes(size)


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
               "Rebuilds the path above a new point's neighbour; a baseline.",
               lambda size, machine: 2.0 * arrivals(size, machine), online_bytes,
               inputs=_VECTORS, metrics=_SUMS, exact=False, draws=True, online=True),
        Method("ohc", "OHC", "cladify.overlap", "overlapping",
               "Clusters that overlap by density, of some thousand points; a baseline.",
               lambda size, machine: 4000.0 * size.n**2.0 / machine.steps,
               lambda size: 30.0 * size.n**2.0,
               inputs=("rows", "sparse", "distances", "similarities"), weights=False, result="dag"),
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

#: Names of methods in other libraries -> the call here.
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
    from cladify._kit.params import check_choice  # NumPy, which `import cladify` does not need
    from cladify.errors import InvalidInput

    if isinstance(name, str) and name not in METHODS:
        word = name.lower()
        classes = {method.estimator.lower(): f"method={method.name!r}" for method in METHODS.values()}
        hint = f"method={word!r}" if word in METHODS else {**classes, **HINTS}.get(word)
        if hint:
            raise InvalidInput(f"method {name!r} is not known. Use {hint}.")
    return METHODS[check_choice("method", name, ["auto", *METHODS])]
