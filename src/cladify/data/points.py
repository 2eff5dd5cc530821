"""Checks and conversion of X: every estimator, objective and search works on :class:`Points`.

=============================== ============================ ========================================================
``X``                           ``metric``                   is read as
=============================== ============================ ========================================================
array, list, data frame         any but the given ones       **rows**, one a point; a Series or a list of equally long
                                                             arrays is stacked
SciPy sparse, of any shape      any but the given ones       **rows**, always
:class:`~cladify.NeighborGraph`  not used                     a **graph** with the values and the kind it has
n × n array                     ``"precomputed"``            a **matrix** of distances
1-D array of n(n − 1)/2 values  ``"precomputed"``            the same, condensed as SciPy's ``pdist`` has it
SciPy sparse, n × n             ``"precomputed"``            a graph of distances: the stored entries are the known
                                                             pairs, as in ``kneighbors_graph(mode="distance")``
n × n array                     ``"precomputed-similarity"`` a matrix of similarities
SciPy sparse, n × n             ``"precomputed-similarity"`` a graph of similarities, 0 where nothing is stored
=============================== ============================ ========================================================

Values that contradict their kind (a negative distance, a distance of a point to itself) raise an error
that names the other reading. Values that only look like something else raise a warning that names it: similarities that
are 0 on the diagonal and meet the triangle inequality, and large sparse rows that are a symmetric matrix
(:func:`cladify.neighbors`). ``X`` itself is never changed. ``predict`` takes rows for rows and, for given values, those
between m new points and the n fitted ones, of shape (m, n), dense or sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cladify._kit.memory import check_memory
from cladify._kit.parallel import row_blocks
from cladify.data._heights import HeightRule
from cladify.data._vectors import as_csr, check_sample_weight, check_vectors, is_sparse
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Kind, Similarity, get_similarity, precomputed
from cladify.errors import InvalidInput, InvalidType

__all__ = ["Points", "as_points"]

Form = Literal["rows", "graph", "matrix"]


@dataclass(frozen=True, eq=False)
class Points:
    """Checked data with their metric and weights.

    Attributes
    ----------
    form : "rows", "graph" or "matrix"
    data : float array or ``csr_array`` of rows; NeighborGraph; or n × n float array
    similarity : Similarity
        The metric between rows; for a graph the one it was made by, or ``precomputed`` of its kind.
    weight : float64 array of shape (n,) or None
        How many leaves each point stands for.
    """

    form: Form
    data: Any
    similarity: Similarity
    weight: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.data.shape[0])

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.data.shape[0])

    @property
    def d(self) -> int:
        """Number of columns: of the rows, or one a point."""
        return int(self.data.shape[1])

    @property
    def is_graph(self) -> bool:
        return self.form == "graph"

    @property
    def is_sparse(self) -> bool:
        """Whether these are sparse rows."""
        return is_sparse(self.data)

    @property
    def kind(self) -> Kind:
        """Kind of the values of pairs: "distance" or "similarity"."""
        return self.data.kind if self.is_graph else self.similarity.kind

    @property
    def metric(self) -> str:
        """The metric's name, for info and messages."""
        return self.data.metric if self.is_graph else str(self.similarity)

    @property
    def heights(self) -> HeightRule:
        """From the value of a pair to a height."""
        return self.data.to_height if self.is_graph else self.similarity.to_height

    @property
    def rows(self) -> Any:
        """The vectors; an error where there are none."""
        if self.form != "rows":
            what = "a graph of neighbours" if self.is_graph else f"a matrix ({self.metric})"
            raise InvalidType(
                f"X is {what}, and this method takes vectors; give it those, or use one that works on graphs and "
                "matrices, such as hac, scc, reciprocal or bisect."
            )
        return self.data

    @property
    def uniform(self) -> bool:
        """Whether every point counts the same."""
        return self.weight is None or np.ptp(self.weight) == 0

    def part(self, rows: np.ndarray) -> Points:
        """Some of the points, given by their ids."""
        weight = None if self.weight is None else self.weight[rows]
        data = self.data
        if self.is_graph:
            values: Literal["weight", "distance"] = "distance" if self.kind == "distance" else "weight"
            between = data.to_scipy(values)[rows][:, rows]
            if values == "weight":
                between.eliminate_zeros()  # they are as good as no edge
            part = type(data).from_scipy(between, metric=data.similarity or "precomputed", kind=self.kind)
        else:
            part = data[np.ix_(rows, rows)] if self.form == "matrix" else data[rows]
        return replace(self, data=part, weight=weight)

    @cached_property
    def searched(self) -> Any:
        """The rows that new points are compared with, or rows of values."""
        return self.data.to_scipy("distance" if self.kind == "distance" else "weight") if self.is_graph else self.data

    @cached_property
    def row_keys(self) -> np.ndarray:
        """A hash of every row."""
        return row_keys(self.searched)


