"""Checks of parameters: each returns the value in the form the code works with, or raises an error with the way out.

A message says what was expected, what came, where, and what to do. Estimators list theirs in a table (``_checks``).
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cladify.errors import InvalidInput

__all__ = [
    "Check",
    "check_bool",
    "check_choice",
    "check_float",
    "check_int",
    "check_labels",
    "check_random_state",
    "choice",
    "integer",
    "number",
    "optional",
]

Check = Callable[[str, Any], Any]


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """``value`` if it is one of ``choices``; otherwise an error with the nearest one.

    >>> check_choice("linkage", "wrad", ["average", "ward"])
    Traceback (most recent call last):
    ...
    cladify.errors.InvalidInput: linkage 'wrad' is not known. Did you mean 'ward'? Known: average, ward.
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


def check_bool(name: str, value: Any) -> bool:
    """``value`` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be True or False, got {value!r}.")
    return bool(value)


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
    """A check for an estimator's table of parameters: None, or a value that ``check`` accepts."""
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
