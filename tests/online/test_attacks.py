"""Attempts to lose data or to crash the process: each of these once did."""

from __future__ import annotations

import os
import pickle
import sqlite3
import stat
import threading
import warnings

import numpy as np
import pytest

import cladify.online as O
from cladify import _core
from cladify.errors import CladifyWarning, FileError, InvalidInput

KINDS = [O.Greedy, O.Rotate, O.Grinch, O.Perch, O.OHAC, O.MiniBatchHAC, O.MiniBatchSCC, O.LiveTree]


def rows(n, seed=0, d=8):
    return np.random.default_rng(seed).normal(size=(n, d))


def whole(online):
    state = online._begin()
    assert state.tree.broken_rule(1e-6) == ""
    assert state.graph is None or state.graph.broken_rule() == ""
    assert online.tree_.n_leaves == len(online) == len(online.ids_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_large_values_open_again(kind, scale, tmp_path):
    X = scale * rows(60)
    X[0, 0] = 1e6 * scale
    online = kind(metric="sqeuclidean").partial_fit(X[:30]).partial_fit(X[30:]).save(tmp_path)
    online.close()
    assert O.open(tmp_path).tree_ == online.tree_
    assert pickle.loads(pickle.dumps(online)).tree_ == online.tree_


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_an_emptied_live_tree_takes_equal_rows(metric):
    X = rows(50, d=3)
    live = O.LiveTree(metric=metric).partial_fit(X).remove(range(50)).partial_fit(np.repeat(rows(10, 1, d=3), 4, 0))
    whole(live)
    live = O.LiveTree(metric="sqeuclidean").partial_fit([[-1.0], [1.0]]).remove([0, 1]).partial_fit([[0.0], [0.0]])
    whole(live)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [False, True])
def test_an_interrupted_batch_is_not_there(kind, kept, tmp_path, monkeypatch):
    monkeypatch.setattr("cladify.online._base._BATCH", 8)
    X = rows(80)
    online = kind(n_jobs=1).partial_fit(X[:40])
    if kept:
        online.save(tmp_path)
    before = online.tree_

    def interrupt(stage, done, total):
        if done >= 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        online.partial_fit(X[40:80], progress=interrupt)
    assert online.ids_.tolist() == list(range(40))
    assert not kept or online.tree_ == before
    online.partial_fit(X[40:45])
    assert online.ids_.tolist() == list(range(45))
    whole(online)
    if kept:
        online.close()
        assert O.open(tmp_path).tree_ == online.tree_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("what", ["add", "remove", "update"])
def test_a_lack_of_memory_changes_nothing(kind, kept, what, tmp_path):
    X = rows(120)
    changes = {
        "add": lambda online: online.partial_fit(X[60:75]),
        "remove": lambda online: online.remove(range(40)),
        "update": lambda online: online.update([1, 2, 3, 50], X[80:84]),
    }
    for at in (1, 4, 19, 43, 150):
        online = kind(n_jobs=1).partial_fit(X[:60])
        if kept:
            online.save(tmp_path / str(at))
        _core.fail_allocation(at)
        try:
            changes[what](online)
            expected = None
        except MemoryError:
            expected = list(range(60))
        finally:
            _core.fail_allocation(0)
        assert expected is None or online.ids_.tolist() == expected
        online.partial_fit(X[100:110], ids=[f"z{i}" for i in range(10)])
        online.remove([f"z{i}" for i in range(5)])
        whole(online)
        if kept:
            online.close()
            assert O.open(tmp_path / str(at)).tree_ == online.tree_


@pytest.mark.parametrize("kind", [O.LiveTree, O.MiniBatchSCC, O.Grinch, O.Perch])
def test_threads_wait_for_each_other(kind):
    X = rows(400).astype(np.float32)
    online = kind(n_jobs=1).partial_fit(X[:100], ids=[f"z{i}" for i in range(100)])
    failed = []

    def write(k):
        for i in range(5):
            online.partial_fit(X[100 + 100 * k + 20 * i :][:20], ids=[f"{k}-{i}-{j}" for j in range(20)])

    def read():
        for _ in range(20):
            n = online.tree_.n_leaves
            failed.extend([n] if n % 20 else [])
            online.predict(X[:5], height=0.5)

    threads = [threading.Thread(target=write, args=(0,)), threading.Thread(target=write, args=(1,))]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(online) == 300
    whole(online)


