"""Where items of a taxonomy belong beside their own place: the other groups that their neighbours are in.

Found once, when a taxonomy is built, by :func:`cladify.overlap.soft.outside` and kept beside the tree as built, so that
a taxonomy from a file knows it without the graph. With a group, all groups around it that do not hold the item are
kept: whatever level a reader looks at, and whatever was taken out by hand, an entry tells the share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify.errors import InvalidInput
from cladify.taxonomy._levels import Level, labels_of
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

    from cladify.taxonomy._reading import Readable

__all__ = ["Also", "Beside", "after_edits", "also_column", "checked_beside", "find_beside", "group_also", "item_also"]

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
class Beside:
    """Groups beside the path of each item: those of item i are ``node[start[i]:start[i + 1]]``, ascending.

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


def find_beside(tree: Tree, graph: Any, n_jobs: int | None = -1) -> Beside:
    """The groups of ``tree`` beside each leaf's path that its neighbours in ``graph`` are in."""
    from cladify.overlap.soft import outside

    n = tree.n_leaves
    lowest = tree.parent[:n] - n
    parent = np.where(tree.parent[n:] >= 0, tree.parent[n:] - n, -1)
    found = outside(graph, lowest, parent, n_jobs=n_jobs)
    return Beside(found.start, found.group + np.int32(n), np.round(255 * found.share).astype(np.uint8))


def checked_beside(start: np.ndarray, node: np.ndarray, share: np.ndarray, tree: Tree) -> Beside:
    """Entries from a file, once they are known to fit the tree."""
    fits = len(start) == tree.n_leaves + 1 and start[0] == 0 and start[-1] == len(node) == len(share)
    if not fits or (np.diff(start) < 0).any() or share.dtype != np.uint8:
        raise InvalidInput("also_start, also_node and also_share do not belong together")
    if len(node) and not tree.n_leaves <= node.min() <= node.max() < tree.n_nodes:
        raise InvalidInput("also_node names groups that are not there")
    return Beside(start.astype(np.int64), node.astype(np.int32), share)


def after_edits(taxonomy: Readable) -> Beside | None:
    """Entries with nodes of the edited tree. Parts of a merged group add up; what holds the item now is left out."""
    beside, tree, n = taxonomy._beside, taxonomy.tree, taxonomy.n_items
    if beside is None or tree is taxonomy._base:
        return beside
    # Groups taken out by hand have no entry of their own any more: those of the groups around them tell it all.
    now = np.full(taxonomy._base.n_nodes, -1, np.int64)
    for v in range(n, tree.n_nodes):
        now[taxonomy._base_keys(v)] = v
    row, node, share = beside.row, now[beside.node], beside.share.astype(np.int64)
    place = np.empty(n, np.int64)
    place[tree.leaf_order] = np.arange(n)
    kept = (node >= 0) & ~((tree.first[node] <= place[row]) & (place[row] < tree.last[node]))
    pair, which = np.unique(row[kept] * tree.n_nodes + node[kept], return_inverse=True)
    total = np.minimum(np.bincount(which, weights=share[kept], minlength=len(pair)), 255)
    row, node = np.divmod(pair, tree.n_nodes)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    return Beside(start, node.astype(np.int32), total.astype(np.uint8))


def item_also(taxonomy: Readable, i: int, n: int) -> list[Also]:
    """The lowest groups beside the path of item i, the largest share first."""
    beside, tree = taxonomy._beside_now, taxonomy.tree
    if beside is None:
        return []
    node, share = beside.of(i)
    lowest = ~np.isin(node, tree.parent[node])  # no entry further down
    return _named(taxonomy, node[lowest], share[lowest], n)


def group_also(taxonomy: Readable, v: int, n: int) -> list[Also]:
    """Groups beside the path of group v, next to a group on it, by the share of v's items that are also there."""
    beside, tree = taxonomy._beside_now, taxonomy.tree
    if beside is None:
        return []
    rows = tree.members(v)
    count = beside.start[rows + 1] - beside.start[rows]
    first = np.repeat(beside.start[rows] - np.cumsum(count) + count, count)
    node = beside.node[first + np.arange(len(first))]
    on_path = np.zeros(tree.n_nodes, bool)
    on_path[tree.ancestors(v)] = True
    found = np.bincount(node[on_path[tree.parent[node]]], minlength=tree.n_nodes)
    others = np.flatnonzero(found)
    return _named(taxonomy, others, found[others] / len(rows), n)


def _named(taxonomy: Readable, node: np.ndarray, share: np.ndarray, n: int) -> list[Also]:
    best = np.lexsort((node, -share))[:n]
    names = taxonomy.names_of(node[best].tolist())
    return [Also(int(v), name, float(s)) for v, name, s in zip(node[best], names, share[best], strict=True)]


def also_column(taxonomy: Readable, level: Level, names: list[str]) -> pa.Array:
    """Names of the other clusters of a level that each item is in, the largest share first; null for none.

    Parameters
    ----------
    level : Level
    names : list of str
        Of its clusters.
    """
    import pyarrow as pa

    n, tree, beside = taxonomy.n_items, taxonomy.tree, taxonomy._beside_now
    if beside is None:
        return pa.nulls(n, pa.string())
    group = np.full(tree.n_nodes, -1, np.int64)
    group[list(level.nodes)] = np.arange(len(level.nodes)) if level.cluster is None else level.cluster
    own = labels_of(tree, level.nodes)
    own = np.where(own >= 0, group[np.array(level.nodes)][own], -1)
    cluster = group[beside.node]
    kept = (cluster >= 0) & (cluster != own[beside.row])
    # A cluster of several groups has what they have together.
    pair, which = np.unique(beside.row[kept] * len(names) + cluster[kept], return_inverse=True)
    share = np.bincount(which, weights=beside.share[kept], minlength=len(pair))
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
