"""The checks at the door: what passes unchanged, and what each refusal says."""

import numpy as np
import pytest
import scipy.sparse as sp

from cladify._kit import memory, params
from cladify.data import _vectors
from cladify.errors import InvalidInput, NotEnoughMemory


def test_float32_and_memory_maps_pass_without_a_copy(tmp_path):
    X = np.ones((5, 3), dtype=np.float32)
    assert _vectors.check_vectors(X) is X
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(_vectors.check_vectors(mapped), mapped)


@pytest.mark.parametrize(
    ("dtype", "work"),
    [
        ("f2", "f4"),
        ("i1", "f4"),
        ("u1", "f4"),
        ("i2", "f4"),
        ("i4", "f8"),
        ("i8", "f8"),
        ("?", "f4"),
        ("f8", "f8"),
        (">f4", "f4"),
    ],
)
def test_other_numbers_become_the_smallest_exact_float(dtype, work):
    X = np.array([[0, 1], [1, 0]]).astype(dtype)
    out = _vectors.check_vectors(X)
    assert out.dtype == np.dtype(work) and out.dtype.isnative
    assert (out == X).all()


def test_lists_and_fortran_order_work():
    assert _vectors.check_vectors([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    X = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert (_vectors.check_vectors(X) == X).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(5), r"must be 2-D .* got shape \(5,\)\. Reshape your data"),
        (np.zeros((2, 2, 2)), r"must be 2-D .* got shape \(2, 2, 2\)\. Flatten"),
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
        (np.array([["a"], ["b"]]), "must hold numbers, got dtype <U1"),
        (np.array([[object()], [1]], dtype=object), "must hold numbers, got dtype object"),
        ([[1, 2], [3]], "not a rectangular array"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
    ],
)
def test_refusals_say_what_to_do(X, message):
    with pytest.raises(InvalidInput, match=message):
        _vectors.check_vectors(X)


def test_nan_names_the_rows():
    X = np.zeros((50, 4), dtype=np.float32)
    X[[17, 40, 41], 2] = np.nan
    with pytest.raises(InvalidInput, match=r"NaN in 3 rows \(first: 17, 40, 41\); drop or impute"):
        _vectors.check_vectors(X)
    with pytest.raises(InvalidInput, match=r"NaN in 3 rows \(first: 17, 40, 41\)"):
        _vectors.check_vectors(sp.csr_matrix(X))
    X[:] = 0
    X[3] = np.inf
    with pytest.raises(InvalidInput, match=r"inf in 1 row \(first: 3\)"):
        _vectors.check_vectors(X)


def test_large_finite_values_are_not_taken_for_inf():
    X = np.full((100, 10), 3e38, dtype=np.float32)
    assert np.array_equal(_vectors.check_vectors(X), X) and _vectors.check_vectors(X).dtype == np.float64
    assert _vectors.check_vectors(X, squares=False) is X


def test_zero_rows_under_cosine():
    X = np.eye(4)
    X[2] = 0
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(
            InvalidInput, match=r"1 zero row \(first: 2\).*cosine; drop them or use metric='sqeuclidean'"
        ):
            _vectors.check_vectors(rows, nonzero_rows=True)


def test_feature_count_must_match_the_model():
    with pytest.raises(InvalidInput, match="has 3 features, but the model is expecting 4"):
        _vectors.check_vectors(np.zeros((2, 3)), n_features=4)


def test_sparse_where_only_dense_is_taken():
    with pytest.raises(InvalidInput, match=r"X is sparse.*toarray"):
        _vectors.check_vectors(sp.eye_array(3), accept_sparse=False)


def test_parameters():
    assert params.check_int("k", np.int32(3), low=1, high=5) == 3
    with pytest.raises(InvalidInput, match=r"n_neighbors must be an int in \[1, 4999\] for 5000 points, got 5000\."):
        params.check_int("n_neighbors", 5000, low=1, high=4999, why="for 5000 points")
    for bad in (True, 2.0, "2", None):
        with pytest.raises(InvalidInput, match="k must be an int"):
            params.check_int("k", bad)
    assert params.check_float("x", 1) == 1.0
    for bad in (np.nan, np.inf, "1", True, 0.0):
        with pytest.raises(InvalidInput, match="x must be a finite number above 0"):
            params.check_float("x", bad, low=0, open_low=True)
    with pytest.raises(InvalidInput, match="Did you mean 'ward'"):
        params.check_choice("linkage", "wrad", ["ward", "average"])
    assert params.optional(params.integer(1))("k", None) is None


def test_random_state():
    draws = [params.check_random_state(7).integers(1000) for _ in range(2)]
    assert draws[0] == draws[1]
    generator = np.random.default_rng(0)
    assert params.check_random_state(generator) is generator
    legacy = [params.check_random_state(np.random.RandomState(3)).integers(1000) for _ in range(2)]
    assert legacy[0] == legacy[1]
    with pytest.raises(InvalidInput, match="random_state must be"):
        params.check_random_state(-1)


def test_labels_keep_noise_and_number_the_rest():
    assert params.check_labels(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    assert params.check_labels([-1, 5, 3], 3).tolist() == [-1, 1, 0]
    with pytest.raises(InvalidInput, match=r"y must have shape \(4,\)"):
        params.check_labels([1, 2], 4)
    with pytest.raises(InvalidInput, match="label -2"):
        params.check_labels([-2, 1], 2)


def test_sample_weight():
    assert _vectors.check_sample_weight(None, 3) is None
    assert _vectors.check_sample_weight([1, 2, 3], 3).dtype == np.float64
    for bad, message in (
        ([1, 2], "shape"),
        ([0, 0, 0], "above zero"),
        ([1, -1, 1], "below zero"),
        ([1, np.nan, 1], "finite"),
    ):
        with pytest.raises(InvalidInput, match=message):
            _vectors.check_sample_weight(bad, 3)


def test_memory_is_checked_before_the_work(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 21 * 10**9)
    memory.check_memory(10**9, "HAC", "use scc")
    with pytest.raises(NotEnoughMemory, match=r"^HAC on 200 000 points needs 80\.0 GB, 21\.0 GB are free; use scc$"):
        memory.check_memory(80 * 10**9, "HAC on 200 000 points", "use scc")


def test_available_memory_is_plausible():
    assert 2**20 < memory.available_memory() < 2**50
