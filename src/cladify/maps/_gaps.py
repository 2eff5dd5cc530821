"""Water between the islands of a map, made narrower where there is much of it.

Groups that share no neighbours drift apart: one far island, or six small ones, leave most of a picture empty and all
names small. For a picture the islands move towards each other, whole, until the water between them is a fair share of
the land. What is near stays near, islands keep their shape, and a map without wide gaps is not changed at all.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt, label
from scipy.spatial import cKDTree

__all__ = ["with_narrow_gaps"]

_SIDES = 96  # cells across the map
_FAIR = 0.16  # width of the water that is left alone, of the side of a square with the area of the land
_APART = 4.0  # the same in distances of a usual point to its nearest, for a few points are hardly land
_ROUNDS = 6  # as the map shrinks, its cells do
_MOST = 60  # islands: in an archipelago there is no water to save
_FEW = 2000  # points
_LEAST = 0.01  # of the width: smaller moves are none


def with_narrow_gaps(points: np.ndarray) -> np.ndarray:
    """The points with islands that are far from all others brought nearer.

    Parameters
    ----------
    points : array of shape (n, 2)

    Returns
    -------
    array of shape (n, 2)
        ``points`` itself where no gap is too wide.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=2).reshape(-1, 2)
    >>> far = np.vstack([square, square + [200, 0]])
    >>> near = with_narrow_gaps(far)
    >>> bool(np.ptp(near[:, 0]) < 40), bool(np.allclose(near[81:] - near[81], square))
    (True, True)
    """
    for _ in range(_ROUNDS):
        moved = _round(points)
        if moved is None:
            break
        points = moved
    return points


def _round(points: np.ndarray) -> np.ndarray | None:
    """One round: islands as cells show them, the nearest two first; None where nothing moves."""
    low = points.min(axis=0)
    side = float((points.max(axis=0) - low).max())
    if len(points) < 3 or side <= 0:
        return None
    cell = side / _SIDES
    place = np.minimum(((points - low) / cell).astype(np.int64), _SIDES - 1)
    key = place[:, 0] * _SIDES + place[:, 1]
    filled = np.bincount(key, minlength=_SIDES * _SIDES) > 0
    of_point = (np.cumsum(filled) - 1)[key]
    at = np.argwhere(filled.reshape(_SIDES, _SIDES))
    fair = max(_FAIR * np.sqrt(len(at)), _APART * _usual_distance(points) / cell, 2.0)
    island = _islands(at, fair)
    count = int(island.max()) + 1
    if not 1 < count <= _MOST:
        return None
    shift = cell * _shifts(at.astype(np.float64), island, np.bincount(island[of_point]), fair)
    return None if np.abs(shift).max() < _LEAST * side else points + shift[island[of_point]]


def _usual_distance(points: np.ndarray) -> float:
    """The median distance of a point to its nearest; 0 for many points, which cover their land."""
    if len(points) > _FEW:
        return 0.0
    return float(np.median(cKDTree(points).query(points, k=2)[0][:, 1]))


def _islands(at: np.ndarray, reach: float) -> np.ndarray:
    """The island of each cell: those about ``reach`` from each other, or nearer, are of one."""
    border = int(reach) + 1
    water = np.ones((_SIDES + 2 * border, _SIDES + 2 * border), dtype=bool)
    inner = at + border
    water[inner[:, 0], inner[:, 1]] = False
    grown = distance_transform_edt(water) <= 0.5 * reach
    named, _ = label(grown, structure=np.ones((3, 3)))
    return np.unique(named[inner[:, 0], inner[:, 1]], return_inverse=True)[1].ravel()


def _shifts(at: np.ndarray, island: np.ndarray, weight: np.ndarray, fair: float) -> np.ndarray:
    """How far each island goes: the nearest two become one, the lighter moving, until all are one."""
    start = [at[island == i] for i in range(len(weight))]
    group = {i: ([i], cells, float(w)) for i, (cells, w) in enumerate(zip(start, weight, strict=True))}
    shift = np.zeros((len(weight), 2))
    gaps = {(i, j): _gap(start[i], start[j]) for i in group for j in group if i < j}
    while gaps:
        (i, j), (gap, way) = min(gaps.items(), key=lambda each: each[1][0])
        if group[i][2] < group[j][2]:
            i, j, way = j, i, -way  # `way` leads from the heavier to the lighter
        names, cells, w = group.pop(j)
        others = np.vstack([group[k][1] for k in group])
        step = np.zeros(2)
        for share in (1.0, 0.5, 0.25) if gap > fair else ():
            tried = -way * share * (1 - fair / gap)
            if cKDTree(others).query(cells + tried)[0].min() >= 0.8 * fair:  # it may not land on a third
                step = tried
                break
        shift[names] += step
        group[i] = ([*group[i][0], *names], np.vstack([group[i][1], cells + step]), group[i][2] + w)
        gaps = {pair: found for pair, found in gaps.items() if i not in pair and j not in pair}
        for k in group:
            if k != i:
                gaps[min(i, k), max(i, k)] = _gap(group[min(i, k)][1], group[max(i, k)][1])
    return shift


def _gap(one: np.ndarray, two: np.ndarray) -> tuple[float, np.ndarray]:
    """The width of the water between two islands, and the way across it."""
    if len(one) < len(two):
        gap, way = _gap(two, one)
        return gap, -way
    distance, nearest = cKDTree(one).query(two)
    best = int(np.argmin(distance))
    return float(distance[best]), two[best] - one[nearest[best]]
