"""Maps of points: the forces against their formulas, the same map for any threads, new points, and odd graphs."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.manifold import trustworthiness

import cladify
from cladify import _core
from cladify.errors import InvalidInput
from cladify.maps import _start

MASK = 2**64 - 1


def blobs(n=600, d=8, k=6, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(k, size=n)
    return 6 * random.standard_normal((k, d))[y] + random.standard_normal((n, d)), y


# --- the kernel -------------------------------------------------------------------------------------------------------


def weights_of(distance, indptr=None):
    distance = np.asarray(distance, dtype=np.float64)
    weight = np.empty(len(distance), dtype=np.float32)
    _core.map_weights(np.array([0, len(distance)]) if indptr is None else indptr, distance, weight, 1)
    return weight


def test_weights_of_a_row_sum_to_log2_k_and_fall_with_the_distance():
    distance = np.sort(np.random.default_rng(0).random(15)) + 3.0
    weight = weights_of(distance)
    assert weight[0] == 1.0 and (np.diff(weight) < 0).all()
    assert abs(weight.sum() - np.log2(15)) < 1e-3
    np.testing.assert_allclose(weights_of(1000 * distance), weight, rtol=1e-4)  # the unit does not matter


def test_weights_of_ties_and_infinite_distances():
    assert weights_of([2.0, 2.0, 2.0]).tolist() == [1, 1, 1]
    assert weights_of([0.0, 0.0, 0.0]).tolist() == [1, 1, 1]
    assert weights_of([np.inf, 1.0, np.inf]).tolist() == [0, 1, 0]
    assert weights_of([np.inf]).tolist() == [0]
    assert weights_of([1e-30, 2e-30, 3e-30, 9e-30]).min() < 0.9


def test_either_direction_holds():
    a = csr_array([[0, 0.5, 0], [0.2, 0, 0], [0.7, 0, 0]])
    indptr, indices, value = _core.symmetrize(a.indptr.astype(np.int64), a.indices, a.data, 5, 1)
    both = csr_array((value, indices, indptr), shape=(3, 3)).toarray()
    dense = a.toarray()
    np.testing.assert_allclose(both, dense + dense.T - dense * dense.T)


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def naive_step(graph, at, speed, rate, seed, free, *, a, b, push, gravity, momentum):
    """The moves of a step as its comment has it, in float64 with NumPy's power."""
    n = len(at)
    after = speed.copy()
    for place, i in enumerate(np.flatnonzero(free).tolist()):
        row = slice(graph.indptr[i], graph.indptr[i + 1])
        difference = at[i].astype(np.float64) - at[graph.indices[row]]
        d2 = np.maximum((difference**2).sum(axis=1), 1e-12)
        pull = -2 * a * b * d2 ** (b - 1) / (1 + a * d2**b) * graph.data[row]
        force = np.clip(pull[:, None] * difference, -4, 4).sum(axis=0)
        stream = mixed((mixed(seed) + place // 8) & MASK)  # eight points in a row are pushed by the same ones
        bits = [mixed((stream + (k + 1) * 0x9E3779B97F4A7C15) & MASK) for k in range(16)]
        ids = [((each >> 32) * n) >> 32 for each in bits]
        difference = at[i].astype(np.float64) - at[ids]
        d2 = (difference**2).sum(axis=1)
        away = 2 * b / ((0.001 + d2) * (1 + a * np.maximum(d2, 1e-12) ** b))
        degree = max(graph.data[row].sum(), 0.1)
        force += push * degree * np.clip(away[:, None] * difference, -4, 4).mean(axis=0) - gravity * degree * at[i]
        step = rate / degree * force
        after[i] = momentum * speed[i] + step * min(1.0, 4.0 / max(np.linalg.norm(step), 1e-300))
    return after


@pytest.mark.parametrize("fixed", [False, True])
def test_a_step_is_the_sum_of_pulls_and_pushes(fixed):
    random = np.random.default_rng(1)
    n = 70
    dense = (random.random((n, n)) < 0.5) * random.random((n, n)).astype(np.float32)  # rows longer than a block
    dense[3] = 0  # no neighbours
    graph = csr_array(dense)
    at = (3 * random.standard_normal((n, 2))).astype(np.float32)
    at[5] = at[4]
    settings = {"a": 1.577, "b": 0.895, "push": 5.0, "gravity": 1e-3, "momentum": 0.5}
    stays = (random.random(n) < 0.3) if fixed else np.zeros(n, dtype=bool)
    seed = 12345
    forces = _core.MapForces(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int32),
        graph.data,
        at,
        stays.astype(np.uint8) if fixed else np.empty(0, np.uint8),
        *settings.values(),
        seed,
        2,
    )
    found, speed = at, np.zeros((n, 2))
    for step, rate in enumerate((0.7, 0.4)):
        turn = (seed + step * 0x9E3779B97F4A7C15) & MASK
        speed = naive_step(graph, found, speed, rate, turn, ~stays, **settings)
        expected = found + speed
        forces.steps(np.array([rate], dtype=np.float32))
        found = np.empty_like(at)
        forces.read(found)
        np.testing.assert_allclose(found, expected, atol=1e-2)
    assert (found[stays] == at[stays]).all()
    assert np.abs(found - at)[~stays].max() > 0.1


def test_the_kernel_refuses_arrays_that_do_not_fit():
    good = [np.array([0, 1, 2]), np.array([1, 0], np.int32), np.ones(2, np.float32), np.zeros((2, 2), np.float32)]
    rest = [np.empty(0, np.uint8), 1.5, 0.9, 5.0, 0.0, 0.5, 0, 1]
    _core.MapForces(*good, *rest)
    for place, bad in [(0, np.array([0, 1, 3])), (1, np.array([1, 2], np.int32)), (3, np.zeros((3, 2), np.float32))]:
        with pytest.raises(ValueError):
            _core.MapForces(*good[:place], bad, *good[place + 1 :], *rest)
    with pytest.raises(ValueError):
        _core.MapForces(*good, np.zeros(3, np.uint8), *rest[1:])


# --- maps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["rows", "graph", "tree", "graph with tree", "sparse"])
def test_neighbours_stay_neighbours_and_groups_stay_apart(form):
    X, y = blobs()
    graph = cladify.neighbors(X, 15)
    tree = cladify.fit(X, method="hac") if "tree" in form else None
    data = graph if "graph" in form else csr_array(X) if form == "sparse" else X
    Y = cladify.layout(data, tree)
    assert Y.shape == (600, 2) and Y.dtype == np.float32 and np.isfinite(Y).all()
    assert trustworthiness(X, Y, n_neighbors=15) > 0.9
    near = cladify.neighbors(Y, 10).indices.reshape(600, 10)
    assert (y[near] == y[:, None]).mean() > 0.98


def test_distances_between_groups_keep_their_order():
    X = np.random.default_rng(0).standard_normal((500, 5))
    X[:, 0] += np.repeat(15 * np.arange(5), 100)
    centre = cladify.layout(X).reshape(5, 100, 2).mean(axis=1)
    along = np.linalg.norm(centre - centre[0], axis=1)
    assert (np.diff(along) > 0).all()


def test_the_map_is_the_same_for_any_number_of_threads():
    X, _ = blobs(1500)
    first = cladify.layout(X, n_steps=40, n_jobs=1)
    for jobs in (2, 3, 5):
        assert np.array_equal(cladify.layout(X, n_steps=40, n_jobs=jobs), first)
    assert not np.array_equal(cladify.layout(X, n_steps=40, random_state=1), first)


def test_new_points_move_into_an_old_map():
    X, y = blobs(900)
    old = np.arange(900) < 810
    Y = cladify.layout(X[old])
    init = np.full((900, 2), np.nan)
    init[old] = Y
    Z = cladify.layout(X, init=init, fixed=old)
    assert np.array_equal(Z[old], Y)
    near = cladify.neighbors.query(Z[old], Z[~old], 5).indices
    assert (y[old][near] == y[~old][:, None]).mean() > 0.95
    free = cladify.layout(X, init=Z, n_steps=20)
    assert not np.array_equal(free[old], Y)


def test_only_the_edges_of_new_points_are_needed():
    """As an update has them: the neighbours of new rows among all rows, and nothing about the old ones."""
    X, y = blobs(900)
    old = np.arange(900) < 810
    whole = cladify.neighbors(X, 15)
    init = np.full((900, 2), np.nan)
    init[old] = cladify.layout(X[old])
    indptr = np.where(np.arange(901) <= 810, 0, whole.indptr - whole.indptr[810])
    edges = slice(whole.indptr[810], None)
    graph = cladify.NeighborGraph(indptr, whole.indices[edges], distance=whole.distances()[edges])
    Z = cladify.layout(graph, init=init, fixed=old)
    assert np.array_equal(Z[old], init[old].astype(np.float32))
    near = cladify.neighbors.query(Z[old], Z[~old], 5).indices
    assert (y[old][near] == y[~old][:, None]).mean() > 0.95


def test_the_start_of_unknown_points_is_the_mean_of_known_neighbours():
    path = csr_array(np.diag([1.0, 1, 1], 1) + np.diag([1.0, 1, 1], -1))
    init = np.array([[1.0, 1.0], [np.nan, np.nan], [3.0, 5.0], [np.nan, np.nan]], dtype=np.float32)
    start = _start.known_start(path, init, np.random.default_rng(0))
    np.testing.assert_allclose(start, [[1, 1], [2, 3], [3, 5], [3, 5]], atol=0.05)
    nowhere = _start.known_start(path, np.full((4, 2), np.nan), np.random.default_rng(0))
    assert np.isfinite(nowhere).all() and len(np.unique(nowhere, axis=0)) == 4


@pytest.mark.parametrize("n", [1, 2, 3, 5, 29, 300])
def test_few_points(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    Y = cladify.layout(X)
    assert Y.shape == (n, 2) and np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == n


@pytest.mark.parametrize("form", ["rows", "graph"])
def test_duplicates_are_not_one_point(form):
    X = np.repeat(np.eye(3), 200, axis=0)
    Y = cladify.layout(cladify.neighbors(X, 15) if form == "graph" else X)
    assert np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == 600
    assert np.abs(Y).max() < 100


def test_components_and_lonely_points_stay_within_sight():
    X, _ = blobs(500, k=2)
    inner = cladify.neighbors(X, 10).to_scipy("distance")
    whole = csr_array((inner.data, inner.indices, np.append(inner.indptr, [inner.indptr[-1]] * 10)), shape=(510, 510))
    graph = cladify.NeighborGraph.from_scipy(whole, kind="distance")
    assert graph.components().max() >= 10
    Y = cladify.layout(graph)
    radius = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
    assert np.isfinite(Y).all() and radius[500:].max() < 3 * np.quantile(radius[:500], 0.9)


def test_a_graph_without_edges():
    graph = cladify.NeighborGraph(np.zeros(51), np.empty(0), weight=np.empty(0))
    Y = cladify.layout(graph)
    assert np.isfinite(Y).all() and len(np.unique(Y, axis=0)) == 50


def test_a_tree_with_wide_nodes_warns_of_nothing():
    X, _ = blobs()
    wide = cladify.fit(X, method="hac").condense(min_size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cladify.layout(X, wide, n_steps=5).shape == (600, 2)


def test_progress_and_stops():
    X, _ = blobs()
    seen = []
    cladify.layout(X, n_steps=20, progress=lambda *what: seen.append(what))
    assert ("map", 0, 20) in seen and seen[-1] == ("map", 20, 20)

    def stop(stage, done, total):
        if stage == "map" and done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cladify.layout(X, n_steps=20, progress=stop)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": -1}, "n_steps must be an int of at least 0, got -1"),
        ({"init": np.zeros((3, 2))}, r"init must have shape \(600, 2\)"),
        ({"init": np.full((600, 2), np.inf)}, "use NaN"),
        ({"fixed": np.ones(600, dtype=bool)}, "give init="),
        ({"init": np.zeros((600, 2)), "fixed": np.ones(600)}, "must be a bool array"),
        ({"init": np.full((600, 2), np.nan), "fixed": np.ones(600, dtype=bool)}, "give their coordinates"),
        ({"graph": cladify.neighbors(np.eye(4), 2)}, "graph has 4 points, X has 600"),
        ({"tree": cladify.fit(np.eye(4), method="hac")}, "leaves"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        cladify.layout(blobs()[0], **arguments)
