"""Exact nearest neighbours: blocks of scores by matrix products, the best of each row picked by the core.

float32 proposes, float64 decides. Every block of scores is one float32 product or, where the processor has them, an
int8 product that leaves few pairs to be scored (:mod:`cladify.data._screen`). The rows keep the best few more than
``k`` candidates, whose distances are then computed in float64, and the worst-case rounding error of the products shows
whether anything outside the candidates could belong to the ``k`` nearest. A few rows where it could get all that scores
leave open as candidates. What is still not known then (many ties, or clusters far apart compared with their size) is
searched again by float64 products. Ties go to the smaller id.

Within one set of points a block serves its rows and its columns, so each pair is computed once. Blocks are fixed and
the candidates of a row do not depend on the order of the blocks: any number of threads gives the same result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.progress import Progress
from cladify.data._frame import Frame, Rows
from cladify.data._screen import Screen, near_order, pays, screen_of
from cladify.data._vectors import is_sparse
from cladify.data.similarity import Similarity
from cladify.errors import InvalidInput

__all__ = ["Buffers", "Nearest", "decide", "decide_into", "empty_heaps", "exact_neighbors", "exact_query", "propose"]

_SIDE = 1024  # rows and columns of a block: a product of this size is efficient and its result stays in the cache
_BLOCK_SIDE = 256  # the same where a user's function computes the block
_SPARE = 8  # candidates above k
_WIDER, _FEW = 4, 8  # so many times the candidates for near ties, where one row in so many has some
_EPS32 = 2.0**-24


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of each query, nearest first.

    Attributes
    ----------
    indices : int32 array of shape (m, k)
        Ids of the rows; -1 where there are fewer than k.
    values : float64 array of shape (m, k)
        Values of the metric.
    """

    indices: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Neighborhoods:
    """The nearest rows of some queries, nearest first.

    Attributes
    ----------
    indices : int32 array of shape (m, k)
    weight : float32 array of shape (m, k)
        For distances −distance: larger is nearer.
    distance : float32 array of shape (m, k)
        As in :meth:`NeighborGraph.distances`.
    """

    indices: np.ndarray
    weight: np.ndarray
    distance: np.ndarray


def exact_neighbors(X: Any, k: int, similarity: Similarity, *, n_jobs: int | None, report: Progress) -> Nearest:
    """The ``k`` nearest other rows of every row of ``X``."""
    if similarity.order is None:
        return _by_blocks(X, k, similarity, n_jobs=n_jobs, report=report)
    rows = Rows.of(X, Frame.of(X, similarity.order, n_jobs), n_jobs)
    n = len(rows)
    keys, locks = empty_heaps(n, min(k + _SPARE, n - 1))
    ids = np.arange(n, dtype=np.int32)
    buffers = Buffers()
    placed, place_id = rows, ids
    screen: Screen | None = None
    if pays(rows):
        place_id = near_order(rows.z, rows.bias, n_jobs)
        placed = replace(rows, z=rows.z[place_id], bias=rows.bias[place_id], length=rows.length[place_id])
        screen = screen_of(placed, float(rows.length.max()), n_jobs)

    def work(pair: tuple[slice, slice]) -> None:
        I, J = pair
        both = I is not J  # a block of rows with itself comes first and gives every row something to beat
        some, others, bias = place_id[I], place_id[J], placed.bias
        if screen is not None and both:
            pair_ids = some, others
            done = screen.offer(keys, locks, screen, I, J, pair_ids, pair_ids, (bias[I], bias[J]), both)
            I, some = slice(I.start + done, I.stop), some[done:]
        if I.start == I.stop:
            return
        score = placed.scores(I, placed, J, buffers(I.stop - I.start, J.stop - J.start))
        _core.offer(keys, locks, score, some, others, some, others, bias[I], bias[J], both, False)

    _over_pairs(work, n, _side(rows.width), n_jobs, report)
    return decide(rows, rows, ids, keys, k, similarity, (ids, ids), n_jobs=n_jobs, report=report)


