"""Oracles: what a tree must satisfy by definition, spelled out slowly."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import Tree


def clades(tree: Tree) -> dict[frozenset[int], float]:
    """The leaves below every inner node, and its height."""
    below: list[frozenset[int]] = [frozenset()] * len(tree.parent)
    for v in range(tree.n_leaves):
        below[v] = frozenset([v])
    for v, p in enumerate(tree.parent[:-1]):
        below[p] = below[p] | below[v]
    return {below[v]: float(tree.height[v]) for v in range(tree.n_leaves, len(tree.parent))}


def assert_same_merges(tree: Tree, Z: np.ndarray, rtol: float = 1e-5) -> None:
    """``tree`` has the clusters and heights of SciPy's linkage matrix."""
    expected = clades(Tree.from_linkage(Z))
    found = clades(tree)
    assert found.keys() == expected.keys()
    keys = list(expected)
    np.testing.assert_allclose([found[k] for k in keys], [expected[k] for k in keys], rtol=rtol, atol=1e-13)


SQUARED = ("ward", "centroid", "median")  # linkages of Euclidean distances, whose formulas are for the squares


def lance_williams(linkage: str, x: np.ndarray, y: np.ndarray, a: float, b: float, k: np.ndarray, apart: float) -> Any:
    """Distances of A ∪ B to clusters of sizes ``k`` from those of A and of B, which are ``apart``."""
    if linkage == "single":
        return np.minimum(x, y)
    if linkage == "complete":
        return np.maximum(x, y)
    if linkage == "average":
        return (a * x + b * y) / (a + b)
    if linkage == "weighted":
        return (x + y) / 2
    if linkage == "ward":
        return ((a + k) * x + (b + k) * y - k * apart) / (a + b + k)
    if linkage == "centroid":
        return (a * x + b * y - a * b * apart / (a + b)) / (a + b)
    return (x + y) / 2 - apart / 4  # median


def assert_minimal_merges(tree: Tree, D: np.ndarray, linkage: str, weight: np.ndarray | None = None) -> None:
    """Every merge of a binary ``tree`` is one of two nearest clusters, at their distance; ties may go either way.

    ``D`` holds the distances of the points. Clusters' distances follow from them by the Lance-Williams formulas.
    """
    n = tree.n_leaves
    size = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    D = D.astype(float) ** (2 if linkage in SQUARED else 1)
    if linkage == "ward":
        D *= 2 * size[:, None] * size / (size[:, None] + size)
    far = np.where(np.eye(n, dtype=bool), np.inf, D)
    scale = D.max(initial=0.0)
    where, alive, size = list(range(n)), np.ones(n, dtype=bool), size.copy()
    for v in range(n, 2 * n - 1):
        i, j = (where[c] for c in tree.children(v))
        height = tree.height[v] ** (2 if linkage in SQUARED else 1)
        apart = far[i, j]
        assert apart <= far.min() + 1e-9 * scale, f"merge {v}: {apart} is not the smallest distance {far.min()}"
        np.testing.assert_allclose(height, apart, rtol=1e-5, atol=1e-9 * scale)
        with np.errstate(invalid="ignore"):
            far[i] = lance_williams(linkage, far[i], far[j], size[i], size[j], size, apart)
        size[i] += size[j]
        alive[j] = False
        far[i, ~alive] = far[i, i] = np.inf
        far[j] = np.inf
        far[:, i], far[:, j] = far[i], np.inf
        where.append(i)
