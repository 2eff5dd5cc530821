"""Where the name of a group stands on a map."""

from __future__ import annotations

import numpy as np

__all__ = ["densest"]


def densest(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """The place where most of some points are, and how far around it half of them reach.

    The middle of a group may be empty, where it is two islands or a ring; its name belongs on land.
    """
    sides = 12
    low = np.array([x.min(), y.min()])
    side = max(float(x.max() - low[0]), float(y.max() - low[1]), 1e-9)
    inside = (((each - start) * (sides / side)).astype(np.int64) for each, start in zip((x, y), low, strict=True))
    cells = [np.minimum(cell, sides - 1) for cell in inside]
    count = np.bincount(cells[0] * sides + cells[1], minlength=sides * sides).reshape(sides, sides)
    padded = np.pad(count, 1)
    around = np.sum([padded[i : i + sides, j : j + sides] for i in range(3) for j in range(3)], axis=0)
    column, row = np.unravel_index(int(np.argmax(around)), around.shape)
    near = (np.abs(cells[0] - column) <= 1) & (np.abs(cells[1] - row) <= 1)
    cx, cy = float(x[near].mean()), float(y[near].mean())
    reach = float(np.median(np.hypot(x - cx, y - cy)))
    return round(cx, 5), round(cy, 5), round(reach, 5)
