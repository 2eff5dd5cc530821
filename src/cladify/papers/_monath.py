"""Monath (2022): tables 3.1 to 3.3, 3.5, 4.1, 4.2, 4.6, 4.7, 5.1 and 5.3, where the data can be had."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

import cladify
from cladify.datasets import arrival_order, make_model_separated
from cladify.errors import CladifyWarning
from cladify.metrics import best_f1, dendrogram_purity, jaccard_per_label, jaccard_per_node, jaccard_per_point
from cladify.papers._data import labels, raw
from cladify.papers._row import Row

__all__ = ["rows"]

_BATCH = 1000
#: Grinch without the approximations of section 3.4.
_EXACT: dict[str, Any] = {"cap": None, "single_elimination": False, "single_search": False}
SYNTHETIC: dict[str, tuple[float, str, dict[str, Any]]] = {
    "GRINCH": (1.0, "Grinch", _EXACT),
    "GRINCH, approximate": (0.993, "Grinch", {}),
    "ROTATE": (0.872, "Rotate", {}),
    "GREEDY": (0.854, "Greedy", {}),
}
#: Order of arrival -> method -> printed purity on ALOI.
ARRIVING = {
    "random": {"Grinch": 0.504, "Rotate": 0.476, "Greedy": 0.435, "Perch": 0.44, "MiniBatchSCC": 0.591, "OHAC": 0.494},
    "round-robin": {"Grinch": 0.503, "Perch": 0.446},
    "sorted": {"Grinch": 0.457, "Perch": 0.351},
}
JACCARD: dict[str, Any] = {"node": jaccard_per_node, "point": jaccard_per_point, "label": jaccard_per_label}
#: (method, linkage) -> Jaccard a node, a point, a label on ALOI.
ALOI: dict[tuple[str, str], tuple[float, ...]] = {
    ("Llama", "single"): (0.067, 0.700, 0.759),
    ("Llama", "average"): (0.117, 0.560, 0.647),
    ("ReciprocalNN", "single"): (0.068, 0.594, 0.704),
    ("ReciprocalNN", "average"): (0.037, 0.593, 0.669),
    ("Affinity", "single"): (0.027, 0.648, 0.713),
    ("Affinity", "average"): (0.027, 0.518, 0.605),
}
COVERS: dict[tuple[str, str], tuple[float, ...]] = {
    ("bibtex", "Llama"): (0.081, 0.178, 0.172),
    ("bibtex", "ReciprocalNN"): (0.025, 0.198, 0.179),
    ("bibtex", "Affinity"): (0.017, 0.166, 0.138),
    ("delicious", "Llama"): (0.068, 0.108, 0.090),
    ("delicious", "ReciprocalNN"): (0.027, 0.129, 0.091),
    ("delicious", "Affinity"): (0.020, 0.124, 0.076),
}
BEST = {"iris": (0.926, "SCC"), "wine": (0.975, "SCC")}


@cache
def words(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Section 3.5.1, turned into as many columns as there are rows, with the same angles."""
    X, y = make_model_separated(2500, 100, random_state=seed)
    triangle: Any = np.linalg.qr(X.toarray().astype(np.float64).T, mode="r")
    return triangle.T.astype(np.float32), y


def synthetic(name: str, options: dict[str, Any], seed: int) -> float:
    X, y = words(seed)
    return streamed(getattr(cladify, name)(linkage="centroid", **options), X, y)


