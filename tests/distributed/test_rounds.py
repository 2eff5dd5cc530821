"""The rounds on parts give the trees of the local engine, digit for digit."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

import cladify
from cladify.errors import InvalidInput

pytest.importorskip("distributed")

from cladify.distributed import ShardedGraph
from cladify.distributed._stages import clusters as steps
from cladify.distributed._stages.components import unite_parts
from cladify.distributed._stages.rounds import Rounds, rounds_tree
from cladify.distributed._storage.work_folder import WorkFolder

# --- 22 graphs --------------------------------------------------------------------------------------------------------


def normal(n=150, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def blobs(n=150, seed=1):
    rng = np.random.default_rng(seed)
    return (normal(n, 3, seed) + 12 * rng.integers(0, 3, size=(n, 1))).astype(np.float32)


def given(rows, columns, weights, n, kind="similarity", dtype=np.float32):
    matrix = csr_array(coo_array((np.asarray(weights, dtype), (rows, columns)), shape=(n, n)))
    return cladify.NeighborGraph.from_scipy(matrix, kind=kind)


def integers(n=120, degree=6, high=4, seed=0, low=1):
    rng = np.random.default_rng(seed)
    rows, columns = np.repeat(np.arange(n), degree), rng.integers(0, n, n * degree)
    matrix = csr_array(coo_array((np.ones(n * degree, np.float32), (rows, columns)), shape=(n, n)))
    matrix.data = rng.integers(low, high, matrix.nnz).astype(np.float32)
    return cladify.NeighborGraph.from_scipy(matrix)


def grid(side=11):
    i = np.arange(side * side)
    right, down = i[i % side < side - 1], i[i < side * (side - 1)]
    return given(np.r_[right, down], np.r_[right + 1, down + side], np.ones(2 * side * (side - 1)), side * side)


def forest(n=90):
    i = np.arange(n)
    keep = i[i % 9 < 8]
    return given(keep, keep + 1, 1 + keep % 3, n)


def thirds(n=100, seed=3):
    """Weights whose sums round."""
    rng = np.random.default_rng(seed)
    rows, columns = np.repeat(np.arange(n), 9), rng.integers(0, n, 9 * n)
    return given(rows, columns, rng.integers(1, 5, 9 * n) / 3.0, n, dtype=np.float64)


GRAPHS = {
    "sqeuclidean": lambda: cladify.neighbors(normal(), 6),
    "euclidean": lambda: cladify.neighbors(normal(seed=2), 5, metric="euclidean"),
    "cosine": lambda: cladify.neighbors(normal(seed=3), 6, metric="cosine"),
    "dot": lambda: cladify.neighbors(np.abs(normal(seed=4)), 6, metric="dot"),
    "rbf": lambda: cladify.neighbors(normal(seed=5), 6, metric="rbf"),
    "one neighbour": lambda: cladify.neighbors(normal(seed=6), 1),
    "complete": lambda: cladify.neighbors(normal(40), 39),
    "blobs apart": lambda: cladify.neighbors(blobs(), 5),
    "blobs linked": lambda: cladify.neighbors(blobs(), 5).connect(),
    "duplicates": lambda: cladify.neighbors(np.repeat(normal(40), 4, axis=0), 5),
    "duplicates, cosine": lambda: cladify.neighbors(np.repeat(normal(30), 5, axis=0), 6, metric="cosine"),
    "all equal": lambda: cladify.neighbors(np.ones((60, 2), np.float32), 5),
    "lattice": lambda: cladify.neighbors(np.random.default_rng(0).integers(0, 4, (150, 3)).astype(np.float32), 6),
    "integer weights": integers,
    "two weights": lambda: integers(high=3, seed=7),
    "weights below 0": lambda: integers(low=-3, high=4, seed=8),
    "grid of ones": grid,
    "paths": forest,
    "thirds": thirds,
    "no edges": lambda: given([], [], [], 7),
    "two points": lambda: given([0], [1], [2.0], 2),
    "one point": lambda: given([], [], [], 1),
}
METHODS = {
    "affinity": cladify.Affinity,
    "scc": cladify.SCC,
    "reciprocal": cladify.ReciprocalNN,
}


@cache
def graph_of(name):
    return GRAPHS[name]()


@cache
def local_tree(name, method, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cladify.errors.CladifyWarning)
        return METHODS[method](**params).fit(graph_of(name)).tree_


def assert_same(found, tree):
    np.testing.assert_array_equal(found.parent, tree.parent)
    np.testing.assert_array_equal(found.height, tree.height)
    np.testing.assert_array_equal(found.level, tree.level)
    for key in ("method", "linkage", "metric", "n_rounds", "n_parts", "n_edges"):
        assert found.info[key] == tree.info[key]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_local_tree(name, method, here):
    tree = local_tree(name, method)
    for n_parts, finish_bytes in ((3, 0), (2, 1e9), *([(2, 4_000)] if method == "scc" else [])):
        parts = ShardedGraph.from_graph(graph_of(name), n_parts)
        found = rounds_tree(parts, METHODS[method](), here, finish_bytes=finish_bytes)
        assert_same(found, tree)
        figures = found.info["distributed"]
        assert len(figures["bytes_shuffled"]) == figures["rounds"] <= found.info["n_rounds"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("scc", {"linkage": "complete"}),
        ("scc", {"linkage": "single", "thresholds": "quantile"}),
        ("scc", {"until_stable": True, "n_rounds": 6}),
        ("scc", {"thresholds": "linear", "n_rounds": 3}),
        ("affinity", {"linkage": "single"}),
        ("reciprocal", {"epsilon": 0.3}),
        ("reciprocal", {"linkage": "complete"}),
    ],
)
@pytest.mark.parametrize("name", ["sqeuclidean", "cosine", "integer weights", "duplicates", "thirds"])
def test_parameters(name, method, params, here):
    tree = local_tree(name, method, **params)
    for finish_bytes in (0, 5_000):
        parts = ShardedGraph.from_graph(graph_of(name), 3)
        assert_same(rounds_tree(parts, METHODS[method](**params), here, finish_bytes=finish_bytes), tree)


@pytest.mark.parametrize("method", METHODS)
def test_on_a_cluster(job, method):
    parts = ShardedGraph.from_graph(graph_of("cosine"), 2)
    found = rounds_tree(parts, METHODS[method](), job, finish_bytes=9_000)
    assert_same(found, local_tree("cosine", method))
    assert found.info["distributed"]["rounds"] > 0
    assert_same(rounds_tree(parts, METHODS[method](), job), local_tree("cosine", method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("linkage", ["average", "complete"])
def test_weights(method, linkage, here):
    weight = np.random.default_rng(0).integers(1, 5, 150) + 0.1
    graph = graph_of("cosine")
    tree = METHODS[method](linkage=linkage).fit(graph, sample_weight=weight).tree_
    plain = local_tree("cosine", method, linkage=linkage)
    assert np.array_equal(tree.parent, plain.parent) == (linkage == "complete")  # only average linkage counts points
    for finish_bytes in (0, 6_000, 1e9):
        parts = ShardedGraph.from_graph(graph, 4)
        options = {"finish_bytes": finish_bytes, "sample_weight": weight}
        assert_same(rounds_tree(parts, METHODS[method](linkage=linkage), here, **options), tree)


@pytest.mark.parametrize("step", [0, 3])
def test_a_run_that_was_cut_off_goes_on_from_its_last_step(step, here, tmp_path, monkeypatch):
    parts, kept = ShardedGraph.from_graph(graph_of("cosine"), 3), replace(here, work=WorkFolder(str(tmp_path)))
    ran = []

    def counted(path, part, at, *more):
        ran.append(at)
        if at == step + 1 and part.j == 2 and len(ran) < 100:
            raise OSError("lost")
        return choose(path, part, at, *more)

    choose = steps.choose
    monkeypatch.setattr(steps, "choose", counted)
    with pytest.raises(OSError, match="lost"):
        rounds_tree(parts, cladify.ReciprocalNN(), kept, finish_bytes=0)
    assert max(ran) == step + 1
    ran[:] = [-1] * 100
    found = rounds_tree(parts, cladify.ReciprocalNN(), kept, finish_bytes=0)
    assert_same(found, local_tree("cosine", "reciprocal"))
    assert min(ran[100:]) == step + 1  # nothing that was finished is done again
    ran.clear()
    assert_same(rounds_tree(parts, cladify.ReciprocalNN(), kept, finish_bytes=0), found)
    assert not ran


# --- steps ------------------------------------------------------------------------------------------------------------


def choices(nearest, similarity):
    n = len(nearest)
    return np.arange(n), np.array(nearest), np.array(similarity, float)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_components_across_parts(pairs, seed, here):
    """Any pointers, also long cycles, which nearest neighbours only have by rounding."""
    rng = np.random.default_rng(seed)
    n, homes, n_parts = 60, steps.Homes(60, 11), 4
    nearest = (np.arange(n) + rng.integers(1, n if seed else 2, n)) % n  # seed 0: one cycle of all
    chosen = choices(nearest, rng.integers(1, 5, n))
    rule = steps.Rule(2.0, pairs, 0.0)
    one = steps.unite(chosen, rule=rule)
    part_of = homes.part(chosen[0]) % n_parts
    parts = [tuple(column[part_of == m] for column in chosen) for m in range(n_parts)]
    merged = unite_parts(here, [here.submit(tuple, part) for part in parts], rule, homes)
    for what in ("left", "right", "similarity"):
        np.testing.assert_array_equal(getattr(merged, what), getattr(one, what))


def test_every_part_keeps_its_share_of_the_edges(here, monkeypatch):
    """Clusters are named after their smallest points: ranges of points would leave the edges to the first parts."""
    rounds = []
    each = Rounds._each

    def watched(run, what, *more):
        receipts = each(run, what, *more)
        if what == "state":
            rounds.append([receipt["edges"] for receipt in receipts])
        return receipts

    monkeypatch.setattr(Rounds, "_each", watched)
    X = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    parts = ShardedGraph.from_graph(cladify.neighbors(X, 8), 8)
    rounds_tree(parts, cladify.SCC(), here, finish_bytes=1e4)
    assert len(rounds) > 4 and min(rounds[-2]) < min(rounds[0]) / 4
    assert max(max(edges) / np.mean(edges) for edges in rounds) < 1.5


def test_ward_and_weights_of_distances_are_said(here):
    parts = ShardedGraph.from_graph(graph_of("sqeuclidean"), 2)
    with pytest.raises(InvalidInput, match="linkage 'ward' needs vectors"):
        rounds_tree(parts, cladify.SCC(linkage="ward"), here, finish_bytes=0)
    wrong = ShardedGraph(parts.offsets, parts.parts, values="weight", metric="sqeuclidean", symmetric=True)
    with pytest.raises(InvalidInput, match="must keep the distances"):
        rounds_tree(wrong, cladify.SCC(), here, finish_bytes=0)
