import os
import tempfile
from functools import partial

import pytest

pytest.importorskip("distributed")

from cladify.distributed._job import Job


@pytest.fixture(scope="package")
def client():
    """Two workers in this process, without ports of their own."""
    from distributed import Client, LocalCluster

    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="package")
def job(client):
    return Job(client)


class Done:
    """A future whose task has run."""

    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value


class Later:
    """A delayed task."""

    def __init__(self, task, *args):
        self.task, self.args = task, args

    @property
    def value(self):
        return self.task(*values(self.args))


def delayed(value, traverse=True):
    """In place of Dask's, whose tasks take longer to make than most of them take to run."""
    return partial(Later, value) if callable(value) else Done(value)


def values(args):
    if isinstance(args, Done | Later):
        return args.value
    return type(args)(map(values, args)) if type(args) in (list, tuple) else args


class NoWorkers:
    """The parts of a client that tell what a cluster is like."""

    def nthreads(self):
        return {"here": 4}

    def scheduler_info(self, n_workers):
        return {"workers": {}}


class Here(Job):
    """A job that runs every task at once, in this thread: hundreds of runs in seconds."""

    def run(self, tasks, label, report=None):
        return [task.value for task in tasks]

    def submit(self, task, *args, **same):
        return Done(task(*values(args), **same))

    def gather(self, futures):
        return values(futures)


@pytest.fixture
def here(monkeypatch):
    """Steps leave thousands of small files: in memory, where the system has a place for that."""
    if os.access("/dev/shm", os.W_OK):
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    monkeypatch.setattr("dask.delayed", delayed)
    return Here(NoWorkers())
