"""Processes that are killed while they change an online tree: nothing acknowledged is lost, nothing is half there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from cladify import online
from cladify.errors import FileError
from cladify.online._storage import database

KILLS = int(os.environ.get("CLADIFY_KILLS", "3"))  # of each class in each way
KINDS = {
    "Grinch": {"n_neighbors": 5},
    "LiveTree": {"n_neighbors": 5},
    "MiniBatchSCC": {"n_neighbors": 5, "n_rounds": 20},
    "Perch": {},
    "MiniBatchHAC": {"buffer_size": 20},
}
WAYS = ("changes", "forked child", "snapshots", "backup")


def row_of(item: int, version: int) -> np.ndarray:
    row = np.random.default_rng([item, version]).normal(size=5)
    return row / np.linalg.norm(row)


def rows_of(versions: dict[int, int]) -> np.ndarray:
    return np.array([row_of(item, version) for item, version in versions.items()])


class Worker:
    """Changes a tree for ever; every change is announced, and said again when it was made."""

    def __init__(self, folder: Path, way: str, seed: int, said: int) -> None:
        self.folder, self.said, self.rng = folder, said, np.random.default_rng(seed)
        if way == "snapshots":
            database._GROWN = 400  # bytes: nearly every change is a new snapshot
        self.tree = online.open(folder)
        if way == "forked child":
            self.fork()
        if way == "backup":
            threading.Thread(target=self.copy, daemon=True).start()

    def fork(self) -> None:
        """A child with a copy of the open tree tries to write, until its parent is gone."""
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                try:
                    self.tree.partial_fit(np.ones((1, 5)), ids=["never"])
                    os._exit(1)
                except FileError:
                    time.sleep(0.001)
            os._exit(0)

    def copy(self) -> None:
        count = 0
        while True:
            online.backup(self.folder, self.folder.with_name(f"copy-{os.getpid()}-{count}"))
            count += 1

    def say(self, *what: object) -> None:
        os.write(self.said, (json.dumps(what) + "\n").encode())

    def run(self) -> None:
        while True:
            ids = self.tree.ids_
            draw = self.rng.random()
            if draw < 0.5 or len(ids) < 20:
                first = int(ids.max()) + 1
                change = dict.fromkeys(range(first, first + int(self.rng.integers(1, 9))), 0)
                self.say("add", *change.items())
                self.tree.partial_fit(rows_of(change), ids=list(change))
            elif draw < 0.75:
                gone = self.rng.permutation(ids)[: int(self.rng.integers(1, 6))].tolist()
                self.say("remove", *gone)
                self.tree.remove(gone)
            elif draw < 0.95:
                version = int(self.rng.integers(1, 1000))
                change = {int(item): version for item in self.rng.permutation(ids)[:4]}
                self.say("update", *change.items())
                self.tree.update(list(change), rows_of(change))
            elif hasattr(self.tree, "refresh") and draw < 0.97:
                self.say("refresh")
                self.tree.refresh(0.01)
            else:
                self.say("save")
                self.tree.save(self.folder)
            self.say("done")


def after(known: dict[int, int], change: list) -> dict[int, int]:
    what, *items = change
    if what == "remove":
        return {item: version for item, version in known.items() if item not in items}
    return known | dict(items)


def kill_one(folder: Path, way: str, seed: int, known: dict[int, int]) -> tuple[list[dict[int, int]], int]:
    """What the folder may hold after a kill, and how many changes were acknowledged."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            Worker(folder, way, seed, write).run()
        finally:
            os._exit(1)
    os.close(write)
    data = b""
    with open(read, "rb", buffering=0) as said:
        while b"done" not in data:
            part = said.read(65536)
            assert part, "the worker ended by itself"
            data += part
        time.sleep(0.02 * float(np.random.default_rng(seed).random()))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.set_blocking(read, False)  # a forked child may have the other end
        while part := said.read(65536):
            data += part
    pending: list | None = None
    acknowledged = 0
    for line in data.decode().splitlines():
        change = json.loads(line)
        if change == ["done"]:
            known, pending, acknowledged = after(known, pending or ["save"]), None, acknowledged + 1
        else:
            pending = change
    return [known] if pending is None else [known, after(known, pending)], acknowledged


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_acknowledged_is_lost(kind, way, tmp_path):
    folder = tmp_path / "tree"
    known = dict.fromkeys(range(30), 0)
    getattr(online, kind)(n_jobs=1, **KINDS[kind]).partial_fit(rows_of(known)).save(folder).close()
    acknowledged = 0
    for kill in range(KILLS):
        possible, count = kill_one(folder, way, kill, known)
        acknowledged += count
        with online.open(folder) as tree:
            ids = tree.ids_.tolist()
            state = tree._begin()
            z = state.search.z(state.items.slots)
            whole = [
                model for model in possible if list(model) == ids and np.allclose(z, rows_of(model), rtol=0, atol=1e-6)
            ]
            assert whole, (ids, possible)
            known = whole[0]
            assert state.tree.broken_rule(1e-6) == ""
            assert state.graph is None or state.graph.broken_rule() == ""
        for copy in tmp_path.glob("copy-*"):
            with contextlib.suppress(FileError):  # the last one may be half made
                assert online.open(copy, read_only=True)._begin().tree.broken_rule(1e-6) == ""
            shutil.rmtree(copy)
    assert acknowledged >= KILLS
