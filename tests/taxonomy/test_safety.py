"""Attacks on taxonomy files: two writers, refused edits, killed writers, faults of the disk, forged archives."""

import errno
import multiprocessing
import os
import signal
import struct
import threading
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest
from taxonomy_files import forge, same

import cladify
from cladify.errors import CladifyError, FileError, InvalidInput, Stale
from cladify.explore import open_document
from cladify.taxonomy import Taxonomy, check, rescue


def names_in(path) -> list[str]:
    return [edit.name for edit in Taxonomy.load(path).edits]


# --- two writers (issue 22, attack 08) --------------------------------------------------------------------------------


def test_an_edit_of_another_is_never_lost(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    first, second = Taxonomy.load(path), Taxonomy.load(path)
    group = first.levels[0].nodes[0]
    first.rename(group, "A")
    first.save_edits(path)
    second.rename(group, "B")
    for write in (second.save_edits, second.save):
        with pytest.raises(Stale, match="changed by another"):
            write(path)
    assert names_in(path) == ["A"]
    third = Taxonomy.load(path)
    third.rename(group, "C")
    third.save_edits(path)
    assert names_in(path) == ["A", "C"]


def test_two_pages_of_one_file(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    a, b = open_document(path), open_document(path)
    root, other = int(a.taxonomy.keys[-1]), int(a.taxonomy.keys[-2])
    a.edit({"op": "rename", "node": root, "name": "in A"})
    seen = b.now.name
    with pytest.raises(Stale, match="changed by another"):
        b.edit({"op": "rename", "node": other, "name": "in B", "version": seen})
    b.edit({"op": "rename", "node": other, "name": "in B", "version": b.now.name})  # it has seen A's edit by now
    assert names_in(path) == ["in A", "in B"]
    with pytest.raises(Stale):
        a.edit({"op": "undo", "version": a.now.name})
    assert names_in(path) == ["in A", "in B"]


def test_a_new_file_under_an_open_page_is_noticed(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    page, labelled = open_document(path), open_document(path, labels=["x"] * taxonomy.n_items)
    new = Taxonomy.from_texts(["red apple", "green apple", "old engine", "new engine"] * 5)
    new.save(path)
    edit = {"op": "rename", "node": int(page.taxonomy.keys[-2]), "name": "x"}
    with pytest.raises(Stale, match="was replaced"):
        page.edit({**edit, "version": page.now.name})
    with pytest.raises(InvalidInput, match="start the explorer again"):  # the labels are of other items
        labelled.edit(edit)
    assert same(Taxonomy.load(path), new) and page.taxonomy.n_items == page.now.view.tree.n_leaves == 20


def test_a_refused_edit_is_not_saved_later(taxonomy, tmp_path, monkeypatch):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    page = open_document(path)
    other = int(page.taxonomy.keys[-2])
    with monkeypatch.context() as patch:
        patch.setattr(Taxonomy, "save_edits", lambda *_: (_ for _ in ()).throw(FileError("cannot write: full")))
        with pytest.raises(FileError, match="full"):
            page.edit({"op": "rename", "node": other, "name": "refused"})
    assert not page.taxonomy.edits and "refused" not in page.view.name(page.view.node(other))
    page.edit({"op": "rename", "node": other, "name": "good"})
    assert names_in(path) == ["good"]


def _writer(path, who, n, acknowledged):
    done = 0
    taxonomy = Taxonomy.load(path)
    while done < n:
        try:
            with taxonomy.editing(path):
                taxonomy.rename(taxonomy.levels[0].nodes[0], f"{who}-{done}")
        except Stale:
            taxonomy = Taxonomy.load(path)
            continue
        acknowledged.put(f"{who}-{done}")
        done += 1


def test_processes_that_edit_at_once(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=_writer, args=(path, who, 10, queue)) for who in "ab"]
    for worker in workers:
        worker.start()
    acknowledged = [queue.get(timeout=60) for _ in range(20)]
    for worker in workers:
        worker.join(60)
    found = names_in(path)
    assert sorted(found) == sorted(acknowledged)
    assert [name for name in found if name[0] == "a"] == [f"a-{i}" for i in range(10)]


def test_a_killed_writer(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    context = multiprocessing.get_context("fork")
    for wanted in (1, 4, 9):
        before = names_in(path)
        queue = context.Queue()
        worker = context.Process(target=_writer, args=(path, f"w{wanted}", 10_000, queue))
        worker.start()
        acknowledged = [queue.get(timeout=60) for _ in range(wanted)]
        os.kill(worker.pid, signal.SIGKILL)
        worker.join(60)
        found = names_in(path)
        assert found[: len(before) + wanted] == before + acknowledged
        assert check(path)["problems"] == []


def test_threads_share_a_taxonomy(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    errors, stop = [], threading.Event()
    top = [int(v) for v in taxonomy.levels[0].nodes]
    keys = [int(taxonomy.keys[v]) for v in top]

    def read():
        while not stop.is_set():
            try:
                data = taxonomy.to_dict(nested=False)
                assert {group["node"] for group in data["groups"]} >= {v for level in data["levels"] for v in level}
                taxonomy.table(form="arrow")
            except Exception as error:
                errors.append(error)
                return

    def write(who):
        try:
            for i in range(15):
                with taxonomy.editing(path):
                    taxonomy.rename(taxonomy.node(keys[0]), f"{who}{i}")
                    taxonomy.hide(taxonomy.node(keys[1]))
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(who,)) for who in "ab"]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert not errors and len(taxonomy.edits) == 60 and same(Taxonomy.load(path), taxonomy)


# --- faults of the disk -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "zipfile.ZipFile.writestr", "zipfile.ZipFile.open"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_fault_leaves_the_old_state(taxonomy, tmp_path, monkeypatch, call, code, whole):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    before = path.read_bytes()
    if whole:  # other names than in the file: it has to be written as a whole
        taxonomy.name()
    edits = taxonomy.edits
    failed = []

    def fail(*_, **__):
        failed.append(call)
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(call, fail)
        try:
            with taxonomy.editing(path):
                taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
        except FileError as error:
            assert "\n" not in str(error) and "cannot write" in str(error)
    if failed:
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
        assert taxonomy.edits is edits
        with taxonomy.editing(path):
            taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    assert same(Taxonomy.load(path), taxonomy) and names_in(path) == ["mine"]


def test_a_file_cut_short_under_an_open_taxonomy(tmp_path, monkeypatch):
    """Attack 09 b: a mapped file would end the process with SIGBUS."""
    monkeypatch.setattr("cladify.taxonomy._file.store.INDEXED", 4)
    path = tmp_path / "a.taxonomy"
    texts = ["red apple", "green apple", "ripe red apple", "steam engine", "diesel engine", "old steam engine"]
    Taxonomy.from_texts(texts, min_size=2).save(path)
    loaded = Taxonomy.load(path)
    with open(path, "r+b") as file:
        file.truncate(100)
    assert loaded.items == texts and loaded.words.find("steam")[0].tolist() == [3, 5]
    assert loaded.full.n_leaves == 6
    with pytest.raises(Stale):
        loaded.save_edits(path)


def test_new_files_follow_the_umask(taxonomy, tmp_path):
    old = os.umask(0o027)
    try:
        taxonomy.save(tmp_path / "a.taxonomy")
    finally:
        os.umask(old)
    assert (tmp_path / "a.taxonomy").stat().st_mode & 0o777 == 0o640


# --- forged archives --------------------------------------------------------------------------------------------------


def arrow(items, **options) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"item": items})
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (lambda n: arrow(pa.array(["a" * 100_000] * n), compression="zstd"), "items are compressed"),
        (lambda n: arrow(pa.array(["a" * 100_000] * n), compression="lz4"), "items are compressed"),
        (lambda n: arrow(pa.array(["a"] * n).dictionary_encode()), "plain values"),
        (lambda n: arrow(pa.array([2**62] * n, pa.timestamp("s"))), "is not a taxonomy"),
    ],
)
def test_items_that_would_take_more_than_the_file(taxonomy, tmp_path, items, message):
    """Attack 09 a and c."""
    path = tmp_path / "bomb.taxonomy"
    taxonomy.save(path)
    forge(path, lambda _, members: members.update({"items.arrow": items(taxonomy.n_items)}))
    assert path.stat().st_size < 2_000_000
    with pytest.raises(FileError, match=message) as caught:
        Taxonomy.load(path)
    assert "\n" not in str(caught.value)


