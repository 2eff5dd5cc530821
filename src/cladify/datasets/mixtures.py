"""Mixtures whose number of components grows with the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.datasets._planted import Planted

__all__ = ["make_dirichlet_mixture"]


def make_dirichlet_mixture(
    n_points: int = 1000,
    *,
    concentration: float = 5.0,
    n_features: int = 10,
    between: float = 5.0,
    within: float = 1.0,
    random_state: Any = None,
) -> Planted:
    r"""A sample of a Dirichlet-process mixture of spherical Gaussians.

    Point i starts a new component with probability :math:`\alpha / (\alpha + i)`, i = 0, 1, …, and otherwise joins that
    of a uniformly random earlier point (the Chinese restaurant process). Component means are drawn from
    :math:`N(0, \mathrm{between}^2 I)` and points from :math:`N(\mu, \mathrm{within}^2 I)`. The number of components
    has mean :math:`\sum_i \alpha / (\alpha + i) \approx \alpha \log(1 + n/\alpha)`. O(n (d + log n)).

    Parameters
    ----------
    n_points : int
    concentration : float
        α > 0.
    n_features : int
    between, within : float
        Standard deviation of the means, and of the points of a component, in every coordinate.
    random_state : int or Generator, optional

    Returns
    -------
    Planted
        ``metric="sqeuclidean"``, with ``centers``; X in float64, components numbered in order of their first points.

    Examples
    --------
    >>> X, y = make_dirichlet_mixture(1000, concentration=2.0, random_state=0)
    >>> X.shape, int(y[0])
    ((1000, 10), 0)

    References
    ----------
    Antoniak, Mixtures of Dirichlet processes, Annals of Statistics 2 (6), 1974; Monath, Incremental non-greedy
    clustering at scale, 2022, §4.4.5 and §5.5.5, which samples such data for its comparisons.
    """
    rng = check_random_state(random_state)
    n = check_int("n_points", n_points, low=1)
    d = check_int("n_features", n_features, low=1)
    alpha = check_float("concentration", concentration, low=0.0, open_low=True)
    between = check_float("between", between, low=0.0)
    within = check_float("within", within, low=0.0)
    place = np.arange(n)
    earlier = rng.integers(0, np.maximum(place, 1))
    starts = rng.random(n) * (alpha + place) < alpha
    starts[0] = True
    # Every point refers to an earlier one, in the end to the first of its component; each step doubles the reach.
    first = np.where(starts, place, earlier)
    while not np.array_equal(further := first[first], first):
        first = further
    y = (np.cumsum(starts) - 1)[first]
    mean = between * rng.standard_normal((int(starts.sum()), d))
    X = rng.standard_normal((n, d))
    X *= within
    X += mean[y]
    return Planted(X, y, "sqeuclidean", centers=mean)
