"""Overlapping clusters: LLAMA on partitions and covers beside trees, and its time on graphs that are given."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench_graph import _mixture
from benchmarks.case import Case
from benchmarks.data import clustered, real

K = 25


def _graph(X: Any, k: int = K) -> dict[str, Any]:
    import cladify

    graph = cladify.neighbors(X, k, metric="cosine", recall=0.99, random_state=0)
    return {"indptr": graph.indptr, "indices": graph.indices, "weight": graph.weight}


def _fit(indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray, name: str, options: dict[str, Any]) -> Any:
    import cladify

    graph = cladify.NeighborGraph(indptr, indices, weight, metric="cosine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cladify.CladifyWarning)  # the graph has several components
        model = getattr(cladify, name)(**options).fit(graph)
    return model.dag_ if name == "Llama" else model.tree_


def _made(points: Any, n: int) -> dict[str, Any]:
    return _graph(points(n))


def _truth(known: dict[str, Any]) -> Any:
    return known["y"] if "y" in known else (known["y_indptr"], known["y_indices"])


def _jaccard(metric: str, result: Any, **known: Any) -> float:
    import cladify

    return float(getattr(cladify.metrics, metric)(result, _truth(known)))


def _judged(case: Case) -> None:
    for name, metric in (("node", "jaccard_per_node"), ("point", "jaccard_per_point"), ("label", "jaccard_per_label")):
        case.quality(name)(partial(_jaccard, metric))


def _compared(case: Case, linkages: tuple[str, ...]) -> None:
    for linkage in linkages:
        for merge_equal in (True, False):
            label = f"Llama {linkage}" + ("" if merge_equal else " (a node each pair)")
            options = {"linkage": linkage, "merge_equal": merge_equal}
            case.contestant(label, needs="cladify.overlap")(partial(_fit, name="Llama", options=options))
    for name in ("ReciprocalNN", "Affinity"):
        for linkage in ("average", "single")[: 2 if "single" in linkages else 1]:
            case.contestant(f"{name} {linkage}", needs="cladify.agglomerate")(
                partial(_fit, name=name, options={"linkage": linkage})
            )
    _judged(case)


images = Case(
    "overlap-aloi",
    "ALOI, cosine, 50 rounds, 5 parents; the thesis (single / average): node .067 / .117, point .700 / .560, "
    "label .759 / .647",
    short={"k": 25},
    long={"k": 50},
    repeat=1,
)


@images.prepare
def aloi(k: int) -> dict[str, Any]:
    data = real("aloi")
    return {**_graph(data["X"].astype(np.float32), k), "y": data["y"]}


_compared(images, ("average", "exact-average", "single"))


def _cover(name: str) -> dict[str, Any]:
    data = real(name)
    X = data["X"].astype(np.float32)
    kept = np.flatnonzero((np.linalg.norm(X, axis=1) > 0) & (np.diff(data["y_indptr"]) > 0))
    start, labels = data["y_indptr"], data["y_indices"]
    rows = [labels[start[i] : start[i + 1]] for i in kept]
    cover = {
        "y_indptr": np.concatenate([[0], np.cumsum([len(row) for row in rows])]),
        "y_indices": np.concatenate(rows),
    }
    return {**_graph(X[kept]), **cover}


for _name, _about in [
    ("bibtex", "the thesis: node .081, point .178, label .172"),
    ("delicious", "the thesis: node .068, point .108, label .090"),
    ("debian_minilm", "packages and their debtags"),
    ("glove100", "words of WordNet and their synsets; the thesis, on fastText: node .307, point .714, label .869"),
]:
    _case = Case(f"overlap-{_name}", f"{_about}; average linkage, cosine", repeat=1)
    _case.prepare(partial(_cover, _name))
    _compared(_case, ("average", "exact-average"))


samples = Case(
    "overlap-ohc",
    "1000 images of ten classes of ALOI, average linkage; the thesis: node LLAMA exact .100, RcNN .044, OHC .091; "
    "point .979, .950, .990; label .892, .880, .908",
    repeat=1,
)


@samples.prepare
def thousand() -> dict[str, Any]:
    data = real("aloi")
    random = np.random.default_rng(0)
    rows = np.flatnonzero(np.isin(data["y"], random.choice(1000, 10, replace=False)))
    rows = random.choice(rows, 1000, replace=False)
    X = data["X"][rows].astype(np.float32)
    return {"X": X, "y": data["y"][rows], **_graph(X)}


_compared(samples, ("average", "exact-average"))


def _ohc(X: np.ndarray, merging: float) -> Any:
    import cladify

    return cladify.OHC(metric="cosine", merging=merging).fit(X).dag_


for _merging in (0.3, 0.5, 0.7, 0.9):
    samples.contestant(f"OHC {_merging}", needs="cladify.overlap")(partial(_ohc, merging=_merging))


quick = Case(
    "overlap-time",
    "ALOI's graph given, 100 rounds; bar 7.6 s (the thesis, 10 threads)",
    short={"k": K},
)


@quick.prepare
def aloi_graph(k: int) -> dict[str, Any]:
    return _graph(real("aloi")["X"].astype(np.float32), k)


for _linkage in ("average", "single", "exact-average"):
    quick.contestant(f"Llama {_linkage}", needs="cladify.overlap")(
        partial(_fit, name="Llama", options={"linkage": _linkage, "n_rounds": 100})
    )
quick.contestant("ReciprocalNN average", needs="cladify.agglomerate")(partial(_fit, name="ReciprocalNN", options={}))

for _name, _points in [("clustered", partial(clustered, d=32)), ("mixture", _mixture)]:
    _case = Case(
        f"overlap-million-{_name}",
        "25 neighbours a point given, 50 rounds, 5 parents; bars for a million on two cores: 60 s and 6 GB",
        short={"n": 200_000},
        long={"n": 1_000_000},
        repeat=1,
    )
    _case.prepare(partial(_made, _points))
    for _linkage in ("average", "single"):
        _case.contestant(f"Llama {_linkage}", needs="cladify.overlap")(
            partial(_fit, name="Llama", options={"linkage": _linkage})
        )
