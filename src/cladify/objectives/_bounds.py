"""Bounds that no tree can pass, and the value of a random tree.

A tree decides for every triple of points which pair stays together longest. MW earns that pair's weight, Dasgupta's
cost and CKMM the other two, so the best and the worst choice for each triple on its own bound every tree:

    MW             Σ_{i<j<k} min(w) ≤ Q_M ≤ Σ_{i<j<k} max(w)
    Dasgupta, CKMM n·Σ_{i<j} w − Σ_{i<j<k} max(w) ≤ Q ≤ n·Σ_{i<j} w − Σ_{i<j<k} min(w)

Both sums take O(n³) steps, of 64 triples each, exactly (on a sparse graph, with weights 0 where there is no edge, as
long as it takes to list its triangles). For more points they are estimated from random sets of points, whose own
triples are summed exactly. The mean weight of all triples is known, so how far a set is off that corrects its sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks
from cladify._kit.params import check_choice, check_random_state
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._pairs import GraphWeights, PairSums, PairWeights
from cladify.data._vectors import check_vectors
from cladify.data.similarity import get_similarity
from cladify.errors import InvalidInput
from cladify.objectives._objective import Objective, get_objective
from cladify.tree import Tree

__all__ = ["EXACT_LIMIT", "Bounds", "bounds", "max_upper", "max_upper_1d", "random_value", "sum_upper_1d"]

BoundMethod = Literal["auto", "exact", "sampled"]

#: Up to this many points ``"auto"`` computes the bounds exactly; with sample weights, which take longer, up to 2000.
EXACT_LIMIT = 5000
_WEIGHTED_LIMIT = 2000

_SETS, _SET_SIZE, _BATCH, _PILOT_SETS = 1024, 64, 16, 128
# The quantile of a 97.5 % interval: weights are skewed, and a set's mean with them, so a plain normal interval would
# hold the truth in a little less than the 95 % that it names.
_QUANTILE = 2.2414


@dataclass(frozen=True)
class Bounds:
    """Bounds of the objective over all trees of these points.

    Attributes
    ----------
    lower, upper : float
        For every tree, ``lower <= value <= upper``; estimates without bias where ``exact`` is False.
    lower_interval, upper_interval : (float, float)
        95 % confidence intervals of the two; of width 0 where they are exact.
    random : float
        The expected value of a random tree.
    exact : bool
    """

    lower: float
    upper: float
    lower_interval: tuple[float, float]
    upper_interval: tuple[float, float]
    random: float
    exact: bool


def bounds(
    X: Any,
    metric: Any = None,
    objective: str = "dasgupta",
    *,
    method: BoundMethod = "auto",
    sample_weight: Any = None,
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressLike = None,
) -> Bounds:
    """The triple bounds of an objective: no tree can have a value outside.

    The upper bound of ``"mw"`` is MAX-upper of [1]_. See the notes of :mod:`cladify.objectives` for the objectives.

    Parameters
    ----------
    X, metric, sample_weight
        As in :func:`cladify.objectives.dasgupta`; the metric defaults to the objective's usual one.
    objective : "dasgupta", "mw" or "ckmm"
    method : "auto", "exact" or "sampled"
        ``"auto"`` is exact up to 5000 points (2000 with sample weights) and on every sparse graph, sampled otherwise.
    n_jobs : int
    random_state : int or Generator
    progress : bool or callable, optional

    Returns
    -------
    Bounds

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    >>> found = bounds(W, "precomputed-similarity", "mw")
    >>> found.lower, found.upper, round(found.random, 3)
    (1.0, 3.0, 1.667)

    References
    ----------
    .. [1] Charikar, Chatziafratis, Niazadeh, Yaroslavtsev. Hierarchical clustering for Euclidean data. AISTATS 2019.
    .. [2] Wang, Wang. An improved cost function for hierarchical cluster trees. 2018.
    """
    chosen = get_objective(objective)
    check_choice("method", method, ["auto", "exact", "sampled"])
    weights = chosen.weights(chosen.points(X, metric, sample_weight), random_state=random_state)
    with reporting(progress) as report:
        star = star_sums(weights, None, n_jobs, report)
        return find_bounds(chosen, weights, star, method, n_jobs, random_state)


def random_value(
    X: Any,
    metric: Any = None,
    objective: str = "dasgupta",
    *,
    sample_weight: Any = None,
    n_jobs: int | None = -1,
    random_state: Any = 0,
) -> float:
    """The expected value of a random binary tree, in closed form.

    Each pair of a triple is equally likely to stay together longest, so with W = Σ_{i<j} w it is ⅓(n − 2)·W for MW and
    ⅔(n + 1)·W for Dasgupta's cost and CKMM. How the tree is drawn does not matter, as long as leaves are exchangeable.

    Examples
    --------
    >>> import numpy as np
    >>> random_value(np.ones((4, 4)), "precomputed-similarity", "mw")
    4.0
    """
    chosen = get_objective(objective)
    weights = chosen.weights(chosen.points(X, metric, sample_weight), random_state=random_state)
    return chosen.value(star_sums(weights, None, n_jobs, Progress()), weights.mass)


def star_sums(weights: PairWeights, total: float | None, n_jobs: int | None, report: Progress) -> PairSums:
    """The sums of the tree whose root holds all leaves: an objective's value of it is that of a random tree.

    Where leaves are not weighted they follow from ``total`` (Σ w), if that is known.
    """
    n = weights.n
    if n < 2:
        return PairSums(0.0, 0.0, 0.0)
    if total is not None and not weights.weighted:
        return PairSums(total, n * total, 2.0 * total)
    return weights.pair_sums(Tree(np.append(np.full(n, n), -1)), n_jobs, report)


def find_bounds(
    objective: Objective,
    weights: PairWeights,
    star: PairSums,
    method: BoundMethod,
    n_jobs: int | None,
    random_state: Any,
) -> Bounds:
    """The bounds for a source of weights whose :func:`star_sums` are known."""
    n, mass = weights.n, weights.mass
    few = n <= (_WEIGHTED_LIMIT if weights.weighted else EXACT_LIMIT)
    exact = method == "exact" or n <= _SET_SIZE or (method == "auto" and (few or isinstance(weights, GraphWeights)))
    mean = mass * star.total - star.spread  # Σ over triples of the mean of the three weights
    if n < 3:
        largest = smallest = (0.0, 0.0)
    elif exact:
        high, low = weights.triples(n_jobs)
        largest, smallest = (high, 0.0), (low, 0.0)
    else:
        largest, smallest = _sampled_triples(weights, mean, n_jobs, random_state)
    ends = [_interval(value, error) for value, error in (smallest, largest)]
    if not objective.inner:
        ends = [tuple(objective.flip(x, star.total, mass) for x in reversed(end)) for end in reversed(ends)]
    (lower_low, lower, lower_high), (upper_low, upper, upper_high) = ends
    return Bounds(
        lower=lower,
        upper=upper,
        lower_interval=(lower_low, lower_high),
        upper_interval=(upper_low, upper_high),
        random=objective.value(star, mass),
        exact=exact,
    )


def _interval(value: float, error: float) -> tuple[float, ...]:
    return (value - _QUANTILE * error, value, value + _QUANTILE * error)


def _sampled_triples(
    weights: PairWeights, mean: float, n_jobs: int | None, random_state: Any
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Estimates of Σ max and Σ min over all triples with their standard errors, from random sets of points.

    Sets with heavy points have large sums of all kinds. What a set's sum of maxima gains with its sum of means is
    learned from a few sets and taken off the others, which leaves their estimate without bias.
    """
    n, size = weights.n, _SET_SIZE
    # As many triples as there are for each one of a set's.
    share = (n * (n - 1) * (n - 2)) / (size * (size - 1) * (size - 2))

    def of_sets(rng: np.random.Generator) -> np.ndarray:
        sums = np.empty((_BATCH, 3))
        for row in sums:
            points = np.sort(rng.choice(n, size, replace=False, shuffle=False))
            w, m = weights.block(points), weights.weight[points]
            heavy = m.sum() - np.add.outer(m, m)
            row[:2] = _core.triple_sums(w, m, 1)
            row[2] = m @ (np.triu(w, 1) * heavy) @ m / 3.0
        return share * sums

    batches = check_random_state(random_state).spawn(_SETS // _BATCH)
    sets = np.concatenate(map_blocks(of_sets, batches, n_jobs=n_jobs))
    pilot, rest = sets[:_PILOT_SETS], sets[_PILOT_SETS:]
    estimates = []
    for column in (0, 1):
        spread = pilot[:, 2].var()
        slope = np.cov(pilot[:, column], pilot[:, 2], bias=True)[0, 1] / spread if spread > 0 else 0.0
        corrected = rest[:, column] - slope * (rest[:, 2] - mean)
        error = corrected.std(ddof=1) / np.sqrt(len(corrected))
        estimates.append((float(corrected.mean()), float(error)))
    return estimates[0], estimates[1]


# --- points on a line -------------------------------------------------------------------------------------------------


def max_upper(X: Any, metric: Any = "cosine", **options: Any) -> float:
    """MAX-upper, Σ_{i<j<k} max(w_ij, w_ik, w_jk): the upper bound of :func:`bounds` for MW."""
    return bounds(X, metric, "mw", **options).upper


def max_upper_1d(x: Any, metric: Any = "rbf") -> float:
    """1D-MAX-upper, Σ_{i<j<k} max(w_ij, w_jk) over points on a line in order: an upper bound of MW.

    A random cut earns at least half of it on average [1]_. Equal to :func:`max_upper` for a similarity that never
    grows with the distance, in O(n² log n) time.

    Parameters
    ----------
    x : array of shape (n,) or (n, 1)
    metric : str, Similarity or callable
        A similarity that never grows with the distance.

    Examples
    --------
    >>> import math
    >>> found = max_upper_1d([0.0, 1.0, 3.0], "laplacian(1.0)")
    >>> math.isclose(found, math.exp(-1))
    True

    References
    ----------
    .. [1] Charikar, Chatziafratis, Niazadeh, Yaroslavtsev. Hierarchical clustering for Euclidean data. AISTATS 2019.
    """
    value = 0.0
    for left, right in _both_sides(x, metric):
        # Σ max(l, r): each l with all r up to it, each r with all l below it.
        value += float(left @ np.searchsorted(right, left, side="right"))
        value += float(right @ np.searchsorted(left, right, side="left"))
    return value


def sum_upper_1d(x: Any, metric: Any = "rbf") -> float:
    """1D-SUM-upper, Σ_{i<j<k} (w_ij + w_jk) over points on a line in order: an upper bound of MW.

    Average linkage earns at least half of it [1]_. Parameters and reference as in :func:`max_upper_1d`.

    Examples
    --------
    >>> import math
    >>> found = sum_upper_1d([0.0, 1.0, 3.0], "laplacian(1.0)")
    >>> math.isclose(found, math.exp(-1) + math.exp(-2))
    True
    """
    return float(sum(left.sum() * len(right) + right.sum() * len(left) for left, right in _both_sides(x, metric)))


def _both_sides(x: Any, metric: Any) -> Any:
    """For each point its weights with the points before it and with those after it, each from far to near."""
    x = np.asarray(x)
    x = check_vectors(x[:, None] if x.ndim == 1 else x, name="x", accept_sparse=False).astype(np.float64)
    if x.shape[1] != 1:
        raise InvalidInput(
            f"x must hold points on a line, shape (n,) or (n, 1), got {x.shape}; use max_upper for vectors."
        )
    similarity = get_similarity(metric, kind="similarity")
    if similarity.kind != "similarity":
        raise InvalidInput(f"The bounds of points on a line take a similarity such as 'rbf', got {str(similarity)!r}.")
    x = np.sort(x, axis=0)
    for start in range(0, len(x), 256):
        for j, row in enumerate(similarity.block(x[start : start + 256], x), start=start):
            left, right = row[:j], row[:j:-1]
            if (np.diff(left) < 0).any() or (np.diff(right) < 0).any():
                raise InvalidInput(f"metric {str(similarity)!r} grows with the distance; use 'rbf' or 'laplacian'.")
            yield left, right
