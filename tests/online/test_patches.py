"""Folders that take only what has changed: the state from a snapshot and patches is that of memory, bit for bit."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from points import rows

import cladify.online
from cladify.errors import FileError
from cladify.online import LiveTree, MiniBatchSCC
from cladify.online import _patches as patches
from cladify.online._snapshot import dump

X = rows(400, seed=3)


def made(n: int = 40, kind=LiveTree, **options):
    return kind(n_neighbors=4, n_jobs=1, **options).partial_fit(X[:n])


def state_of(online):
    meta, arrays = dump(online._begin(), online._own_arrays(online._begin()), "raw")
    del meta["seconds"]
    return meta, arrays


def assert_same(one, two):
    (meta, arrays), (other, others) = state_of(one), state_of(two)
    assert meta == other and set(arrays) == set(others)
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype and array.tobytes() == others[name].tobytes(), name


def change(online, kind: str, at: int) -> None:
    """One change of the items, which the number ``at`` picks."""
    ids = online.ids_
    some = ids[np.unique([at % len(ids), 7 * at % len(ids), 13 * at % len(ids)])]
    new = X[(at + np.arange(1 + at % 9)) % len(X)]
    if kind == "add" or len(ids) < 12:
        online.partial_fit(new)
    elif kind == "remove":
        online.remove(some)
    elif kind == "back":  # what left comes again under the same id, and is the last by now
        online.remove(some[:1]).partial_fit(new[:1], ids=some[:1])
    elif kind == "refresh":
        online.refresh(60)
    else:
        online.update(some, np.resize(new, (len(some), X.shape[1])))


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "update", "back", "refresh", "save"]), st.integers(0, 999))
)


@pytest.fixture(autouse=True, scope="module")
def small_files():
    """Files beside the database, however small."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("cladify.online._storage.database._LARGE", 1)
        yield


@given(STEPS, st.sampled_from(["exact", "cells"]), st.sampled_from(["cosine", "sqeuclidean", "dot"]))
@settings(max_examples=25, deadline=None)
def test_a_snapshot_and_patches_are_what_memory_holds(tmp_path_factory, steps, search, metric):
    folder = tmp_path_factory.mktemp("patches") / "tree"
    online = made(100, search=search, metric=metric)
    online._save_marked(folder)
    for kind, at in [*steps, ("save", 0)]:
        if kind != "save":
            change(online, kind, at)
        elif at % 3 == 0:
            assert online._save_changes(folder)
        else:  # another process goes on
            assert online._save_changes(folder)
            online = LiveTree._read_marked(folder)
    again = LiveTree._read_marked(folder)
    assert_same(online, again)
    assert again._begin().tree.broken_rule(1e-6) == "" and again._begin().graph.broken_rule() == ""
    for each in (online, again):
        change(each, "add", 5)
        change(each, "remove", 6)
    assert_same(online, again)


@pytest.mark.parametrize("at", [15, 155, 255])
def test_what_comes_after_a_removal_finds_the_same_neighbours(tmp_path, at):
    # Leaves that have lost a neighbour take others than before, also where the tree stayed in memory.
    online = made(100, metric="sqeuclidean")
    change(online, "remove", at)
    online._save_marked(tmp_path / "tree")
    again = LiveTree._read_marked(tmp_path / "tree")
    for each in (online, again):
        change(each, "add", 5)
    assert_same(online, again)


def test_a_patch_is_small_and_a_long_journal_becomes_a_snapshot(tmp_path, monkeypatch):
    folder = tmp_path / "tree"
    online = LiveTree(n_neighbors=4, n_jobs=1).partial_fit(rows(2000))
    online._save_marked(folder)
    base = sum(file.stat().st_size for file in folder.iterdir())
    online.partial_fit(X[:3])
    assert online._save_changes(folder)
    with sqlite3.connect(folder / "tree.sqlite") as database:
        (size,) = database.execute("SELECT sum(length(data)) FROM changes").fetchone()
    assert size < base / 20
    monkeypatch.setattr("cladify.online._storage.database._GROWN", 1)
    monkeypatch.setattr("cladify.online._storage.database._PATCHES", 0.1)
    for i in range(100):
        online.partial_fit(X[4 * i : 4 * i + 4])
        if not online._save_changes(folder):
            break
    assert 3 < i < 99
    assert not online._save_changes(folder)  # until it is written anew
    online._save_marked(tmp_path / "new")
    assert online._save_changes(tmp_path / "new")
    assert_same(online, LiveTree._read_marked(tmp_path / "new"))


