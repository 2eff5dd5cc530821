"""The map: where items lie in the plane, which of them are drawn, and where the names of groups stand."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.explore._lasso import Cells
from cladify.maps._islands import densest

if TYPE_CHECKING:
    from cladify.explore._view import View

__all__ = ["MOST_CORNERS", "Plane"]

MOST_POINTS = 50_000  # drawn at once: with a column to colour by, 450 kB
MOST_ISLANDS = 1500  # groups whose names may stand on the map
MOST_LOOKED_AT = 20_000  # items of a group, to find where most of them are
MOST_CORNERS = 64  # of a lasso


class Plane:
    """The places of the items of a view, scaled to the unit square, along the line of items."""

    def __init__(self, view: View, points: Any) -> None:
        self.view = view
        self.x, self.y = _unit_square(points)[view.tree.leaf_order].T.astype(np.float32)

    def points(
        self,
        window: tuple[float, float, float] = (0.0, 0.0, 1.0),
        most: int = MOST_POINTS,
        *,
        passed: np.ndarray | None = None,
        column: int | None = None,
    ) -> bytes:
        """Places of some items in a square of the plane (left, top, side), evenly along the line of items.

        Little-endian: the window as three float64, whether these are all items in it (uint32), their number m (uint32),
        then m places along the line of items (uint32), the x and the y of each (uint16, in 65 535ths of the side), and
        with a column the bin of each (uint8).

        Parameters
        ----------
        window : (left, top, side)
        most : int
        passed : bool array of shape (n,), optional
            Which places of the line of items may be drawn; by default all.
        column : int, optional
        """
        left, top, side = window
        x, y = self.x, self.y
        inside = (x >= left) & (x <= left + side) & (y >= top) & (y <= top + side) & self.view.is_shown
        found = np.flatnonzero(inside if passed is None else inside & passed)
        place = found[:: max(1, -(-len(found) // most))]
        across, down = (np.round((each[place] - start) * (65535 / side)) for each, start in ((x, left), (y, top)))
        return b"".join(
            [
                np.array(window, "<f8").tobytes(),
                np.array([len(place) == len(found), len(place)], "<u4").tobytes(),
                place.astype("<u4").tobytes(),
                across.astype("<u2").tobytes(),
                down.astype("<u2").tobytes(),
                b"" if column is None else self.view.columns.code(column)[place].tobytes(),
            ]
        )

    def inside(self, corners: np.ndarray) -> np.ndarray:
        """Which places of the line of items lie in a polygon, by the even-odd rule."""
        return self._cells.inside(corners) & self.view.is_shown

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.x, self.y)

    @cached_property
    def islands(self) -> list[dict[str, Any]]:
        """Where the names of the largest groups stand on the map, parents before their parts."""
        view, tree = self.view, self.view.tree
        found: list[dict[str, Any]] = []
        waiting = [tree.root]
        while waiting and len(found) < MOST_ISLANDS:
            v = waiting.pop(0)
            if v != tree.root:
                span = slice(tree.first[v], tree.last[v], 1 + int(tree.size[v]) // MOST_LOOKED_AT)
                x, y, reach = densest(self.x[span], self.y[span])
                above = int(view.keys[tree.parent[v]])
                found.append({**view.record(v), "parent": above, "x": x, "y": y, "reach": reach})
            kids = view.visible(v)
            kids = kids[(kids >= tree.n_leaves) & (tree.size[kids] >= max(2, tree.n_leaves // 20_000))]
            waiting += kids[np.lexsort((tree.first[kids], -tree.size[kids]))].tolist()
        return found


def _unit_square(points: Any) -> np.ndarray:
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise InvalidInput(f"points must be finite and of shape (n, 2), got shape {points.shape}.")
    low = points.min(axis=0)
    return (points - low) / max(float((points.max(axis=0) - low).max()), 1e-300)
