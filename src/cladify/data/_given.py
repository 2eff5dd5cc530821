"""Checks of a given matrix of distances or similarities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cladify._kit.parallel import row_blocks
from cladify.data._vectors import is_sparse
from cladify.errors import CladifyWarning, InvalidInput

__all__ = ["check_given"]

_LARGEST = 1e130  # sums of products of larger values overflow float64
_ROUNDING = 1e-6  # negative distances up to this share of the largest one count as 0
_SELF = 1e-3  # tolerated distance of a point to itself: the root of the rounding error of a square
_UNEQUAL = 1e-5  # tolerated difference of [i, j] and [j, i]


def check_given(X: Any, kind: str, metric: str, name: str) -> None:
    """Raise unless ``X`` is a symmetric matrix that can hold values of this kind; warn where the kind is doubtful."""
    if X.shape[0] != X.shape[1]:
        raise InvalidInput(f"metric={metric!r} needs a square matrix of n x n values, got shape {X.shape}.")
    values = X.data if is_sparse(X) else X
    high, low = float(values.max(initial=0.0)), float(values.min(initial=0.0))
    largest = max(high, -low)
    if largest > _LARGEST:
        raise InvalidInput(f"{name} has values up to {largest:.1e}; divide it by that first.")
    if not _is_symmetric(X, largest):
        raise InvalidInput(
            f"metric={metric!r} needs a symmetric matrix, but {name}[i, j] and {name}[j, i] differ by more than "
            f"1e-5 of the largest value; symmetrise it, for example with ({name} + {name}.T) / 2."
        )
    if kind == "distance":
        _check_distances(X, name, high, low)
    elif not is_sparse(X) and _look_like_distances(X):
        warnings.warn(
            f"{name} is 0 on its diagonal and meets the triangle inequality elsewhere, as distances do, but is "
            "read as similarities. If these are distances, use metric='precomputed'.",
            CladifyWarning,
            stacklevel=7,
        )


def _check_distances(X: Any, name: str, high: float, low: float) -> None:
    """Raise where the range or the diagonal contradicts distances."""
    if low < -_ROUNDING * max(high, -low):
        raise InvalidInput(
            f"Negative values in data: {name} has {low:.6g}, and distances are at least 0. Are these similarities? "
            "Use metric='precomputed-similarity'."
        )
    own = X.diagonal()
    if len(own) and np.abs(own).max() > _SELF * high:
        i = int(np.abs(own).argmax())
        raise InvalidInput(
            f"{name}[{i}, {i}] is {own[i]:.6g}, but a point's distance to itself is 0. Are these similarities? Use "
            "metric='precomputed-similarity'."
        )


def _look_like_distances(X: np.ndarray) -> bool:
    """Whether a matrix is 0 on its diagonal only, and a sample of it meets the triangle inequality."""
    if len(X) < 8 or np.abs(X.diagonal()).max() > _SELF * X.max():
        return False
    some = np.linspace(0, len(X) - 1, min(len(X), 64)).astype(np.int64)
    D = X[np.ix_(some, some)].astype(np.float64)
    np.fill_diagonal(D, 0.0)
    # Squared distances, and cosine's, meet the inequality by their roots.
    return bool((D >= 0).all()) and (_meet_triangles(D) or _meet_triangles(np.sqrt(D)))


def _meet_triangles(D: np.ndarray) -> bool:
    other = D[~np.eye(len(D), dtype=bool)]
    near, far = other.min(), other.max()
    slack = 1e-6 * far  # rounding, where a point lies between two others
    return bool(near > 0 and far > 2 * near and all((D[:, [k]] + D[k] + slack >= D).all() for k in range(len(D))))


def _is_symmetric(X: Any, largest: float) -> bool:
    if is_sparse(X):
        difference = abs(X - X.T)
        return difference.nnz == 0 or difference.max() <= _UNEQUAL * largest
    blocks = row_blocks(len(X), max(1, (1 << 20) // len(X)))
    return all(np.abs(X[rows] - X[:, rows].T).max() <= _UNEQUAL * largest for rows in blocks)
