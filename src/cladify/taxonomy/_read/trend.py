"""Groups over time, or over the values of any column: counts, and where they differ from what chance gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify._kit.files import listing
from cladify._kit.params import check_choice
from cladify.errors import InvalidInput
from cladify.taxonomy._items import as_items
from cladify.taxonomy._read.levels import Level, labels_of
from cladify.taxonomy._read.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EVERY", "Burst", "Trend", "trend"]

EVERY = ("auto", "day", "week", "month", "quarter", "year")
#: Bins of a column of numbers, and the most values of a column of categories that are shown one by one.
_BINS = 12
_MOST = 40


class Burst(NamedTuple):
    """A group and a bin with more items than the group's share of all items and the bin's size lead to expect."""

    node: int
    name: str
    bin: str
    n_items: int
    expected: float
    surprise: float


@dataclass(frozen=True, eq=False)
class Trend:
    """Counts of groups by the bins of a column.

    The surprise of a group in a bin is the signed root of G² = 2 (k log(k/e) − (k − e)) for k items where
    e = (items of the group) × (items of the bin) / (all items) are expected: about normal if the column says nothing
    about the groups.

    Attributes
    ----------
    by : str
        The column.
    bins : list of str
    nodes, names : one entry a group
    counts : int64 array of shape (groups, bins)
    is_ordered : bool
        Whether bins have an order: times and numbers.
    n_missing : int
        Items without a value; they are not counted.
    """

    by: str
    bins: list[str]
    nodes: list[int]
    names: list[str]
    counts: np.ndarray
    is_ordered: bool
    n_missing: int

    @cached_property
    def expected(self) -> np.ndarray:
        """The counts that the sizes of groups and bins alone lead to expect."""
        total = max(int(self.counts.sum()), 1)
        return np.outer(self.counts.sum(axis=1), self.counts.sum(axis=0)) / total

    @cached_property
    def surprise(self) -> np.ndarray:
        """The signed root of G² of each count."""
        return _signed_root(self.counts, self.expected)

    @property
    def g2(self) -> float:
        """How much the column says about the groups: the sum of all squared surprises."""
        return float(np.square(self.surprise).sum())

    @property
    def p_value(self) -> float:
        """How likely so large a :attr:`g2` is if the column says nothing, by chi-squared."""
        from scipy.stats import chi2

        groups, bins = ((self.counts.sum(axis=axis) > 0).sum() for axis in (1, 0))
        return float(chi2.sf(self.g2, max((groups - 1) * (bins - 1), 1)))

    @cached_property
    def change(self) -> np.ndarray:
        """The signed root of G² of each group's count in the later half of the bins; 0 where bins have no order."""
        if not self.is_ordered or len(self.bins) < 2:
            return np.zeros(len(self.nodes))
        later = np.cumsum(self.counts.sum(axis=0)) > self.counts.sum() / 2
        late, early = self.counts[:, later].sum(axis=1), self.counts[:, ~later].sum(axis=1)
        share = late.sum() / max(self.counts.sum(), 1)
        size = late + early
        late_g, early_g = _signed_root(late, share * size), _signed_root(early, (1 - share) * size)
        return np.sign(late_g) * np.hypot(late_g, early_g)

    def bursts(self, *, level: float = 0.05) -> list[Burst]:
        """Groups and bins with more items than expected, the most surprising first.

        ``level`` is the share of false ones among them that is accepted, after Benjamini and Hochberg (1995).
        """
        from scipy.stats import norm

        p = norm.sf(self.surprise).ravel()
        order = np.argsort(p, kind="stable")
        passed = p[order] <= level * np.arange(1, len(p) + 1) / len(p)
        found = order[: np.flatnonzero(passed)[-1] + 1] if passed.any() else order[:0]
        groups, bins = np.unravel_index(found, self.counts.shape)
        return [
            Burst(
                self.nodes[g],
                self.names[g],
                self.bins[b],
                int(self.counts[g, b]),
                float(self.expected[g, b]),
                float(self.surprise[g, b]),
            )
            for g, b in zip(groups.tolist(), bins.tolist(), strict=True)
        ]

    def table(self) -> pa.Table:
        """A row a group: its name, its size, its change, and its count in every bin."""
        import pyarrow as pa

        columns: dict[str, Any] = {"node": self.nodes, "name": self.names, "size": self.counts.sum(axis=1)}
        if self.is_ordered:
            columns["change"] = self.change
        names = _distinct(self.bins, set(columns))
        return pa.table(columns | dict(zip(names, self.counts.T, strict=True)))

    def __str__(self) -> str:
        lines = [f"{int(self.counts.sum())} items in {len(self.nodes)} groups by {self.by}: {len(self.bins)} bins"]
        if self.n_missing:
            lines[0] += f", {self.n_missing} without a value"
        lines.append(f"G² {self.g2:.4g}, p = {self.p_value:.2g}")
        order = np.argsort(-self.change, kind="stable")
        for title, some in (("rising", order[:5]), ("fading", order[::-1][:5])):
            sign = 1 if title == "rising" else -1
            lines += [f"{title}: {self.names[g]}  {self.change[g]:+.1f}" for g in some if sign * self.change[g] > 2]
        for burst in self.bursts()[:10]:
            lines.append(f"{burst.bin}: {burst.name}  {burst.n_items} items, {burst.expected:.1f} expected")
        return "\n".join(lines)


