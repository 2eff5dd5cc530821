"""Checks at the door: every public function checks its input once, here, and the kernels trust it.

Each check returns the value in the form the code works with and raises :class:`~ramify.errors.InvalidInput` with a
message that says what was expected, what came, where, and what to do.
"""

from __future__ import annotations

import difflib
import numbers
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ramify.errors import InvalidInput, InvalidType, NotEnoughMemory

__all__ = [
    "available_memory",
    "check_choice",
    "check_float",
    "check_int",
    "check_labels",
    "check_memory",
    "check_random_state",
    "check_sample_weight",
    "check_vectors",
    "choice",
    "integer",
    "is_sparse",
    "number",
    "optional",
]

Check = Callable[[str, Any], Any]


# --- parameters -------------------------------------------------------------------------------------------------------


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """``value`` if it is one of ``choices``; otherwise an error with the nearest one.

    >>> check_choice("linkage", "wrad", ["average", "ward"])
    Traceback (most recent call last):
    ...
    ramify.errors.InvalidInput: linkage 'wrad' is not known. Did you mean 'ward'? Known: average, ward.
    """
    if isinstance(value, str) and value in choices:
        return value
    known = f"Known: {', '.join(choices)}."
    near = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise InvalidInput(f"{name} {value!r} is not known. {hint}{known}")


def check_int(name: str, value: Any, *, low: int | None = None, high: int | None = None, why: str = "") -> int:
    """``value`` as an int within ``[low, high]``; ``why`` explains a bound that depends on the data."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not whole or (low is not None and value < low) or (high is not None and value > high):
        raise InvalidInput(f"{name} must be an int{_interval(low, high)}{why and ' ' + why}, got {value!r}.")
    return int(value)


def check_float(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
) -> float:
    """``value`` as a finite float within ``[low, high]`` (``(low, high]`` with ``open_low``)."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and np.isfinite(float(value))
    below = real and low is not None and (value <= low if open_low else value < low)
    if not real or below or (high is not None and value > high):
        span = _interval(low, high, "(" if open_low else "[")
        raise InvalidInput(f"{name} must be a finite number{span}, got {value!r}.")
    return float(value)


def _interval(low: float | None, high: float | None, bracket: str = "[") -> str:
    if low is not None and high is not None:
        return f" in {bracket}{low}, {high}]"
    if low is not None:
        return f" {'above' if bracket == '(' else 'of at least'} {low}"
    return "" if high is None else f" of at most {high}"


def choice(*choices: str) -> Check:
    """A check for an estimator's table of parameters: one of these words."""
    return lambda name, value: check_choice(name, value, choices)


def integer(low: int | None = None, high: int | None = None) -> Check:
    """A check for an estimator's table of parameters: an int in these bounds."""
    return lambda name, value: check_int(name, value, low=low, high=high)


def number(low: float | None = None, high: float | None = None, *, open_low: bool = False) -> Check:
    """A check for an estimator's table of parameters: a finite number in these bounds."""
    return lambda name, value: check_float(name, value, low=low, high=high, open_low=open_low)


def optional(check: Check) -> Check:
    """A check for an estimator's table of parameters: None, or what ``check`` accepts."""
    return lambda name, value: None if value is None else check(name, value)


