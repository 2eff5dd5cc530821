"""Int8 copies of rows, which screen pairs before they are scored: four products for the price of one.

The bound on what rounding to int8 can hide is proven pair by pair (``core/data/screen.hpp``), so that the candidates
of a row are those of the float32 search.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify.data._frame import Rows

__all__ = ["PANEL", "Copies", "Screen", "near_order", "pays", "screen_of", "slack_of", "suits"]

PANEL, _WORD = 64, 4  # rows packed side by side, and products that one instruction adds up
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


class Copies:
    """Int8 copies of a block of rows at a time, in the same memory again and again: one a thread."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __call__(self, z: np.ndarray, slack: np.ndarray) -> Screen:
        """The copy of ``z``, until the next one is made."""
        n, width, padded = _shape(z)
        held = getattr(self._local, "held", None)
        if held is None or len(held[2]) < padded or len(held[1]) < padded * width:
            held = self._local.held = _empty(padded, width)
        raised, packed, *values = held
        raised = raised[: n * width].reshape(n, width)
        arrays = (raised, packed[: padded * width], *(v[:padded] for v in values))
        _core.quantise(z, 0, n, *arrays)
        return Screen((z, *arrays), slack)


def _shape(z: np.ndarray) -> tuple[int, int, int]:
    """Rows, their width in whole words, and rows of whole panels."""
    n, width = z.shape
    return n, -(-width // _WORD) * _WORD, -(-n // PANEL) * PANEL


def _empty(padded: int, width: int) -> tuple[np.ndarray, ...]:
    """Room for int8 rows in both layouts, and scale, shift, rest and size of each."""
    bytes_ = padded * width
    types = np.float32, np.int32, np.float32, np.float32
    return np.zeros(bytes_, np.uint8), np.zeros(bytes_, np.int8), *(np.zeros(padded, dtype) for dtype in types)


def slack_of(length: np.ndarray, width: int, longest: float) -> np.ndarray:
    """What float32 arithmetic can add to the bound of a pair: a row of each ``length`` and one of up to ``longest``."""
    # The float32 score itself is off by up to (width + 8) roundings, the bound and the sums with the bias by a few.
    slack = _EPS32 * longest * ((width + 32) * length + 16 * longest)
    return slack.astype(np.float32) * np.float32(1.001)


def pays(rows: Rows) -> bool:
    """Whether int8 copies of these rows make a search faster."""
    return isinstance(rows.z, np.ndarray) and len(rows) >= _FEWEST and suits(rows.width)


def suits(width: int) -> bool:
    """Whether rows of this width can be screened, and faster than by a float32 product."""
    return _core.ISA == "v4" and _NARROWEST <= width <= _WIDEST


def screen_of(rows: Rows, longest: float, n_jobs: int | None, *, beside: Rows | None = None) -> Screen | None:
    """The int8 copy of ``rows``, to be compared with rows of up to length ``longest``; None where it does not pay.

    A few rows are worth a copy ``beside`` many.
    """
    if not pays(rows if beside is None else beside):
        return None
    z = rows.z
    n, width, padded = _shape(z)
    raised, *others = _empty(padded, width)
    arrays = raised[: n * width].reshape(n, width), *others

    def work(some: slice) -> None:
        _core.quantise(z, some.start, some.stop, *arrays)

    map_blocks(work, row_blocks(n, 4 * PANEL), n_jobs=n_jobs)
    return Screen((z, *arrays), slack_of(rows.length, rows.width, longest))


def near_order(z: np.ndarray, bias: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """An order of dense rows in which near ones come close to each other: by the nearest of some of them.

    A search that begins with close places soon has candidates that few other rows beat.
    """
    pivots = np.arange(0, len(z), _ROWS_A_PIVOT)
    centre, own = z[pivots], bias[pivots]
    nearest = np.empty(len(z), dtype=np.int32)

    def work(some: slice) -> None:
        nearest[some] = (z[some] @ centre.T + own).argmax(axis=1)

    map_blocks(work, row_blocks(len(z), _ROWS_A_PIVOT), n_jobs=n_jobs)
    return np.argsort(nearest, kind="stable").astype(np.int32)
