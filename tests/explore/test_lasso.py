"""Points in a polygon, by cells and one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cladify.explore._lasso import Cells

POINTS = np.random.default_rng(0).random((2, 30_000)).astype(np.float32)
CELLS = Cells(*POINTS)
#: Corners at the borders of cells, outside the square, and anywhere.
COORDINATE = st.one_of(st.integers(-8, 136).map(lambda i: i / 128), st.floats(-0.5, 1.5, width=32))


def naive(x, y, corners):
    """How many edges a way to the left from each point meets, edge by edge."""
    odd = np.zeros(len(x), bool)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        meets = (np.minimum(ay, by) <= y) & (y < np.maximum(ay, by))
        with np.errstate(divide="ignore", invalid="ignore"):
            odd ^= meets & (x < (bx - ax) * (y.astype(np.float64) - ay) / (by - ay) + ax)
    return odd


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=3, max_size=20))
def test_cells_say_what_every_edge_says(corners):
    corners = np.array(corners, np.float64)
    assert np.array_equal(CELLS.inside(corners), naive(*POINTS, corners))


def test_few_points_are_looked_at_one_by_one():
    x, y = POINTS[:, :500]
    corners = np.array([[0.1, 0.0], [0.9, 0.3], [0.4, 0.5], [0.8, 1.0], [0.0, 0.7]])
    assert np.array_equal(Cells(x, y).inside(corners), naive(x, y, corners))