def check_random_state(seed: Any) -> np.random.Generator:
    """A NumPy ``Generator`` from None, an int, a ``Generator`` or a legacy ``RandomState``."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**32, size=4, dtype=np.uint32))
    if seed is None or (isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0):
        return np.random.default_rng(None if seed is None else int(seed))
    raise InvalidInput(f"random_state must be None, an int of at least 0 or a NumPy Generator, got {seed!r}.")


# --- data -------------------------------------------------------------------------------------------------------------


def is_sparse(X: Any) -> bool:
    """True for a SciPy sparse matrix or array."""
    from scipy.sparse import issparse

    return bool(issparse(X))


def check_vectors(
    X: Any,
    *,
    name: str = "X",
    min_rows: int = 1,
    accept_sparse: bool = True,
    nonzero_rows: bool = False,
    n_features: int | None = None,
    model: str = "the model",
    finite: bool = True,
) -> Any:
    """Rows to work on: a finite float32 or float64 array (float32 and memory maps without a copy), or CSR rows.

    ``nonzero_rows`` is for cosine, where a zero row has no direction. Smaller floats and integers that float32 holds
    exactly become float32; everything else numeric becomes float64. ``finite=False`` leaves the search for NaN and
    infinity, a pass over the data, to a caller who finds them on its own way.
    """
    sparse = is_sparse(X)
    if hasattr(X, "to_scipy"):
        raise InvalidType(
            f"{name} is a graph of neighbours, and this method takes vectors; give it those, or use one that works on "
            "graphs: hac, reciprocal, affinity, scc, robust, bisect, sat or spectral."
        )
    if sparse and not accept_sparse:
        raise InvalidInput(
            f"{name} is sparse, which this method does not take. Pass {name}.toarray() if it fits in memory."
        )
    X = _as_csr(X, name) if sparse else _as_dense(X, name)
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
        _check_finite(X, name)
    if nonzero_rows:
        _check_nonzero_rows(X, name)
    return X


def _as_csr(X: Any, name: str) -> Any:
    X = X.tocsr()
    X.sum_duplicates()
    if X.dtype.kind == "c":
        raise InvalidInput(f"Complex data not supported: {name} has dtype {X.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(_work_dtype(X.dtype))
    return X


def _as_dense(X: Any, name: str) -> np.ndarray:
    try:
        X = np.asanyarray(X) if isinstance(X, np.ndarray) else np.asarray(X)
    except ValueError as error:
        raise InvalidInput(f"{name} is not a rectangular array of numbers: {error}.") from None
    if X.dtype.kind == "c":
        raise InvalidInput(f"Complex data not supported: {name} has dtype {X.dtype}.")
    if X.dtype.kind not in "fiub":
        try:
            if X.dtype.kind in "USV":
                raise ValueError("it holds text or records")
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
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
        X = X.astype(_work_dtype(X.dtype))
    return X


def _work_dtype(dtype: np.dtype) -> type:
    """float32 for what it holds exactly, float64 otherwise."""
    return np.float32 if np.can_cast(dtype, np.float32, "safe") else np.float64


def _check_finite(X: Any, name: str) -> None:
    from ramify.parallel import row_blocks

    values = X.data if is_sparse(X) else X
    if values.size == 0:
        return
    step = max(1, 2**22 // (1 if values.ndim == 1 else values.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        # A block's sum is finite when all its values are (an overflow is looked at again): no boolean copy of X.
        if all(
            np.isfinite(values[rows].sum()) or np.isfinite(values[rows]).all() for rows in row_blocks(len(values), step)
        ):
            return
    bad = np.zeros(X.shape[0], dtype=bool)
    has_nan = False
    if is_sparse(X):
        wrong = ~np.isfinite(X.data)
        bad[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[wrong]] = True
        has_nan = bool(np.isnan(X.data[wrong]).any())
    else:
        for rows in row_blocks(len(X), step):
            bad[rows] = ~np.isfinite(X[rows]).all(axis=1)
            has_nan = has_nan or bool(np.isnan(X[rows][bad[rows]]).any())
    what = "NaN" if has_nan else "inf"
    raise InvalidInput(f"{name} has {what} in {_rows(bad)}; drop or impute them before clustering.")


def _check_nonzero_rows(X: Any, name: str) -> None:
    from ramify.features import squared_norms

    zero = squared_norms(X) == 0
    if zero.any():
        raise InvalidInput(
            f"{name} has {_rows(zero, 'zero row')}, which have no direction under cosine; "
            "drop them or use metric='sqeuclidean'."
        )


def _rows(where: np.ndarray, noun: str = "row") -> str:
    """How many rows a mask marks, and the first of them."""
    marked = np.flatnonzero(where)
    return f"{len(marked)} {noun}{'s' * (len(marked) > 1)} (first: {', '.join(map(str, marked[:3]))})"


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray | None:
    """Positive leaf multiplicities as float64, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise InvalidInput(f"sample_weight must have shape ({n},), one weight a row, got {weight.shape}.")
    if not np.isfinite(weight).all() or (weight <= 0).any():
        raise InvalidInput("sample_weight must be finite and above zero; drop the rows that should not count.")
    return weight


def check_labels(y: Any, n: int, *, name: str = "y") -> np.ndarray:
    """Class of each point as int64 codes 0, 1, … in sorted order of the labels; -1 (noise, unlabelled) stays -1."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise InvalidInput(f"{name} must have shape ({n},), one label a leaf, got {y.shape}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput(f"{name} has NaN or inf; use -1 for points without a label.")
    values, codes = np.unique(y, return_inverse=True)
    codes = codes.astype(np.int64).reshape(-1)
    if y.dtype.kind in "if" and len(values) and values[0] == -1:
        codes -= 1
    elif y.dtype.kind in "if" and len(values) and values[0] < 0:
        raise InvalidInput(f"{name} has the label {values[0]}; labels are 0 or above, and -1 for points without one.")
    return codes


# --- memory -----------------------------------------------------------------------------------------------------------


def available_memory() -> int:
    """Bytes that can be allocated now: what the system reports, or the process's own limit where that is lower."""
    free = 0
    try:
        with open("/proc/meminfo") as lines:
            free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        if hasattr(os, "sysconf"):
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as limit, open(path.replace("max", "current").replace("limit", "usage")) as used:
                free = min(free, int(limit.read()) - int(used.read()))
        except (OSError, ValueError):
            continue
    return max(free, 0)


def check_memory(need: int, what: str, instead: str) -> None:
    """Raise before work that would not fit: ``what`` names the work, ``instead`` the alternative."""
    free = available_memory()
    if need > free:
        raise NotEnoughMemory(f"{what} needs {_size(need)}, {_size(free)} are free; {instead}")


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB" if n_bytes < 100 else f"{n_bytes:.0f} GB"
