"""The values of an address, read strictly: ASCII digits only, of bounded length, finite and in range."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from cladify.errors import InvalidInput

__all__ = ["cut_of", "real", "whole", "whole_number"]

_WHOLE = re.compile(r"[0-9]{1,18}")  # fits into 64 bits
_REAL = re.compile(r"[+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


def whole_number(text: str, name: str) -> int:
    """A number of at most 18 digits.

    >>> whole_number("012", "node")
    12
    """
    if not _WHOLE.fullmatch(text):
        raise InvalidInput(f"{name} must be a number of 1 to 18 digits, got {text[:40]!r}.")
    return int(text)


def whole(values: Mapping[str, str], name: str, *, default: int | None = None, high: int | None = None) -> int:
    """The value ``name`` as a whole number in [0, high]."""
    if name not in values:
        if default is None:
            raise InvalidInput(f"The address lacks {name}=.")
        return default
    value = whole_number(values[name], name)
    if high is not None and value > high:
        raise InvalidInput(f"{name} must be in [0, {high}], got {value}.")
    return value


def real(values: Mapping[str, str], name: str, default: str = "") -> float:
    """The value ``name`` as a finite number."""
    text = values.get(name, default)
    value = float(text) if _REAL.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"{name} must be a finite number, got {text[:40]!r}.")
    return value


def cut_of(values: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of :meth:`View.cut`."""
    if "level" in values:
        return {"level": whole(values, "level")}
    if "height" in values:
        return {"height": real(values, "height")}
    return {"n": max(1, whole(values, "n", default=1))}
