"""Searches for the nearest clusters: matrix products block by block, which the native core picks candidates from."""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any

import numpy as np

from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.progress import Progress

__all__ = ["search_all", "search_some"]

_ROWS, _COLUMNS = 512, 1024  # a block of products stays in a core's own cache
_MOST = 0.6  # from this share of rows on, it is less work to do all, every pair once


def _product() -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The product of two blocks of rows, in memory that every thread keeps for the next one."""
    memory = local()

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not hasattr(memory, "block"):
            memory.block = np.empty(_ROWS * _COLUMNS, dtype=np.float32)
        return np.matmul(a, b.T, out=memory.block[: len(a) * len(b)].reshape(len(a), len(b)))

    return product


def search_all(hac: Any, mean32: np.ndarray, n_jobs: int | None, report: Progress) -> None:
    """Scan every pair of clusters once; there are no holes. Groups, where there are some, are next to each other."""
    n = hac.slots
    group = hac.groups()
    hac.begin(np.arange(n, dtype=np.int32))
    product = _product()

    def work(block: tuple[slice, slice]) -> None:
        rows, columns = block
        hac.scan_both(product(mean32[rows], mean32[columns]), rows.start, columns.start)

    def to_do(rows: slice, columns: slice) -> bool:
        return columns.stop > rows.start and group[rows.start] != group[max(rows.stop, columns.stop) - 1]

    blocks = [(r, c) for r in row_blocks(n, _ROWS) for c in row_blocks(n, _COLUMNS) if to_do(r, c)]
    with report.stage("search", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)


def search_some(hac: Any, mean32: np.ndarray, rows: np.ndarray, n_jobs: int | None) -> None:
    """New lists for the clusters in the slots ``rows``, among all clusters that are not of their own group."""
    product = _product()
    group = hac.groups()

    def columns_for(rows: np.ndarray, size: int) -> list[slice]:
        outside = [slice(0, hac.slots)]
        if len(rows) > 1 and group[rows[0]] == group[rows[-1]]:
            inside = np.flatnonzero(group == group[rows[0]])
            outside = [slice(0, inside[0]), slice(inside[-1] + 1, hac.slots)]
        return [
            slice(part.start + b.start, part.start + b.stop)
            for part in outside
            for b in row_blocks(part.stop - part.start, size)
        ]

    def scan(use: Callable[..., None], rows: np.ndarray, size: int, *, whole_rows: bool) -> None:
        means = mean32[rows]
        blocks = []
        for part in row_blocks(len(rows), size):
            columns = columns_for(rows[part], _ROWS * _COLUMNS // min(size, len(rows)))
            blocks += [(part, columns)] if whole_rows else [(part, [column]) for column in columns]

        def work(block: tuple[slice, list[slice]]) -> None:
            part, columns = block
            for column in columns:
                use(product(means[part], mean32[column]), part.start, column.start)

        map_blocks(work, blocks, n_jobs=n_jobs)

    if len(rows) > _MOST * hac.slots and (group[1:] >= group[:-1]).all():
        search_all(hac, mean32, n_jobs, Progress())
    else:
        hac.begin(rows)
        scan(hac.scan, rows, _ROWS, whole_rows=False)
    again = hac.settle()
    if len(again):  # float32 does not resolve their nearest
        scan(hac.scan_again, again, 64, whole_rows=True)
        hac.settle_again()
