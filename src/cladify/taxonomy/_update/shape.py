"""The groups of a tree that has changed: those of before where they are still there.

Condensed from nothing, a tree that hardly changed has other groups: one falls below the smallest size by an item, and
which splits are worth a level is decided by gaps that are nearly equal. So of all parts that the tree has, the last
ones are groups, as always, and of the others those that were groups before. A group that is there may be somewhat
smaller than a new one has to be.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from cladify.taxonomy._update.match import match_groups
from cladify.tree import Tree
from cladify.tree._condense import condense, spreads

__all__ = ["condensed_like"]

#: So small a share of the smallest size a group may have that is there already; and so large a new one has to be, or
#: every day some would come that are larger by chance.
_SMALLER, _LARGER = 0.6, 1.25
#: A part is a group of before if they share at least this part of their items that were there before and after.
_SAME = 0.5
#: A last group is opened for a part with more than this share of new items, and if it is so many times as large as
#: most.
_FRESH, _MOST = 2 / 3, 5


def condensed_like(
    old: Tree, full: Tree, came: np.ndarray, *, min_size: int, max_children: int, ranks: np.ndarray | None = None
) -> tuple[Tree, np.ndarray | None]:
    """The groups of ``full`` as ``old`` has them, and the finest level of each.

    Parameters
    ----------
    old : Tree
        Its groups.
    full : Tree
        Binary.
    came : int array
        The leaf of ``old`` of each leaf of ``full``, -1 for one that is new.
    min_size, max_children : int
    ranks : int array, optional
        The finest level of each group of ``old``, if it has levels; then its last groups are opened only where new
        items make a group of their own, or one is much larger than most. Without levels, the last parts are groups.
    """
    n = full.n_leaves
    enough = min(math.ceil(_LARGER * min_size), n)
    parts = condense(full, enough, 2, size=_held(old, full, came, min_size, enough))
    match = match_groups(old, parts, came)
    g = parts.n_nodes - n
    above = parts.parent[n:] - n
    is_last = np.ones(g, bool)
    is_last[above[:-1]] = False
    chosen = (match.partner >= 0) & (match.stayed >= _SAME)
    chosen[-1] = True
    chosen |= is_last if ranks is None else _opened(parts, chosen, is_last, came)
    _complete(chosen, above)
    nodes = np.asarray(parts.info["condense"]["nodes"])
    _open(chosen, above, spreads(full)[nodes], max_children)
    kept = np.flatnonzero(chosen)
    nearest = np.arange(g)  # the chosen part that each is in, itself if it is one
    for i in range(g - 2, -1, -1):
        if not chosen[i]:
            nearest[i] = nearest[above[i]]
    name = np.full(g, -1, np.int64)
    name[kept] = n + np.arange(len(kept))
    parent = np.concatenate([name[nearest[parts.parent[:n] - n]], name[nearest[above[kept[:-1]]]], [-1]])
    source = np.concatenate([np.arange(n), nodes[kept]])
    made = full._derive(parent, source)
    made.info["condense"] = {"min_size": min_size, "max_children": max_children, "nodes": source[n:]}
    return made, None if ranks is None else _ranked(made, ranks, match.partner[kept])


def _opened(parts: Tree, chosen: np.ndarray, is_last: np.ndarray, came: np.ndarray) -> np.ndarray:
    """Last parts that are to be groups of their own, inside the last groups that are chosen."""
    n, g = parts.n_leaves, len(chosen)
    above = parts.parent[n:] - n
    size = parts.size[n:]
    fresh = np.bincount(parts.parent[:n] - n, weights=came < 0, minlength=g)
    holds = np.zeros(g, bool)  # a chosen part below
    inside = np.arange(g)  # the lowest chosen part that each is in
    for i in range(g - 1):
        holds[above[i]] |= holds[i] or chosen[i]
    for i in range(g - 2, -1, -1):
        if not chosen[i]:
            inside[i] = inside[above[i]]
    last = chosen & ~holds
    large = last & (size > _MOST * n / max(int(last.sum()), 1))
    return is_last & ~holds[inside] & ((fresh > _FRESH * size) | large[inside])


def _complete(chosen: np.ndarray, above: np.ndarray) -> None:
    """Choose what is beside chosen parts, so that no item is in a group and in none of its groups."""
    g = len(chosen)
    has = chosen.copy()
    for i in range(g - 1):  # children before parents
        has[above[i]] |= has[i]
    open_ = np.zeros(g, bool)  # parts with a chosen one below
    open_[above[:-1][has[:-1]]] = True
    chosen[:-1] |= ~has[:-1] & open_[above[:-1]]


def _ranked(tree: Tree, ranks: np.ndarray, partner: np.ndarray) -> np.ndarray:
    """The finest level of each group: that of the one before; of one that has no groups, the finest there is."""
    n, finest = tree.n_leaves, int(ranks.max(initial=0))
    found = np.where(partner >= 0, ranks[np.maximum(partner, 0)], -1)
    has_groups = np.zeros(len(found), bool)
    has_groups[tree.parent[n:-1] - n] = True
    found[has_groups] = np.minimum(found[has_groups], finest - 1)
    found[~has_groups] = finest
    for i in range(len(found) - 2, -1, -1):  # a new one between groups is of the level of the one above it
        p = int(tree.parent[n + i]) - n
        if has_groups[i]:
            found[i] = max(found[i], found[p])
    found[-1] = -1
    return found.astype(np.int8)


def _held(old: Tree, full: Tree, came: np.ndarray, min_size: int, enough: int) -> np.ndarray:
    """The sizes of the nodes; at least ``enough`` of those that are a last group of before, or of new items.

    The former have 0.6 of the smallest size, the latter have that size.
    """
    n, g = full.n_leaves, old.n_nodes - old.n_leaves
    size = full.size.copy()
    above = np.append(full.parent[:-1], full.n_nodes - 1)
    near = np.flatnonzero((size < enough) & (size >= math.ceil(_SMALLER * min_size)) & (size[above] >= enough))
    near = near[near >= n]  # no two of them share a leaf
    if not len(near):
        return size
    which = np.full(n, -1, np.int64)
    order = full.leaf_order
    for i, (first, last) in enumerate(zip(full.first[near].tolist(), full.last[near].tolist(), strict=True)):
        which[order[first:last]] = i
    there = np.flatnonzero(came >= 0)
    group, part = old.parent[came[there]] - old.n_leaves, which[there]
    in_group = np.bincount(group, minlength=g)
    inside = part >= 0
    in_part = np.bincount(part[inside], minlength=len(near))
    pair, both = np.unique(part[inside] * g + group[inside], return_counts=True)
    part, group = np.divmod(pair, g)
    is_last = np.bincount(old.parent[old.n_leaves : -1] - old.n_leaves, minlength=g) == 0
    same = is_last[group] & (both > _SAME * (in_part[part] + in_group[group] - both))
    is_new = (full.size[near] >= min_size) & (in_part < (1 - _FRESH) * full.size[near])
    size[np.concatenate([near[part[same]], near[is_new]])] = enough
    return size


def _open(chosen: np.ndarray, above: np.ndarray, spread: np.ndarray, most: int) -> None:
    """Choose more parts where a group would have more than ``most`` children: those of the least spread first."""
    g = len(chosen)
    children: list[list[int]] = [[] for _ in range(g)]
    for i, p in enumerate(above[:-1].tolist()):
        children[p].append(i)
    for v in np.flatnonzero(chosen).tolist():
        inner: list[int] = []  # parts between v and its groups
        count, waiting = 0, list(children[v])
        while waiting:
            u = waiting.pop()
            if chosen[u]:
                count += 1
            else:
                inner.append(u)
                waiting += children[u]
        if count <= most:
            continue
        left = {u: sum(not chosen[c] for c in children[u]) for u in inner}
        ready = [(float(spread[u]), u) for u in inner if not left[u]]
        heapq.heapify(ready)
        while count > most and ready:
            _, u = heapq.heappop(ready)
            chosen[u] = True
            count -= len(children[u]) - 1
            p = int(above[u])
            if p != v:
                left[p] -= 1
                if not left[p]:
                    heapq.heappush(ready, (float(spread[p]), p))
