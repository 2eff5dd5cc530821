"""A value that says whether it is exact, and how sure it is when it is not."""

from __future__ import annotations

from typing import Any, Self

__all__ = ["Estimate"]


class Estimate(float):
    """A float that also says how it was found.

    Attributes
    ----------
    exact : bool
        True when nothing was sampled.
    interval : tuple of two floats
        95 % confidence interval; the value twice when it is exact.
    n_samples : int
        How many pairs or triples were sampled; 0 when it is exact.

    Examples
    --------
    >>> Estimate(0.5)
    Estimate(0.5, exact)
    >>> Estimate(0.5, interval=(0.4, 0.6), n_samples=100)
    Estimate(0.5, interval=(0.4, 0.6), n_samples=100)
    """

    exact: bool
    interval: tuple[float, float]
    n_samples: int

    def __new__(cls, value: Any, interval: tuple[float, float] | None = None, n_samples: int = 0) -> Self:
        self = super().__new__(cls, value)
        self.exact = interval is None
        self.interval = (float(value), float(value)) if interval is None else interval
        self.n_samples = n_samples
        return self

    def __repr__(self) -> str:
        if self.exact:
            return f"Estimate({float(self):.6g}, exact)"
        low, high = self.interval
        return f"Estimate({float(self):.6g}, interval=({low:.6g}, {high:.6g}), n_samples={self.n_samples})"

    def __str__(self) -> str:
        return float.__repr__(self)
