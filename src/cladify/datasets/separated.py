"""Clusters that are far apart: δ-separated and strictly separated sets of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_random_state
from cladify.datasets._planted import SLACK, Planted, apart, check_features, cluster_labels, in_ball

__all__ = ["make_delta_separated", "make_strictly_separated"]


def make_delta_separated(
    n_points: int = 500,
    n_clusters: int = 10,
    *,
    n_features: int = 16,
    delta: float = 6.0,
    random_state: Any = None,
) -> Planted:
    r"""Balls of radius at most 1 whose centres are at least δ apart.

    .. math:: \|c_i - c_j\| \ge \delta R \quad (i \ne j), \qquad R = \max_l \max_{x \in C_l} \|x - c_l\|

    Centres are packed about as closely as that allows. With δ ≥ 6 one of the rounds of :class:`~cladify.SCC` with
    doubling distance thresholds is the true clustering ([1]_, theorem 4; δ ≥ 30 for squared distances), with δ > 4 the
    set is strictly separated, and average linkage separates it in the sense of models ([1]_, example 6).

    Parameters
    ----------
    n_points, n_clusters : int
        Sizes of clusters differ by at most one point; the points come in random order.
    n_features : int
    delta : float
        δ > 0.
    random_state : int or Generator, optional

    Returns
    -------
    Planted
        ``metric="euclidean"``, with ``centers``; X in float64.

    Examples
    --------
    >>> X, y = make_delta_separated(60, 3, n_features=2, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((60, 2), [20, 20, 20])

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, §2.5.1 and §4.3.1.
    """
    rng = check_random_state(random_state)
    delta = check_float("delta", delta, low=0.0, open_low=True)
    d = check_features(n_features, 1)
    y = cluster_labels(n_points, n_clusters, rng)
    centre = apart(np.full((n_clusters, n_clusters), delta), d, rng)
    return Planted(centre[y] + (1.0 - SLACK) * in_ball(len(y), d, rng), y, "euclidean", centers=centre)


def make_strictly_separated(
    n_points: int = 500,
    n_clusters: int = 10,
    *,
    n_features: int = 16,
    spread: float = 10.0,
    random_state: Any = None,
) -> Planted:
    r"""Every point is nearer to all points of its own cluster than to any other point.

    .. math:: \|x - x'\| < \|x - z\| \quad \text{for } y(x) = y(x') \ne y(z)

    Clusters are balls whose radii r lie between 1 and ``spread``; their centres are
    :math:`r_i + r_j + 2 \max(r_i, r_j)` apart. So the distances within a wide cluster can exceed those between two
    narrow ones, and no single threshold need find all clusters, though a node of every single-, average- and
    complete-linkage tree is each of them.

    Parameters
    ----------
    n_points, n_clusters : int
        Sizes of clusters differ by at most one point; the points come in random order.
    n_features : int
    spread : float
        Ratio of the largest radius to the smallest, at least 1.
    random_state : int or Generator, optional

    Returns
    -------
    Planted
        ``metric="euclidean"``, with ``centers``; X in float64.

    Examples
    --------
    >>> import cladify
    >>> X, y = make_strictly_separated(60, 4, random_state=0)
    >>> float(cladify.metrics.dendrogram_purity(cladify.HAC().fit(X).tree_, y))
    1.0

    References
    ----------
    Balcan, Blum and Vempala, A discriminative framework for clustering via similarity functions, STOC 2008; Monath,
    Incremental non-greedy clustering at scale, 2022, example 4.
    """
    rng = check_random_state(random_state)
    spread = check_float("spread", spread, low=1.0)
    d = check_features(n_features, 1)
    y = cluster_labels(n_points, n_clusters, rng)
    radius = np.sort(spread ** rng.random(n_clusters))  # the narrow ones first, so that they lie close together
    wide = np.maximum.outer(radius, radius)
    centre = apart(np.add.outer(radius, radius) + 2.0 * wide, d, rng)
    return Planted(
        centre[y] + (1.0 - SLACK) * radius[y, None] * in_ball(len(y), d, rng), y, "euclidean", centers=centre
    )
