"""Exact average, Ward and centroid linkage of vectors in linear memory.

A cluster is a mean vector and a scalar; all searches for nearest clusters are matrix products, block by block, and the
native core keeps the lists and merges (``core/hac_clusters.hpp`` has the idea and the formulas). Squared Euclidean
distance, cosine and dot product are one case: with V(x) = 0, or max‖x‖² − ‖x‖² for the dot product, all three are

    D(A, B) = V(A) + V(B) + ‖μ(A) − μ(B)‖², V(A ∪ B) = a V(A) + b V(B) + ab ‖μ(A) − μ(B)‖², a = |A|/|A ∪ B|, b = 1 − a

of the rows themselves or of the rows at unit length: ‖x − y‖², 2 (1 − cos), and 2 (max‖x‖² − ⟨x, y⟩).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np

from ramify import _core
from ramify.agglomerate._merges import Merges, duplicates_first
from ramify.parallel import map_blocks, resolve_jobs, row_blocks
from ramify.progress import Progress
from ramify.validate import check_memory, is_sparse

__all__ = ["LINKAGES", "METRICS", "vector_merges"]

#: Linkages that work on means, with the core's number of each.
LINKAGES = {"average": 0, "ward": 1, "centroid": 2}
#: Metrics that average linkage of means has.
METRICS = ("sqeuclidean", "cosine", "dot")

_LIST = 24  # candidates a cluster: more cost time in every merge, fewer cost searches
_ROWS, _COLUMNS = 512, 1024  # a block of products stays in a core's own cache
_VALUES = 1 << 22  # a block of the data


def vector_merges(
    X: Any, linkage: str, metric: str, weight: np.ndarray | None, *, n_jobs: int | None, report: Progress
) -> Merges:
    """The merges of the rows of ``X``, which were checked, for one of the :data:`LINKAGES` and :data:`METRICS`."""
    n, d = X.shape
    # Means in float64 and float32; lists of candidates, and as much again while they are searched for.
    check_memory(
        n * (12 * d + 24 * _LIST + 120),
        f"HAC with {linkage} linkage on {n} points of {d} features",
        "reduce the number of features first (PCA, or TruncatedSVD for sparse rows).",
    )
    points = _place(X, metric)
    first = _core.first_equal_rows(points.mean) if points.duplicates_first else np.arange(n, dtype=np.int32)
    distinct = duplicates_first(first)
    count = len(distinct.leaf)
    weight = np.ones(n) if weight is None else weight
    if count < n:
        weight = np.bincount(first, weights=weight, minlength=n)[distinct.leaf]
        points.mean = points.mean[distinct.leaf]
        points.spread = points.spread[distinct.leaf]
    if count == 1:
        return distinct.merges
    mean32 = np.empty(points.mean.shape, dtype=np.float32)
    hac = _core.VectorHac(
        points.mean,
        mean32,
        LINKAGES[linkage],
        min(_LIST, count - 1),
        weight,
        points.spread,
        distinct.node,
        distinct.leaf,
        2 * n - count,
        resolve_jobs(n_jobs),
    )
    _search_all(hac, mean32, n_jobs, report)
    with report.stage("merge", total=count - 1) as advance:
        todo, step = count - 1, max(256, count // 100)
        while todo:
            rows = hac.run(1, np.inf, step)
            if len(rows):
                _search(hac, mean32, rows, n_jobs)
            advance(todo - hac.alive + 1)
            todo = hac.alive - 1
    merges = Merges(*hac.merges())
    height = points.unit**2 * merges.height
    if linkage == "ward":
        height = np.sqrt(2.0 * height)
    elif linkage == "centroid":
        height = np.sqrt(height)
    elif metric != "sqeuclidean":
        height = 0.5 * height
    return Merges(*map(np.concatenate, zip(distinct.merges, merges._replace(height=height), strict=True)))


@dataclass
class _Points:
    mean: np.ndarray  # float64 rows, near the origin and of moderate size, so that float32 tells them apart
    spread: np.ndarray  # V of every row
    unit: float  # what 1 in `mean` is in X, a power of two
    duplicates_first: bool  # whether equal points are at distance 0


def _place(X: Any, metric: str) -> _Points:
    n, d = X.shape
    mean = np.empty((n, d))
    norm = np.empty(n)
    largest = 0.0
    blocks = row_blocks(n, max(1, _VALUES // d))
    for rows in blocks:
        part = mean[rows]
        part[...] = X[rows].toarray() if is_sparse(X) else X[rows]
        if metric == "cosine":
            part /= np.abs(part).max(axis=1, keepdims=True)  # so that no square overflows or vanishes
            part /= np.sqrt(np.einsum("ij,ij->i", part, part))[:, None]
    # The median of some rows, unlike their mean, is where the data are even if a few rows are far away.
    centre = np.median(mean[:: max(1, n // 1000)], axis=0)
    for rows in blocks:
        part = mean[rows]
        if metric == "dot":
            norm[rows] = np.einsum("ij,ij->i", part, part)
        part -= centre
        largest = max(largest, float(np.abs(part).max()))
    unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
    for rows in blocks:
        mean[rows] /= unit
    spread = (norm.max() - norm) / unit**2 if metric == "dot" else np.zeros(n)
    return _Points(mean, spread, unit, duplicates_first=metric != "dot")


def _product() -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The product of two blocks of rows, in memory that every thread keeps for the next one."""
    memory = local()

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not hasattr(memory, "block"):
            memory.block = np.empty(_ROWS * _COLUMNS, dtype=np.float32)
        return np.matmul(a, b.T, out=memory.block[: len(a) * len(b)].reshape(len(a), len(b)))

    return product


def _search_all(hac: Any, mean32: np.ndarray, n_jobs: int | None, report: Progress) -> None:
    """First lists: every pair of points once."""
    n = len(mean32)
    hac.begin(np.arange(n, dtype=np.int32))
    product = _product()
    blocks = [
        (rows, columns)
        for rows in row_blocks(n, _ROWS)
        for columns in row_blocks(n, _COLUMNS)
        if columns.stop > rows.start
    ]

    def work(block: tuple[slice, slice]) -> None:
        rows, columns = block
        hac.scan_both(product(mean32[rows], mean32[columns]), rows.start, columns.start)

    with report.stage("search", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
    hac.settle_all()


def _search(hac: Any, mean32: np.ndarray, rows: np.ndarray, n_jobs: int | None) -> None:
    """New lists for the clusters in the slots ``rows``, among all clusters."""
    product = _product()

    def scan(use: Callable[..., None], rows: np.ndarray, size: int, *, whole_rows: bool) -> None:
        means = mean32[rows]
        row_parts = row_blocks(len(rows), size)
        columns = row_blocks(hac.slots, _ROWS * _COLUMNS // min(size, len(rows)))
        column_parts = [columns] if whole_rows else [[part] for part in columns]

        def work(block: tuple[slice, list[slice]]) -> None:
            row_part, parts = block
            for part in parts:
                use(product(means[row_part], mean32[part]), row_part.start, part.start)

        map_blocks(work, [(r, c) for r in row_parts for c in column_parts], n_jobs=n_jobs)

    hac.begin(rows)
    scan(hac.scan, rows, _ROWS, whole_rows=False)
    again = hac.settle()
    if len(again):  # float32 cannot tell their nearest apart
        scan(hac.scan_again, again, 64, whole_rows=True)
        hac.settle_again()
