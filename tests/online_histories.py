"""Random histories of an online tree beside a plain model: adds, removals, updates, folders, faults and crashes."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from quick import IN_MEMORY

from cladify import _core, online
from cladify.errors import FileError

FEW = {"n_jobs": 1, "random_state": 0}
KINDS = {
    "LiveTree": {**FEW, "n_neighbors": 3},
    "Greedy": FEW,
    "Rotate": FEW,
    "Grinch": {**FEW, "n_neighbors": 3},
    "Perch": FEW,
    "OHAC": FEW,
    "MiniBatchSCC": {**FEW, "n_neighbors": 3, "n_rounds": 10},
    "MiniBatchHAC": {**FEW, "buffer_size": 6},
}
FAULTS = ("memory", "progress", "statement")
EXPECTED = (MemoryError, KeyboardInterrupt, FileError)


class Faulty:
    """A database connection that fails, or calls a function, at its n-th statement."""

    def __init__(self, database: Any, at: int, call: Any) -> None:
        self._database, self._left, self._call = database, at, call

    def execute(self, statement: str, *values: Any) -> Any:
        if statement != "ROLLBACK":
            self._left -= 1
            if self._left == 0:
                self._call()
        return self._database.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


class Model:
    """The items that a tree must hold, in order: row and weight of each, and the labels of the last cut."""

    def __init__(self) -> None:
        self.items: dict[Any, tuple[np.ndarray, float]] = {}
        self.labels: dict[Any, int] = {}
        self.next = 0

    def copy(self) -> Model:
        other = Model()
        other.items, other.labels, other.next = dict(self.items), dict(self.labels), self.next
        return other


class History:
    """One tree, its folder if it has one, and the model.

    Parameters
    ----------
    kind : str
        Name of the class.
    seed : int
    """

    def __init__(self, kind: str, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.metric = ("sqeuclidean", "cosine", "dot")[seed % 3]
        self.tree: Any = getattr(online, kind)(self.metric, **KINDS[kind])
        self.model = Model()
        self.top = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.folder: Path | None = None
        self._folders = 0
        self.refused = 0

    def close(self) -> None:
        self.tree.close()
        shutil.rmtree(self.top)

    # --- changes ------------------------------------------------------------------------------------------------------

    def rows(self, count: int) -> np.ndarray:
        """Rows on a coarse grid, so that many are equal or equally far; none is zero."""
        X = self.rng.integers(-2, 3, size=(count, 3)).astype(float)
        X[~X.any(axis=1)] = 1.0
        return X * self.rng.choice([1.0, 1.0, 1e-3, 1e4]) if self.rng.random() < 0.1 else X

    def some(self, most: int) -> list[Any]:
        ids = list(self.model.items)
        count = int(self.rng.integers(1, min(most, len(ids)) + 1))
        return [ids[i] for i in self.rng.permutation(len(ids))[:count]]

    def add(self, fault: str = "") -> None:
        count, after = int(self.rng.integers(1, 10)), self.model.copy()
        X, weight = self.rows(count), self.rng.integers(1, 4, size=count).astype(float)
        ids: Any = None
        if self.rng.random() < 0.5:
            ids = [f"{after.next}-{i}" if i % 2 else after.next + 2 * i for i in range(count)]
        named = list(range(after.next, after.next + count)) if ids is None else ids
        after.items |= {item: (X[i], weight[i]) for i, item in enumerate(named)}
        after.next = max([after.next, *(item + 1 for item in named if isinstance(item, int))])
        self.change(lambda **more: self.tree.partial_fit(X, ids=ids, sample_weight=weight, **more), after, fault)

    def remove(self, fault: str = "") -> None:
        if self.model.items:
            ids, after = self.some(len(self.model.items) if self.rng.random() < 0.1 else 6), self.model.copy()
            for item in ids:
                del after.items[item]
            self.change(lambda **_: self.tree.remove(ids), after, fault)

    def update(self, fault: str = "") -> None:
        if self.model.items:
            ids, after = self.some(5), self.model.copy()
            X, weight = self.rows(len(ids)), self.rng.integers(1, 4, size=len(ids)).astype(float)
            after.items |= {item: (X[i], weight[i]) for i, item in enumerate(ids)}
            self.change(lambda **_: self.tree.update(ids, X, sample_weight=weight), after, fault)

    def refresh(self, fault: str = "") -> None:
        if hasattr(self.tree, "refresh"):
            self.change(lambda **_: self.tree.refresh(0.02), self.model.copy(), fault)

    def clusters(self, fault: str = "") -> None:
        if self.model.items:
            after = self.model.copy()

            def cut(**_: Any) -> None:
                found = self.tree.clusters(n_clusters=int(self.rng.integers(1, len(after.items) + 1)))
                after.labels = dict(zip(after.items, found.labels.tolist(), strict=True))

            self.change(cut, after, fault)

    def save(self, fault: str = "") -> None:
        """Into the same folder, or into a new one."""
        if self.tree._begin().tree is None:
            return
        again = self.folder is not None and self.rng.random() < 0.7
        folder = self.folder if again else self._new_folder()

        def keep(**_: Any) -> None:
            self.tree.save(folder)
            self.folder = folder

        self.change(keep, self.model, fault if again else "")

    def change(self, call: Any, after: Model, fault: str) -> None:
        """Makes a change, with a fault, or with a copy of the folder as a crash would leave it."""
        crashed: list[Path] = []
        before = self.model
        try:
            with self._failing(fault, crashed) as more:
                call(**more)
            made = True
        except EXPECTED:
            made = False
            self.refused += 1
            assert fault
        self.model = after if made else before
        self.verify(self.tree, self.model)
        for folder in crashed:
            self._open_after_crash(folder, before, after)

    @contextmanager
    def _failing(self, fault: str, crashed: list[Path]) -> Any:
        at = int(self.rng.integers(1, 12))
        store = self.tree.__dict__.get("_store")
        database = None if store is None else store._database
        more: dict[str, Any] = {}
        if fault == "memory":
            _core.fail_allocation(int(self.rng.choice([at, 5 * at, 20 * at])))
        elif fault == "progress":
            more["progress"] = interrupts(at % 3)
        elif fault == "statement" and store is not None:
            store._database = Faulty(database, at % 5 + 1, full_disk)
        elif fault == "crash" and store is not None:
            store._database = Faulty(database, at % 5 + 1, lambda: crashed.append(self._copied()))
        try:
            yield more
        finally:
            _core.fail_allocation(0)
            if store is not None:
                store._database = database

    # --- folders ------------------------------------------------------------------------------------------------------

    def _new_folder(self) -> Path:
        self._folders += 1
        return self.top / str(self._folders)

    def _copied(self) -> Path:
        """The folder as it would be after a kill at this moment."""
        folder = self._new_folder()
        folder.mkdir()
        for name in ("tree.sqlite", "tree.sqlite-wal"):
            if (self.folder / name).exists():
                shutil.copy(self.folder / name, folder / name)
        return folder

    def _open_after_crash(self, folder: Path, before: Model, after: Model) -> None:
        tree = online.open(folder)
        # A copy is taken before a statement: the last one commits, so that the change is not there yet.
        whole = after if list(tree.ids_) == list(after.items) != list(before.items) else before
        self.verify(tree, whole)
        if self.rng.random() < 0.5:
            tree.close()
        else:  # go on from the crash
            self.tree.close()
            self.tree, self.folder, self.model = tree, folder, whole

    def reopen(self, _: str = "") -> None:
        if self.folder is not None:
            before = self.tree.tree_ if len(self.tree) else None
            self.tree.close()
            self.tree = online.open(self.folder)
            assert before is None or self.tree.tree_ == before
            self.verify(self.tree, self.model)

    def read(self, _: str = "") -> None:
        """A reader beside the writer, a copy and a check of the folder."""
        if self.folder is not None:
            self.verify(online.open(self.folder, read_only=True), self.model)
            copy = self._new_folder()
            online.backup(self.folder, copy)
            assert online.check(copy)["problems"] == []
            with online.open(copy) as tree:
                self.verify(tree, self.model)

    def pickled(self, _: str = "") -> None:
        """Goes on with a copy, which has no folder."""
        tree = pickle.loads(pickle.dumps(self.tree))
        self.tree.close()
        self.tree, self.folder = tree, None
        self.verify(tree, self.model)

    # --- the truth ----------------------------------------------------------------------------------------------------

    def verify(self, tree: Any, model: Model) -> None:
        """The tree holds what the model says, and its rules are kept."""
        ids = list(model.items)
        assert list(tree.ids_) == ids and len(tree) == len(ids)
        state = tree._begin()
        assert state.items.next_id == model.next
        kept = state.labels.dump()
        assert dict(zip(kept["ids"], kept["labels"], strict=True)) == model.labels
        if not ids:
            return
        assert state.tree.broken_rule(1e-6) == "" and tree.tree_.n_leaves == len(ids)
        assert state.graph is None or state.graph.broken_rule() == ""
        slots = state.items.slots
        assert state.items.weight_of(slots).tolist() == [weight for _, weight in model.items.values()]
        X = np.array([row for row, _ in model.items.values()])
        got = state.rows.originals(state.search.z(slots))
        if self.metric == "cosine":
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
        # Rows are kept in float32, relative to the mean of the first batch, which may be far from what is left.
        centre = np.abs(state.rows.originals(np.zeros((1, X.shape[1]), np.float32))).max()
        np.testing.assert_allclose(got, X, rtol=1e-4, atol=max(1e-4 * max(1.0, np.abs(X).max()), 2.0**-22 * centre))


def interrupts(left: int) -> Any:
    """A progress callback at whose n-th call Ctrl-C is pressed."""
    calls = [left]

    def progress(*_: Any) -> None:
        calls[0] -= 1
        if calls[0] < 0:
            raise KeyboardInterrupt

    return progress


def full_disk() -> None:
    raise sqlite3.OperationalError("database or disk is full")


CHANGES = ("add", "remove", "update", "refresh", "clusters", "save")
STEPS = (*CHANGES, "add", "add", "remove", "update", "reopen", "read", "pickled")


def run(kind: str, seed: int, steps: int = 8) -> int:
    """One random history; returns how many changes were refused."""
    history = History(kind, seed)
    history.add()
    if seed % 4:
        history.save()
    for _ in range(steps):
        step = str(history.rng.choice(STEPS))
        fault = str(history.rng.choice([*FAULTS, "crash"])) if history.rng.random() < 0.4 else ""
        getattr(history, step)(fault)
    history.close()
    return history.refused
