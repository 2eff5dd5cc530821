"""Exact linkage of vectors in linear memory: average, weighted, Ward, centroid, median and single.

A cluster is a mean vector and a scalar; all searches for nearest clusters are matrix products, block by block, and the
native core keeps the lists and merges (formulas: ``core/agglomerate/hac/clusters.hpp``). Squared Euclidean
distance, cosine and dot product are one case: with V(x) = 0, or max‖x‖² − ‖x‖² for the dot product, all three are

    D(A, B) = V(A) + V(B) + ‖μ(A) − μ(B)‖², V(A ∪ B) = a V(A) + b V(B) + ab ‖μ(A) − μ(B)‖², a = |A|/|A ∪ B|, b = 1 − a

of the rows themselves or of the rows at unit length: ‖x − y‖², 2 (1 − cos), and 2 (max‖x‖² − ⟨x, y⟩).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.memory import check_memory
from cladify._kit.parallel import resolve_jobs, row_blocks
from cladify._kit.progress import Progress
from cladify.agglomerate._merges import Merges, duplicates_first
from cladify.agglomerate._search import search_all, search_some
from cladify.data._frame import row_squares, to_unit_length
from cladify.data._vectors import is_sparse
from cladify.data.points import Points
from cladify.data.similarity import Similarity

__all__ = ["is_linear", "vector_merges"]

_LINKAGES = ("average", "weighted", "ward", "centroid", "median", "single")

_LIST = 24  # candidates a cluster: more cost time in every merge, fewer cost searches
_SINGLE_LIST = 10  # single linkage searches for all points of a group again, however many each of them knew
_VALUES = 1 << 22  # a block of the data


def is_linear(linkage: str, similarity: Similarity) -> bool:
    """Whether :func:`vector_merges` has this linkage under this metric.

    Mean distances need a metric that is affine in the products of rows; single linkage only one that orders pairs as
    those do; the other linkages are defined by Euclidean distances.
    """
    if linkage in ("average", "weighted"):
        return similarity.order is not None and similarity.exact_features
    if linkage == "single":
        return similarity.order is not None
    return linkage in _LINKAGES and similarity.order == "distance" and similarity.kind == "distance"


def vector_merges(
    rows: Points,
    linkage: str,
    *,
    stop: float = np.inf,
    n_jobs: int | None,
    report: Progress,
) -> Merges:
    """The merges of rows, where :func:`is_linear`.

    With ``stop``, merges higher than that may be missing.
    """
    similarity, weight, n, d = rows.similarity, rows.weight, rows.n, rows.d
    # Means in float64, float32 and twice in int8; lists of candidates, and as much again while they are searched for.
    check_memory(
        n * (14 * d + 24 * _LIST + 160),
        f"HAC with {linkage} linkage on {n} points of {d} features",
        "reduce the number of features first (PCA, or TruncatedSVD for sparse rows).",
    )
    points = _place(rows.rows, similarity.order)
    first = _core.first_equal_rows(points.mean) if points.duplicates_first else np.arange(n, dtype=np.int32)
    distinct = duplicates_first(first)
    count = len(distinct.leaf)
    if linkage in ("weighted", "median", "single"):
        weight = np.ones(count)  # the two parts of a merge count the same, however many points they are
    else:
        weight = np.bincount(distinct.owner, weights=weight).astype(np.float64)
    if count < n:
        points.mean = points.mean[distinct.leaf]
        points.spread = points.spread[distinct.leaf]
    if count == 1:
        return distinct.merges
    mean32 = np.empty(points.mean.shape, dtype=np.float32)
    hac = _core.VectorHac(
        points.mean,
        mean32,
        _core.Linkage[linkage],
        min(_SINGLE_LIST if linkage == "single" else _LIST, count - 1),
        weight,
        points.spread,
        distinct.node,
        distinct.leaf,
        2 * n - count,
        resolve_jobs(n_jobs),
    )
    search_all(hac, mean32, n_jobs, report)
    hac.settle_all()
    with report.stage("merge", total=count - 1) as advance:
        todo, step = count - 1, max(256, count // 100)
        limit = _native_limit(stop, linkage, similarity) / points.unit**2
        while todo:
            again = hac.run(1, limit, step)
            if len(again):
                search_some(hac, mean32, again, n_jobs)
            elif hac.alive - 1 == todo:
                break  # all that is left is higher
            advance(todo - hac.alive + 1)
            todo = hac.alive - 1
    merges = Merges(*hac.merges())
    if linkage == "single":
        merges = Merges(*_core.merge_edges(*merges, 2 * n - count))
    height = points.unit**2 * merges.height
    if linkage == "ward":
        height = np.sqrt(2.0 * height)
    elif linkage in ("centroid", "median"):
        height = np.sqrt(height)
    elif similarity.order == "distance":
        height = similarity.height(similarity.from_order(height, d))
    else:
        height = 0.5 * height  # 1 − cos and max‖x‖² − ⟨x, y⟩
    return Merges(*map(np.concatenate, zip(distinct.merges, merges._replace(height=height), strict=True)))


def _native_limit(stop: float, linkage: str, similarity: Similarity) -> float:
    """A height in the units of the native code, rounded up; infinite where it would not save searches."""
    if linkage == "ward":
        return 0.5 * stop**2 * (1 + 1e-6)
    if linkage in ("average", "weighted"):
        return (stop if similarity.order == "distance" else 2.0 * stop) * (1 + 1e-6)
    return np.inf


@dataclass
class _Points:
    mean: np.ndarray  # float64 rows, near the origin and of moderate size, so that float32 resolves them
    spread: np.ndarray  # V of every row
    unit: float  # the length in X of 1 in `mean`, a power of two
    duplicates_first: bool  # whether equal points are at distance 0


def _place(X: Any, order: str | None) -> _Points:
    n, d = X.shape
    mean = np.empty((n, d))
    norm = np.empty(n)
    largest = 0.0
    blocks = row_blocks(n, max(1, _VALUES // d))
    for rows in blocks:
        part = mean[rows]
        part[...] = X[rows].toarray() if is_sparse(X) else X[rows]
        if order == "angle":
            to_unit_length(part)
    # The median of some rows, unlike their mean, is where the data are even if a few rows are far away.
    centre = np.median(mean[:: max(1, n // 1000)], axis=0)
    for rows in blocks:
        part = mean[rows]
        if order == "product":
            norm[rows] = row_squares(part)
        part -= centre
        largest = max(largest, float(np.abs(part).max()))
    unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
    for rows in blocks:
        mean[rows] /= unit
    spread = (norm.max() - norm) / unit**2 if order == "product" else np.zeros(n)
    return _Points(mean, spread, unit, duplicates_first=order != "product")
