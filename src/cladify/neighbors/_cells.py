"""Coarse cells of a data set: k-means on a sample, in float32 products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.progress import Progress
from cladify.data._frame import row_squares

__all__ = ["Cells", "cell_sample", "cells_of", "find_cells"]

ROWS_A_CELL = 40  # rows a cell that k-means looks at
_ROUNDS = 5
_ROWS = 512  # rows of a block of scores against all centres


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

        def work(I: slice) -> None:
            score = self.scores(z[I])
            m = len(score)
            keys, locks = np.zeros((m, count), dtype=np.uint64), np.zeros(m, dtype=np.uint8)
            rows, no_group, nothing = np.arange(m, dtype=np.int32), np.full(m, -1, np.int32), np.zeros(m, np.float32)
            _core.offer(keys, locks, score, rows, ids, no_group, ids, nothing, self.bias, False, False)
            _core.best(keys, found[I], np.empty((m, count), dtype=np.float32))

        map_blocks(work, row_blocks(len(z), _ROWS), n_jobs=n_jobs, advance=advance)
        return found


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
        first = np.concatenate([[0], np.cumsum(size)])[filled]
        centre = cells.centre.copy()
        centre[filled] = np.add.reduceat(z[np.argsort(cell, kind="stable")], first, axis=0) / size[filled, None]
        cells = Cells.of(centre)
    return cells
