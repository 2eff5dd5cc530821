"""What known labels of some rows say of all others, and how far that is to be trusted.

Two things tell the label of a row. One is the graph: the share of label c is the chance that a random walk from the row
comes to a row known to be c first, each step being the last with a chance of 1 in 20. The other is the tree that is
found without labels: the known labels in the smallest cluster around the row, with one more that is like those in the
cluster around that one, and so on to the root. Their geometric mean counts. Either is better where the other is weak:
walks where clusters are curved, the tree where hardly a row is known.

A fifth of the known rows at a time is hidden, and found again by walks alone. The trust is the share of these against
mere frequencies of labels that makes the hidden ones most likely: 0 where labels have nothing to do with the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cladify._kit.params import check_random_state
from cladify.tree import Tree

__all__ = ["FAR", "KnownLabels", "walks"]

#: How likely a walk goes on after a step, and after how many it ends.
_ON, _STEPS = 0.95, 30
#: Labels that are worked on at a time, and edges.
_BLOCK, _EDGES = 16, 1 << 20
#: The chance to come to a known row at which a row is half as sure as its labels say.
FAR = 0.05
#: Parts of the known rows that are hidden in turn, and how many rows at most.
_FOLDS, _HIDDEN = 5, 2000
#: The most that is trusted; known rows are trusted as much.
_SURE = 0.98
#: What counts in either kind of shares where there is nothing.
_LITTLE = 0.01


def walks(weight: Any, known: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Chances of every row to come to a row of each label first: the first label of a block, and its columns."""
    n, is_known = len(known), known >= 0
    total = np.asarray(weight.sum(axis=1)).ravel()
    step = (_ON / np.maximum(total, np.finfo(np.float32).tiny)).astype(np.float32)
    for start, fixed in _blocks(known, n):
        share = fixed.copy()
        for _ in range(_STEPS):
            share = (weight @ share) * step[:, None]
            share[is_known] = fixed[is_known]
        yield start, share


