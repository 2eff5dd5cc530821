"""Granularities of a tree: the cuts whose clusters last longest.

The cuts are those for reading: parts of a certain size count, and the cluster with the largest spread is split next. A
cluster lasts from the height at which it is parted from its siblings down to the heights at which its leaves leave it,
as outliers or in the cluster's own split. The mean of that over all leaves says how firm a cut is: it is small where
the next splits follow at once, and has a peak where the data have a level of their own.

The meaning of a difference of heights depends on their origin: factors count where they are distances, and cosine
distances of many dimensions are all just below 1. So heights are first put on the scale, of a few, on which they fall
most evenly as the logarithm of the number of clusters grows. On that scale a tree without levels is equally firm
everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify import _core
from cladify._kit.params import check_int
from cladify.data._cost_features import cost_features
from cladify.data._pairs import FeatureWeights
from cladify.tree._condense import mean_heights, spreads
from cladify.tree._order import default_metric
from cladify.tree._rules import check_leaves

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["Level", "levels", "stabilities"]

_APART = 1.5  # a level has at least this many times as many clusters as the next coarser one
_FLOOR = 1e-5  # heights below this share of the root's are all the same to a reader
_MINOR = 0.1  # peaks below this share of the most prominent one are noise
_STEP = 1.15  # the smallest part shrinks in steps of this factor
_CEILINGS = (1.0, 0.1, 0.01, 1e-3, 1e-4)  # how far above the root a scale may end, as a share of its height


@dataclass(frozen=True)
class Level:
    """One granularity of a tree; see :meth:`cladify.Tree.levels`.

    Attributes
    ----------
    n_clusters : int
    stability : float
        How long the clusters last, 0 to 1. At 0.8, the number of clusters typically grows fivefold in the tree before
        one of this level falls apart; at 0.5, twofold.
    min_size : int
        Parts of fewer leaves stay with their largest sibling.
    labels : int64 array of shape (n,)
        Clusters 0, 1, … in order of their smallest leaf.
    nodes : int64 array of shape (n_clusters,)
        The node of each cluster, as :meth:`cladify.Tree.cut` returns them.
    """

    n_clusters: int
    stability: float
    min_size: int
    labels: np.ndarray = field(repr=False, compare=False)
    nodes: np.ndarray = field(repr=False, compare=False)


@dataclass
class _Cuts:
    """Cuts one after the other: of the parts of ``min_size`` leaves, those of spread ``below`` or more are split."""

    n_clusters: np.ndarray
    firmness: np.ndarray
    below: np.ndarray
    min_size: np.ndarray


def levels(tree: Tree, X: Any, *, metric: Any, min_size: int | None, max_levels: int) -> list[Level]:
    """Suggested granularities, coarse to fine; see :meth:`cladify.Tree.levels`."""
    n = tree.n_leaves
    max_levels = check_int("max_levels", max_levels, low=1)
    small = _smallest(n, min_size)
    spread = spreads(tree)
    cuts = _all_cuts(tree, spread, X, metric, small)
    found: list[Level] = []
    last = np.inf
    for i in sorted(_peaks(cuts, max_levels, n / (1.5 * small))):
        if cuts.below[i] >= last:  # not a refinement of the level before
            continue
        last, size = cuts.below[i], int(cuts.min_size[i])
        labels, nodes, count, _ = _core.tree_cut(
            tree.parent, tree.size, spread, tree._widest_first, n, 0, True, np.nextafter(last, -1.0), size, n, True
        )
        found.append(Level(count, float(_stability(cuts.firmness[i])), size, labels, nodes))
    return found


def stabilities(
    tree: Tree, X: Any = None, *, metric: Any = None, min_size: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of clusters that cuts for reading have, and the stability of each cut, as a :class:`Level` has it."""
    cuts = _all_cuts(tree, spreads(tree), X, metric, _smallest(tree.n_leaves, min_size))
    return cuts.n_clusters, _stability(cuts.firmness)


def _smallest(n: int, min_size: int | None) -> int:
    """The smallest part that counts."""
    if min_size is None:
        return min(max(2, round(n ** (1 / 3) / 4)), n)
    return check_int("min_size", min_size, low=1, high=n, why=f"for {n} leaves")


def _stability(firmness: Any) -> Any:
    return -np.expm1(-np.maximum(firmness, 0.0))


def _all_cuts(tree: Tree, spread: np.ndarray, X: Any, metric: Any, min_size: int) -> _Cuts:
    height = mean_heights(tree) if X is None else _distances(tree, X, metric, min_size)
    return _cuts(tree, spread, _even_scale(tree, height, min_size), min_size)


def _distances(tree: Tree, X: Any, metric: Any, min_size: int) -> np.ndarray:
    """Mean squared distance between the parts of every split, and within a part that splits no further.

    They do not count less than those further down; outliers do not count.
    """
    features = cost_features(X, default_metric(tree, metric))
    check_leaves(tree, features.shape[0])
    n = tree.n_leaves
    sums = np.concatenate([np.zeros(n), FeatureWeights(features, "", None).cross(tree, -1)])
    np.maximum(sums, 0.0, out=sums)  # rounding
    pairs = 0.5 * tree.size * (tree.size - 1.0)
    between = sums / np.maximum(pairs - np.bincount(tree.parent[:-1], pairs[:-1], tree.n_nodes), 1.0)
    within = _core.node_sums(tree.parent, sums) / np.maximum(pairs, 1.0)
    _, above, end, _ = _core.tree_parts(tree.parent, tree.size, between, n, min_size)
    distance = np.zeros(tree.n_nodes)
    distance[end] = np.where(np.bincount(above[1:], minlength=len(end)) >= 2, between[end], within[end])
    return _core.tree_largest_heights(tree.parent, distance, n)