def trend(now: Snapshot, by: Any, level: Level, names: list[str], every: str) -> Trend:
    """Counts of the groups of a level; see :meth:`cladify.Taxonomy.trend`."""
    check_choice("every", every, list(EVERY))
    columns = now.facts.kept.columns
    if isinstance(by, str):
        if by not in columns.column_names:
            raise InvalidInput(f"there is no column {by!r}. The taxonomy keeps: {listing(columns.column_names)}.")
        name, values = by, columns.column(by).combine_chunks()
    else:
        name, values = getattr(by, "name", None) or "values", as_items(by, now.n_items, what="values")
    bins, which, is_ordered = _bins(values, every)
    groups = labels_of(now.tree, level.nodes)
    if level.cluster is not None:
        groups = np.where(groups >= 0, np.array(level.cluster)[groups], -1)
    nodes = [part[0] for part in level.parts()]
    seen = (groups >= 0) & (which >= 0)
    counts = np.zeros((len(nodes), len(bins)), np.int64)
    np.add.at(counts, (groups[seen], which[seen]), 1)
    return Trend(str(name), bins, nodes, names, counts, is_ordered, int((which < 0).sum()))


def _signed_root(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        term = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
    g2 = 2 * (np.where(expected > 0, term, 0.0) - (counts - expected))
    return np.sign(counts - expected) * np.sqrt(np.maximum(g2, 0.0))


def _bins(values: pa.Array, every: str) -> tuple[list[str], np.ndarray, bool]:
    """Names of the bins, the bin of each value (-1 for none), and whether the bins have an order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = _as_times(values, asked=every != "auto")
    kind = values.type
    if pa.types.is_temporal(kind) and not (pa.types.is_time(kind) or pa.types.is_duration(kind)):
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            values = pc.local_timestamp(values)
        days = values.cast(pa.timestamp("s"), safe=False).cast(pa.date32(), safe=False)
        numbers = np.asarray(days.cast(pa.int32()).fill_null(0), np.int64).astype("datetime64[D]")
        return _time_bins(numbers, np.asarray(values.is_valid()), every)
    if every != "auto":
        raise InvalidInput(f"every={every!r} is for a column of times; this one has values of type {kind}.")
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    valid = np.asarray(values.is_valid())
    if is_number:
        numbers = np.asarray(values.cast(pa.float64(), safe=False).fill_null(np.nan), float)
        valid &= np.isfinite(numbers)
        if len(np.unique(numbers[valid])) > _MOST:
            return _number_bins(numbers, valid)
    return _category_bins(values, numbers if is_number else None, valid)


def _as_times(values: pa.Array, asked: bool) -> pa.Array:
    """Texts that are all dates as such."""
    import pyarrow as pa

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    try:
        return values.cast(pa.timestamp("s"))
    except pa.ArrowInvalid as error:
        if asked:
            raise InvalidInput(f"the column has values that are no dates: {str(error).splitlines()[0]}") from None
        return values


def _time_bins(days: np.ndarray, valid: np.ndarray, every: str) -> tuple[list[str], np.ndarray, bool]:
    """Bins of equal calendar length without gaps, each named by its first day, month or year."""
    which = np.full(len(days), -1)
    if not valid.any():
        return [], which, True
    if every == "auto":
        span = int((days[valid].max() - days[valid].min()).astype(int))
        every = next((name for name, most in (("day", 45), ("week", 300), ("month", 1500)) if span <= most), "year")
    if every == "week":
        start = (days.astype(np.int64) + 3) // 7  # 1970-01-01 was a Thursday; weeks begin on Mondays
    elif every == "quarter":
        start = days.astype("datetime64[M]").astype(np.int64) // 3
    else:
        unit = {"day": "D", "month": "M", "year": "Y"}[every]
        start = days.astype(f"datetime64[{unit}]").astype(np.int64)
    low, high = int(start[valid].min()), int(start[valid].max())
    if high - low >= 100_000:
        raise InvalidInput(f"{high - low + 1} bins are too many; choose a larger one with every=.")
    which[valid] = start[valid] - low
    numbers = np.arange(low, high + 1)
    if every == "week":
        return (7 * numbers - 3).astype("datetime64[D]").astype(str).tolist(), which, True
    if every == "quarter":
        return [f"{1970 + q // 4}-Q{q % 4 + 1}" for q in numbers.tolist()], which, True
    return numbers.astype(f"datetime64[{unit}]").astype(str).tolist(), which, True


def _number_bins(numbers: np.ndarray, valid: np.ndarray) -> tuple[list[str], np.ndarray, bool]:
    """Bins with about as many items each."""
    edges = np.unique(np.quantile(numbers[valid], np.linspace(0, 1, _BINS + 1)))
    which = np.full(len(numbers), -1)
    which[valid] = np.clip(np.searchsorted(edges, numbers[valid], side="right") - 1, 0, len(edges) - 2)
    return [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)], which, True


def _category_bins(
    values: pa.Array, numbers: np.ndarray | None, valid: np.ndarray
) -> tuple[list[str], np.ndarray, bool]:
    """A bin a value, the most frequent first and the rest together; numbers in their order."""
    texts = np.array(["" if value is None else str(value) for value in values.to_pylist()], dtype=object)
    found, first, inverse, sizes = np.unique(texts[valid], return_index=True, return_inverse=True, return_counts=True)
    by = -sizes if numbers is None else numbers[valid][first]
    order = np.argsort(by, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    which = np.full(len(texts), -1)
    which[valid] = np.minimum(place[inverse], _MOST)
    names = [str(found[i]) for i in order[:_MOST]]
    if len(order) > _MOST:
        names.append(f"{len(order) - _MOST} more")
    return names, which, numbers is not None


def _distinct(names: list[str], taken: set[str]) -> list[str]:
    found = []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return found
