"""The tree for reading where nobody has asked for a shape: levels, each a few times as fine as the one before.

The first level has as many groups as the top of the condensed tree, which is where splits are followed by the largest
gap. From there each has about three times as many groups as the one before, more or fewer where a cut nearby is
firmer, down to groups that are hardly worth a line. So every level parts the large groups of the one before, not a few
of them only, and no group has more parts than a person takes in at a glance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cladify.taxonomy._read.levels import labels_of, rank_levels
from cladify.taxonomy._steer.gather import gather
from cladify.taxonomy._steer.shape import shape
from cladify.tree import Tree
from cladify.tree._condense import default_min_size
from cladify.tree._levels import stabilities

__all__ = [
    "Reading",
    "first_count",
    "level_counts",
    "levels_of",
    "reading_levels",
    "reading_tree",
    "stability_at",
    "with_groups",
]

#: How many times as many groups a level has as the one before: about, at the least and at the most.
_STEP, _LEAST_STEP, _MOST_STEP = 3.0, 1.8, 6.0
#: What a factor of :data:`_STEP` away from the usual number of groups costs, in stability.
_AWAY = 0.08
#: An average group of the finest level is so many times the smallest one: usually, and at the least.
_ROOM, _LEAST_ROOM = 2.0, 1.2


class Reading(NamedTuple):
    """The tree of the groups, and the finest level that each group is of; None where there is one group only."""

    tree: Tree
    ranks: np.ndarray | None


def reading_tree(
    full: Tree, counts: Sequence[int] | None = None, *, min_size: int | None = None, max_children: int = 15
) -> Reading:
    """The tree for reading of a binary tree, with levels of ``counts`` groups or of as many as suit it."""
    n = full.n_leaves
    small = min(default_min_size(n) if min_size is None else min_size, n)
    asked = counts is not None
    if counts is None:
        counts = level_counts(full, first_count(full, small, max_children), small)
    if not counts or counts[-1] < 2:
        return Reading(full.condense(min_size=small, max_children=max_children), None)
    while True:
        shaped = shape(full, counts, min_size=small, max_children=max_children)
        found = [len(np.unique(labels)) for labels in shaped.levels]
        near = [i for i, (a, b) in enumerate(pairwise(found), 1) if b < _LEAST_STEP * a]
        if asked or not near:
            break
        counts = [k for i, k in enumerate(counts) if i != near[0]]
    return Reading(shaped.tree, shaped.ranks)


def reading_levels(
    full: Tree, X: Any = None, *, metric: Any = None, min_size: int | None = None
) -> list[tuple[np.ndarray, float | None]]:
    """Labels and stability of the levels that a taxonomy of the tree would have."""
    tree, ranks = reading_tree(full, min_size=min_size)
    if ranks is None:
        return [(np.zeros(full.n_leaves, np.int64), None)]
    levels = levels_of(tree, ranks)
    firm = stability_at(full, [len(nodes) for nodes in levels], X, metric=metric)
    return [(labels_of(tree, nodes), stability) for nodes, stability in zip(levels, firm, strict=True)]


def with_groups(full: Tree, tree: Tree, ranks: np.ndarray | None) -> Tree:
    """The binary tree with all groups of the levels as nodes; outliers of a group may be elsewhere in ``full``."""
    if ranks is None:
        return full
    return gather(full, [labels_of(tree, nodes) for nodes in levels_of(tree, ranks)])


def levels_of(tree: Tree, ranks: np.ndarray) -> list[tuple[int, ...]]:
    """The groups of each level."""
    return rank_levels(tree, dict(enumerate(ranks.tolist(), tree.n_leaves)), int(ranks.max(initial=0)) + 1)


def stability_at(full: Tree, counts: Sequence[int], X: Any = None, *, metric: Any = None) -> list[float]:
    """The stability of the cuts into about so many groups."""
    known, stability = stabilities(full, X, metric=metric)
    if not len(known):
        return [0.0] * len(counts)
    near = np.abs(np.log(known[:, None] / np.maximum(counts, 1))).argmin(axis=0)
    return [float(value) for value in stability[near]]


def first_count(full: Tree, small: int, max_children: int) -> int:
    """The number of groups at the top of the condensed tree; 0 where there are none."""
    if full.n_leaves < 3:
        return 0
    condensed = full.condense(min_size=small, max_children=max_children)
    return int((condensed.children(condensed.root) >= full.n_leaves).sum())


def level_counts(full: Tree, first: int, small: int) -> list[int]:
    """Numbers of groups of the levels, from a first one on."""
    if first < 1:
        return []
    last, finest = full.n_leaves / (_ROOM * small), full.n_leaves / (_LEAST_ROOM * small)
    known, stability = stabilities(full)
    counts = [first]
    while _LEAST_STEP * counts[-1] <= last:
        # As many steps of one size as lead to the finest level.
        steps = max(1, round(math.log(last / counts[-1], _STEP)))
        usual = counts[-1] * (last / counts[-1]) ** (1 / steps)
        allowed = (known >= _LEAST_STEP * counts[-1]) & (known <= min(_MOST_STEP * counts[-1], finest))
        worth = stability - _AWAY * np.abs(np.log(known / usual)) / math.log(_STEP)
        counts.append(int(known[np.where(allowed, worth, -np.inf).argmax()]) if allowed.any() else round(usual))
    return counts
