"""Scores of large trees against a plain NumPy pass of the same sums; exact bounds; the two shapes that hurt most."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered, real


def _balanced(n: int) -> np.ndarray:
    """Parents of a balanced binary tree over neighbouring leaves."""
    parent, nodes, fresh = np.full(2 * n - 1, -1), np.arange(n), n
    while len(nodes) > 1:
        half = len(nodes) // 2
        new = np.arange(fresh, fresh + half)
        parent[nodes[: 2 * half]] = np.repeat(new, 2)
        nodes, fresh = np.append(new, nodes[2 * half :]), fresh + half
    return parent


def _path(n: int) -> np.ndarray:
    """Parents of a tree in which leaf after leaf joins."""
    inner = np.arange(n, 2 * n - 1)
    return np.concatenate([[n], inner, inner[1:], [-1]])


def _shuffled(parent: np.ndarray, n: int) -> np.ndarray:
    out = parent.copy()
    out[np.random.default_rng(0).permutation(n)] = parent[:n]
    return out


def _all_three(X: np.ndarray, parent: np.ndarray) -> dict[str, float]:
    from cladify import Tree, objectives

    tree = Tree(parent)
    cost, mw = (getattr(objectives, name)(tree, X, "cosine") for name in ("dasgupta", "mw"))
    return {"dasgupta": cost, "mw": mw, "ckmm": objectives.ckmm(tree, X, "sqeuclidean")}


def _numpy_sums(X: np.ndarray, parent: np.ndarray, n: int) -> None:
    """The sum of the rows below every node, node by level of a balanced tree or running along a path; no objective."""
    order = np.argsort(parent[:n], kind="stable")
    if parent[n] == n + 1:
        np.cumsum(X[order], axis=0)
        return
    sums = X[order]
    while len(sums) > 1:
        half = len(sums) // 2
        rest = sums[2 * half :]
        sums = sums[0 : 2 * half : 2] + sums[1 : 2 * half : 2]
        sums = np.concatenate([sums, rest]) if len(rest) else sums


def _values_case(shape: str, order: str, parents: Any) -> None:
    case = Case(
        f"objectives-{shape}-{order}",
        f"Exact Dasgupta + MW + CKMM of a {shape} tree, leaves in {order} order, one pass a call; "
        "bar: 10 s at 1 000 000 x 128, 3x the NumPy pass",
        short={"n": 200_000, "d": 128},
        long={"n": 1_000_000},
    )

    @case.prepare
    def prepare(n: int, d: int) -> dict[str, Any]:
        parent = parents(n)
        return {"X": clustered(n, d), "parent": parent if order == "file" else _shuffled(parent, n)}

    @case.contestant("cladify, three objectives", needs="cladify.objectives")
    def cladify(X: np.ndarray, parent: np.ndarray) -> dict[str, float]:
        return _all_three(X, parent)

    @case.contestant("numpy, float32 sums of one pass")
    def numpy(X: np.ndarray, parent: np.ndarray, n: int) -> None:
        _numpy_sums(X, parent, n)


for shape, parents in (("balanced", _balanced), ("path-shaped", _path)):
    for order in ("file", "random"):
        _values_case(shape, order, parents)


bounds = Case("bounds", "Triple bounds of Spambase (4601 points), squared Euclidean distance")


@bounds.prepare
def prepare_bounds() -> dict[str, Any]:
    return {"X": real("spambase")["X"].astype(np.float64)}


def _bounds(X: np.ndarray, method: Any) -> Any:
    from cladify.objectives import bounds

    return bounds(X, objective="ckmm", method=method)


@bounds.contestant("cladify, exact", needs="cladify.objectives")
def exact(X: np.ndarray) -> Any:
    return _bounds(X, "exact")


@bounds.contestant("cladify, sampled", needs="cladify.objectives")
def sampled(X: np.ndarray) -> Any:
    return _bounds(X, "sampled")


@bounds.quality("upper bound")
def upper(result: Any) -> float:
    return result.upper


@bounds.quality("width of its interval, relative")
def width(result: Any) -> float:
    low, high = result.upper_interval
    return (high - low) / result.upper
