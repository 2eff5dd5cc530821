"""The rows of a search in the form that matrix products need.

A metric whose order of neighbours is that of ⟨x, y⟩ or of |x − y|² (between rows scaled to length 1 for cosine) is
searched by scores ``⟨z_i, z_j⟩ + bias_j``, larger is nearer, where ``z`` is the row in float32: scaled for cosine,
moved to the mean of the data for distances (products of rows far from the origin would drown the distances), and
brought to a size whose squares float32 holds. The rows as they came stay at hand for the second look in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify.data._vectors import is_sparse, squared_norms

__all__ = ["Frame", "Prepared", "Rows", "row_squares", "to_unit_length"]

_VALUES = 1 << 19  # values of a block of rows while they are prepared


def row_squares(rows: Any, dtype: Any = None) -> np.ndarray:
    """|x|² of each row, dense or CSR, summed in the type of dense rows unless ``dtype`` says otherwise.

    :func:`cladify.data._vectors.squared_norms` is for large arrays: native, in float64.
    """
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=dtype)


def to_unit_length(rows: np.ndarray) -> None:
    """Scale rows that are not 0 to length 1, in place; of any size, as squares of large numbers are avoided."""
    rows /= np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.sqrt(row_squares(rows))[:, None]


@dataclass(frozen=True)
class Frame:
    """How rows become ``z``: shared by the data and by queries against it."""

    order: str
    centre: np.ndarray | None
    unit: float

    @classmethod
    def of(cls, X: Any, order: str, n_jobs: int | None, queries: Any = None) -> Frame:
        """The frame that suits the data ``X``, and holds the ``queries``."""
        factor = _factor(X, order)
        centre = None
        if order != "product" and not is_sparse(X):
            blocks = _blocks(X)
            parts = map_blocks(lambda rows: _scaled(X, factor, rows).sum(axis=0), blocks, n_jobs=n_jobs)
            centre = np.sum(parts, axis=0) / X.shape[0]
        if order == "angle":
            return cls(order, centre, 1.0)
        largest = max(map(_largest, (X,) if queries is None else (X, queries)))
        # A power of two, so that scaling rounds nothing; and only where float32 would overflow or underflow.
        unit = 1.0 if 1e-12 < largest < 1e12 or largest == 0.0 else 2.0 ** -np.frexp(largest)[1]
        return cls(order, centre, float(unit))


@dataclass(frozen=True)
class Prepared:
    """The ``z`` of dense rows, made whenever some are asked for."""

    data: np.ndarray
    factor: np.ndarray
    frame: Frame

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: Any) -> np.ndarray:
        """``z[slice]`` or ``z[ids]``."""
        ids = np.arange(*rows.indices(len(self)), dtype=np.int32) if isinstance(rows, slice) else rows
        return self.take(ids.astype(np.int32, copy=False), np.empty((len(ids), self.data.shape[1]), dtype=np.float32))

    def take(self, ids: np.ndarray, out: np.ndarray) -> np.ndarray:
        """``z`` of the rows ``ids`` (int32), written to ``out``."""
        centre = np.empty(0) if self.frame.centre is None else self.frame.centre
        _core.prepare_rows(self.data, self.factor, centre, self.frame.unit, ids, out)
        return out


@dataclass(frozen=True)
class Rows:
    """Rows and their ``z``.

    Attributes
    ----------
    data : C-contiguous float32 or float64 array, or CSR
        The rows as they came.
    factor : float64 array
        1 / length of each row for cosine; empty for other metrics.
    z : float32 array, CSR or Prepared
    bias : float32 array
        −|z|²/2 for distances, 0 for products.
    length : float64 array
        |z|.
    """

    frame: Frame
    data: Any
    factor: np.ndarray
    z: Any
    bias: np.ndarray
    length: np.ndarray

    @classmethod
    def of(cls, X: Any, frame: Frame, n_jobs: int | None = -1, *, keep: bool = True) -> Rows:
        """Prepare the rows of ``X``, which may differ from those the frame was made for.

        Dense ``z`` that are not to be kept are computed on each access: a search that takes them block by
        block then needs no copy of the data.
        """
        factor = _factor(X, frame.order)
        length = np.empty(X.shape[0])
        if is_sparse(X):
            X = _canonical(X)
            z = _scaled(X, factor, slice(None)) * frame.unit
            length[:] = np.sqrt(squared_norms(z))
            z = _canonical(z.astype(np.float32))
        else:
            X = np.ascontiguousarray(X)
            as_it_is = frame.order == "product" and frame.unit == 1.0 and X.dtype == np.float32
            z = X if as_it_is else np.empty(X.shape, dtype=np.float32) if keep else Prepared(X, factor, frame)

            def fill(rows: slice) -> None:
                part = _take(X, factor, frame, rows)
                if isinstance(z, np.ndarray) and z is not X:
                    z[rows] = part
                length[rows] = np.sqrt(row_squares(part))

            map_blocks(fill, _blocks(X), n_jobs=n_jobs)
        bias = np.zeros(len(length)) if frame.order == "product" else -0.5 * length**2
        return cls(frame, X, factor, z, bias.astype(np.float32), length)

    def __len__(self) -> int:
        return int(self.data.shape[0])

    @property
    def width(self) -> int:
        return int(self.data.shape[1])

    def part(self, rows: np.ndarray) -> Rows:
        """Some of the rows."""
        factor = self.factor[rows] if len(self.factor) else self.factor
        return Rows(self.frame, self.data[rows], factor, self.z[rows], self.bias[rows], self.length[rows])

    def gather(self, ids: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Dense ``z`` of the rows ``ids`` (int32), written to ``out``."""
        if isinstance(self.z, Prepared):
            return self.z.take(ids, out)
        return np.take(self.z, ids, axis=0, out=out, mode="clip")

    def take(self, rows: Any) -> Any:
        """``z`` of some rows in float64; CSR stays CSR."""
        return _take(self.data, self.factor, self.frame, rows)

    def scores(self, rows: slice, others: Rows, columns: slice, out: np.ndarray) -> np.ndarray:
        """⟨z_i, z_j⟩ of some rows and some rows of ``others`` (without the bias), written to ``out``."""
        if not is_sparse(self.z):
            return np.matmul(self.z[rows], others.z[columns].T, out=out)
        left, right = self.z[rows], others.z[columns].tocsc()
        _core.sparse_block(
            left.data,
            left.indices,
            left.indptr.astype(np.int64),
            right.data,
            right.indices,
            right.indptr.astype(np.int64),
            out,
        )
        return out

    @property
    def native(self) -> tuple[Any, ...]:
        """The rows as the arguments that the kernels take."""
        if is_sparse(self.data):
            return self.data.data, self.data.indices, self.data.indptr.astype(np.int64), self.factor
        return self.data, self.factor


