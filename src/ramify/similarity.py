"""Similarities and distances: one object a metric, so that no algorithm asks for a metric by name.

A metric knows whether it is a similarity or a distance, how to check its input, how to compute a block of values
between two sets of rows, and, where it has them, its feature maps. Use the names of this module, the same names as
strings, or a function of two sets of rows::

    ramify.fit(X, metric="cosine")
    ramify.fit(X, metric=ramify.similarity.rbf(gamma=0.5))        # or "rbf(0.5)"; "rbf" alone takes gamma = 1/d
    ramify.fit(X, metric=lambda A, B: my_distances(A, B))         # (len(A), len(B)) values
    ramify.fit(X, metric=ramify.similarity.custom(f, kind="similarity"))
    ramify.fit(D, metric="precomputed")

=============== ========== ============================================== ==========================
metric          kind       value                                          feature map
=============== ========== ============================================== ==========================
``cosine``      similarity ½ + ½⟨x, y⟩ / (‖x‖‖y‖)                         exact
``dot``         similarity ⟨x, y⟩                                         exact
``rbf``         similarity exp(−γ‖x − y‖²)                                random Fourier features
``laplacian``   similarity exp(−γ‖x − y‖₁)                                random binning features
``jaccard``     similarity shared / all columns that are not zero         none
``sqeuclidean`` distance   ‖x − y‖²                                       exact
``euclidean``   distance   ‖x − y‖                                        none
``precomputed`` either     the entries of an n × n matrix                 none
a function      either     what it returns                                none
=============== ========== ============================================== ==========================

``precomputed`` and a bare function do not say which kind they are: linkage and neighbour methods read them as
distances, as SciPy and scikit-learn do; an objective reads them as what it takes. ``precomputed(kind=...)`` and
``custom(f, kind=...)`` settle it. Blocks of float32 rows are float32, of anything else float64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ramify.errors import InvalidInput
from ramify.features import FeatureMap, random_binning, random_fourier, squared_norms
from ramify.parallel import map_blocks, row_blocks
from ramify.progress import Progress
from ramify.validate import check_choice, check_float, check_int, check_random_state, check_vectors, is_sparse

__all__ = [
    "FeatureMap",
    "Similarity",
    "cosine",
    "custom",
    "dot",
    "euclidean",
    "get_similarity",
    "jaccard",
    "laplacian",
    "precomputed",
    "rbf",
    "sqeuclidean",
]

Kind = Literal["similarity", "distance"]
BatchFunction = Callable[[Any, Any], Any]

_BLOCK = 1 << 20  # values of a matrix that one thread works out at a time


class Similarity:
    """A metric between rows; see the table of :mod:`ramify.similarity`.

    Attributes
    ----------
    name : str
    kind : "similarity" or "distance"
    has_features : bool
        Whether :meth:`features` works.
    exact_features : bool
        Whether it gives the metric itself rather than a random approximation.
    is_given : bool
        Whether the data are the values themselves (``precomputed``).
    may_be_negative : bool
        Whether values can lie below 0.
    """

    name: str
    kind: Kind
    has_features = False
    exact_features = False
    is_given = False
    may_be_negative = False
    needs_nonzero_rows = False
    #: (a, b) with height = a + b·value: what a linkage method shows for this value, 0 for equal points where it can.
    to_height: tuple[float, float] = (0.0, 1.0)
    #: What orders neighbours the way the metric does: "distance" (squared Euclidean), "angle" (the same between rows
    #: scaled to length 1), "product" (⟨x, y⟩), or None where only blocks of values tell.
    order: Literal["distance", "angle", "product"] | None = None

    def from_order(self, values: np.ndarray, width: int) -> np.ndarray:
        """The metric's values from those that :attr:`order` names, for rows of ``width`` columns."""
        return values

    def check(self, X: Any, *, name: str = "X", min_rows: int = 1) -> Any:
        """``X`` in the form the metric works on, or an error that says what is wrong with it."""
        return check_vectors(X, name=name, min_rows=min_rows, nonzero_rows=self.needs_nonzero_rows)

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Values between the rows of ``A`` and of ``B``: an array of shape (len(A), len(B))."""
        raise NotImplementedError

    def block_of(self, X: Any, rows: Any, columns: Any) -> np.ndarray:
        """Values between some rows and some other rows (slices or index arrays) of the data set ``X``."""
        return self.block(X[rows], X[columns])

    def matrix(
        self,
        X: Any,
        order: np.ndarray | None = None,
        *,
        dtype: Any = np.float32,
        n_jobs: int | None = -1,
        report: Progress | None = None,
    ) -> np.ndarray:
        """Values between all rows of ``X``, or of ``X[order]``; the diagonal is whatever the metric says.

        Blocks of rows are filled side by side; memory beside the result: a few blocks.
        """
        n = X.shape[0]
        if order is not None and not self.is_given:  # once, instead of once a block
            X, order = X[order], None
        values = np.empty((n, n), dtype=dtype)

        def fill(rows: slice) -> None:
            if order is None:
                values[rows] = self.block_of(X, rows, slice(None))
            else:
                values[rows] = self.block_of(X, order[rows], order)

        blocks = row_blocks(n, max(1, _BLOCK // n))
        with (report or Progress()).stage("matrix", len(blocks)) as advance:
            map_blocks(fill, blocks, n_jobs=n_jobs, advance=advance)
        return values

    def features(self, X: Any, random_state: Any = None) -> FeatureMap:
        """The metric on ``X`` as an affine inner product."""
        raise InvalidInput(
            f"metric {str(self)!r} has no feature map; use one of cosine, dot, sqeuclidean, rbf or laplacian."
        )

    def height(self, values: Any) -> Any:
        """Values as heights, 0 for equal points: distances as they are, cosine as 1 − cos, others as 1 − w or −w."""
        a, b = self.to_height
        return values if (a, b) == (0.0, 1.0) else a + b * values

    def __call__(self, A: Any, B: Any = None) -> np.ndarray:
        A = self.check(A, name="A")
        return self.block(A, A if B is None else self.check(B, name="B"))

    def __str__(self) -> str:
        return self.name


# --- metrics with exact feature maps ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Dot(Similarity):
    name = "dot"
    kind = "similarity"
    has_features = True
    exact_features = True
    may_be_negative = True
    to_height = (0.0, -1.0)
    order = "product"

    def block(self, A: Any, B: Any) -> np.ndarray:
        return _product(A, B)

    def features(self, X: Any, random_state: Any = None) -> FeatureMap:
        return FeatureMap(X, np.zeros(X.shape[0]), scale=1.0, shift=0.0, exact=True)


@dataclass(frozen=True)
class _Cosine(Similarity):
    name = "cosine"
    kind = "similarity"
    has_features = True
    exact_features = True
    needs_nonzero_rows = True
    to_height = (2.0, -2.0)
    order = "angle"

    def from_order(self, values: np.ndarray, width: int) -> np.ndarray:
        return 1.0 - 0.25 * values

    def block(self, A: Any, B: Any) -> np.ndarray:
        value = _product(A, B)
        left = 0.5 / np.sqrt(squared_norms(A))
        right = left * 2.0 if A is B else 1.0 / np.sqrt(squared_norms(B))
        value *= left.astype(value.dtype)[:, None]
        value *= right.astype(value.dtype)[None, :]
        value += value.dtype.type(0.5)
        return np.clip(value, 0.0, 1.0, out=value)

    def features(self, X: Any, random_state: Any = None) -> FeatureMap:
        row_scale = 1.0 / np.sqrt(squared_norms(X))
        return FeatureMap(X, np.zeros(X.shape[0]), scale=0.5, shift=0.5, exact=True, row_scale=row_scale)


@dataclass(frozen=True)
class _SqEuclidean(Similarity):
    name = "sqeuclidean"
    kind = "distance"
    has_features = True
    order = "distance"
    exact_features = True

    def block(self, A: Any, B: Any) -> np.ndarray:
        if not (is_sparse(A) or is_sparse(B)):
            # Products of rows far from the origin would drown the distances: move the origin into the data. The median
            # of some rows, unlike their mean, is there even if a few rows are far away.
            centre = np.median(B[:: max(1, len(B) // 64)], axis=0)
            same = A is B
            A = A - centre.astype(A.dtype)
            B = A if same else B - centre.astype(B.dtype)
        value = _product(A, B)
        value *= -2
        left = squared_norms(A)
        right = left if A is B else squared_norms(B)
        value += left.astype(value.dtype)[:, None]
        value += right.astype(value.dtype)[None, :]
        if A is B:
            np.fill_diagonal(value, 0.0)
        return np.maximum(value, 0.0, out=value)

    def features(self, X: Any, random_state: Any = None) -> FeatureMap:
        if is_sparse(X):
            return FeatureMap(X, squared_norms(X), scale=-2.0, shift=0.0, exact=True)
        # Any centre will do, as long as all agree on it: one that float32 rows can be moved by without rounding.
        centre = X.mean(axis=0, dtype=np.float64).astype(X.dtype).astype(np.float64)
        return FeatureMap(X, squared_norms(X, centre), scale=-2.0, shift=0.0, exact=True, centre=centre)


# --- the other metrics ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Euclidean(Similarity):
    name = "euclidean"
    kind = "distance"
    order = "distance"

    def from_order(self, values: np.ndarray, width: int) -> np.ndarray:
        return np.sqrt(values)

    def block(self, A: Any, B: Any) -> np.ndarray:
        value = sqeuclidean.block(A, B)
        return np.sqrt(value, out=value)


@dataclass(frozen=True)
class _Kernel(Similarity):
    """A kernel with a width ``gamma`` (None: 1 / number of columns) and a number of random features."""

    gamma: float | None = None
    n_features: int = 512
    kind = "similarity"
    has_features = True
    to_height = (1.0, -1.0)

    def _width(self, X: Any) -> float:
        return 1.0 / X.shape[1] if self.gamma is None else self.gamma

    def __str__(self) -> str:
        return self.name if self.gamma is None else f"{self.name}({self.gamma!r})"


@dataclass(frozen=True)
class _RBF(_Kernel):
    name = "rbf"
    order = "distance"

    def from_order(self, values: np.ndarray, width: int) -> np.ndarray:
        return np.exp(-(1.0 / width if self.gamma is None else self.gamma) * values)

    def block(self, A: Any, B: Any) -> np.ndarray:
        value = sqeuclidean.block(A, B)
        value *= -self._width(A)
        return np.exp(value, out=value)

    def features(self, X: Any, random_state: Any = None) -> FeatureMap:
        z = random_fourier(X, self._width(X), self.n_features, check_random_state(random_state))
        return FeatureMap(z, np.zeros(X.shape[0]), scale=1.0, shift=0.0, exact=False)


@dataclass(frozen=True)
class _Laplacian(_Kernel):
    name = "laplacian"

    def block(self, A: Any, B: Any) -> np.ndarray:
        value = _manhattan(A, B)
        value *= -self._width(A)
        return np.exp(value, out=value)

    def features(self, X: Any, random_state: Any = None) -> FeatureMap:
        z = random_binning(X, self._width(X), self.n_features, check_random_state(random_state))
        return FeatureMap(z, np.zeros(X.shape[0]), scale=1.0, shift=0.0, exact=False)


@dataclass(frozen=True)
class _Jaccard(Similarity):
    """Rows are sets of columns (those that are not zero); two empty sets are equal."""

    name = "jaccard"
    kind = "similarity"
    to_height = (1.0, -1.0)

    def block(self, A: Any, B: Any) -> np.ndarray:
        dtype = np.result_type(A.dtype, B.dtype)
        A = (A != 0).astype(dtype)
        B = (B != 0).astype(dtype)
        shared = _product(A, B)
        either = np.asarray(A.sum(axis=1)).reshape(-1, 1) + np.asarray(B.sum(axis=1)).reshape(1, -1) - shared
        np.divide(shared, either, out=shared, where=either > 0)
        shared[either == 0] = 1.0
        return shared


@dataclass(frozen=True)
class _Precomputed(Similarity):
    """The values are given: rows and columns of the matrix itself."""

    kind: Kind = "distance"
    name = "precomputed"
    is_given = True
    may_be_negative = True

    def check(self, X: Any, *, name: str = "X", min_rows: int = 1) -> Any:
        X = check_vectors(X, name=name, min_rows=min_rows)
        if X.shape[0] != X.shape[1]:
            raise InvalidInput(f"metric='precomputed' needs a square matrix of n x n values, got shape {X.shape}.")
        if not _is_symmetric(X):
            raise InvalidInput(
                f"metric='precomputed' needs a symmetric matrix, but {name}[i, j] and {name}[j, i] differ by more than "
                f"1e-5 of the largest value; symmetrise it, for example with ({name} + {name}.T) / 2."
            )
        return X

    def block(self, A: Any, B: Any) -> np.ndarray:
        raise InvalidInput(
            "metric 'precomputed' has no values for new rows; pass vectors and the metric they were made with."
        )

    def block_of(self, X: Any, rows: Any, columns: Any) -> np.ndarray:
        part = X[rows][:, columns]
        return part.toarray() if is_sparse(part) else part

    def __call__(self, A: Any = None, B: Any = None, *, kind: Kind = "distance") -> Any:
        if A is not None:
            return self.block(A, B)
        check_choice("kind", kind, ["similarity", "distance"])
        return replace(self, kind=kind)

    @property
    def to_height(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, 1.0) if self.kind == "distance" else (0.0, -1.0)


@dataclass(frozen=True)
class _Custom(Similarity):
    """A user's batch function, its answer checked."""

    function: BatchFunction
    kind: Kind = "distance"
    name: str = "custom"
    may_be_negative = True

    def block(self, A: Any, B: Any) -> np.ndarray:
        value = np.asarray(self.function(A, B))
        if value.shape != (A.shape[0], B.shape[0]):
            raise InvalidInput(
                f"metric {self.name!r} returned shape {value.shape} for {A.shape[0]} and {B.shape[0]} rows; it gets "
                f"two arrays of rows and must return all values between them, shape ({A.shape[0]}, {B.shape[0]})."
            )
        if value.dtype not in (np.float32, np.float64):
            value = value.astype(np.float64)
        if not np.isfinite(value).all():
            i, j = np.argwhere(~np.isfinite(value))[0]
            raise InvalidInput(
                f"metric {self.name!r} returned {value[i, j]} for rows {i} and {j} of a block; it must be finite."
            )
        return value

    @property
    def to_height(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, 1.0) if self.kind == "distance" else (0.0, -1.0)


