"""Exact linkage over a matrix of distances: complete linkage, and whatever vectors of means cannot stand for.

The distances fill one half of an n × n matrix, in which the native core merges (``core/agglomerate/hac/matrix.hpp``):
n (n − 1) / 2 values of the data's own precision, and nothing else grows with n². Single linkage of a given matrix, and
of one that does not fit, is a spanning tree that grows with one row of distances at a time. Ward, centroid and median
linkage read the distances as Euclidean ones, as SciPy does, and work on their squares.
"""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.memory import available_memory, check_memory
from cladify._kit.parallel import map_blocks, resolve_jobs, row_blocks
from cladify._kit.progress import Progress
from cladify.agglomerate._merges import Distinct, Merges, duplicates_first
from cladify.data._vectors import is_sparse, squared_norms
from cladify.data.points import Points
from cladify.data.similarity import Similarity
from cladify.errors import InvalidInput

__all__ = ["distance_matrix", "matrix_merges"]

_SQUARED = ("ward", "centroid", "median")
_ROWS, _COLUMNS = 256, 2048  # a block of distances
_ROUNDING = 1e-6  # a distance this far below 0, in parts of the largest one, is 0


def _precision(X: Any, similarity: Similarity) -> np.dtype:
    """float32 for data that float32 holds, float64 otherwise.

    Jaccard distances are ratios of counts whatever the data's type; rounded to float32, means of them that differ by a
    little change places.
    """
    exact = X.dtype == np.float64 or (similarity.name == "jaccard" and not similarity.is_given)
    return np.dtype(np.float64 if exact else np.float32)


