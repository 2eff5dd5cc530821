"""Agglomeration on a neighbour graph that is given: a million points, and how good the trees are on real images."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import real

K = 25


def _mixture(n: int, d: int = 32, n_clusters: int = 5000, seed: int = 0) -> np.ndarray:
    """Unit rows around two levels of centres; the sizes of the clusters follow Zipf's law, their spreads differ."""
    random = np.random.default_rng(seed)
    share = np.arange(1.0, n_clusters + 1) ** -0.9
    top = random.standard_normal((200, d))
    centres = top[random.integers(200, size=n_clusters)] + 0.7 * random.standard_normal((n_clusters, d))
    spread = random.lognormal(-0.9, 0.5, size=n_clusters)
    label = random.choice(n_clusters, size=n, p=share / share.sum())
    X = (centres[label] + spread[label, None] * random.standard_normal((n, d))).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


million = Case(
    "graph-million",
    "25 neighbours a point given, both directions still to be joined; bars for a million on two cores: "
    "Affinity 3 s, SCC 10 s, reciprocal 20 s, memory 4x the graph",
    short={"n": 200_000},
    long={"n": 1_000_000},
)


@million.prepare
def neighbour_graph(n: int) -> dict[str, Any]:
    import cladify

    graph = cladify.neighbors(_mixture(n), K, metric="cosine", random_state=0)
    return {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight}


def _fit(indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray, name: str, options: dict[str, Any]) -> Any:
    import cladify

    graph = cladify.NeighborGraph(indptr, indices, weight, metric="cosine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cladify.CladifyWarning)  # the graph has several components
        return getattr(cladify, name)(**options).fit(graph).tree_


for _label, _name, _options in [
    ("Affinity", "Affinity", {}),
    ("Affinity single", "Affinity", {"linkage": "single"}),
    ("SCC, 50 rounds", "SCC", {"n_rounds": 50}),
    ("ReciprocalNN average", "ReciprocalNN", {}),
    ("HAC single", "HAC", {"linkage": "single"}),
    ("HAC average, epsilon 0.1", "HAC", {"epsilon": 0.1}),
]:
    million.contestant(_label, needs="cladify.agglomerate")(partial(_fit, name=_name, options=_options))


@million.contestant("scipy minimum_spanning_tree (single)", needs="scipy.sparse.csgraph")
def scipy_spanning(indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray) -> Any:
    """The links of single linkage, not yet in a tree: SciPy has no more for a sparse graph."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    n = len(indptr) - 1
    distance = csr_array((2.0 - 2.0 * weight + 1e-6, indices, indptr), shape=(n, n))  # an edge of 0 would be none
    return minimum_spanning_tree(distance)


images = Case(
    "graph-aloi",
    "ALOI, 108 000 images of 1000 objects, 25 exact neighbours by cosine; the thesis: SCC .575 purity, .567 F1; "
    "Affinity .478, .439",
    repeat=1,
)


@images.prepare
def aloi() -> dict[str, Any]:
    import cladify

    data = real("aloi")
    graph = cladify.neighbors(data["X"].astype(np.float32), K, metric="cosine", method="exact")
    return {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight, "y": data["y"]}


for _label, _name, _options in [
    ("SCC", "SCC", {}),
    ("SCC linear", "SCC", {"thresholds": "linear"}),
    ("SCC quantile", "SCC", {"thresholds": "quantile"}),
    ("Affinity", "Affinity", {}),
    ("ReciprocalNN average", "ReciprocalNN", {}),
    ("SCC single", "SCC", {"linkage": "single"}),
    ("Affinity single", "Affinity", {"linkage": "single"}),
]:
    images.contestant(_label, needs="cladify.agglomerate")(partial(_fit, name=_name, options=_options))


@images.quality("purity")
def purity(result: Any, y: np.ndarray) -> float:
    from cladify.metrics import dendrogram_purity

    return float(dendrogram_purity(result, y))


@images.quality("F1 at 1000")
def pairwise(result: Any, y: np.ndarray) -> float:
    from cladify.metrics import pairwise_f1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a tree of rounds may have no cut into exactly 1000
        return float(pairwise_f1(result.cut(n_clusters=1000), y).f1)
