"""The clusters of one part between two rounds, in files, and the steps of a round on them.

The same contraction as the native one (``core/agglomerate/rounds/contract.hpp``), cluster by cluster and digit for
digit: a cluster is named after its smallest point, and lives in the part of that (:class:`Homes`); only clusters whose
nearest has changed are looked at again; edges are added up in the same order. So the merges are those of the local
engine, whatever the number of parts.

Files of a part: its graph, which stays; the state of its clusters after each step; the lists of edges that steps
wrote, each under the names that the other ends had then. One file for all parts, *names*, maps every former name to
the current one, and has the sizes. A round: :func:`choose` adds up the edges of the clusters that the last round
merged and finds nearest clusters; :func:`unite` selects the pairs to merge; :func:`send` sends the edges of merged
clusters to the part of the new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cladify import _core
from cladify.distributed._job import Piece
from cladify.distributed._storage.work_folder import Receipt, Slices, WorkFolder, read_arrays, write_arrays

__all__ = [
    "Homes",
    "Merged",
    "PartInfo",
    "Rule",
    "apply",
    "apply_file",
    "begin_names",
    "choices",
    "choose",
    "no_edges",
    "read_merges",
    "remaining",
    "send",
    "strongest",
    "unite",
    "unite_all",
]

_SINGLE = -1  # the length of the list of a point on its own, whose edges are those of the graph
_STATE = ("best", "nearest", "clean", "begin", "length", "steps", "ends")
_LISTS = 16  # files of lists that a part may have before they become one


@dataclass(frozen=True)
class Rule:
    """Which pairs a round merges; see ``Rule`` in ``core/agglomerate/rounds/contract.hpp``."""

    threshold: float
    pairs: bool
    epsilon: float


@dataclass(frozen=True)
class Homes:
    """Where n points live: dealt out to the parts in turn.

    Clusters have the names of their smallest points, so with ranges of points the first parts would get them all.
    """

    n: int
    n_parts: int

    def part(self, names: np.ndarray) -> np.ndarray:
        return np.asarray(names % self.n_parts)

    def place(self, names: np.ndarray) -> np.ndarray:
        """The place of each name within its part."""
        return np.asarray(names // self.n_parts)

    def names(self, part: int) -> np.ndarray:
        """All names of a part, in the order of their places."""
        return np.arange(part, self.n, self.n_parts, dtype=np.int32)


@dataclass(frozen=True)
class PartInfo:
    """Facts about a part that all steps need.

    The similarity of an edge of the graph is ``shift + slope · value``, where an infinite value counts as ``largest``;
    ``weighted`` graphs have points that stand for several.
    """

    work: WorkFolder
    j: int
    homes: Homes
    linkage: str
    shift: float
    slope: float
    largest: float
    finite: bool
    weighted: bool

    @property
    def n_parts(self) -> int:
        return self.homes.n_parts

    def mine(self, names: np.ndarray) -> np.ndarray:
        return np.asarray(self.homes.part(names) == self.j)

    def named(self, places: np.ndarray) -> np.ndarray:
        """The names at some places of this part."""
        return np.asarray((places * self.n_parts + self.j).astype(np.int32))

    def file(self, what: str, step: int, part: int | None = None) -> str:
        return self.work.path(file_name(what, step, self.j if part is None else part))


def file_name(what: str, step: int, part: int) -> str:
    return f"{what}-{step:04d}-{part:05d}"


class _Clusters:
    """The clusters of a part as a step finds them; arrays have one entry a point of the part, and live ones count."""

    def __init__(self, part: PartInfo, step: int) -> None:
        self.part = part
        base = read_arrays(part.work.path(f"base-{part.j:05d}"))
        self.indptr, self.indices, self.weight = base["indptr"], base["indices"], base["value"]
        if not part.finite:
            self.weight = np.where(np.isfinite(self.weight), self.weight, self.weight.dtype.type(part.largest))
        m = len(self.indptr) - 1
        if step < 0:
            self.best, self.nearest = np.full(m, np.inf), np.full(m, -1, dtype=np.int32)
            self.clean, self.begin = np.zeros(m, dtype=bool), np.zeros(m, dtype=np.int64)
            self.length = np.full(m, _SINGLE, dtype=np.int32)
            self.steps, self.ends = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        else:
            state = read_arrays(part.file("state", step))
            for name in _STATE:
                setattr(self, name, np.array(state[name]))
        self.lists = [_list_arrays(read_arrays(part.file("lists", int(i)))) for i in self.steps]

    def spans(self, names: np.ndarray) -> tuple[np.ndarray, ...]:
        """Source, owner, start and count of the edges of some clusters of this part."""
        at = self.part.homes.place(names)
        single = self.length[at] == _SINGLE
        file = np.searchsorted(self.ends, self.begin[at], side="right")
        first = np.concatenate([[0], self.ends])[file]
        start = np.where(single, self.indptr[at], self.begin[at] - first)
        count = np.where(single, self.indptr[at + 1] - self.indptr[at], self.length[at]).astype(np.int64)
        source = np.where(single | (count == 0), 0, file + 1).astype(np.int32)
        return source, names.astype(np.int32), start, count

    def edges(self, *more: Any) -> Any:
        """The native reader of the graph, of the lists, and of some ``more``."""
        part = self.part
        mass = read_arrays(part.work.path("names-start"))["size"] if part.weighted else None
        lists = [*self.lists, *more]
        linkage = _core.Linkage[part.linkage]
        return _core.PartOfGraph(self.indices, self.weight, part.shift, part.slope, mass, lists, linkage)

    @property
    def n_edges(self) -> int:
        single = self.length == _SINGLE
        return int(np.where(single, np.diff(self.indptr), self.length).sum())

    def save(self, path: str, step: int, new: tuple[np.ndarray, ...]) -> list[int]:
        """Write the state and the lists of this step; gives the steps whose lists are still needed."""
        live = int(self.length[self.length > 0].sum())
        total = int(self.ends[-1]) if len(self.ends) else 0
        if len(new[0]):
            if total + len(new[0]) > 2 * live or len(self.steps) >= _LISTS:
                at = np.flatnonzero(self.length > 0)
                self.steps, self.ends = np.append(self.steps, step), np.append(self.ends, total + len(new[0]))
                new = self.edges(new).copy(*self.spans(self.part.named(at)))
                self.begin[at] = np.cumsum(self.length[at]) - self.length[at]
                self.steps, self.ends, total = self.steps[:0], self.ends[:0], 0
            self.steps, self.ends = np.append(self.steps, step), np.append(self.ends, total + len(new[0]))
            write_arrays(self.part.file("lists", step), key=new[0], value=new[1], pairs=new[2])
        write_arrays(path, **{name: getattr(self, name) for name in _STATE})
        return [int(i) for i in self.steps]


def _list_arrays(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    return arrays["key"], arrays["value"], arrays["pairs"]


# --- the nearest neighbours -------------------------------------------------------------------------------------------


def choose(path: str, part: PartInfo, step: int, names: str, merged: int | None, rule: Rule) -> Receipt:
    """One list for each cluster that the step ``merged`` made, and the nearest of all that could merge now.

    Looks again at the clusters that could merge at this threshold and whose nearest has changed.
    """
    clusters = _Clusters(part, step - 1)
    known = read_arrays(part.work.path(names))
    label, size = known["label"], known["size"]
    groups: list[tuple[np.ndarray, ...]] = []  # home and member of each span, then where its edges are
    received: list[Any] = []
    if merged is not None:
        groups.append(_merged_lists(clusters, label, merged, received))
    wanted = (clusters.best >= rule.threshold) & (clusters.best > 0) & ~clusters.clean
    again = part.named(np.flatnonzero(wanted))
    groups.append((again, *clusters.spans(again)))
    home, source, owner, start, count = (np.concatenate(column) for column in zip(*groups, strict=True))
    first = np.flatnonzero(np.concatenate([[True], home[1:] != home[:-1]]))[: len(home)]
    homes = home[first]
    at = part.homes.place(homes)
    keep = clusters.length[at] != _SINGLE  # the edges of single points are not added up
    bounds = np.append(first, len(home)).astype(np.int64)
    edges = clusters.edges(*received)
    length, *new, best, nearest = edges.combine(label, size, homes, bounds, keep, source, owner, start, count)
    del edges
    clusters.best[at], clusters.nearest[at], clusters.clean[at] = best, nearest, True
    total = int(clusters.ends[-1]) if len(clusters.ends) else 0
    clusters.begin[at[keep]] = total + (np.cumsum(length) - length)[keep]
    clusters.length[at[keep]] = length[keep]
    lists = clusters.save(path, step, tuple(new))
    chosen = _chosen(clusters, rule)
    weakest = {"weakest": known["weakest"][chosen[0]]} if rule.epsilon > 0 else {}
    size_of = write_arrays(
        part.file("choices", step), name=chosen[0], nearest=chosen[1], similarity=chosen[2], **weakest
    )
    return {"edges": clusters.n_edges, "choices": len(chosen[0]), "lists": lists, "bytes": size_of}


def _merged_lists(clusters: _Clusters, label: np.ndarray, merged: int, received: list[Any]) -> tuple[np.ndarray, ...]:
    """The spans of the clusters that a step made, members in the order of their names; those it joined are gone."""
    part = clusters.part
    left, right, _ = read_merges(part.work, merged)
    touched = np.zeros(len(label), dtype=bool)
    touched[left] = touched[right] = True
    near = np.flatnonzero(clusters.nearest >= 0)
    clusters.clean[near] &= ~touched[clusters.nearest[near]]
    root = label[right]
    here = part.mine(root)
    member, home = right[here], root[here]
    roots = np.unique(home)
    member, home = np.concatenate([roots, member]), np.concatenate([roots, home])
    order = np.lexsort((member, home))  # a cluster's name is its smallest member, so its own edges come first
    member, home = member[order], home[order]
    own = part.mine(member)
    spans = tuple(np.empty(len(member), dtype=dtype) for dtype in (np.int32, np.int32, np.int64, np.int64))
    for column, values in zip(spans, clusters.spans(member[own]), strict=True):
        column[own] = values
    from_others, where = _received(part, merged, len(clusters.lists))
    received += from_others
    at = np.searchsorted(where[1], member[~own])
    for column, values in zip(spans, where, strict=True):
        column[~own] = values[at]
    gone = part.homes.place(right[part.mine(right)])
    clusters.best[gone], clusters.nearest[gone], clusters.clean[gone], clusters.length[gone] = 0.0, -1, True, 0
    made = part.homes.place(roots)
    clusters.length[made] = np.maximum(clusters.length[made], 0)  # no longer single
    clusters.best[made], clusters.clean[made] = 0.0, True
    return (home, *spans)


def _received(part: PartInfo, step: int, before: int) -> tuple[list[Any], tuple[np.ndarray, ...]]:
    """The lists that other parts sent, and the source, owner, start and count of each, by owner."""
    lists, rows = [], []
    for i in range(part.n_parts):
        if i == part.j:
            continue
        sent = Slices(part.file("sent", step, i))
        some = sent.read("cut", part.j, part.j + 2)
        edges = sent.read("edge_cut", part.j, part.j + 2)
        lists.append(tuple(sent.read(name, *edges) for name in ("key", "value", "pairs")))
        owner, count = sent.read("member", *some), sent.read("count", *some)
        source = np.full(len(owner), before + len(lists), dtype=np.int32)
        rows.append((source, owner, np.cumsum(count) - count, count))
    if not rows:
        empty = np.zeros(0, dtype=np.int32)
        return [], (empty, empty, empty, empty)
    whole = [np.concatenate(column) for column in zip(*rows, strict=True)]
    order = np.argsort(whole[1])
    return lists, tuple(column[order] for column in whole)


def _chosen(clusters: _Clusters, rule: Rule) -> tuple[np.ndarray, ...]:
    """Name, nearest and similarity of clusters that could merge; of all where pairs must choose each other."""
    some = (clusters.best > 0) & (clusters.nearest >= 0)
    if not rule.pairs:
        some &= clusters.best >= rule.threshold
    at = np.flatnonzero(some)
    return clusters.part.named(at), clusters.nearest[at], clusters.best[at]


def send(path: str, part: PartInfo, step: int, names: str) -> Receipt:
    """The lists of the clusters of this part that became part of one elsewhere, by the part of that."""
    label = read_arrays(part.work.path(names))["label"]
    _, right, _ = read_merges(part.work, step)
    member = np.sort(right[part.mine(right)])
    to = part.homes.part(label[member])
    away = to != part.j
    member, to = member[away], to[away]
    order = np.argsort(to, kind="stable")
    member = member[order]
    clusters = _Clusters(part, step)
    spans = clusters.spans(member)
    key, value, pairs = clusters.edges().copy(*spans)
    cut = np.searchsorted(to[order], np.arange(part.n_parts + 1))
    edge_cut = np.concatenate([[0], np.cumsum(spans[3])])[cut]
    arrays = {"member": member, "count": spans[3], "cut": cut, "edge_cut": edge_cut}
    return {"bytes": write_arrays(path, **arrays, key=key, value=value, pairs=pairs)}


def remaining(part: PartInfo, step: int, label: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, ...]:
    """The clusters of a part for the native contraction, ``alive`` the names of all.

    Their places among all and degrees; ends, values and pairs of the edges; best, nearest, clean and single.
    """
    clusters = _Clusters(part, step)
    here = np.flatnonzero(part.mine(alive))
    names = alive[here]
    spans = clusters.spans(names)
    key, value, pairs = clusters.edges().copy(*spans)
    ends = np.searchsorted(alive, label[key]).astype(np.int32)
    at = part.homes.place(names)
    nearest = clusters.nearest[at]
    place = np.minimum(np.searchsorted(alive, nearest), len(alive) - 1)
    nearest = np.where(alive[place] == nearest, place, -1).astype(np.int32)
    single = clusters.length[at] == _SINGLE
    return here, spans[3], ends, value, pairs, clusters.best[at], nearest, clusters.clean[at], single


def no_edges(count: int) -> tuple[np.ndarray, ...]:
    """The result of :func:`remaining` for clusters without an edge."""
    none, empty = np.full(count, -1, dtype=np.int32), np.empty(0)
    never = np.zeros(count, dtype=bool)
    zero = np.zeros(count, dtype=np.int64)
    return np.arange(count), zero, none[:0], empty, empty, np.zeros(count), none, ~never, never


# --- merges -----------------------------------------------------------------------------------------------------------


def choices(paths: list[str]) -> Piece:
    """Name, nearest and similarity of clusters that could merge, of some parts, by name; perhaps weakest merges."""
    whole = [np.concatenate(column) for column in zip(*(read_arrays(path).values() for path in paths), strict=True)]
    order = np.argsort(whole[0])
    return tuple(column[order] for column in whole)


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


def unite(chosen: Piece, *, rule: Rule, all_of_them: bool = True) -> Merged:
    """The merges that the rule selects among the choices of whole components of clusters, by name."""
    left, right, strength = _pairs(chosen, rule, all_of_them)
    names, ends = np.unique(np.concatenate([left, right]), return_inverse=True)
    one, two = np.split(ends.astype(np.int32), 2)
    place, low, high = _united(one, two, strength, len(names), rule)
    order = np.stack([left[place], right[place]], axis=1)
    return Merged(names[low], names[high], strength[place], order)


def _pairs(chosen: Piece, rule: Rule, all_of_them: bool) -> tuple[np.ndarray, ...]:
    pairs = _selected(chosen, rule)
    return strongest(chosen, rule=rule) if rule.pairs and all_of_them and not len(pairs[0]) else pairs


def _united(left: np.ndarray, right: np.ndarray, strength: np.ndarray, n: int, rule: Rule) -> tuple[np.ndarray, ...]:
    found: tuple[np.ndarray, ...]
    found = _core.unite_candidates(left, right, strength, n, bool(rule.pairs and rule.epsilon > 0))
    return found


def _selected(chosen: Piece, rule: Rule) -> tuple[np.ndarray, ...]:
    """Pairs of clusters that merge, the smaller name first; several may lead to one cluster."""
    name, nearest, similarity, *more = chosen
    strong = (similarity > 0) & (similarity >= rule.threshold)
    if rule.pairs:
        at = np.minimum(np.searchsorted(name, nearest), len(name) - 1)
        known = name[at] == nearest if len(name) else np.zeros(0, dtype=bool)
        mutual = known & (nearest[at] == name)
        if rule.epsilon > 0:
            (weakest,) = more
            least = np.minimum(np.minimum(similarity, weakest), weakest[at])
            strong &= mutual | (np.maximum(similarity, similarity[at]) <= (1 + rule.epsilon) * least)
        else:
            strong &= mutual & (name < nearest)
    one, two = name[strong], nearest[strong]
    return np.minimum(one, two), np.maximum(one, two), similarity[strong]


def strongest(chosen: Piece, *, rule: Rule) -> tuple[np.ndarray, ...]:
    """The strongest pair: rounding can leave a cycle of nearest neighbours without a pair in it."""
    left, right, strength = _selected(chosen, replace(rule, pairs=False))
    best = np.lexsort((right, left, -strength))[:1]
    return left[best], right[best], strength[best]


def unite_all(path: str, work: WorkFolder, step: int, n_parts: int, n: int, names: str, rule: Rule) -> Receipt:
    """:func:`unite` with the choices of all parts, n points in all, and the names after it."""
    chosen = choices([work.path(file_name("choices", step, j)) for j in range(n_parts)])
    left, right, strength = _pairs(chosen, rule, all_of_them=True)
    del chosen
    place, low, high = _united(left, right, strength, n, rule)
    return apply(path, work, step, names, (low, high, strength[place]))


# --- names ------------------------------------------------------------------------------------------------------------


def begin_names(path: str, n: int, size: np.ndarray | None, weakest: bool) -> Receipt:
    """Every point under its own name."""
    more = {"weakest": np.full(n, np.inf)} if weakest else {}
    size = np.ones(n) if size is None else np.asarray(size, dtype=np.float64)
    return {"bytes": write_arrays(path, label=np.arange(n, dtype=np.int32), size=size, **more)}


def apply(path: str, work: WorkFolder, step: int, names: str, merged: tuple[np.ndarray, ...]) -> Receipt:
    """Keep the merges of a step, and the names and sizes after it."""
    left, right, similarity = (np.ascontiguousarray(column) for column in merged)
    left, right = left.astype(np.int32), right.astype(np.int32)
    size_of = 0
    if len(left):
        known = {name: np.array(array) for name, array in read_arrays(work.path(names)).items()}
        if "weakest" in known:  # pairs that share no cluster
            weakest = known["weakest"]
            weakest[left] = np.minimum(similarity, np.minimum(weakest[left], weakest[right]))
        _core.apply_merges(left, right, known["label"], known["size"])
        size_of = write_arrays(work.path(f"names-{step:04d}"), **known)
    write_arrays(path, left=left, right=right, similarity=similarity)
    return {"merges": len(left), "bytes": size_of}


def apply_file(path: str, work: WorkFolder, step: int, names: str, merged: str) -> Receipt:
    """:func:`apply` with merges that lie in a file."""
    return apply(path, work, step, names, tuple(read_arrays(work.path(merged)).values()))


def read_merges(work: WorkFolder, step: int) -> tuple[np.ndarray, ...]:
    """Left, right and similarity of the merges of a step."""
    return tuple(read_arrays(work.path(f"merges-{step:04d}")).values())
