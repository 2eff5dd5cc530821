"""A figure of a paper and how it is had here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from math import hypot, sqrt

import numpy as np

__all__ = ["CLAIMS", "PAPERS", "SETTINGS", "TIERS", "Figure", "Picture", "Row", "verdict"]

#: Letter of a paper -> authors, title, year.
PAPERS = {
    "N": "Naumov, Yaroslavtsev, Avdiukhin: Objective-Based Hierarchical Clustering of Deep Embedding Vectors (2021)",
    "C": "Charikar, Chatziafratis, Niazadeh, Yaroslavtsev: Hierarchical Clustering for Euclidean Data (2019)",
    "M": "Monath: Incremental Non-Greedy Clustering at Scale (2022)",
    "Z": "Zhao, Hao, Rashtchian: Unsupervised Embedding of Hierarchical Structure in Euclidean Space (2020)",
    "H": "Chami, Gu, Chatziafratis, Ré: From Trees to Continuous Embeddings and Back (2020)",
}
#: Smallest first; a tier has the rows of those before it.
TIERS = ("quick", "normal", "all")
#: The algorithm as printed, cladify's default, or the paper's method on data that stand in for its own.
SETTINGS = ("paper", "default", "stand-in")
#: What is printed: a value, or words that set a limit.
CLAIMS = ("value", "at least", "at most")
#: A spread is printed without the number of runs behind it; five is what the papers name where they name one.
_PRINTED_RUNS = 5


@dataclass(frozen=True)
class Row:
    """One printed figure, or a claim of the text or of a theorem.

    Attributes
    ----------
    paper, table, what : str
        The letter of the paper, where in it, and which figure: method, data, measure.
    published : float
        As printed; ``spread`` is its ± where it has one.
    run : function from a seed to our figure
    call : str
        What it calls, as a user would write it.
    data : str
        The set; where it is not on the machine, the row says so.
    setting : {"paper", "default", "stand-in"}
    seeds : int
        Our figure is the mean over so many.
    lower : bool
        A lower figure is the better one (a cost).
    within : float
        A difference that counts as the same: half a unit of the last digit printed, or what other copies of the data,
        other samples and other seeds make.
    tier : str
    claim : {"value", "at least", "at most"}
        How ``published`` is meant.
    is_bound : bool
        A property of the data, which no method makes better or worse.
    is_time : bool
        Seconds depend on the machine: ``--check`` leaves them out.
    printed_counts : tuple of int
        Operations that are printed beside the figure, for example rotations, grafts and restructurings.
    count : function from a seed to ours, optional
    deviation : str
        Where the algorithm differs from the printed one.
    cause : str
        Why our figure differs, once that was found.
    """

    paper: str
    table: str
    what: str
    published: float
    run: Callable[[int], float]
    call: str
    data: str
    setting: str = "paper"
    spread: float = 0.0
    seeds: int = 1
    lower: bool = False
    within: float = 0.005
    tier: str = "quick"
    claim: str = "value"
    is_bound: bool = False
    is_time: bool = False
    printed_counts: tuple[int, ...] = ()
    count: Callable[[int], tuple[int, ...]] | None = None
    deviation: str = ""
    cause: str = ""

    @property
    def key(self) -> str:
        """What the row is called in results."""
        return f"{self.paper} {self.table} · {self.what} · {self.setting}"

    @property
    def digest(self) -> str:
        """Of all that its figure depends on: a row that is called otherwise is another one."""
        return _digest(self.call, self.data, self.seeds)


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn: named lines of points."""

    paper: str
    table: str
    title: str
    across: str
    up: str
    lines: Callable[[], dict[str, list[tuple[float, float]]]]
    data: str
    tier: str = "normal"
    log: bool = False
    points: bool = False

    @property
    def key(self) -> str:
        return f"{self.paper} {self.table} · {self.title}"

    @property
    def digest(self) -> str:
        return _digest(self.title, self.across, self.up, self.data)


@dataclass(frozen=True)
class Figure:
    """What came out for a row: our values over the seeds, or why there are none; for a picture, its lines.

    ``missing`` names data that are not here, ``failed`` the error that a row stopped with; ``digest`` is that of
    the row or picture as it was called.
    """

    values: tuple[float, ...] = ()
    seconds: float = 0.0
    missing: str = ""
    failed: str = ""
    counts: tuple[float, ...] = ()
    lines: dict[str, list[tuple[float, float]]] | None = None
    digest: str = ""

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else float("nan")

    @property
    def sd(self) -> float:
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:12]


def verdict(row: Row, figure: Figure) -> str:
    """How our figure compares with the printed one.

    The same is what lies within the rounding of the printed figure and two standard errors of the difference: ours is a
    mean over seeds, theirs over runs whose spread is printed. One run of ours has the spread that theirs have.

    >>> row = Row("H", "table 1", "average, Zoo", 2.829, lambda seed: 0.0, "", "zoo", lower=True, within=0.0005)
    >>> [verdict(row, Figure((value,))) for value in (2.8291, 2.8, 2.9)]
    ['reproduced', 'better', 'worse']
    """
    if figure.failed:
        return "failed"
    if figure.missing:
        return "data missing"
    if not figure.values:
        return "not run"
    if row.setting == "stand-in":
        return "stand-in"
    gain = (row.published - figure.mean) if row.lower else (figure.mean - row.published)
    sd = figure.sd if len(figure.values) > 1 else row.spread
    error = hypot(sd / sqrt(len(figure.values)), row.spread / sqrt(_PRINTED_RUNS))
    if row.claim != "value":
        holds = gain >= -row.within if row.claim == "at least" else figure.mean <= row.published + row.within
        return "reproduced" if holds else "worse"
    if abs(gain) <= row.within + 2 * error:
        return "reproduced"
    if row.is_bound:
        return "differs"
    if gain > 0:
        return "better"
    return "algorithm differs" if row.deviation else "worse"
