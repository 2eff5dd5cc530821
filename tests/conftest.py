"""Fixtures shared by all tests."""

import os
import signal
import sys
from pathlib import Path

# Compiled modules are kept, for the programs that tests start and for the next run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests run side by side. Threads of BLAS, of scikit-learn and of PyTorch in each of them would spin while they wait for
# a core; cladify's own are not counted by these settings. Libraries read them when they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

import naive_objectives
import numpy as np
import pytest
from hypothesis import settings

# A busy machine is no failure; pytest's own timeout stops what hangs. `make test-all` takes the second profile.
settings.register_profile("cladify", deadline=None, max_examples=25)
settings.register_profile("nightly", deadline=None, max_examples=200)
settings.load_profile("cladify")

# A job in the background starts with Ctrl-C ignored, and so would the processes that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def dataset():
    """``dataset(name)``: the arrays of a real data set, or a skip where the data sets are not installed.

    They are looked for in ``$CLADIFY_DATA``, then in ``../shared/datasets`` beside the repository.
    """
    folder = Path(os.environ.get("CLADIFY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "datasets")

    def load(name: str) -> dict[str, np.ndarray]:
        path = folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"data set {name!r} not found in {folder}; set CLADIFY_DATA to the folder that has {path.name}")
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    return load


@pytest.fixture(scope="session")
def conforms():
    """``conforms(estimator, check_name="why it cannot pass", ...)``: scikit-learn's own checks of an estimator."""
    from sklearn.utils.estimator_checks import check_estimator

    # The checks compare a row of weight 0 with a row left out. Some methods pass; which do depends on their defaults.
    every_row_is_a_leaf = "a row of weight zero keeps its leaf, which a cut may make a cluster of its own"
    known = {
        "check_sample_weight_equivalence_on_dense_data": every_row_is_a_leaf,
        "check_sample_weight_equivalence_on_sparse_data": every_row_is_a_leaf,
    }

    def check(estimator, **expected: str) -> None:
        results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks={**known, **expected})
        failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
        assert not failed, failed

    return check


@pytest.fixture(scope="session")
def random_tree():
    """``random_tree(n, rng)``: a tree of n leaves."""
    return naive_objectives.random_tree


@pytest.fixture(scope="session")
def naive():
    """The objectives by their definitions."""
    return naive_objectives.Naive
