"""`score`: a tree's objective, relative to a random tree and to an upper bound."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from cladify._kit.params import check_choice
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._pairs import Method, PairWeights
from cladify.data.points import Points
from cladify.objectives._bounds import BoundMethod, Bounds, find_bounds, star_sums
from cladify.objectives._objective import Objective, get_objective
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["Score", "score"]


@dataclass(frozen=True)
class Score:
    """The value of an objective on a tree, with values to compare it with.

    Attributes
    ----------
    value : float
        The objective; every pair of leaves counts once.
    random : float
        Mean value of random binary trees.
    upper_bound, lower_bound : float
        No tree can be above or below. The best tree lies near the upper bound for MW and CKMM, near the lower one for
        Dasgupta's cost, which is to be small: that one is :attr:`bound`.
    ratio : float
        α of [1]_, at most 1, and 1 at the bound: ``value / upper_bound``; for Dasgupta's cost ``lower_bound / value``.
    normalized : float
        α* of [1]_, 0 for a random tree and 1 at the bound: ``(value - random) / (bound - random)``. The same number for
        Dasgupta's cost and MW. NaN where all trees are worth the same.
    interval : (float, float)
        95 % confidence interval of :attr:`bound`; of width 0 where it is exact.
    objective, metric : str
    n_leaves : int
    maximize : bool
        Whether a larger value is better.
    exact : bool
        False where the value comes from random features.
    bound_method : "exact" or "sampled"

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> tree = cladify.Tree([4, 4, 5, 5, 6, 6, -1])
    >>> print(cladify.score(tree, X, objective="ckmm"))
    ckmm (sqeuclidean, 4 leaves): 1794, to be maximised
      normalized 1.0000   0 = random tree (1503.33), 1 = bound
      ratio      1.0000   of the upper bound 1794 (exact)
    """

    value: float
    random: float
    upper_bound: float
    ratio: float
    normalized: float
    interval: tuple[float, float]
    lower_bound: float
    objective: str
    metric: str
    n_leaves: int
    maximize: bool
    exact: bool
    bound_method: str

    @property
    def bound(self) -> float:
        """The bound on the better side: ``upper_bound`` where larger is better, otherwise ``lower_bound``."""
        return self.upper_bound if self.maximize else self.lower_bound

    @property
    def normalized_interval(self) -> tuple[float, float]:
        """95 % confidence interval of ``normalized``, from that of the bound."""
        low, high = sorted(_normalized(self.value, self.random, end) for end in self.interval)
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """All attributes, for JSON; a number that does not exist is None."""
        plain = {**asdict(self), "interval": list(self.interval)}
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value for name, value in plain.items()
        }

    def __str__(self) -> str:
        side = "upper" if self.maximize else "lower"
        low, high = self.interval
        how = "exact" if self.bound_method == "exact" else f"sampled, 95 % within {low:.5g} … {high:.5g}"
        about = "" if self.exact else ", by random features"
        aim = "maximised" if self.maximize else "minimised"
        return (
            f"{self.objective} ({self.metric}, {self.n_leaves} leaves{about}): {self.value:.6g}, to be {aim}\n"
            f"  normalized {self.normalized:.4f}   0 = random tree ({self.random:.6g}), 1 = bound\n"
            f"  ratio      {self.ratio:.4f}   of the {side} bound {self.bound:.6g} ({how})"
        )


def score(
    tree: Tree,
    X: Any,
    metric: Any = None,
    objective: str = "dasgupta",
    *,
    bound: BoundMethod = "auto",
    method: Method = "auto",
    sample_weight: Any = None,
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressLike = None,
) -> Score:
    """How good a tree is under an objective: its value, a random tree's, and the bound.

    Parameters
    ----------
    tree : Tree
    X : array of shape (n, d), sparse rows, a graph, or given values
        Row i is leaf i; :mod:`cladify.data.points` has them all.
    metric : str, Similarity or callable, optional
        A similarity for ``"dasgupta"`` and ``"mw"`` (cosine where not given), a distance for ``"ckmm"`` (squared
        Euclidean where not given); see :mod:`cladify.similarity`.
    objective : "dasgupta", "mw" or "ckmm"
    bound : "auto", "exact" or "sampled"
        How to get the bounds; ``"auto"`` is exact up to 5000 points and on sparse graphs. Sampling takes about a second
        at any size and states its confidence interval.
    method : "auto", "features" or "pairs"
        How to sum over pairs; see :func:`cladify.objectives.dasgupta`.
    sample_weight : array of shape (n,), optional
        How many leaves each row stands for.
    n_jobs : int
    random_state : int or Generator
        For the sampled bound and random features.
    progress : bool or callable, optional

    Returns
    -------
    Score

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> good, bad = cladify.Tree([4, 4, 5, 5, 6, 6, -1]), cladify.Tree([4, 5, 4, 5, 6, 6, -1])
    >>> [round(cladify.score(tree, X, objective="mw").normalized, 2) for tree in (good, bad)]
    [1.0, -0.5]

    References
    ----------
    .. [1] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors.
       AAAI 2021.
    """
    chosen = get_objective(objective)
    check_choice("bound", bound, ["auto", "exact", "sampled"])
    check_choice("method", method, ["auto", "features", "pairs"])
    points = chosen.points(X, metric, sample_weight)
    weights = chosen.weights(points, method=method, random_state=random_state)
    check_tree(tree, weights.n)
    with reporting(progress) as report:
        scorer = Scorer(chosen, weights, shown_metric(points), bound, n_jobs, random_state, report)
        return scorer.score(tree)


def shown_metric(points: Points) -> str:
    """The metric as it is shown."""
    return "graph" if points.is_graph else points.metric


class Scorer:
    """Scores of several trees on the same data: the bounds are found once."""

    def __init__(
        self,
        objective: Objective,
        weights: PairWeights,
        metric: str,
        bound: BoundMethod,
        n_jobs: int | None,
        random_state: Any,
        report: Progress,
    ) -> None:
        self.objective = objective
        self.weights = weights
        self.metric = metric
        self._how = (bound, n_jobs, random_state)
        self._report = report
        self._bounds: Bounds | None = None

    def score(self, tree: Tree) -> Score:
        """The score of one tree over the data's points."""
        bound, n_jobs, random_state = self._how
        objective, weights = self.objective, self.weights
        check_tree(tree, weights.n)
        sums = weights.pair_sums(tree, n_jobs, self._report)
        if self._bounds is None:
            star = star_sums(weights, sums.total, n_jobs, self._report)
            self._bounds = find_bounds(objective, weights, star, bound, n_jobs, random_state)
        found = self._bounds
        value = objective.value(sums, weights.mass)
        best = found.upper if objective.maximize else found.lower
        return Score(
            value=value,
            random=found.random,
            upper_bound=found.upper,
            ratio=_ratio(value, best) if objective.maximize else _ratio(best, value),
            normalized=_normalized(value, found.random, best),
            interval=found.upper_interval if objective.maximize else found.lower_interval,
            lower_bound=found.lower,
            objective=objective.name,
            metric=self.metric,
            n_leaves=weights.n,
            maximize=objective.maximize,
            exact=weights.exact,
            bound_method="exact" if found.exact else "sampled",
        )


def _ratio(part: float, whole: float) -> float:
    return 1.0 if part == whole else part / whole if whole else math.nan


def _normalized(value: float, random: float, bound: float) -> float:
    """NaN where the bound is a random tree's value but for rounding."""
    gap = bound - random
    return math.nan if abs(gap) <= 1e-12 * abs(random) else (value - random) / gap
