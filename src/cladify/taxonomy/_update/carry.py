"""What is known of the groups and items, carried over to the next tree; only what changed is worked out again.

Everything that stays is copied. Of items that came or changed their group, confidence and other groups are those that
their neighbours say; :meth:`cladify.Taxonomy.refresh` works all of it out anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify.maps import layout
from cladify.neighbors import NeighborGraph
from cladify.overlap.soft import outside
from cladify.taxonomy._read.also import AlsoIn
from cladify.taxonomy._read.geometry import N_EXAMPLES, Geometry
from cladify.taxonomy._update.match import Matching, counted

__all__ = ["carry_also", "carry_confidence", "carry_geometry", "carry_points", "moved_rows", "near_graph"]

#: Groups of up to so many items are measured item by item; of larger ones, examples come from those of their parts.
_SMALL = 4000
_SAMPLE = 500
_STEPS = 100


def near_graph(rows: np.ndarray, near: np.ndarray, distance: np.ndarray, n: int, metric: str) -> NeighborGraph:
    """Edges of some rows of n points as a graph."""
    order = np.lexsort((near, rows))
    return _graph(rows[order], near[order], distance[order], n, metric)


def _graph(rows: np.ndarray, near: np.ndarray, distance: np.ndarray, n: int, metric: str) -> NeighborGraph:
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    if metric == "dot":
        return NeighborGraph(start, near.astype(np.int32), (-distance).astype(np.float32), metric=metric)
    distance = np.maximum(distance, 0.0).astype(np.float32)
    return NeighborGraph(start, near.astype(np.int32), distance=distance, metric=metric)


# --- groups -----------------------------------------------------------------------------------------------------------


def carry_geometry(old: Geometry, match: Matching, X: np.ndarray, angular: bool) -> Geometry:
    """Centres and examples: copied for groups with the same items, measured for the others.

    ``X`` are the rows of the new tree, of length 1 where directions count.
    """
    tree, n = match.new, match.new.n_leaves
    g = tree.n_nodes - n
    new_row = np.full(match.old.n_leaves + 1, -1, np.int64)
    new_row[match.came[match.came >= 0]] = np.flatnonzero(match.came >= 0)
    assert old.centres is not None and old.cohesion is not None
    centres = np.zeros((g, X.shape[1]), np.float32)
    cohesion = np.zeros(g, np.float32)
    central, boundary = (np.full((g, N_EXAMPLES), -1, np.int64) for _ in range(2))
    same = np.flatnonzero(match.same)
    before = match.partner[same]
    centres[same], cohesion[same] = old.centres[before], old.cohesion[before]
    central[same], boundary[same] = new_row[old.central[before]], new_row[old.boundary[before]]
    means = _Means(tree, X, centres, angular)
    changed = np.flatnonzero(~match.same)
    spread = np.ones(g)
    for i in changed.tolist():  # children before parents
        mean = means.of(n + i)
        length = float(np.linalg.norm(mean))
        centres[i] = mean / length if angular and length > 0 else mean
    whole = _spread(X, means.some(tree.root), centres[g - 1], angular)
    for i in changed.tolist():
        rows = means.some(n + i)
        spread[i] = _spread(X, rows, centres[i], angular)
        cohesion[i] = np.clip(1.0 - spread[i] / max(whole, 1e-300), -1.0, 1.0)
        v = n + i
        known = tree.children(v)
        known = known[known >= n] - n
        own = match.partner[i]
        told = [central[known].ravel(), boundary[known].ravel(), rows]
        if own >= 0:
            told += [new_row[old.central[own]], new_row[old.boundary[own]]]
        asked = np.unique(np.concatenate(told))
        asked = asked[asked >= 0]
        position = means.position[asked]
        asked = asked[(tree.first[v] <= position) & (position < tree.last[v])]
        beside = tree.children(tree.parent[v]) if tree.parent[v] >= 0 else np.empty(0, np.int64)
        others = centres[beside[(beside >= n) & (beside != v)] - n]
        lead = _likeness(X[asked], centres[i][None], angular)[:, 0]
        k = min(N_EXAMPLES, len(asked))
        central[i, :k] = asked[np.lexsort((asked, -lead))[:k]]
        if len(others):
            margin = lead - _likeness(X[asked], others, angular).max(axis=1)
            boundary[i, :k] = asked[np.lexsort((asked, margin))[:k]]
    return Geometry(centres, central, boundary, cohesion)


class _Means:
    """Means of the rows of groups, from rows for small groups and from the means of their parts for large ones."""

    def __init__(self, tree: Any, X: np.ndarray, centres: np.ndarray, angular: bool) -> None:
        self.tree, self.X, self.centres, self.angular = tree, X, centres, angular
        self.known: dict[int, np.ndarray] = {}
        self.position = np.empty(tree.n_leaves, np.int64)
        self.position[tree.leaf_order] = np.arange(tree.n_leaves)

    def some(self, v: int) -> np.ndarray:
        """The rows of a small group, and rows spread evenly over a large one."""
        first, last = int(self.tree.first[v]), int(self.tree.last[v])
        size = last - first
        if size <= _SMALL:
            return self.tree.leaf_order[first:last]
        return self.tree.leaf_order[first + (2 * np.arange(_SAMPLE) + 1) * size // (2 * _SAMPLE)]

    def of(self, v: int) -> np.ndarray:
        tree, n = self.tree, self.tree.n_leaves
        if tree.size[v] <= _SMALL:
            mean = self.X[self.some(v)].mean(axis=0, dtype=np.float64)
        else:
            children = tree.children(v)
            leaves = children[children < n]
            mean = self.X[leaves].sum(axis=0, dtype=np.float64)
            for child in children[children >= n].tolist():
                mean = mean + self._known(child) * float(tree.size[child])
            mean /= float(tree.size[v])
        self.known[v] = mean
        return mean

    def _known(self, v: int) -> np.ndarray:
        """The mean of a group whose centre is there: the unit centre times the mean of the rows along it."""
        if v not in self.known:
            centre = self.centres[v - self.tree.n_leaves].astype(np.float64)
            if self.angular:
                centre = centre * float((self.X[self.some(v)] @ centre).mean())
            self.known[v] = centre
        return self.known[v]


def _likeness(rows: np.ndarray, centres: np.ndarray, angular: bool) -> np.ndarray:
    found = rows @ centres.T
    if angular:
        return found
    return found - 0.5 * np.einsum("ij,ij->i", centres, centres) - 0.5 * np.einsum("ij,ij->i", rows, rows)[:, None]


def _spread(X: np.ndarray, rows: np.ndarray, centre: np.ndarray, angular: bool) -> float:
    """Mean squared distance of rows to their mean."""
    some = X[rows]
    if angular:
        return 1.0 - float((some @ centre).mean()) ** 2
    return float(((some - centre) ** 2).sum(axis=1).mean())


# --- items ------------------------------------------------------------------------------------------------------------


def carry_confidence(old: np.ndarray, match: Matching, rows: np.ndarray, graph: NeighborGraph) -> np.ndarray:
    """The table of confidences; ``rows`` are new or in another group, and ``graph`` has their neighbours."""
    tree, n = match.new, match.new.n_leaves
    before, after = _paths(match.old), _paths(tree)
    a = match.old.parent[np.maximum(match.came, 0)] - match.old.n_leaves
    b = tree.parent[:n] - n
    pair, _, which = counted((np.where(match.came >= 0, a, -1) + 1) * len(after) + b, (len(before) + 1) * len(after))
    low_old, low_new = np.divmod(pair, len(after))
    low_old -= 1
    depth = after.shape[1]
    source = np.full((depth, len(pair)), -1, np.int16)
    wanted = match.partner[after[low_new]]  # the old group of each depth
    for d in range(min(before.shape[1], old.shape[1]) - 1, -1, -1):
        for e in range(depth):
            hit = (low_old >= 0) & (before[low_old, d] == wanted[:, e]) & (wanted[:, e] >= 0)
            source[e, hit] = d
    known = np.zeros((n, depth), bool)
    table = np.zeros((n, depth), np.uint8)
    row = np.maximum(match.came, 0)
    for e in range(depth):  # a column at a time: all at once take much memory
        at = source[e][which]
        known[:, e] = at >= 0
        table[:, e] = old[row, np.maximum(at, 0)] * known[:, e]
    told = table.astype(np.float32) / 255
    groups = after[b]
    edge_row = np.repeat(np.arange(n), graph.degree)
    edge_near = graph.indices
    total = np.maximum(np.bincount(edge_row, weights=graph.weight, minlength=n), 1e-30)
    table[:, 0] = 255
    for d in range(1, depth):
        open_rows = np.flatnonzero(~known[:, d])
        if not len(open_rows):
            continue
        g = groups[:, d]
        total_told = np.bincount(g, weights=np.where(known[:, d], told[:, d], 0.0), minlength=len(after))
        mean = total_told / np.maximum(np.bincount(g, weights=known[:, d], minlength=len(after)), 1.0)
        inside = g[edge_row] == g[edge_near]
        stays = np.where(known[edge_near, d], told[edge_near, d], 1.0)
        chance = np.bincount(edge_row, weights=graph.weight * inside * (0.25 + 0.75 * stays), minlength=n) / total
        usual = np.where(mean[g] > 0, mean[g], chance)
        found = np.sqrt(np.clip(chance * usual, 0.0, 1.0))
        table[open_rows, d] = np.round(255 * found[open_rows])
    return table


def _paths(tree: Any) -> np.ndarray:
    """The group of each depth above and including each group, by number; the group itself below that."""
    n = tree.n_leaves
    g = tree.n_nodes - n
    table = np.full((g, max(tree.depth, 1)), -1, np.int64)
    node = np.arange(n, tree.n_nodes)
    while (node >= 0).any():
        rows = np.flatnonzero(node >= 0)
        table[rows, tree.node_depth[node[rows]]] = node[rows] - n
        node[rows] = tree.parent[node[rows]]
    return np.where(table >= 0, table, np.arange(g)[:, None])


def carry_also(old: AlsoIn, match: Matching, rows: np.ndarray, graph: NeighborGraph) -> AlsoIn:
    """Other groups of items: those before, by their successors, and for ``rows`` what their neighbours say."""
    tree, n = match.new, match.new.n_leaves
    fresh = np.zeros(n, bool)
    fresh[rows] = True
    new_row = np.full(match.old.n_leaves, -1, np.int64)
    new_row[match.came[match.came >= 0]] = np.flatnonzero(match.came >= 0)
    row, node, share = new_row[old.row], match.successor[old.node - match.old.n_leaves] + n, old.share
    position = np.empty(n, np.int64)
    position[tree.leaf_order] = np.arange(n)
    stays = (row >= 0) & (node >= n) & ~fresh[row]
    inside = (tree.first[node] <= position[row]) & (position[row] < tree.last[node])
    stays &= ~inside
    row, node, share = row[stays], node[stays], share[stays]
    if len(rows):
        near = np.unique(np.concatenate([rows, graph.indices]))
        small = _part_of(graph, near)
        lowest = tree.parent[near] - n
        parent = np.where(tree.parent[n:] >= 0, tree.parent[n:] - n, -1)
        found = outside(small, lowest, parent)
        of = near[np.repeat(np.arange(len(near)), np.diff(found.start))]
        own = fresh[of]
        row = np.concatenate([row, of[own]])
        node = np.concatenate([node, found.group[own].astype(np.int64) + n])
        share = np.concatenate([share, np.round(255 * found.share[own]).astype(np.uint8)])
    order = np.lexsort((node, row))
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    return AlsoIn(start, node[order].astype(np.int32), share[order].astype(np.uint8))


def carry_points(old: np.ndarray, match: Matching, graph: NeighborGraph, n_jobs: int | None = -1) -> np.ndarray:
    """The map: old items stay where they are, new ones go between their neighbours."""
    n = match.new.n_leaves
    points = np.full((n, 2), np.nan, np.float32)
    points[match.came >= 0] = old[match.came[match.came >= 0]]
    new = np.flatnonzero(match.came < 0)
    if not len(new):
        return points
    is_edge = np.repeat(match.came < 0, graph.degree)
    near = np.unique(np.concatenate([new, graph.indices[is_edge]]))
    small = _part_of(graph, near)
    placed = layout(small, init=points[near], fixed=match.came[near] >= 0, n_steps=_STEPS, n_jobs=n_jobs)
    points[near] = placed
    return points


def _part_of(graph: NeighborGraph, points: np.ndarray) -> NeighborGraph:
    """The graph over some points, ascending; edges to others are left out."""
    place = np.full(graph.n_points, -1, np.int64)
    place[points] = np.arange(len(points))
    row = place[np.repeat(np.arange(graph.n_points), graph.degree)]
    near = place[graph.indices]
    use = (row >= 0) & (near >= 0)
    return _graph(row[use], near[use], graph.distances()[use], len(points), str(graph.metric))


def moved_rows(match: Matching) -> np.ndarray:
    """Leaves of the new tree that are new, or in a lowest group that does not succeed theirs."""
    return np.flatnonzero(~match.kept)
