"""Workers and schedulers that die, in processes of their own: the same tree, or one line and a checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import cladify
from cladify.distributed._job import connected
from cladify.errors import CladifyError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(60, 6))
    folder = tmp_path_factory.mktemp("shards")
    for i in range(4):
        np.save(folder / f"{i}.npy", centre[rng.integers(60, size=750)] + 0.3 * rng.normal(size=(750, 6)))
    return folder


def same_tree(a, b):
    return np.array_equal(a.parent, b.parent) and np.array_equal(a.height, b.height)


@pytest.fixture(scope="module")
def tree(folder, client):
    return cladify.fit(folder, method="scc", engine="dask", client=client)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(folder, tree):
    with connected(n_workers=2) as client:
        killed = []

        def kill(stage, done, total):
            if stage == "neighbours in groups" and done == 1:
                pids = client.run(os.getpid)
                killed.append(min(pids.values()))
                os.kill(killed[0], signal.SIGKILL)

        again = cladify.fit(folder, method="scc", engine="dask", client=client, progress=kill)
    assert len(killed) == 1
    assert same_tree(again, tree)


def test_rows_of_this_process_that_are_lost_with_a_worker_are_said():
    from dask import delayed

    from cladify.distributed._job import run

    with connected(n_workers=1) as client:
        rows = client.scatter(np.ones(3), hash=False)
        (pid,) = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(CladifyError, match=r"sum: rows that this process had sent .* Save the array as shards"):
            run(client, [delayed(np.sum)(rows)], stage="sum")


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and a worker as processes: ``(scheduler, address)``."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    file = tmp_path / "scheduler.json"
    here = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen([*command, *here], **quiet)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
    worker = subprocess.Popen([*command, "--nthreads", "1", "--no-nanny", *here], **quiet)
    try:
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.1)
        yield scheduler, json.loads(file.read_text())["address"]
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_a_lost_scheduler_is_said_and_the_next_call_goes_on(cluster, folder, tree, client, tmp_path):
    scheduler, address = cluster
    seen = []

    def kill(stage, done, total):
        if stage == "merge by point" and stage not in seen:
            scheduler.kill()
        seen.append(stage)

    options = {"method": "scc", "engine": "dask", "checkpoint": tmp_path / "kept"}
    with pytest.raises(
        CladifyError, match=r"merge by point: the scheduler at tcp://127.* with checkpoint=FOLDER it goes"
    ):
        cladify.fit(folder, client=address, progress=kill, **options)
    # What was finished is not done again by the next scheduler.
    files = sorted((tmp_path / "kept").glob("*/found-*"))
    again = cladify.fit(folder, client=client, **options)
    assert files and same_tree(again, tree)