def exact_query(
    X: Any,
    Y: Any,
    k: int,
    similarity: Similarity,
    *,
    groups: tuple[np.ndarray, np.ndarray] | None = None,
    n_jobs: int | None,
    report: Progress,
) -> Nearest:
    """The ``k`` nearest rows of ``X`` for every row of ``Y``.

    ``groups`` (int32, of the rows of ``Y`` and of ``X``) leaves out the pairs of the same group.
    """
    n, m = X.shape[0], Y.shape[0]
    groups = groups or (np.full(m, -1, dtype=np.int32), np.arange(n, dtype=np.int32))
    if similarity.order is None:
        return _query_blocks(X, Y, k, similarity, groups, n_jobs=n_jobs, report=report)
    frame = Frame.of(X, similarity.order, n_jobs, queries=Y)
    base, queries = Rows.of(X, frame, n_jobs), Rows.of(Y, frame, n_jobs)
    screens = screen_of(queries, float(base.length.max()), n_jobs), screen_of(base, 0.0, n_jobs)
    keys = propose(queries, base, min(k + _SPARE, n), groups, screens=screens, n_jobs=n_jobs, report=report)
    ids = np.arange(m, dtype=np.int32)
    return decide(queries, base, ids, keys, k, similarity, groups, n_jobs=n_jobs, report=report)


def propose(
    queries: Rows,
    base: Rows,
    capacity: int,
    groups: tuple[np.ndarray, np.ndarray],
    *,
    screens: tuple[Screen | None, Screen | None] = (None, None),
    least: np.ndarray | None = None,
    n_jobs: int | None,
    report: Progress,
    stage: str = "neighbours",
) -> np.ndarray:
    """The best candidates of every query among all rows of ``base``, by float32 scores.

    With the ``screens`` of both, scores may differ in their last bits from those of products of blocks. With ``least``,
    a float32 score for every query, rows below it are left out.
    """
    n, m = len(base), len(queries)
    keys, locks = empty_heaps(m, capacity)
    if least is not None:
        keys[:] = _key_of_nothing(least)[:, None]
    ids, nothing = np.arange(max(n, m), dtype=np.int32), np.zeros(m, dtype=np.float32)
    buffers = Buffers()

    left, right = screens

    def work(pair: tuple[slice, slice]) -> None:
        I, J = pair
        group_j, bias = groups[1][J], base.bias[J]
        # The first block gives queries something to beat.
        if left is not None and right is not None and (J.start > 0 or least is not None):
            some = (groups[0][I], group_j)
            done = left.offer(keys, locks, right, I, J, (ids[I], ids[J]), some, (nothing[I], bias), both=False)
            I = slice(I.start + done, I.stop)
        if I.start == I.stop:
            return
        score = queries.scores(I, base, J, buffers(I.stop - I.start, J.stop - J.start))
        _core.offer(keys, locks, score, ids[I], ids[J], groups[0][I], group_j, nothing[I], bias, False, False)

    _over_blocks(work, m, n, _side(base.width), n_jobs, report, stage)
    if least is not None:
        keys[keys == _key_of_nothing(least)[:, None]] = 0
    return keys


def _key_of_nothing(score: np.ndarray) -> np.ndarray:
    """A candidate with each score that is no row: its id is above all others (``core/data/topk.hpp``)."""
    bits = (score + np.float32(0)).view(np.uint32)
    ordered = np.where(bits >> 31 != 0, ~bits, bits | np.uint32(1 << 31))
    return ordered.astype(np.uint64) << np.uint64(32) | np.uint64(1 << 31)


def decide(
    queries: Rows,
    base: Rows,
    query_ids: np.ndarray,
    keys: np.ndarray,
    k: int,
    similarity: Similarity,
    groups: tuple[np.ndarray, np.ndarray] | None,
    *,
    n_jobs: int | None,
    report: Progress,
) -> Nearest:
    """The ``k`` nearest among each query's candidates by float64 values.

    ``groups`` (one value a query and one a row of ``base``; pairs that share one are left out) is given when every pair
    was looked at. Then a query for which a row outside its candidates might be among the nearest is searched again.
    """
    values = np.empty((len(query_ids), k))
    indices, sure = decide_into(values, queries, base, query_ids, keys, n_jobs=n_jobs, report=report)
    if groups is None:
        return Nearest(indices, similarity.from_order(values, base.width))

    def decide_again(which: np.ndarray, keys: np.ndarray) -> np.ndarray:
        better = np.empty((len(which), k))
        indices[which], sure = decide_into(better, queries, base, query_ids[which], keys, n_jobs=n_jobs, report=report)
        values[which] = better
        return sure

    again = np.flatnonzero(sure == 0)
    if 0 < len(again) <= len(query_ids) // _FEW:
        level, some = values[again, -1] * base.frame.unit**2, (groups[0][again], groups[1])
        wider = _search_wider(queries, base, query_ids[again], level, _WIDER * keys.shape[1], some, n_jobs, report)
        again = again[decide_again(again, wider) == 0]
    if len(again):
        level, some = values[again, -1] * base.frame.unit**2, (groups[0][again], groups[1])
        decide_again(
            again, _search_float64(queries, base, query_ids[again], level, keys.shape[1], some, n_jobs, report)
        )
    return Nearest(indices, similarity.from_order(values, base.width))


