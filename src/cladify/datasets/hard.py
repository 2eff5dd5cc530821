"""Instances on which average linkage stays far below the best Moseley-Wang objective under a Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.datasets._planted import Planted

__all__ = ["make_hard_grid", "make_hard_line"]


def make_hard_grid(
    k: int = 4, *, tau: float | None = None, n_features: int | None = None, random_state: Any = None
) -> Planted:
    r"""k³ points on which average linkage earns about a third of what is possible, as k grows.

    .. math:: v_{ij} = e_i + (1 + \tau)\, e_{k+j}, \quad i = 1..k,\ j = 1..k^2

    Points with the same j have the largest similarity, those with the same i a slightly smaller one, and all others
    next to none. Average linkage first joins the k² small groups of equal j, which costs it the k large groups of
    equal i, where most of the objective is. With similarity :math:`\exp(-\gamma \|x - y\|^2)`,
    :math:`\gamma = \log n`.

    Parameters
    ----------
    k : int
        At least 2; there are k³ points.
    tau : float, optional
        τ > 0, by default 1 / (40 log n), which makes the two large similarities differ by about a tenth.
    n_features : int, optional
        Project the k + k² coordinates at random to this many (Johnson and Lindenstrauss), which distorts the
        similarities the less the more there are. By default they are kept.
    random_state : int or Generator, optional
        For the projection and the order of the points.

    Returns
    -------
    Planted
        ``metric="rbf"`` with its ``gamma``; ``y`` is i, the large groups, which a good tree splits first.

    Examples
    --------
    >>> X, y = make_hard_grid(3, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((27, 12), [9, 9, 9])

    References
    ----------
    Charikar, Chatziafratis, Niazadeh and Yaroslavtsev, Hierarchical clustering for Euclidean data, AISTATS 2019,
    theorem 5.1; Charikar, Chatziafratis and Niazadeh, Hierarchical clustering better than average-linkage, SODA 2019.
    """
    rng = check_random_state(random_state)
    k = check_int("k", k, low=2)
    n = k**3
    step = 0.025 / np.log(n) if tau is None else check_float("tau", tau, low=0.0, open_low=True)
    place = rng.permutation(n)
    i, j = place // k**2, place % k**2
    X = np.zeros((n, k + k**2))
    X[np.arange(n), i] = 1.0
    X[np.arange(n), k + j] = 1.0 + step
    if n_features is not None:
        d = check_int("n_features", n_features, low=1)
        X = X @ rng.standard_normal((X.shape[1], d)) / np.sqrt(d)
    return Planted(X, i, "rbf", gamma=float(np.log(n)))


def make_hard_line(shift: float = 0.001) -> Planted:
    r"""Four points on a line, 0, 1 + ε, 2 − ε, 3, on which average linkage earns three quarters of what is possible.

    Average linkage joins the two middle points first, for their distance is the smallest by a little; the pairs at the
    two ends are the better start. :math:`\exp(-\gamma \|x - y\|^2)` with γ = 5 makes all pairs but the three
    neighbouring ones negligible.

    Parameters
    ----------
    shift : float in (0, 0.25]
        ε.

    Returns
    -------
    Planted
        ``metric="rbf"`` with its ``gamma``; ``y`` has the two pairs.

    Examples
    --------
    >>> make_hard_line().X.ravel().tolist()
    [0.0, 1.001, 1.999, 3.0]

    References
    ----------
    Charikar, Chatziafratis, Niazadeh and Yaroslavtsev, Hierarchical clustering for Euclidean data, AISTATS 2019,
    lemma 5.3.
    """
    shift = check_float("shift", shift, low=0.0, high=0.25, open_low=True)
    return Planted(np.array([[0.0], [1.0 + shift], [2.0 - shift], [3.0]]), np.array([0, 0, 1, 1]), "rbf", gamma=5.0)
