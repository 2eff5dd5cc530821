"""Columns of the items as the page shows them: bins to colour by and to filter by, with counts.

Every column becomes one byte an item, the bin of its value; a million items and ten columns take ten megabytes, and
the counts of all columns under all filters some tens of milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.explore._text import one_line

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MISSING", "Column", "Columns", "bins_of", "shares"]

MISSING = 255  # the bin of items without a value
_MOST_VALUES = 30  # of a category that have a bin of their own; the others share one
_BINS = 32  # of numbers and times
_MOST_COLUMNS = 40
_TEXT = 0.5  # with more different values than this share of the items, a column is a text and not a category
_FILTER = re.compile(r"([0-9]{1,3}):([0-9]{1,3}(?:\.[0-9]{1,3}){0,255})")


@dataclass(frozen=True)
class Column:
    """One column in bins.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "time"}
        Numbers and times have bins in order.
    bins : list of str
        What each bin is called.
    codes : callable that returns a uint8 array of shape (n,)
        The bin of each item; 255 for none.
    low, high : str
        The ends of numbers and times, to write at a scale.
    """

    name: str
    kind: str
    bins: list[str]
    codes: Callable[[], np.ndarray]
    low: str = ""
    high: str = ""

    def meta(self) -> dict[str, Any]:
        """What the page has to know of it."""
        return {"name": self.name, "kind": self.kind, "bins": self.bins, "low": self.low, "high": self.high}


class Columns:
    """The columns of the items, in the order of the line of items.

    Parameters
    ----------
    columns : sequence of Column
    order : int array
        The row at each place of the line of items.
    """

    def __init__(self, columns: Sequence[Column], order: np.ndarray) -> None:
        self.columns = list(columns)[:_MOST_COLUMNS]
        self._order = order
        self._codes: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def code(self, i: int) -> np.ndarray:
        """The bins of column i along the line of items."""
        if i not in self._codes:
            self._codes[i] = self.columns[i].codes()[self._order]
        return self._codes[i]

    def meta(self) -> list[dict[str, Any]]:
        """What the page has to know of them."""
        return [column.meta() for column in self.columns]

    def of_row(self, place: int) -> list[dict[str, str]]:
        """Name and bin of each column for the item at a place."""
        found = []
        for i in range(len(self)):
            code = int(self.code(i)[place])
            if code != MISSING:
                found.append({"name": self.columns[i].name, "value": self.columns[i].bins[code]})
        return found

    def filters(self, text: str) -> dict[int, np.ndarray]:
        """Which bins of which columns may be shown, from an address: ``0:1.2.3,4:0`` is bins 1 to 3 of column 0, …"""
        found: dict[int, np.ndarray] = {}
        for part in filter(None, text[:4000].split(",")):
            match = _FILTER.fullmatch(part)
            if match is None or int(match[1]) >= len(self):
                raise InvalidInput(
                    f"filter must be column:bin.bin,… with columns below {len(self)}, got {part[:40]!r}."
                )
            allowed = np.zeros(256, dtype=bool)
            allowed[[min(int(code), MISSING) for code in match[2].split(".")]] = True
            found[int(match[1])] = allowed
        return found

    def mask(self, filters: Mapping[int, np.ndarray], without: int = -1) -> np.ndarray | None:
        """Which places pass all filters but that of one column; None for all."""
        passed = None
        for i, allowed in filters.items():
            if i == without:
                continue
            here = allowed[self.code(i)]
            passed = here if passed is None else passed & here
        return passed

    def counts(self, filters: Mapping[int, np.ndarray], shown: np.ndarray | None) -> dict[str, Any]:
        """Of each column, the items in every bin that pass the filters of the others; and how many pass all."""
        everything = _and(self.mask(filters), shown)
        passed = None if everything is None else np.flatnonzero(everything)
        found = []
        for i in range(len(self)):
            here = _and(self.mask(filters, without=i), shown) if i in filters else passed
            count = np.bincount(self.code(i) if here is None else self.code(i)[here], minlength=256)
            found.append([*count[: len(self.columns[i].bins)].tolist(), int(count[MISSING])])
        return {"total": len(self._order) if passed is None else len(passed), "columns": found}


def _and(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    return b if a is None else a if b is None else a & b


def bins_of(name: str, values: pa.Array, kind: str) -> Column | None:
    """A column in bins; None where it says nothing: one value, or a text of its own for most items.

    Examples
    --------
    >>> import pyarrow as pa
    >>> bins_of("year", pa.array([1999, 2024, None]), "category").bins
    ['1999', '2024']
    """
    if kind in ("number", "time"):
        numbers, valid = _numbers(values, kind)
        if not valid.any():
            return None
        if kind == "number" and len(np.unique(numbers[valid][:100_000])) <= 12 and _is_whole(numbers[valid]):
            return _categories(name, values, ordered=True)
        return _ordered(name, kind, numbers, valid)
    return _categories(name, values, ordered=False)


def _is_whole(numbers: np.ndarray) -> bool:
    return bool((numbers == np.round(numbers)).all())


def _numbers(values: pa.Array, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Values as float64, times as seconds, and which of them there are."""
    import pyarrow as pa

    valid = np.asarray(values.is_valid())
    if kind == "time":
        if pa.types.is_timestamp(values.type) and values.type.tz is not None:
            values = values.cast(pa.timestamp(values.type.unit))
        whole = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        return np.asarray(whole.fill_null(0), np.float64), valid
    numbers = np.asarray(values.cast(pa.float64(), safe=False).fill_null(np.nan), np.float64)
    return numbers, valid & np.isfinite(numbers)


