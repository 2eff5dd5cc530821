"""A tree for reading with the numbers of groups that were asked for, level by level.

A level of k groups is the cut of the binary tree that :meth:`cladify.Tree.cut` makes with ``by="spread"``: parts of
less than a fifth of an average group stay with their largest sibling, and the group with the largest spread is split
next. Two things are added. A group of more than five times the average is split before all others, if both parts are
large enough; and every split of a level is also one of the next, so that groups are within groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cladify._kit.params import check_int
from cladify.errors import CladifyWarning, InvalidInput
from cladify.taxonomy._steer.gather import gather
from cladify.tree import Tree
from cladify.tree._condense import spreads

__all__ = ["LEEWAY", "RATIO", "Shaped", "check_counts", "level_of", "say_counts", "shape"]

#: A group has at least the average number of items divided by this, and at most the average times this.
RATIO = 5
#: A level is as it was asked for if the number of its groups is off by no more than this share.
LEEWAY = 0.1


class Shaped(NamedTuple):
    """A binary tree with all groups as nodes, the tree of these, the finest level each is of, and the levels."""

    full: Tree
    tree: Tree
    ranks: np.ndarray
    levels: list[np.ndarray]


def check_counts(levels: Any, n: int) -> list[int]:
    """Numbers of groups, few to many."""
    if isinstance(levels, str) or not isinstance(levels, Sequence | np.ndarray) or not len(levels):
        raise InvalidInput(f"levels must be a list of numbers of groups, such as [8, 40, 200], got {levels!r}.")
    counts = [check_int("levels", k, low=1, high=n, why=f"for {n} items") for k in levels]
    if any(b <= a for a, b in pairwise(counts)):
        raise InvalidInput(f"levels must grow from the first to the last, got {counts}.")
    return counts


def shape(
    full: Tree,
    counts: Sequence[int],
    *,
    min_size: int | None = None,
    max_children: int = 15,
    top: Sequence[np.ndarray] = (),
    blocks: np.ndarray | None = None,
) -> Shaped:
    """The tree whose levels have ``counts`` groups, or as many as it has parts for.

    Parameters
    ----------
    full : Tree
    counts : growing numbers of groups
    min_size : int, optional
        The smallest group; 2 by default, and a fifth of an average group where there are enough of that size.
    max_children : int
        Where a group has more of the next level, groups are put between.
    top : partitions of the leaves, each within the one before
        Groups that there must be at the top, however small: the first is the first level.
    blocks : int array of shape (n,), optional
        Leaves that no group may part have the same number.
    """
    n = full.n_leaves
    least = 2 if min_size is None else check_int("min_size", min_size, low=1, high=n, why=f"for {n} items")
    max_children = check_int("max_children", max_children, low=2)
    full = gather(full, [*top, *([] if blocks is None else [blocks])])
    work = _Work(full, blocks, _nodes_of(full, top[-1]) if top else [full.root])
    cuts: list[_Cut] = []
    for k in counts[1 if top else 0 :]:
        cuts.append(work.level(k, least, cuts[-1] if cuts else None))
    found = [*top, *(cut.labels for cut in cuts)]
    tree = gather(full, found)
    marked: dict[int, int] = {tree.root: -1}
    for number, labels in enumerate(found):
        rank = max(number - max(len(top) - 1, 0), 0)
        marked |= dict.fromkeys((v for v in _nodes_of(tree, labels) if v >= n and v != tree.root), rank)
    _open_wide(tree, marked, max_children)
    levels = [*top[:1], *(cut.labels for cut in cuts)]
    shaped = Shaped(tree, *_contract(tree, marked), levels)
    shaped.tree.info["condense"] = {"min_size": least, "max_children": max_children}
    return shaped


class _Cut(NamedTuple):
    """Nodes that are split, the smallest part, and the group of each leaf."""

    splits: set[int]
    min_size: int
    labels: np.ndarray
    n_groups: int


def level_of(full: Tree, k: int, least: int, blocks: np.ndarray | None) -> np.ndarray:
    """The groups of a first level of k, by a number each."""
    full = full if blocks is None else gather(full, [blocks])
    return _Work(full, blocks, [full.root]).level(k, least, None).labels


class _Work:
    """The tree that levels are cut from, the nodes they begin at, and those that nothing is to part."""

    def __init__(self, tree: Tree, blocks: np.ndarray | None, roots: list[int]) -> None:
        self.tree, self.roots, self.spread = tree, roots, spreads(tree)
        self.closed = set() if blocks is None else {v for v in _nodes_of(tree, blocks) if v >= tree.n_leaves}

    def level(self, k: int, least: int, before: _Cut | None) -> _Cut:
        """The cut into k groups that splits all that the one before does."""
        small = max(least, self.tree.n_leaves // (RATIO * k))
        if before is not None:
            small = min(small, before.min_size)
        while True:
            cut = self.cut(k, small, before)
            if cut.n_groups >= k or small <= least:
                break
            small = max(least, min(small - 1, int(0.8 * small)))
        while before is not None and cut.n_groups > k and small < before.min_size:
            # Outliers of the level before have to come off, more than there is room for.
            small = min(before.min_size, small + max(1, small // 4))
            cut = self.cut(k, small, before)
        return cut

    def cut(self, k: int, small: int, before: _Cut | None) -> _Cut:
        tree, size, many = self.tree, self.tree.size, RATIO * self.tree.n_leaves / k
        forced = set() if before is None else _above(tree, before.splits, set(self.roots))

        def parts(v: int) -> list[int]:
            return [] if v in self.closed else [c for c in tree.children(v).tolist() if size[c] >= small]

        def next_split(v: int) -> int:
            """The first node from v down with two parts or more, past those that only lose outliers; -1 for none."""
            while True:
                found = parts(v)
                if len(found) != 1:
                    return v if found else -1
                v = found[0]

        def entry(v: int) -> tuple[bool, bool, float, int]:
            return v not in forced, size[v] <= many, -float(self.spread[v]), -v

        heap = [entry(s) for v in self.roots if (s := next_split(v)) >= 0]
        heapify(heap)
        splits: set[int] = set()
        starts = list(self.roots)
        count = len(starts)
        while heap:
            free, _, _, v = heappop(heap)
            found = parts(-v)
            if free and count + len(found) - 1 > k and (count >= k or count + len(found) - 1 - k > k - count):
                continue
            splits.add(-v)
            starts += found
            count += len(found) - 1
            for s in map(next_split, found):
                if s >= 0:
                    heappush(heap, entry(s))

        def end(v: int) -> int:
            """The group that outliers at a node go to: along the largest parts."""
            while (s := next_split(v)) in splits:
                v = max(parts(s), key=lambda c: (size[c], -c))
            return v

        place = np.empty(tree.n_leaves, np.int64)
        for v in sorted(starts, key=lambda v: -int(size[v])):
            place[tree.first[v] : tree.last[v]] = end(v)
        labels = np.empty(tree.n_leaves, np.int64)
        labels[tree.leaf_order] = place
        return _Cut(splits, small, labels, count)


def _above(tree: Tree, nodes: set[int], roots: set[int]) -> set[int]:
    """Some nodes and all between them and the roots."""
    found: set[int] = set()
    for v in nodes:
        while v >= 0 and v not in found:
            found.add(v)
            v = -1 if v in roots else int(tree.parent[v])
    return found


def _nodes_of(tree: Tree, labels: np.ndarray) -> list[int]:
    """The node of each cluster of a partition whose clusters are subtrees."""
    own = labels[tree.leaf_order]
    start = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
    last = np.append(start[1:], len(own)) - 1
    return [int(v) for v in tree.lca(tree.leaf_order[start], tree.leaf_order[last])]


def _open_wide(tree: Tree, marked: dict[int, int], most: int) -> None:
    """Mark nodes between a group and its groups where these are more than ``most``: splits of the largest spread."""
    spread, n = spreads(tree), tree.n_leaves
    inside = np.zeros(tree.n_nodes, bool)  # has a marked node strictly below
    for v in sorted(marked):
        u = int(tree.parent[v])
        while u >= 0 and not inside[u]:
            inside[u] = True
            u = int(tree.parent[u])
    waiting = [v for v in marked if inside[v]]
    while waiting:
        top = waiting.pop()
        closed, heap = 0, [(-float(spread[top]), top)]
        while heap and closed + len(heap) < most:
            _, v = heappop(heap)
            for c in tree.children(v).tolist():
                if c in marked or c < n or not inside[c]:
                    closed += 1
                else:
                    heappush(heap, (-float(spread[c]), c))
        for _, v in heap:
            if v != top:
                marked[v] = marked[top]
                waiting.append(v)


def _contract(tree: Tree, marked: dict[int, int]) -> tuple[Tree, np.ndarray]:
    """The tree of the marked nodes and all leaves, and the ranks of its groups."""
    n = tree.n_leaves
    groups = np.array(sorted(marked), np.int64)
    above = np.full(len(groups), -1, np.int64)
    inside = np.full(n, -1, np.int64)  # the lowest group so far that the leaf at each place is in
    for i in range(len(groups) - 1, -1, -1):  # parents before children
        v = groups[i]
        above[i] = inside[tree.first[v]]
        inside[tree.first[v] : tree.last[v]] = n + i
    parent = np.empty(n + len(groups), np.int64)
    parent[tree.leaf_order] = inside
    parent[n:] = above
    info = {key: value for key, value in tree.info.items() if key != "condense"}
    made = Tree(parent, np.concatenate([np.zeros(n), tree.height[groups]]), info=info)
    return made, np.array([marked[v] for v in groups.tolist()], np.int8)


def say_counts(asked: Sequence[int], found: Sequence[int]) -> None:
    """Warn where a level is further from what was asked for than a tenth."""
    off = [f"{f} in place of {a}" for a, f in zip(asked, found, strict=True) if abs(f - a) > LEEWAY * a]
    if off:
        warnings.warn(
            CladifyWarning(f"levels of {', '.join(off)} groups: names, links and min_size allow no others."),
            stacklevel=3,
        )