# --- the public names -------------------------------------------------------------------------------------------------

#: ½ + ½⟨x, y⟩ / (‖x‖‖y‖), in [0, 1].
cosine: Similarity = _Cosine()
#: ⟨x, y⟩.
dot: Similarity = _Dot()
#: ‖x − y‖².
sqeuclidean: Similarity = _SqEuclidean()
#: ‖x − y‖.
euclidean: Similarity = _Euclidean()
#: |x ∩ y| / |x ∪ y| of the columns that are not zero.
jaccard: Similarity = _Jaccard()
#: The entries of a given n × n matrix; ``precomputed(kind="similarity")`` says that they are similarities.
precomputed = _Precomputed()


def rbf(gamma: float | None = None, *, n_features: int = 512) -> Similarity:
    """The Gaussian kernel ``exp(-gamma |x - y|²)``, a similarity.

    Parameters
    ----------
    gamma : float, optional
        Inverse squared width; 1 / number of columns where not given.
    n_features : int
        Random Fourier features of :meth:`Similarity.features`; a weight's error is about ``1 / sqrt(n_features)``.

    Examples
    --------
    >>> import numpy as np
    >>> rbf(gamma=0.5)(np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.1353], [0.1353, 1.0]]
    """
    return _RBF(*_kernel_parameters(gamma, n_features))


