"""Groups of a tree and their successors in the next one, by the items that they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cladify.tree import Tree

__all__ = ["Matching", "counted", "match_groups"]

#: A group is the successor of another only if they share at least this part of their items that were there before and
#: after (Jaccard index).
_LEAST = 0.3


@dataclass(frozen=True, eq=False)
class Matching:
    """Which group of the old tree each of the new one comes from. Groups are numbered from the first inner node on.

    Attributes
    ----------
    old, new : Tree
    came : int64 array
        Leaf of the old tree of each leaf of the new one, -1 for one that was not there.
    partner : int64 array
        The group of the old tree that each group of the new one succeeds, -1 for one that was born.
    jaccard : float64 array
        Share of the items that both have, of those that either has; 0 for a group that was born.
    stayed : float64 array
        The same among the items that were there before and after.
    overlap : sparse matrix of shape (old groups, new groups)
        Items that both have.
    """

    old: Tree
    new: Tree
    came: np.ndarray
    partner: np.ndarray
    jaccard: np.ndarray
    stayed: np.ndarray
    overlap: Any

    @cached_property
    def successor(self) -> np.ndarray:
        """The group of the new tree that succeeds each of the old one, -1 for one that is gone."""
        found = np.full(self.old.n_nodes - self.old.n_leaves, -1, np.int64)
        has = self.partner >= 0
        found[self.partner[has]] = np.flatnonzero(has)
        return found

    @cached_property
    def same(self) -> np.ndarray:
        """Which groups of the new tree have exactly the items of their partner."""
        return self.jaccard >= 1.0

    @cached_property
    def kept(self) -> np.ndarray:
        """Which leaves of the new tree were there before, in a lowest group whose successor they are in."""
        old_n, new_n = self.old.n_leaves, self.new.n_leaves
        here = self.new.parent[:new_n] - new_n
        before = np.where(self.came >= 0, self.successor[self.old.parent[np.maximum(self.came, 0)] - old_n], -2)
        return before == here


def match_groups(old: Tree, new: Tree, came: np.ndarray) -> Matching:
    """The assignment of groups to groups with the largest sum of Jaccard indices; the root goes to the root.

    Only items that are in both trees decide. Groups that may be each other's successor form small components, each
    solved on its own, so that the work is near-linear in the groups.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    n_old, n_new = old.n_leaves, new.n_leaves
    g_old, g_new = old.n_nodes - n_old, new.n_nodes - n_new
    there = np.flatnonzero(came >= 0)
    a, b = old.parent[came[there]] - n_old, new.parent[there] - n_new
    pair, count, _ = counted(a * g_new + b, g_old * g_new)
    lowest = csr_array((count.astype(np.float64), np.divmod(pair, g_new)), shape=(g_old, g_new))
    overlap = coo_array(_above(old).T @ lowest @ _above(new))
    u, v, both = overlap.coords[0], overlap.coords[1], overlap.data
    stayed_old = np.zeros(g_old)
    stayed_new = np.zeros(g_new)
    at_root = v == g_new - 1
    stayed_old[u[at_root]] = both[at_root]
    at_root = u == g_old - 1
    stayed_new[v[at_root]] = both[at_root]
    index = both / (stayed_old[u] + stayed_new[v] - both)
    good = (index >= _LEAST) & (u != g_old - 1) & (v != g_new - 1)
    u, v, index = u[good], v[good], index[good]
    partner = np.full(g_new, -1, np.int64)
    partner[-1] = g_old - 1
    links = csr_array((np.ones(len(u)), (u, g_old + v)), shape=(g_old + g_new,) * 2)
    _, component = connected_components(links, directed=False)
    order = np.argsort(component[u], kind="stable")
    for edges in np.split(order, np.flatnonzero(np.diff(component[u][order])) + 1) if len(order) else ():
        if len(edges) == 1:
            partner[v[edges]] = u[edges]
            continue
        rows, r = np.unique(u[edges], return_inverse=True)
        columns, c = np.unique(v[edges], return_inverse=True)
        score = np.zeros((len(rows), len(columns)))
        score[r, c] = index[edges]
        for i, j in zip(*linear_sum_assignment(score, maximize=True), strict=True):
            if score[i, j] > 0:
                partner[columns[j]] = rows[i]
    shared = csr_array(overlap)
    has = np.flatnonzero(partner >= 0)
    both = np.asarray(shared[partner[has], has]).ravel()
    jaccard = np.zeros(g_new)
    jaccard[has] = both / (old.size[n_old + partner[has]] + new.size[n_new + has] - both)
    stayed = np.zeros(g_new)
    stayed[has] = both / np.maximum(stayed_old[partner[has]] + stayed_new[has] - both, 1.0)
    return Matching(old, new, came, partner, jaccard, stayed, shared)


def counted(code: np.ndarray, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different values below ``end``, ascending, how often each comes, and which of them each value is.

    As `np.unique`, which sorts, where there are fewer possible values than a few times those there are.
    """
    if end > 4 * len(code):
        pair, which, count = np.unique(code, return_inverse=True, return_counts=True)
        return pair, count, which
    count = np.bincount(code, minlength=end)
    there = np.flatnonzero(count)
    place = np.zeros(end, np.int32)
    place[there] = np.arange(len(there))
    return there, count[there], place[code]


def _above(tree: Tree) -> Any:
    """Which groups (columns) hold each group (row), itself among them; sparse."""
    from scipy.sparse import csr_array

    n = tree.n_leaves
    g = tree.n_nodes - n
    rows, columns = [np.arange(g)], [np.arange(g)]
    here, above = np.arange(g), tree.parent[n:]
    while True:
        up = above >= 0
        here, above = here[up], above[up]
        if not len(here):
            break
        rows.append(here)
        columns.append(above - n)
        above = tree.parent[above]
    where = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(where[0])), where), shape=(g, g))
