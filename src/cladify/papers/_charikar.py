"""Charikar, Chatziafratis, Niazadeh and Yaroslavtsev (2019): tables 1 and 2.

Zoo, raw features, Gaussian weights exp(−‖x − y‖² / 2σ²), the Moseley-Wang objective F⁺ in thousands, means of 10 runs.
The text counts 100 animals and the copies of Zoo have 101; the printed bound is that of 99, for all eight σ, whichever
two of a thousand pairs are left out. Here the two frogs, which share a name, are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

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
RUNS = 10
#: Rows -> seconds of PRC, of one pass over the data.
TIMES = {10_000: (1.7, 1.5), 100_000: (13.0, 9.6), 500_000: (67.0, 46.4), 1_000_000: (135.0, 99.7)}
AVERAGE = (
    "the printed average linkage lies at the level of a random tree; ours is 97 to 99 % of the bound, as an "
    "independent computation gave too"
)


def weights(sigma: float) -> similarity.Similarity:
    return similarity.rbf(1.0 / (2.0 * sigma * sigma))


@cache
def animals() -> np.ndarray:
    """Zoo without its two frogs."""
    arrays = raw("zoo")
    frogs = np.flatnonzero(np.char.startswith(arrays["names"].astype(str), "frog"))
    return np.delete(arrays["X"], frogs, axis=0)


@cache
def tree(sigma: float, method: str, seed: int) -> Tree:
    X = animals()
    if method == "PRC":
        return cladify.RandomCut(random_state=seed).fit(X).tree_
    if method == "spectral":
        return cladify.SpectralCut(metric=weights(sigma), random_state=seed).fit(X).tree_
    return cladify.HAC(linkage="average", metric=weights(sigma)).fit(X).tree_


def value(sigma: float, method: str, seed: int) -> float:
    """F⁺ in thousands."""
    return float(objectives.mw(tree(sigma, method, seed), animals(), weights(sigma)) / 1000)


def upper(sigma: float, seed: int) -> float:
    return float(objectives.bounds(animals(), weights(sigma), "mw", method="exact").upper / 1000)


@cache
def clock(n: int) -> tuple[float, float]:
    """Elapsed seconds of the random cut of n rows of 128 columns, and of one pass, their squared norms."""
    X = np.random.default_rng(0).random((n, 128), dtype=np.float32)
    start = time.perf_counter()
    cladify.RandomCut(random_state=0, n_jobs=1).fit(X)
    cut = time.perf_counter()
    np.einsum("ij,ij->i", X, X)
    return cut - start, time.perf_counter() - cut


def seconds(n: int, seed: int) -> float:
    return clock(n)[0]


def rows() -> Iterator[Row]:
    """Every figure of table 1; of table 2 the seconds, on random rows of the same shape."""
    for sigma, (prc, spectral, average, bound) in PRINTED.items():
        calls: dict[str, tuple[Any, str, int]] = {
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
        )
    for n, (cut, _) in TIMES.items():
        yield Row(
            "C",
            "table 2",
            f"PRC, {n} x 128, seconds",
            cut,
            partial(seconds, n),
            "RandomCut(n_jobs=1).fit(X)",
            "made",
            lower=True,
            within=0.1 * cut,
            tier="normal",
            is_time=True,
        )
