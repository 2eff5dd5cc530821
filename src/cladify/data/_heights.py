"""The one rule from the value of a pair to a height in the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["HeightRule"]


class HeightRule(NamedTuple):
    """``height = shift + slope · value``, 0 for equal points where the metric has a largest value.

    Distances are heights as they are, (0, 1). A similarity of known largest value counts from there: cosine weights as
    (2, −2), which is 1 − cos, kernels as (1, −1). Where no largest value is known, (0, −1), heights count from the
    largest one of the data, which :meth:`from_top` sets.

    >>> HeightRule(2.0, -2.0)(0.75), HeightRule(2.0, -2.0).value(0.5)
    (0.5, 0.75)
    >>> HeightRule(0.0, -1.0).from_top(9.0)(4.0)
    5.0
    """

    shift: float
    slope: float

    def __call__(self, value: Any) -> Any:
        """The height of a value, or of an array of them."""
        return value if self == (0.0, 1.0) else self.shift + self.slope * value

    def value(self, height: Any) -> Any:
        """The value of a height."""
        return (height - self.shift) / self.slope

    @property
    def is_open(self) -> bool:
        """Whether the largest value is not known."""
        return self.shift == 0.0 and self.slope < 0.0

    def from_top(self, top: float) -> HeightRule:
        """The rule in which the value ``top`` has height 0, where none is known to."""
        return HeightRule(-self.slope * top, self.slope) if self.is_open else self
