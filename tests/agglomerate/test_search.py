"""Searches for near clusters by int8 products: the same trees, bit for bit, as by products of all pairs."""

import numpy as np
import pytest
from points import KINDS, blobs, of_kind

from cladify import HAC, _core
from cladify.agglomerate import _search

pytestmark = pytest.mark.skipif(_core.ISA != "v4", reason="this processor, or CLADIFY_ISA, has no int8 products")

LINKAGES = [
    ("average", "sqeuclidean"), ("average", "cosine"), ("average", "dot"), ("weighted", "sqeuclidean"),
    ("ward", "euclidean"), ("centroid", "euclidean"), ("median", "euclidean"), ("single", "euclidean"),
]  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    """Small inputs are screened, too."""
    monkeypatch.setattr(_search, "_FEWEST", 1)
    monkeypatch.setattr(_search, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(_search, "_SIDE", 256)


def without_screen(monkeypatch, fit):
    with monkeypatch.context() as m:
        m.setattr(_search, "suits", lambda width: False)
        return fit()


def assert_same(one, other):
    np.testing.assert_array_equal(one.parent, other.parent)
    np.testing.assert_array_equal(one.height, other.height)


@pytest.mark.parametrize(("linkage", "metric"), LINKAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_same_tree(kind, linkage, metric, small, monkeypatch):
    rng = np.random.default_rng(KINDS.index(kind))
    X = of_kind(kind, 900, rng)
    if metric == "dot" and kind in ("huge", "lengths of all kinds"):
        X = X / np.abs(X).max()

    def fit():
        return HAC(linkage=linkage, metric=metric, n_jobs=2).fit(X).tree_

    assert_same(fit(), without_screen(monkeypatch, fit))


@pytest.mark.parametrize("linkage", ["average", "ward"])
def test_same_tree_of_weighted_points(linkage, small, monkeypatch):
    rng = np.random.default_rng(0)
    X = of_kind("blobs", 800, rng)
    weight = 10.0 ** rng.uniform(-3, 3, size=len(X))

    def fit():
        return HAC(linkage=linkage, metric="euclidean" if linkage == "ward" else "sqeuclidean").fit(X, weight).tree_

    assert_same(fit(), without_screen(monkeypatch, fit))


def test_searches_are_screened_and_stop_where_all_pairs_pass(small, monkeypatch):
    done = []
    kernel = _core.VectorHac

    class Spy:
        def __init__(self, *args):
            self.hac = kernel(*args)

        def __getattr__(self, name):
            return getattr(self.hac, name)

        def screen(self, row, rows, column, columns, both):
            done.append((rows, self.hac.screen(row, rows, column, columns, both), both))
            return done[-1][1]

    monkeypatch.setattr(_core, "VectorHac", Spy)
    HAC(n_jobs=1).fit(blobs(2000, 64, 100, spread=0.3))
    for both in (True, False):  # of all clusters, and of some later on
        asked, screened, _ = np.sum([call for call in done if call[2] == both], axis=0)
        assert screened > 0.5 * asked > 0
    done.clear()
    HAC(n_jobs=1).fit(np.eye(600))
    assert np.max(done, axis=0)[1] <= 48


def test_single_linkage_joins_every_point_at_its_nearest():
    X = of_kind("blobs", 5000, np.random.default_rng(1))
    tree = HAC(linkage="single", metric="sqeuclidean").fit(X).tree_
    some = np.random.default_rng(2).integers(5000, size=40)
    distance = ((X[some, None].astype(float) - X.astype(float)) ** 2).sum(axis=2)
    distance[np.arange(40), some] = np.inf
    np.testing.assert_allclose(tree.height[tree.parent[some]], distance.min(axis=1), rtol=1e-9, atol=1e-9)


def test_what_the_core_refuses():
    n = 70
    mean, ids = np.random.default_rng(0).normal(size=(n, 8)), np.arange(n, dtype=np.int32)
    mean32, ones = np.empty((n, 8), dtype=np.float32), np.ones(n)
    hac = _core.VectorHac(mean, mean32, _core.Linkage.average, 8, ones, 0 * ones, ids, ids, n, 1)
    hac.begin(ids[:5], ids)
    with pytest.raises(ValueError, match="comes first"):
        hac.screen(0, 5, 0, n, False)
    hac.copy_for_screen()
    assert hac.screen(0, 5, 0, n, False) == 5
    for wrong in [(0, 6, 0, n, False), (0, 5, 64, 7, False), (0, 5, 3, 4, False), (0, 5, 0, n, True)]:
        with pytest.raises(ValueError, match=r"\w"):
            hac.screen(*wrong)
    for rows, columns in [(ids + 1, ids), (ids, ids - 1)]:
        with pytest.raises(ValueError, match="slot"):
            hac.begin(rows, columns)
    with pytest.raises(ValueError, match="slots"):
        hac.set_near_order(ids[1:])
    with pytest.raises(ValueError, match="no such part"):
        hac.scan(np.ones((6, 3), dtype=np.float32), 0, 0)
