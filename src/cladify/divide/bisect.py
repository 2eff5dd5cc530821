"""Bisect++ and Conquer: split where the objective gains most, then split the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.memory import check_memory
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import Check, check_float, check_random_state, choice, integer, number, optional
from cladify._kit.progress import Progress
from cladify.data.points import Points
from cladify.divide._rows import leaf_counter
from cladify.divide._weights import find_weights
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["BisectConquer"]

_SMALL_SET, _THETA = 5000, 64  # the range of theta that the paper names is 100 to 5000


def _auto_or_number(high: float) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str):
            check_float(name, value, low=0.0, high=high)
        elif value != "auto":
            raise InvalidInput(f"{name} must be 'auto' or a number in [0, {high:g}], got {value!r}.")

    return check


def _one_or_many_rates(name: str, value: Any) -> None:
    rates = [value] if np.ndim(value) == 0 else list(value)
    if not rates:
        raise InvalidInput(f"{name} must be a number above 0 or a sequence of them, got {value!r}.")
    for rate in rates:
        check_float(name, rate, low=0.0, open_low=True)


@dataclass(kw_only=True, eq=False, repr=False)
class BisectConquer(TreeEstimator):
    r"""Bisect++ and Conquer ([1]_, algorithms 1 and 2), for the Moseley-Wang, Dasgupta and CKMM objectives.

    Each part of m points is split by projected gradient steps on :math:`x^\top W x`, up for similarities and down for
    distances, over

    .. math:: \{x \in [-1, 1]^m : \textstyle\sum_i x_i = 2 \delta m\},

    and then rounded to two sides. Products with :math:`W` come from feature maps (the inverse kernel trick), so that a
    step is two passes over the data and no pair of points is looked at. The sides are split in the same way, and parts
    of up to :math:`\theta` points are finished by average linkage.

    With ``delta="auto"`` every split chooses its own imbalance. A split of a part into A and B is worth what it earns
    itself plus what trees inside A and B can be expected to,

    .. math:: |A \cup B| \, W(A, B) + r_A W(A) + r_B W(B), \qquad r_S = 2 + \rho \, (|S| - 2),

    where :math:`\rho = 2/3` is exact for random trees, and the bound over triples of points of the part, estimated from
    a sample, is the most that any tree can reach; ``inside`` says how far between the two. The best of all thresholds
    of the relaxed solution is taken, points change sides where that gains, and the best of ``n_init`` starts is kept.
    It competes with a *trunk*, on which the points that are farthest from all others leave one by one. A cut takes off
    at least a sixteenth of the points in either way, so O(log n) cuts lie above every point.

    Similarities are cut as little as possible (Moseley-Wang and Dasgupta's objective), distances as much as possible
    (CKMM). The height of a node is the mean distance between its two sides, as in average linkage, and at least that of
    the nodes below it.

    One copy of the features is rearranged in place. Splits of large parts are found on a sample and then improved on
    all points; all threads work on a large part, and each on small parts of its own.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`. cosine, dot and sqeuclidean have exact feature maps, rbf and laplacian random
        ones; other metrics take an n × n matrix. ``"precomputed"`` for a matrix of distances (or, with
        ``cladify.similarity.precomputed(kind="similarity")``, of similarities).
    delta : "auto" or float in [0, 0.5]
        Imbalance: sides of (½ − δ)m and (½ + δ)m points; 0 is the balanced case.
    theta : int, optional
        Parts of up to this many points are finished by average linkage or, with ``delta="auto"``, by further splits
        where those are worth more. None: everything up to 5000 points at once, so that a small set is split at all only
        where that is worth more than average linkage; larger sets from 64 points on.
    rounding : "threshold" or "random"
        "threshold": the best threshold, then improvement. "random": point i goes to the first side with probability
        :math:`(1 + x_i)/2`, as in algorithm 1, and stays there: sides have the sizes asked for on average only.
    noise : float
        Variance of the normal numbers that a start is projected from, r in algorithm 1.
    learning_rate : float or sequence of float, optional
        :math:`\eta_t`, of all steps or one a step (the last one for all later steps), in the unit of 1/W. None: twice
        :math:`\lVert x\rVert / \lVert W x\rVert`, which needs no tuning.
    inside : "auto" or float in [0, 1]
        How good the trees inside the sides are taken to be: 0 is a random tree, 1 the bound over triples. "auto" tries
        a few values on samples of 1024 points, and takes 0.5 on graphs and matrices; ``tree.info["inside"]``.
    n_init : int
        Starts a split.
    n_iter : int
        Gradient steps a start.
    preset : "paper", optional
        Algorithms 1 and 2 as printed: one start of imbalance 0, random rounding, nothing improved afterwards, and
        average linkage of parts of up to 100 points, the least of the paper's usual values. It sets parameters that are
        at their defaults: another δ, θ or number of starts stays.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    random_state : int, Generator or None
    n_jobs : int
        Threads; -1 is all of them. The tree does not depend on it.

    Notes
    -----
    ``fit`` also takes a :class:`~cladify.NeighborGraph` or sparse given values, where pairs without
    an edge have similarity 0 (for distances: are at the largest distance of the graph).

    The step needs no tuning: the ratio :math:`\lVert W x\rVert / \lVert x\rVert`, of which the iteration is a power
    method, bounds the curvature from step to step. The projection finds its level exactly, in O(m): Newton steps,
    then medians of what they leave open.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [20.0], [21.0], [60.0]])
    >>> BisectConquer(n_clusters=3, random_state=0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 2]

    References
    ----------
    .. [1] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors. AAAI
       2021.
    """

    _checks: ClassVar = {
        "delta": _auto_or_number(0.5),
        "theta": optional(integer(low=1)),
        "rounding": choice("threshold", "random"),
        "inside": _auto_or_number(1.0),
        "noise": number(low=0.0, open_low=True),
        "learning_rate": optional(_one_or_many_rates),
        "n_init": integer(low=1),
        "n_iter": integer(low=1),
    }

    _presets: ClassVar = {"paper": {"delta": 0.0, "theta": 100, "rounding": "random", "n_init": 1}}

    metric: Any = "sqeuclidean"
    delta: float | str = "auto"
    theta: int | None = None
    rounding: str = "threshold"
    inside: float | str = "auto"
    noise: float = 1.0
    learning_rate: float | Sequence[float] | None = None
    n_init: int = 4
    n_iter: int = 8
    preset: str | None = None
    distance_threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        if not points.uniform:
            raise InvalidInput(
                "A bisection counts every row once and takes no sample_weight; repeat rows, or use method='kmeans'."
            )
        asked = self._with_preset()
        random = check_random_state(self.random_state)
        weights = find_weights(points, random, n_jobs=self.n_jobs, report=report)
        n, threads = weights.n_points, resolve_jobs(self.n_jobs)
        theta = min(asked.theta or (_SMALL_SET if n <= _SMALL_SET else _THETA), n)
        check_memory(4 * threads * theta**2, f"average linkage of {theta} points", "use a smaller theta.")
        parameters = asked._parameters(theta, int(random.integers(2**63)))
        parameters.sign = weights.sign
        parameters.height_shift, parameters.height_scale = weights.to_height
        with leaf_counter(report, "bisect", n) as on_leaves:
            parent, height, inside = weights.run(parameters, threads, on_leaves)
        np.maximum(height, 0.0, out=height)
        parent.flags.writeable = height.flags.writeable = False  # ours to give away: Tree need not copy them
        info = {"method": "bisect", "delta": asked.delta, "theta": theta, "inside": inside, **weights.info}
        return Tree(parent, height, info=info)

    def _parameters(self, theta: int, seed: int) -> Any:
        parameters = _core.BisectParameters()
        parameters.delta = -1.0 if isinstance(self.delta, str) else float(self.delta)
        parameters.inside = -1.0 if isinstance(self.inside, str) else float(self.inside)
        parameters.random_rounding = self.rounding == "random"
        parameters.noise = float(self.noise)
        parameters.rates = [] if self.learning_rate is None else np.ravel(self.learning_rate).tolist()
        parameters.n_init, parameters.n_iter = self.n_init, self.n_iter
        parameters.n_improve, parameters.n_full = 8, 3
        parameters.n_sample, parameters.n_groups = 2048, 64
        parameters.leaf_size = theta
        parameters.seed = seed
        return parameters
