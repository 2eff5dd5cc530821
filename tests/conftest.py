"""Fixtures shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def dataset():
    """``dataset(name)``: the arrays of a real data set, or a skip where the data sets are not installed.

    They are looked for in ``$RAMIFY_DATA``, then in ``../shared/datasets`` beside the repository.
    """
    folder = Path(os.environ.get("RAMIFY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "datasets")

    def load(name: str) -> dict[str, np.ndarray]:
        path = folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"data set {name!r} not found in {folder}; set RAMIFY_DATA to the folder that has {path.name}")
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    return load
