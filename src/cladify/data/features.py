"""Feature maps: a similarity written as sums of products, so that sums over all pairs become sums over points.

Every kernelisable metric is an *affine inner product*

.. math:: w_{ij} = \\text{shift} + \\text{offset}_i + \\text{offset}_j + \\text{scale}\\,\\langle z_i, z_j\\rangle,

so the total weight between two sets of points follows from their sizes, the sums of their offsets and the sums of
their ``z``. This is the inverse kernel trick of [1]_, in a form that needs one copy of the data at most: instead of
``z`` itself, :class:`FeatureMap` holds the data and how to get ``z`` from a row.

References
----------
.. [1] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors. AAAI 2021.
.. [2] Rahimi, Recht. Random features for large-scale kernel machines. NeurIPS 2007.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cladify._kit.parallel import map_blocks, row_blocks
from cladify.data._vectors import is_sparse, squared_norms

__all__ = ["FeatureMap"]

_BLOCK = 1 << 18  # values a block: small enough to stay in the cache, large enough for BLAS
_SMALL, _LARGE = 1e-20, 1e30  # squared lengths whose products, and differences, float32 holds


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """``w_ij = shift + offset[i] + offset[j] + scale * <z[i], z[j]>`` with ``z = (rows - centre) * row_scale``.

    Parameters
    ----------
    rows : float32 or float64 array of shape (n, k), or CSR
        The data as it came; never copied here.
    offset : float64 array of shape (n,)
    scale, shift : float
    exact : bool
        False for random features, where ``w_ij`` is met in expectation.
    centre : float64 array of shape (k,), optional
        Subtracted from every row (never with CSR rows).
    row_scale : float64 array of shape (n,), optional
        Factor of every row, after the centre.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.similarity import sqeuclidean
    >>> features = sqeuclidean.features(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> features.block([0], [1]).tolist()
    [[25.0]]
    """

    rows: Any
    offset: np.ndarray
    scale: float
    shift: float
    exact: bool
    centre: np.ndarray | None = None
    row_scale: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(points, features)."""
        return (int(self.rows.shape[0]), int(self.rows.shape[1]))

    @cached_property
    def z(self) -> Any:
        """The features in float32: the data itself where nothing changes, otherwise its one copy. CSR stays CSR."""
        if is_sparse(self.rows):
            rows = self.rows.astype(np.float32, copy=False)
            if self.row_scale is None:
                return rows
            rows = rows.copy() if rows is self.rows else rows
            rows.data *= np.repeat(self.row_scale, np.diff(rows.indptr)).astype(np.float32)
            return rows
        if self.centre is None and self.row_scale is None:
            return np.ascontiguousarray(self.rows, dtype=np.float32)
        z = np.empty(self.shape, dtype=np.float32)
        blocks = row_blocks(len(z), max(1, _BLOCK // z.shape[1]))
        if self.rows.dtype == np.float64:

            def fill(rows: slice) -> None:
                z[rows] = self.take(rows)
        else:
            centre = None if self.centre is None else self.centre.astype(np.float32)
            row_scale = None if self.row_scale is None else self.row_scale.astype(np.float32)[:, None]

            def fill(rows: slice) -> None:
                part = self.rows[rows]
                if centre is not None:
                    part = np.subtract(part, centre, out=z[rows])
                if row_scale is not None:
                    np.multiply(part, row_scale[rows], out=z[rows])

        map_blocks(fill, blocks)
        return z

    def take(self, rows: Any) -> Any:
        """``z`` of some rows, in float64 (CSR stays CSR), without making the whole of it."""
        part = self.rows[rows].astype(np.float64)
        if is_sparse(part):
            if self.row_scale is not None:
                part.data *= np.repeat(self.row_scale[rows], np.diff(part.indptr))
            return part
        if self.centre is not None:
            part -= self.centre
        if self.row_scale is not None:
            part *= self.row_scale[rows, None]
        return part

    def in_units(self) -> tuple[FeatureMap, float]:
        """The map of w / unit, and the unit: 1 unless the squares of the rows come near the limits of float32."""
        largest = float(self.offset.max(initial=0.0))
        if largest == 0.0 and self.shift == 0.0 and self.exact:  # products
            largest = float(squared_norms(self.rows).max(initial=0.0))
        if self.shift != 0.0 or largest == 0.0 or _SMALL <= largest <= _LARGE:
            return self, 1.0
        length = 2.0 ** round(np.log2(largest) / 2.0)  # a power of two: no digit of a row is lost
        row_scale = np.full(self.shape[0], 1.0 / length) if self.row_scale is None else self.row_scale / length
        return replace(self, offset=self.offset / length**2, row_scale=row_scale), length**2

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """``w`` between some rows and some others, in float64."""
        product = self.take(rows) @ self.take(columns).T
        product = product.toarray() if is_sparse(product) else product
        product *= self.scale
        product += self.shift
        product += self.offset[rows, None]
        product += self.offset[None, columns]
        return product

    @property
    def phi(self) -> Any:
        """φ of the asymmetric form ``w_ij = <φ_i, ψ_j>``: (scale·z, offset + shift, 1)."""
        return self._columns(np.float32(self.scale), self.offset + self.shift, np.ones(len(self.offset)))

    @property
    def psi(self) -> Any:
        """ψ of the asymmetric form ``w_ij = <φ_i, ψ_j>``: (z, 1, offset)."""
        return self._columns(np.float32(1.0), np.ones(len(self.offset)), self.offset)

    def _columns(self, factor: np.float32, left: np.ndarray, right: np.ndarray) -> Any:
        extra = np.stack([left, right], axis=1).astype(np.float32)
        if is_sparse(self.z):
            from scipy.sparse import csr_array, hstack

            return hstack([self.z * factor, csr_array(extra)], format="csr")
        return np.hstack([self.z * factor, extra])


def random_fourier(X: Any, gamma: float, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Random Fourier features of ``exp(-gamma |x - y|²)`` [2]_: float32 (n, n_features).

    Half of the features are cosines and half sines of the same random projections, which has a lower variance than
    random phases and makes the weight of a point with itself exactly 1. The error of one weight has a standard
    deviation of at most ``1 / sqrt(n_features)``.
    """
    n, d = X.shape
    half = (n_features + 1) // 2
    directions = rng.normal(scale=np.sqrt(2.0 * gamma), size=(d, half)).astype(X.dtype)
    z = np.empty((n, 2 * half), dtype=np.float32)
    factor = np.float32(1.0 / np.sqrt(half))

    def fill(rows: slice) -> None:
        angle = np.asarray(X[rows] @ directions)
        np.multiply(np.cos(angle), factor, out=z[rows, :half], casting="same_kind")
        np.multiply(np.sin(angle), factor, out=z[rows, half:], casting="same_kind")

    map_blocks(fill, row_blocks(n, max(1, _BLOCK // (2 * half))))
    return z


def random_binning(X: Any, gamma: float, n_grids: int, rng: np.random.Generator) -> Any:
    """Random binning features of ``exp(-gamma |x - y|_1)`` [2]_: CSR with one entry a grid and point.

    Each grid has, in every dimension, a pitch from a Gamma(2, 1/gamma) distribution and a uniform shift; two points
    share a bin with probability exactly ``exp(-gamma |x - y|_1)``. The error of one weight has a standard deviation of
    at most ``1 / (2 sqrt(n_grids))``.
    """
    from scipy.sparse import csr_array

    n, d = X.shape
    seeds = rng.spawn(n_grids)

    def bins(generator: np.random.Generator) -> tuple[np.ndarray, int]:
        pitch = generator.gamma(2.0, 1.0 / gamma, size=d)
        shift = generator.uniform(size=d)
        # A bin is a vector of d integers; a random odd multiplier a dimension turns it into one 64-bit key.
        key = generator.integers(0, 2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        code = np.zeros(n, dtype=np.uint64)
        if is_sparse(X):  # a column that is 0 lies in bin 0, and adds nothing
            hashed = _bin(X.data, pitch[X.indices], shift[X.indices]) * key[X.indices]
            np.add.at(code, np.repeat(np.arange(n), np.diff(X.indptr)), hashed)
        for rows in [] if is_sparse(X) else row_blocks(n, max(1, _BLOCK // d)):
            code[rows] = (_bin(X[rows], pitch, shift) * key).sum(axis=1, dtype=np.uint64)
        values, index = np.unique(code, return_inverse=True)
        return index.astype(np.int64), len(values)

    grids = map_blocks(bins, seeds)
    first = np.concatenate([[0], np.cumsum([count for _, count in grids])])
    indices = np.stack([index + start for (index, _), start in zip(grids, first, strict=False)], axis=1)
    data = np.full(n * n_grids, 1.0 / np.sqrt(n_grids), dtype=np.float32)
    indptr = np.arange(n + 1, dtype=np.int64) * n_grids
    return csr_array((data, indices.ravel(), indptr), shape=(n, int(first[-1])))


def _bin(values: np.ndarray, pitch: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The number of the bin, modulo 2⁶²: values far from 0 have numbers that no integer holds."""
    return np.fmod(np.floor(values / pitch + shift), 2.0**62).astype(np.int64).view(np.uint64)
