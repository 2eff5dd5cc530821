"""Other groups that items of a taxonomy belong to, because enough of their neighbours are there.

They are found when a taxonomy is built, by :func:`cladify.overlap.soft.outside`, and kept with the tree as built, so
that a taxonomy from a file needs no graph. With a group, all groups around it that do not hold the item are kept, so
that there is an entry for every level and after every edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify.errors import InvalidInput
from cladify.overlap.soft import outside
from cladify.taxonomy._read.levels import Level, labels_of
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Also", "AlsoIn", "after_edits", "also_column", "checked_also", "find_also", "group_also", "item_also"]

#: Between the names of several groups in one cell of a table.
SEPARATOR = " | "
#: Groups in one cell, at most.
_IN_A_CELL = 3


class Also(NamedTuple):
    """A group that an item (or some items of a group) belongs to as well; see :meth:`cladify.Taxonomy.also_in`."""

    node: int
    name: str
    share: float


@dataclass(frozen=True)
class AlsoIn:
    """Other groups of each item: those of item i are ``node[start[i]:start[i + 1]]``, ascending.

    Attributes
    ----------
    start : int64 array of shape (n + 1,)
    node : int32 array
        Nodes of the tree.
    share : uint8 array
        Share of the item's neighbours that are there, in 255ths.
    """

    start: np.ndarray
    node: np.ndarray
    share: np.ndarray

    @property
    def row(self) -> np.ndarray:
        """The item of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def of(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and shares of item i."""
        entries = slice(self.start[i], self.start[i + 1])
        return self.node[entries].astype(np.int64), self.share[entries] / 255.0


def find_also(tree: Tree, graph: Any, n_jobs: int | None = -1) -> AlsoIn:
    """The groups of ``tree`` off each leaf's path that its neighbours in ``graph`` are in."""
    n = tree.n_leaves
    lowest = tree.parent[:n] - n
    parent = np.where(tree.parent[n:] >= 0, tree.parent[n:] - n, -1)
    found = outside(graph, lowest, parent, n_jobs=n_jobs)
    return AlsoIn(found.start, found.group + np.int32(n), np.round(255 * found.share).astype(np.uint8))


def checked_also(start: np.ndarray, node: np.ndarray, share: np.ndarray, tree: Tree) -> AlsoIn:
    """Entries from a file, once they are known to fit the tree."""
    fits = len(start) == tree.n_leaves + 1 and start[0] == 0 and start[-1] == len(node) == len(share)
    if not fits or (np.diff(start) < 0).any() or share.dtype != np.uint8:
        raise InvalidInput("also_start, also_node and also_share do not belong together")
    if len(node) and not tree.n_leaves <= node.min() <= node.max() < tree.n_nodes:
        raise InvalidInput("also_node names groups that are not there")
    return AlsoIn(start.astype(np.int64), node.astype(np.int32), share)


def after_edits(also: AlsoIn, now: np.ndarray, tree: Tree) -> AlsoIn:
    """Entries as nodes of the edited ``tree``; ``now`` is the node of each node as built, -1 if it was taken out.

    Shares of the parts of a merged group add up; groups that hold the item now are left out, and so are groups that
    were taken out, since those around them have entries of their own.
    """
    n = tree.n_leaves
    row, node, share = also.row, now[also.node], also.share.astype(np.int64)
    position = np.empty(n, np.int64)
    position[tree.leaf_order] = np.arange(n)
    kept = (node >= 0) & ~((tree.first[node] <= position[row]) & (position[row] < tree.last[node]))
    pair, which = np.unique(row[kept] * tree.n_nodes + node[kept], return_inverse=True)
    total = np.minimum(np.bincount(which, weights=share[kept], minlength=len(pair)), 255)
    row, node = np.divmod(pair, tree.n_nodes)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    return AlsoIn(start, node.astype(np.int32), total.astype(np.uint8))


def item_also(also: AlsoIn, tree: Tree, i: int) -> tuple[np.ndarray, np.ndarray]:
    """The lowest other groups of item i, and the share of its neighbours in each."""
    node, share = also.of(i)
    lowest = ~np.isin(node, tree.parent[node])  # no entry further down
    return node[lowest], share[lowest]


def group_also(also: AlsoIn, tree: Tree, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Other groups next to the path of group v, and the share of v's items that also belong to each."""
    rows = tree.members(v)
    count = also.start[rows + 1] - also.start[rows]
    first = np.repeat(also.start[rows] - np.cumsum(count) + count, count)
    node = also.node[first + np.arange(len(first))]
    on_path = np.zeros(tree.n_nodes, bool)
    on_path[tree.ancestors(v)] = True
    found = np.bincount(node[on_path[tree.parent[node]]], minlength=tree.n_nodes)
    others = np.flatnonzero(found)
    return others, found[others] / len(rows)


def also_column(also: AlsoIn | None, tree: Tree, level: Level, names: list[str]) -> pa.Array:
    """Names of the other clusters of a level that each item is in, the largest share first; null for none.

    Parameters
    ----------
    level : Level
    names : list of str
        Of its clusters.
    """
    import pyarrow as pa

    n = tree.n_leaves
    if also is None:
        return pa.nulls(n, pa.string())
    group = np.full(tree.n_nodes, -1, np.int64)
    group[list(level.nodes)] = np.arange(len(level.nodes)) if level.cluster is None else level.cluster
    own = labels_of(tree, level.nodes)
    own = np.where(own >= 0, group[np.array(level.nodes)][own], -1)
    cluster = group[also.node]
    kept = (cluster >= 0) & (cluster != own[also.row])
    # A cluster of several groups has what they have together.
    pair, which = np.unique(also.row[kept] * len(names) + cluster[kept], return_inverse=True)
    share = np.bincount(which, weights=also.share[kept], minlength=len(pair))
    row, cluster = np.divmod(pair, len(names))
    order = np.lexsort((cluster, -share, row))
    row, cluster = row[order], cluster[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    cells = np.full((n, _IN_A_CELL), -1, np.int64)
    shown = rank < _IN_A_CELL
    cells[row[shown], rank[shown]] = cluster[shown]
    # Few different cells stand in many rows.
    different, which = np.unique(cells, axis=0, return_inverse=True)
    texts = [SEPARATOR.join(names[c] for c in cell if c >= 0) or None for cell in different.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(which.ravel()))