def decide_into(
    values: np.ndarray,
    queries: Rows,
    base: Rows,
    query_ids: np.ndarray,
    keys: np.ndarray,
    *,
    store: Callable[[np.ndarray], np.ndarray] | None = None,
    n_jobs: int | None,
    report: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """The best candidates of each query, as many as ``values`` has columns, and whether they are proven.

    Their values in the order that the metric follows, in float64, are put into ``values``, or what ``store`` makes of a
    block of them.
    """
    m, k = values.shape
    indices = np.empty((m, k), dtype=np.int32)
    sure = np.empty(m, dtype=np.uint8)
    error = _error(base.width)
    longest = float(base.length.max())
    length = queries.length[query_ids]
    kernel: Any = _core.decide_sparse if is_sparse(base.data) else _core.decide_dense
    rows = (*queries.native, *base.native)

    def work(I: slice) -> None:
        value = values[I] if store is None else np.empty((I.stop - I.start, k))
        kernel(
            *rows,
            query_id=query_ids[I],
            keys=keys[I],
            distances=base.frame.order != "product",
            unit=base.frame.unit,
            error=error,
            longest=longest,
            length=length[I],
            best=indices[I],
            value=value,
            sure=sure[I],
        )
        if store is not None:
            values[I] = store(value)

    blocks = row_blocks(m, max(1, (1 << 24) // (keys.shape[1] * base.width)))
    with report.stage("float64 distances", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
    return indices, sure


def _error(width: int) -> float:
    """Relative rounding error of a score: the sum of products, their factors rounded to float32, and the bias."""
    return (width + 8) * _EPS32


def _search_wider(
    queries: Rows,
    base: Rows,
    query_ids: np.ndarray,
    level: np.ndarray,
    capacity: int,
    groups: tuple[np.ndarray, np.ndarray],
    n_jobs: int | None,
    report: Progress,
) -> np.ndarray:
    """All candidates of some queries that rounding leaves open, if they are at most ``capacity``.

    ``level`` is the value of the k-th nearest that each query has so far: its score, less what rounding can take off,
    is the least that is of interest, which int8 products know from the start.
    """
    some = queries.part(query_ids)
    length, longest = some.length, float(base.length.max())
    if base.frame.order == "product":
        least = level - _error(base.width) * length * longest
    else:
        reach = np.minimum(longest, length + np.sqrt(level))
        least = 0.5 * (length**2 - level) - _error(base.width) * reach * (length + reach)
    screens = screen_of(some, longest, n_jobs, beside=base), screen_of(base, 0.0, n_jobs)
    return propose(
        some,
        base,
        min(capacity, len(base)),
        groups,
        screens=screens,
        least=np.nextafter(least.astype(np.float32), np.float32(-np.inf)),
        n_jobs=n_jobs,
        report=report,
        stage="near ties",
    )


def _search_float64(
    queries: Rows,
    base: Rows,
    query_ids: np.ndarray,
    level: np.ndarray,
    capacity: int,
    groups: tuple[np.ndarray, np.ndarray],
    n_jobs: int | None,
    report: Progress,
) -> np.ndarray:
    """Candidates of some queries by float64 products: scores are rounded to float32 once, and close to zero.

    ``level`` is the value of the k-th nearest that each query has so far.
    """
    n, m = len(base), len(query_ids)
    keys, locks = empty_heaps(m, capacity)
    ids = np.arange(max(n, m), dtype=np.int32)
    zero = np.zeros(max(n, m), dtype=np.float32)
    distances = base.frame.order != "product"

    def work(I: slice) -> None:
        left = queries.take(query_ids[I])
        for J in row_blocks(n, _SIDE):
            product = left @ base.take(J).T
            score = product.toarray() if is_sparse(product) else product
            if distances:
                score *= 2
                score -= (queries.length[query_ids[I]] ** 2)[:, None]
                score -= base.length[J] ** 2
            else:
                score -= level[I, None]
            score32 = score.astype(np.float32)
            _core.offer(
                keys, locks, score32, ids[I], ids[J], groups[0][I], groups[1][J], zero[I], zero[J], False, False
            )

    blocks = row_blocks(m, min(256, max(1, int(2e10 / (n * (base.width + 50))))))
    with report.stage("near ties again", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
    return keys


# --- metrics that only have blocks ------------------------------------------------------------------------------------


def _by_blocks(X: Any, k: int, similarity: Similarity, *, n_jobs: int | None, report: Progress) -> Nearest:
    n = X.shape[0]
    keys, locks = empty_heaps(n, k)
    ids = np.arange(n, dtype=np.int32)
    zero = np.zeros(n, dtype=np.float32)

    def work(pair: tuple[slice, slice]) -> None:
        I, J = pair
        score = _as_scores(similarity.block_of(X, I, J), similarity)
        _core.offer(keys, locks, score, ids[I], ids[J], ids[I], ids[J], zero[I], zero[J], I is not J, False)

    _over_pairs(work, n, _BLOCK_SIDE, n_jobs, report)
    return _best(keys, k, similarity)


def _query_blocks(
    X: Any,
    Y: Any,
    k: int,
    similarity: Similarity,
    groups: tuple[np.ndarray, np.ndarray],
    *,
    n_jobs: int | None,
    report: Progress,
) -> Nearest:
    n, m = X.shape[0], Y.shape[0]
    keys, locks = empty_heaps(m, k)
    ids, zero = np.arange(max(n, m), dtype=np.int32), np.zeros(max(n, m), dtype=np.float32)

    def work(pair: tuple[slice, slice]) -> None:
        I, J = pair
        score = _as_scores(similarity.block(Y[I], X[J]), similarity)
        _core.offer(keys, locks, score, ids[I], ids[J], groups[0][I], groups[1][J], zero[I], zero[J], False, False)

    _over_blocks(work, m, n, _BLOCK_SIDE, n_jobs, report, "neighbours")
    return _best(keys, k, similarity)


def _as_scores(values: np.ndarray, similarity: Similarity) -> np.ndarray:
    sign = 1.0 if similarity.kind == "similarity" else -1.0
    try:
        with np.errstate(over="raise"):
            return np.multiply(values, sign, dtype=np.float32, order="C", casting="same_kind")
    except FloatingPointError:
        largest = float(np.abs(values).max())
        raise InvalidInput(f"values of pairs of up to {largest:.1e} are too large; divide the data first.") from None


def _best(keys: np.ndarray, k: int, similarity: Similarity) -> Nearest:
    indices = np.empty((len(keys), k), dtype=np.int32)
    score = np.empty((len(keys), k), dtype=np.float32)
    _core.best(keys, indices, score)
    values = score.astype(np.float64)
    return Nearest(indices, values if similarity.kind == "similarity" else -values)


# --- blocks -----------------------------------------------------------------------------------------------------------


class Buffers:
    """One block of float32 values a thread, used again and again."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __call__(self, rows: int, columns: int) -> np.ndarray:
        flat = getattr(self._local, "flat", None)
        if flat is None or len(flat) < rows * columns:
            flat = self._local.flat = np.empty(rows * columns, dtype=np.float32)
        return flat[: rows * columns].reshape(rows, columns)


def _side(width: int) -> int:
    """Rows of a block; fewer where rows are so long that a block would keep Ctrl-C waiting."""
    return _SIDE if width <= 16384 else 256


def empty_heaps(n: int, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((n, capacity), dtype=np.uint64), np.zeros(n, dtype=np.uint8)


def _over_pairs(
    work: Callable[[tuple[slice, slice]], None], n: int, side: int, n_jobs: int | None, report: Progress
) -> None:
    """Every pair of blocks of rows once; near pairs first, so that all rows soon have something to beat."""
    blocks = row_blocks(n, side)
    pairs = [(blocks[i], blocks[i + gap]) for gap in range(len(blocks)) for i in range(len(blocks) - gap)]
    with report.stage("neighbours", total=len(pairs)) as advance:
        map_blocks(work, pairs, n_jobs=n_jobs, advance=advance)


def _over_blocks(
    work: Callable[[tuple[slice, slice]], None],
    m: int,
    n: int,
    side: int,
    n_jobs: int | None,
    report: Progress,
    stage: str,
) -> None:
    """Every block of queries with every block of rows."""
    blocks = [(I, J) for I in row_blocks(m, side) for J in row_blocks(n, side)]
    with report.stage(stage, total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
