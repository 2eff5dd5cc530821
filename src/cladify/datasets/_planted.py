"""`Planted`: data with the clusters that theory promises to find, and helpers of the generators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.params import check_int
from cladify.data._frame import row_squares
from cladify.errors import InvalidInput

__all__ = ["Planted"]

#: How much wider than asked for the clusters are set apart, so that rounding cannot undo a strict inequality.
SLACK = 1e-6


@dataclass(frozen=True)
class Planted:
    """Points whose true clusters are known; unpacks as ``X, y``.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
    y : int64 array of shape (n,)
        True cluster of each point.
    metric : str
        The metric under which the promise holds.
    centers : float64 array of shape (k, d), or None
        Centre of each cluster, where the model has one.
    edges : int64 array of shape (m, 2), or None
        Edges of the latent graph whose connected components are the clusters, where the model has one.
    gamma : float or None
        For ``metric="rbf"``: its γ, as in ``rbf(gamma)``.
    """

    X: Any
    y: np.ndarray
    metric: str = "sqeuclidean"
    centers: np.ndarray | None = None
    edges: np.ndarray | None = None
    gamma: float | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))


def cluster_labels(n_points: Any, n_clusters: Any, rng: np.random.Generator) -> np.ndarray:
    """Clusters of equal size (to within one point), in random order."""
    n = check_int("n_points", n_points, low=1)
    k = check_int("n_clusters", n_clusters, low=1, high=n, why=f"for {n} points")
    return rng.permutation(np.arange(n) % k)


def in_ball(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Points uniform in the unit ball."""
    direction = directions(n, d, rng)
    return direction * (rng.random((n, 1)) ** (1.0 / d))


def directions(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors, uniform on the sphere."""
    normal = rng.standard_normal((n, d))
    return normal / np.sqrt(row_squares(normal))[:, None]


def apart(distance: np.ndarray, d: int, rng: np.random.Generator) -> np.ndarray:
    """Centres at least ``distance[i, j]`` from each other, and not much farther than that.

    One after the other goes out from the origin in a random direction u, to the first place beyond which it is far
    enough from all earlier ones: |t u − c|² ≥ D² from the larger root t on.
    """
    k = len(distance)
    centre = np.zeros((k, d))
    direction = directions(k, d, rng)
    for i in range(1, k):
        along = centre[:i] @ direction[i]
        square = along**2 - np.einsum("ij,ij->i", centre[:i], centre[:i]) + distance[i, :i] ** 2
        reach = along[square >= 0] + np.sqrt(square[square >= 0])
        centre[i] = (1.0 + SLACK) * max(reach.max(initial=0.0), 0.0) * direction[i]
        # The factor moves the centre outwards along u, where it only gets farther from the others.
    return centre


def check_features(n_features: Any, low: int) -> int:
    """Number of dimensions."""
    if n_features == 1 and low == 2:
        raise InvalidInput("n_features must be at least 2 here: on a line, chains cannot lie side by side; got 1.")
    return check_int("n_features", n_features, low=low)
