"""Screening by int8 products: the same neighbours, bit for bit, as scores of all pairs."""

import numpy as np
import pytest
from points import KINDS, of_kind

import cladify
from cladify import _core
from cladify._kit.progress import Progress
from cladify.data import _exact, _screen
from cladify.data._exact import exact_neighbors, exact_query
from cladify.data._frame import Frame, Rows
from cladify.data._screen import near_order
from cladify.data.similarity import get_similarity
from cladify.neighbors import _cells
from cladify.neighbors._cells import Cells

pytestmark = pytest.mark.skipif(_core.ISA != "v4", reason="this processor, or CLADIFY_ISA, has no int8 products")


@pytest.fixture
def counted(monkeypatch):
    """Small inputs are screened, too; rows done by the screen are counted."""
    monkeypatch.setattr(_screen, "_FEWEST", 1)
    monkeypatch.setattr(_exact, "_SIDE", 256)
    done = []
    offer = _screen.Screen.offer

    def spy(self, *args, **kwargs):
        done.append(offer(self, *args, **kwargs))
        return done[-1]

    monkeypatch.setattr(_screen.Screen, "offer", spy)
    return done


@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "dot"])
@pytest.mark.parametrize("kind", KINDS)
def test_same_neighbors(kind, metric, counted, monkeypatch):
    rng = np.random.default_rng(KINDS.index(kind))
    X, Y = of_kind(kind, 1100, rng), of_kind(kind, 500, rng)
    if metric == "dot" and kind in ("huge", "lengths of all kinds"):
        X, Y = X / np.abs(X).max(), Y / np.abs(Y).max()
    similarity = get_similarity(metric)
    asked = {"n_jobs": 2, "report": Progress()}
    found = exact_neighbors(X, 7, similarity, **asked), exact_query(X, Y, 7, similarity, **asked)
    assert counted  # tried
    for module in (_exact, _screen):
        monkeypatch.setattr(module, "pays", lambda *_: False)
    expected = exact_neighbors(X, 7, similarity, **asked), exact_query(X, Y, 7, similarity, **asked)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.values, other.values)


def test_rows_need_no_float32_product_once_they_have_candidates(counted):
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(300, 64)), 10, axis=0) + 0.3 * rng.normal(size=(3000, 64))
    exact_neighbors(X.astype(np.float32), 7, get_similarity("cosine"), n_jobs=1, report=Progress())
    blocks = len(range(0, 3000, 256))
    assert len(counted) == blocks * (blocks - 1) // 2
    assert set(counted[-30:]) <= {256, 3000 % 256}


def test_near_rows_come_close():
    rng = np.random.default_rng(4)
    place = np.arange(4096)
    cluster = (place + place // 512) % 8  # every cluster has one of the rows that order the others
    X = 20 * np.eye(8, 24)[cluster] + rng.normal(size=(4096, 24))
    similarity = get_similarity("sqeuclidean")
    rows = Rows.of(X, Frame.of(X, similarity.order, 1), 1)
    order = near_order(rows.z, rows.bias, 1)
    assert np.array_equal(np.sort(order), place)
    assert np.count_nonzero(np.diff(cluster[order])) == 7


def test_stops_where_all_pairs_pass(counted):
    exact_neighbors(
        np.ones((2000, 32), dtype=np.float32), 7, get_similarity("sqeuclidean"), n_jobs=1, report=Progress()
    )
    assert max(counted) <= 54


def test_bounds_hold():
    rng = np.random.default_rng(0)
    z = (rng.normal(size=(130, 19)) * 10.0 ** rng.integers(-3, 3, size=(130, 1))).astype(np.float32)
    raised, packed = np.empty((130, 20), dtype=np.uint8), np.zeros(192 * 20, dtype=np.int8)
    scale, rest, size = (np.zeros(192, dtype=np.float32) for _ in range(3))
    shift = np.zeros(192, dtype=np.int32)
    _core.quantise(z, 0, 130, raised, packed, scale, shift, rest, size)
    q = raised.astype(np.int64) - 128
    again = packed.reshape(3, 5, 64, 4).transpose(0, 2, 1, 3).reshape(192, 20)
    np.testing.assert_array_equal(again[:130], q)
    np.testing.assert_array_equal(shift[:130], 128 * q.sum(axis=1))
    rounded = scale[:130, None].astype(float) * q
    padded = np.pad(z.astype(float), ((0, 0), (0, 1)))
    assert (np.abs(padded - rounded) <= 0.5001 * scale[:130, None]).all()
    assert (rest[:130] >= np.linalg.norm(padded - rounded, axis=1)).all()
    bound = rounded @ rounded.T + np.outer(rest[:130], (size + rest)[:130]) + np.outer(size[:130], rest[:130])
    assert (bound >= padded @ padded.T).all()
    assert (bound - padded @ padded.T <= 0.1 * np.outer(size[:130], size[:130])).all()


def test_graph_is_that_of_brute_force():
    X = of_kind("blobs", 5000, np.random.default_rng(1))
    graph = cladify.neighbors(X, 5, metric="sqeuclidean", method="exact")
    rows = np.random.default_rng(2).integers(5000, size=50)
    distance = ((X[rows, None].astype(float) - X.astype(float)) ** 2).sum(axis=2)
    distance[np.arange(50), rows] = np.inf
    for row, far in zip(rows, distance, strict=True):
        near = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        assert set(np.argsort(far)[:5]) <= set(near.tolist())


@pytest.mark.parametrize("count", [1, 5])
def test_nearest_of_many_cells(count, counted, monkeypatch):
    rng = np.random.default_rng(5)
    centre = (rng.normal(size=(30, 24))[rng.integers(30, size=900)] + 0.3 * rng.normal(size=(900, 24))).astype(
        np.float32
    )
    z = (centre[rng.integers(900, size=1500)] + 0.2 * rng.normal(size=(1500, 24))).astype(np.float32)
    cells = Cells.of(centre)
    found = cells.nearest(z, count, n_jobs=1)
    assert counted and np.mean(counted) > 400  # of blocks of 512 rows, the last one smaller
    monkeypatch.setattr(_cells, "suits", lambda _: False)
    np.testing.assert_array_equal(found, cells.nearest(z, count, n_jobs=1))
