"""Coarse cells of a data set: k-means on a sample, in float32 products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.progress import Progress
from cladify.data._frame import row_squares
from cladify.data._screen import PANEL, Copies, slack_of, suits

__all__ = ["Cells", "cell_sample", "cells_of", "find_cells"]

ROWS_A_CELL = 40  # rows a cell that k-means looks at
_ROUNDS = 5
_ROWS = 512  # rows of a block of scores against all centres
#: From so many cells on, one in four is scored for every row, and the others where they can be among the nearest: if
#: the nearest are one in so many of them, as a score by itself costs more than one of a product.
_FEWEST, _SCORED, _PASSING = 512, 4, 48


@dataclass(frozen=True)
class Cells:
    """Centres of cells, in the frame of the rows they were found for.

    Attributes
    ----------
    centre : float32 array of shape (cells, d)
    bias : float32 array of shape (cells,)
        −|centre|²/2: a row belongs to the cell of largest ⟨z, centre⟩ + bias.
    """

    centre: np.ndarray
    bias: np.ndarray

    @classmethod
    def of(cls, centre: np.ndarray) -> Cells:
        return cls(centre, (-0.5 * row_squares(centre, dtype=np.float64)).astype(np.float32))

    def __len__(self) -> int:
        return len(self.centre)

    def scores(self, z: np.ndarray) -> np.ndarray:
        """Nearness of some rows to all centres, without the bias."""
        return np.asarray(z @ self.centre.T)

    def nearest(self, z: np.ndarray, count: int, *, n_jobs: int | None, advance: Any = None) -> np.ndarray:
        """The ``count`` nearest cells of each row, nearest first: int32 (n, count)."""
        ids = np.arange(len(self), dtype=np.int32)
        found = np.empty((len(z), count), dtype=np.int32)
        # Some cells are scored by a product; of the others, only those that can be nearer than what is found by then.
        first = self._scored(count)
        copies, nothing = Copies(), np.zeros(_ROWS, dtype=np.float32)
        screen = Copies()(self.centre, nothing) if first < len(self) else None
        longest = float(np.sqrt(row_squares(self.centre).max(initial=0.0)))

        def work(I: slice) -> None:
            some = z[I]
            m = len(some)
            keys, locks = np.zeros((m, count), dtype=np.uint64), np.zeros(m, dtype=np.uint8)
            rows, no_group = np.arange(m, dtype=np.int32), np.full(m, -1, np.int32)

            def score(which: slice, cells: slice) -> None:
                product = some[which] @ self.centre[cells].T
                of_rows, of_cells = (rows[which], ids[cells]), self.bias[cells]
                row_bias = nothing[: len(product)]
                _core.offer(
                    keys, locks, product, *of_rows, no_group[which], ids[cells], row_bias, of_cells, False, False
                )

            score(slice(0, m), slice(0, first))
            if screen is not None:
                rest = slice(first, len(self))
                slack = slack_of(np.sqrt(row_squares(some, dtype=np.float64)), some.shape[1], longest)
                groups, bias = (no_group, ids[rest]), (nothing[:m], self.bias[rest])
                own = copies(np.ascontiguousarray(some), slack)
                done = own.offer(keys, locks, screen, slice(0, m), rest, (rows, ids[rest]), groups, bias, both=False)
                if done < m:
                    score(slice(done, m), rest)
            _core.best(keys, found[I], np.empty((m, count), dtype=np.float32))

        map_blocks(work, row_blocks(len(z), _ROWS), n_jobs=n_jobs, advance=advance)
        return found

    def _scored(self, count: int) -> int:
        """How many cells are scored for every row when the ``count`` nearest are wanted: all, where few are not."""
        first = -(-len(self) // _SCORED // PANEL) * PANEL
        is_few = len(self) < _FEWEST or _PASSING * count > len(self) - first or first < 4 * count
        return len(self) if is_few or not suits(self.centre.shape[1]) else first


def find_cells(z: np.ndarray, count: int, rng: np.random.Generator, *, n_jobs: int | None, report: Progress) -> Cells:
    """``count`` cells of about equal size, by k-means on a sample.

    Two levels, because that costs the root of what one level does: √count coarse clusters, each of which gets cells in
    proportion to its size (the cost of a search grows with the squares of the cells' sizes), and one round over all.
    """
    return cells_of(z[cell_sample(len(z), count, rng)], count, rng, n_jobs=n_jobs, report=report)


def cell_sample(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """The rows that k-means looks at, ascending."""
    return np.sort(rng.choice(n, size=min(n, ROWS_A_CELL * count), replace=False))


def cells_of(z: np.ndarray, count: int, rng: np.random.Generator, *, n_jobs: int | None, report: Progress) -> Cells:
    """:func:`find_cells` from the sample that it takes."""
    top = max(1, int(np.sqrt(count)))
    with report.stage("cells", total=top + 2) as advance:
        coarse = _lloyd(z, _some(z, top, rng), _ROUNDS, n_jobs)
        cluster = coarse.nearest(z, 1, n_jobs=n_jobs)[:, 0]
        advance()
        size = np.bincount(cluster, minlength=top)
        parts = np.split(np.argsort(cluster, kind="stable"), np.cumsum(size)[:-1])
        starts = [_some(z[part], share, rng) for part, share in zip(parts, _shares(size, count), strict=True)]

        def divide(c: int) -> np.ndarray:
            return _lloyd(z[parts[c]], starts[c], _ROUNDS, 1).centre

        centres = map_blocks(divide, [c for c in range(top) if len(starts[c])], n_jobs=n_jobs, advance=advance)
        cells = _lloyd(z, np.concatenate(centres), 1, n_jobs)
        advance()
    return cells


def _some(z: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    return z[np.sort(rng.choice(len(z), size=count, replace=False))]


def _shares(size: np.ndarray, count: int) -> np.ndarray:
    """``count`` places for parts of these sizes: in proportion, at most one a row (the sizes' sum is at least that)."""
    places = size * (count / size.sum())
    share = np.floor(places).astype(np.int64)
    rest = np.argsort(share - places, kind="stable")[: count - share.sum()]
    share[rest] += 1
    return share


def _lloyd(z: np.ndarray, centre: np.ndarray, rounds: int, n_jobs: int | None) -> Cells:
    """Lloyd's rounds from the given centres; one that loses all its rows stays where it is."""
    cells = Cells.of(centre)
    for _ in range(rounds):
        cell = cells.nearest(z, 1, n_jobs=n_jobs)[:, 0]
        size = np.bincount(cell, minlength=len(cells))
        filled = np.flatnonzero(size)
        centre = cells.centre.copy()
        centre[filled] = _sums(z, cell, size)[filled] / size[filled, None]
        cells = Cells.of(centre)
    return cells


def _sums(z: np.ndarray, cell: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The sum of the rows of each cell, in their order."""
    from scipy.sparse import csr_array

    start = np.concatenate([[0], np.cumsum(size)])
    ones = np.ones(len(z), dtype=np.float32)
    return np.asarray(csr_array((ones, np.argsort(cell, kind="stable"), start), shape=(len(size), len(z))) @ z)