def test_patches_are_refused_where_the_folder_holds_something_else(tmp_path):
    folder = tmp_path / "tree"
    one = made()
    one._save_marked(folder)
    two = LiveTree._read_marked(folder)
    one.partial_fit(X[40:42])
    two.partial_fit(X[50:52])
    assert one._save_changes(folder) and not two._save_changes(folder)
    assert_same(one, LiveTree._read_marked(folder))
    with cladify.online.open(folder) as by_hand:
        by_hand.partial_fit(X[60:62])
        assert not one._save_changes(folder)  # which is in use
    assert not one.partial_fit(X[70:71])._save_changes(folder)
    assert LiveTree._read_marked(folder)._mark is None and len(LiveTree._read_marked(folder)) == 44
    shutil.rmtree(folder)
    assert not one._save_changes(folder)


def test_more_changes_than_there_are_lists_are_not_noted(tmp_path):
    online = made()
    online._save_marked(tmp_path / "tree")
    for i in range(60):
        online.remove(online.ids_[:20]).partial_fit(X[20 * (i % 9) : 20 * (i % 9) + 20])
    assert not online._save_changes(tmp_path / "tree")
    online._save_marked(tmp_path / "new")
    assert online.partial_fit(X[:2])._save_changes(tmp_path / "new")
    assert_same(online, LiveTree._read_marked(tmp_path / "new"))


def test_a_failed_change_is_not_patched(tmp_path, monkeypatch):
    online = made()
    online._save_marked(tmp_path / "tree")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(LiveTree, "_edges", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        online.partial_fit(X[40:42])
    assert len(online) == 40 and not online._save_changes(tmp_path / "tree")


def test_old_snapshots_open_and_plain_ones_are_as_they_were(tmp_path):
    online = made().save(tmp_path)
    online.close()
    with sqlite3.connect(tmp_path / "tree.sqlite") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)
        database.execute("DELETE FROM about WHERE name IN ('token', 'files')")
    again = LiveTree._read_marked(tmp_path)
    assert_same(online, again)
    assert again._mark is None and not again._save_changes(tmp_path)
    again._save_marked(tmp_path)
    with sqlite3.connect(tmp_path / "tree.sqlite") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (3,)
    assert_same(online, again)


def test_copies_checks_and_rescue_know_patches(tmp_path):
    online = made()
    online._save_marked(tmp_path / "tree")
    online.partial_fit(X[40:45]).remove([3])
    assert online._save_changes(tmp_path / "tree")
    cladify.online.backup(tmp_path / "tree", tmp_path / "copy")
    found = cladify.online.check(tmp_path / "copy")
    assert found["problems"] == [] and found["n_items"] == 44
    assert_same(online, LiveTree._read_marked(tmp_path / "copy"))
    assert cladify.online.rescue(tmp_path / "copy", tmp_path / "saved")["lost"] == []
    assert cladify.online.open(tmp_path / "saved", read_only=True).tree_ == online.tree_


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged") / "tree"
    online = made()
    online._save_marked(folder)
    for i in range(3):
        online.partial_fit(X[40 + 5 * i : 45 + 5 * i]).remove([i])
        assert online._save_changes(folder)
    return folder, online


def test_a_flipped_byte_or_a_torn_file_is_noticed_or_changes_nothing(folder, tmp_path):
    source, online = folder
    rng = np.random.default_rng(0)
    noticed = 0
    for i in range(60):
        bad = tmp_path / str(i)
        shutil.copytree(source, bad)
        path = sorted(file for file in bad.iterdir() if file.stat().st_size)[i % 3]
        data = bytearray(path.read_bytes())
        values = np.frombuffer(bytes(data), np.uint8)
        used = np.flatnonzero(values) if values.any() else np.arange(len(values))
        if i % 5:
            data[int(rng.choice(used))] ^= 1 << int(rng.integers(8))
        else:
            del data[int(rng.integers(len(data))) :]
        path.write_bytes(data)
        try:
            assert_same(online, LiveTree._read_marked(bad))
        except FileError:
            noticed += 1
    assert noticed >= 30


def test_a_patch_that_is_missing_is_damage(folder, tmp_path):
    bad = tmp_path / "tree"
    shutil.copytree(folder[0], bad)
    with sqlite3.connect(bad / "tree.sqlite") as database:
        database.execute("DELETE FROM changes WHERE number = 2")
    with pytest.raises(FileError, match="damaged"):
        LiveTree._read_marked(bad)


