"""Rows and weights, checked at the door: every public function checks its data once, and the kernels trust it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.arrays import aligned, column_names
from cladify._kit.parallel import resolve_jobs, row_blocks
from cladify.errors import InvalidInput, InvalidType

__all__ = [
    "aligned",
    "as_csr",
    "check_sample_weight",
    "check_vectors",
    "column_names",
    "columns_in_use",
    "is_sparse",
    "squared_norms",
]


def is_sparse(X: Any) -> bool:
    """True for a SciPy sparse matrix or array."""
    from scipy.sparse import issparse

    return bool(issparse(X))


def columns_in_use(X: Any) -> np.ndarray:
    """The columns of sparse rows that store something, and one at least: the others change no distance."""
    return np.union1d([0], X.indices)


def check_vectors(
    X: Any,
    *,
    name: str = "X",
    min_rows: int = 1,
    accept_sparse: bool = True,
    nonzero_rows: bool = False,
    squares: bool = True,
    n_features: int | None = None,
    model: str = "the model",
    finite: bool = True,
) -> Any:
    """Rows to work on: a finite float32 or float64 array (float32 and memory maps without a copy), or CSR rows.

    Taken are arrays, lists, data frames (pandas, polars), a Series or list of arrays (stacked) and every SciPy sparse
    format; none of them is changed. Smaller floats and integers that float32 holds exactly become float32; everything
    else numeric becomes float64.

    ``nonzero_rows`` is for cosine, where a zero row has no direction and a row's length does not matter: rows whose
    squares float64 does not hold are scaled, each by a power of two. With ``squares``, values whose squares float32
    does not hold become float64, and those whose squares float64 does not hold are refused. ``finite=False`` leaves
    both searches, a pass over the data, to a caller who finds such values on its own way.
    """
    if getattr(X, "n_points", None) is not None:  # a NeighborGraph, whose module stands above this one
        raise InvalidType(
            f"{name} is a graph of neighbours, and this takes vectors; give it those, or use a method that works on "
            "graphs (`cladify methods` lists them)."
        )
    sparse = is_sparse(X)
    if sparse and not accept_sparse:
        raise InvalidInput(
            f"{name} is sparse, which this method does not take. Pass {name}.toarray() if it fits in memory."
        )
    X = as_csr(X, name) if sparse else _as_dense(X, name)
    n, d = X.shape
    if n < min_rows:
        raise InvalidInput(
            f"{name} has {n} sample(s) (shape={X.shape}) while a minimum of {min_rows} is required. "
            "Was everything filtered out?"
        )
    if d == 0:
        raise InvalidInput(f"{name} has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if n_features is not None and d != n_features:
        raise InvalidInput(
            f"{name} has {d} features, but {model} is expecting {n_features} features as input; embed both alike."
        )
    if finite:
        largest = _largest(X, name)
        if nonzero_rows:
            X = _with_lengths(X, name, largest)
        elif squares:
            X = _with_squares(X, name, largest)
    return X


#: Largest and smallest sizes of data whose squares, times the cube of the number of rows, float64 and float32 hold.
_LARGE64, _SMALL64 = 2.0**450, 2.0**-450
_LARGE32, _SMALL32 = 2.0**50, 2.0**-50


def _with_squares(X: Any, name: str, largest: float) -> Any:
    """``X`` in a precision that holds the squares of its values, if there is one."""
    if largest > _LARGE64 or 0.0 < largest < _SMALL64:
        large = largest > _LARGE64
        raise InvalidInput(
            f"{name} has values {'up to' if large else 'of at most'} {largest:.1e}, whose squares are too "
            f"{'large' if large else 'small'} for float64; {'divide' if large else 'multiply'} {name} by "
            f"{largest if large else 1 / max(largest, 1e-307):.0e} before clustering."
        )
    if X.dtype == np.float32 and (largest > _LARGE32 or 0.0 < largest < _SMALL32):
        return X.astype(np.float64)
    return X


def _with_lengths(X: Any, name: str, largest: float) -> Any:
    """``X`` with rows whose lengths can be worked out; which they have does not matter, but 0 is none."""
    with np.errstate(over="ignore", under="ignore"):
        square = squared_norms(X).astype(np.float64, copy=False)  # integers where nothing is stored
    small, large = (_SMALL64, _LARGE64) if X.dtype == np.float64 else (_SMALL32, _LARGE32)
    if square.min(initial=np.inf) >= small**2 and largest <= large:
        return X
    if is_sparse(X):
        top = np.zeros(X.shape[0])
        np.maximum.at(top, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), np.abs(X.data))
    else:
        top = np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)
    if (top == 0).any():
        raise InvalidInput(
            f"{name} has {_rows(top == 0, 'zero row')}, which have no direction under cosine; "
            "drop them or use metric='sqeuclidean'."
        )
    exponent = -np.frexp(top)[1]
    if is_sparse(X):
        data = np.ldexp(X.data.astype(np.float64), np.repeat(exponent, np.diff(X.indptr)))
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    return np.ldexp(X.astype(np.float64), exponent[:, None])


def as_csr(X: Any, name: str = "X") -> Any:
    """Any SciPy sparse matrix as a canonical ``csr_array`` of floats; ``X`` itself stays as it is."""
    from scipy.sparse import csr_array

    if X.ndim != 2:
        raise InvalidInput(f"{name} must be 2-D (samples, features), got a sparse array of shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        what = "Complex data not supported" if X.dtype.kind == "c" else "numbers are needed"
        raise InvalidInput(f"{what}: {name} has dtype {X.dtype}.")
    _check_bounds(X, name)
    csr = csr_array(X if X.format == "csr" else X.tocsr())
    if X.format not in ("csr", "csc", "bsr", "coo"):
        _check_bounds(csr, name)
    parts = aligned(csr.data), aligned(csr.indices), aligned(csr.indptr)
    csr = csr_array(parts, shape=csr.shape)  # flags of its own: the given ones may be old
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr if csr.dtype in (np.float32, np.float64) else csr.astype(_work_dtype(csr.dtype))


def _check_bounds(X: Any, name: str) -> None:
    """Every index within the shape: SciPy trusts them, and so does native code."""
    ends = X.shape if X.format == "coo" else (X.shape[::-1] if X.format == "csc" else X.shape)
    if X.format == "coo":
        good = all(not len(i) or (i.min() >= 0 and i.max() < end) for i, end in zip(X.coords, ends, strict=True))
    elif X.format in ("csr", "csc", "bsr"):
        rows, columns = (
            end // block for end, block in zip(ends, X.blocksize if X.format == "bsr" else (1, 1), strict=True)
        )
        start, index = X.indptr, X.indices
        good = len(start) == rows + 1 and start[0] == 0 and start[-1] <= min(len(index), len(X.data))
        good = good and bool((start[1:] >= start[:-1]).all())
        index = index[: start[-1]] if good else index
        good = good and (not len(index) or (index.min() >= 0 and index.max() < columns))
    else:
        return
    if not good:
        raise InvalidInput(f"{name} is a broken sparse matrix: it has indices outside its shape {X.shape}.")


def _as_dense(X: Any, name: str) -> np.ndarray:
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.count_masked(X):
            raise InvalidInput(
                f"{name} is a masked array with {np.ma.count_masked(X)} masked values; drop or fill them "
                "(X.filled(value)) before clustering."
            )
        X = X.data
    try:
        X = np.asarray(X)
        if X.dtype == object and X.ndim == 1 and len(X):  # a Series or a list of arrays
            first = np.asarray(X[0])
            if first.ndim == 1 and first.dtype.kind in "fiub":
                X = np.stack([np.asarray(row) for row in X])
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"{name} is not a rectangular array of numbers: {reason}") from None
    if X.dtype.kind == "c":
        raise InvalidInput(f"Complex data not supported: {name} has dtype {X.dtype}.")
    if X.dtype.kind not in "fiub":
        try:
            if X.dtype.kind in "USV":
                raise ValueError("it holds text or records")
            if X.dtype.kind in "mM":
                raise TypeError("it holds dates or time spans")
            with np.errstate(all="ignore"):
                X = X.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise (InvalidType if isinstance(error, TypeError) else InvalidInput)(
                f"{name} must hold numbers, got dtype {X.dtype} ({error}). Embed texts and categories as vectors first."
            ) from None
    if X.ndim != 2:
        way_out = (
            f"Reshape your data: {name}.reshape(-1, 1) for a single feature, {name}.reshape(1, -1) for a single sample."
            if X.ndim == 1
            else "Flatten each sample to one row."
        )
        raise InvalidInput(f"{name} must be 2-D (samples, features), got shape {X.shape}. {way_out}")
    if X.dtype not in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            X = X.astype(_work_dtype(X.dtype))
    elif not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    return aligned(X)


def _work_dtype(dtype: np.dtype) -> type:
    """float32 for types that it holds exactly, float64 otherwise."""
    return np.float32 if np.can_cast(dtype, np.float32, "safe") else np.float64


def _largest(X: Any, name: str) -> float:
    """The largest size of a value, all of which must be finite."""
    values = X.data if is_sparse(X) else X
    if values.size == 0:
        return 0.0
    step = max(1, 2**20 // (1 if values.ndim == 1 else values.shape[1]))
    blocks = row_blocks(len(values), step)
    # The ends of a block are finite when all its values are: no boolean copy of X.
    ends = np.array([(values[rows].max(), -values[rows].min()) for rows in blocks], dtype=np.float64)
    if np.isfinite(ends).all():
        return float(ends.max())
    bad = np.zeros(X.shape[0], dtype=bool)
    has_nan = False
    if is_sparse(X):
        wrong = ~np.isfinite(X.data)
        bad[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[wrong]] = True
        has_nan = bool(np.isnan(X.data[wrong]).any())
    else:
        for rows in blocks:
            bad[rows] = ~np.isfinite(X[rows]).all(axis=1)
            has_nan = has_nan or bool(np.isnan(X[rows][bad[rows]]).any())
    what = "NaN" if has_nan else "inf"
    raise InvalidInput(f"{name} has {what} in {_rows(bad)}; drop or impute them before clustering.")


def _rows(where: np.ndarray, noun: str = "row") -> str:
    """How many rows a mask marks, and the first of them."""
    marked = np.flatnonzero(where)
    return f"{len(marked)} {noun}{'s' * (len(marked) > 1)} (first: {', '.join(map(str, marked[:3]))})"


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray | None:
    """Leaf multiplicities as float64, or None.

    A row of weight 0 gets its place in the tree but counts in no mean, sum or size. It does so through a weight so
    small that adding it to another changes no digit.
    """
    if sample_weight is None:
        return None
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"sample_weight must be an array of {n} numbers, got {type(sample_weight).__name__}."
        ) from None
    if weight.shape != (n,):
        raise InvalidInput(f"sample_weight must have shape ({n},), one weight a row, got {weight.shape}.")
    if not np.isfinite(weight).all() or (weight < 0).any() or (n and not weight.any()):
        raise InvalidInput("sample_weight must be finite, not below zero, and above zero for one row at least.")
    counts = weight[weight > 0]
    if n and (counts.max() > 1e100 or counts.min() < 1e-100):
        raise InvalidInput("sample_weight must lie between 1e-100 and 1e100, or be 0; divide it by its mean.")
    if len(counts) < n:
        weight[weight == 0] = 2.0**-100 * counts.min()
    return weight


_BLOCK = 1 << 18  # values a block: small enough to stay in the cache


def squared_norms(X: Any, centre: np.ndarray | None = None) -> np.ndarray:
    """|x - centre|² of every row in float64, without a float64 copy of X. CSR rows take no centre."""
    n, d = X.shape
    if is_sparse(X):
        squares = X.data.astype(np.float64) ** 2
        return np.bincount(np.repeat(np.arange(n), np.diff(X.indptr)), squares, minlength=n)
    centre = np.zeros(d) if centre is None else centre
    norms = np.empty(n)
    threads = min(resolve_jobs(-1), 1 + X.size // 1_000_000)
    # Rows that lie next to each other go as they are; others (Fortran order, strides) in blocks, never as a whole copy.
    blocks = [slice(0, n)] if X.flags.c_contiguous else row_blocks(n, max(1, _BLOCK // d))
    for rows in blocks:
        _core.squared_norms(np.ascontiguousarray(X[rows]), centre, norms[rows], threads)
    return norms
