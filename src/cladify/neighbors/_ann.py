"""An approximate index that grows and shrinks, for methods whose points come and go.

The graph of a fixed data set is better built by :func:`cladify.neighbors`, which is faster and the same every time.
Here points are added, searched and removed one batch after another, which an HNSW graph does in about logarithmic time
a point. The index is usearch's: of three measured on 30 000 word vectors at equal recall (usearch, hnswlib, faiss) it
built as fast as the fastest, put removed points back six times faster than hnswlib, and faiss cannot remove at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.parallel import resolve_jobs, row_blocks
from cladify._kit.params import check_int
from cladify._kit.progress import Progress
from cladify.data._exact import Nearest, Neighborhoods
from cladify.data._vectors import check_vectors
from cladify.data.similarity import Similarity, get_similarity
from cladify.errors import InvalidInput, MissingExtra

__all__ = ["AnnIndex"]

#: What usearch calls the order of neighbours that a metric gives.
_ORDERS = {"distance": "l2sq", "angle": "cos", "product": "ip"}


class AnnIndex:
    """Approximate nearest neighbours among points that are added and removed.

    Parameters
    ----------
    n_features : int
        Columns of the vectors.
    metric : str or Similarity
        Any metric that orders neighbours by distance, angle or product: sqeuclidean, euclidean, cosine, dot, rbf.
    n_links : int
        Links a point has in the index; more find more of the true neighbours, and cost memory.
    effort : int
        Candidates looked at when adding and searching; more find more of the true neighbours, and cost time.
    n_jobs : int
        Threads. With one thread the same calls give the same index; with more, the order in which threads insert may
        change which approximate neighbours are found, so the default is 1.

    Examples
    --------
    >>> import numpy as np
    >>> index = AnnIndex(1)
    >>> index.add([10, 11, 12], np.array([[0.0], [1.0], [5.0]]))
    >>> index.search(np.array([[4.0]]), k=2).indices.tolist()
    [[12, 11]]
    >>> index.remove([12])
    >>> index.search(np.array([[4.0]]), k=2).indices.tolist()
    [[11, 10]]

    References
    ----------
    .. [1] Malkov, Yashunin. Efficient and robust approximate nearest neighbor search using hierarchical navigable
       small world graphs. IEEE TPAMI, 2020.
    """

    def __init__(
        self,
        n_features: int,
        metric: Any = "sqeuclidean",
        *,
        n_links: int = 16,
        effort: int = 128,
        n_jobs: int | None = 1,
    ) -> None:
        try:
            from usearch.index import Index
        except ImportError:
            raise MissingExtra("An index that grows and shrinks", "ann") from None
        self.similarity = get_similarity(metric)
        if self.similarity.order is None:
            raise InvalidInput(
                f"metric {str(self.similarity)!r} cannot be indexed; use cosine, dot, euclidean, sqeuclidean or rbf."
            )
        self.n_features = check_int("n_features", n_features, low=1)
        self._threads = resolve_jobs(n_jobs)
        self._index = Index(
            ndim=self.n_features,
            metric=_ORDERS[self.similarity.order],
            dtype="f32",
            connectivity=check_int("n_links", n_links, low=2),
            expansion_add=check_int("effort", effort, low=1),
            expansion_search=effort,
        )

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, point: int) -> bool:
        return int(point) in self._index

    def add(self, ids: Any, X: Any) -> None:
        """Add the rows of ``X`` under these ids, which must be new and 0 or above."""
        X = self._rows(X, "X")
        ids = _ids(ids)
        if len(ids) != len(X):
            raise InvalidInput(f"ids and X must be of equal length, got {len(ids)} ids for {len(X)} rows.")
        if len(np.unique(ids)) != len(ids):
            raise InvalidInput("ids must differ from each other; one id was given to two rows.")
        taken = ids[self._index.contains(ids)] if len(self) and len(ids) else ids[:0]
        if len(taken):
            raise InvalidInput(f"{len(taken)} ids are in the index already (first: {taken[0]}); remove them first.")
        if len(ids):
            self._index.add(ids.astype(np.uint64), X, threads=self._threads)

    def remove(self, ids: Any) -> None:
        """Remove these ids; an id that is not there is an error and nothing is removed."""
        ids = _ids(ids)
        if not len(ids):
            return
        missing = ids[~self._index.contains(ids)] if len(self) else ids
        if len(missing):
            raise InvalidInput(f"{len(missing)} ids are not in the index (first: {missing[0]}); nothing was removed.")
        self._index.remove(ids.astype(np.uint64), threads=self._threads)

    def search(self, X: Any, k: int) -> Neighborhoods:
        """About the ``k`` nearest points of each row of ``X``, nearest first; their ids and distances.

        Where fewer than ``k`` points are found, the row ends with ids -1 at infinite distance.
        """
        indices, values = self.nearest(X, k)
        similarity = self.similarity
        distance = np.where(indices >= 0, similarity.height(values), np.inf).astype(np.float32)
        weight = -distance if similarity.kind == "distance" else np.where(indices >= 0, values, 0).astype(np.float32)
        return Neighborhoods(indices, weight, distance)

    def nearest(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and the metric's values of what :meth:`search` finds; -1 and infinity where there is nothing."""
        X = self._rows(X, "X")
        k = check_int("k", k, low=1)
        indices = np.full((len(X), k), -1, dtype=np.int64)
        values = np.full((len(X), k), np.inf)
        if len(self) and len(X):
            found = self._index.search(X, min(k, len(self)), threads=self._threads)
            keys, distances, counts = _as_batch(found, len(X))
            present = np.arange(keys.shape[1])[None, :] < counts[:, None]
            width = keys.shape[1]
            indices[:, :width][present] = keys[present].astype(np.int64)
            values[:, :width][present] = self._metric_values(distances[present].astype(np.float64))
        return indices, values

    def _metric_values(self, distances: np.ndarray) -> np.ndarray:
        """The metric's values from usearch's distances: squared, 1 − cos, or 1 − product."""
        order = self.similarity.order
        if order == "angle":
            distances = 2.0 * distances  # the squared distance between rows of length 1
        elif order == "product":
            distances = 1.0 - distances
        return self.similarity.from_order(distances, self.n_features)

    def _rows(self, X: Any, name: str) -> np.ndarray:
        X = check_vectors(
            X,
            name=name,
            min_rows=0,
            accept_sparse=False,
            nonzero_rows=self.similarity.needs_nonzero_rows,
            n_features=self.n_features,
            model="the index",
        )
        return np.ascontiguousarray(X, dtype=np.float32)