def test_a_callback_cannot_ask_in_the_middle():
    online = O.Greedy().partial_fit(rows(5))
    with pytest.raises(InvalidInput, match="in the middle of another call"):
        online.partial_fit(rows(5, 1), progress=lambda *_: online.tree_)
    assert len(online) == 5


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_copy_cannot_write(tmp_path):
    online = O.Grinch(n_jobs=1).partial_fit(rows(20)).save(tmp_path)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            online.partial_fit(rows(5, 1))
        except FileError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    online.partial_fit(rows(3, 2))
    os.waitpid(child, 0)
    with os.fdopen(read) as said:
        assert "forked child cannot write" in said.read()
    online.partial_fit(rows(3, 3)).close()
    with O.open(tmp_path) as again:
        assert len(again) == 26


def test_refresh_is_kept(tmp_path):
    X = rows(100)
    live = O.LiveTree(n_jobs=1).partial_fit(X).save(tmp_path)
    live.partial_fit(X[:30] + 0.01, ids=[f"b{i}" for i in range(30)]).refresh(0.2)
    live.close()
    with O.open(tmp_path) as again:
        assert again.tree_ == live.tree_ and again.cost_ == live.cost_


def test_small_answers(tmp_path):
    X = rows(20)
    O.Grinch(n_clusters=3).partial_fit(X).save(tmp_path).close()
    with O.open(tmp_path) as online:
        assert online.predict(X[:3]).tolist() == online.labels_[:3].tolist()
        with pytest.raises(FileError, match=r"fit\(\) would discard"):
            online.fit(X)
        online.set_params(n_clusters=4)
    assert O.open(tmp_path, read_only=True).n_clusters == 4
    assert O.Grinch().partial_fit(X[:2], ids=[2**63, 5]).ids_.tolist() == [2**63, 5]
    assert O.Grinch().version_ == 0 and all(len(part) == 0 for part in O.Grinch().changes(0))
    assert "open" not in O.__all__


def test_files_of_others_stay_and_ours_are_private(tmp_path):
    for name in ("journal-2024.log", "snapshot-backup.npz", "notes.txt"):
        (tmp_path / name).write_text("mine")
    O.Greedy().partial_fit(rows(10)).save(tmp_path).close()
    assert {"journal-2024.log", "snapshot-backup.npz", "notes.txt"} <= {p.name for p in tmp_path.iterdir()}
    O.Greedy().partial_fit(rows(10)).save(tmp_path / "new").close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in (tmp_path / "new").iterdir())


@pytest.mark.parametrize("name", ["tree.sqlite", "lock", "tree.sqlite-wal"])
def test_a_planted_link_is_not_followed(name, tmp_path):
    victim = tmp_path / "precious.txt"
    victim.write_text("secret")
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / name).symlink_to(victim)
    with pytest.raises(FileError, match="not a plain file"):
        O.Greedy().partial_fit(rows(10)).save(folder)
    assert victim.read_text() == "secret"


