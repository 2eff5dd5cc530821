"""Chami, Gu, Chatziafratis and Ré (2020): tables 1 and 2, figure 3.

z-scores, rows of length 1, w = ½ (1 + cos), both (i, j) and (j, i) counted; linkages, Ward's too, on distances 1 − w.
This gives the printed digits of the linkages.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

import cladify
from cladify import objectives
from cladify.errors import CladifyWarning
from cladify.hyperbolic import decode
from cladify.metrics import dendrogram_purity
from cladify.papers._data import labels, raw, unit_scores
from cladify.papers._row import Picture, Row
from cladify.tree import Tree

__all__ = ["pictures", "rows"]

#: Unit of the cost, and the tier in which the set is quick enough.
SETS = {
    "zoo": (1e5, "quick"),
    "iris": (1e5, "quick"),
    "glass": (1e6, "quick"),
    "segmentation": (1e9, "normal"),
    "spambase": (1e10, "normal"),
    "letter": (1e12, "all"),
}
COST = {
    "single": (2.897, 8.120, 3.018, 3.705, 3.250, 2.625),
    "average": (2.829, 7.939, 2.906, 3.408, 3.159, 2.437),
    "complete": (2.802, 7.950, 2.939, 3.460, 3.184, 2.481),
    "ward": (2.827, 7.938, 2.920, 3.434, 3.170, 2.453),
    "k-means": (2.861, 8.223, 2.948, 3.375, 3.127, 2.383),
    "UFit": (2.896, 7.916, 2.925, 3.560, 3.204, None),
    "HypHC": (2.802, 7.881, 2.902, 3.341, 3.126, 2.384),
    "lower bound": (2.750, 7.709, 2.750, 3.258, 3.025, 2.244),
    "upper bound": (3.887, 14.12, 3.959, 4.839, 3.495, 3.031),
}
PURITY = {
    "single": (97.7, 76.7, 50.3, 51.1, 61.2),
    "average": (90.1, 73.7, 46.3, 58.2, 73.4),
    "complete": (96.6, 76.1, 46.9, 55.1, 69.1),
    "ward": (90.0, 74.9, 48.3, 61.3, None),
    "k-means": (86.5, 66.1, None, 57.2, None),
    "UFit": (97.2, 76.8, 51.0, 61.2, 61.6),
    "gHHC": (None, None, 46.3, None, 61.4),
    "HypHC": (98.7, 77.3, 49.2, 55.9, 79.2),
}
#: How each is called: as printed, and by our own default where that differs.
CALLS: dict[tuple[str, str], tuple[str, Callable[..., Any]]] = {
    **{
        (linkage, "paper"): (
            f"HAC(linkage={linkage!r}, metric={metric!r})",
            partial(cladify.HAC, linkage=linkage, metric=metric),
        )
        for linkage, metric in [("single", "cosine"), ("average", "cosine"), ("complete", "cosine")]
    },
    ("ward", "paper"): (
        "HAC(linkage='ward', metric='precomputed').fit((1 - cos) / 2)",
        partial(cladify.HAC, linkage="ward", metric="precomputed"),
    ),
    ("k-means", "paper"): ("BisectingKMeans()", cladify.BisectingKMeans),
    ("UFit", "paper"): ("UFit()", cladify.UFit),
    ("gHHC", "paper"): ("GHHC().fit(X - X.mean(axis=0))", cladify.GHHC),
    ("HypHC", "paper"): (
        "HypHC(preset='paper', learning_rate=…, temperature=…)",
        partial(cladify.HypHC, preset="paper"),
    ),
    ("HypHC", "default"): ("HypHC()", cladify.HypHC),
}
#: Random ones: the paper takes the best of five seeds for costs.
SEEDED = ("k-means", "HypHC", "gHHC")
#: HypHC is the cheapest tree of these learning rates, temperatures and five seeds. The paper searches as many; its
#: rates are those of steps in the disk, ours are radians.
SEARCHED = [(rate, temperature) for rate in (0.3, 0.1, 0.03) for temperature in (0.1, 0.05, 0.01)]
SEEDS = 5
LINKAGES = ("single", "average", "complete", "ward")
UFIT = (
    "the settings of the paper's UFit are not printed, and none of more than thirty (graph, start, unit, rate, nodes "
    "of the size term) has the three costs of Zoo, Iris and Glass within 1 % (docs/studies/papers.md)"
)
CHEAP = (
    "the default goes for cheaper trees, and on Glass the cheapest are not the purest: over 45 runs of the printed "
    "algorithm cost and purity correlate at -.6 there (docs/studies/papers.md)"
)
IRIS = (
    "no copy of Iris gives the paper's costs: average and complete linkage have 7.911 and 8.329 on scikit-learn's, "
    "7.918 and 7.988 on UCI's, 7.939 and 7.950 in print; with one value of UCI's changed by .1 complete linkage has "
    "7.935 to 8.180 and 71.5 to 76.5 %, Ward's 7.916 to 7.948 and 73.8 to 76.7 %"
)
#: What copies of a set make: a share of the cost, points of purity. One value of Iris changed by .1 moves purity by up
#: to 3 points; one of Spambase ten times as large moves costs by up to .0048, purity by 2.3 points.
COPIES = {"iris": (0.01, 2.0), "spambase": (0.0015, 2.3)}


@cache
def tree(name: str, method: str, setting: str, seed: int) -> Tree:
    """The tree of one method on one set."""
    X = unit_scores(name)
    make = CALLS[method, setting][1]
    if (method, setting) == ("HypHC", "paper"):
        return searched(name)
    model = make(random_state=seed) if method in SEEDED else make()
    if method == "gHHC":  # figures taken over from its own paper, of features
        X = raw(name)["X"]
        return model.fit(X - X.mean(axis=0)).tree_
    return model.fit(0.5 * pdist(X, "cosine") if method == "ward" else X).tree_


@cache
def searched(name: str) -> Tree:
    """The cheapest tree of HypHC as printed, and as its table has it."""
    X = unit_scores(name)
    models = (
        cladify.HypHC(preset="paper", learning_rate=rate, temperature=temperature, random_state=seed, n_jobs=1).fit(X)
        for rate, temperature in SEARCHED
        for seed in range(SEEDS)
    )
    return min(models, key=lambda model: model.cost_).tree_


def cost(name: str, method: str, setting: str, seed: int) -> float:
    """Dasgupta's cost in the unit of the table; of the random methods the best of five seeds."""
    seeds = range(SEEDS) if is_seeded(method, setting) else [seed]
    least = min(objectives.dasgupta(tree(name, method, setting, s), unit_scores(name)) for s in seeds)
    return float(2 * least / SETS[name][0])


