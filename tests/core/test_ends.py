"""Kernels end whatever numbers come in: NaN, infinities, sums that overflow, squares that vanish."""

import contextlib

import numpy as np
import pytest

import cladify
from cladify import _core
from cladify._kit.progress import Progress
from cladify.agglomerate._search import search_all, search_some
from cladify.errors import CladifyError

pytestmark = [pytest.mark.timeout(60), pytest.mark.filterwarnings("ignore::RuntimeWarning")]

STRANGE = [np.nan, np.inf, -np.inf, 1e308, 1e200, 1e20, 1e-310]


@pytest.mark.parametrize("linkage", ["average", "weighted", "ward", "centroid", "median", "single"])
@pytest.mark.parametrize("strange", STRANGE)
def test_linkage_of_vectors_ends(linkage, strange):
    """As ``vector_merges`` calls the core, but with means that it would never hand over."""
    rng = np.random.default_rng(0)
    n = 60
    for where in ("mean", "everywhere", "spread", "weight"):
        mean, spread, weight = rng.normal(size=(n, 3)), rng.random(n), np.ones(n)
        if where == "mean":
            mean[7, 1] = strange
        elif where == "everywhere":
            mean[...] = strange * np.sign(mean)
        elif where == "spread":
            spread[::2] = strange
        else:
            weight[:] = strange
        mean32, ids = np.empty((n, 3), dtype=np.float32), np.arange(n, dtype=np.int32)
        hac = _core.VectorHac(mean, mean32, _core.Linkage[linkage], 8, weight, spread, ids, ids, n, 2)
        search_all(hac, mean32, 2, Progress())
        hac.settle_all()
        for _ in range(20 * n):
            rows = hac.run(1, np.inf, n)
            if hac.alive == 1:
                break
            search_some(hac, mean32, rows, 2)
        left, right, height = hac.merges()
        assert len(left) == len(right) == n - 1
        assert not np.isnan(height).any()


def _data(strange, n=60):
    X = np.random.default_rng(1).normal(size=(n, 3))
    X[5, 1] = strange
    return X


@pytest.mark.parametrize("strange", [1e308, -1e308, 1e200, 1e150, 1e20])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_methods_and_refinement_end_with_an_outlier(strange, dtype):
    X = _data(strange)
    if dtype == np.float32:
        X = np.clip(X, -1e38, 1e38).astype(dtype)
    tree = cladify.RandomTree(random_state=0).fit(X[:, :1] * 0).tree_
    runs = [lambda o=o: cladify.refine(tree, X, objective=o, random_state=0) for o in ("ckmm", "dasgupta")]
    runs += [
        lambda linkage=linkage, metric=metric: cladify.HAC(linkage=linkage, metric=metric).fit(X)
        for linkage in ("complete", "average", "single")
        for metric in ("euclidean", "dot", "rbf")
    ]
    runs += [lambda m=m: cladify.fit(X, method=m, random_state=0) for m in ("robust", "bisect", "kmeans", "scc")]
    for run in runs:
        with np.errstate(all="ignore"), contextlib.suppress(CladifyError, ArithmeticError):
            run()


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e150])
def test_robust_ends_where_squares_vanish_or_overflow(scale):
    X = np.random.default_rng(2).normal(size=(80, 3)) * scale
    with np.errstate(all="ignore"), contextlib.suppress(CladifyError, ArithmeticError):
        cladify.RobustSingleLinkage().fit(X)


@pytest.mark.parametrize("weight", [1e308, 1e-310])
@pytest.mark.parametrize("linkage", ["average", "ward", "complete", "single", "centroid"])
def test_weights_whose_sums_overflow_end(weight, linkage):
    X = np.random.default_rng(3).normal(size=(60, 3))
    with np.errstate(all="ignore"), contextlib.suppress(CladifyError):
        cladify.HAC(linkage=linkage).fit(X, sample_weight=np.full(60, weight))


def test_an_unknown_linkage_of_a_graph_is_refused():
    indptr, none = np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32)
    with pytest.raises(ValueError, match="graphs have average, single, weighted and complete linkage"):
        _core.GraphContraction(indptr, none, none.astype(np.float32), 0.0, 1.0, None, _core.Linkage.ward, 1)
