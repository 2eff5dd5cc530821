"""B2SAT&C: the best of three trees around one balanced Max-2-SAT partition."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._estimator import TreeEstimator
from cladify._kit.parallel import one_blas_thread
from cladify._kit.params import check_random_state, integer, optional
from cladify._kit.progress import Progress
from cladify.data._heights import HeightRule
from cladify.data.points import Points
from cladify.divide._parts import Part, find_part
from cladify.divide.bisect import BisectConquer
from cladify.divide.random_tree import path_parents
from cladify.errors import CladifyWarning
from cladify.objectives._objective import get_objective
from cladify.tree import Tree

__all__ = ["SatConquer"]

_TRIED = 16  # points of T that are looked at before the exchanges end
_FEW = 64


@dataclass(kw_only=True, eq=False, repr=False)
class SatConquer(TreeEstimator):
    r"""Balanced Max-2-SAT partitioning and conquer (B2SAT&C; [1]_, algorithms 3 to 5), for CKMM and Moseley-Wang.

    Half of the points, S, is chosen so that as much distance as possible has an end in S: a clause
    :math:`x_u \vee x_v` of weight :math:`d_{uv}` for every pair, with half of the variables true. With
    :math:`T = V \setminus S` that is to

    .. math:: \min_{|T| = \lfloor n/2 \rfloor} \; \sum_{u < v \in T} d_{uv} = \min_z \; \tfrac12 z^\top D z.

    Three trees are made, and the one with the best objective is returned:

    * O₁: a path that splits off the points of S one by one, in random order, and then those of T;
    * O₂: S and T, each by recursive balanced bisection;
    * O₃: recursive balanced bisection of all points (:class:`~cladify.BisectConquer` with δ = 0).

    Parts of up to :math:`\theta` points are finished by average linkage, in O₂ and in O₃. With bisections that cut no
    less than random ones, O₃ is worth at least ⅔ of n Σ d (proposition A.2), and the best of the three 0.74 of the
    optimum of CKMM, if the partition is within 0.94 of the best one (theorem 3.1). Average linkage is worth ⅔ of n Σ d
    as well [2]_, so that this holds for every :math:`\theta`.
    For similarities distances and their order change sides: T holds as much similarity as possible, and the
    Moseley-Wang objective decides.

    The partition is found by conditional gradient steps from several starts: each step moves towards the half of the
    points that the gradient :math:`D z` is smallest on, as far as the quadratic falls; pairs of points then change
    places while that helps. Products with D come from feature maps, O(nk) a step.

    Parameters
    ----------
    metric : str, Similarity or callable
        As in :class:`~cladify.BisectConquer`.
    theta : int, optional
        Parts of up to this many points are finished by average linkage; 1 is bisection down to the points. None: sets
        of up to 5000 points, the most that the paper finishes so, at once (O₃ is then average linkage), and larger
        sets from 64 points on. Sets with a few far points, which balanced bisections tear apart, gain most from a large
        one.
    n_init : int
        Starts of the partition (four times as many where there are few points), and of every bisection.
    n_iter : int
        Largest number of steps a start.
    preset : "paper", optional
        Algorithms 4 and 5 as printed, which bisect down to the points: ``theta=1`` where theta is not given.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    random_state : int, Generator or None
    n_jobs : int
        Threads; -1 is all of them. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
    values_ : dict
        The objective of each of the trees, ``{"O1": …, "O2": …, "O3": …}``; also in ``tree_.info``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [20.0], [21.0], [22.0]])
    >>> model = SatConquer(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_.tolist(), sorted(model.values_)
    ([0, 0, 0, 1, 1, 1], ['O1', 'O2', 'O3'])

    References
    ----------
    .. [1] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors. AAAI
       2021.
    .. [2] Cohen-Addad, Kanade, Mallmann-Trenn, Mathieu. Hierarchical clustering: objective functions and algorithms.
       J. ACM 2019.
    """

    _checks: ClassVar = {"theta": optional(integer(low=1)), "n_init": integer(low=1), "n_iter": integer(low=1)}

    _presets: ClassVar = {"paper": {"theta": 1}}

    metric: Any = "sqeuclidean"
    theta: int | None = None
    n_init: int = 4
    n_iter: int = 50
    preset: str | None = None
    distance_threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        random = check_random_state(self.random_state)
        bisect = self._bisection(random)
        whole = bisect.fit(points, progress=report).tree_
        n = whole.n_leaves
        part, rule, _ = find_part(points, random, weighted=False, n_jobs=self.n_jobs)
        kind = "similarity" if points.is_graph else points.kind
        trees = {"O3": whole}
        if n > 2:
            with one_blas_thread():  # nothing must depend on the number of threads
                first = max_2sat(part, 1.0 if kind == "distance" else -1.0, random, self.n_init, self.n_iter)
                trees["O1"] = _path(first, random)
                trees["O2"] = self._two_sides(points, first, part, rule, random, report)
        goal = get_objective("ckmm" if kind == "distance" else "mw")
        weights = goal.weights(points)
        values = {
            name: goal.value(weights.pair_sums(tree, self.n_jobs, report), weights.mass)
            for name, tree in sorted(trees.items())
        }
        best = max(values, key=lambda name: (values[name], name))
        self.values_ = values
        info = {**whole.info, "method": "sat", "best": best, "values": values}
        info.pop("params")
        return Tree(trees[best].parent, trees[best].height, info=info)

    def _bisection(self, random: np.random.Generator) -> BisectConquer:
        return BisectConquer(
            metric=self.metric,
            delta=0.0,
            theta=self._with_preset().theta,
            n_init=self.n_init,
            random_state=int(random.integers(2**31)),
            n_jobs=self.n_jobs,
        )

    def _two_sides(
        self,
        points: Points,
        first: np.ndarray,
        part: Part,
        rule: HeightRule,
        random: np.random.Generator,
        report: Progress,
    ) -> Tree:
        """Recursive bisections of S and of T under one root."""
        sides = [np.flatnonzero(first), np.flatnonzero(~first)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CladifyWarning)  # half of a connected graph often falls apart
            trees = [self._bisection(random).fit(points.part(rows), progress=report).tree_ for rows in sides]
        between = float(part.product(first.astype(np.float64))[~first].sum()) / (len(sides[0]) * len(sides[1]))
        return _join(trees, sides, float(rule(between)))


def max_2sat(part: Part, sign: float, random: np.random.Generator, n_init: int = 4, n_iter: int = 50) -> np.ndarray:
    """Which points are in S: half of them, such that the weight without an end in S, times ``sign``, is least."""
    n = part.size
    below = n // 2
    best, least = np.ones(n, dtype=bool), np.inf
    # A few points have few local minima, each a large share of the value: more starts cost nothing there.
    for start in range(n_init * (4 if n <= _FEW else 1)):
        spread = (0.1 if start % 2 == 0 else 2.0) * min(below, n - below) / n  # near the middle, and far from it
        z = np.full(n, below / n) + spread * random.standard_normal(n)
        inside = _descend(part, sign, np.clip(z, 0.0, 1.0), below, n_iter)
        value = 0.5 * sign * float(inside @ part.product(inside))
        if value < least:
            best, least = inside == 0.0, value
    return best


def _descend(part: Part, sign: float, z: np.ndarray, below: int, n_iter: int) -> np.ndarray:
    """Conditional gradient on ½ sign zᵀWz over 0 ≤ z ≤ 1, Σz = below; then the points of largest z, with swaps."""
    gradient = sign * part.product(z)
    for _ in range(n_iter):
        toward = np.zeros(part.size)
        toward[np.argpartition(gradient, below - 1)[:below]] = 1.0
        step = toward - z
        slope = float(gradient @ step)
        if slope >= -1e-12 * max(1.0, abs(float(gradient @ z))):
            break
        bend = sign * part.product(step)
        curve = float(step @ bend)
        length = 1.0 if curve <= 0 else min(1.0, -slope / curve)
        z = z + length * step
        gradient = gradient + length * bend
    inside = np.zeros(part.size)
    inside[np.argsort(-z, kind="stable")[:below]] = 1.0
    return _swap(part, sign, inside, n_iter)


def _swap(part: Part, sign: float, inside: np.ndarray, n_iter: int) -> np.ndarray:
    """Exchange a point of T, the worst ones first, with the best one of S while the weight inside T falls."""
    for _ in range(n_iter):
        cost = sign * part.product(inside)
        least = -1e-12 * max(1.0, abs(float(cost @ inside)))
        worst = np.argsort(np.where(inside > 0, -cost, np.inf), kind="stable")[: min(_TRIED, int(inside.sum()))]
        for out in worst:
            alone = np.zeros(part.size)
            alone[out] = 1.0
            change = cost - cost[out] - sign * part.product(alone)
            come = int(np.argmin(np.where(inside > 0, np.inf, change)))
            if change[come] < least:
                inside[out], inside[come] = 0.0, 1.0
                break
        else:
            break
    return inside


def _path(first: np.ndarray, random: np.random.Generator) -> Tree:
    """O₁: a path with S, shuffled, above T, shuffled."""
    order = np.concatenate([random.permutation(np.flatnonzero(first)), random.permutation(np.flatnonzero(~first))])
    return Tree(path_parents(order))


def _join(trees: list[Tree], leaves: list[np.ndarray], height: float) -> Tree:
    """One tree over the leaves of two: ``leaves`` are their ids in it, ``height`` is the root's, if children allow."""
    n = sum(map(len, leaves))
    inner = [tree.n_nodes - tree.n_leaves for tree in trees]
    root = n + sum(inner)
    parent = np.empty(root + 1, dtype=np.int64)
    heights = np.zeros(root + 1)
    parent[root], heights[root] = -1, max(height, *(float(tree.height[-1]) for tree in trees))
    start = n
    for tree, rows, count in zip(trees, leaves, inner, strict=True):
        ids = np.concatenate([rows, np.arange(start, start + count)])
        above = np.append(ids, root)[tree.parent]  # the parent of a root is -1: the last
        parent[ids], heights[ids] = above, tree.height
        start += count
    return Tree.from_parents(parent, n, height=heights)