def is_seeded(method: str, setting: str) -> bool:
    """Whether the row has a figure a seed; the search takes seeds itself."""
    return method in SEEDED and (method, setting) != ("HypHC", "paper")


def bound(name: str, which: str, seed: int) -> float:
    """The bound over all triples, or over a sample of them where there are many."""
    X = unit_scores(name)
    found = objectives.bounds(X, "cosine", "dasgupta", method="exact" if len(X) <= 1000 else "sampled")
    return float(2 * (found.lower if which == "lower bound" else found.upper) / SETS[name][0])


def purity(name: str, method: str, setting: str, seed: int) -> float:
    return 100 * float(dendrogram_purity(tree(name, method, setting, seed), labels(name)))


# --- figure 3 ---------------------------------------------------------------------------------------------------------

#: Sets of figure 3c.
CLASSIFIED = ("zoo", "iris", "glass")


@cache
def by_triplets() -> dict[str, list[tuple[float, float]]]:
    """Figure 3a: cost by steps from random angles, each of as many triplets, over the least cost found."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for name in ("zoo", "iris", "glass"):
        X = unit_scores(name)
        costs = []
        for steps in (2, 5, 10, 25, 50, 100, 200):
            model = cladify.HypHC(init="random", n_init=1, n_steps=steps, n_rounds=0, patience=None, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CladifyWarning)
                costs.append((float(steps), objectives.dasgupta(model.fit(X).tree_, X)))
        least = min(value for _, value in costs)
        lines[name] = [(steps, value / least) for steps, value in costs]
    return lines


def falling(seed: int) -> float:
    """Cost after the fewest steps over that after the most, at the least over the sets."""
    return min(line[0][1] / line[-1][1] for line in by_triplets().values())


@cache
def decodings(name: str) -> tuple[float, float]:
    """Figure 3b: cost of the exact over the greedy decoding, and how many times as long it takes."""
    X = unit_scores(name)
    Z = cladify.HypHC(init="random", random_state=0).fit(X).embedding_
    costs, times = [], []
    for method in ("exact", "greedy"):
        start = time.perf_counter()
        tree = decode(Z, method=method)
        times.append(time.perf_counter() - start)
        costs.append(objectives.dasgupta(tree, X))
    return costs[0] / costs[1], times[0] / times[1]


def decoded_cost(name: str, seed: int) -> float:
    return decodings(name)[0]


def accuracies(name: str, joint: bool, seed: int) -> float:
    """Accuracy (%) on 60 % of the rows with the labels of 30 %."""
    from cladify.hyperbolic.torch import HyperbolicClassifier

    X, y = unit_scores(name), labels(name)
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: int(0.3 * len(X))], order[int(0.4 * len(X)) :]
    known = np.full(len(X), -1)
    known[train] = y[train]
    model = HyperbolicClassifier(random_state=seed, joint=joint).fit(X, known)
    return 100 * float((model.transduction_[test] == y[test]).mean())


@cache
def classified() -> dict[str, list[tuple[float, float]]]:
    """Figure 3c: mean accuracy over five splits of Zoo, Iris and Glass."""
    return {
        label: [
            (float(place), float(np.mean([accuracies(name, joint, seed) for seed in range(5)])))
            for place, name in enumerate(CLASSIFIED, 1)
        ]
        for label, joint in (("end to end", True), ("two steps", False))
    }


def end_to_end(seed: int) -> float:
    """How much ahead of two steps, mean over the sets."""
    lines = {name: np.mean([y for _, y in line]) for name, line in classified().items()}
    return float(lines["end to end"] - lines["two steps"])


def cause_of(name: str, method: str) -> str:
    """Why the figures of a method may differ."""
    if method == "UFit":
        return UFIT
    if name == "iris":
        return IRIS if method in (*LINKAGES, "HypHC") else ""
    return CHEAP if method == "HypHC" else ""


def tier_of(name: str, method: str, setting: str, tier: str) -> str:
    """HypHC is never quick, and 45 runs of it on thousands of rows take half an hour each; UFit minutes on Spambase."""
    if method == "HypHC":
        return "normal" if tier == "quick" or (setting == "default" and tier == "normal") else "all"
    return "all" if (name, method) == ("spambase", "UFit") else tier


def pictures() -> Iterator[Picture]:
    """Figures 3a and 3c."""
    yield Picture("H", "figure 3a", "Cost by steps", "steps", "cost over the least", by_triplets, "zoo", log=True)
    yield Picture("H", "figure 3c", "Accuracy by set", "set", "accuracy, %", classified, "zoo", points=True)


def rows() -> Iterator[Row]:
    """Every figure of tables 1 and 2, and what figure 3 says."""
    claims: list[tuple[str, str, float, Callable[[int], float], str, str, str]] = [
        ("figure 3a", "cost of few triplets over that of many", 1.0, falling, "at least", "HypHC(n_steps=…)", "zoo"),
        (
            "figure 3c",
            "accuracy end to end, less two steps",
            0.0,
            end_to_end,
            "at least",
            "HyperbolicClassifier()",
            "zoo",
        ),
    ]
    for where, what, value, claimed, claim, call, data in claims:
        yield Row("H", where, what, value, claimed, call, data, claim=claim, tier="normal")
    for name in ("zoo", "iris", "glass"):
        run: Callable[[int], float] = partial(decoded_cost, name)
        call = "hyperbolic.decode(Z, method='greedy')"
        yield Row(
            "H", "figure 3b", f"{name}, exact over greedy, cost", 1.0, run, call, name, within=0.001, tier="normal"
        )
    for i, (name, (_, tier)) in enumerate(SETS.items()):
        share, points = COPIES.get(name, (0.0, 0.15))
        copy = share * (COST["average"][i] or 1.0)
        for method, printed in COST.items():
            if printed[i] is None:
                continue
            if method.endswith("bound"):
                run = partial(bound, name, method)
                call = "objectives.bounds(X, 'cosine', 'dasgupta')"
                yield Row(
                    "H",
                    "table 1",
                    f"{method}, {name}",
                    printed[i] or 0.0,
                    run,
                    call,
                    name,
                    tier=tier,
                    is_bound=True,
                    within=max(copy, 0.005 * (printed[i] or 0.0)),
                )
                continue
            for setting in ("paper", "default"):
                if (method, setting) in CALLS:
                    run = partial(cost, name, method, setting)
                    slow = tier_of(name, method, setting, tier)
                    near = 0.0006 if method not in (*SEEDED, "UFit") else 0.01 * (printed[i] or 0.0)
                    yield Row(
                        "H",
                        "table 1",
                        f"{method}, {name}, cost",
                        printed[i] or 0.0,
                        run,
                        CALLS[method, setting][0],
                        name,
                        setting,
                        lower=True,
                        within=max(copy, near),
                        cause=cause_of(name, method),
                        tier=slow,
                    )
        for method, pure in PURITY.items():
            for setting in ("paper", "default"):
                if i < len(pure) and pure[i] is not None and (method, setting) in CALLS:
                    slow = tier_of(name, method, setting, tier)
                    yield Row(
                        "H",
                        "table 2",
                        f"{method}, {name}, purity %",
                        pure[i] or 0.0,
                        partial(purity, name, method, setting),
                        CALLS[method, setting][0],
                        name,
                        setting,
                        cause=cause_of(name, method),
                        within=max(points, 1.0 if method in SEEDED else 0.0),
                        tier=slow,
                        seeds=SEEDS if is_seeded(method, setting) else 1,
                    )
