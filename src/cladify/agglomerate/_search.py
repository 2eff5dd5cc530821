"""Searches for the nearest clusters, block by block: products propose candidates, and the native core picks them.

A block is one float32 product; or int8 products with a proven bound, which leave few pairs to be worked out
(``core/agglomerate/hac/screen.hpp``). For those, clusters are taken in an order in which near ones are close together.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any

import numpy as np

from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.progress import Progress
from cladify.data._screen import near_order, suits

__all__ = ["search_all", "search_some"]

_ROWS, _COLUMNS = 512, 1024  # a block of products stays in a core's own cache
_MOST = 0.6  # from this share of rows on, it is less work to do all, every pair once
_SIDE = 1024  # rows and columns of a block of int8 products
_FEWEST = 4096  # clusters from which int8 copies are worth making
_FEWEST_ROWS = 256  # that search among them


class _Products:
    """Blocks of products of means, in memory that every thread keeps for the next one."""

    def __init__(self, mean32: np.ndarray) -> None:
        self._mean32 = mean32
        self._local = local()

    def __call__(self, rows: Any, columns: Any) -> np.ndarray:
        """Of the clusters in these slots: slices or arrays of them."""
        if not hasattr(self._local, "block"):
            self._local.block = np.empty(_ROWS * _COLUMNS, dtype=np.float32)
        a, b = self._mean32[rows], self._mean32[columns]
        return np.matmul(a, b.T, out=self._local.block[: len(a) * len(b)].reshape(len(a), len(b)))


def search_all(hac: Any, mean32: np.ndarray, n_jobs: int | None, report: Progress) -> None:
    """Look at every pair of clusters once; there are no holes. Groups, where there are some, are next to each other."""
    n = hac.slots
    group = hac.groups()[:n]
    products = _Products(mean32)
    if _screens(mean32, n, n, group):
        order = near_order(mean32[:n], hac.bias(), n_jobs)
        hac.set_near_order(order)
        hac.begin(order, order)
        _screen(hac, products, order, order, n_jobs, report)
        return
    order = np.arange(n, dtype=np.int32)
    hac.begin(order, order)

    def work(block: tuple[slice, slice]) -> None:
        rows, columns = block
        hac.scan_both(products(rows, columns), rows.start, columns.start)

    def to_do(rows: slice, columns: slice) -> bool:
        return columns.stop > rows.start and group[rows.start] != group[max(rows.stop, columns.stop) - 1]

    blocks = [(r, c) for r in row_blocks(n, _ROWS) for c in row_blocks(n, _COLUMNS) if to_do(r, c)]
    with report.stage("search", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)


def search_some(hac: Any, mean32: np.ndarray, rows: np.ndarray, n_jobs: int | None) -> None:
    """New lists for the clusters in the slots ``rows``, among all clusters that are not of their own group."""
    n = hac.slots
    group = hac.groups()[:n]
    products = _Products(mean32)
    order = np.arange(n, dtype=np.int32)

    def columns_for(rows: np.ndarray, size: int) -> list[slice]:
        outside = [slice(0, len(order))]
        if len(rows) > 1 and group[rows[0]] == group[rows[-1]]:
            inside = np.flatnonzero(group == group[rows[0]])
            outside = [slice(0, inside[0]), slice(inside[-1] + 1, n)]
        return [
            slice(part.start + b.start, part.start + b.stop)
            for part in outside
            for b in row_blocks(part.stop - part.start, size)
        ]

    def scan(use: Callable[..., None], rows: np.ndarray, size: int, *, whole_rows: bool) -> None:
        blocks = []
        for part in row_blocks(len(rows), size):
            columns = columns_for(rows[part], _ROWS * _COLUMNS // min(size, len(rows)))
            blocks += [(part, columns)] if whole_rows else [(part, [column]) for column in columns]

        def work(block: tuple[slice, list[slice]]) -> None:
            part, columns = block
            for column in columns:
                use(products(rows[part], order[column] if len(order) < n else column), part.start, column.start)

        map_blocks(work, blocks, n_jobs=n_jobs)

    if len(rows) > _MOST * n and (group[1:] >= group[:-1]).all():
        search_all(hac, mean32, n_jobs, Progress())
    elif _screens(mean32, n, len(rows), group):
        order = hac.near_order()
        place = np.empty(n, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        rows = rows[np.argsort(place[rows])]
        hac.begin(rows, order)
        _screen(hac, products, rows, order, n_jobs, Progress())
    else:
        hac.begin(rows, order)
        scan(hac.scan, rows, _ROWS, whole_rows=False)
    again = hac.settle()
    if len(again):  # float32 does not resolve their nearest
        scan(hac.scan_again, again, 64, whole_rows=True)
        hac.settle_again()


def _screens(mean32: np.ndarray, n: int, rows: int, group: np.ndarray) -> bool:
    """Whether int8 products make a search faster; they leave no group out."""
    if n < _FEWEST or rows < _FEWEST_ROWS or not suits(mean32.shape[1]):
        return False
    return bool(((group < 0) | (group == np.arange(n))).all())


def _screen(
    hac: Any, products: _Products, rows: np.ndarray, columns: np.ndarray, n_jobs: int | None, report: Progress
) -> None:
    """All pairs of the slots ``rows`` and ``columns``; each pair once, where these are the same."""
    both = rows is columns
    scan = hac.scan_both if both else hac.scan
    hac.copy_for_screen()
    left, right = row_blocks(len(rows), _SIDE), row_blocks(len(columns), _SIDE)
    if both:  # near pairs first, so that all rows soon have something to beat
        blocks = [(left[i], left[i + gap]) for gap in range(len(left)) for i in range(len(left) - gap)]
    else:
        blocks = [(I, J) for I in left for J in right]
    outcome: list[bool] = []  # of the blocks so far: whether int8 products did half of the rows

    def work(block: tuple[slice, slice]) -> None:
        I, J = block
        done = 0
        if len(outcome) < 2 * len(left) or 4 * sum(outcome) > len(outcome):
            done = hac.screen(I.start, I.stop - I.start, J.start, J.stop - J.start, both)
            outcome.append(2 * done >= I.stop - I.start)
        for part in row_blocks(I.stop - I.start - done, _ROWS):  # so many pass that it is less work to do all
            first, last = I.start + done + part.start, I.start + done + part.stop
            scan(products(rows[first:last], columns[J]), first, J.start)

    with report.stage("search", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
