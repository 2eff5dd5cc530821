"""Similarities and distances: one object a metric, so that no algorithm asks for a metric by name.

A metric knows whether it is a similarity or a distance, how to check its input, how to compute a block of values
between two sets of rows, and, where it has them, its feature maps. Use the names of this module, the same names as
strings, or a function of two sets of rows::

    cladify.fit(X, metric="cosine")
    cladify.fit(X, metric=cladify.similarity.rbf(gamma=0.5))        # or "rbf(0.5)"; "rbf" alone takes gamma = 1/d
    cladify.fit(X, metric=lambda A, B: my_distances(A, B))         # (len(A), len(B)) values
    cladify.fit(X, metric=cladify.similarity.custom(f, kind="similarity"))
    cladify.fit(D, metric="precomputed")                           # distances; see cladify.data.points for the forms
    cladify.fit(S, metric="precomputed-similarity")

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
``manhattan``   distance   ‖x − y‖₁                                       none
``precomputed`` distance   given, see :mod:`cladify.data.points`                none
a function      either     what it returns                                none
=============== ========== ============================================== ==========================

``"chebyshev"``, ``"correlation"``, ``"hamming"``, ``"canberra"``, ``"braycurtis"`` and SciPy's distances of booleans
are distances too, as :func:`scipy.spatial.distance.cdist` has them; ``"l1"``, ``"cityblock"`` and ``"l2"`` are other
names for ``"manhattan"`` and ``"euclidean"``. Given values are distances, or with ``"precomputed-similarity"`` (the
same as ``precomputed(kind="similarity")``) similarities. A bare function does not say which it is: linkage and
neighbour methods read it as a distance, an objective as what it takes, and ``custom(f, kind=...)`` settles it. Blocks
of float32 rows are float32, of anything else float64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.params import check_choice, check_float, check_int, check_random_state
from cladify._kit.progress import Progress
from cladify.data._given import check_given
from cladify.data._heights import HeightRule
from cladify.data._vectors import check_vectors, is_sparse, squared_norms
from cladify.data.features import FeatureMap, random_binning, random_fourier
from cladify.errors import InvalidInput

__all__ = [
    "METRICS",
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
    """A metric between rows; see the table of :mod:`cladify.similarity`.

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
    #: Whether squares of the values of rows are worked out, which must then be neither infinite nor 0.
    squares = True
    #: The height of a value in a tree.
    to_height: HeightRule = HeightRule(0.0, 1.0)
    #: The simpler value that orders neighbours as the metric does: "distance" (squared Euclidean), "angle" (the same
    #: between rows scaled to length 1), "product" (⟨x, y⟩), or None where there is none.
    order: Literal["distance", "angle", "product"] | None = None

    def from_order(self, values: np.ndarray, width: int) -> np.ndarray:
        """The metric's values from those that :attr:`order` names, for rows of ``width`` columns."""
        return values

    def check(self, X: Any, *, name: str = "X", min_rows: int = 1) -> Any:
        """``X`` in the form the metric works on, or an error."""
        nonzero = self.needs_nonzero_rows
        return check_vectors(X, name=name, min_rows=min_rows, nonzero_rows=nonzero, squares=self.squares)

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
        """Values between all rows of ``X``, or of ``X[order]``; the diagonal has the metric's own values.

        Blocks of rows are filled side by side; memory beside the result: a few blocks.
        """
        n = X.shape[0]
        if order is not None and not self.is_given:  # once, instead of once a block
            X, order = X[order], None
        values = np.empty((n, n), dtype=dtype)

        def fill(rows: slice) -> None:
            block = self.block_of(X, rows, slice(None)) if order is None else self.block_of(X, order[rows], order)
            try:
                with np.errstate(over="raise"):
                    values[rows] = block
            except FloatingPointError:
                raise InvalidInput(
                    f"metric {str(self)!r} has values up to {np.abs(block).max():.1e} here, too large for "
                    f"{np.dtype(dtype)}; divide X by its largest value first."
                ) from None

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
        return self.to_height(values)

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
    to_height = HeightRule(0.0, -1.0)
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
    to_height = HeightRule(2.0, -2.0)
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
    to_height = HeightRule(1.0, -1.0)

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
    squares = False
    to_height = HeightRule(1.0, -1.0)

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
class _SciPy(Similarity):
    """A distance of :func:`scipy.spatial.distance.cdist`, which works on blocks of dense rows."""

    name: str
    kind = "distance"

    def block(self, A: Any, B: Any) -> np.ndarray:
        if self.name == "manhattan":
            value = _manhattan(A, B)
        else:
            from scipy.spatial.distance import cdist

            rows = [part.toarray() if is_sparse(part) else part for part in (A, B)]
            with np.errstate(invalid="ignore", divide="ignore"):
                value = cdist(*([part != 0 for part in rows] if self.name in _BOOLEAN else rows), self.name)
            value = value.astype(np.result_type(A.dtype, B.dtype), copy=False)
        if not np.isfinite(value).all():
            raise InvalidInput(
                f"metric {self.name!r} is not defined for some of the rows (constant, empty, or too large ones); drop "
                "them, or use another metric."
            )
        return value


