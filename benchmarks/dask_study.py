"""The figures of ``docs/studies/dask.md``: the Dask engine on shards larger than its workers' memory, by stage.

``python -m benchmarks.dask_study --rows 10e6 --workers 2 --memory 1GB --method neighbors`` writes the shards to a
temporary folder, runs, and prints one JSON object: seconds a stage, bytes that passed between tasks, the most memory
that each worker held, and what Dask spilled to disk. ``neighbors`` stops at the graph. ``--kill N`` runs N times on the
same shards, each time with one worker killed at a random moment, and says whether the tree was the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

SHARD = 250_000


def write_shards(folder: Path, n: int, d: int, seed: int = 0) -> None:
    """float32 rows as :func:`benchmarks.data.clustered` makes them, shard by shard."""
    rng = np.random.default_rng(seed)
    k = int(np.sqrt(n))
    top = rng.standard_normal((int(np.sqrt(k)), d), dtype=np.float32)
    centres = top[rng.integers(len(top), size=k)] + 0.7 * rng.standard_normal((k, d), dtype=np.float32)
    for i, start in enumerate(range(0, n, SHARD)):
        rows = min(SHARD, n - start)
        X = centres[rng.integers(k, size=rows)] + 0.5 * rng.standard_normal((rows, d), dtype=np.float32)
        np.save(folder / f"{i:04d}.npy", X)


class Clock:
    """A progress callback that keeps when each stage began and ended."""

    def __init__(self) -> None:
        self.stages: dict[str, list[float]] = {}
        self.tasks: dict[str, int] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.perf_counter()
        self.stages.setdefault(stage, [now, now])[1] = now
        self.tasks[stage] = total

    def seconds(self) -> dict[str, float]:
        return {stage: round(end - start, 1) for stage, (start, end) in self.stages.items()}


def worker_state(dask_worker: Any) -> dict[str, float]:
    with open("/proc/self/status") as lines:
        peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    spilled = getattr(dask_worker.data, "cumulative_metrics", {})
    return {
        "pid": os.getpid(),
        "peak_mb": round(peak / 1e6),
        "limit_mb": round((dask_worker.memory_manager.memory_limit or 0) / 1e6),
        "spilled_mb": round(spilled.get(("disk-write", "bytes"), 0.0) / 1e6, 1),
        "cpu_s": round(time.process_time(), 1),
    }


def folder_bytes(folder: Path) -> int:
    """Bytes in a folder whose files come and go."""
    total = 0
    for entry in folder.rglob("*"):
        try:
            total += entry.stat().st_size
        except OSError:
            continue
    return total


def watch_disk(folder: Path, told: dict[str, Any], stop: threading.Event) -> None:
    while not stop.wait(1.0):
        told["disk_peak_mb"] = max(told.get("disk_peak_mb", 0), round(folder_bytes(folder) / 1e6))


def run(args: argparse.Namespace, shards: Path, work: Path, kill: random.Random | None = None) -> tuple[Any, dict]:
    from distributed import Client, LocalCluster

    import cladify

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": args.memory}
    told: dict[str, Any] = {}
    stop = threading.Event()
    with LocalCluster(n_workers=args.workers, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        before = client.run(worker_state)
        watcher = threading.Thread(target=watch_disk, args=(work, told, stop), daemon=True)
        watcher.start()
        if kill is not None:
            pid = kill.choice([state["pid"] for state in before.values()])
            told["killed_after"] = round(kill.uniform(0.0, args.span), 1)
            threading.Timer(told["killed_after"], os.kill, (pid, signal.SIGKILL)).start()
        clock, began, cpu = Clock(), time.perf_counter(), time.process_time()
        if args.method == "neighbors":
            result: Any = graph_of(shards, args.neighbors, client, work, clock)
        else:
            params = {} if args.method in ("random-cut", "kmeans", "bisect") else {"n_neighbors": args.neighbors}
            options = {"engine": "dask", "client": client, "checkpoint": work, "progress": clock}
            result = cladify.fit(shards, method=args.method, **options, **params)
        told |= {"seconds": round(time.perf_counter() - began, 1), "stages": clock.seconds(), "tasks": clock.tasks}
        told["client_cpu_s"] = round(time.process_time() - cpu, 1)
        after = client.run(worker_state)
        stop.set()
        watcher.join()
    told["workers"] = list(after.values())
    told["restarted"] = len({s["pid"] for s in after.values()} - {s["pid"] for s in before.values()})
    told["info"] = {
        name: result.info.get(name) for name in ("neighbors", "n_rounds", "distributed") if name in result.info
    }
    if args.method == "neighbors":
        told["info"] = result.info
    return result, told


def graph_of(shards: Path, k: int, client: Any, work: Path, clock: Clock) -> Any:
    from cladify._kit.progress import Progress
    from cladify.distributed import open_vectors
    from cladify.distributed._job import Job
    from cladify.distributed._stages.neighbors import sharded_neighbors
    from cladify.distributed._storage.work_folder import WorkFolder
    from cladify.distributed.sources import part_bytes_for

    report = Progress(clock)
    vectors = open_vectors(shards, client=client, part_bytes=part_bytes_for(client), report=report)
    return sharded_neighbors(vectors, k, job=Job(client, WorkFolder(str(work)), report))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--method", default="scc")
    parser.add_argument("--kill", type=int, default=0, metavar="TIMES")
    parser.add_argument("--span", type=float, default=30.0, help="seconds within which the kill comes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        shards = Path(place) / "shards"
        shards.mkdir()
        write_shards(shards, int(args.rows), args.columns)
        first, told = run(args, shards, _fresh(place, 0))
        told["data_mb"] = round(4 * args.rows * args.columns / 1e6)
        print(json.dumps(told), flush=True)
        for i in range(args.kill):
            tree, told = run(args, shards, _fresh(place, i + 1), random.Random(i))
            same = np.array_equal(tree.parent, first.parent) and np.array_equal(tree.height, first.height)
            print(
                json.dumps({"same": same, **{k: told[k] for k in ("killed_after", "restarted", "seconds")}}), flush=True
            )


def _fresh(place: str, i: int) -> Path:
    folder = Path(place) / f"work-{i}"
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
