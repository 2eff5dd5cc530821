"""Folders that hold an online tree: what was acknowledged is there, what is damaged is noticed."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3

import numpy as np
import pytest
from points import rows

import cladify.online
from cladify.errors import FileError, InvalidInput
from cladify.online import Greedy, Grinch, LiveTree, MiniBatchHAC, MiniBatchSCC, Rotate

KINDS = [Greedy, Rotate, Grinch, LiveTree, MiniBatchSCC, MiniBatchHAC]
FOLDERS = [Grinch, MiniBatchSCC, MiniBatchHAC]  # sums, a graph and levels, a buffer: what a folder may hold


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_kept_goes_on_as_if_nothing_had_happened(kind, tmp_path):
    X = rows(300)
    one = kind().partial_fit(X[:100], ids=[f"a{i}" for i in range(100)]).remove(["a3", "a4"])
    two = kind().partial_fit(X[:100], ids=[f"a{i}" for i in range(100)]).remove(["a3", "a4"]).save(tmp_path)
    for online in (one, two):
        online.partial_fit(X[100:200]).update(["a5"], X[:1]).remove(["a6", 3])
    two.close()
    two = kind.open(tmp_path)
    assert two.get_params() == one.get_params()
    for online in (one, two):
        online.partial_fit(X[200:])
    assert one.ids_.tolist() == two.ids_.tolist()
    assert one.tree_ == two.tree_ and one.node_ids_.tolist() == two.node_ids_.tolist()
    assert one.tree_.n_leaves == two.tree_.n_leaves and two._begin().tree.broken_rule(1e-6) == ""


def test_cells_are_kept(tmp_path):
    X = rows(600)
    one = Rotate(search="cells").partial_fit(X[:300])
    two = Rotate(search="cells").partial_fit(X[:300]).save(tmp_path)
    two.close()
    two = cladify.online.open(tmp_path)
    assert isinstance(two, Rotate)
    assert one.partial_fit(X[300:]).tree_ == two.partial_fit(X[300:]).tree_
    assert two.save(tmp_path).ids_.tolist() == list(range(600))
    two.close()
    assert Rotate.open(tmp_path).tree_ == one.tree_


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_flipped_byte_is_noticed_or_changes_nothing(kind, tmp_path):
    online = kind().partial_fit(rows(12)).save(tmp_path)
    online.partial_fit(rows(3, seed=1)).remove([2]).close()
    tree, ids = online.tree_, online.ids_.tolist()
    path = tmp_path / "tree.sqlite"
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    used = np.flatnonzero(np.frombuffer(data, dtype=np.uint8))  # a page is mostly zeros in so small a tree
    for place in rng.choice(used, size=80).tolist():
        bad = bytearray(data)
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(bad))
        try:
            with cladify.online.open(tmp_path, read_only=True) as again:
                assert again.tree_ == tree and again.ids_.tolist() == ids  # a page that is not in use
        except FileError:
            noticed += 1
    assert noticed >= 20
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FileError):
        kind.open(tmp_path)
    path.unlink()
    with pytest.raises(FileError, match="not a folder"):
        kind.open(tmp_path)


@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize("step", ["INSERT INTO changes", "COMMIT"])
def test_a_full_disk_changes_nothing(kind, step, tmp_path):
    online = kind().partial_fit(rows(12)).save(tmp_path)
    online.partial_fit(rows(2, seed=5))
    before, database = online.tree_, online._store._database

    class Full:
        def execute(self, statement, *values):
            if statement.startswith(step):
                raise sqlite3.OperationalError("database or disk is full")
            return database.execute(statement, *values)

        def __getattr__(self, name):
            return getattr(database, name)

    online._store._database = Full()
    with pytest.raises(FileError, match=r"disk is full.*nothing was changed"):
        online.partial_fit(rows(2, seed=6))
    online._store._database = database
    assert len(online) == 14 and online.tree_ == before
    online.partial_fit(rows(2, seed=7)).close()
    with kind.open(tmp_path) as again:
        assert len(again) == 16 and again.tree_ == online.tree_


def test_a_second_writer_is_refused(tmp_path):
    Grinch().partial_fit(rows(5)).save(tmp_path).close()
    online = Grinch.open(tmp_path)
    with pytest.raises(FileError, match="written by another object"):
        Grinch.open(tmp_path)
    with pytest.raises(FileError, match="written by another object"):
        Greedy().partial_fit(rows(3)).save(tmp_path)
    online.close()
    assert len(Grinch.open(tmp_path)) == 5


def test_opening_takes_over_from_what_saved(tmp_path):
    saved = Grinch().partial_fit(rows(5)).save(tmp_path)
    saved.partial_fit(rows(2, seed=1))
    opened = Grinch.open(tmp_path)
    assert opened.tree_ == saved.tree_
    for change in (lambda: saved.partial_fit(rows(2, seed=2)), lambda: saved.remove([0]), lambda: saved.save(tmp_path)):
        with pytest.raises(FileError, match="opened again in this process"):
            change()
    assert len(saved) == 7  # nothing was changed
    opened.partial_fit(rows(2, seed=3)).close()
    saved.save(tmp_path / "other").partial_fit(rows(1, seed=4))
    assert len(Grinch.open(tmp_path)) == 9
    assert len(Grinch.open(tmp_path / "other")) == 8


def test_what_cannot_be_kept_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="nothing to save"):
        Grinch().save(tmp_path)
    with pytest.raises(InvalidInput, match="cannot be written to a file"):
        Grinch(linkage=lambda A, B: 0.0).partial_fit(rows(3)).save(tmp_path)
    with pytest.raises(FileError, match="not a folder with an online tree"):
        Grinch.open(tmp_path / "nowhere")
    Greedy().partial_fit(rows(3)).save(tmp_path).close()
    with pytest.raises(InvalidInput, match="holds a Greedy"):
        Grinch.open(tmp_path)


def test_many_changes_become_a_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr("cladify.online._storage.database._GROWN", 1000)
    online = Greedy().partial_fit(rows(3)).save(tmp_path)
    for i in range(60):
        online.partial_fit(rows(20, seed=i))
    assert cladify.online.check(tmp_path)["n_changes"] < 60
    online.close()
    assert len(Greedy.open(tmp_path)) == 1203


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_disk_that_is_really_full_is_survived(kind, tmp_path):
    """The system refuses to let a file grow, in the journal first and then in a snapshot."""
    folder = tmp_path / "tree"
    kind(n_jobs=1).partial_fit(rows(12)).save(folder).close()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            fill_up(folder, write)
        finally:
            os._exit(1)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as said:
        lines = said.read().split()
    assert "refused" in lines and lines[-1] == "went-on"
    online = kind.open(folder)
    assert len(online) == 12 + 50 * lines.count("added") + 1 and online._begin().tree.broken_rule(1e-6) == ""


def fill_up(folder, said: int) -> None:
    online = cladify.online.open(folder)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    for i in range(40):
        before = len(online)
        try:
            online.partial_fit(rows(50, seed=i))
            os.write(said, b"added ")
        except FileError:
            assert len(online) == before
            os.write(said, b"refused ")
            break
    try:
        online.save(folder)
        os.write(said, b"saved ")
    except FileError:
        os.write(said, b"refused ")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    online.partial_fit(rows(1, seed=99))
    os.write(said, b"went-on")