FORGED = {
    "graph_to": lambda v: np.full_like(v, 2**20),
    "graph_from": lambda v: v[::-1].copy(),
    "graph_lost": lambda v: v[:1],
    "graph_weight": lambda v: np.where(np.arange(len(v)) == 3, v - 1, v).astype(v.dtype),
    "level_awake": lambda v: np.full(3, 2**30, v.dtype),
    "level_scale": lambda v: v[:3],
    "items_leaves": lambda v: np.full_like(v, 2**20),
    "items_slots": lambda v: np.zeros_like(v),
    "tree_free": lambda v: np.zeros(3, v.dtype),
    "tree_left": lambda v: np.arange(len(v), dtype=v.dtype),
    "tree_parent": lambda v: v[:, None],
    "search_z": lambda v: v[:, :-1],
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_arrays_are_refused(name, tmp_path):
    from cladify.online._storage import Store

    O.LiveTree(n_jobs=1).partial_fit(rows(60)).remove([3, 4]).save(tmp_path).close()
    store = Store(tmp_path, sync=False, create=False)
    content = store.read()
    content.arrays[name] = FORGED[name](content.arrays[name])
    with store.transaction():
        store.write(content.meta, content.arrays)
    store.close()
    with pytest.raises(FileError, match="is damaged"):
        O.open(tmp_path)
    assert O.check(tmp_path)["problems"]
    if name.startswith(("tree_", "graph_", "level_")):
        assert O.rescue(tmp_path, tmp_path / "new")["n_items"] == 58
        assert len(O.open(tmp_path / "new")) == 58


def test_a_database_with_a_trigger_is_refused(tmp_path):
    O.Greedy().partial_fit(rows(10)).save(tmp_path).close()
    with sqlite3.connect(tmp_path / "tree.sqlite") as database:
        database.execute("CREATE TRIGGER t AFTER INSERT ON changes BEGIN DELETE FROM arrays; END")
    database.close()
    with pytest.raises(FileError, match="damaged or no online tree"):
        O.open(tmp_path)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_change_that_ends_the_process_is_set_aside(tmp_path, monkeypatch):
    online = O.Greedy(n_jobs=1).partial_fit(rows(10)).save(tmp_path)
    online.partial_fit(rows(2, 1), ids=["a", "b"]).partial_fit(rows(2, 2), ids=["poison", "p2"])
    online.remove(["p2"]).partial_fit(rows(1, 3), ids=["c"]).close()
    replay = O.Greedy._replay

    def dies(self, state, change):
        if "poison" in change.meta["ids"]:
            os._exit(9)
        replay(self, state, change)

    monkeypatch.setattr(O.Greedy, "_replay", dies)
    for _ in range(2):
        child = os.fork()
        if child == 0:
            O.open(tmp_path)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with pytest.warns(CladifyWarning, match="change 2 ended the process"):
        again = O.open(tmp_path)
    assert again.ids_.tolist() == [*range(10), "a", "b", "c"]
    again.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(O.open(tmp_path)) == 13
    assert any("set aside" in line for line in O.check(tmp_path)["problems"])


def test_readers_and_backups_beside_a_writer(tmp_path):
    online = O.Grinch().partial_fit(rows(20)).save(tmp_path / "tree")
    reader = O.open(tmp_path / "tree", read_only=True)
    online.partial_fit(rows(5, 1))
    O.backup(tmp_path / "tree", tmp_path / "copy")
    online.partial_fit(rows(5, 2))
    assert (len(reader), len(O.open(tmp_path / "tree", read_only=True)), len(O.open(tmp_path / "copy"))) == (20, 30, 25)
    with pytest.raises(FileError, match="read-only"):
        reader.remove([0])
    with pytest.raises(FileError, match="holds a tree already"):
        O.backup(tmp_path / "tree", tmp_path / "copy")
    about = O.check(tmp_path / "tree")
    assert about["kind"] == "Grinch" and about["n_items"] == 30 and about["n_changes"] == 2 and not about["problems"]


@pytest.mark.parametrize("kind", [O.MiniBatchHAC, O.Perch])
def test_a_buffer_reopens_as_it_was(kind, tmp_path):
    options = {"buffer_size": 12} if kind is O.MiniBatchHAC else {"max_leaves": 12}
    X = np.round(rows(200, d=3))  # with ties
    X[~X.any(axis=1)] = 1.0
    online = kind(metric="sqeuclidean", **options).partial_fit(X[:90]).save(tmp_path)
    online.close()
    again = O.open(tmp_path)
    assert again.partial_fit(X[90:]).tree_ == online.partial_fit(X[90:]).tree_
