"""A figure of a paper and how it is had here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["PAPERS", "TIERS", "Figure", "Row", "verdict"]

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


@dataclass(frozen=True)
class Row:
    """One printed figure.

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
    setting : {"paper", "default"}
        The algorithm as printed, or cladify's default.
    seeds : int
        Our figure is the mean over so many.
    lower : bool
        A lower figure is the better one (a cost).
    within : float
        A difference that counts as the same: half a unit of the last digit printed, or what other copies of the data,
        other samples and other seeds make.
    tier : str
    is_bound : bool
        A property of the data, which no method makes better or worse.
    cause : str
        Why our figure is worse or the algorithm differs, once that was found.
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
    is_bound: bool = False
    cause: str = ""

    @property
    def key(self) -> str:
        """What the row is called in results."""
        return f"{self.paper} {self.table} · {self.what} · {self.setting}"


@dataclass(frozen=True)
class Figure:
    """What came out for a row: our values over the seeds, or why there are none."""

    values: tuple[float, ...] = ()
    seconds: float = 0.0
    missing: str = ""

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else float("nan")

    @property
    def sd(self) -> float:
        return float(np.std(self.values)) if self.values else 0.0


def verdict(row: Row, figure: Figure) -> str:
    """How our figure compares with the printed one.

    >>> row = Row("H", "table 1", "average, Zoo", 2.829, lambda seed: 0.0, "", "zoo", lower=True, within=0.0005)
    >>> [verdict(row, Figure((value,))) for value in (2.8291, 2.8, 2.9)]
    ['reproduced', 'better', 'worse']
    """
    if not figure.values:
        return "data missing"
    gain = (row.published - figure.mean) if row.lower else (figure.mean - row.published)
    if abs(gain) <= max(row.within, row.spread, figure.sd):
        return "reproduced"
    if row.is_bound:
        return "differs"
    return "better" if gain > 0 else "worse"