class KnownLabels:
    """Known labels on a graph.

    Parameters
    ----------
    weight : CSR of shape (n, n)
        Symmetric weights of edges.
    known : int64 array of shape (n,)
        Labels from 0; -1 for a row without one.
    random_state : None, int or Generator
        Draws the rows that are hidden.
    """

    def __init__(self, weight: Any, known: np.ndarray, random_state: Any) -> None:
        self._weight, self.known = weight, known
        count = np.bincount(known[known >= 0])
        self._usual = (count / count.sum()).astype(np.float32)
        self._reached = np.zeros(len(known), np.float32)
        for _, share in walks(weight, known):
            self._reached += share.sum(axis=1)
        self.trust = self._trust(random_state)

    def _trust(self, random_state: Any) -> float:
        rows = check_random_state(random_state).permutation(np.flatnonzero(self.known >= 0))
        right, rest, usual = [], [], []
        for fold in range(_FOLDS):
            hidden = rows[fold::_FOLDS][: _HIDDEN // _FOLDS]
            some = self.known.copy()
            some[rows[fold::_FOLDS]] = -1
            if not len(hidden) or not (some >= 0).any():
                continue
            own, total = np.zeros(len(hidden), np.float64), np.zeros(len(hidden), np.float64)
            for start, share in walks(self._weight, some):
                total += share[hidden].sum(axis=1)
                label = self.known[hidden] - start
                at = np.flatnonzero((label >= 0) & (label < share.shape[1]))
                own[at] = share[hidden[at], label[at]]
            right.append(own / (total + FAR))
            rest.append(FAR / (total + FAR))
            usual.append(self._usual[self.known[hidden]])
        if not right:
            return 0.0
        found, frequent = np.concatenate(right) + np.concatenate(rest) * np.concatenate(usual), np.concatenate(usual)
        tried = np.linspace(0.0, _SURE, 50)
        likely = [np.log(trust * found + (1 - trust) * frequent + 1e-9).sum() for trust in tried]
        return float(tried[int(np.argmax(likely))])

    def factors(self, tree: Tree) -> np.ndarray:
        """What the weight of each edge is multiplied by: the root of how much likelier than any two rows of the table
        its ends have the same label."""
        row = np.repeat(np.arange(len(self.known), dtype=np.int32), np.diff(self._weight.indptr))
        total = np.zeros(len(self.known), np.float32)
        for _, share in self._shares(tree):
            total += share.sum(axis=1)
        alike = np.zeros(len(row), np.float32)
        is_known = self.known >= 0
        for start, share in self._shares(tree):
            usual = self._usual[start : start + share.shape[1]]
            share *= (self.trust / total)[:, None]
            share += (1 - self.trust) * usual
            share[is_known] = (1 - _SURE) * usual
            ours = np.flatnonzero((self.known >= start) & (self.known < start + share.shape[1]))
            share[ours, self.known[ours] - start] += _SURE
            for first in range(0, len(row), _EDGES):
                part = slice(first, first + _EDGES)
                alike[part] += np.einsum("ij,ij->i", share[row[part]], share[self._weight.indices[part]])
        return np.sqrt(alike / float(np.square(self._usual).sum()))

    def mixed(self, tree: Tree) -> np.ndarray:
        """How mixed the labels of each node are: the sum of squared differences of its rows' shares from their mean."""
        sure = self._reached / (self._reached + FAR)
        mass = np.maximum(_below(tree, sure[:, None]).ravel(), np.finfo(np.float64).tiny)
        mixed = np.zeros(tree.n_nodes)
        for _, share in walks(self._weight, self.known):
            share /= np.maximum(self._reached, np.finfo(np.float32).tiny)[:, None]
            mixed += _below(tree, (sure * np.square(share).sum(axis=1))[:, None]).ravel()
            mixed -= np.square(_below(tree, share * sure[:, None])).sum(axis=1) / mass
        return np.maximum(mixed, 0.0)

    def _shares(self, tree: Tree) -> Iterator[tuple[int, np.ndarray]]:
        """Both kinds of shares as one, not yet adding up to 1."""
        beside = _in_tree(tree, self.known, self._usual)
        for (start, share), (_, other) in zip(walks(self._weight, self.known), beside, strict=True):
            usual = self._usual[start : start + share.shape[1]]
            walked = (share + FAR * usual) / (self._reached + FAR)[:, None]
            yield start, np.sqrt((walked + _LITTLE) * (other + _LITTLE))


def _in_tree(tree: Tree, known: np.ndarray, usual: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Shares of labels around every leaf of a tree, by blocks of labels."""
    counted = _below(tree, (known >= 0)[:, None]).ravel()
    full = np.flatnonzero(counted)[::-1]
    nearest = np.where(counted > 0, np.arange(tree.n_nodes), tree.parent)
    while (nearest != (further := nearest[nearest])).any():
        nearest = further
    for start, fixed in _blocks(known, tree.n_leaves):
        share = _below(tree, fixed).astype(np.float32)
        share[tree.root] += usual[start : start + share.shape[1]]
        share[tree.root] /= counted[tree.root] + 1
        for v, above, own in zip(full[1:].tolist(), tree.parent[full[1:]].tolist(), counted[full[1:]], strict=True):
            share[v] = (share[v] + share[above]) / (own + 1)
        yield start, share[nearest[: tree.n_leaves]]


def _blocks(known: np.ndarray, n: int) -> Iterator[tuple[int, np.ndarray]]:
    """Known labels as columns of 0 and 1, some at a time."""
    count = int(known.max(initial=-1)) + 1
    for start in range(0, count, _BLOCK):
        width = min(_BLOCK, count - start)
        ours = np.flatnonzero((known >= start) & (known < start + width))
        fixed = np.zeros((n, width), np.float32)
        fixed[ours, known[ours] - start] = 1.0
        yield start, fixed


def _below(tree: Tree, rows: np.ndarray) -> np.ndarray:
    """Sums of the rows of the leaves below each node."""
    sums = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows[tree.leaf_order], axis=0, out=sums[1:])
    return np.asarray(sums[tree.last] - sums[tree.first])