def test_members_that_overlap(tmp_path):
    """Attack 16: each member holds all that follow."""
    k, blocks = 200, bytes(5000)
    names, sizes = [b"x%05d" % i for i in range(k)], []
    for name in reversed(names):
        sizes.append((name, zlib.crc32(blocks), len(blocks)))
        local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, zlib.crc32(blocks), len(blocks), len(blocks), 6, 0)
        blocks = local + name + blocks
    central, offset = b"", 0
    for name, crc, size in reversed(sizes):
        central += struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, crc, size, size, 6, *[0] * 5, offset)
        central += name
        offset += 36
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, k, k, len(central), len(blocks), 0)
    for suffix, load in (("taxonomy", Taxonomy.load), ("tree", cladify.Tree.load)):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(blocks + central + end)
        with pytest.raises(FileError, match="overlaps another one"):
            load(path)


def test_a_directory_larger_than_any_of_ours(tmp_path):
    path = tmp_path / "a.taxonomy"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(2000):
            archive.writestr(f"a member of the archive {i}", b"")
    with pytest.raises(FileError, match="directory is larger"):
        Taxonomy.load(path)


def test_random_mutants(taxonomy, tmp_path):
    """Bytes flipped, cut, doubled or zeroed: the file is read as it was, or refused in one line."""
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    plain = Taxonomy.load(path)
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    taxonomy.save_edits(path)
    data, rng = path.read_bytes(), np.random.default_rng(0)
    for i in range(300):
        path.write_bytes(mutant(data, rng))
        try:
            loaded = Taxonomy.load(path)
        except FileError as error:
            assert "\n" not in str(error), i
        else:
            assert loaded.names in (plain.names, taxonomy.names) and loaded.items == plain.items, i
        if i % 10 == 0:
            assert isinstance(check(path)["problems"], list)


