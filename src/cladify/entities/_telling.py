"""Which columns say something about which records are the same, found without labels.

Records that are nearest to each other by all *other* columns, or by the first, are the same more often than any two
are. A column that says something is then more alike in them than in pairs drawn at random; one of noise, of numbers
that go up, of random categories, or with one value throughout is not. This is the measure: by how many standard errors
the ranks of its likeness, among those of random pairs, are above their mean. No column can pass it by agreeing with
itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cladify.entities._grams import Column, projected

__all__ = ["NAMED", "telling"]

#: Records drawn, whose nearest ones are looked at; random pairs for each of them.
_DRAWN, _RANDOM = 3000, 10
#: Looked at are all drawn records, and the share of them with the nearest neighbours: duplicates may be few.
_SHARES = (1.0, 0.25)
#: From so many standard errors on, a column tells something.
_SURE = 3.0
#: Of the rows with both cells, a copy, or a part such as an initial, is in the other one in so many.
_COPY = 0.9
#: Columns name what a row is if so few others are much like it in them by chance: this power of one in all.
NAMED = 0.8
_BLOCK = 100


def telling(columns: Sequence[Column], cells: Sequence[Sequence[str]], random_state: int) -> list[int]:
    """Positions of the columns that tell something: the first, and those that agree with the others.

    Parameters
    ----------
    columns : sequence of Column
    cells : sequence of sequences of str
        The folded cells of the columns.
    random_state : int
        Draws records.
    """
    some = [0]
    for at in range(1, len(columns)):
        if not _is_idle(cells[at]) and not any(_is_part(cells[at], cells[other]) for other in some):
            some.append(at)
    if len(some) < 2 or columns[0].grams.shape[0] < 3:
        return some
    near = _Near([columns[at] for at in some], random_state)
    rest = np.arange(1, len(some))
    sure = near.agreement(rest, [[other for other in range(len(some)) if other != at] for at in rest])
    if len(rest) > 1:
        sure = np.maximum(sure, near.agreement(rest, [[0]] * len(rest)))
        kept, out = rest[sure >= _SURE], rest[sure < _SURE]
        if len(kept) and len(out):
            sure[out - 1] = np.maximum(sure[out - 1], near.agreement(out, [[0, *kept.tolist()]] * len(out)))
    kept = [0, *rest[sure >= _SURE].tolist()]
    # Where those kept do not tell records apart, nothing near by them can be judged.
    return [some[at] for at in kept] if near.names(kept) else some


def _is_idle(cells: Sequence[str]) -> bool:
    """Whether there is one value at most, or no two cells are the same and none has a letter: a number of the row."""
    there = [cell for cell in cells if cell]
    values = set(there)
    return len(values) < 2 or (len(values) == len(there) and not any(char.isalpha() for cell in there for char in cell))


def _is_part(cells: Sequence[str], others: Sequence[str]) -> bool:
    both = [a in b for a, b in zip(cells, others, strict=True) if a and b]
    return len(both) > 0.5 * sum(map(bool, cells)) and sum(both) >= _COPY * len(both)


class _Near:
    """Records drawn from a table, and which ones are near them by some of its columns."""

    def __init__(self, columns: Sequence[Column], random_state: int) -> None:
        self.columns = columns
        n = columns[0].grams.shape[0]
        rng = np.random.default_rng(random_state)
        self.rows = []
        for column in columns:  # of length 1, so that none of them drowns the others
            own = projected([column], random_state)
            length = np.linalg.norm(own, axis=1, keepdims=True)
            self.rows.append(np.divide(own, length, out=np.zeros_like(own), where=length > 0))
        self.drawn = rng.choice(n, min(n, _DRAWN), replace=False)
        self.others = rng.integers(n, size=(_RANDOM, len(self.drawn)))

    def names(self, some: Sequence[int]) -> bool:
        """Whether hardly any two records are much alike in some columns by chance."""
        power = 0.0
        for at in some:
            alike = np.concatenate(
                [self.columns[at].alike(self.drawn, other)[self.drawn != other] for other in self.others]
            )
            there = ~np.isnan(alike)
            seldom = ((alike[there] >= 0.8).sum() + 0.5) / (there.sum() + 1.0)
            power -= np.log(seldom) * there.mean()
        return bool(power >= NAMED * np.log(self.rows[0].shape[0]))

    def agreement(self, asked: Sequence[int] | np.ndarray, by: Sequence[Sequence[int]]) -> np.ndarray:
        """For each column asked for, by how many standard errors it agrees where some others do."""
        drawn = self.drawn
        near, score = np.empty((len(by), len(drawn)), np.int64), np.empty((len(by), len(drawn)))
        wanted = sorted({column for some in by for column in some})
        for start in range(0, len(drawn), _BLOCK):
            part = drawn[start : start + _BLOCK]
            each = {column: self.rows[column][part] @ self.rows[column].T for column in wanted}
            for at, some in enumerate(by):
                if at == 0 or some != by[at - 1]:
                    total = sum(each[column] for column in some[1:]) + each[some[0]]
                    total[np.arange(len(part)), part] = -np.inf
                    best = total.argmax(axis=1)
                near[at, start : start + len(part)] = best
                score[at, start : start + len(part)] = total[np.arange(len(part)), best]
        found = zip([self.columns[at] for at in asked], near, score, strict=True)
        return np.array([_sureness(*one, drawn, self.others) for one in found])


def _sureness(column: Column, near: np.ndarray, score: np.ndarray, drawn: np.ndarray, others: np.ndarray) -> float:
    usual = np.concatenate([column.alike(drawn, other)[drawn != other] for other in others])
    usual = np.sort(usual[~np.isnan(usual)])
    if not len(usual):
        return 0.0
    found = []
    alike, order = column.alike(drawn, near), np.argsort(-score, kind="stable")
    for share in _SHARES:
        some = alike[order[: max(round(share * len(order)), 1)]]
        some = some[~np.isnan(some)]
        if len(some):
            below = np.searchsorted(usual, some, "left") + np.searchsorted(usual, some, "right")
            found.append((below.mean() / (2 * len(usual)) - 0.5) * np.sqrt(12 * len(some)))
    return max(found, default=0.0)
