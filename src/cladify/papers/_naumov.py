"""Naumov, Yaroslavtsev and Avdiukhin (2021): tables 7, 8 and 10 (Glass and Spambase).

Raw features. CKMM under squared Euclidean distance, Moseley-Wang under ½ (1 + cos), both as
(value − random tree) / (bound − random tree); dendrogram purity of the tree made for CKMM.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import cladify
from cladify import objectives
from cladify.errors import CladifyWarning
from cladify.metrics import dendrogram_purity
from cladify.papers._data import labels, raw
from cladify.papers._row import Row
from cladify.tree import Tree

__all__ = ["rows"]

SETS = {"glass": "quick", "spambase": "normal"}
METRIC = {"CKMM": "sqeuclidean", "MW": "cosine"}
#: Method -> (figure, its ±) of Glass CKMM, Spambase CKMM, Glass MW, Spambase MW; purities of Glass and Spambase.
PRINTED: dict[str, tuple[list[tuple[float, float]], tuple[float, float]]] = {
    "B++&C": ([(0.98, 0), (0.98, 0), (0.96, 0), (0.97, 0)], (0.53, 0.75)),
    "average": ([(0.98, 0), (0.99, 0), (0.96, 0), (0.97, 0)], (0.51, 0.75)),
    "complete": ([(0.88, 0), (0.95, 0), (0.86, 0), (0.95, 0)], (0.48, 0.66)),
    "k-means": ([(0.86, 0.02), (0.96, 0.02), (0.83, 0.02), (-0.15, 0)], (0.52, 0.63)),
    "ward": ([(0.82, 0), (0.85, 0), (0.83, 0), (0.77, 0)], (0.51, 0.71)),
    "B2SAT&C": ([(0.79, 0), (0.89, 0), (0.96, 0), (0.97, 0)], (0.53, 0.75)),
    "Affinity": ([(0.75, 0), (0.88, 0), (0.70, 0), (0.67, 0)], (0.52, 0.57)),
    "single": ([(0.74, 0), (0.82, 0), (0.63, 0), (0.09, 0)], (0.54, 0.65)),
    "robust single linkage": ([(0.93, 0), (0.28, 0.29), (0.89, 0), (0.84, 0)], (0.49, 0.61)),
    "random cut": ([(0.43, 0.14), (0.91, 0.10), (0.42, 0.14), (0.06, 0.25)], (0.40, 0.61)),
    "GRINCH": ([(0.91, 0.06), (0.23, 0.36), (0.89, 0.06), (0.42, 0.26)], (0.53, 0.60)),
    "PERCH": ([(0.20, 0.07), (0.15, 0.06), (0.20, 0.06), (0.07, 0.08)], (0.47, 0.60)),
    "random": ([(0.0, 0), (0.0, 0), (0.0, 0), (0.0, 0)], (0.34, 0.54)),
}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "B++&C": ("bisect", {}),
    "average": ("hac", {"linkage": "average"}),
    "complete": ("hac", {"linkage": "complete"}),
    "k-means": ("kmeans", {}),
    "ward": ("hac", {"linkage": "ward"}),
    "B2SAT&C": ("sat", {}),
    "Affinity": ("affinity", {}),
    "single": ("hac", {"linkage": "single"}),
    "robust single linkage": ("robust", {}),
    "random cut": ("random-cut", {}),
    "random": ("random", {}),
    "GRINCH": ("Grinch", {}),
    "PERCH": ("Perch", {}),
}
RANDOM = ("k-means", "random cut", "GRINCH", "PERCH", "random")
CAUSE = {
    "B2SAT&C": "by default θ = n up to 5000 rows, so no part is bisected and the tree is that of average linkage",
    "glass": (
        "of rows raw, as z-scores, scaled to [0, 1] and of length 1, each under squared, plain and angular distances, "
        "none gives the printed factors of average, complete, single and Ward's linkage together"
    ),
}


@cache
def bounds(name: str, objective: str) -> Any:
    X = raw(name)["X"]
    few = len(X) <= 2500
    return objectives.bounds(X, METRIC[objective], objective.lower(), method="exact" if few else "sampled")


@cache
def tree(name: str, method: str, metric: str, seed: int) -> Tree:
    """The tree for one metric; methods without one see rows of length 1 in place of cosine."""
    X, (called, options) = raw(name)["X"], CALLS[method]
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12) if metric == "cosine" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)  # graphs of several components
        if called in ("Grinch", "Perch"):
            order = np.random.default_rng(seed).permutation(len(X))
            rows_ = X[order] if called == "Grinch" else unit[order]
            model = cladify.Grinch(metric=metric) if called == "Grinch" else cladify.Perch()
            return model.partial_fit(rows_, ids=order.tolist()).tree_.relabel(order)
        takes = cladify.methods.METHODS[called].load()().get_params()
        if method == "ward" or "metric" not in takes:
            return cladify.fit(unit, called, random_state=seed, **options)
        return cladify.fit(X, called, random_state=seed, metric=metric, **options)


def normalised(name: str, method: str, objective: str, seed: int) -> float:
    """(Value − random) / (bound − random)."""
    X, known = raw(name)["X"], bounds(name, objective)
    measure = objectives.ckmm if objective == "CKMM" else objectives.mw
    value = measure(tree(name, method, METRIC[objective], seed), X, METRIC[objective])
    return float((value - known.random) / (known.upper - known.random))


def purity(name: str, method: str, seed: int) -> float:
    return float(dendrogram_purity(tree(name, method, "sqeuclidean", seed), labels(name)))


def rows() -> Iterator[Row]:
    """The figures of both objectives and the purities."""
    for method, (factors, pure) in PRINTED.items():
        called, options = CALLS[method]
        given = "".join(f", {key}={value!r}" for key, value in options.items())
        call = f"fit(X, {called!r}{given})" if called.islower() else f"{called}().partial_fit(X)"
        seeds = 5 if method in RANDOM else 1
        for i, name in enumerate(SETS):
            for j, objective in enumerate(METRIC):
                value, spread = factors[2 * j + i]
                yield Row(
                    "N",
                    "tables 7, 8",
                    f"{method}, {name}, {objective}",
                    value,
                    partial(normalised, name, method, objective),
                    call,
                    name,
                    spread=spread,
                    seeds=seeds,
                    within=0.0151,
                    tier=SETS[name],
                    cause=CAUSE.get(method) or CAUSE.get(name, ""),
                )
            yield Row(
                "N",
                "table 10",
                f"{method}, {name}, purity",
                pure[i],
                partial(purity, name, method),
                call,
                name,
                seeds=seeds,
                within=0.0151,
                tier=SETS[name],
                cause=CAUSE.get(method) or CAUSE.get(name, ""),
            )
