"""Trees for tests: random ones, extreme ones, and a naive reference that spells every definition out."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from cladify import Tree


def random_tree(n: int, seed: int, *, max_children: int = 2, ties: bool = False, monotone: bool = True) -> Tree:
    """A random tree: random parts are joined until one is left, the inner nodes in creation order."""
    rng = np.random.default_rng(seed)
    parent, height = [-1] * n, [0.0] * n
    roots = list(range(n))
    while len(roots) > 1:
        take = int(rng.integers(2, min(max_children, len(roots)) + 1))
        chosen = rng.choice(len(roots), take, replace=False).tolist()
        node = len(parent)
        low = max(height[roots[i]] for i in chosen) if monotone else 0.0
        step = float(rng.integers(0, 3)) if ties else float(rng.random())
        for i in chosen:
            parent[roots[i]] = node
        parent.append(-1)
        height.append(low + step)
        roots = [root for i, root in enumerate(roots) if i not in chosen] + [node]
    return Tree(parent, height)


def path_tree(n: int) -> Tree:
    """Leaf after leaf joins one growing cluster."""
    Z = np.ones((n - 1, 4))
    Z[:, 0] = np.concatenate([[0], np.arange(n, 2 * n - 2)])[: n - 1]
    Z[:, 1] = np.arange(1, n)
    Z[:, 2] = np.arange(1, n)
    return Tree.from_linkage(Z)


def balanced_tree(n: int) -> Tree:
    """Neighbours are joined level by level."""
    steps = np.arange(n - 1)
    return Tree.from_merges(2 * steps, 2 * steps + 1, np.sqrt(steps), n)


@st.composite
def trees(draw: st.DrawFn, max_leaves: int = 25, max_children: int = 5, monotone: bool | None = None) -> Tree:
    """Small random trees, with and without ties, binary or not."""
    return random_tree(
        draw(st.integers(1, max_leaves)),
        draw(st.integers(0, 2**32)),
        max_children=draw(st.integers(2, max_children)),
        ties=draw(st.booleans()),
        monotone=draw(st.booleans()) if monotone is None else monotone,
    )


class NaiveTree:
    """Every question answered from sets of leaves, one node after the other."""

    def __init__(self, tree: Tree) -> None:
        self.parent = tree.parent.tolist()
        self.height = tree.height.tolist()
        m = len(self.parent)
        self.n = m - len(set(self.parent) - {-1})
        self.children: dict[int, list[int]] = {v: [] for v in range(m)}
        for v, p in enumerate(self.parent):
            if p >= 0:
                self.children[p].append(v)
        self.members: dict[int, frozenset[int]] = {}
        for v in range(m):
            below = [self.members[c] for c in self.children[v]]
            self.members[v] = frozenset().union(*below) if below else frozenset([v])

    def ancestors(self, v: int) -> list[int]:
        path = []
        while self.parent[v] >= 0:
            v = self.parent[v]
            path.append(v)
        return path

    def lca(self, u: int, v: int) -> int:
        above = {v, *self.ancestors(v)}
        return next(w for w in [u, *self.ancestors(u)] if w in above)

    def clusters(self) -> set[tuple[frozenset[int], float]]:
        """The hierarchy itself: all clusters with their heights."""
        return {(self.members[v], self.height[v]) for v in self.members}

    def largest_height(self, v: int) -> float:
        """Largest height of an inner node in the subtree of ``v``; minus infinity for a leaf."""
        below = [self.largest_height(c) for c in self.children[v]]
        return max([self.height[v], *below]) if below else -np.inf

    def cut_by_height(self, h: float) -> set[frozenset[int]]:
        """Largest nodes with no height above ``h`` in them."""
        low = {v for v in self.members if self.largest_height(v) <= h}
        return {self.members[v] for v in low if self.parent[v] not in low}


def blocks(labels: np.ndarray) -> set[frozenset[int]]:
    """The clusters of a labelling, as sets."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}
