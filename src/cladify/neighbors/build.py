"""`neighbors` and `query`: the public functions, and the choice between the ways to search."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from cladify import _core
from cladify._costs import EXACT_WORK, machine, pair_work, sparse_pairs
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_choice, check_float, check_int
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._exact import Neighborhoods, exact_neighbors, exact_query
from cladify.data._vectors import is_sparse
from cladify.data.graph import NeighborGraph
from cladify.data.points import as_points
from cladify.data.similarity import Similarity
from cladify.errors import CladifyWarning, InvalidInput
from cladify.neighbors._growing import growing_neighbors
from cladify.neighbors._shards import shard_neighbors

__all__ = ["Neighborhoods", "neighbors", "query"]

_METHODS = ("auto", "exact", "shards", "ann")
#: From this many sparse rows on, a symmetric matrix with few entries a row is taken for a graph that was not named so.
_MANY_ROWS = 10_000
_FEW_ENTRIES = 200


def neighbors(
    X: Any,
    k: int = 25,
    metric: str | Similarity | Any = "sqeuclidean",
    method: str = "auto",
    *,
    recall: float = 0.95,
    random_state: Any = 0,
    n_jobs: int | None = -1,
    progress: ProgressLike | Progress = None,
) -> NeighborGraph:
    """The directed graph from every row of ``X`` to its ``k`` nearest other rows.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        With given values the n × n matrix of them; see :mod:`cladify.data.points`.
    k : int
        Neighbours a row, below n.
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`; a bare function is a distance.
    method : {"auto", "exact", "shards", "ann"}
        ``"exact"`` computes every pair once by blocks of matrix products (n²d work). ``"shards"`` compares rows of
        nearby cells only (about n^1.5 d) and finds the share ``recall`` of the neighbours; for dense rows and metrics
        that order neighbours by a distance or an angle. ``"ann"`` asks the index of the
        online methods, which also takes products. ``"auto"`` is exact as long as that takes seconds.
    recall : float
        The share of true neighbours that ``"shards"`` is to find. The recall, measured on a sample of rows, is
        in ``info``.
    random_state : None, int or Generator
        For the cells and the sample of ``"shards"``.
    n_jobs : int, optional
        Threads; -1 is all cores. The result does not depend on it.
    progress : bool or callable ``(stage, done, total)``, optional

    Returns
    -------
    NeighborGraph
        Ties at the k-th place go to the smaller ids. ``info`` has the method, and the recall of an approximate one.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.2]])
    >>> graph = cladify.neighbors(X, k=1, metric="cosine")
    >>> graph.indices.tolist()
    [1, 0, 3, 2]
    >>> graph.info["method"]
    'exact'
    """
    check_choice("method", method, _METHODS)
    points = as_points(X, metric)
    if points.is_graph:
        raise InvalidInput("X is a graph already; use graph.top(k) for its k nearest a row, or pass the vectors.")
    X, similarity, n = points.data, points.similarity, points.n
    _check_size(n)
    k = check_int("k", k, low=1, high=max(n - 1, 0), why=f"for {n} points") if n > 1 else _no_neighbors(k)
    recall = check_float("recall", recall, low=0.0, high=1.0, open_low=True)
    method = _choose(method, X, similarity)
    if _looks_like_graph(X):
        _warn_graph(X, n_jobs)
    info: dict[str, Any] = {"method": method, "k": k, "metric": str(similarity)}
    if n == 1:
        return _graph(np.empty((1, 0), np.int32), np.empty((1, 0), np.float32), similarity, info)
    store = partial(_stored, similarity=similarity, dtype=X.dtype)
    with reporting(progress) as report:
        if method == "shards":
            indices, values, plan = shard_neighbors(
                X, k, similarity, store, recall=recall, random_state=random_state, n_jobs=n_jobs, report=report
            )
            info |= plan.info
        else:
            if method == "exact":
                found = exact_neighbors(X, k, similarity, n_jobs=n_jobs, report=report)
            else:
                found = growing_neighbors(X, k, similarity, random_state=random_state, n_jobs=n_jobs, report=report)
            indices, values = found.indices, store(found.values)
    return _graph(indices, values, similarity, info)


def _choose(method: str, X: Any, similarity: Similarity) -> str:
    """The method to use; ``"shards"`` must fit the data and the metric."""
    fits = similarity.order in ("distance", "angle") and not is_sparse(X)
    if method == "shards" and not fits:
        what = (
            "dense rows, got sparse ones" if is_sparse(X) else f"cosine or a Euclidean metric, got {str(similarity)!r}"
        )
        raise InvalidInput(f"method 'shards' needs {what}. Use method='exact'.")
    if method == "ann" and (is_sparse(X) or similarity.order is None):
        raise InvalidInput(f"method 'ann' needs dense rows and another metric than {str(similarity)!r}; use 'exact'.")
    if method != "auto":
        return method
    n, d = X.shape
    return "shards" if fits and pair_work(n, d) > EXACT_WORK else "exact"


def _looks_like_graph(X: Any) -> bool:
    """Whether sparse rows are a large symmetric matrix with few entries a row."""
    n = X.shape[0]
    if not is_sparse(X) or n < _MANY_ROWS or X.shape[1] != n or X.nnz > _FEW_ENTRIES * n:
        return False
    return (X != X.T).nnz == 0


def _warn_graph(X: Any, n_jobs: int | None) -> None:
    n = X.shape[0]
    seconds = sparse_pairs(n, X.nnz / n, machine(resolve_jobs(n_jobs)))
    warnings.warn(
        f"X is a symmetric sparse matrix of {n} x {n} with {X.nnz / n:.1f} entries a row, read as {n} rows; the search "
        f"for their neighbours takes about {max(1, round(seconds))} s. If it is a graph of similarities, use "
        "metric='precomputed-similarity' or NeighborGraph.from_scipy(X); for distances metric='precomputed'.",
        CladifyWarning,
        stacklevel=3,
    )


def query(
    X: Any,
    Y: Any,
    k: int = 1,
    metric: str | Similarity | Any = "sqeuclidean",
    *,
    n_jobs: int | None = -1,
    progress: ProgressLike | Progress = None,
) -> Neighborhoods:
    """The ``k`` nearest rows of ``X`` for every row of ``Y``, exactly.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    Y : array or CSR of shape (m, d)
        The queries.
    k : int
        At most n.
    metric, n_jobs, progress
        As in :func:`neighbors`.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.neighbors import query
    >>> found = query(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0], [0.2]]), k=2)
    >>> found.indices.tolist()
    [[2, 1], [0, 1]]
    """
    points = as_points(X, metric)
    X, similarity = points.rows, points.similarity
    Y = similarity.check(Y, name="Y")
    if X.shape[1] != Y.shape[1]:
        raise InvalidInput(f"Y has {Y.shape[1]} columns, X has {X.shape[1]}; use the same embedding for both.")
    _check_size(max(X.shape[0], Y.shape[0]))
    k = check_int("k", k, low=1, high=X.shape[0], why=f"for {X.shape[0]} points")
    if is_sparse(X) != is_sparse(Y):
        raise InvalidInput("X and Y must both be dense or both be sparse; convert one of them.")
    if X.dtype != Y.dtype:
        X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
    with reporting(progress) as report:
        found = exact_query(X, Y, k, similarity, n_jobs=n_jobs, report=report)
    distance = _float32(similarity.height(found.values))
    weight = -distance if similarity.kind == "distance" else _float32(found.values)
    return Neighborhoods(found.indices, weight, distance)


def _stored(values: np.ndarray, similarity: Similarity, dtype: np.dtype) -> np.ndarray:
    """The values that a graph keeps, from those of the metric, in the precision of the rows."""
    values = similarity.height(values) if _keeps_distance(similarity) else values
    return np.ascontiguousarray(values) if dtype == np.float64 else _float32(values)


def _keeps_distance(similarity: Similarity) -> bool:
    return similarity.kind == "distance" or similarity.order == "angle"


def _graph(indices: np.ndarray, values: np.ndarray, similarity: Similarity, info: dict[str, Any]) -> NeighborGraph:
    """The graph of a search's result, which is sorted in place; places without a neighbour are left out."""
    _core.sort_rows(indices, values)
    present = indices >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    if not present.all():
        indices, values = indices[present], values[present]
    indices, values = indices.ravel(), values.ravel()
    weight, distance = (None, values) if _keeps_distance(similarity) else (values, None)
    kind = similarity.kind if similarity.is_given else None
    return NeighborGraph(indptr, indices, weight, distance=distance, metric=similarity, kind=kind, info=info)


def _float32(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # a distance too large for float32 is infinite
        return np.ascontiguousarray(values, dtype=np.float32)


def _check_size(n: int) -> None:
    if n >= 2**31 - 1:
        raise InvalidInput(f"a graph has at most 2 147 483 646 points, got {n}; split the data.")


def _no_neighbors(k: Any) -> int:
    check_int("k", k, low=1)
    return 0
