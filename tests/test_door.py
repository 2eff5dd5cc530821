"""Found by attack: input that hung, crashed or raised something raw. A tree or one line, and quickly."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from quick import FEW_STEPS

import cladify
from cladify.errors import CladifyError, InvalidInput
from cladify.methods import METHODS

X = np.random.default_rng(0).normal(size=(40, 3))


def with_one(value, dtype=np.float64):
    rows = X.astype(dtype)
    rows[7, 1] = value
    return rows


HARD = {
    "one 1e20 in float32": with_one(1e20, np.float32),
    "1e200": X * 1e200,
    "1e308": np.clip(X, -1, 1) * 1e308,
    "one 1e200": with_one(1e200),
    "one 1e308": with_one(1e308),
    "1e-310": X * 1e-310,
    "denormals": np.random.default_rng(1).integers(1, 9, X.shape) * 5e-324,
    "1e100": X * 1e100,
    "1e-100": X * 1e-100,
    "1e30 in float32": (X * 1e30).astype(np.float32),
    "1e-40 in float32": (X * 1e-40).astype(np.float32),
}
METRICS = ("sqeuclidean", "euclidean", "cosine", "dot", "rbf")


def one_line(call):
    """The result, or None after an error of one line."""
    began = time.perf_counter()
    try:
        return call()
    except CladifyError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return None
    finally:
        assert time.perf_counter() - began < 10


@pytest.mark.filterwarnings("ignore::cladify.CladifyWarning")
@pytest.mark.parametrize("name", METHODS)
def test_numbers_near_the_limits(name):
    method = METHODS[name]
    metrics = [metric for metric in METRICS if method.takes(metric)] if method.metrics != () else [None]
    for metric in metrics:
        for data in HARD.values():
            params = FEW_STEPS.get(name, {}) | ({} if metric is None else {"metric": metric})
            for linkage in ("complete", "single") if name == "hac" else (None,):
                more = {} if linkage is None else {"linkage": linkage}
                tree = one_line(lambda p=params, m=more, d=data: cladify.fit(d, name, random_state=0, **p, **m))
                assert tree is None or (tree.n_leaves == 40 and np.isfinite(tree.height).all())


@pytest.mark.parametrize("form", HARD)
def test_refinement_and_scores_near_the_limits(form):
    start, data = cladify.fit(X, "random", random_state=0), HARD[form]
    for objective in ("ckmm", "mw"):
        one_line(lambda o=objective: cladify.refine(start, data, objective=o, budget_seconds=0.1))
        one_line(lambda o=objective: cladify.score(start, data, objective=o))
        one_line(lambda o=objective: cladify.fit(data, objective=o, budget_seconds=0.1))


def test_squares_that_no_float_holds_are_refused():
    with pytest.raises(InvalidInput, match=r"values up to .*e\+200, whose squares are too large for float64; divide"):
        cladify.fit(HARD["one 1e200"], "hac")
    with pytest.raises(InvalidInput, match="whose squares are too small for float64; multiply"):
        cladify.fit(HARD["1e-310"], "robust")


def test_cosine_does_not_care_for_lengths():
    scale = 10.0 ** np.linspace(-300, 300, 40)[:, None]
    plain, scaled = (cladify.fit(rows, "hac", metric="cosine") for rows in (X, X * scale))
    assert (plain.cut(6) == scaled.cut(6)).all()
    sparse = cladify.fit(sp.csr_matrix(X * scale), "hac", metric="cosine")
    assert (plain.cut(6) == sparse.cut(6)).all()


def broken(form):
    matrix = sp.csr_array(np.abs(X)).asformat(form)
    (matrix.coords[0] if form == "coo" else matrix.indices)[3] = 10**6
    return matrix


NOT_NUMBERS = {
    "ragged": ([[1.0, 2.0], [3.0]], "not a rectangular array"),
    "ragged arrays": ([np.ones(2), np.ones(3)], "not a rectangular array"),
    "1-D sparse": (sp.coo_array(np.arange(5.0)), "must be 2-D"),
    "huge integers": ([[10**400, 1], [2, 3]], "must hold numbers"),
    "dates": (np.full((5, 2), "2020-01-01", dtype="M8[D]"), "dates or time spans"),
    "spans": (np.ones((5, 2), dtype="m8[s]"), "dates or time spans"),
    "a column of dates": (pd.DataFrame({"a": pd.date_range("2020", periods=5), "b": 1.0}), "must hold numbers"),
    "missing objects": (np.array([[None, 1], [2, 3]], dtype=object), "X has NaN in 1 row"),
    "other objects": (np.array([[{}, 1], [2, 3]], dtype=object), "must hold numbers"),
    "text": (np.full((4, 2), "oak"), "text or records"),
    "masked": (np.ma.masked_invalid(with_one(np.nan)), "1 masked values"),
    "complex": (X.astype(complex), "Complex data"),
    "indices outside, CSR": (broken("csr"), "indices outside its shape"),
    "indices outside, CSC": (broken("csc"), "indices outside its shape"),
    "indices outside, COO": (broken("coo"), "indices outside its shape"),
}


@pytest.mark.parametrize("form", NOT_NUMBERS)
@pytest.mark.parametrize("name", METHODS)
def test_what_is_no_matrix_of_numbers(name, form):
    data, message = NOT_NUMBERS[form]
    with pytest.raises(CladifyError, match=message) as raised:
        cladify.fit(data, name)
    assert "\n" not in str(raised.value)


#: Flags, of which any value is true or false, and what a method takes for the sake of others and never uses.
ANYTHING = {
    "allow_single_cluster",
    "balance",
    "full_tree",
    "n_jobs",
    "random_state",
    "restructure",
    "single_elimination",
    "single_search",
    "until_stable",
}


@pytest.mark.parametrize("name", METHODS)
def test_a_parameter_of_no_use_is_named(name):
    """Every method, every parameter: what cannot be a value is refused in one line that has the parameter's name."""
    cls = METHODS[name].load()
    for parameter in set(cls().get_params()) - ANYTHING:
        with pytest.raises(CladifyError, match=parameter) as raised:
            cls(**FEW_STEPS.get(name, {}) | {parameter: object()}).fit(X)
        assert "\n" not in str(raised.value)


