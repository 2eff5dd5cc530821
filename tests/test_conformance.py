"""What every method of the registry keeps, on every form of input that it declares; a new one is tested by its line."""

import gc
import os
import pickle
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from quick import FEW_STEPS
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

import cladify
from cladify.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::cladify.CladifyWarning")

N = 60
INFO = ["method", "params", "metric", "seed", "version", "n", "d", "input", "seconds", "approximations"]
TREES = [name for name, method in METHODS.items() if method.result == "tree"]
EXACT = [name for name in METHODS if METHODS[name].exact]


def rows(n=N, seed=0):
    """Three clusters, far apart, without ties."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) + 12.0 * np.eye(4)[np.arange(n) % 3]


def forms(X):
    """The points of X in every form: what ``fit`` gets, and the metric where the form needs one."""
    n = len(X)
    D = cdist(X, X)
    S = np.exp(-D / 4) - 0.95 * np.eye(n)  # a point is not the most similar to itself
    near = kneighbors_graph(X, min(30, n - 1), mode="distance") if n > 1 else sp.csr_array((1, 1))
    links = sp.csr_array(np.where((near + near.T).toarray() > 0, S, 0.0))
    return {
        "rows": (X, None),
        "sparse": (sp.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X)), None),
        "duplicates": (np.repeat(X[: max(1, n // 5)], 5, axis=0)[:n], None),
        "distances": (D, "precomputed"),
        "similarities": (S, "precomputed-similarity"),
        "sparse distances": (near, "precomputed"),
        "sparse similarities": (links, "precomputed-similarity"),
        "graph": (cladify.NeighborGraph.from_scipy(links, kind="similarity"), None),
    }


#: The form of the registry that a form here is an example of.
KINDS = {"sparse distances": "graph", "sparse similarities": "graph", "duplicates": "rows"}
FORMS = forms(rows())
ORDER = np.random.default_rng(1).permutation(N)


@cache
def permuted():
    return forms(rows()[ORDER])


@cache
def few(n):
    return forms(rows(n))


def takes(name, form, metric):
    kind = KINDS.get(form, form)
    if form == "graph" and "precomputed-similarity" in METHODS[name].refuses:
        return False  # the graph is one of similarities; sparse distances are one that it takes
    return METHODS[name].takes(metric, kind) if metric else kind in METHODS[name].inputs


PAIRS = [(name, form) for name in METHODS for form in FORMS if takes(name, form, FORMS[form][1])]
on_every_form = pytest.mark.parametrize(("name", "form"), PAIRS)
on_every_method = pytest.mark.parametrize("name", METHODS)


SEED = 3


def model(name, metric=None, **params):
    """An estimator with those of the parameters that it has."""
    cls = METHODS[name].load()
    params = {"random_state": SEED} | FEW_STEPS.get(name, {}) | params | ({} if metric is None else {"metric": metric})
    return cls(**{key: value for key, value in params.items() if key in cls().get_params()})


def result(fitted):
    return fitted.dag_ if METHODS[fitted_name(fitted)].result == "dag" else fitted.tree_


def fitted_name(fitted):
    return next(name for name, method in METHODS.items() if method.estimator == type(fitted).__name__)


def fit(name, form, given=FORMS, **params):
    data, metric = given[form]
    return result(model(name, metric, **params).fit(data))


@cache
def fitted_once(name, form):
    """The estimator on one thread, which several tests look at and none changes, and its reports of progress."""
    data, metric = FORMS[form]
    seen = []
    fitted = model(name, metric, n_clusters=4, n_jobs=1).fit(data, progress=lambda *step: seen.append(step))
    return fitted, seen


def found_once(name, form):
    return result(fitted_once(name, form)[0])


def pair_heights(tree, leaves):
    """Where each two of the leaves meet: the tree, up to the numbers of its nodes and the order of equal merges."""
    i, j = np.triu_indices(len(leaves), 1)
    if isinstance(tree, cladify.ClusterDag):
        together = tree.memberships()[:, :].astype(bool).toarray()[leaves]
        size = together.sum(axis=0)  # the smallest cluster that has both
        common = together[i] & together[j]
        return np.where(common.any(axis=1), np.where(common, size, np.inf).min(axis=1), np.inf)
    return tree.height[tree.lca(leaves[i], leaves[j])]


def same_heights(tree, leaves, other, others, rtol):
    expected = pair_heights(other, others)
    np.testing.assert_allclose(pair_heights(tree, leaves), expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def same_partition(a, b):
    return len(np.unique(np.stack([a, b]), axis=1).T) == len(np.unique(a)) == len(np.unique(b))


# --- the same again ---------------------------------------------------------------------------------------------------


@on_every_form
def test_any_number_of_threads_gives_the_same(name, form):
    two, three = (fit(name, form, n_clusters=4, n_jobs=jobs) for jobs in (2, 3))
    assert found_once(name, form) == two == three


@on_every_form
def test_pickle_and_clone(name, form):
    data, fitted = FORMS[form][0], fitted_once(name, form)[0]
    again = pickle.loads(pickle.dumps(fitted))
    assert result(again) == result(fitted) and result(again).info == result(fitted).info
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params() and not hasattr(twin, "points_")
    assert result(twin.fit(data)) == result(fitted)
    if name in TREES:
        assert (again.predict(data, n_clusters=3) == fitted.predict(data, n_clusters=3)).all()


@on_every_form
def test_the_order_of_rows_does_not_matter(name, form):
    X, order = rows(), ORDER
    first, second = found_once(name, form), fit(name, form, permuted(), n_clusters=4)
    if form == "duplicates":  # other rows, with ties
        assert second.n_leaves == N
    elif name in EXACT:
        same_heights(second, np.arange(N), first, order, rtol=1e-5)
    else:
        quality = [
            cladify.score(first, X, objective="ckmm").value,
            cladify.score(second, X[order], objective="ckmm").value,
        ]
        assert min(quality) > 0.8 * max(quality)


# --- weights and numbers ----------------------------------------------------------------------------------------------


#: Whose heights differ, and why; the clusters are the same.
NOT_REPEATED = {
    "affinity": "a round joins copies alone, so that it is one round of the others behind",
    "robust": "weights count in the sizes of clusters, not in the distances to the k-th neighbours",
    "scc": "the thresholds start at the least distance, which is zero between copies",
}


@pytest.mark.parametrize("name", [name for name in EXACT if METHODS[name].weights])
def test_whole_weights_are_repeated_rows(name):
    X, weight = rows(), np.random.default_rng(2).integers(1, 4, N)
    params = {"n_neighbors": None, "min_samples": 6}
    weighted = model(name, **params).fit(X, sample_weight=weight).tree_
    repeated = model(name, **params).fit(np.repeat(X, weight, axis=0)).tree_
    first = np.cumsum(weight) - weight
    assert same_partition(weighted.cut(3), repeated.cut(3)[first])
    if name not in NOT_REPEATED:
        same_heights(weighted, np.arange(N), repeated, first, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in METHODS if not METHODS[name].weights])
def test_weights_that_do_not_count_are_refused_or_ignored(name):
    try:
        found = result(model(name).fit(rows(), sample_weight=np.arange(1.0, N + 1)))
    except cladify.errors.InvalidInput as error:
        assert "sample_weight" in str(error) and "\n" not in str(error)
    else:
        assert found == fit(name, "rows")


@pytest.mark.parametrize(("name", "form"), [(n, f) for n, f in PAIRS if n in EXACT and f in ("rows", "distances")])
def test_float32_is_float64_up_to_rounding(name, form):
    data, metric = FORMS[form]
    single = result(model(name, metric).fit(data.astype(np.float32)))
    same_heights(single, np.arange(N), fit(name, form), np.arange(N), rtol=1e-3)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@on_every_method
def test_large_and_small_numbers(name, scale):
    params = {"threshold": 0.5 * scale, "n_clusters": None}
    for dtype in (np.float64, np.float32):
        found = result(model(name, **params).fit((rows() * scale).astype(dtype)))
        assert found.n_leaves == N and np.isfinite(found.height).all()
        if name in EXACT and name in TREES:
            assert same_partition(found.cut(3), fit(name, "rows").cut(3))


@on_every_method
def test_constant_columns(name):
    X = rows()
    found = result(model(name).fit(np.hstack([X, np.full((N, 2), 3.0)])))
    assert found.n_leaves == N
    if name in EXACT:
        same_heights(found, np.arange(N), fit(name, "rows"), np.arange(N), rtol=1e-5)
    assert result(model(name).fit(np.full((N, 3), 7.0))).n_leaves == N


@pytest.mark.parametrize("n", [1, 2, 3])
@on_every_form
def test_few_points(name, form, n):
    found = fit(name, form, few(n))
    assert found.n_leaves == n and found.info["n"] == n and np.isfinite(found.height).all()


# --- what goes with a fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "form"), [pair for pair in PAIRS if pair[0] in TREES])
def test_predict_agrees_with_fit(name, form):
    """On the rows of the fit, at several cuts, whole or in part."""
    data, fitted = FORMS[form][0], fitted_once(name, form)[0]
    assert (fitted.predict(data) == fitted.labels_).all()
    for k in (1, 3, 20, N):
        assert (fitted.predict(data, n_clusters=k) == fitted.tree_.cut(n_clusters=k)).all()
    height = float(np.median(fitted.tree_.height[N:]))
    assert (fitted.predict(data, height=height) == fitted.tree_.cut(height=height)).all()
    if form not in ("duplicates", "graph"):
        some = np.array([41, 7, 13])
        given = sp.csr_array(data) if sp.issparse(data) else data
        assert (fitted.predict(given[some], n_clusters=N) == fitted.tree_.cut(n_clusters=N)[some]).all()


@on_every_form
def test_info_is_complete_and_uniform(name, form):
    info = found_once(name, form).info
    assert list(info)[: len(INFO)] == INFO
    assert info["n"] == N and info["version"] == cladify.__version__ and info["seconds"] >= 0
    if name == "random":  # which counts the rows, whatever they are
        return
    assert info["input"] == {"distances": "matrix", "similarities": "matrix", "graph": "graph"}.get(
        KINDS.get(form, form), "rows"
    )
    assert info["d"] == (4 if info["input"] == "rows" else N)
    assert set(info["params"]) == set(METHODS[name].load()().get_params())
    assert info["seed"] == (SEED if METHODS[name].draws else None)


@on_every_method
def test_fit_names_the_method(name):
    assert cladify.fit(rows(), name, **FEW_STEPS.get(name, {})).info["method"] == name


@on_every_form
def test_progress_is_told(name, form):
    seen = fitted_once(name, form)[1]
    assert seen
    for stage, done, total in seen:
        assert isinstance(stage, str) and 0 <= done <= total


@on_every_form
def test_an_interrupt_in_the_callback_is_heard(name, form):
    data, metric = FORMS[form]

    def press(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model(name, metric).fit(data, progress=press)


#: Those that take long enough here to press a key; `divide/test_interrupt.py` has those that need other data.
LONG = ("affinity", "graph", "hac", "llama", "reciprocal", "robust", "scc", "spectral")


@pytest.mark.parametrize("name", LONG)
def test_the_interrupt_key_is_heard(name):
    X = np.random.default_rng(0).normal(size=(30_000, 64)).astype(np.float32)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    gc.disable()  # hypothesis listens to it, and what is raised in a listener is lost
    try:
        with pytest.raises(KeyboardInterrupt):
            model(name).fit(X)
    finally:
        gc.enable()
    assert time.perf_counter() - pressed[0] < 3.0  # a second, and a busy machine


# --- scikit-learn's conventions ---------------------------------------------------------------------------------------

COUNTS_ONCE = {"check_sample_weights_not_overwritten": "every row counts once"}
NO_DIRECTION = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_array",
    ),
    "a zero row has no direction, and cosine is the default",
)
NO_SUCH_CUT = "a CF-tree need not have a cut into the number of clusters that the check sets"
NO_WEIGHTS = dict.fromkeys(
    (
        "check_all_zero_sample_weights_error",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ),
    "every row counts once, and weights are refused",
)
EXPECTED = {
    **{name: NO_DIRECTION for name, method in METHODS.items() if method.online},
    "bisect": COUNTS_ONCE,
    "birch": {
        "check_clustering": NO_SUCH_CUT,
        "check_methods_sample_order_invariance": NO_SUCH_CUT,
        "check_methods_subset_invariance": NO_SUCH_CUT,
    },
    "ghhc": NO_DIRECTION | COUNTS_ONCE,
    "hyphc": NO_DIRECTION | COUNTS_ONCE,
    "random": {"check_clustering": "a random tree does not look at the data"},
    "random-cut": {"check_clustering": "one random direction need not separate the clusters"},
    "sat": COUNTS_ONCE,
    **dict.fromkeys(("llama", "ohc"), NO_WEIGHTS),
}


@on_every_method
def test_scikit_learn_conventions(name, conforms):
    conforms(METHODS[name].load()(**FEW_STEPS.get(name, {})), **EXPECTED.get(name, {}))