def mutant(data: bytes, rng) -> bytes:
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(0, len(damaged))), int(rng.integers(1, 64))
        kind = rng.integers(0, 5)
        if kind == 0:
            damaged[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del damaged[at : at + length]
        elif kind == 2:
            damaged[at:at] = damaged[at : at + length]
        elif kind == 3:
            damaged[at : at + length] = bytes(len(damaged[at : at + length]))
        else:  # near the end, where the directory is
            damaged[-int(rng.integers(1, min(3000, len(damaged)))) :][:1] = b""
            at = len(damaged) - int(rng.integers(1, min(3000, len(damaged))))
            damaged[at] = int(rng.integers(0, 256))
    return bytes(damaged)


# --- check and rescue -------------------------------------------------------------------------------------------------


def test_check_of_a_whole_file(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    taxonomy.save(path)
    found = check(path)
    groups = taxonomy.tree.n_nodes - taxonomy.n_items
    assert found.pop("last_change").startswith("20")
    figures = {"n_items": taxonomy.n_items, "n_groups": groups, "n_edits": 1}
    assert found == {"kind": "taxonomy", "version": 3, **figures, "problems": []}
    assert rescue(path, tmp_path / "b.taxonomy") == {"kind": "taxonomy", **figures, "lost": []}
    assert (tmp_path / "b.taxonomy").read_bytes() == path.read_bytes()


def damage(path, member):
    """Change one byte in the content of a member."""
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(member)
    data = bytearray(path.read_bytes())
    start = entry.header_offset + 30 + sum(struct.unpack_from("<2H", data, entry.header_offset + 26))
    data[start + entry.file_size - 1] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "member",
    ["items.arrow", "central.npy", "confidence.npy", "also_node.npy", "embed_idf.npy", "cladify-taxonomy.json"],
)
def test_rescue_keeps_what_is_whole(taxonomy, tmp_path, member):
    path, to = tmp_path / "a.taxonomy", tmp_path / "b.taxonomy"
    group = taxonomy.levels[0].nodes[0]
    taxonomy.rename(group, "mine")
    taxonomy.save(path)
    damage(path, member)
    with pytest.raises(FileError, match=member):
        Taxonomy.load(path)
    assert any(line.startswith(member) for line in check(path)["problems"])
    assert any(line.startswith(member) for line in rescue(path, to)["lost"])
    saved = Taxonomy.load(to)
    assert saved.tree == taxonomy.tree and saved.names[group] == "mine"
    assert (saved.items == taxonomy.items) == (member != "items.arrow")
    assert check(to)["problems"] == []


def test_rescue_goes_back_to_the_last_whole_edits(taxonomy, tmp_path):
    path, to = tmp_path / "a.taxonomy", tmp_path / "b.taxonomy"
    taxonomy.save(path)
    for name in ("first", "second"):
        taxonomy.rename(taxonomy.levels[0].nodes[0], name)
        taxonomy.save_edits(path)
    damage(path, "edits.json")
    with pytest.raises(FileError, match=r"checksum of edits.json"):
        Taxonomy.load(path)
    assert rescue(path, to)["lost"][0].startswith("the last edits") and names_in(to) == ["first"]
    with pytest.raises(FileError, match="would be overwritten"):
        rescue(path, path)
    damage(path, "parent.npy")
    with pytest.raises(CladifyError):
        rescue(path, to)


# --- one choice of the method -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [30, 40])
def test_fit_chooses_as_cladify_fit_does(n):
    X = np.random.default_rng(0).normal(size=(n, 4))
    tree = cladify.fit(X, metric="cosine", random_state=0)
    made = Taxonomy.fit(X)
    assert made.full == tree and made.info["method"] == tree.info["method"] == ("hac" if n == 30 else "graph")


def test_unknown_parameters_are_one_line():
    X = np.random.default_rng(0).normal(size=(40, 4))
    with pytest.raises(InvalidInput, match="method 'graph' has no parameter 'linkage'"):
        Taxonomy.fit(X, linkage="ward")
