"""From a tree and wishes to the tree for reading.

Named groups are grown so: the tree, whose graph was guided by the seeds, is cut into as many groups as the top is to
have. Every name gets the group that has most of its seeds, as far as names do not compete for one, and any other group
with a clear majority of its seeds. A single seed says too little of the group around it: only that item goes to its
name. So do items of which neighbours are sure (:func:`cladify.graphtree.spread_labels`), and, where a name has no group
to itself, all that lead to it in the group that has most of its seeds. What is left are discovered groups, which are
split further if the names took several. Items that must not be together are then moved to the group of the top that
has most of their neighbours among those that are allowed.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from cladify.errors import CladifyWarning
from cladify.graphtree import spread_labels
from cladify.taxonomy._steer.reading import first_count, level_counts, reading_tree
from cladify.taxonomy._steer.shape import level_of, say_counts, shape
from cladify.taxonomy._steer.wishes import Wishes
from cladify.tree import Tree
from cladify.tree._condense import default_min_size

__all__ = ["Plan", "plan"]


#: Seeds that say what a group is about, if most of those in it have one name.
_FEW = 2
#: From this share of walks that end at a name on, an item goes to it, whatever its group.
_CLEAR = 0.4


class Plan(NamedTuple):
    """The binary tree, that for reading with the ranks of its groups, names of groups, and what there is to say."""

    full: Tree
    tree: Tree
    ranks: np.ndarray | None
    names: dict[int, str]
    info: dict[str, Any]

    @classmethod
    def of(cls, full: Tree, *, min_size: int | None, max_children: int) -> Plan:
        """The tree for reading where there are no wishes."""
        return cls(full, *reading_tree(full, min_size=min_size, max_children=max_children), {}, {})


def plan(full: Tree, graph: Any, wishes: Wishes, *, min_size: int | None, max_children: int) -> Plan:
    """The tree for reading that wishes lead to."""
    n = full.n_leaves
    asked = wishes.levels
    usual = 2 if asked else default_min_size(n)
    least = min(usual if min_size is None else min_size, n)
    counts = asked or [max(first_count(full, least, max_children), 1)]
    top: list[np.ndarray] = []
    if wishes.seeds is not None or len(wishes.apart):
        top = _top(full, graph, wishes, counts[0], least)
        counts = [int(top[0].max()) + 1, *(k for k in counts[1:] if k > top[-1].max() + 1)]
    if asked is None:
        counts += [k for k in level_counts(full, counts[0], least)[1:] if not top or k > top[-1].max() + 1]
    shaped = shape(full, counts, min_size=least, max_children=max_children, top=top, blocks=wishes.blocks)
    if asked is not None:
        found = [len(np.unique(labels)) for labels in shaped.levels]
        say_counts(asked[: len(found)], found)
    links = _said_links(shaped.tree, shaped.ranks, wishes)
    info = ({} if asked is None else {"levels": asked}) | ({"links": links} if links else {})
    return Plan(shaped.full, shaped.tree, shaped.ranks, _names(shaped.tree, wishes, top), info)


def _top(full: Tree, graph: Any, wishes: Wishes, k: int, least: int) -> list[np.ndarray]:
    """Partitions for the top: the named groups, those within them, and discovered ones."""
    n = full.n_leaves
    conflicts = np.bincount(wishes.apart.ravel(), minlength=n).max(initial=0) if wishes.levels is None else 0
    k = min(max(k, int(conflicts) + 1), n)
    blocks = np.arange(n) if wishes.blocks is None else wishes.blocks
    known = wishes.seeds
    if known is None:
        own = _numbered(level_of(full, k, least, wishes.blocks))
        return [_parted(own, graph, wishes, blocks, np.zeros(n, bool))]
    heads = list(dict.fromkeys(path[0] for path in wishes.paths))
    first = np.array([heads.index(path[0]) for path in wishes.paths])
    spread = spread_labels(graph, known) if graph is not None else (known, np.ones(n, np.float32))
    group = _numbered(level_of(full, k, least, wishes.blocks))
    path = _grown(group, spread, known, blocks, len(wishes.paths))
    rest = np.flatnonzero(path < 0)
    if len(rest) > 2 and k - len(heads) > len(np.unique(group[rest])):  # names have taken several groups
        some = None if wishes.blocks is None else wishes.blocks[rest]
        group[rest] = level_of(full.prune(rest), min(k - len(heads), len(rest)), least, some)
    found = path < 0
    own = np.where(found, len(heads) + group, first[path])
    own = _parted(_numbered(own), graph, wishes, blocks, known >= 0)
    partitions = [own]
    for depth in range(2, max(len(path) for path in wishes.paths) + 1):
        number = {path: i for i, path in enumerate(dict.fromkeys(path[:depth] for path in wishes.paths))}
        inner = np.array([number[path[:depth]] for path in wishes.paths])
        deeper = np.where(found, -1, inner[path])
        partitions.append(_numbered(partitions[-1] * (len(number) + 1) + deeper + 1))
    return partitions


def _grown(
    group: np.ndarray, spread: tuple[np.ndarray, np.ndarray], known: np.ndarray, blocks: np.ndarray, n_paths: int
) -> np.ndarray:
    """The name that each row goes to, -1 for none."""
    label, share = spread
    rows = np.flatnonzero(known >= 0)
    seen = np.zeros((int(group.max()) + 1, n_paths), np.int64)
    np.add.at(seen, (group[rows], known[rows]), 1)
    size = np.bincount(group)
    # Each name gets a group of its own: all together hold the most seeds, and of equal ones those in small groups.
    groups, names = linear_sum_assignment(-(seen + 0.01 * seen / size[:, None]))
    own = np.full(len(seen), -1)
    own[groups] = np.where(seen[groups, names] > 0, names, -1)
    free = own < 0
    most, top = seen.max(axis=1), seen.argmax(axis=1)
    clear = free & (most >= _FEW) & (2 * most > seen.sum(axis=1))
    own[clear] = top[clear]
    path = own[group]
    sure = (label >= 0) & (share > _CLEAR) & (seen[group, np.maximum(label, 0)] > 0)
    homeless = np.setdiff1d(known[rows], own)
    home = seen[:, homeless].argmax(axis=0)
    for name, where in zip(homeless.tolist(), home.tolist(), strict=True):
        sure |= (group == where) & (label == name)
    path[sure] = label[sure]
    path[rows] = known[rows]
    # Rows that are always together go where the first known one goes, or the first of all.
    order = np.lexsort((np.arange(len(path)), known < 0, blocks))
    leader = order[np.append(True, np.diff(blocks[order]) > 0)]
    of_block = np.empty(int(blocks.max()) + 1, np.int64)
    of_block[blocks[leader]] = path[leader]
    path = of_block[blocks]
    alone = np.bincount(group[path < 0], minlength=int(group.max()) + 1) == 1
    lonely = (path < 0) & alone[group] & (label >= 0)
    path[lonely] = label[lonely]
    return path


def _parted(own: np.ndarray, graph: Any, wishes: Wishes, blocks: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Groups in which no two rows are that must be apart, as far as there are groups for them."""
    if not len(wishes.apart):
        return own
    own = own.copy()
    pairs = blocks[wishes.apart]
    enemies: dict[int, set[int]] = {}
    for a, b in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
        enemies.setdefault(a, set()).add(b)
        enemies.setdefault(b, set()).add(a)
    order = np.argsort(blocks, kind="stable")
    start = np.searchsorted(blocks[order], np.arange(int(blocks.max()) + 2))
    members = {b: order[start[b] : start[b + 1]] for b in enemies}
    settled: dict[int, int] = {}
    for b in sorted(enemies, key=lambda b: (not fixed[members[b]].any(), -len(enemies[b]), b)):
        rows = members[b]
        here = int(own[rows[0]])
        taken = {settled[e] for e in enemies[b] if e in settled}
        size = np.bincount(own)
        if here in taken and not fixed[rows].any() and size[here] > len(rows) + 1:
            pull = np.zeros(len(size))
            if graph is not None:
                near = np.concatenate([graph.indices[graph.indptr[i] : graph.indptr[i + 1]] for i in rows.tolist()])
                pull = np.bincount(own[near], minlength=len(size)).astype(float)
            pull += size / (2.0 * size.sum())  # where there is no neighbour, the largest
            pull[list(taken)] = -1.0
            if pull.max() >= 0:
                here = int(pull.argmax())
                own[rows] = here
        settled[b] = here
    return own