def as_points(
    X: Any,
    metric: Any = "sqeuclidean",
    sample_weight: Any = None,
    *,
    kind: Kind = "distance",
    finite: bool = True,
) -> Points:
    """``X`` under a metric, checked; see the rules of :mod:`cladify.data.points`.

    Parameters
    ----------
    X : what the table of :mod:`cladify.data.points` has, or Points, which come back as they are
    metric : str, Similarity or callable
    sample_weight : array of shape (n,), optional
        0 for a point that gets its place in the tree and counts nowhere.
    kind : "distance" or "similarity"
        How to read a bare function.
    finite : bool
        False leaves the search for NaN and infinity in rows to the caller.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> [as_points(X).form, as_points(csr_matrix(X)).form, as_points(X @ X.T * 0, "precomputed").form]
    ['rows', 'rows', 'matrix']
    >>> as_points(csr_matrix([[0, 3.0], [3.0, 0]]), "precomputed").data
    NeighborGraph(2 points, 2 edges, metric='precomputed')
    """
    if isinstance(X, Points):
        return X if sample_weight is None else replace(X, weight=check_sample_weight(sample_weight, X.n))
    if isinstance(X, NeighborGraph):
        if X.n_points == 0:
            raise InvalidInput("graph has 0 points (shape=(0, 0)) while a minimum of 1 is required.")
        given = precomputed(kind=X.kind)
        points = Points("graph", X, X.similarity or given)
    else:
        similarity = get_similarity(metric, kind=kind)
        if similarity.is_given:
            points = _given_points(X, similarity)
        elif finite:
            points = Points("rows", similarity.check(X), similarity)
        else:
            points = Points("rows", check_vectors(X, finite=False), similarity)
    weight = check_sample_weight(sample_weight, points.n)
    return points if weight is None else replace(points, weight=weight)


def _given_points(X: Any, similarity: Similarity) -> Points:
    """Values of pairs: a graph if they are sparse, and a matrix otherwise."""
    if is_sparse(X):
        csr = as_csr(X)
        if csr.shape[0] == 0:
            raise InvalidInput("graph has 0 points (shape=(0, 0)) while a minimum of 1 is required.")
        if csr.shape[0] != csr.shape[1]:
            raise InvalidInput(
                f"metric={str(similarity)!r} needs a square matrix of n x n values, got shape {X.shape}."
            )
        if not np.isfinite(csr.data).all():
            raise InvalidInput("X has NaN or inf among its stored values; drop those pairs before clustering.")
        if similarity.kind == "distance":
            _check_stored(csr)
        return Points("graph", NeighborGraph.from_scipy(csr, metric=similarity, kind=similarity.kind), similarity)
    if similarity.kind == "distance" and (values := np.asarray(X)).ndim == 1 and values.dtype != object and len(values):
        X = _square(X)
    return Points("matrix", similarity.check(X), similarity)


def _check_stored(distances: Any) -> None:
    """Stored distances that cannot be any."""
    smallest, own = float(distances.data.min(initial=0.0)), distances.diagonal()
    if smallest < 0 or own.any():
        what = f"X has {smallest:.6g}" if smallest < 0 else f"X has {own[own != 0][0]:.6g} on its diagonal"
        raise InvalidInput(
            f"{what}, but distances are at least 0, and a point's distance to itself is 0. Are these similarities? Use "
            "metric='precomputed-similarity'."
        )


def _square(distances: Any) -> np.ndarray:
    """The matrix of a condensed vector of distances, in its own precision."""
    from scipy.spatial.distance import squareform

    values = check_vectors(np.asarray(distances)[:, None], squares=False)[:, 0]
    n = round((1 + np.sqrt(1 + 8 * len(values))) / 2)
    if n * (n - 1) // 2 != len(values):
        raise InvalidInput(
            f"metric='precomputed' reads a 1-D X as SciPy's condensed distances, n(n - 1)/2 values, and {len(values)} "
            "is no such number; give pdist's vector, or a square matrix."
        )
    check_memory(values.itemsize * n * n, f"the matrix of {n} points", "give the nearest pairs as a sparse matrix.")
    return squareform(values, checks=False)


# --- rows that are equal ----------------------------------------------------------------------------------------------


def row_keys(X: Any) -> np.ndarray:
    """A 64-bit hash of every row, the sum of those of its entries; equal rows have equal ones."""
    result = np.zeros(X.shape[0], dtype=np.uint64)
    if is_sparse(X):
        np.add.at(result, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), entry_keys(X))
        return result
    key = _column_keys(X.shape[1])
    for rows in row_blocks(len(X), max(1, (1 << 18) // X.shape[1])):
        result[rows] = _mixed(X[rows], key).sum(axis=1, dtype=np.uint64)
    return result


def entry_keys(X: Any) -> np.ndarray:
    return _mixed(X.data, _column_keys(X.shape[1])[X.indices])


def _column_keys(d: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _mixed(values: np.ndarray, key: np.ndarray) -> np.ndarray:
    words = np.uint32 if values.dtype == np.float32 else np.uint64
    bits = np.ascontiguousarray(values + values.dtype.type(0)).view(words).astype(np.uint64) * key  # −0 is 0
    return bits ^ (bits >> np.uint64(29))
