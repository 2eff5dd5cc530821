"""Levels of a taxonomy: antichains of its groups, from few to many, each a refinement of the one before."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from cladify._kit.params import check_int
from cladify.errors import CladifyWarning, InvalidInput
from cladify.tree import Tree

__all__ = ["Level", "as_level", "cut_groups", "labels_of", "rank_levels", "suggest_levels"]

#: A level has at least this many times as many groups as the next coarser one.
_APART = 1.8


@dataclass(frozen=True)
class Level:
    """One granularity: its groups (nodes, in the order of the tree) and, where it was measured, how stable it is.

    Where a number of clusters was asked for that the tree has no groups for, several of its groups are one cluster:
    ``cluster[i]`` is that of ``nodes[i]``. Everywhere else each group is a cluster.
    """

    nodes: tuple[int, ...]
    stability: float | None = None
    cluster: tuple[int, ...] | None = None

    @property
    def n_clusters(self) -> int:
        return len(self.nodes) if self.cluster is None else max(self.cluster) + 1

    def parts(self) -> list[list[int]]:
        """The groups of each cluster."""
        if self.cluster is None:
            return [[v] for v in self.nodes]
        found: list[list[int]] = [[] for _ in range(self.n_clusters)]
        for v, c in zip(self.nodes, self.cluster, strict=True):
            found[c].append(v)
        return found

    def __repr__(self) -> str:
        stable = "" if self.stability is None else f", stability={self.stability:.2f}"
        return f"Level(n_clusters={self.n_clusters}{stable})"


def cut_groups(tree: Tree, k: int) -> list[int]:
    """About k groups that hold every leaf once: the one with the largest spread (leaves × height) is split first.

    Only groups are split into groups, never into single leaves; a split that would lead beyond k by more than it
    brings nearer is left out. In the order of the tree.
    """
    n = tree.n_leaves
    if tree.root < n:
        return [tree.root]
    lowest = min(0.0, float(tree.height.min()))

    def entry(v: int) -> tuple[float, int]:
        return -float(tree.size[v]) * (float(tree.height[v]) - lowest), -v

    heap: list[tuple[float, int]] = [entry(tree.root)]
    whole: list[int] = []
    while heap and len(heap) + len(whole) < k:
        _, v = heappop(heap)
        children = tree.children(-v)
        now = len(heap) + len(whole) + 1
        beyond = now + len(children) - 1 - k
        if (children < n).any() or (beyond > k - now and -v != tree.root):
            whole.append(-v)
            continue
        for child in children.tolist():
            heappush(heap, entry(child))
    nodes = whole + [-v for _, v in heap]
    return sorted(nodes, key=lambda v: int(tree.first[v]))


def labels_of(tree: Tree, nodes: Sequence[int]) -> np.ndarray:
    """Index among ``nodes`` of the one that each leaf is in, -1 for none."""
    labels = np.full(tree.n_leaves, -1, np.int64)
    for i, v in enumerate(nodes):
        labels[tree.leaf_order[tree.first[v] : tree.last[v]]] = i
    return labels


def suggest_levels(tree: Tree, sizes: Sequence[tuple[int, float | None]]) -> list[Level]:
    """The levels of ``tree`` for suggested numbers of clusters and their stability, coarse to fine.

    Each has about twice as many groups as the one before, or more; of two that are nearer, the more stable one is kept.
    The children of the root are always the first, and where that is all, their children are the second.
    """
    found: dict[tuple[int, ...], float | None] = {}
    for k, stability in sizes:
        nodes = tuple(cut_groups(tree, min(k, tree.n_leaves)))
        if nodes not in found or (stability or 0.0) > (found[nodes] or 0.0):
            found[nodes] = stability
    top = tuple(cut_groups(tree, min(2, tree.n_leaves)))
    stability = found.pop(top, None)
    kept = [Level(top, stability)]
    for nodes, stability in sorted(found.items(), key=lambda entry: len(entry[0])):
        level, last = Level(nodes, stability), kept[-1]
        if level.n_clusters >= _APART * last.n_clusters:
            kept.append(level)
        elif len(kept) > 1 and (level.stability or 0.0) > (last.stability or 0.0):
            kept[-1] = level
    if len(kept) == 1:
        opened = _opened(tree, top)
        kept += [Level(opened)] if len(opened) >= _APART * len(top) else []
    return kept


def rank_levels(tree: Tree, ranks: Mapping[int, int], n_levels: int) -> list[tuple[int, ...]]:
    """The groups of each level of a tree whose groups have ranks: the highest ones that are not parted above it.

    ``ranks[v]`` is the finest level that node v is a group of, -1 for those above all levels. A group that holds items
    beside groups, after edits, is not opened.
    """
    found: list[tuple[int, ...]] = []
    for number in range(n_levels):
        nodes, waiting = [], [tree.root]
        while waiting:
            v = waiting.pop()
            children = tree.children(v)
            if ranks.get(v, number) >= number or (children < tree.n_leaves).any():
                nodes.append(v)
            else:
                waiting += children.tolist()
        found.append(tuple(sorted(nodes, key=lambda v: int(tree.first[v]))))
    return found


def _opened(tree: Tree, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Groups in place of the groups they are in."""
    opened: list[int] = []
    for v in nodes:
        children = tree.children(v)
        whole = not len(children) or bool((children < tree.n_leaves).any())
        opened += [v] if whole else children.tolist()
    return tuple(sorted(opened, key=lambda v: int(tree.first[v])))


def as_level(tree: Tree, wanted: Any, levels: Sequence[Level], full: Tree | None) -> Level:
    """A level for what a caller asked for: a :class:`Level`, or a number of clusters.

    Where no groups of ``tree`` are that many, those of a finer level are put together as the cut of ``full`` does.
    """
    if isinstance(wanted, Level):
        if any(not 0 <= v < tree.n_nodes for v in wanted.nodes):
            raise InvalidInput("the level is of another tree; use one of taxonomy.levels.")
        return wanted
    k = check_int("levels", wanted, low=1, high=tree.n_leaves, why=f"for {tree.n_leaves} items")
    if k == 1:
        return Level((tree.root,))
    known = next((level for level in levels if level.n_clusters == k), None)
    if known is not None:
        return known
    nodes = cut_groups(tree, k)
    if len(nodes) == k or full is None:
        return Level(tuple(nodes))
    finer = k
    while len(nodes) < k and finer < tree.n_leaves:
        finer = min(2 * finer, tree.n_leaves)
        nodes = cut_groups(tree, finer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)  # a tree without as many splits
        labels = full.cut(n_clusters=k, by="spread")
    most = [int(np.bincount(labels[tree.members(v)]).argmax()) for v in nodes]
    numbers: dict[int, int] = {}
    cluster = tuple(numbers.setdefault(label, len(numbers)) for label in most)
    return Level(tuple(nodes), None, cluster if len(numbers) < len(nodes) else None)