BAD_ROWS = {
    "NaN": (with_one(np.nan), "X has NaN in 1 row"),
    "infinity": (with_one(np.inf), "X has inf in 1 row"),
    "no rows": (np.empty((0, 3)), "0 sample|at least|minimum"),
    "no columns": (np.empty((5, 0)), "0 feature|at least|minimum"),
    "one dimension": (np.arange(5.0), "2-D|2D"),
}


@pytest.mark.parametrize("form", BAD_ROWS)
@pytest.mark.parametrize("name", METHODS)
def test_rows_of_no_use(name, form):
    data, message = BAD_ROWS[form]
    with pytest.raises(CladifyError, match=message) as raised:
        METHODS[name].load()().fit(data)
    assert "\n" not in str(raised.value)


def test_indices_outside_in_every_door():
    tree = cladify.fit(X, "hac")
    for call in (cladify.neighbors, lambda A: cladify.score(tree, A), lambda A: cladify.refine(tree, A)):
        with pytest.raises(InvalidInput, match="indices outside its shape"):
            call(broken("csr"))
    with pytest.raises(InvalidInput, match="indices outside its shape"):
        cladify.NeighborGraph.from_scipy(broken_square())


def broken_square():
    matrix = sp.csr_array(np.abs(X @ X.T))
    matrix.indices[3] = -5
    return matrix


def long_indices():
    rows = sp.csr_array(np.abs(X))
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


FOUND_AT_RANDOM = {
    "similarities beyond float32": ("scc", np.abs(X @ X.T) * 1e100, {"metric": "precomputed-similarity"}, "too large"),
    "distances beyond float32": ("affinity", abs(X[:, :1] - X[:, :1].T) * 1e50, {"metric": "precomputed"}, "too large"),
    "a graph beyond float32": ("bisect", sp.csr_array(np.abs(X @ X.T) * 1e100), {"metric": "precomputed-similarity"},
                               "too large"),
    "a row of zeros": ("random-cut", sp.csr_array(np.where(np.arange(40)[:, None] == 3, 0.0, X)), {"metric": "cosine"},
                       "zero"),
    "weights of zero": ("graph", X, {"metric": "rbf", "sample_weight": np.arange(40) % 2}, None),
    "nothing stored": ("hac", sp.csr_array((40, 3)), {"metric": "cosine"}, "zero"),
    "64-bit indices": ("scc", long_indices(), {"metric": "manhattan"}, None),
    "links beyond float32": ("llama", X * 1e30, {}, None),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND_AT_RANDOM)