def _even_scale(tree: Tree, height: np.ndarray, min_size: int) -> np.ndarray:
    """Heights on the scale on which those of the splits are closest to a line over the logarithm of their rank.

    The scales are h, log h, -log(c - h) and log h - log(c - h), for several ceilings c. A unit is what the number of
    clusters growing e-fold takes.
    """
    _, above, end, _ = _core.tree_parts(tree.parent, tree.size, height, tree.n_leaves, min_size)
    height = height / max(float(height[-1]), 1e-300)
    splits = np.sort(height[end[np.bincount(above[1:], minlength=len(end)) >= 2]])[::-1]
    if len(splits) < 3 or splits[0] == splits[-1]:
        return height
    ranks = np.unique(np.round(np.geomspace(1, len(splits), 40)).astype(np.int64))
    place, sample = np.log(ranks), splits[ranks - 1]

    def on_scale(values: np.ndarray, factors: bool, ceiling: float | None) -> np.ndarray:
        values = np.clip(values, _FLOOR, 1.0)
        if ceiling is None:
            return np.log(values) if factors else values
        upper = -np.log1p(ceiling - values)
        return upper + np.log(values) if factors else upper

    scales = [(factors, ceiling) for factors in (True, False) for ceiling in (None, *_CEILINGS)]
    even = [float(np.corrcoef(place, on_scale(sample, *scale))[0, 1]) for scale in scales]
    best = scales[0] if even[0] < min(even) + 0.02 else scales[int(np.argmin(even))]  # factors, unless it matters
    fall = -float(np.polyfit(place, on_scale(sample, *best), 1)[0])
    return on_scale(height, *best) / max(fall, 1e-9)


def _cuts(tree: Tree, spread: np.ndarray, scale: np.ndarray, min_size: int) -> _Cuts:
    """All cuts for reading. The smallest part is a fifth of an average cluster, and shrinks as clusters do."""
    n = tree.n_leaves
    no_cut = np.empty(0, dtype=np.int64)
    pieces: list[tuple[np.ndarray, ...]] = [(no_cut, np.empty(0), np.empty(0), no_cut)]
    fewest = 2
    most_parts = int(_core.tree_part_count(tree.parent, tree.size, min_size))
    while fewest <= most_parts:
        size = max(min_size, n // (5 * fewest))
        most = n + 1 if size == min_size else max(fewest + 1, int(_STEP * fewest))
        _, above, end, lifetime = _core.tree_parts(tree.parent, tree.size, scale, n, size)
        n_children = np.bincount(above[1:], minlength=len(above))
        change = np.bincount(above[1:], weights=lifetime[1:], minlength=len(above)) - lifetime
        change[0] += lifetime[0]
        splits = np.flatnonzero(n_children >= 2)
        order = splits[np.lexsort((-end[splits], -spread[end[splits]]))]
        count = 1 + np.cumsum(n_children[order] - 1)
        use = (count >= fewest) & (count < most)
        firmness = np.cumsum(change[order]) / n
        pieces.append((count[use], firmness[use], spread[end[order]][use], np.full(int(use.sum()), size)))
        fewest = most
    return _Cuts(*(np.concatenate(part) for part in zip(*pieces, strict=True)))


def _peaks(cuts: _Cuts, max_levels: int, most_clusters: float) -> list[int]:
    """Places of the cuts to suggest: the most prominent peaks; up to three, minor ones too, then any far from those."""
    count = cuts.n_clusters
    allowed = count <= most_clusters
    chosen: list[int] = []

    def take(places: np.ndarray, limit: int) -> None:
        for i in places.tolist():
            if len(chosen) < limit and all(max(count[i] / count[j], count[j] / count[i]) >= _APART for j in chosen):
                chosen.append(i)

    rise = np.where(allowed, _prominence(np.maximum(cuts.firmness, 0.0)), 0.0)
    peaks = np.argsort(-rise, kind="stable")[: int((rise > 0).sum())]
    take(peaks[rise[peaks] > _MINOR * rise.max(initial=0.0)], max_levels)
    take(peaks, min(3, max_levels))
    while len(chosen) < min(3, max_levels) and allowed.any():
        distance = np.log(count) if not chosen else np.abs(np.log(count[:, None] / count[chosen])).min(axis=1)
        before = len(chosen)
        take(np.array([np.where(allowed, distance, -1.0).argmax()]), max_levels)
        if len(chosen) == before:
            break
    return chosen


def _prominence(values: np.ndarray) -> np.ndarray:
    """How far one must go down from each peak to come to a higher one; 0 elsewhere. The highest rises from 0."""
    rise = np.zeros(len(values))
    hills: list[tuple[float, float, int]] = []  # not yet overtopped: value, deepest value since the hill before, place
    low = 0.0
    for i, value in enumerate(values.tolist()):
        low = min(low, value)
        while hills and hills[-1][0] <= value:
            peak, before, place = hills.pop()
            rise[place] = peak - max(before, low)
            low = min(low, before)
        hills.append((value, low, i))
        low = value
    for peak, before, place in hills:  # nothing higher follows
        rise[place] = peak - before
    return rise