@pytest.mark.parametrize("seed", range(3))
def test_forged_patches_are_errors_and_nothing_worse(folder, tmp_path, seed):
    """Arrays with true checksums and values from anywhere: a tree that keeps its rules, or one line."""
    source, _ = folder
    rng = np.random.default_rng(seed)
    with sqlite3.connect(source / "tree.sqlite") as database:
        (data,) = database.execute("SELECT data FROM changes WHERE number = 3").fetchone()
    meta, arrays = cladify.online._storage.unpack(data)
    names = [name for name, array in arrays.items() if array.size]
    refused = 0
    for i in range(60):
        forged = {name: array.copy() for name, array in arrays.items()}
        flat = forged[names[int(rng.integers(len(names)))]].reshape(-1)
        limits = (
            [-1, 0, 1, 7, 10**6, 2**31 - 1, -(2**31)] if flat.dtype.kind == "i" and flat.itemsize > 1 else [0, 1, 9]
        )
        flat[int(rng.integers(len(flat)))] = rng.choice(limits)
        bad = tmp_path / str(i)
        shutil.copytree(source, bad)
        payload = cladify.online._storage.pack(meta, forged)
        with sqlite3.connect(bad / "tree.sqlite") as database:
            crc = cladify.online._storage.database.zlib.crc32(payload)
            database.execute("UPDATE changes SET data = ?, crc = ? WHERE number = 3", (payload, crc))
        try:
            again = LiveTree._read_marked(bad)
            again.partial_fit(X[100:105]).remove([20])
        except FileError:
            refused += 1
    assert refused >= 10


def test_forged_files_are_errors_and_nothing_worse(folder, tmp_path):
    source, _ = folder
    rng = np.random.default_rng(1)
    for i in range(40):
        bad = tmp_path / str(i)
        shutil.copytree(source, bad)
        path = next(bad.glob("graph_edges.*"))
        data = bytearray(path.read_bytes())
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
        path.write_bytes(data)
        with sqlite3.connect(bad / "tree.sqlite") as database:
            (held,) = database.execute("SELECT value FROM about WHERE name = 'files'").fetchone()
            held = cladify.online._storage.database.json.loads(held)
            held["graph_edges"][2] = cladify.online._storage.database.zlib.crc32(bytes(data))
            held = cladify.online._storage.database.json.dumps(held)
            database.execute("UPDATE about SET value = ? WHERE name = 'files'", (held,))
        with suppress(FileError):
            LiveTree._read_marked(bad).partial_fit(X[100:105]).remove([20])


@pytest.mark.parametrize("name", ["../outside", "search_z/../../x", "/etc/passwd"])
def test_files_elsewhere_are_not_read(folder, tmp_path, name):
    bad = tmp_path / "tree"
    shutil.copytree(folder[0], bad)
    with sqlite3.connect(bad / "tree.sqlite") as database:
        database.execute("UPDATE about SET value = replace(value, 'search_z', ?) WHERE name = 'files'", (name,))
    with pytest.raises(FileError, match="damaged"):
        LiveTree._read_marked(bad)


def test_links_in_place_of_files_are_not_followed(folder, tmp_path):
    bad = tmp_path / "tree"
    shutil.copytree(folder[0], bad)
    path = next(bad.glob("search_z.*"))
    os.replace(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError):
        LiveTree._read_marked(bad)


def test_every_step_of_writing_a_patch_may_fail(folder, tmp_path, monkeypatch):
    """After each the folder holds the state of before or of after, and the next patch or snapshot goes in."""
    outcomes, connect = set(), sqlite3.connect
    for k in range(1, 60):
        copy = tmp_path / str(k)
        shutil.copytree(folder[0], copy)
        online = LiveTree._read_marked(copy)
        before = state_of(online)
        online.partial_fit(X[200:205])
        with monkeypatch.context() as context:
            context.setattr(sqlite3, "connect", lambda *a, _k=[k], **o: connect(*a, factory=failing(_k), **o))
            try:
                done = online._save_changes(copy)
            except FileError:
                done = None
        again = LiveTree._read_marked(copy)
        if done:
            assert_same(online, again)
        else:
            found = state_of(again)
            assert found[0] == before[0] or found[0] == state_of(online)[0]
        outcomes.add(done)
        if not online._save_changes(copy):
            online._save_marked(tmp_path / f"{k}.new")
        if done:
            break
    assert done and outcomes >= {None, True}


def failing(left: list[int]):
    class Failing(sqlite3.Connection):
        def execute(self, *args):
            left[0] -= 1
            if left[0] == 0:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(*args)

    return Failing


def test_other_methods_have_no_patches(tmp_path):
    online = MiniBatchSCC(n_neighbors=4).partial_fit(X[:30]).save(tmp_path)
    assert not patches.patches_of(cladify.online._storage.read_folder(tmp_path))
    online.close()