def streamed(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Purity after all rows have come."""
    for start in range(0, len(X), _BATCH):
        model.partial_fit(X[start : start + _BATCH])
    return float(dendrogram_purity(model.tree_, y))


def arriving(name: str, order: str, seed: int) -> float:
    X, y = raw("aloi")["X"], labels("aloi")
    come = arrival_order(y, order, random_state=seed)
    return streamed(getattr(cladify, name)(), X[come], y[come])


def best_purity(name: str, seed: int) -> float:
    """Table 4.7: the best over neighbours and rounds, rows as z-scores or as they are, by angle or by distance."""
    X, y = raw(name)["X"], labels(name)
    scores = (X - X.mean(axis=0)) / X.std(axis=0)
    found: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)
        for metric, k, rounds in product(("cosine", "sqeuclidean"), (5, 10, 15, 25, 50), (10, 30, 50, 100)):
            model = cladify.SCC(metric=metric, n_neighbors=k, n_rounds=rounds)
            found += [float(dendrogram_purity(model.fit(given).tree_, y)) for given in (X, scores)]
    return max(found)


@cache
def graph(name: str) -> tuple[cladify.NeighborGraph, Any]:
    """Neighbours by cosine, and the labels: one a row, or a list a row."""
    arrays = raw(name)
    if "y_indptr" not in arrays:
        return cladify.neighbors(arrays["X"], 25, metric="cosine", recall=0.99, random_state=0), labels(name)
    start, ids = arrays["y_indptr"], arrays["y_indices"]
    some = np.flatnonzero((np.linalg.norm(arrays["X"], axis=1) > 0) & (np.diff(start) > 0))
    own = [ids[start[i] : start[i + 1]] for i in some]
    truth = np.concatenate([[0], np.cumsum([len(row) for row in own])]), np.concatenate(own)
    return cladify.neighbors(arrays["X"][some], 25, metric="cosine", recall=0.99, random_state=0), truth


@cache
def clustered(name: str, method: str, linkage: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)  # the graph has several components
        model = getattr(cladify, method)(linkage=linkage).fit(graph(name)[0])
    return model.dag_ if method == "Llama" else model.tree_


def overlap(name: str, method: str, linkage: str, measure: str, seed: int) -> float:
    return float(JACCARD[measure](clustered(name, method, linkage), graph(name)[1]))


def of_tree(method: str, measure: str, seed: int) -> float:
    """Purity, or the best F1 of any round, of ALOI."""
    tree = clustered("aloi", method, "average")
    truth = labels("aloi")
    return float(dendrogram_purity(tree, truth)) if measure == "purity" else float(best_f1(tree, truth).f1)


def rows() -> Iterator[Row]:
    """The figures of chapters 3 to 5."""
    for what, (printed, name, options) in SYNTHETIC.items():
        given = ", ".join(f"{key}={value!r}" for key, value in {"linkage": "centroid", **options}.items())
        yield Row(
            "M",
            "table 3.2",
            f"{what}, synthetic, purity",
            printed,
            partial(synthetic, name, options),
            f"{name}({given})",
            "synthetic",
            within=0.01,
            seeds=3,
            tier="normal",
        )
    for order, methods in ARRIVING.items():
        for name, printed in methods.items():
            table = "tables 3.3, 4.11" if order == "random" else "table 3.5"
            yield Row(
                "M",
                table,
                f"{name}, aloi, {order} order, purity",
                printed,
                partial(arriving, name, order),
                f"{name}().partial_fit(X)",
                "aloi",
                within=0.01,
                tier="all",
            )
    for name, (printed, method) in BEST.items():
        yield Row(
            "M",
            "table 4.7",
            f"{method}, {name}, best purity",
            printed,
            partial(best_purity, name),
            "SCC(metric, n_neighbors, n_rounds), the best of 80",
            name,
            within=0.01,
        )
    for method, pure, f1 in (("SCC", 0.575, 0.605), ("Affinity", 0.478, 0.465)):
        call = f"{method}(linkage='average').fit(graph)"
        yield Row(
            "M",
            "table 4.1",
            f"{method}, aloi, purity",
            pure,
            partial(of_tree, method, "purity"),
            call,
            "aloi",
            within=0.01,
            tier="normal",
        )
        yield Row(
            "M",
            "table 4.6",
            f"{method}, aloi, best F1",
            f1,
            partial(of_tree, method, "f1"),
            call,
            "aloi",
            within=0.01,
            tier="normal",
        )
    for (method, linkage), figures in ALOI.items():
        for measure, value in zip(JACCARD, figures, strict=True):
            yield Row(
                "M",
                "table 5.1",
                f"{method} {linkage}, aloi, Jaccard a {measure}",
                value,
                partial(overlap, "aloi", method, linkage, measure),
                f"{method}(linkage={linkage!r}).fit(graph)",
                "aloi",
                within=0.01,
                tier="normal",
            )
    for (name, method), figures in COVERS.items():
        for measure, value in zip(JACCARD, figures, strict=True):
            yield Row(
                "M",
                "table 5.3",
                f"{method}, {name}, Jaccard a {measure}",
                value,
                partial(overlap, name, method, "average", measure),
                f"{method}(linkage='average').fit(graph)",
                name,
                within=0.01,
                tier="normal",
            )
