"""Oracles: what a tree must satisfy by definition, spelled out slowly."""

from __future__ import annotations

import numpy as np

from ramify import Tree


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


def naive_hac(X: np.ndarray, linkage: str, weight: np.ndarray | None = None) -> np.ndarray:
    """Agglomeration from the definition, with ramify's rule for ties; rows (left, right, squared height, weight).

    ``linkage`` is average (squared Euclidean), ward (without the factor 2) or centroid.
    """
    n = len(X)
    members = {i: [i] for i in range(n)}
    weight = np.ones(n) if weight is None else weight
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)

    def distance(a: list[int], b: list[int]) -> float:
        wa, wb = weight[a], weight[b]
        if linkage == "average":
            return float(wa @ squared[np.ix_(a, b)] @ wb / wa.sum() / wb.sum())
        apart = ((wa @ X[a] / wa.sum() - wb @ X[b] / wb.sum()) ** 2).sum()
        return float(apart if linkage == "centroid" else wa.sum() * wb.sum() / (wa.sum() + wb.sum()) * apart)

    known = {(i, j): distance([i], [j]) for i in range(n) for j in range(i)}
    Z = []
    for new in range(n, 2 * n - 1):
        codes = {i: min(m) for i, m in members.items()}
        (i, j) = min(known, key=lambda p: (known[p], *sorted((codes[p[0]], codes[p[1]]))))
        height = known[i, j]
        left, right = sorted((i, j), key=codes.__getitem__)
        known = {p: d for p, d in known.items() if not {i, j} & set(p)}
        members[new] = members.pop(left) + members.pop(right)
        Z.append((left, right, height, len(members[new])))
        known.update({(new, k): distance(members[new], m) for k, m in members.items() if k != new})
    return np.array(Z).reshape(-1, 4)
