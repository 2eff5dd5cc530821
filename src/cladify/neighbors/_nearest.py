"""The fitted point nearest to each new one, behind every ``predict``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cladify.data._vectors import as_csr, check_vectors, is_sparse
from cladify.data.graph import NeighborGraph
from cladify.data.points import Points, entry_keys, row_keys
from cladify.data.similarity import get_similarity
from cladify.errors import InvalidInput
from cladify.neighbors.build import query

__all__ = ["nearest"]


def nearest(points: Points, X: Any, *, n_jobs: int | None = -1, model: str = "the model") -> np.ndarray:
    """The id of the point nearest to each new one; a point that is among these is its own nearest."""
    if points.is_graph and (isinstance(X, NeighborGraph) or not points.similarity.is_given):
        if X is points.data or (isinstance(X, NeighborGraph) and _same(X.to_scipy(), points.data.to_scipy())):
            return np.arange(points.n)
        raise InvalidInput(
            "predict needs the vectors, and this model was fitted on a graph; fit it on vectors, or assign new "
            "rows with cladify.neighbors.query(X, X_new) and model.labels_."
        )
    squares = points.form == "rows" and points.similarity.squares
    new = check_vectors(
        X,
        n_features=None if points.is_graph else points.d,
        model=model,
        nonzero_rows=points.form == "rows" and points.similarity.needs_nonzero_rows,
        squares=squares,
    )
    if new.shape[1] != points.d:
        raise InvalidInput(
            f"predict needs the vectors, and this model was fitted on a graph of {points.n} points; fit it on "
            f"vectors, or give the values between the new points and those, shape (m, {points.n}), got {new.shape}."
        )
    known = points.searched
    if is_sparse(known) != is_sparse(new):
        new = new.toarray() if is_sparse(new) else as_csr(_stored(new))
    if _same(new, known):
        return np.arange(points.n)
    found = _equal(points, new)
    rest = np.flatnonzero(found < 0)
    if len(rest):
        found[rest] = _closest(points, new[rest], n_jobs)
    return found


def _equal(points: Points, new: Any) -> np.ndarray:
    """The first point whose row is the same, digit for digit, or −1."""
    new = new.astype(points.searched.dtype, copy=False)
    wanted, keys = row_keys(new), points.row_keys
    found = np.full(new.shape[0], -1, dtype=np.int64)
    if points.is_graph:  # which keeps no values of points with themselves: leave each entry out in turn
        owner = np.repeat(np.arange(new.shape[0]), np.diff(new.indptr))
        own = wanted[owner] - entry_keys(new) == keys[new.indices]
        found[owner[own][::-1]] = new.indices[own][::-1]
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    hit = (keys[order[place]] == wanted) & (found < 0)
    if is_sparse(new):
        hit &= np.diff(new.indptr) > 0  # rows without an entry are all equal
    found[hit] = order[place[hit]]
    return found


def _closest(points: Points, new: Any, n_jobs: int | None) -> np.ndarray:
    if points.form == "rows":
        # The largest product with a row is not its own: only a distance finds a fitted row again.
        metric = "sqeuclidean" if points.similarity.order == "product" else points.similarity
        return query(replace(points, similarity=get_similarity(metric)), new, n_jobs=n_jobs).indices[:, 0]
    best = np.argmin if points.kind == "distance" else np.argmax
    if not is_sparse(new):
        return best(new, axis=1)
    if (empty := np.flatnonzero(np.diff(new.indptr) == 0)).size:
        raise InvalidInput(f"row {empty[0]} of X has no stored value: it is near none of the {points.n} fitted points.")
    ends = zip(new.indptr[:-1], new.indptr[1:], strict=True)
    return np.array([new.indices[a + best(new.data[a:b])] for a, b in ends], dtype=np.int64)


def _stored(X: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    return csr_array(X)


def _same(A: Any, B: Any) -> bool:
    """Whether two sets of rows are equal, digit for digit."""
    if A.shape != B.shape or is_sparse(A) != is_sparse(B):
        return False
    if is_sparse(A):
        return all(np.array_equal(getattr(A, part), getattr(B, part)) for part in ("indptr", "indices", "data"))
    return np.array_equal(A, B)
