"""Int8 copies of rows, which screen pairs before they are scored: four products for the price of one.

The bound on what rounding to int8 can hide is proven pair by pair (``core/data/screen.hpp``), so that the candidates
of a row are those of the float32 search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify.data._frame import Rows

__all__ = ["Screen", "near_order", "pays", "screen_of"]

_PANEL, _WORD = 64, 4
_WIDEST = 16384  # longer rows could overflow the sums, and gain little
_NARROWEST = 16  # shorter rows are as fast by a float32 product
_FEWEST = 4096  # rows from which the copies are worth making
_ROWS_A_PIVOT = 512
_EPS32 = 2.0**-24


@dataclass(frozen=True)
class Screen:
    """The int8 copy of some rows, as the kernel takes it."""

    arrays: tuple[np.ndarray, ...]
    slack: np.ndarray  # what float32 arithmetic can add to the bound of a pair of each row

    def offer(
        self,
        keys: np.ndarray,
        locks: np.ndarray,
        other: Screen,
        I: slice,
        J: slice,
        ids: tuple[np.ndarray, np.ndarray],
        groups: tuple[np.ndarray, np.ndarray],
        bias: tuple[np.ndarray, np.ndarray],
        both: bool,
    ) -> int:
        """Offer the pairs of a block that may be among the nearest; the number of rows done.

        It is less than there are where so many pairs pass that scoring all of them costs less.
        """
        offer: Any = _core.screen
        done: int = offer(
            keys, locks, *self.arrays, *other.arrays, I.start, J.start, *ids, *groups, *bias, self.slack[I], both
        )
        return done


def pays(rows: Rows) -> bool:
    """Whether int8 copies of these rows make a search faster."""
    useful = isinstance(rows.z, np.ndarray) and len(rows) >= _FEWEST and _NARROWEST <= rows.width <= _WIDEST
    return _core.ISA == "v4" and useful


def screen_of(rows: Rows, longest: float, n_jobs: int | None) -> Screen | None:
    """The int8 copy of ``rows``, to be compared with rows of up to length ``longest``; None where it does not pay."""
    if not pays(rows):
        return None
    z = rows.z
    n, width = len(rows), -(-rows.width // _WORD) * _WORD
    padded = -(-n // _PANEL) * _PANEL
    raised = np.empty((n, width), dtype=np.uint8)
    packed = np.zeros(padded * width, dtype=np.int8)
    scale, rest, size = (np.zeros(padded, dtype=np.float32) for _ in range(3))
    shift = np.zeros(padded, dtype=np.int32)

    def work(some: slice) -> None:
        _core.quantise(z, some.start, some.stop, raised, packed, scale, shift, rest, size)

    map_blocks(work, row_blocks(n, 4 * _PANEL), n_jobs=n_jobs)
    # The float32 score itself is off by up to (width + 8) roundings, the bound and the sums with the bias by a few.
    slack = _EPS32 * longest * ((rows.width + 32) * rows.length + 16 * longest)
    return Screen((z, raised, packed, scale, shift, rest, size), slack.astype(np.float32) * np.float32(1.001))


def near_order(rows: Rows, n_jobs: int | None) -> np.ndarray:
    """An order of dense rows in which near ones come close to each other: by the nearest of some of them.

    A search that begins with close places soon has candidates that few other rows beat.
    """
    pivots = np.arange(0, len(rows), _ROWS_A_PIVOT)
    centre, bias = rows.z[pivots], rows.bias[pivots]
    nearest = np.empty(len(rows), dtype=np.int32)

    def work(some: slice) -> None:
        nearest[some] = (rows.z[some] @ centre.T + bias).argmax(axis=1)

    map_blocks(work, row_blocks(len(rows), _ROWS_A_PIVOT), n_jobs=n_jobs)
    return np.argsort(nearest, kind="stable").astype(np.int32)
