"""Threads: how many, and blocks of work over them.

Dense algebra runs as fixed blocks, each with one BLAS thread, several blocks at a time: a block's sums are then the
same whatever the number of threads, so ``n_jobs`` never changes a result. NumPy's ``@`` and the native core release
the GIL, so plain threads are enough.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from cladify.errors import InvalidInput

__all__ = ["map_blocks", "one_blas_thread", "resolve_jobs", "row_blocks"]

T = TypeVar("T")
R = TypeVar("R")


def resolve_jobs(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` stands for: -1 or None is every core this process may use.

    >>> resolve_jobs(3)
    3
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None or n_jobs == -1:
        return cores
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise InvalidInput(f"n_jobs must be a positive int, or -1 for all cores, got {n_jobs!r}.")
    n_jobs = int(n_jobs)
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def row_blocks(n: int, size: int) -> list[slice]:
    """Consecutive slices of ``size`` rows that cover ``range(n)``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this block a matrix product uses one thread; parallelism comes from running blocks side by side."""
    modules, outer = len(sys.modules), getattr(_within, "modules", None)
    if modules == outer:  # setting the same limit again takes longer than a small product
        yield
        return
    with _blas_libraries(modules).limit(limits=1, user_api="blas"):
        _within.modules = modules
        try:
            yield
        finally:
            _within.modules = outer


_within = threading.local()


@lru_cache(maxsize=1)
def _blas_libraries(n_modules: int) -> Any:
    """The controller of the threads of BLAS and OpenMP; made after imports, as the search takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def map_blocks(
    work: Callable[[T], R],
    blocks: Iterable[T],
    *,
    n_jobs: int | None = -1,
    advance: Callable[..., Any] | None = None,
) -> list[R]:
    """Results of ``work`` on each block, in the order of the blocks, over ``n_jobs`` threads with one BLAS thread each.

    An exception in one block, or Ctrl-C, stops the others after the block they are in, so a block should take well
    under a second. ``advance`` is called once a finished block.
    """
    threads = resolve_jobs(n_jobs)
    results: list[R] = []
    with one_blas_thread():
        if threads == 1:
            for block in blocks:
                results.append(work(block))
                if advance is not None:
                    advance()
            return results
        waiting = iter(blocks)
        futures: list[Future[R]] = []
        with ThreadPoolExecutor(threads) as pool:
            running: set[Future[R]] = set()
            try:
                while True:
                    # A few blocks ahead keeps every thread busy, and leaves little to run off after Ctrl-C.
                    for block in islice(waiting, 2 * threads - len(running)):
                        future = pool.submit(work, block)
                        futures.append(future)
                        running.add(future)
                    if not running:
                        break
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                        if advance is not None:
                            advance()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return [future.result() for future in futures]