def test_found_at_random(case):
    """By ``benchmarks/fuzz.py``; NumPy's warnings are errors here."""
    name, data, params, message = FOUND_AT_RANDOM[case]
    if message is None:
        assert cladify.fit(data, name, **params).n_leaves == 40
    else:
        with pytest.raises(InvalidInput, match=message):
            cladify.fit(data, name, **params)


@pytest.mark.parametrize("name", ["bisect", "sat"])
def test_laplacian_of_wide_sparse_rows_ends(name):
    rows = sp.random_array((300, 20_000), density=0.002, format="csr", random_state=0)
    began = time.process_time()
    assert cladify.fit(rows, name, metric="laplacian", random_state=0).n_leaves == 300
    assert time.process_time() - began < 30


def test_random_binning_of_sparse_rows_is_that_of_dense_ones():
    rows = np.where(np.random.default_rng(0).random((50, 30)) < 0.2, 1.0, 0.0)
    features = [
        cladify.similarity.laplacian(0.5).features(form, random_state=0).block(np.arange(50), np.arange(50))
        for form in (rows, sp.csr_array(rows))
    ]
    np.testing.assert_array_equal(*features)


def unaligned(array):
    """The same numbers, one byte off: what a field of packed records or a buffer may look like."""
    shifted = np.frombuffer(b"." + np.ascontiguousarray(array).tobytes(), array.dtype, offset=1).reshape(array.shape)
    assert not shifted.flags.aligned
    return shifted


def test_numbers_across_words_are_copied():
    rows = sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    shifted = sp.csr_array((1, 1))
    shifted.data, shifted.indices, shifted.indptr = (unaligned(a) for a in (rows.data, rows.indices, rows.indptr))
    shifted._shape = rows.shape
    assert cladify.fit(unaligned(X), "hac") == cladify.fit(X, "hac")
    assert cladify.fit(shifted, "hac") == cladify.fit(rows, "hac")
    D = np.abs(X[:, :1] - X[:, 0])
    for linkage in ("complete", "single"):
        given = cladify.fit(unaligned(D), "hac", metric="precomputed", linkage=linkage)
        assert given == cladify.fit(D, "hac", metric="precomputed", linkage=linkage)
    graph = cladify.neighbors(X, 5)
    parts = [unaligned(a) for a in (graph.indptr, graph.indices, graph.weight)]
    again = cladify.NeighborGraph(*parts, metric="sqeuclidean")
    assert all(a.flags.aligned for a in (again.indptr, again.indices, again.weight))
    tree = cladify.fit(X, "hac")
    assert cladify.Tree(unaligned(tree.parent), unaligned(tree.height)) == tree
    assert cladify.Tree.from_linkage(unaligned(tree.to_linkage())) == tree


@pytest.mark.parametrize("name", ["birch", "ghhc"])
def test_columns_that_store_nothing_cost_nothing(name):
    """200 rows of 40 000 columns took half a minute; found by the fuzzer."""
    rng = np.random.default_rng(0)
    narrow = sp.csr_array(np.where(rng.random((200, 40)) < 0.5, rng.normal(size=(200, 40)), 0.0))
    wide = sp.csr_array((narrow.data, narrow.indices * 1000, narrow.indptr), shape=(200, 40_000))
    began = time.process_time()
    model = METHODS[name].load()(**({"random_state": 0} if name == "ghhc" else {}))
    fitted = model.fit(wide)
    assert time.process_time() - began < 10
    if name == "birch":
        assert fitted.tree_ == model.fit(narrow).tree_
    else:
        assert fitted.nodes_.shape == (len(fitted.nodes_), 40_000)
