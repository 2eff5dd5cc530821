"""Parameters for tests of forms, types, errors and repetition, where a good tree is not the question."""

import os

import pytest
from hypothesis import settings

#: Methods whose time is a number of steps; by default they take hundreds.
FEW_STEPS = {
    "ghhc": {"n_steps": 20},
    "hyphc": {"n_steps": 20, "n_init": 2},
    "ufit": {"n_steps": 20},
}

#: A folder in memory for tests that sync files hundreds of times, which takes milliseconds each on a busy disk.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def nightly(*values):
    """A case of `pytest.mark.parametrize` for `make test-all`, which repeats the check of others on more data."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def seeds(count: int, daily: int = 4) -> list:
    """Seeds 0 … count−1 for `pytest.mark.parametrize`, those after the first few for `make test-all`."""
    return [*range(daily), *map(nightly, range(daily, count))]


def repeats(count: int) -> range:
    """0 … count−1 for a loop over random cases in `make test-all`, a fifth of it in `make test`."""
    return range(count if settings.default.max_examples >= 200 else count // 5)