def laplacian(gamma: float | None = None, *, n_features: int = 512) -> Similarity:
    """The Laplacian kernel ``exp(-gamma |x - y|_1)``, a similarity.

    Parameters
    ----------
    gamma : float, optional
        Inverse width; 1 / number of columns where not given.
    n_features : int
        Random grids of :meth:`Similarity.features`; a weight's error is about ``0.5 / sqrt(n_features)``.

    Examples
    --------
    >>> import numpy as np
    >>> laplacian(gamma=0.5)(np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.3679], [0.3679, 1.0]]
    """
    return _Laplacian(*_kernel_parameters(gamma, n_features))


def custom(function: BatchFunction, *, kind: Kind = "distance", name: str | None = None) -> Similarity:
    """A metric from a function of two arrays of rows that returns all values between them.

    Parameters
    ----------
    function : callable
        ``f(A, B)`` with rows A and B, which returns an array of shape (len(A), len(B)). It must be symmetric:
        ``f(A, B) == f(B, A).T``. It may be called from several threads.
    kind : "distance" or "similarity"
    name : str, optional
        For messages and ``tree.info``.

    Examples
    --------
    >>> import numpy as np
    >>> overlap = custom(lambda A, B: np.minimum(A[:, None], B[None]).sum(axis=2), kind="similarity", name="overlap")
    >>> overlap(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """
    if not callable(function):
        raise InvalidInput(f"custom needs a function f(A, B) of two arrays of rows, got {function!r}.")
    check_choice("kind", kind, ["similarity", "distance"])
    return _Custom(function, kind, name or str(getattr(function, "__name__", "custom")))