def _blocks(X: Any) -> list[slice]:
    return row_blocks(X.shape[0], max(1, _VALUES // X.shape[1]))


def _largest(X: Any) -> float:
    """The largest absolute value."""
    if is_sparse(X):
        return float(np.abs(X.data).max(initial=0.0))
    return max((float(np.abs(X[rows]).max()) for rows in _blocks(X)), default=0.0)


def _factor(X: Any, order: str) -> np.ndarray:
    """One over the length of each row for cosine, and nothing for other metrics."""
    if order != "angle":
        return np.empty(0)
    if is_sparse(X):
        return 1.0 / np.sqrt(squared_norms(X))
    norms = map_blocks(partial(_norms, X), _blocks(X))
    return 1.0 / np.concatenate(norms)


def _norms(X: np.ndarray, rows: slice) -> np.ndarray:
    part = X[rows].astype(np.float64)
    return np.sqrt(row_squares(part))


def _canonical(X: Any) -> Any:
    """CSR with sorted int32 columns."""
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    if X.indices.dtype != np.int32:
        X = X.copy()
        X.indices = X.indices.astype(np.int32)
        X.indptr = X.indptr.astype(np.int64)
    return X


def _scaled(X: Any, factor: np.ndarray, rows: Any) -> Any:
    part = X[rows].astype(np.float64)
    if len(factor):
        if is_sparse(part):
            part.data *= np.repeat(factor[rows], np.diff(part.indptr))
        else:
            part *= factor[rows, None]
    return part


def _take(X: Any, factor: np.ndarray, frame: Frame, rows: Any) -> Any:
    part = _scaled(X, factor, rows)
    if frame.centre is not None:
        part -= frame.centre
    if frame.unit != 1.0:
        part *= frame.unit
    return part