def _numbered(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _names(tree: Tree, wishes: Wishes, top: list[np.ndarray]) -> dict[int, str]:
    """The name of the group of each path, and of the groups around it, by node."""
    if wishes.seeds is None:
        return {}
    names: dict[int, str] = {}
    wanted = {path[:depth] for path in wishes.paths for depth in range(1, len(path) + 1)}
    for path in sorted(wanted, key=len, reverse=True):
        codes = [i for i, known in enumerate(wishes.paths) if known[: len(path)] == path]
        row = int(np.flatnonzero(np.isin(wishes.seeds, codes))[0])
        labels = top[len(path) - 1]
        rows = np.flatnonzero(labels == labels[row])
        if len(rows) > 1:
            place = np.empty(tree.n_leaves, np.int64)
            place[tree.leaf_order] = np.arange(tree.n_leaves)
            ends = rows[[place[rows].argmin(), place[rows].argmax()]]
            names.setdefault(int(tree.lca(int(ends[0]), int(ends[1]))), path[-1])
    return names


def _said_links(tree: Tree, ranks: np.ndarray, wishes: Wishes) -> dict[str, Any]:
    """How many links there are and how many could not be kept, which is said."""
    if not len(wishes.together) and not len(wishes.apart):
        return {}
    n = tree.n_leaves
    group = tree.parent[:n]
    broken = int((group[wishes.together[:, 0]] != group[wishes.together[:, 1]]).sum())
    met = tree.lca(wishes.apart[:, 0], wishes.apart[:, 1]) if len(wishes.apart) else np.empty(0, np.int64)
    # In one group of the coarsest level: they meet in a group of a level, not above all of them.
    close = int((ranks[met - n] >= 0).sum())
    for count, total, what in ((broken, len(wishes.together), "must_link"), (close, len(wishes.apart), "cannot_link")):
        if count:
            warnings.warn(
                CladifyWarning(
                    f"{count} of {total} pairs of {what} could not be kept: they contradict each other or the seeds, "
                    "or the top has too few groups."
                ),
                stacklevel=4,
            )
    links = {"must_link": len(wishes.together), "cannot_link": len(wishes.apart)}
    return links | {"must_link_broken": broken, "cannot_link_broken": close}
