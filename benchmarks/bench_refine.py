"""Refinement: time, and the cost reached from average linkage, on the data sets of HypHC's table 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import real


def _case(name: str, bar: str) -> None:
    case = Case(f"refine-{name}", f"Dasgupta's cost after refinement from average linkage; bar: {bar}", repeat=1)

    @case.prepare
    def data() -> dict[str, Any]:
        import ramify

        X = real(name)["X"].astype(np.float64)
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        return {"X": X, "parent": ramify.HAC(metric="cosine").fit(X).tree_.parent}

    @case.contestant("refined", needs="ramify.objectives")
    def refined(X: np.ndarray, parent: np.ndarray) -> float:
        import ramify

        return 2 * ramify.objectives.dasgupta(ramify.refine(ramify.Tree(parent), X), X)

    @case.contestant("average linkage", needs="ramify.objectives")
    def before(X: np.ndarray, parent: np.ndarray) -> float:
        import ramify

        return 2 * ramify.objectives.dasgupta(ramify.Tree(parent), X)

    @case.quality("cost")
    def cost(result: float) -> float:
        return result


for _name, _bar in (("segmentation", "3.3280e9"), ("spambase", "3.118e10, 30 s"), ("letter", "2.383e12, 5 min")):
    _case(_name, _bar)
