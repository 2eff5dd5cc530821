"""Monath (2022), chapter 3 and section 4.6: trees of points that arrive."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import cladify
from cladify.datasets import arrival_order, make_model_separated
from cladify.metrics import dendrogram_purity
from cladify.papers._data import absent, labels, raw
from cladify.papers._row import Picture, Row

__all__ = ["pictures", "rows"]

_BATCH = 1000
#: Of figure 3.5: between single samples of 1000 images GRINCH's lead varies by .01.
_SAMPLES = 10
#: The rows of tables 3.1 and 3.2: each has the approximations of those before it.
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "GRINCH": ("Grinch", {"cap": None, "single_elimination": False, "single_search": False}),
    "with a cap": ("Grinch", {"single_elimination": False, "single_search": False}),
    "single elimination": ("Grinch", {"single_search": False}),
    "single search": ("Grinch", {}),
    "no restructuring": ("Grinch", {"restructure": False}),
    "no grafts (ROTATE)": ("Rotate", {"cap": 100}),
    "no rotations (GREEDY)": ("Greedy", {}),
}
#: Purity, then rotations, grafts and restructurings, on 5000 points of ALOI and on the synthetic set.
ABLATION: dict[str, tuple[tuple[float, tuple[int, int, int]], tuple[float, tuple[int, int, int]]]] = {
    "GRINCH": ((0.533, (7107, 2435, 1088)), (1.0, (2558, 578, 203))),
    "with a cap": ((0.533, (6495, 2157, 686)), (0.993, (2558, 578, 194))),
    "single elimination": ((0.534, (6574, 1586, 533)), (0.997, (2523, 526, 184))),
    "single search": ((0.540, (6441, 1516, 570)), (0.993, (2517, 415, 148))),
    "no restructuring": ((0.538, (6477, 1634, 0)), (0.993, (2476, 426, 0))),
    "no grafts (ROTATE)": ((0.506, (6747, 0, 0)), (0.872, (2259, 0, 0))),
    "no rotations (GREEDY)": ((0.442, (0, 0, 0)), (0.854, (0, 0, 0))),
}
#: Order of arrival -> (method, options, ± printed) -> printed purity on ALOI.
ARRIVING: dict[str, list[tuple[str, dict[str, Any], float, float]]] = {
    "random": [
        ("Grinch", {}, 0.504, 0.002),
        ("Grinch", {"linkage": "centroid"}, 0.499, 0.003),
        ("Rotate", {}, 0.476, 0.004),
        ("Rotate", {"linkage": "centroid"}, 0.472, 0.003),
        ("Greedy", {}, 0.435, 0.004),
        ("Perch", {}, 0.44, 0.004),
        ("MiniBatchHAC", {}, 0.30, 0.002),
        ("MiniBatchSCC", {}, 0.591, 0.0),
        ("OHAC", {}, 0.494, 0.0),
    ],
    "round-robin": [
        ("Grinch", {}, 0.503, 0.0),
        ("Perch", {}, 0.446, 0.0),
        ("MiniBatchHAC", {"buffer_size": 5000}, 0.299, 0.0),
        ("MiniBatchHAC", {"buffer_size": 2000}, 0.171, 0.0),
    ],
    "sorted": [
        ("Grinch", {}, 0.457, 0.0),
        ("Perch", {}, 0.351, 0.0),
        ("MiniBatchHAC", {"buffer_size": 5000}, 0.464, 0.0),
        ("MiniBatchHAC", {"buffer_size": 2000}, 0.451, 0.0),
    ],
}
TABLES = {"MiniBatchSCC": "table 4.11", "OHAC": "table 4.11"}
#: Under half a minute of processor time on all of ALOI.
QUICK = ("Greedy", "Rotate", "MiniBatchSCC")
DENSITY = (
    "157 of the 2500 points share no word with any that came before, so ties place them: by order of arrival (random, "
    "sorted, in turn) and rule (first, last, any) a plain GREEDY has .32 to .81, with exactly ten words a point .81; "
    "with words on at .12 in place of .1 it has .87"
)
SPARSE = "of the first 500 synthetic points 153 share no word with an earlier one, and ties make chains: 1.27 there"


@cache
def words(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Section 3.5.1, turned into as many columns as there are rows, with the same angles."""
    X, y = make_model_separated(2500, 100, random_state=seed)
    triangle: Any = np.linalg.qr(X.toarray().astype(np.float64).T, mode="r")
    return triangle.T.astype(np.float32), y


