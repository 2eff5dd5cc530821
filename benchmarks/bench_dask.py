"""The Dask engine against the local one on one machine: what parts cost, and what a second worker brings."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered

K = 10

graph = Case(
    "dask-neighbours",
    "10 neighbours by shards; bars: at most 2x the time of the local engine, two workers 1.6x as fast as one",
    short={"n": 100_000, "d": 64},
    long={"n": 1_000_000},
    timeout=1800.0,
    repeat=1,
)
tree = Case(
    "dask-scc",
    "SCC of vectors; bar: at most 2x the time of the local engine",
    short={"n": 100_000, "d": 64},
    long={"n": 1_000_000},
    timeout=1800.0,
    repeat=1,
)


@graph.prepare
@tree.prepare
def blobs(n: int, d: int) -> dict[str, Any]:
    X = clustered(n, d)
    sample = np.sort(np.random.default_rng(1).choice(n, size=500, replace=False))
    return {"X": X, "sample": sample}


@cache
def workers(count: int) -> Any:
    """A client of that many processes, kept for all calls: starting them is not what is measured."""
    from distributed import Client, LocalCluster

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": "4GB"}
    cluster = LocalCluster(n_workers=count, threads_per_worker=1, **options)
    client = Client(cluster, set_as_default=False)
    atexit.register(lambda: (client.close(), cluster.close()))
    return client


_SHARDS: dict[tuple[int, ...], str] = {}


def shards(X: np.ndarray) -> str:
    """The rows as eight files, written once."""
    if X.shape not in _SHARDS:
        folder = _SHARDS[X.shape] = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for i, part in enumerate(np.array_split(X, 8)):
            np.save(Path(folder) / f"{i}.npy", part)
    return _SHARDS[X.shape]


def in_parts(X: np.ndarray, count: int) -> np.ndarray:
    from cladify.distributed import open_vectors
    from cladify.distributed._job import Job
    from cladify.distributed._stages.neighbors import sharded_neighbors

    client = workers(count)
    vectors = open_vectors(shards(X), client=client)
    with Job(client).working("graph") as job:
        found = sharded_neighbors(vectors, K, job=job)
        return found.gather(client).indices.reshape(len(X), K)


@graph.contestant("Dask, 2 workers", needs="distributed", warm_up=True)
def two(X: np.ndarray) -> np.ndarray:
    return in_parts(X, 2)


@graph.contestant("Dask, 1 worker", needs="distributed", warm_up=True)
def one(X: np.ndarray) -> np.ndarray:
    return in_parts(X, 1)


@graph.contestant("local", needs="cladify.neighbors")
def local(X: np.ndarray) -> np.ndarray:
    import cladify

    return cladify.neighbors(X, K, method="shards").indices.reshape(len(X), K)


@graph.quality("recall")
def recall(X: np.ndarray, sample: np.ndarray, result: np.ndarray) -> float:
    from cladify.neighbors import query

    truth = query(X, X[sample], K + 1).indices
    hits = [len(np.intersect1d(result[i], near[near != i][:K])) for i, near in zip(sample.tolist(), truth, strict=True)]
    return sum(hits) / (K * len(sample))


@tree.contestant("Dask, 2 workers", needs="distributed", warm_up=True)
def scc_two(X: np.ndarray) -> Any:
    import cladify

    return cladify.fit(shards(X), method="scc", n_neighbors=K, engine="dask", client=workers(2))


@tree.contestant("local", needs="cladify.agglomerate")
def scc_local(X: np.ndarray) -> Any:
    import cladify

    return cladify.fit(X, method="scc", n_neighbors=K)