_NAMED: dict[str, Similarity] = {m.name: m for m in (cosine, dot, sqeuclidean, euclidean, jaccard)}
_KERNELS: dict[str, Callable[..., Similarity]] = {"rbf": rbf, "laplacian": laplacian}


def get_similarity(metric: Any, *, kind: Kind = "distance") -> Similarity:
    """The metric that a ``metric=`` argument stands for.

    Parameters
    ----------
    metric : str, Similarity or callable
        A name of :mod:`ramify.similarity` (kernels also with their width: ``"rbf(0.5)"``), an object of that module,
        or a function of two arrays of rows.
    kind : "distance" or "similarity"
        How to read ``"precomputed"`` and a bare function, which do not say it themselves.

    Examples
    --------
    >>> get_similarity("sqeuclidean").kind
    'distance'
    >>> get_similarity("rbf(0.5)")
    _RBF(gamma=0.5, n_features=512)
    >>> get_similarity("cosin")
    Traceback (most recent call last):
    ...
    ramify.errors.InvalidInput: metric 'cosin' is not known. Did you mean 'cosine'? Known: cosine, ..., precomputed.
    """
    if metric is precomputed or metric == "precomputed":
        return precomputed(kind=kind)
    if isinstance(metric, Similarity):
        return metric
    if isinstance(metric, str):
        kernel = re.fullmatch(r"(\w+)\((?:gamma=)?([^()]+)\)", metric)
        if kernel and kernel[1] in _KERNELS:
            try:
                gamma = float(kernel[2])
            except ValueError:
                raise InvalidInput(f"metric {metric!r}: gamma must be a number, got {kernel[2]!r}.") from None
            return _KERNELS[kernel[1]](gamma)
        name = check_choice("metric", metric, [*_NAMED, *_KERNELS, "precomputed"])
        return _NAMED[name] if name in _NAMED else _KERNELS[name]()
    if metric is rbf or metric is laplacian:
        return metric()
    if callable(metric):
        return custom(metric, kind=kind)
    raise InvalidInput(
        f"metric must be a name ({', '.join([*_NAMED, *_KERNELS, 'precomputed'])}), an object of ramify.similarity or "
        f"a function f(A, B), got {metric!r}."
    )