def ann_neighbors(X: Any, k: int, similarity: Similarity, *, n_jobs: int | None, report: Progress) -> Nearest:
    """The ``k`` nearest other rows of every row, by an index that holds them all."""
    n = len(X)
    index = AnnIndex(X.shape[1], similarity, n_jobs=n_jobs)
    indices = np.empty((n, k), dtype=np.int32)
    values = np.empty((n, k))
    blocks = row_blocks(n, 1000)
    with report.stage("index", n) as advance:
        for rows in blocks:
            index.add(np.arange(n)[rows], X[rows])
            advance(rows.stop - rows.start)
    with report.stage("neighbours", n) as advance:
        for rows in blocks:
            found, found_values = index.nearest(X[rows], k + 1)
            other = found != np.arange(n)[rows, None]
            other[other.all(axis=1), k] = False  # a row that did not find itself has one neighbour too many
            indices[rows] = found[other].reshape(-1, k)
            values[rows] = found_values[other].reshape(-1, k)
            advance(rows.stop - rows.start)
    return Nearest(indices, values)


def _ids(ids: Any) -> np.ndarray:
    ids = np.atleast_1d(np.asarray(ids))
    if ids.size == 0:
        return np.zeros(0, dtype=np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or (ids < 0).any():
        raise InvalidInput("ids must be a one-dimensional array of integers of at least 0.")
    return ids.astype(np.int64)


def _as_batch(found: Any, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, distances and their number for every row; usearch answers a single row without its first axis."""
    if rows == 1:
        keys = np.asarray(found.keys).reshape(1, -1)
        return keys, np.asarray(found.distances).reshape(1, -1), np.array([keys.shape[1]])
    return np.asarray(found.keys), np.asarray(found.distances), np.asarray(found.counts)
