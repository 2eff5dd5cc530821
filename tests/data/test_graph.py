"""NeighborGraph: its rules, its forms, and what it computes, against SciPy."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

import cladify
from cladify.errors import FileError, InvalidInput
from cladify.neighbors import NeighborGraph


def random_matrix(n, density, seed, *, whole=False):
    rng = np.random.default_rng(seed)
    A = sparse.random_array((n, n), density=density, rng=rng, format="csr", dtype=np.float32)
    if whole:
        A.data = rng.integers(1, 4, size=len(A.data)).astype(np.float32)
    A.setdiag(0)
    A.eliminate_zeros()
    return A


@pytest.mark.parametrize(
    "code",
    [
        "import cladify; cladify.neighbors(X, 1); from cladify.neighbors import NeighborGraph; cladify.neighbors(X, 1)",
        "import cladify.neighbors; cladify.neighbors(X, 1); cladify.NeighborGraph",
        "from cladify.neighbors import neighbors; import cladify; neighbors(X, 1); cladify.neighbors(X, 1)",
        "from cladify import neighbors; neighbors(X, 1); neighbors.query(X, X)",
    ],
)
def test_module_and_function_share_a_name(code):
    subprocess.run([sys.executable, "-c", f"import numpy as np; X = np.eye(3); {code}"], check=True)


@given(n=st.integers(1, 40), density=st.floats(0, 0.5), seed=st.integers(0, 10**6), whole=st.booleans())
def test_symmetrize_equals_scipy(n, density, seed, whole):
    A = random_matrix(n, density, seed, whole=whole)
    graph = NeighborGraph.from_scipy(A)
    W, dense = A.toarray(), graph.to_scipy().toarray()
    assert (dense == W).all()
    both = (W > 0) & (W.T > 0)
    smaller = np.where(both, np.minimum(W, W.T), np.maximum(W, W.T))
    for how, expected in {
        "max": np.maximum(W, W.T),
        "min": smaller,
        "mean": (W + W.T) / 2,
        "mutual": np.where(both, np.maximum(W, W.T), 0),
    }.items():
        result = graph.symmetrize(how)
        np.testing.assert_allclose(result.to_scipy().toarray(), expected, rtol=1e-6)
        assert result.symmetric and result.info["symmetrized"] == how
        result.validate()
        assert NeighborGraph(result.indptr, result.indices, result.weight).symmetric
    assert graph.symmetric == bool((W == W.T).all())


@pytest.mark.parametrize("how", ["max", "min", "mean", "mutual"])
def test_a_graph_of_many_buckets_is_symmetrized_the_same_by_any_number_of_threads(how):
    """Rows of very different lengths, over several of the buckets that the kernel sorts edges into."""
    n = 9000
    A = random_matrix(n, 0.0005, 3).tolil()
    A[17, ::2] = 0.5  # a hub
    A = A.tocsr()
    A.setdiag(0)
    A.eliminate_zeros()
    graph = NeighborGraph.from_scipy(A)
    one, two, many = (graph.symmetrize(how, n_jobs=jobs) for jobs in (1, 2, 5))
    for other in (two, many):
        assert np.array_equal(one.indptr, other.indptr)
        assert np.array_equal(one.indices, other.indices)
        assert np.array_equal(one.weight, other.weight)
    both = (A != 0).multiply(A.T != 0)
    larger = A.maximum(A.T)
    expected = {
        "max": larger,
        "min": larger - larger.multiply(both) + A.minimum(A.T),
        "mean": (A + A.T) / 2,
        "mutual": larger.multiply(both),
    }[how]
    assert abs(one.to_scipy() - expected).max() < 1e-6
    count, labels = connected_components(A, directed=False)
    ours = graph.components()
    assert ours.max(initial=-1) + 1 == count
    assert len(set(zip(ours.tolist(), labels.tolist(), strict=True))) == count
    assert (np.unique(ours, return_index=True)[1] == np.sort(np.unique(ours, return_index=True)[1])).all()


@given(n=st.integers(1, 30), density=st.floats(0, 0.6), seed=st.integers(0, 10**6), k=st.integers(1, 4))
def test_nearest_and_top(n, density, seed, k):
    W = random_matrix(n, density, seed, whole=True).toarray()
    graph = NeighborGraph.from_scipy(sparse.csr_array(W))
    end, place = graph.nearest()
    for i in range(n):
        row = np.flatnonzero(W[i])
        best = row[np.argsort(-W[i, row], kind="stable")]
        assert end[i] == (best[0] if len(best) else -1)
        assert place[i] == -1 or graph.indices[place[i]] == end[i]
        kept = graph.top(k)
        assert kept.indices[kept.indptr[i] : kept.indptr[i + 1]].tolist() == sorted(best[:k].tolist())


def test_distance_graphs_keep_their_distances():
    X = np.random.default_rng(0).standard_normal((200, 4))
    X[100:] = X[:100] + 1e-9
    for metric, power in (("sqeuclidean", 2), ("euclidean", 1)):
        graph = cladify.neighbors(X, 5, metric)
        rows = np.repeat(np.arange(200), 5)
        exact = np.linalg.norm(X[rows] - X[graph.indices], axis=1) ** power
        np.testing.assert_allclose(graph.distances(), exact, rtol=1e-5)
        np.testing.assert_allclose(graph.weight, graph.scale / (graph.scale + exact), rtol=1e-5)
        assert graph.weight.min() > 0 and graph.weight.max() <= 1
        again = NeighborGraph(graph.indptr, graph.indices, graph.weight, metric=metric, scale=graph.scale)
        np.testing.assert_allclose(again.distances(), graph.distances(), atol=1e-6 * exact.max())
        both = graph.symmetrize()
        assert both.scale == graph.scale and both.symmetric
        assert both.to_scipy("distance").max() == graph.distances().max()


def test_weights_do_not_depend_on_the_unit():
    X = np.random.default_rng(0).standard_normal((300, 4))
    assert np.allclose(cladify.neighbors(X, 5).weight, cladify.neighbors(1024 * X, 5).weight, rtol=1e-6)


def test_cosine_weights():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])
    graph = cladify.neighbors(X, 2, "cosine")
    assert np.allclose(graph.to_scipy().toarray()[0], [0, 0.5 + 0.5 / np.sqrt(2), 0])
    assert np.allclose(graph.to_scipy("distance").toarray()[0], [0, 1 - 1 / np.sqrt(2), 2])
    near = cladify.neighbors(np.array([[1.0, 0.0], [1.0, 1e-6], [0.0, 1.0]]), 1, "cosine")
    assert near.distances()[0] == pytest.approx(0.5e-12, rel=1e-5)


# --- connecting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "laplacian(0.5)"])
def test_connect_by_nearest_pairs_gives_the_spanning_tree_of_the_components(metric):
    rng = np.random.default_rng(3)
    centres = 8 * rng.standard_normal((9, 3))
    X = np.concatenate([c + 0.1 * rng.standard_normal((rng.integers(5, 30), 3)) for c in centres])
    graph = cladify.neighbors(X, 3, metric)
    label = graph.components()
    count = label.max() + 1
    assert count >= 9 if metric == "sqeuclidean" else count > 1
    joined = graph.connect(X)
    assert joined.is_connected and not graph.is_connected
    assert joined.info["connected"]["components"] == count
    assert joined.n_edges == graph.n_edges + 2 * (count - 1)
    # The links weigh as much as the minimum spanning tree over the components does.
    D = cladify.similarity.get_similarity(metric)
    D = D.height(D.block(X, X))
    between = np.array([[D[np.ix_(label == a, label == b)].min() for b in range(count)] for a in range(count)])
    np.fill_diagonal(between, 0)
    added = joined.distances().sum(dtype=np.float64) - graph.distances().sum(dtype=np.float64)
    assert added / 2 == pytest.approx(minimum_spanning_tree(between).sum(), rel=1e-3)


def test_connect_without_vectors():
    A = sparse.block_diag([np.ones((3, 3)), np.ones((5, 5)), np.zeros((1, 1))], format="csr")
    A.setdiag(0)
    graph = NeighborGraph.from_scipy(A)
    joined = graph.connect()
    assert joined.is_connected
    assert joined.to_scipy().toarray()[0, 3] == 0.0
    assert joined.info["connected"]["links"] == 2
    assert joined.connect() is joined
    far = cladify.neighbors(np.array([[0.0], [1.0], [50.0], [51.0]]), 1).connect()
    assert far.is_connected and np.isinf(far.distances()).sum() == 2 and (far.weight == 0).sum() == 2
    cosine = cladify.neighbors(np.array([[0.0, 1], [0.1, 1], [1, 0], [1, 0.1]]), 1, "cosine").connect()
    assert cosine.is_connected and (cosine.weight == 0).sum() == 2


def test_connect_large_components():
    X = np.concatenate([np.linspace(0, 1, 700), np.linspace(3, 4, 600)])[:, None]
    joined = cladify.neighbors(X, 2).connect(X)
    assert joined.is_connected and joined.info["connected"]["links"] == 1


def test_connect_says_what_is_wrong():
    graph = cladify.neighbors(np.array([[0.0], [1.0], [50.0], [51.0]]), 1)
    with pytest.raises(InvalidInput, match="X has 3 rows, the graph has 4 points"):
        graph.connect(np.ones((3, 1)))
    given = NeighborGraph.from_scipy(graph.to_scipy())
    with pytest.raises(InvalidInput, match="does not know how to compute 'precomputed'"):
        given.connect(np.ones((4, 1)))


# --- rules and files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indptr", "indices", "weight", "rule"),
    [
        ([1, 2], [0], [1.0], "rule 1"),
        ([0, 2, 1], [0, 1], [1.0, 1.0], "rule 1"),
        ([0, 1, 1], [2], [1.0], "rule 2"),
        ([0, 1, 1], [-1], [1.0], "rule 2"),
        ([0, 2, 2, 2], [2, 1], [1.0, 1.0], "rule 3"),
        ([0, 2, 2, 2], [1, 1], [1.0, 1.0], "rule 3"),
        ([0, 1, 1], [0], [1.0], "rule 4"),
        ([0, 1, 1], [1], [1.0, 2.0], "rule 5"),
        ([0, 1, 1], [1], [np.nan], "rule 5"),
    ],
)
def test_validate_names_the_rule(indptr, indices, weight, rule):
    with pytest.raises(InvalidInput, match=rule):
        NeighborGraph(indptr, indices, weight)


def test_other_bad_graphs():
    with pytest.raises(InvalidInput, match="got neither"):
        NeighborGraph([0, 0], [])
    with pytest.raises(InvalidInput, match="no distance is negative"):
        NeighborGraph([0, 1, 1], [1], distance=[-1.0], kind="distance")
    with pytest.raises(InvalidInput, match="square"):
        NeighborGraph.from_scipy(sparse.csr_array((2, 3)))
    with pytest.raises(InvalidInput, match="SciPy sparse matrix, got ndarray"):
        NeighborGraph.from_scipy(np.eye(3))
    with pytest.raises(InvalidInput, match="real numbers"):
        NeighborGraph.from_scipy(sparse.csr_array(np.eye(3, dtype=complex)))


def test_arrays_are_read_only():
    graph = cladify.neighbors(np.eye(4), 2)
    for array in (graph.indptr, graph.indices, graph.weight, graph.distances()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_save_and_load(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 4))
    for metric in ("cosine", "sqeuclidean", "rbf(0.5)"):
        graph = cladify.neighbors(X, 5, metric)
        graph.save(tmp_path / "graph.npz")
        again = NeighborGraph.load(tmp_path / "graph.npz")
        assert (again.indices == graph.indices).all() and (again.weight == graph.weight).all()
        assert (again.distances() == graph.distances()).all()
        assert again.metric == metric and again.info == graph.info and again.symmetric == graph.symmetric


def test_load_refuses_other_files(tmp_path):
    path = tmp_path / "graph.npz"
    with pytest.raises(FileError, match="there is no file"):
        NeighborGraph.load(path)
    cladify.neighbors(np.eye(6), 2).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        cut = bytearray(whole[: rng.integers(1, len(whole))] if rng.random() < 0.5 else whole)
        for at in rng.integers(len(cut), size=rng.integers(1, 4)):
            cut[at] = rng.integers(256)
        path.write_bytes(bytes(cut))
        try:
            NeighborGraph.load(path).validate()
        except FileError as error:
            assert "\n" not in str(error)
    np.savez(path, header=np.array({"format": 1}, dtype=object))
    with pytest.raises(FileError, match="not a graph"):
        NeighborGraph.load(path)


def test_weights_of_distances_near_the_limit_of_float64():
    """Their sum with the scale would overflow; found by the fuzzer."""
    D = sparse.csr_array(np.array([[0, 1.7e308, 0], [1.7e308, 0, 9e307], [0, 9e307, 0]]))
    weight = NeighborGraph.from_scipy(D, kind="distance").values("weight")
    assert (weight > 0.3).all() and (weight < 0.7).all()
