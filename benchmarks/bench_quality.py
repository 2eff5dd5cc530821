"""How good the trees of all methods are on real data: purity and F1 against labels, and the papers' two objectives.

Conventions of the papers' tables: raw features, Moseley-Wang under the cosine weight ½(1 + cos), CKMM under squared
Euclidean distance, both as (value − random tree) / (bound − random tree). A method runs once with each metric.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import real

#: Methods that run at any size, those whose time grows faster or that take a matrix, and the linkages of HAC.
EVERYWHERE = ["bisect", "kmeans", "random-cut", "scc", "affinity", "reciprocal", "birch"]
SMALL = ["sat", "spectral", "robust", "random"]
LINKAGES = ["average", "complete", "ward", "single"]


def _run(method: str, metric: str, **options: Any) -> Any:
    def run(X: np.ndarray) -> Any:
        import cladify
        from cladify.methods import METHODS

        takes = METHODS[method].load()().get_params()
        if "metric" in takes:
            options["metric"] = metric
        elif metric == "cosine":
            X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cladify.CladifyWarning)  # graphs of several components
            return cladify.fit(X, method, random_state=0, **options)

    return run


def _quality(name: str, about: str, *, small: bool) -> None:
    case = Case(f"quality-{name}", about, repeat=1, timeout=900.0)

    @case.prepare
    def data() -> dict[str, Any]:
        import cladify

        arrays = real(name)
        X, y = arrays["X"].astype(np.float32), arrays["y"]
        how = "exact" if len(X) <= 2500 else "sampled"
        numbers = {}
        for metric, objective in (("cosine", "mw"), ("sqeuclidean", "ckmm")):
            bounds = cladify.objectives.bounds(X, metric, objective, method=how)
            numbers |= {f"{objective}_random": bounds.random, f"{objective}_upper": bounds.upper}
        return {"X": X, "y": y, **numbers}

    for metric in ("sqeuclidean", "cosine"):
        for method in EVERYWHERE:
            case.contestant(f"{method}, {metric}", needs="cladify.agglomerate")(_run(method, metric))
        if small:
            for method in SMALL:
                case.contestant(f"{method}, {metric}", needs="cladify.agglomerate")(_run(method, metric))
            for linkage in LINKAGES:
                own = "euclidean" if (linkage, metric) == ("ward", "sqeuclidean") else metric
                if linkage == "ward" and metric == "cosine":
                    continue
                case.contestant(f"hac {linkage}, {metric}", needs="cladify.agglomerate")(
                    _run("hac", own, linkage=linkage)
                )

    @case.quality("purity")
    def purity(result: Any, y: np.ndarray) -> float:
        from cladify.metrics import dendrogram_purity

        return float(dendrogram_purity(result, y))

    @case.quality("best F1")
    def f1(result: Any, y: np.ndarray) -> float:
        from cladify.metrics import best_f1

        return float(best_f1(result, y).f1)

    @case.quality("MW α*")
    def mw(result: Any, X: np.ndarray, mw_random: float, mw_upper: float) -> float:
        import cladify

        return (cladify.objectives.mw(result, X, "cosine") - mw_random) / (mw_upper - mw_random)

    @case.quality("CKMM α*")
    def ckmm(result: Any, X: np.ndarray, ckmm_random: float, ckmm_upper: float) -> float:
        import cladify

        return (cladify.objectives.ckmm(result, X) - ckmm_random) / (ckmm_upper - ckmm_random)


_quality("glass", "All methods on Glass (Naumov and others 2021, tables 7, 8 and 10)", small=True)
_quality("spambase", "All methods on Spambase", small=True)
_quality("aloi", "Scalable methods on ALOI, 108 000 images", small=False)


# --- embeddings: before and after refinement --------------------------------------------------------------------------

#: Down to a few thousand rows, or with a matrix of all pairs.
SLOW = ["spectral", "birch"]


def _embeddings(name: str, metric: str, objective: str) -> None:
    case = Case(
        f"embeddings-{name.split('_')[0]}-{objective}",
        f"Normalised {objective} of {name} by every method, before and after refinement",
        short={"n": 10_000},
        long={"n": 200_000},
        repeat=1,
        timeout=900.0,
    )

    @case.prepare
    def data(n: int) -> dict[str, Any]:
        import cladify

        X = real(name)["X"]
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:n])].astype(np.float32)
        bounds = cladify.objectives.bounds(X, metric, objective, method="sampled", random_state=0)
        return {"X": X, "upper": bounds.upper, "random": bounds.random}

    for method in ("bisect", "kmeans", "random-cut", "scc", "affinity", "reciprocal", "sat", *SLOW, "hac"):
        few = 20_000 if method in SLOW else None
        case.contestant(method, needs="cladify.agglomerate", max_n=few)(_run(method, metric))
    for method in ("bisect", "kmeans", "random-cut", "scc", "hac"):
        case.contestant(f"{method} + refine", needs="cladify.agglomerate", max_n=20_000)(
            _run(method, metric, refine=objective)
        )

    @case.contestant("fit(objective=)", needs="cladify.agglomerate")
    def best(X: np.ndarray) -> Any:
        import cladify

        return cladify.fit(X, metric=metric, objective=objective, budget_seconds=120.0)

    @case.quality("normalised")
    def normalised(result: Any, X: np.ndarray, upper: float, random: float) -> float:
        import cladify

        return (getattr(cladify.objectives, objective)(result, X, metric) - random) / (upper - random)


for _name in ("newsgroups20_minilm", "debian_minilm", "glove100", "mnist", "aloi"):
    for _metric, _objective in (("cosine", "mw"), ("sqeuclidean", "ckmm")):
        _embeddings(_name, _metric, _objective)
