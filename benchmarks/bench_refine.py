"""Refinement: the costs it reaches from every start beside the best published ones, and what it brings to a million."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered, real

#: Lowest Dasgupta cost in HypHC's table 1, over all methods.
PUBLISHED = {
    "zoo": 2.802e5,
    "iris": 7.881e5,
    "glass": 2.902e6,
    "segmentation": 3.341e9,
    "spambase": 3.126e10,
    "letter": 2.383e12,
}
STARTS = ("average", "complete", "ward", "random")


def table_rows(name: str) -> np.ndarray:
    """The convention of that table: z-scores, then rows of length 1."""
    X = real(name)["X"].astype(np.float64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def start_tree(start: str, X: np.ndarray) -> np.ndarray:
    import cladify

    if start == "random":
        return cladify.fit(X, method="random", random_state=0).parent
    return cladify.fit(
        X, method="hac", linkage=start, metric="euclidean" if start == "complete" else "sqeuclidean"
    ).parent


def _table_case(name: str) -> None:
    case = Case(
        f"refine-table-{name}",
        f"Dasgupta's cost on {name}, both (i, j) and (j, i) counted; best published: {PUBLISHED[name]:.4g}",
        repeat=1,
    )

    @case.prepare
    def prepare() -> dict[str, Any]:
        X = table_rows(name)
        return {"X": X} | {start: start_tree(start, X) for start in STARTS}

    for start in STARTS:

        @case.contestant(f"from {start}", needs="cladify.objectives")
        def refined(start: str = start, **data: np.ndarray) -> Any:
            import cladify

            tree = cladify.Tree(data[start])
            return tree, cladify.refine(tree, data["X"])

    @case.quality("cost before")
    def before(result: Any, X: np.ndarray) -> float:
        from cladify import objectives

        return 2 * objectives.dasgupta(result[0], X)

    @case.quality("cost after")
    def after(result: Any, X: np.ndarray) -> float:
        from cladify import objectives

        return 2 * objectives.dasgupta(result[1], X)

    @case.quality("best published")
    def published() -> float:
        return PUBLISHED[name]


for _name in PUBLISHED:
    _table_case(_name)


digits = Case("refine-digits", "α* of scikit-learn's digits, raw, after refinement; bar: .652 MW, .656 CKMM", repeat=1)


@digits.prepare
def prepare_digits() -> dict[str, Any]:
    from sklearn.datasets import load_digits

    X = load_digits().data
    return {"X": X} | {start: start_tree(start, X) for start in STARTS}


for _start in STARTS:
    for _objective in ("mw", "ckmm"):

        @digits.contestant(f"{_objective} from {_start}", needs="cladify.objectives")
        def refined_digits(start: str = _start, objective: str = _objective, **data: np.ndarray) -> Any:
            import cladify

            tree = cladify.Tree(data[start])
            return objective, tree, cladify.refine(tree, data["X"], objective=objective)


def _alpha(tree: Any, X: Any, objective: str) -> float:
    import cladify

    return cladify.score(tree, X, objective=objective).normalized


@digits.quality("α* before")
def digits_before(result: Any, X: np.ndarray) -> float:
    return _alpha(result[1], X, result[0])


@digits.quality("α* after")
def digits_after(result: Any, X: np.ndarray) -> float:
    return _alpha(result[2], X, result[0])


million = Case(
    "refine-million",
    "A random-cut tree of clustered vectors before and after refinement under CKMM; long: 1 000 000 x 128, 120 s",
    short={"n": 100_000, "d": 128, "budget": 15.0},
    long={"n": 1_000_000, "budget": 120.0},
    repeat=1,
)


@million.prepare
def prepare_million(n: int, d: int) -> dict[str, Any]:
    return {"X": clustered(n, d)}


def _cut(X: np.ndarray) -> Any:
    import cladify

    return cladify.fit(X, method="random-cut", random_state=0)


@million.contestant("random cut and refinement", needs="cladify.objectives")
def cut_and_refine(X: np.ndarray, budget: float) -> Any:
    import cladify

    return cladify.refine(_cut(X), X, objective="ckmm", budget_seconds=budget)


@million.contestant("random cut", needs="cladify.objectives")
def cut(X: np.ndarray) -> Any:
    return _cut(X)


@million.quality("α* CKMM")
def million_alpha(result: Any, X: np.ndarray) -> float:
    return _alpha(result, X, "ckmm")


graph = Case(
    "refine-graph",
    "Dasgupta's cost on a graph of 15 neighbours before and after refinement; long: 1 000 000 points",
    short={"n": 50_000, "d": 32, "budget": 60.0},
    long={"n": 1_000_000, "budget": 300.0},
    repeat=1,
    timeout=1200,
)


@graph.prepare
def prepare_graph(n: int, d: int) -> dict[str, Any]:
    import cladify

    X = clustered(n, d)
    return {"W": cladify.neighbors(X, 15, metric="cosine").connect(X).symmetrize().to_scipy()}


def _affinity(W: Any) -> Any:
    import cladify

    return cladify.fit(W, method="affinity", metric=cladify.similarity.precomputed(kind="similarity"))


@graph.contestant("affinity and refinement", needs="cladify.objectives")
def affinity_and_refine(W: Any, budget: float) -> Any:
    import cladify

    return cladify.refine(_affinity(W), W, "precomputed", budget_seconds=budget)


@graph.contestant("affinity", needs="cladify.objectives")
def affinity(W: Any) -> Any:
    return _affinity(W)


@graph.contestant("average linkage", needs="cladify.objectives", max_n=200_000)
def average(W: Any) -> Any:
    import cladify

    return cladify.fit(W, method="hac", metric=cladify.similarity.precomputed(kind="similarity"))


@graph.quality("cost")
def graph_cost(result: Any, W: Any) -> float:
    from cladify import objectives

    return objectives.dasgupta(result, W, "precomputed")
