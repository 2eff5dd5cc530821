"""What every search for neighbours keeps, against all pairs in NumPy: exact, shards, and rows that come and go."""

from functools import cache

import numpy as np
import pytest
from points import blobs

import cladify
from cladify.neighbors._growing import GrowingRows

N, K = 600, 8


def points(n=N, seed=0):
    """Clusters that overlap, in float32."""
    return blobs(n, 6, 20, seed=seed, spread=0.5)


def built(method):
    def search(X, k, metric, n_jobs):
        graph = cladify.neighbors(X, k, metric=metric, method=method, n_jobs=n_jobs)
        near, apart = (values.reshape(len(X), k) for values in (graph.indices, graph.distances()))
        return np.take_along_axis(near, np.argsort(apart, axis=1, kind="stable"), axis=1)  # a graph is sorted by id

    return search


def growing(method, batch):
    """Rows that arrived in batches; the nearest is the row itself, or one equal to it."""

    def search(X, k, metric, n_jobs):
        z = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
        squared = None if metric == "cosine" else np.einsum("ij,ij->i", z, z)
        rows = GrowingRows(method=method, seed=0, n_jobs=n_jobs)
        for start in range(0, len(z), batch):
            some = slice(start, start + batch)
            slots = rows.put(np.ascontiguousarray(z[some]), None if squared is None else squared[some])
            assert slots.tolist() == list(range(len(z)))[some]
        near = rows.nearest(np.ascontiguousarray(z), k + 1)
        return np.array([[j for j in row if j != i][:k] for i, row in enumerate(near.tolist())])

    return search


#: The search, and the share of the true neighbours that it must find.
SEARCHES = {
    "exact": (built("exact"), 1.0),
    "shards": (built("shards"), 0.9),
    "growing, exact": (growing("exact", 250), 1.0),
    "growing, cells": (growing("cells", 250), 0.9),
}
METRICS = ("sqeuclidean", "cosine")
every_search = pytest.mark.parametrize("name", SEARCHES)
every_metric = pytest.mark.parametrize("metric", METRICS)


def distances(X, metric):
    X = X.astype(np.float64)
    if metric == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return apart


@cache
def found_once(name, metric):
    return SEARCHES[name][0](points(), K, metric, 1)


def reached(near, apart):
    """For each neighbour found, whether it is no farther than the true k-th, up to rounding."""
    kth = np.sort(apart, axis=1)[:, near.shape[1] - 1]
    return np.take_along_axis(apart, near, axis=1) <= kth[:, None] * (1 + 1e-5) + 1e-6


@every_metric
@every_search
def test_finds_the_nearest(name, metric):
    near, apart = found_once(name, metric), distances(points(), metric)
    assert reached(near, apart).mean() >= SEARCHES[name][1]


@every_metric
@every_search
def test_neighbours_are_other_rows_nearest_first(name, metric):
    near = found_once(name, metric)
    assert near.shape == (N, K) and near.min() >= 0 and near.max() < N
    assert (near != np.arange(N)[:, None]).all()
    assert (np.diff(np.sort(near, axis=1), axis=1) > 0).all()
    apart = np.take_along_axis(distances(points(), metric), near, axis=1)
    assert (np.diff(apart, axis=1) >= -1e-4 * apart.max()).all()


@every_metric
@every_search
def test_any_number_of_threads_finds_the_same(name, metric):
    assert (SEARCHES[name][0](points(), K, metric, 2) == found_once(name, metric)).all()


@every_search
def test_equal_rows_find_each_other(name):
    X = np.repeat(points(60), 10, axis=0)
    near = SEARCHES[name][0](X, 5, "sqeuclidean", 1)
    same = near // 10 == np.arange(600)[:, None] // 10
    assert same.mean() >= SEARCHES[name][1]


@every_search
def test_all_others_of_a_few_rows(name):
    near = SEARCHES[name][0](points(12), 11, "sqeuclidean", 1)
    assert (np.sort(near, axis=1) == [[j for j in range(12) if j != i] for i in range(12)]).all()


@every_search
def test_one_row_far_away(name):
    X = points(300)
    X[17] *= 1e4
    near = SEARCHES[name][0](X, 5, "sqeuclidean", 1)
    rest = np.delete(np.arange(300), 17)
    assert (near[17] >= 0).all() and not (near[rest] == 17).any()
