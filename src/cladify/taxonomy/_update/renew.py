"""The facts of a taxonomy after its live tree has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.progress import Progress
from cladify.graphtree._heights import by_rows, typicality
from cladify.online import LiveTree
from cladify.taxonomy._building import level_sizes, rank_sizes
from cladify.taxonomy._edits import Edit, Edits, apply_edits
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._kept import Kept
from cladify.taxonomy._names.names import Keyword
from cladify.taxonomy._read.also import find_also
from cladify.taxonomy._read.geometry import confidence_table, measure
from cladify.taxonomy._read.nowhere import calibrate
from cladify.taxonomy._steer.reading import levels_of, reading_tree, with_groups
from cladify.taxonomy._steer.shape import LEEWAY
from cladify.taxonomy._update.carry import (
    carry_also,
    carry_confidence,
    carry_geometry,
    carry_points,
    moved_rows,
    near_graph,
)
from cladify.taxonomy._update.match import Matching, match_groups
from cladify.taxonomy._update.naming import name_again
from cladify.taxonomy._update.past import Event
from cladify.taxonomy._update.shape import condensed_like
from cladify.tree import Tree
from cladify.tree._condense import default_min_size

__all__ = ["LiveState", "Renewed", "events_of", "renew", "replayed"]

#: A group is named again once it shares less than this with itself when it was named.
_DRIFT = 1 / 3
#: A part of a group that is so large a share of it came from there.
_MOST = 0.5


@dataclass(frozen=True, eq=False)
class LiveState:
    """Which node of the live tree each node of the binary tree is, and at which version."""

    nodes: np.ndarray
    version: int


@dataclass(frozen=True, eq=False)
class Renewed:
    """New facts, how their groups belong to the old ones, and which groups (nodes) have new names."""

    facts: Facts
    match: Matching
    named: list[int]
    state: LiveState


def renew(
    facts: Facts,
    live: LiveTree,
    state: LiveState,
    came: np.ndarray,
    items: Any,
    kept: Kept,
    texts: Callable[[np.ndarray], list[str]],
    *,
    levels: list[int] | None = None,
    whole: bool = False,
    report: Progress,
) -> Renewed:
    """The facts for the live tree as it is now; with ``whole`` everything is worked out again.

    Parameters
    ----------
    came : int64 array
        The row of each item before, -1 for an item that is new or has another vector.
    items, kept
        Of the items now.
    texts : function
        What some rows say.
    levels : numbers of groups, optional
        Those that were asked for.
    """
    X = live.rows()
    full, now = _full_tree(facts, live, state, X, exact=whole)
    shape = facts.base.info.get("condense") or {}
    n_old, n = facts.base.n_leaves, full.n_leaves
    smallest = int(shape.get("min_size") or default_min_size(n_old))
    if smallest == default_min_size(n_old):  # nobody asked for it
        smallest = default_min_size(n)
    shaped: dict[str, Any] = {"min_size": min(smallest, n), "max_children": int(shape.get("max_children") or 15)}
    base, ranks = facts.base, facts.ranks
    if not whole:
        base, ranks = condensed_like(facts.base, full, came, ranks=facts.ranks, **shaped)
    if whole or (levels and not _as_asked(base, ranks, levels)):
        base, ranks = reading_tree(full, levels, **shaped)
        gathered = with_groups(full, base, ranks)
        live.replace_tree(gathered)
        full, now = _numbered_like(live.tree_, gathered), LiveState(live.node_ids_, live.version_)
    match = match_groups(facts.base, base, came)
    report.update("groups", 1, 3)
    keys, next_key = _keys(facts, match)
    metric = str(live.metric)
    angular = metric != "sqeuclidean"
    rows = moved_rows(match)
    at, near, distance = live.near(live.ids_[rows]) if len(rows) else (rows, rows, np.empty(0))
    graph = near_graph(rows[at], near, distance, n, metric)
    old = facts.geometry
    if whole or old.centres is None or old.cohesion is None:
        geometry = measure(base, X, angular, report)
    else:
        geometry = carry_geometry(old, match, X, angular)
    everything = live.graph_ if whole else None
    confidence, also, points = facts.confidence, facts.also, facts.points
    if confidence is not None:
        confidence = confidence_table(base, everything) if whole else carry_confidence(confidence, match, rows, graph)
    if also is not None:
        also = find_also(base, everything) if whole else carry_also(also, match, rows, graph)
    if points is not None:
        points = carry_points(points, match, graph)
    report.update("groups", 2, 3)
    names, keywords, drift, named = _names(facts, match, items, texts, geometry.central)
    sizes = [(min(k, n), stability) for k, stability in facts.sizes]
    if whole:
        sizes = level_sizes(full) if ranks is None else rank_sizes(base, ranks, full)
    elif ranks is not None:
        counts = [len(nodes) for nodes in levels_of(base, ranks)]
        sizes = [(k, stability) for k, (_, stability) in zip(counts, sizes, strict=False)]
    made = Facts(
        base=base,
        items=items,
        has_items=facts.has_items,
        kept=kept,
        names=names,
        keywords=keywords,
        geometry=geometry,
        confidence=confidence,
        also=also,
        sizes=sizes,
        full_tree=full,
        points=points,
        ranks=ranks,
        far=calibrate(base, X, geometry, metric) if whole and facts.far is not None else facts.far,
        keys=keys,
        next_key=next_key,
        past=replace(facts.past, drift=drift),
    )
    report.update("groups", 3, 3)
    return Renewed(made, match, named, now)


def _as_asked(base: Tree, ranks: np.ndarray | None, levels: list[int]) -> bool:
    """Whether the levels still have about as many groups as were asked for."""
    if ranks is None:
        return False
    counts = [len(nodes) for nodes in levels_of(base, ranks)]
    return len(counts) == len(levels) and all(
        abs(k - asked) <= LEEWAY * asked for k, asked in zip(counts, levels, strict=True)
    )


def _numbered_like(tree: Tree, full: Tree) -> Tree:
    """A tree with the nodes of ``tree``, which has the same clusters, in their order."""
    ends = tree.leaf_order[tree.first], tree.leaf_order[tree.last - 1]
    return Tree(tree.parent, full.height[full.lca(*ends)], info=full.info)


def _full_tree(facts: Facts, live: LiveTree, state: LiveState, X: np.ndarray, *, exact: bool) -> tuple[Tree, LiveState]:
    """The binary tree now. Nodes that stayed keep their heights, in proportion to their sizes where these changed."""
    tree, nodes = live.tree_, live.node_ids_
    now = LiveState(nodes, live.version_)
    n = tree.n_leaves
    info = {"method": "live", "heights": "sums"}
    if exact:
        from cladify.data.similarity import get_similarity

        mass = typicality(live.graph_)
        return Tree(tree.parent, by_rows(tree, X, get_similarity(str(live.metric)), mass), info=info), now
    before = facts.full if facts.full.is_binary else facts.full.binarize(0)
    end = int(max(nodes.max(), state.nodes.max())) + 1
    known, size = np.full(end, np.nan), np.ones(end)
    # A file keeps what is said of the condensed tree, which was derived from this one.
    spread = before.height if facts.base.info.get("heights") == "sums" else before.height * before.size
    known[state.nodes], size[state.nodes] = spread, before.size
    known[live.changes(state.version).made] = np.nan
    height = known[nodes] * tree.size / size[nodes]
    height[:n] = 0.0
    usual = float(spread[-1]) / max(before.n_leaves, 1)  # of an item, in all
    for v in np.flatnonzero(np.isnan(height)).tolist():  # children before parents
        parts = height[tree.children(v)]
        largest = int(tree.children(v)[int(np.argmax(tree.size[tree.children(v)]))])
        parts_sum = float(np.nansum(parts))
        own = float(height[largest]) / float(tree.size[largest]) if largest >= n else 0.0
        height[v] = max(parts_sum, own * float(tree.size[v]), 0.1 * usual * min(2.0, float(tree.size[v])))
    return Tree(tree.parent, np.asarray(_core.tree_largest_heights(tree.parent, height, n)), info=info), now


def _keys(facts: Facts, match: Matching) -> tuple[np.ndarray, int]:
    """Keys of the nodes now; nodes that are new get the next ones."""
    old = np.arange(facts.base.n_nodes) if facts.keys is None else facts.keys
    free = max(facts.next_key, facts.base.n_nodes)
    came = np.concatenate([match.came, np.where(match.partner >= 0, match.old.n_leaves + match.partner, -1)])
    keys = np.where(came >= 0, old[np.maximum(came, 0)], -1)
    new = np.flatnonzero(came < 0)
    keys[new] = free + np.arange(len(new))
    return keys, free + len(new)


def _names(
    facts: Facts, match: Matching, items: Any, texts: Callable[[np.ndarray], list[str]], central: np.ndarray
) -> tuple[list[str], list[list[Keyword]], np.ndarray, list[int]]:
    """Names and keywords: those of the groups before, and new ones for groups that were born or are others by now."""
    tree, n = match.new, match.new.n_leaves
    g = tree.n_nodes - n
    drift = np.ones(g, np.float32)
    has = match.partner >= 0
    before = facts.past.drift
    if before is not None:
        drift[has] = before[match.partner[has]]
    drift[has] *= match.stayed[has]  # growth alone changes no name
    names = [facts.names[p] if p >= 0 else "" for p in match.partner.tolist()]
    keywords = [facts.keywords[p] if p >= 0 else [] for p in match.partner.tolist()]
    again = ~has | (drift < _DRIFT)
    again[-1] = False
    named = (n + np.flatnonzero(again)).tolist()
    drift[again] = 1.0
    drift[-1] = 1.0
    if named and facts.has_items:
        name_again(tree, items, texts, named, names, keywords, central)
    elif named:
        for v in sorted(named, key=lambda v: -int(tree.size[v])):
            if not names[v - n]:
                names[v - n] = _numbered(tree, v, names)
    return names, keywords, drift, named


def _numbered(tree: Tree, v: int, names: list[str]) -> str:
    n, p = tree.n_leaves, int(tree.parent[v])
    start = "group " if p == tree.root else f"{names[p - n]}."
    taken = {names[int(u) - n] for u in tree.children(p) if u >= n}
    return next(name for i in range(1, len(taken) + 2) if (name := f"{start}{i}") not in taken)


def replayed(facts: Facts, edits: Edits, old: Any) -> tuple[Facts, Edits, list[tuple[Edit, str]]]:
    """Facts and edits after the tree has changed, and the edits that cannot be done any more, with the reason.

    ``old`` is the edited tree of before, which knows the keys of the nodes that edits made.
    """
    lost: list[tuple[Edit, str]] = []
    there = set(facts.keys.tolist()) if facts.keys is not None else set(range(facts.base.n_nodes))
    there |= {key for edit in old.done for key in edit.made}
    wanted = []
    for edit in old.done:
        if len(edit.nodes) > 1 and edit.kind in ("move", "hide"):
            left = tuple(key for key in edit.nodes if key in there)
            if 0 < len(left) < len(edit.nodes):
                gone = tuple(key for key in edit.nodes if key not in there)
                lost.append((replace(edit, nodes=gone), "they are not there any more"))
                edit = replace(edit, nodes=left)
        wanted.append(edit)
    edited = apply_edits(facts.base, wanted, facts.keys, facts.next_key, skipped=lost)
    return replace(facts, next_key=max(facts.next_key, edited.next_key)), Edits(edited.done), lost


def events_of(old: Facts, new: Facts, match: Matching) -> tuple[dict[str, list[Event]], dict[int, tuple[int, int]]]:
    """What became of the groups, and the sizes of those that changed."""
    n_old, n_new = match.old.n_leaves, match.new.n_leaves
    old_keys = np.arange(old.base.n_nodes) if old.keys is None else old.keys
    assert new.keys is not None
    key_old, key_new = old_keys[n_old:], new.keys[n_new:]
    size_old, size_new = match.old.size[n_old:], match.new.size[n_new:]
    events: dict[str, list[Event]] = {"born": [], "gone": [], "split": [], "merged": []}
    sizes: dict[int, tuple[int, int]] = {}
    for i in np.flatnonzero((match.partner >= 0) & ~match.same).tolist():
        p = int(match.partner[i])
        if size_old[p] != size_new[i]:
            sizes[int(key_new[i])] = int(size_old[p]), int(size_new[i])
    columns = match.overlap.tocsc()
    for i in np.flatnonzero(match.partner < 0).tolist():
        part = slice(columns.indptr[i], columns.indptr[i + 1])
        source = _smallest_holder(columns.indices[part], columns.data[part], size_new[i], size_old)
        other = -1 if source < 0 else int(key_old[source])
        event = Event(int(key_new[i]), new.names[i], 0, int(size_new[i]), other)
        events["born"].append(event)
        sizes[int(key_new[i])] = 0, int(size_new[i])
        successor = -1 if source < 0 else int(match.successor[source])
        if successor >= 0 and not _holds(match.new, successor, i) and size_new[i] >= 0.25 * size_old[source]:
            events["split"].append(event)
    rows = match.overlap.tocsr()
    for p in np.flatnonzero(match.successor < 0).tolist():
        part = slice(rows.indptr[p], rows.indptr[p + 1])
        into = _smallest_holder(rows.indices[part], rows.data[part], size_old[p], size_new)
        other = -1 if into < 0 else int(key_new[into])
        event = Event(int(key_old[p]), old.names[p], int(size_old[p]), 0, other)
        sizes[int(key_old[p])] = int(size_old[p]), 0
        partner = -1 if into < 0 else int(match.partner[into])
        dissolved = partner < 0 or _holds(match.old, partner, p)
        events["gone" if dissolved else "merged"].append(event)
    return events, sizes


def _smallest_holder(others: np.ndarray, both: np.ndarray, size: float, sizes: np.ndarray) -> int:
    """The smallest group that has most of a group's items, -1 for none."""
    most = others[both > _MOST * size]
    return int(most[np.argmin(sizes[most])]) if len(most) else -1


def _holds(tree: Tree, a: int, b: int) -> bool:
    """Whether group a holds group b, or is it."""
    n = tree.n_leaves
    return bool(tree.first[n + a] <= tree.first[n + b] and tree.last[n + b] <= tree.last[n + a])
