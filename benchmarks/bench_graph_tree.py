"""The default method at scale: time, growth and memory on vectors, and its cost on graphs that are given."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench_graph import K, _mixture
from benchmarks.case import Case
from benchmarks.data import real

GRAPHS = ("newsgroups20_minilm", "debian_minilm", "mnist", "glove100")

growth = Case(
    "graph-tree-growth",
    "vectors of 128 numbers to a tree, neighbours included; bars for a million on two cores: 5 min, memory beside the "
    "vectors 6x the graph; growth exponents: log10 of the time a row over that of a tenth of the rows, plus 1",
    short={"n": 100_000},
    long={"n": 1_000_000},
    timeout=1800.0,
    repeat=1,
)


@growth.prepare
def vectors(n: int) -> dict[str, Any]:
    return {"X": _mixture(n, d=128, n_clusters=max(50, n // 200))}


def _grow(X: np.ndarray, part: int) -> dict[str, float]:
    import time

    import cladify

    start = time.monotonic()
    # Rows are in no order: the first ones are a sample.
    model = cladify.GraphTree(metric="cosine", random_state=0).fit(X[: len(X) // part])
    took = time.monotonic() - start
    graph = model.graph_
    held = sum(a.nbytes for a in (graph.indptr, graph.indices, graph.weight))
    return {"seconds": took, "rows": len(X) // part, "graph MB": held / 1e6}


for _part in (1, 10, 100):
    _label = "all rows" if _part == 1 else f"one row in {_part}"
    growth.contestant(_label, needs="cladify.graphtree")(partial(_grow, part=_part))


@growth.quality("microseconds a row")
def a_row(result: dict[str, float]) -> float:
    return 1e6 * result["seconds"] / result["rows"]


@growth.quality("graph MB")
def graph_size(result: dict[str, float]) -> float:
    return result["graph MB"]


def _given_case(name: str) -> None:
    case = Case(
        f"graph-tree-given-{name}",
        f"Dasgupta's cost on the graph of {K} neighbours of {name}, both directions added; bar: at most .1 % above the "
        "search of the whole as one level",
        timeout=1800.0,
        repeat=1,
    )

    @case.prepare
    def neighbour_graph() -> dict[str, Any]:
        import cladify

        X = real(name)["X"].astype(np.float32)
        graph = cladify.neighbors(X, K, metric="cosine", random_state=0)
        matrix = graph.to_scipy()
        both = (matrix + matrix.T).tocsr()
        return {"indptr": both.indptr, "indices": both.indices, "weight": both.data}

    @case.contestant("GraphTree, part by part", needs="cladify.graphtree")
    def parts(indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray) -> Any:
        import cladify

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cladify.CladifyWarning)  # the graph may have several components
            return cladify.GraphTree().fit(_graph(indptr, indices, weight)).tree_

    @case.contestant("one level", needs="cladify.graphtree._search")
    def whole(indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray) -> Any:
        from cladify._kit.progress import Progress
        from cladify.graphtree._edges import given_edges
        from cladify.graphtree._search import Budget, search_whole

        edges = given_edges(_graph(indptr, indices, weight), np.ones(len(indptr) - 1), -1)
        return search_whole(edges, Budget(None, 0, -1, Progress()))

    @case.quality("log10 of the cost")
    def cost(result: Any, indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray) -> float:
        import cladify

        return math.log10(float(cladify.score(result, _graph(indptr, indices, weight), objective="dasgupta").value))


def _graph(indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray) -> Any:
    import cladify

    return cladify.NeighborGraph(indptr, indices, weight, metric="precomputed")


for _name in GRAPHS:
    _given_case(_name)