def matrix_merges(
    points: Points, linkage: str, *, n_jobs: int | None, report: Progress
) -> tuple[Merges, dict[str, str]]:
    """The merges of rows, or of a matrix, and how they were found."""
    X, similarity, weight, n = points.data, points.similarity, points.weight, points.n
    distinct = _distinct_rows(X, similarity)
    count = len(distinct.leaf)
    if count == 1:
        return distinct.merges, {}
    dtype = _precision(X, similarity)
    need = dtype.itemsize * (count * (count - 1) // 2 + 4 * _ROWS * _COLUMNS * resolve_jobs(n_jobs))
    by_rows = linkage == "single" and (similarity.is_given or need > available_memory())
    if not by_rows:
        what = f"HAC with {linkage} linkage and metric {str(similarity)!r} on {count} points"
        instead = 'use linkage="average" (linear memory) or method="scc".'
        if similarity.is_given:
            instead = "give a sparse matrix of the nearest pairs only."
        elif dtype == np.float64 and similarity.name != "jaccard":
            instead = f"pass float32 to halve that, {instead}"
        check_memory(need, what, instead)
    if count < n:
        X = X[distinct.leaf]
    if by_rows:
        merges = _spanning_merges(X, similarity, distinct, report)
    else:
        merges = _lance_williams_merges(X, similarity, linkage, weight, distinct, n_jobs, report)
    merges = Merges(*map(np.concatenate, zip(distinct.merges, merges, strict=True)))
    return merges, {"distances": "one row at a time" if by_rows else f"{dtype} matrix"}


def _spanning_merges(X: Any, similarity: Similarity, distinct: Distinct, report: Progress) -> Merges:
    """Single linkage from one row of distances at a time, for a matrix that is there, or that does not fit."""
    n = X.shape[0]
    tree = _core.GrowingTree(n)
    at, low, high = 0, np.inf, -np.inf
    with report.stage("merge", total=n - 1) as advance:
        for step in range(n):
            value = similarity.height(similarity.block_of(X, slice(at, at + 1), slice(None)))[0]
            low, high = min(low, float(value.min())), max(high, float(value.max()))
            if step < n - 1:
                at = tree.add(at, np.ascontiguousarray(value))
                advance()
    a, b, height = tree.edges()
    height = np.maximum(height + _zero_height(similarity, low, high), 0.0)
    return Merges(*_core.merge_edges(distinct.node[a], distinct.node[b], height, 2 * len(distinct.owner) - n))


def _lance_williams_merges(
    X: Any,
    similarity: Similarity,
    linkage: str,
    weight: np.ndarray | None,
    distinct: Distinct,
    n_jobs: int | None,
    report: Progress,
) -> Merges:
    """Merges in the half of the matrix, which is made for it."""
    n, count = len(distinct.owner), len(distinct.leaf)
    dtype = _precision(X, similarity)
    distance, top = distance_matrix(X, similarity, dtype, n_jobs, report)
    unit = 1.0
    if linkage in _SQUARED:
        largest = float(distance.max())
        unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0  # so that squares neither overflow nor vanish
        for part in row_blocks(len(distance), _ROWS * _COLUMNS):
            distance[part] /= dtype.type(unit)
            distance[part] *= distance[part]
    counts = np.bincount(distinct.owner, weights=weight, minlength=count).astype(np.float64)
    if linkage == "ward" and weight is not None:
        place = 0
        for i in range(count - 1):
            others = counts[i + 1 :]
            distance[place : place + len(others)] *= 2.0 * counts[i] * others / (counts[i] + others)
            place += len(others)

    kernel = _core.MatrixHac32 if dtype == np.float32 else _core.MatrixHac64
    hac = kernel(distance, _core.Linkage[linkage], counts, resolve_jobs(n_jobs))
    with report.stage("merge", total=count - 1) as advance:
        hac.start()
        while (before := hac.alive) > 1:
            hac.run(max(64, count // 200))
            advance(before - hac.alive)
    left, right, height = hac.merges()
    height = np.maximum(height + top, 0.0)
    if linkage in _SQUARED:
        height = unit * np.sqrt(height)
    return Merges(_nodes(left, distinct, n), _nodes(right, distinct, n), height)


def _distinct_rows(X: Any, similarity: Similarity) -> Distinct:
    """The rows that differ, where equal rows are at distance 0."""
    n = X.shape[0]
    if similarity.may_be_negative:
        return duplicates_first(np.arange(n, dtype=np.int32))
    if is_sparse(X):
        seen: dict[tuple[bytes, bytes], int] = {}
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends)
        return duplicates_first(np.array([seen.setdefault(key, i) for i, key in enumerate(keys)], dtype=np.int32))
    return duplicates_first(_core.first_equal_rows(np.ascontiguousarray(X)))


def _nodes(ids: np.ndarray, distinct: Distinct, n: int) -> np.ndarray:
    """Nodes of the tree for the core's ids, which count the distinct points and then the merges."""
    count = len(distinct.leaf)
    made = ids >= count
    return np.where(made, ids + (2 * n - 2 * count), distinct.node[np.where(made, 0, ids)]).astype(np.int32)


def distance_matrix(
    X: Any, similarity: Similarity, dtype: np.dtype, n_jobs: int | None, report: Progress
) -> tuple[np.ndarray, float]:
    """The upper half of the matrix of distances, row by row; and the shift of each (see :func:`_zero_height`)."""
    n = X.shape[0]
    distance = np.empty(n * (n - 1) // 2, dtype=dtype)
    if similarity.name in ("euclidean", "sqeuclidean") and not is_sparse(X):
        _euclidean_distances(X, distance, squared=similarity.name == "sqeuclidean", n_jobs=n_jobs, report=report)
        return distance, 0.0
    # Products of float32 rows lose the digits in which near points differ.
    exact = not similarity.is_given and (similarity.order is not None or dtype == np.float64)

    def rows_of(part: slice) -> Any:
        return X[part].astype(np.float64) if exact else X[part]

    def work(block: tuple[slice, slice]) -> tuple[float, float]:
        rows, columns = block
        value = (
            similarity.block_of(X, rows, columns)
            if similarity.is_given
            else similarity.block(rows_of(rows), rows_of(columns))
        )
        value = similarity.height(value)
        for i in range(rows.start, min(rows.stop, columns.stop - 1)):
            first = max(columns.start, i + 1)
            place = i * (2 * n - i - 1) // 2 - i - 1
            distance[place + first : place + columns.stop] = value[i - rows.start, first - columns.start :]
        return float(value.min()), float(value.max())

    blocks = [(r, c) for r in row_blocks(n, _ROWS) for c in row_blocks(n, _COLUMNS) if c.stop > r.start]
    with report.stage("distances", total=len(blocks)) as advance:
        ranges = map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    top = _zero_height(similarity, low, high)
    if low < 0 and similarity.kind == "distance":
        np.maximum(distance, 0, out=distance)
    return distance, top


def _euclidean_distances(
    X: np.ndarray, distance: np.ndarray, *, squared: bool, n_jobs: int | None, report: Progress
) -> None:
    """As ``similarity.block`` has them, number by number, with what is the same for many blocks worked out once."""
    n = X.shape[0]
    memory = local()
    parts = row_blocks(n, _COLUMNS)
    blocks = [row_blocks(part.stop, _ROWS) for part in parts]
    with report.stage("distances", total=sum(map(len, blocks))) as advance:
        for columns, some in zip(parts, blocks, strict=True):
            right = X[columns].astype(np.float64)
            centre = np.median(right[:: max(1, len(right) // 64)], axis=0)
            right -= centre
            column_square = squared_norms(right)

            def work(
                rows: slice,
                columns: slice = columns,
                right: np.ndarray = right,
                centre: Any = centre,
                column_square: np.ndarray = column_square,
            ) -> None:
                if not hasattr(memory, "block"):
                    memory.block = np.empty(_ROWS * _COLUMNS)
                left = X[rows].astype(np.float64)
                left -= centre
                shape = len(left), len(right)
                product = np.matmul(left, right.T, out=memory.block[: shape[0] * shape[1]].reshape(shape))
                row_square = squared_norms(left)
                _core.write_distances(
                    product, rows.start, columns.start, row_square, column_square, squared, n, distance
                )

            map_blocks(work, some, n_jobs=n_jobs, advance=advance)


def _zero_height(similarity: Similarity, low: float, high: float) -> float:
    """The shift from values in [low, high] to heights; distances are checked.

    Similarities w of a known largest value are heights already (1 − cos, 1 − w). Others count as −w, and the largest
    one, that of a point with itself included, is height 0.
    """
    if similarity.kind == "similarity":
        return -low if similarity.to_height.is_open else 0.0
    if low < -_ROUNDING * max(high, -low):
        raise InvalidInput(
            f"Negative values in data: metric {str(similarity)!r} has the distance {low:.6g}, and distances are at "
            "least 0. Are these similarities? Say so: metric=cladify.similarity.custom(f, kind='similarity')."
        )
    return 0.0
