"""Random trees and the objectives by their definitions."""

import itertools

import numpy as np

from cladify import Tree


def random_tree(n, rng, binary=None):
    """A random tree; of inner nodes with two children or, where not asked otherwise, up to five."""
    if binary is None:
        binary = rng.random() < 0.4
    nodes, parent = list(range(n)), [-1] * n
    while len(nodes) > 1:
        count = 2 if binary else int(rng.integers(2, min(5, len(nodes)) + 1))
        for _ in range(count):
            i = int(rng.integers(len(nodes)))
            nodes[i], nodes[-1] = nodes[-1], nodes[i]
            parent[nodes.pop()] = len(parent)
        nodes.append(len(parent))
        parent.append(-1)
    return Tree(parent)


class Naive:
    """Objectives as sums over pairs and over triples, straight from their definitions."""

    def __init__(self, tree, W, weight=None):
        self.n, self.W, self.tree = tree.n_leaves, np.asarray(W, dtype=float), tree
        self.m = np.ones(self.n) if weight is None else np.asarray(weight)
        self.members = [set(tree.members(v).tolist()) for v in range(tree.n_nodes)]

    def size(self, v):
        return sum(self.m[i] for i in self.members[v])

    def meet(self, *leaves):
        return min(
            (v for v in range(self.tree.n_nodes) if set(leaves) <= self.members[v]), key=lambda v: len(self.members[v])
        )

    def child(self, v, leaf):
        return next(c for c in self.tree.children(v) if leaf in self.members[c])

    def pairs(self, name):
        total, everything = 0.0, self.m.sum()
        for i, j in itertools.combinations(range(self.n), 2):
            v = self.meet(i, j)
            parts = self.size(self.child(v, i)) + self.size(self.child(v, j))
            mw = everything - self.size(v) + (self.size(v) - parts) / 3
            ckmm = parts + 2 / 3 * (self.size(v) - parts)
            total += self.m[i] * self.m[j] * self.W[i, j] * (mw if name == "mw" else ckmm)
        return total

    def triples(self, name):
        W, m, total = self.W, self.m, 0.0
        for i, j, k in itertools.combinations(range(self.n), 3):
            weights = [W[i, j], W[i, k], W[j, k]]
            sizes = [self.size(self.meet(i, j)), self.size(self.meet(i, k)), self.size(self.meet(j, k))]
            if min(sizes) == max(sizes):
                inner = sum(weights) / 3
            else:
                inner = weights[int(np.argmin(sizes))]
            total += m[i] * m[j] * m[k] * (inner if name == "mw" else sum(weights) - inner)
        if name != "mw":
            total += sum(m[i] * m[j] * (m[i] + m[j]) * W[i, j] for i, j in itertools.combinations(range(self.n), 2))
        return total

    def bounds(self, name):
        W, m = self.W, self.m
        low = high = 0.0
        for i, j, k in itertools.combinations(range(self.n), 3):
            weights = [W[i, j], W[i, k], W[j, k]]
            both = min(weights), max(weights)
            if name != "mw":
                both = sum(weights) - both[1], sum(weights) - both[0]
            low += m[i] * m[j] * m[k] * both[0]
            high += m[i] * m[j] * m[k] * both[1]
        pairs = sum(m[i] * m[j] * (m[i] + m[j]) * W[i, j] for i, j in itertools.combinations(range(self.n), 2))
        return (low, high) if name == "mw" else (low + pairs, high + pairs)