@dataclass(frozen=True)
class _Precomputed(Similarity):
    """The values are given: rows and columns of the matrix itself."""

    kind: Kind = "distance"
    name = "precomputed"
    is_given = True
    may_be_negative = True

    def __str__(self) -> str:
        return self.name if self.kind == "distance" else "precomputed-similarity"

    def check(self, X: Any, *, name: str = "X", min_rows: int = 1) -> Any:
        X = check_vectors(X, name=name, min_rows=min_rows, squares=False)
        check_given(X, self.kind, str(self), name)
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
    def to_height(self) -> HeightRule:  # type: ignore[override]
        return HeightRule(0.0, 1.0 if self.kind == "distance" else -1.0)


@dataclass(frozen=True)
class _Custom(Similarity):
    """A user's batch function, its answer checked."""

    function: BatchFunction
    kind: Kind = "distance"
    name: str = "custom"
    may_be_negative = True
    squares = False

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
    def to_height(self) -> HeightRule:  # type: ignore[override]
        return HeightRule(0.0, 1.0 if self.kind == "distance" else -1.0)


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


_BOOLEAN = ("dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
_SCIPY = ("manhattan", "chebyshev", "correlation", "hamming", "canberra", "braycurtis", *_BOOLEAN)
_ALSO = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean"}  # scikit-learn's and SciPy's other names
_NAMED: dict[str, Similarity] = {m.name: m for m in (cosine, dot, sqeuclidean, euclidean, jaccard)}
_NAMED |= {name: _SciPy(name) for name in _SCIPY}
_GIVEN = {"precomputed": precomputed, "precomputed-similarity": precomputed(kind="similarity")}
_KERNELS: dict[str, Callable[..., Similarity]] = {"rbf": rbf, "laplacian": laplacian}
#: Every name that ``metric=`` takes.
METRICS = (*_NAMED, *_KERNELS, *_GIVEN)


def get_similarity(metric: Any, *, kind: Kind = "distance") -> Similarity:
    """The metric that a ``metric=`` argument stands for.

    Parameters
    ----------
    metric : str, Similarity or callable
        A name of :mod:`cladify.similarity` (kernels also with their width: ``"rbf(0.5)"``), an object of that module,
        or a function of two arrays of rows.
    kind : "distance" or "similarity"
        How to read a bare function, which does not say it itself.

    Examples
    --------
    >>> get_similarity("sqeuclidean").kind
    'distance'
    >>> get_similarity("rbf(0.5)")
    _RBF(gamma=0.5, n_features=512)
    >>> get_similarity("cosin")
    Traceback (most recent call last):
    ...
    cladify.errors.InvalidInput: metric 'cosin' is not known. Did you mean 'cosine'? Known: cosine, ...
    """
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
        name = check_choice("metric", _ALSO.get(metric, metric), METRICS)
        return _KERNELS[name]() if name in _KERNELS else (_NAMED | _GIVEN)[name]
    if metric is rbf or metric is laplacian:
        return metric()
    if callable(metric):
        return custom(metric, kind=kind)
    raise InvalidInput(
        f"metric must be a name ({', '.join(METRICS)}), an object of cladify.similarity or "
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


def _short_indices(rows: Any) -> Any:
    """The rows with indices of 32 bits, which is all that scikit-learn's loops take."""
    parts = (rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32, copy=False))
    return type(rows)(parts, shape=rows.shape)


def _manhattan(A: Any, B: Any) -> np.ndarray:
    dtype = np.result_type(A.dtype, B.dtype)
    if is_sparse(A) or is_sparse(B):
        from scipy.sparse import csr_matrix
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(*(_short_indices(csr_matrix(rows)) for rows in (A, B))).astype(dtype, copy=False)
    from scipy.spatial.distance import cdist

    return cdist(A, B, "cityblock").astype(dtype, copy=False)