@cache
def first_images(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """5000 random images of ALOI."""
    X, y = raw("aloi")["X"], labels("aloi")
    some = np.random.default_rng(seed).permutation(len(X))[:5000]
    return X[some], y[some]


def streamed(model: Any, X: np.ndarray) -> Any:
    """The model after all rows have come."""
    for start in range(0, len(X), _BATCH):
        model.partial_fit(X[start : start + _BATCH])
    return model


@cache
def after(step: str, which: str, seed: int) -> Any:
    """The model of a row of the ablation."""
    name, options = STEPS[step]
    linkage = {"linkage": "centroid"} if which == "synthetic" else {}
    X, _ = words(seed) if which == "synthetic" else first_images(seed)
    return streamed(getattr(cladify, name)(**linkage, **options), X)


def ablation(step: str, which: str, seed: int) -> float:
    y = (words(seed) if which == "synthetic" else first_images(seed))[1]
    return float(dendrogram_purity(after(step, which, seed).tree_, y))


def operations(step: str, which: str, seed: int) -> tuple[int, ...]:
    model = after(step, which, seed)
    if step.endswith("(GREEDY)"):
        return (0, 0, 0)
    return (model.n_rotations_, getattr(model, "n_grafts_", 0), getattr(model, "n_swaps_", 0))


def arriving(name: str, options: dict[str, Any], order: str, seed: int) -> float:
    X, y = raw("aloi")["X"], labels("aloi")
    come = arrival_order(y, order, random_state=seed)
    model = streamed(getattr(cladify.online, name)(**options), X[come])
    return float(dendrogram_purity(model.tree_, y[come]))


@cache
def heights() -> dict[str, list[tuple[float, float]]]:
    """Figure 3.4: depth of the deepest leaf while points arrive, exact and approximate."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for which in ("aloi", "synthetic"):
        X, _ = words(0) if which == "synthetic" else first_images(0)
        linkage = {"linkage": "centroid"} if which == "synthetic" else {}
        for label, step in (("exact", "GRINCH"), ("approximate", "single search")):
            model = cladify.Grinch(**linkage, **STEPS[step][1])
            lines[f"{which}, {label}"] = line = []
            for start in range(0, len(X), 500):
                model.partial_fit(X[start : start + 500])
                line.append((float(start + 500), float(model.tree_.depth)))
    sizes = [x for x, _ in lines["aloi, exact"]]
    lines["log² n"] = [(x, float(np.log2(x) ** 2)) for x in sizes]
    return lines


def highest(seed: int) -> float:
    """The largest height over log² n, from 1000 points on."""
    lines = (line for name, line in heights().items() if name != "log² n")
    return max(y / np.log2(x) ** 2 for line in lines for x, y in line if x >= 1000)


@cache
def growing() -> dict[str, list[tuple[float, float]]]:
    """Figure 3.5a: purity while the points arrive, mean of ten samples."""
    stops = range(500, 5001, 500)
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, make in (("GRINCH", cladify.Grinch), ("ROTATE", cladify.Rotate)):
        found = np.zeros((_SAMPLES, len(stops)))
        for seed in range(_SAMPLES):
            (X, y), model = first_images(seed), make()
            for i, stop in enumerate(stops):
                found[seed, i] = dendrogram_purity(model.partial_fit(X[stop - 500 : stop]).tree_, y[:stop])
        lines[name] = [(float(stop), float(mean)) for stop, mean in zip(stops, found.mean(axis=0), strict=True)]
    return lines


def ahead(seed: int) -> float:
    """How much purer GRINCH's tree is, at the least, from 1000 points on."""
    lines = growing()
    gaps = [g - r for (x, g), (_, r) in zip(lines["GRINCH"], lines["ROTATE"], strict=True) if x >= 1000]
    return float(min(gaps))


@cache
def batches() -> dict[str, list[tuple[float, float]]]:
    """Figure 4.16, on 20 000 images: purity by size of batch."""
    X, y = raw("aloi")["X"], labels("aloi")
    some = np.random.default_rng(0).permutation(np.flatnonzero(y < 200))[:20_000]
    line = []
    for size in (100, 500, 2000, 5000, 20_000):
        model = cladify.MiniBatchSCC()
        for start in range(0, len(some), size):
            model.partial_fit(X[some[start : start + size]])
        line.append((float(size), float(dendrogram_purity(model.tree_, y[some]))))
    return {"MiniBatchSCC": line}


def steady(seed: int) -> float:
    """Purity of the smallest batches against that of the largest."""
    values = [y for _, y in batches()["MiniBatchSCC"]]
    return values[-1] - min(values)


def pictures() -> Iterator[Picture]:
    """Figures 3.4, 3.5 and 4.16."""
    yield Picture("M", "figure 3.4", "Height of GRINCH's trees", "points", "height", heights, "aloi")
    yield Picture("M", "figure 3.5", "Purity while points arrive", "points", "purity", growing, "aloi")
    yield Picture("M", "figure 4.16", "Purity by size of batch", "batch", "purity", batches, "aloi", log=True)


def rows() -> Iterator[Row]:
    """Tables 3.1 to 3.5 and 4.11, and what figures 3.4, 3.5 and 4.16 say."""
    for step, printed in ABLATION.items():
        for (value, counts), which, table in zip(printed, ("aloi", "synthetic"), ("3.1", "3.2"), strict=True):
            name, options = STEPS[step]
            linkage = {"linkage": "centroid"} if which == "synthetic" else {}
            given = ", ".join(f"{key}={value!r}" for key, value in {**linkage, **options}.items())
            yield Row(
                "M",
                f"table {table}",
                f"{step}, {which}, purity",
                value,
                partial(ablation, step, which),
                f"{name}({given}).partial_fit(X)",
                which,
                within=0.01,
                seeds=3,
                tier="normal",
                printed_counts=counts,
                count=partial(operations, step, which),
                cause=DENSITY if which == "synthetic" else "",
            )
    for order, methods in ARRIVING.items():
        for name, options, value, spread in methods:
            given = ", ".join(f"{key}={value!r}" for key, value in options.items())
            yield Row(
                "M",
                TABLES.get(name, "table 3.3") if order == "random" else "table 3.5",
                f"{name}({given}), aloi, {order} order, purity",
                value,
                partial(arriving, name, options, order),
                f"{name}({given}).partial_fit(X)",
                "aloi",
                spread=spread,
                within=0.01,
                tier="normal" if name in QUICK and order == "random" else "all",
            )
    for table, what, data in (
        ("table 3.4", "GRINCH, Rexa, pairwise F1", "rexa"),
        ("table 3.6", "GRINCH, ECB+, CoNLL F1", "ecb+"),
        ("table 3.7", "clusters of entities, WN18RR", "wn18rr"),
    ):
        value = {"rexa": 0.844, "ecb+": 38.03, "wn18rr": 0.0}[data]
        yield Row("M", table, what, value, partial(absent, data), "–", data)
    call = "Grinch().partial_fit(X)"
    yield Row(
        "M",
        "figure 3.4",
        "height / log² n, from 1000 points on",
        1.0,
        highest,
        call,
        "aloi",
        claim="at most",
        tier="normal",
        cause=SPARSE,
    )
    yield Row(
        "M",
        "figure 3.5",
        "purity, GRINCH − ROTATE, from 1000 points on, ten samples",
        0.0,
        ahead,
        call,
        "aloi",
        claim="at least",
        tier="normal",
    )
    yield Row(
        "M",
        "figure 4.16",
        "purity lost by small batches",
        0.04,
        steady,
        "MiniBatchSCC().partial_fit(X)",
        "aloi",
        claim="at most",
        tier="normal",
    )
