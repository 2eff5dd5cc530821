"""Which points lie in a polygon: by cells first, so that a million of them take some milliseconds.

The unit square is cut into cells, and each point knows its own. A cell that no edge of the polygon touches is inside or
outside as a whole; only the points of the others are looked at one by one.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Cells"]

_SIDES = 128  # cells across the square
_FEW = 20_000  # points that are as quickly looked at one by one


class Cells:
    """The cell of each of many points in the unit square.

    Examples
    --------
    >>> import numpy as np
    >>> cells = Cells(np.array([0.1, 0.5, 0.9]), np.array([0.1, 0.5, 0.9]))
    >>> cells.inside(np.array([[0.0, 0.0], [0.7, 0.0], [0.7, 0.7], [0.0, 0.7]])).tolist()
    [True, True, False]
    """

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x, self.y = x, y
        self.cell = _column(y).astype(np.uint16) * np.uint16(_SIDES) + _column(x)

    def inside(self, corners: np.ndarray) -> np.ndarray:
        """Which points lie in a polygon, by the even-odd rule."""
        if len(self.x) <= _FEW:
            return _is_odd(self.x, self.y, corners)
        touched = _touched(corners)
        middle = (np.arange(_SIDES) + 0.5) / _SIDES
        whole = _is_odd(np.tile(middle, _SIDES), np.repeat(middle, _SIDES), corners) & ~touched
        found = whole[self.cell]
        near = np.flatnonzero(touched[self.cell])
        found[near] = _is_odd(self.x[near], self.y[near], corners)
        return found


def _column(values: np.ndarray) -> np.ndarray:
    return np.clip((values * np.float32(_SIDES)).astype(np.int16), 0, _SIDES - 1).astype(np.uint8)


def _touched(corners: np.ndarray) -> np.ndarray:
    """The cells that an edge may pass through, with one more on each side: rounding then decides nothing."""
    touched = np.zeros((_SIDES, _SIDES), dtype=bool)
    for (ax, ay), (bx, by) in zip(_SIDES * corners, _SIDES * np.roll(corners, -1, axis=0), strict=True):
        low, high = np.clip(np.floor([min(ay, by) - 1, max(ay, by) + 1]), -1, _SIDES).astype(np.int64)
        rows = np.arange(max(low, 0), min(high, _SIDES - 1) + 1)
        if by == ay:
            ends = np.broadcast_to(np.array([[ax], [bx]]), (2, len(rows)))
        else:  # where the edge enters and leaves each row of cells and its neighbours
            heights = np.clip([rows - 1.0, rows + 2.0], min(ay, by), max(ay, by))
            ends = ax + (bx - ax) * ((heights - ay) / (by - ay))
        left = np.clip(np.floor(ends.min(axis=0)) - 1, 0, _SIDES)
        right = np.clip(np.floor(ends.max(axis=0)) + 1, -1, _SIDES - 1)
        across = np.arange(_SIDES)
        touched[rows] |= (across >= left[:, None]) & (across <= right[:, None])
    return touched.ravel()


def _is_odd(x: np.ndarray, y: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether a way to the left from each point meets an odd number of edges."""
    odd = np.zeros(len(x), dtype=bool)
    low, high = corners.min(axis=0), corners.max(axis=0)
    near = np.flatnonzero((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
    near = near[np.argsort(y[near], kind="stable")]  # from top to bottom: an edge meets one stretch of them
    x, y, inside = x[near].astype(np.float64), y[near].astype(np.float64), np.zeros(len(near), dtype=bool)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        start, end = np.searchsorted(y, [min(ay, by), max(ay, by)])
        if start < end:
            some = slice(start, end)
            inside[some] ^= x[some] < (bx - ax) * (y[some] - ay) / (by - ay) + ax
    odd[near] = inside
    return odd
