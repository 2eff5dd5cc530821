"""Charikar, Chatziafratis, Niazadeh and Yaroslavtsev (2019): table 1, and the ratios of its theorems.

Zoo, raw features, Gaussian weights exp(−‖x − y‖² / 2σ²), the Moseley-Wang objective F⁺ in thousands, means of 10 runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import cladify
from cladify import objectives, similarity
from cladify.papers._data import raw
from cladify.papers._row import Row
from cladify.tree import Tree

__all__ = ["rows"]

#: σ -> PRC, spectral, average linkage, MAX-upper.
PRINTED = {
    1.5: (48, 61, 28, 64),
    2.0: (64, 83, 47, 87),
    2.5: (83, 100, 66, 105),
    3.0: (100, 112, 82, 117),
    3.5: (111, 121, 95, 126),
    4.0: (117, 128, 105, 132),
    4.5: (123, 133, 114, 137),
    5.0: (129, 137, 120, 140),
}
METHODS = {"PRC": "random-cut", "spectral": "spectral", "average": "hac"}
RUNS = 10
AVERAGE = (
    "the printed average linkage lies at the level of a random tree; ours is 97 to 99 % of the bound, as an "
    "independent computation gave too"
)


def weights(sigma: float) -> similarity.Similarity:
    return similarity.rbf(1.0 / (2.0 * sigma * sigma))


@cache
def tree(sigma: float, method: str, seed: int) -> Tree:
    X = raw("zoo")["X"]
    if method == "PRC":
        return cladify.RandomCut(random_state=seed).fit(X).tree_
    if method == "spectral":
        return cladify.SpectralCut(metric=weights(sigma), random_state=seed).fit(X).tree_
    return cladify.HAC(linkage="average", metric=weights(sigma)).fit(X).tree_


def value(sigma: float, method: str, seed: int) -> float:
    """F⁺ in thousands."""
    return float(objectives.mw(tree(sigma, method, seed), raw("zoo")["X"], weights(sigma)) / 1000)


def upper(sigma: float, seed: int) -> float:
    return float(objectives.bounds(raw("zoo")["X"], weights(sigma), "mw", method="exact").upper / 1000)


def rows() -> Iterator[Row]:
    """Every figure of table 1."""
    for sigma, (prc, spectral, average, bound) in PRINTED.items():
        calls = {
            "PRC": (prc, "RandomCut()", RUNS),
            "spectral": (spectral, f"SpectralCut(metric=rbf(1 / (2 * {sigma}**2)))", 1),
            "average": (average, f"HAC(linkage='average', metric=rbf(1 / (2 * {sigma}**2)))", 1),
        }
        for method, (printed, call, seeds) in calls.items():
            yield Row(
                "C",
                "table 1",
                f"{method}, σ = {sigma}",
                printed,
                partial(value, sigma, method),
                call,
                "zoo",
                seeds=seeds,
                within=1.5,
                cause=AVERAGE if method == "average" else "",
            )
        yield Row(
            "C",
            "table 1",
            f"MAX-upper, σ = {sigma}",
            bound,
            partial(upper, sigma),
            "objectives.bounds(X, rbf(...), 'mw')",
            "zoo",
            within=0.55,
            is_bound=True,
            cause="the paper has 100 animals, the copy here 101",
        )
