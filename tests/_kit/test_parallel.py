"""Threads: the order of results, errors and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from cladify._kit.parallel import map_blocks, resolve_jobs, row_blocks
from cladify.errors import InvalidInput


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_blocks(n_jobs):
    def work(i):
        time.sleep(0.001 * (7 - i % 7))
        return i * i

    done = []
    assert map_blocks(work, iter(range(40)), n_jobs=n_jobs, advance=lambda: done.append(1)) == [
        i * i for i in range(40)
    ]
    assert len(done) == 40


def test_blocks_run_side_by_side():
    barrier = threading.Barrier(2, timeout=20)
    map_blocks(lambda _: barrier.wait(), range(2), n_jobs=2)


def test_one_blas_thread_inside_and_the_old_number_after():
    blas = lambda: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]  # noqa: E731
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        assert 2 in before
        assert all(threads == 1 for counts in map_blocks(lambda _: blas(), range(2), n_jobs=2) for threads in counts)
        assert blas() == before


def test_a_library_that_is_loaded_later_has_one_thread_too():
    code = """
from threadpoolctl import threadpool_info, threadpool_limits
from cladify._kit.parallel import one_blas_thread
with one_blas_thread():
    pass
import numpy, scipy.linalg
threadpool_limits(2, user_api="blas")
blas = lambda: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
assert set(blas()) == {2}, blas()
with one_blas_thread():
    assert set(blas()) == {1}, blas()
assert set(blas()) == {2}, blas()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_stops_the_rest(n_jobs):
    started = []

    def work(i):
        started.append(i)
        if i == 3:
            raise RuntimeError("block 3")

    with pytest.raises(RuntimeError, match="block 3"):
        map_blocks(work, range(10_000), n_jobs=n_jobs)
    assert len(started) < 100


def test_resolve_jobs():
    cores = resolve_jobs(-1)
    assert cores >= 1 and resolve_jobs(None) == cores and resolve_jobs(4) == 4 and resolve_jobs(-1000) == 1
    for bad in (0, 1.5, "2", True):
        with pytest.raises(InvalidInput, match="n_jobs"):
            resolve_jobs(bad)


def test_row_blocks_cover_everything_once():
    assert [(b.start, b.stop) for b in row_blocks(10, 4)] == [(0, 4), (4, 8), (8, 10)]
    assert row_blocks(0, 4) == []


@pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_within_a_second(n_jobs):
    code = (
        "import time, sys; from cladify._kit.parallel import map_blocks; print('go', flush=True);"
        f"map_blocks(lambda i: time.sleep(0.05), range(100000), n_jobs={n_jobs})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    start = time.perf_counter()
    _, err = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in err
    assert time.perf_counter() - start < 2  # a second, and room for a loaded machine
