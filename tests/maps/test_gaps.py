"""Wide water between the islands of a map is made narrower, and nothing else is changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from cladify.maps._gaps import with_narrow_gaps


def disc(n, seed, radius=1.0):
    random = np.random.default_rng(seed)
    angle, reach = 2 * np.pi * random.random(n), radius * np.sqrt(random.random(n))
    return np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=1)


def test_a_far_island_no_longer_takes_half_of_the_picture():
    points = np.vstack([disc(2000, 0), disc(60, 1, 0.2) + np.array([12, 3])])
    moved = with_narrow_gaps(points)
    assert np.ptp(points[:, 0]) > 12
    assert np.ptp(moved[:, 0]) < 3.4
    assert cKDTree(moved[:2000]).query(moved[2000:])[0].min() > 0.15  # still an island
    np.testing.assert_allclose(moved[:2000] - moved[0], points[:2000] - points[0], atol=1e-9)
    np.testing.assert_allclose(moved[2000:] - moved[2000], points[2000:] - points[2000], atol=1e-9)


def test_few_points_fill_the_picture():
    points = np.vstack([disc(5, i, 0.02) + 3 * np.array([i % 3, i // 3]) for i in range(6)])
    before, after = (np.ptp(each, axis=0).max() for each in (points, with_narrow_gaps(points)))
    assert after < 0.25 * before


@pytest.mark.parametrize("points", [disc(3000, 0), np.zeros((40, 2)), disc(2, 0), np.array([[0.0, 0.0]])])
def test_a_map_without_wide_gaps_is_not_changed(points):
    assert with_narrow_gaps(points) is points


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(1.0, 60.0))
def test_islands_that_move_do_not_meet(seed, count, far):
    random = np.random.default_rng(seed)
    of = np.repeat(np.arange(count), 80)
    points = (far * random.random((count, 2)))[of] + disc(len(of), seed, 0.5)
    moved = with_narrow_gaps(points)
    shift = moved - points
    together = np.unique(np.round(shift, 6), axis=0, return_inverse=True)[1].ravel()
    for i in range(int(together.max()) + 1):
        inside = together == i
        if 0 < inside.sum() < len(of):
            before = cKDTree(points[~inside]).query(points[inside])[0].min()
            after = cKDTree(moved[~inside]).query(moved[inside])[0].min()
            assert after > min(0.2 * before, 0.05)
    assert np.ptp(moved, axis=0).max() <= 1.001 * np.ptp(points, axis=0).max()
