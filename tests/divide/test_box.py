"""The projection on the box cut by a plane, against bisection and against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladify import _core


def project(y, total):
    x = np.array(y, dtype=np.float64)
    _core.project_to_box(x, float(total))
    return x


def project_by_bisection(y, total):
    low, high = y.min() - 2, y.max() + 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(y - middle, -1, 1).sum() > total else (low, middle)
    return np.clip(y - (low + high) / 2, -1, 1)


@given(
    st.lists(st.floats(-50, 50) | st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=1, max_size=40),
    st.floats(-1, 1),
)
def test_same_as_bisection(y, share):
    y = np.array(y)
    x = project(y, share * len(y))
    assert (np.abs(x) <= 1).all()
    assert x.sum() == pytest.approx(share * len(y), abs=1e-8)
    assert np.allclose(x, project_by_bisection(y, share * len(y)), atol=1e-8)


def test_nearest_of_all_points_in_the_set():
    rng = np.random.default_rng(0)
    for _ in range(50):
        y = rng.normal(scale=2.0, size=12)
        x = project(y, 3.0)
        others = [project(rng.normal(scale=2.0, size=12), 3.0) for _ in range(20)]
        # The set is convex: x is the nearest if no other lies on the far side of the plane through x.
        assert all((y - x) @ (other - x) <= 1e-9 for other in others)


@pytest.mark.parametrize("share", [-0.99, -0.3, 0.0, 0.6, 1.0])
def test_where_newton_steps_go_astray(share):
    """Nearly all of the sum is flat: a step from one steep place lands far from the next."""
    y = np.concatenate([2.0 ** np.arange(20), -(3.0 ** np.arange(12)), np.full(30, 17.0)])
    x = project(y, share * len(y))
    assert x.sum() == pytest.approx(share * len(y), abs=1e-6)
    assert np.allclose(x, project_by_bisection(y, share * len(y)), atol=1e-6)


@pytest.mark.parametrize("total", [-5.0, 0.0, 5.0])
def test_equal_coordinates_and_corners(total):
    assert np.allclose(project(np.full(5, 7.0), total), total / 5)
