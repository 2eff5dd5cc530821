"""The clusters of one part between two rounds, and the steps of a round on them.

The same contraction as the native one (``core/rounds/contract.hpp``), cluster by cluster and digit for digit: a cluster
lives in the part of its smallest point, which names it; only clusters whose nearest has changed are looked at again;
edges are added up in the same order. So the merges are those of the local engine, whatever the number of parts.

A round: :func:`look` for the nearest, :func:`unite` the pairs that the rule selects, :func:`announce` to neighbours who
they belong to now, :func:`rename` and send the edges to the new cluster's part, :func:`rebuild` there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ramify import _core
from ramify.distributed._shuffle import Piece, Sent, split
from ramify.distributed.graph_parts import part_of

__all__ = [
    "Clusters",
    "Merged",
    "Rule",
    "announce",
    "choices",
    "look",
    "rebuild",
    "rename",
    "start",
    "strongest",
    "unite",
]


@dataclass(frozen=True)
class Rule:
    """What a round merges; see ``Rule`` in ``core/rounds/contract.hpp``."""

    threshold: float
    pairs: bool
    epsilon: float


@dataclass(frozen=True)
class Clusters:
    """The clusters of a part, by name, and their edges in CSR form.

    Attributes
    ----------
    offsets : int64 array
        The points of each part.
    linkage : "average", "single" or "complete"
    name : int64 array of shape (m,)
        Ascending.
    size, best, weakest : float64 arrays of shape (m,)
        Points; similarity to the nearest at the last look; least similarity merged inside.
    nearest : int64 array of shape (m,)
        Name of the nearest at the last look, -1 without one.
    near : int64 array of shape (m,)
        Where it is in the table by now.
    clean, single : bool arrays of shape (m,)
        The nearest has not changed since the last look; a point on its own, whose edges are not added up.
    indptr, key, value, pairs : arrays
        Edges: place of the other end in the table; sum, largest or least similarity of the pairs; their number, which
        only complete linkage counts.
    table, table_size : arrays
        Names and sizes of the clusters at the other ends of edges, ascending.
    """

    offsets: np.ndarray
    linkage: str
    name: np.ndarray
    size: np.ndarray
    best: np.ndarray
    weakest: np.ndarray
    nearest: np.ndarray
    near: np.ndarray
    clean: np.ndarray
    single: np.ndarray
    indptr: np.ndarray
    key: np.ndarray
    value: np.ndarray
    pairs: np.ndarray
    table: np.ndarray
    table_size: np.ndarray

    @property
    def n_edges(self) -> int:
        return len(self.key)

    def rows(self, names: np.ndarray) -> np.ndarray:
        """Where clusters of this part stand."""
        return np.searchsorted(self.name, names)

    def edges(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the edges of some clusters, and which of them each belongs to."""
        degree = np.diff(self.indptr)[rows]
        owner = np.repeat(np.arange(len(rows)), degree)
        before = np.cumsum(degree) - degree
        return np.arange(len(owner)) - before[owner] + self.indptr[rows][owner], owner


def start(
    indptr: np.ndarray, indices: np.ndarray, value: np.ndarray, low: int, offsets: np.ndarray, linkage: str
) -> Clusters:
    """Every point on its own; values are similarities."""
    m = len(indptr) - 1
    table, key = np.unique(indices, return_inverse=True)
    return Clusters(
        offsets=offsets,
        linkage=linkage,
        name=np.arange(low, low + m),
        size=np.ones(m),
        best=np.full(m, np.inf),
        weakest=np.full(m, np.inf),
        nearest=np.full(m, -1),
        near=np.full(m, -1),
        clean=np.zeros(m, dtype=bool),
        single=np.ones(m, dtype=bool),
        indptr=indptr,
        key=key.astype(np.int32),
        value=value,
        pairs=np.ones(len(key) if linkage == "complete" else 0),
        table=table,
        table_size=np.ones(len(table)),
    )


# --- the nearest neighbours -------------------------------------------------------------------------------------------


def look(clusters: Clusters, *, rule: Rule) -> Clusters:
    """Looks again at the clusters that could merge at this threshold and whose nearest has changed."""
    wanted = (clusters.best >= rule.threshold) & (clusters.best > 0) & ~clusters.clean
    rows = np.flatnonzero(wanted)
    if not len(rows):
        return clusters
    places, owner = clusters.edges(rows)
    key, value = clusters.key[places], clusters.value[places]
    pairs = clusters.pairs[places] if len(clusters.pairs) else clusters.pairs
    indptr, key, value, pairs = _combine(clusters, len(rows), owner, key, value, pairs)
    found = _nearest(clusters, rows, indptr, key, value, pairs)
    kept = np.flatnonzero(~clusters.single[rows])  # the edges of single points are not added up
    return _with_lists(found, rows[kept], *_some(indptr, kept, key, value, pairs))


