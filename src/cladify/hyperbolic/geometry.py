"""The Poincaré disk: depths of common ancestors, and the loss of triplets."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_float
from cladify.data._vectors import check_vectors
from cladify.errors import InvalidInput

__all__ = ["lca_depth", "triplet_loss"]


def check_disk(Z: Any, *, name: str = "Z") -> np.ndarray:
    """Points of the open unit disk, a float32 or float64 array of shape (n, 2)."""
    Z = check_vectors(Z, name=name, accept_sparse=False)
    if Z.shape[1] != 2:
        raise InvalidInput(f"{name} must have two columns, the coordinates of points in the disk, got shape {Z.shape}.")
    if (np.square(Z, dtype=np.float64).sum(axis=1) >= 1.0).any():
        raise InvalidInput(f"{name} has points outside the open unit disk; scale the rows to a length below 1.")
    return np.ascontiguousarray(Z)


def lca_depth(x: Any, y: Any) -> np.ndarray:
    r"""Depth of the hyperbolic lowest common ancestor: how near the geodesic from x to y comes to the origin.

    For the points of the Poincaré disk (lemma 4.1 of [1]_, in a form without its poles at the angles 0 and π)

    .. math:: \sinh d_o(x \vee y) = \frac{2\,|x \times y|}{\delta \sqrt{\delta^2 + (1 - |x|^2)(1 - |y|^2)}}, \qquad
        \delta = |x - y|,

    where the geodesic's point nearest to the origin lies between x and y; otherwise it is the nearer of the two.

    Parameters
    ----------
    x, y : arrays of shape (m, 2)
        Points inside the unit disk; float32 is worked out in float32.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> lca_depth([[0.5, 0.0], [0.5, 0.0]], [[-0.5, 0.0], [0.5, 0.0]]).round(3)    # across, and the point itself
    array([0.   , 1.099])

    References
    ----------
    .. [1] Chami, Gu, Chatziafratis, Ré. From trees to continuous embeddings and back. NeurIPS 2020.
    """
    x, y = check_disk(x, name="x"), check_disk(y, name="y")
    if x.shape != y.shape:
        raise InvalidInput(f"x and y must have the same shape, got {x.shape} and {y.shape}.")
    dtype = np.result_type(x, y)
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    depth = np.empty(len(x), dtype=dtype)
    _core.lca_depths(x, y, depth, np.empty_like(x), np.empty_like(y))
    return depth


def check_triplets(triplets: Any, n: int) -> np.ndarray:
    """Triplets of points as an int64 array of shape (b, 3)."""
    ids = np.asarray(triplets)
    if ids.ndim != 2 or ids.shape[1] != 3 or ids.dtype.kind not in "iu":
        raise InvalidInput(
            f"triplets must be an integer array of shape (b, 3), got dtype {ids.dtype} and shape {ids.shape}."
        )
    if ids.size and not (ids.min() >= 0 and ids.max() < n):
        raise InvalidInput(f"triplets must hold points in [0, {n - 1}], got {ids.min()} to {ids.max()}.")
    return np.ascontiguousarray(ids, dtype=np.int64)


def triplet_loss(
    Z: Any, triplets: Any, similarities: Any, *, temperature: float = 0.05, n_jobs: int | None = -1
) -> tuple[float, np.ndarray]:
    r"""The sum of HypHC's relaxed cost over triplets, and its gradient.

    .. math:: \sum_{ijk} w_{ij} + w_{ik} + w_{jk} - (w_{ij}, w_{ik}, w_{jk}) \cdot
        \mathrm{softmax}\bigl(d_{ij}, d_{ik}, d_{jk}) / \tau\bigr)

    where :math:`d` is :func:`lca_depth`. Over all triplets, and with :math:`2 \sum_{i<j} w_{ij}` added, it tends to
    Dasgupta's cost of the decoded tree as the temperature falls.

    Parameters
    ----------
    Z : array of shape (n, 2)
        Points inside the unit disk. The work is done in their precision, sums in float64.
    triplets : int array of shape (b, 3)
        Points i, j, k.
    similarities : array of shape (b, 3)
        :math:`w_{ij}, w_{ik}, w_{jk}` of each.
    temperature : float
    n_jobs : int
        Threads. The result does not depend on it.

    Returns
    -------
    (float, array of shape (n, 2))

    Examples
    --------
    >>> Z = np.array([[0.9, 0.0], [0.8, 0.4], [-0.9, 0.0]])
    >>> loss, gradient = triplet_loss(Z, [[0, 1, 2]], [[1.0, 0.2, 0.1]])      # 0 and 1 meet deepest: 0.2 + 0.1 is left
    >>> round(loss, 6), gradient.shape
    (0.3, (3, 2))
    """
    Z = check_disk(Z)
    ids = check_triplets(triplets, len(Z))
    weight = np.ascontiguousarray(similarities, dtype=Z.dtype)
    if weight.shape != ids.shape:
        raise InvalidInput(f"similarities must have the shape of triplets, {ids.shape}, got {weight.shape}.")
    temperature = check_float("temperature", temperature, low=0.0, open_low=True)
    gradient = np.empty_like(Z)
    loss = _core.triplet_loss(Z, ids, weight, temperature, gradient, None, resolve_jobs(n_jobs))
    return loss, gradient


def on_circle(angle: np.ndarray, radius: Any) -> np.ndarray:
    """Points at these angles and radii, shape (…, 2)."""
    z = np.empty((*np.shape(angle), 2))
    z[..., 0] = radius * np.cos(angle)
    z[..., 1] = radius * np.sin(angle)
    return z