# --- helpers ----------------------------------------------------------------------------------------------------------


def _kernel_parameters(gamma: Any, n_features: Any) -> tuple[float | None, int]:
    if gamma is not None:
        gamma = check_float("gamma", gamma, low=0.0, open_low=True)
    return gamma, check_int("n_features", n_features, low=1)


def _product(A: Any, B: Any) -> np.ndarray:
    """A Bᵀ as a dense array of its own."""
    value = A @ B.T
    return value.toarray() if is_sparse(value) else np.asarray(value)


def _manhattan(A: Any, B: Any) -> np.ndarray:
    dtype = np.result_type(A.dtype, B.dtype)
    if is_sparse(A) or is_sparse(B):
        from scipy.sparse import csr_matrix
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(csr_matrix(A), csr_matrix(B)).astype(dtype, copy=False)
    from scipy.spatial.distance import cdist

    return cdist(A, B, "cityblock").astype(dtype, copy=False)


def _is_symmetric(X: Any) -> bool:
    from ramify.parallel import row_blocks

    if is_sparse(X):
        difference = abs(X - X.T)
        return difference.nnz == 0 or difference.max() <= 1e-5 * abs(X).max()
    largest = max(float(X.max()), -float(X.min()))
    blocks = row_blocks(len(X), max(1, (1 << 20) // len(X)))
    return all(np.abs(X[rows] - X[:, rows].T).max() <= 1e-5 * largest for rows in blocks)