def _combine(
    clusters: Clusters, count: int, owner: np.ndarray, key: np.ndarray, value: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Edges of a cluster to the same other one become one, in the order in which they first come.

    Sums go from the first edge to the last (``bincount`` adds one after the other), as in ``core/common/gather.hpp``.
    """
    if np.isinf(clusters.best).all():  # before the first look nothing has merged, and no two edges have the same end
        return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]), key, value, pairs
    code = owner * len(clusters.table) + key
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    first = first[order]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    group = place[group]
    if clusters.linkage == "average":
        combined = np.bincount(group, value, minlength=len(first))
    else:
        combined = value[first]
        (np.maximum if clusters.linkage == "single" else np.minimum).at(combined, group, value)
    if len(pairs):
        pairs = np.bincount(group, pairs, minlength=len(first))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner[first], minlength=count))])
    return indptr, key[first], combined, pairs


def _nearest(
    clusters: Clusters, rows: np.ndarray, indptr: np.ndarray, key: np.ndarray, value: np.ndarray, pairs: np.ndarray
) -> Clusters:
    """The most similar neighbour of some clusters, of equal ones the smallest name."""
    degree = np.diff(indptr)
    count = np.repeat(clusters.size[rows], degree) * clusters.table_size[key]
    similarity = value / count if clusters.linkage == "average" else value
    if len(pairs):
        similarity = np.where(pairs < count, 0.0, similarity)  # a missing pair is the least similar one
    best, near = np.zeros(len(rows)), np.full(len(rows), -1)
    some = np.flatnonzero(degree)
    if len(some):
        top = np.maximum.reduceat(similarity, indptr[some])
        none = len(clusters.table)
        first = np.where(similarity == np.repeat(top, degree[some]), key, none)
        near[some] = np.where(top > 0, np.minimum.reduceat(first, indptr[some]), -1)
        best[some] = np.maximum(top, 0.0)
    nearest = np.where(near >= 0, clusters.table[near], -1) if len(clusters.table) else near
    return replace(
        clusters,
        best=_put(clusters.best, rows, best),
        near=_put(clusters.near, rows, near),
        nearest=_put(clusters.nearest, rows, nearest),
        clean=_put(clusters.clean, rows, np.ones(len(rows), dtype=bool)),
    )


def _put(array: np.ndarray, places: np.ndarray, values: Any) -> np.ndarray:
    array = array.copy()
    array[places] = values
    return array


def _some(indptr: np.ndarray, rows: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Some rows of a CSR."""
    degree = np.diff(indptr)
    keep = np.repeat(np.isin(np.arange(len(degree)), rows), degree)
    return degree[rows], *(array[keep] if len(array) else array for array in arrays)


def _with_lists(
    clusters: Clusters, rows: np.ndarray, degree: np.ndarray, key: np.ndarray, value: np.ndarray, pairs: np.ndarray
) -> Clusters:
    """Other edges for some clusters, given in ascending order."""
    if not len(rows):
        return clusters
    old = np.diff(clusters.indptr)
    new = _put(old, rows, degree)
    changed = np.zeros(len(old), dtype=bool)
    changed[rows] = True
    from_old, into_new = np.repeat(~changed, old), np.repeat(changed, new)

    def mixed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        if not len(before) and not len(after):
            return before
        result = np.empty(len(into_new), dtype=before.dtype)
        result[~into_new] = before[from_old]
        result[into_new] = after
        return result

    return replace(
        clusters,
        indptr=np.concatenate([[0], np.cumsum(new)]),
        key=mixed(clusters.key, key),
        value=mixed(clusters.value, value),
        pairs=mixed(clusters.pairs, pairs),
    )


# --- what merges ------------------------------------------------------------------------------------------------------


def choices(clusters: Clusters) -> Piece:
    """Name, nearest, similarity, size and weakest merge of every cluster that has edges."""
    some = np.diff(clusters.indptr) > 0
    return (
        clusters.name[some],
        clusters.nearest[some],
        clusters.best[some],
        clusters.size[some],
        clusters.weakest[some],
    )


@dataclass(frozen=True)
class Merged:
    """The merges of a round, strongest first, and the similarity and names they are ordered by."""

    left: np.ndarray
    right: np.ndarray
    similarity: np.ndarray
    order: np.ndarray

    @classmethod
    def join(cls, parts: list[Merged]) -> Merged:
        """The merges of components that were united apart."""
        whole = [
            np.concatenate(column)
            for column in zip(*((m.left, m.right, m.similarity, m.order) for m in parts), strict=True)
        ]
        keys = whole[3]
        order = np.lexsort((keys[:, 1], keys[:, 0], -whole[2]))
        return cls(*(column[order] for column in whole))


def unite(chosen: Piece, *, rule: Rule, offsets: np.ndarray, all_of_them: bool = True) -> Sent:
    """The merges that the rule selects among the choices of whole components of clusters, by name.

    Sends every cluster that took part its new name, size and weakest merge.
    """
    name, nearest, similarity, size, weakest = chosen
    left, right, strength = _selected(name, nearest, similarity, weakest, rule)
    if rule.pairs and all_of_them and not len(left):
        left, right, strength = strongest(chosen, rule=rule)
    names, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    a, b = np.split(ends.astype(np.int32), 2)
    place, low, high = _core.unite_candidates(a, b, strength, len(names), bool(rule.pairs and rule.epsilon > 0))
    order = np.stack([left[place], right[place]], axis=1)
    merged = Merged(names[low], names[high], strength[place], order)
    return Sent(None, _told(merged, name, size, weakest, offsets), merged)


def _selected(
    name: np.ndarray, nearest: np.ndarray, similarity: np.ndarray, weakest: np.ndarray, rule: Rule
) -> tuple[np.ndarray, ...]:
    """Pairs of clusters that merge, the smaller name first; several may lead to one cluster."""
    strong = (similarity > 0) & (similarity >= rule.threshold)
    if rule.pairs:
        at = np.minimum(np.searchsorted(name, nearest), len(name) - 1)
        known = name[at] == nearest if len(name) else np.zeros(0, dtype=bool)
        mutual = known & (nearest[at] == name)
        if rule.epsilon > 0:
            least = np.minimum(np.minimum(similarity, weakest), weakest[at])
            strong &= mutual | (np.maximum(similarity, similarity[at]) <= (1 + rule.epsilon) * least)
        else:
            strong &= mutual & (name < nearest)
    one, two = name[strong], nearest[strong]
    return np.minimum(one, two), np.maximum(one, two), similarity[strong]


def strongest(chosen: Piece, *, rule: Rule) -> tuple[np.ndarray, ...]:
    """The strongest pair: rounding can leave a cycle of nearest neighbours without a pair in it."""
    name, nearest, similarity, _, weakest = chosen
    left, right, strength = _selected(name, nearest, similarity, weakest, replace(rule, pairs=False))
    best = np.lexsort((right, left, -strength))[:1]
    return left[best], right[best], strength[best]


def _told(merged: Merged, name: np.ndarray, size: np.ndarray, weakest: np.ndarray, offsets: np.ndarray) -> list[Piece]:
    members = np.unique(np.concatenate([merged.left, merged.right]))
    parent = np.arange(len(members))
    left, right = np.searchsorted(members, merged.left), np.searchsorted(members, merged.right)
    parent[right] = left
    while not np.array_equal(above := parent[parent], parent):
        parent = above
    at = np.searchsorted(name, members)
    total = size[at]
    lowest = weakest[at]
    np.minimum.at(lowest, parent, weakest[at])
    np.minimum.at(lowest, parent[left], merged.similarity)
    grown = np.bincount(parent, total, minlength=len(members))
    return split(offsets, members, members[parent], grown[parent], lowest[parent])


# --- new clusters -----------------------------------------------------------------------------------------------------


def announce(_: None, told: list[Piece], clusters: Clusters) -> Sent:
    """Tells the parts of all neighbours which cluster the members belong to now, and how large it is."""
    mine = tuple(np.concatenate(column) for column in zip(*told, strict=True))
    order = np.argsort(mine[0])
    members, root, size, weakest = (column[order] for column in mine)
    places, owner = clusters.edges(clusters.rows(members))
    n_parts = len(clusters.offsets) - 1
    to = part_of(clusters.offsets, clusters.table)[clusters.key[places]]
    pair = np.unique(owner * n_parts + to)
    owner, to = pair // n_parts, pair % n_parts
    pieces = [(members[owner[to == j]], root[owner[to == j]], size[owner[to == j]]) for j in range(n_parts)]
    return Sent((clusters, (members, root, size, weakest)), pieces)


def rename(kept: tuple[Clusters, Piece], news: list[Piece]) -> Sent:
    """Takes over the new names of neighbours, and sends the edges of merged clusters to where they belong now."""
    clusters, told = kept
    old, new, size = (np.concatenate(column) for column in zip(*news, strict=True))
    table, table_size = clusters.table.copy(), clusters.table_size.copy()
    order = np.argsort(old)
    at = np.searchsorted(old[order], table)
    hit = np.flatnonzero((at < len(old)) & (old[order[np.minimum(at, len(old) - 1)]] == table)) if len(old) else at[:0]
    from_ = order[at[hit]]
    table[hit], table_size[hit] = new[from_], size[from_]
    touched = np.zeros(len(table) + 1, dtype=bool)  # the last one stands for no neighbour
    touched[hit] = True
    clean = clusters.clean & ~touched[clusters.near]
    table, first, place = np.unique(table, return_index=True, return_inverse=True)
    near = np.where(clusters.near >= 0, place[clusters.near], -1) if len(place) else clusters.near
    clusters = replace(
        clusters,
        key=place.astype(np.int32)[clusters.key],
        table=table,
        table_size=table_size[first],
        clean=clean,
        near=near,
    )
    members, root, _, _ = told
    moved = members != root
    rows = clusters.rows(members[moved])
    places, owner = clusters.edges(rows)
    key = clusters.key[places]
    columns = [members[moved][owner], clusters.table[key], clusters.table_size[key], clusters.value[places]]
    if clusters.linkage == "complete":
        columns.append(clusters.pairs[places])
    return Sent((clusters, told), split(clusters.offsets, root[moved][owner], *columns))


def rebuild(kept: tuple[Clusters, Piece], lists: list[Piece]) -> Clusters:
    """Adds up the edges of the clusters that this round merged, and looks for their nearest."""
    clusters, (members, root, size, weakest) = kept
    rows = clusters.rows(members)
    merged = members == root
    roots = rows[merged]
    clusters = replace(
        clusters,
        size=_put(clusters.size, roots, size[merged]),
        weakest=_put(clusters.weakest, roots, weakest[merged]),
        single=_put(clusters.single, roots, False),
    )
    home, member, end, end_size, value, *more = (np.concatenate(column) for column in zip(*lists, strict=True))
    clusters = _with_names(clusters, end, end_size)
    places, owner = clusters.edges(roots)
    # The root's own edges come first, then those of the other members in the order of their names.
    owner = np.concatenate([owner, np.searchsorted(clusters.name[roots], home)])
    rank = np.concatenate([np.full(len(places), -1), member])
    key = np.concatenate([clusters.key[places], np.searchsorted(clusters.table, end).astype(np.int32)])
    value = np.concatenate([clusters.value[places], value])
    pairs = np.concatenate([clusters.pairs[places], *more]) if more else clusters.pairs
    order = np.lexsort((rank, owner))
    order = order[clusters.table[key[order]] != clusters.name[roots][owner[order]]]  # edges inside are gone
    pairs = pairs[order] if len(pairs) else pairs
    indptr, key, value, pairs = _combine(clusters, len(roots), owner[order], key[order], value[order], pairs)
    clusters = _nearest(clusters, roots, indptr, key, value, pairs)
    clusters = _with_lists(clusters, roots, np.diff(indptr), key, value, pairs)
    return _tidy(_without(clusters, rows[~merged]))


def _with_names(clusters: Clusters, names: np.ndarray, sizes: np.ndarray) -> Clusters:
    """The table with some more names."""
    table, first = np.unique(np.concatenate([clusters.table, names]), return_index=True)
    place = np.searchsorted(table, clusters.table)
    return replace(
        clusters,
        table=table,
        table_size=np.concatenate([clusters.table_size, sizes])[first],
        key=place.astype(np.int32)[clusters.key],
        near=np.where(clusters.near >= 0, place[clusters.near], -1) if len(place) else clusters.near,
    )


def _without(clusters: Clusters, rows: np.ndarray) -> Clusters:
    """The part without clusters that are in others by now."""
    stay = np.ones(len(clusters.name), dtype=bool)
    stay[rows] = False
    degree = np.diff(clusters.indptr)
    edges = np.repeat(stay, degree)
    per_cluster = ("name", "size", "best", "weakest", "nearest", "near", "clean", "single")
    per_edge = ("key", "value", *(("pairs",) if len(clusters.pairs) else ()))
    return replace(
        clusters,
        indptr=np.concatenate([[0], np.cumsum(degree[stay])]),
        **{what: getattr(clusters, what)[stay] for what in per_cluster},
        **{what: getattr(clusters, what)[edges] for what in per_edge},
    )


def _tidy(clusters: Clusters) -> Clusters:
    """The table without names that no edge leads to."""
    used = np.zeros(len(clusters.table), dtype=bool)
    used[clusters.key] = True
    if used.all():
        return clusters
    place = np.cumsum(used) - 1
    return replace(
        clusters,
        table=clusters.table[used],
        table_size=clusters.table_size[used],
        key=place.astype(np.int32)[clusters.key],
        near=np.where(clusters.near >= 0, place[clusters.near], -1),
    )
