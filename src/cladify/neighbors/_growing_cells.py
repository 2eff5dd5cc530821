"""Cells of rows that come and go: lists of slots around centres, which follow the rows.

Centres are found by k-means, once, when there are enough rows for cells. From then on cells grow with the rows, a
little with every call: one that has become too large is divided, and with each row that arrives the cells of two others
are looked at again, in turn, which is k-means spread over time. Rows may also arrive where no centre is near, class
after class in the worst case: neighbours would then lie scattered over cells that have nothing to do with them. So rows
that are farther from all centres than almost all others wait in a list that every query looks at, until there are
enough of them for cells of their own.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, resolve_jobs
from cladify._kit.progress import Progress
from cladify.data._frame import row_squares
from cladify.neighbors._cells import Cells, find_cells

__all__ = ["GrowingCells"]

# Cells that a row looks at, of up to 4 √n: they have .9 of the nearest 25 of words and sentences, .99 of images.
_PROBES = 48
_ALONE = 1 << 25  # products up to which one thread is enough
_SAMPLE = 10_000  # rows that say how far from its centre a row may be
_FAR = 0.999  # share of the rows that are nearer to their centres than one that waits
_AROUND = 16  # cells from which a new one draws in rows
_LARGE = 3  # times the usual number of rows: a cell that is divided
_REVIEWED = 2  # rows whose cells are looked at again for each that arrives


class GrowingCells:
    """List 0 holds the slots of rows that wait, list c + 1 those of cell c.

    Parameters
    ----------
    centre : float32 array of shape (cells, d)
    usual : float
        Rows of a cell.
    far : float
        |z − centre|² from which on a row waits.
    """

    def __init__(self, centre: np.ndarray, usual: float, far: float, *, seed: int, n_jobs: int | None) -> None:
        self._cells = Cells.of(centre)
        self.usual, self.far = usual, far
        self.turn, self.due = 0, 0  # the cell that is looked at next, and how many rows are to be
        self._seed, self._n_jobs = seed, n_jobs
        self._lists = _core.CellLists(len(centre) + 1)

    @classmethod
    def find(cls, z: np.ndarray, slots: np.ndarray, *, seed: int, n_jobs: int | None) -> GrowingCells:
        """Cells of the rows in these slots."""
        usual = _usual(len(slots))
        centre = _centres(z[slots], round(len(slots) / usual), seed, n_jobs)
        cells = cls(centre, usual, np.inf, seed=seed, n_jobs=n_jobs)
        nearest = cells._cells.nearest(z[slots], 1, n_jobs=n_jobs)[:, 0]
        cells._lists.add(slots, nearest + 1)
        cells.measure(z, slots)
        return cells

    def measure(self, z: np.ndarray, slots: np.ndarray) -> None:
        """How far from its centre a row is at most, by some of these."""
        some = slots[np.random.default_rng(self._seed).permutation(len(slots))[:_SAMPLE]]
        cell = self._lists.cells_of(some) - 1
        some, cell = some[cell >= 0], cell[cell >= 0]
        self.far = float(np.quantile(_apart(z[some], self.centre[cell]), _FAR))

    @property
    def centre(self) -> np.ndarray:
        return self._cells.centre

    def lists_of(self, slots: np.ndarray) -> np.ndarray:
        """In which list each slot is."""
        return self._lists.cells_of(slots)

    def restore(self, slots: np.ndarray, lists: np.ndarray) -> None:
        self._lists.add(slots, lists)

    def add(self, z: np.ndarray, slots: np.ndarray) -> None:
        """Rows come, in these slots; ``z`` has all rows by slot."""
        rows = z[slots]
        before = self._lists.sizes()
        self.usual = _usual(int(before.sum()) + len(slots))
        cell = self._nearest(rows)
        far = _apart(rows, self.centre[cell]) > self.far
        self._lists.add(slots, np.where(far, 0, cell + 1).astype(np.int32))
        if self._lists.sizes()[0] >= self.usual:
            self._settle_waiting(z)
        size = self._lists.sizes()
        before = np.concatenate([before, np.zeros(len(size) - len(before), dtype=np.int64)])
        for c in (1 + np.flatnonzero(self._excess(size[1:]) > self._excess(before[1:]))).tolist():
            self._divide(z, c)
        self.due += _REVIEWED * len(slots)
        if self.due >= self.usual:
            self._review(z)

    def remove(self, slots: np.ndarray) -> None:
        self._lists.remove(np.ascontiguousarray(slots, dtype=np.int32))

    def scan(
        self,
        rows: tuple[np.ndarray, np.ndarray, np.ndarray],
        z: np.ndarray,
        bias: np.ndarray,
        keys: np.ndarray,
        locks: np.ndarray,
        *,
        back: bool,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Offers queries ``z`` the rows of their nearest cells.

        ``rows`` are the rows, their bias and their reach, by slot. Returns, with ``back``, pairs of a query and a slot
        that has it within reach.
        """
        probes = min(_PROBES, len(self._cells))
        look = np.zeros((len(z), probes + 1), dtype=np.int32)  # all look at those that wait
        look[:, 1:] = self._cells.nearest(z, probes, n_jobs=self._jobs(len(z) * len(self._cells), z.shape[1])) + 1
        order = np.argsort(look, axis=None, kind="stable")
        query = (order // look.shape[1]).astype(np.int32)
        start = np.concatenate([[0], np.cumsum(np.bincount(look.ravel(), minlength=len(self._lists)))]).astype(np.int64)
        jobs = self._jobs(int(look.size * self.usual), z.shape[1])
        parts = 1 if jobs == 1 else 8 * resolve_jobs(jobs)
        ends = np.linspace(0, len(self._lists), parts + 1, dtype=np.int64)

        def work(part: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            return cast(
                tuple[np.ndarray, np.ndarray],
                self._lists.scan(*rows, z, bias, query, start, *part, keys, locks, back),
            )

        return map_blocks(work, list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)), n_jobs=jobs)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _jobs(self, pairs: int, width: int) -> int | None:
        """Threads for this many pairs of rows: starting them takes longer than a small search."""
        return self._n_jobs if pairs * width > _ALONE else 1

    def _nearest(self, rows: np.ndarray) -> np.ndarray:
        return self._cells.nearest(rows, 1, n_jobs=self._jobs(len(rows) * len(self._cells), rows.shape[1]))[:, 0]

    def _excess(self, size: np.ndarray) -> np.ndarray:
        """How often a cell has become too large for its size. Rows that are all the same cannot be divided: the next
        chance comes when there are twice as many."""
        return np.floor(np.log2(np.maximum(size / (_LARGE * self.usual), 0.5)))

    def _settle_waiting(self, z: np.ndarray) -> None:
        """Those who wait get cells of their own where that brings them nearer, or else go to the nearest cell."""
        slots = np.sort(self._lists.members(0))
        self._lists.remove(slots)
        count = max(1, int(len(slots) / self.usual))
        fresh = Cells.of(_centres(z[slots], count, self._seed, 1))
        cell, own = self._nearest(z[slots]), fresh.nearest(z[slots], 1, n_jobs=1)[:, 0]
        nearer = _apart(z[slots], fresh.centre[own]) < _apart(z[slots], self.centre[cell])
        size = np.bincount(own[nearer], minlength=len(fresh))
        good = size >= 0.5 * self.usual
        nearer &= good[own]
        place = len(self._cells) + np.cumsum(good) - 1  # of a new cell among all
        self._append(z, fresh.centre[good])
        self._lists.add(slots, (np.where(nearer, place[own], cell) + 1).astype(np.int32))

    def _review(self, z: np.ndarray) -> None:
        """The next cells in turn move to the means of their rows, and these to the nearest cells."""
        size = self._lists.sizes()[1:]
        turn = np.roll(np.arange(len(size)), -self.turn)
        turn = turn[: 1 + int(np.searchsorted(np.cumsum(size[turn]), self.due))]
        self.turn = int(turn[-1] + 1) % len(size)
        self.due -= int(size[turn].sum())
        turn = turn[size[turn] > 0]
        if not len(turn):
            return
        slots = np.concatenate([np.sort(self._lists.members(c + 1)) for c in turn.tolist()])
        first = np.concatenate([[0], np.cumsum(size[turn])[:-1]])
        rows = z[slots]
        centre = self.centre.copy()
        centre[turn] = np.add.reduceat(rows, first, axis=0) / size[turn, None]
        self._cells = Cells.of(centre)
        cell = self._nearest(rows)
        moved = cell != np.repeat(turn, size[turn])
        self._lists.remove(slots[moved])
        self._lists.add(slots[moved], cell[moved] + 1)

    def _divide(self, z: np.ndarray, c: int) -> None:
        slots = np.sort(self._lists.members(c))
        centre = _centres(z[slots], max(2, round(len(slots) / self.usual)), self._seed, 1)
        part = Cells.of(centre).nearest(z[slots], 1, n_jobs=1)[:, 0]
        place = np.concatenate([[c - 1], len(self._cells) + np.arange(len(centre) - 1)])
        kept = self._cells.centre.copy()
        kept[c - 1] = centre[0]
        self._cells = Cells.of(kept)
        self._append(z, centre[1:])
        self._lists.remove(slots)
        self._lists.add(slots, (place[part] + 1).astype(np.int32))

    def _append(self, z: np.ndarray, centre: np.ndarray) -> None:
        """New cells, which draw in the rows of cells around that are nearer to them than to their own."""
        if not len(centre):
            return
        fresh = Cells.of(centre)
        around = np.unique(self._cells.nearest(centre, min(_AROUND, len(self._cells)), n_jobs=1)) + 1
        known = len(self._cells)
        self._cells = Cells.of(np.concatenate([self.centre, centre]))
        self._lists.make_cells(len(centre))
        slots = np.sort(np.concatenate([self._lists.members(c) for c in around.tolist()]))
        own, new = self._lists.cells_of(slots) - 1, fresh.nearest(z[slots], 1, n_jobs=1)[:, 0]
        nearer = _apart(z[slots], centre[new]) < _apart(z[slots], self.centre[own])
        self._lists.remove(slots[nearer])
        self._lists.add(slots[nearer], (known + 1 + new[nearer]).astype(np.int32))


def _usual(n: int) -> float:
    """Rows of a cell, when there are so many in all."""
    return n / max(2, min(n // 8, int(4 * np.sqrt(n))))


def _centres(z: np.ndarray, count: int, seed: int, n_jobs: int | None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return find_cells(z, count, rng, n_jobs=n_jobs, report=Progress()).centre


def _apart(rows: np.ndarray, centre: np.ndarray) -> np.ndarray:
    difference = rows - centre
    return row_squares(difference)