def _ordered(name: str, kind: str, numbers: np.ndarray, valid: np.ndarray) -> Column:
    """Bins of equal width over the middle 99 % of the values; by ratios where the values span many powers of ten."""
    inside = numbers[valid]
    low, high = np.quantile(inside, [0.005, 0.995]).tolist()
    if low == high:
        low, high = float(inside.min()), float(inside.max())
    by_ratio = kind == "number" and inside.min() > 0 and high > 50 * low
    scale: Callable[[Any], Any] = np.log if by_ratio else lambda value: value
    start, end = float(scale(low)), float(scale(high))
    edges = np.linspace(start, end, _BINS + 1) if end > start else np.array([start, start + 1])
    code = np.full(len(numbers), MISSING, np.uint8)
    code[valid] = np.clip(np.searchsorted(edges, scale(inside), side="right") - 1, 0, len(edges) - 2)
    shown = [_shown(float(np.exp(edge) if by_ratio else edge), kind, (end - start) / _BINS) for edge in edges]
    bins = [f"{a} to {b}" for a, b in pairwise(shown)]
    return Column(name, kind, bins, lambda: code, shown[0], shown[-1])


def _shown(value: float, kind: str, width: float) -> str:
    if kind == "number":
        return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
    unit = "Y" if width > 300 * 86400 else "D" if width > 3600 else "m"
    return str(np.datetime64(round(value), "s").astype(f"datetime64[{unit}]")).replace("T", " ")


def _categories(name: str, values: pa.Array, ordered: bool) -> Column | None:
    """A bin a value, the most frequent first (numbers: in their order), and one for the others together."""
    import pyarrow as pa

    coded = values.cast(pa.string()) if pa.types.is_boolean(values.type) else values
    coded = coded.dictionary_encode()
    own = np.asarray(coded.indices.fill_null(-1), np.int64)
    size = np.bincount(own[own >= 0], minlength=len(coded.dictionary))
    if len(size) < 2 or (not ordered and len(size) > max(_MOST_VALUES, _TEXT * len(own))):
        return None
    order = np.argsort(-size, kind="stable")
    if ordered:
        order = np.argsort(np.asarray(coded.dictionary.cast(pa.float64())), kind="stable")
    kept = order[:_MOST_VALUES]
    place = np.full(len(size) + 1, len(kept), np.uint8)
    place[kept] = np.arange(len(kept))
    place[-1] = MISSING
    names = [one_line(value, 60) for value in coded.dictionary.take(pa.array(kept)).to_pylist()]
    if len(order) > len(kept):
        names.append(f"{len(order) - len(kept)} others")
    code = place[own]
    return Column(name, "category", names, lambda: code)


def shares(name: str, values: Callable[[], np.ndarray], low: float = 0.0) -> Column:
    """A column of shares in [low, 1], measured when they are first asked for; NaN is missing.

    >>> shares("confidence", lambda: np.array([0.5, 1.0, np.nan]), 0.5).codes().tolist()
    [0, 19, 255]
    """
    edges = np.linspace(low, 1.0, 21)

    def codes() -> np.ndarray:
        found = values()
        known = np.isfinite(found)
        code = np.full(len(found), MISSING, np.uint8)
        code[known] = np.clip(np.searchsorted(edges, found[known], side="right") - 1, 0, len(edges) - 2)
        return code

    bins = [f"{100 * a:.0f} to {100 * b:.0f} %" for a, b in pairwise(edges)]
    return Column(name, "number", bins, codes, f"{100 * low:.0f} %", "100 %")
