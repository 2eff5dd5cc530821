"""The .taxonomy file: nothing lost, nothing believed."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from taxonomy_files import EDITS, META, forge, same

from cladify.errors import FileError, Stale
from cladify.taxonomy import Taxonomy


def test_what_is_saved_comes_back(taxonomy, tmp_path):
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    taxonomy.rename(taxonomy.levels[0].nodes[1], "yours")
    taxonomy.undo()
    taxonomy.save(tmp_path / "a.taxonomy")
    loaded = Taxonomy.load(tmp_path / "a.taxonomy")
    assert same(taxonomy, loaded)
    loaded.save(tmp_path / "b.taxonomy")
    assert (tmp_path / "a.taxonomy").read_bytes() == (tmp_path / "b.taxonomy").read_bytes()
    assert loaded.place(["a flute, music"]).equals(taxonomy.place(["a flute, music"]))
    loaded.redo()
    assert "yours" in loaded.names.values()


def test_a_failed_save_leaves_the_old_file(taxonomy, tmp_path, monkeypatch):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("zipfile.ZipFile.open", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(FileError, match="free some space"):
        taxonomy.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_cut_short(taxonomy, tmp_path, share):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileError, match="is not a taxonomy that cladify can read") as caught:
        Taxonomy.load(path)
    assert "\n" not in str(caught.value)


def test_flipped_bytes_are_noticed(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(data), 60):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = Taxonomy.load(path)
        except FileError as error:
            assert "\n" not in str(error)
        else:
            assert same(loaded, taxonomy)  # a byte of the archive that nothing depends on


def test_not_there_or_something_else(tmp_path):
    with pytest.raises(FileError, match=r"Cannot read .*No such file"):
        Taxonomy.load(tmp_path / "none.taxonomy")
    (tmp_path / "text.taxonomy").write_text("hello")
    with pytest.raises(FileError, match="not a zip archive"):
        Taxonomy.load(tmp_path / "text.taxonomy")
    with zipfile.ZipFile(tmp_path / "zip.taxonomy", "w") as archive:
        archive.writestr("a.txt", "hello")
    with pytest.raises(FileError, match=r"has no cladify-taxonomy.json"):
        Taxonomy.load(tmp_path / "zip.taxonomy")


def npy(array) -> bytes:
    import io

    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), version=(1, 0))
    return out.getvalue()


def also(node, dtype=np.uint8) -> dict[str, bytes]:
    """Members that say the last of 180 items is also in some groups."""
    start = np.zeros(181, np.int64)
    start[-1] = len(node)
    arrays = {"start": start, "node": np.array(node, np.int32), "share": np.ones(len(node), dtype)}
    return {f"also_{name}.npy": npy(array) for name, array in arrays.items()}


def edits(*done) -> dict[str, bytes]:
    return {EDITS: json.dumps({"edits": done, "undone": []}).encode()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta, _: meta.update(version=99), "version '99' of the format; this cladify reads 3. Update"),
        (lambda meta, _: meta.update(version="x"), "version 'x'"),
        (lambda meta, _: meta.update(format="other"), "does not describe a taxonomy"),
        (lambda meta, _: meta.pop("names"), "it lacks 'names'"),
        (lambda meta, _: meta["names"].pop(), "names for"),
        (lambda meta, _: meta.update(names="abc"), "names of its header is not a list"),
        (lambda meta, _: meta.update(keywords=[[[1, 2]]] * 99), "is not a taxonomy"),
        (lambda meta, _: meta.update(levels=[[10**9, 0.5]]), "impossible number of clusters"),
        (lambda meta, _: meta.update(levels=["x"]), "is not a taxonomy"),
        (lambda meta, _: meta.update(n_items=3), "items for"),
        (lambda _, members: members.update(edits({"kind": "format disk", "nodes": [1]})), "an edit must be one of"),
        (lambda _, members: members.update(edits({"kind": "rename", "nodes": ["x"]})), "wrong type"),
        (lambda _, members: members.update(edits({"kind": "move", "nodes": [5], "to": 10**9})), "no such node"),
        (lambda _, members: members.update({EDITS: b"[]"}), "the edits are not two lists"),
        (lambda _, members: members.update({EDITS: b"{"}), "JSONDecodeError"),
        (lambda meta, _: meta.update(version=2), "version '2' of the format; this cladify reads 3. Make it again"),
        (lambda meta, _: meta.update(levels=[[float("inf"), 1.0]]), "impossible number of clusters"),
        (lambda meta, _: meta["keywords"][0].append(["x", float("inf"), 0.5, []]), "not finite"),
        (lambda _, members: members.pop(EDITS), "it has no edits.json"),
        (lambda _, members: members.update({"evil.npy": npy([1])}), "evil is not an array of a taxonomy"),
        (lambda _, members: members.update({"parent.npy": npy([5, 5, -1])}), "parent has values out of range"),
        (lambda _, members: members.update({"parent.npy": npy(np.array(["x"]))}), "dtype"),
        (lambda _, members: members.update({"central.npy": npy(np.full((3, 2), 10**6))}), "central"),
        (
            lambda _, members: members.update({"confidence.npy": npy(np.zeros((2, 2), np.uint8))}),
            "confidence has shape",
        ),
        (lambda _, members: members.update({"also_node.npy": npy([5])}), "also_node has shape"),
        (lambda _, members: members.update(also([0])), "also_node has values out of range"),
        (lambda _, members: members.update(also([200], np.uint16)), "also_share has shape"),
        (lambda _, members: members.pop("also_share.npy"), "it lacks also_share"),
        (lambda _, members: members.update({"items.arrow": b"not arrow"}), "is not a taxonomy"),
        (lambda _, members: members.pop("items.arrow"), "it has no items.arrow"),
        (lambda _, members: members.pop("height.npy"), "it lacks 'height'"),
        (lambda meta, _: meta["embedder"].update(kind="pickle"), "unknown kind"),
        (lambda _, members: members.update({"embed_idf.npy": npy(np.ones(2, np.float32))}), "embed_idf has shape"),
    ],
)
def test_forged(taxonomy, tmp_path, change, message):
    path = tmp_path / "forged.taxonomy"
    taxonomy.save(path)
    forge(path, change)
    with pytest.raises(FileError, match=message) as caught:
        Taxonomy.load(path)
    assert "\n" not in str(caught.value)


def test_a_pickle_is_never_opened(taxonomy, tmp_path):
    path = tmp_path / "forged.taxonomy"
    taxonomy.save(path)
    import io

    out = io.BytesIO()
    np.lib.format.write_array(out, np.array([object()]), allow_pickle=True)
    forge(path, lambda _, members: members.update({"parent.npy": out.getvalue()}))
    with pytest.raises(FileError, match="dtype"):
        Taxonomy.load(path)


def test_a_compressed_member_is_refused(taxonomy, tmp_path):
    path = tmp_path / "bomb.taxonomy"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(META, "{}" + " " * 10_000_000)
    with pytest.raises(FileError, match="compressed or encrypted"):
        Taxonomy.load(path)


def test_names_from_a_file_cannot_act_on_a_terminal(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    forge(path, lambda meta, _: meta["names"].__setitem__(0, "\x1b]0;title\x07evil\x1b[2J"))
    assert "\x1b" not in Taxonomy.load(path).summary(depth=9)


# --- edits behind the rest --------------------------------------------------------------------------------------------


def test_edits_are_put_behind_the_rest(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    before = path.read_bytes()
    for name in ("mine", "yours", "ours"):
        taxonomy.rename(taxonomy.levels[0].nodes[0], name)
        taxonomy.save_edits(path)
        assert path.read_bytes().startswith(before)  # nothing that was there has changed
        assert same(Taxonomy.load(path), taxonomy)
    loaded = Taxonomy.load(path)
    loaded.undo()
    loaded.save_edits(path)
    assert path.read_bytes().startswith(before) and "yours" in Taxonomy.load(path).names.values()
    with zipfile.ZipFile(path) as archive:  # other programs can read it, too
        assert archive.testzip() is None and archive.namelist().count(EDITS) == 1
    loaded.save(path)
    assert len(path.read_bytes()) < len(before) + 1000  # writing it anew gives back what old edits took


def test_a_crash_while_edits_are_written(taxonomy, tmp_path):
    """Whatever part of the new bytes got to the disk, the file is read; the next edit makes it whole again."""
    path = tmp_path / "a.taxonomy"
    taxonomy.rename(taxonomy.levels[0].nodes[0], "first")
    taxonomy.save(path)
    n_before = len(path.read_bytes())
    taxonomy.rename(taxonomy.levels[0].nodes[0], "second " * 12_000)  # more than the 64 kB that zip readers look back
    taxonomy.save_edits(path)
    whole = path.read_bytes()
    assert "first" not in Taxonomy.load(path).names.values()
    cuts = {*range(len(whole) - 25, len(whole)), *range(n_before + 1, len(whole), 3001)}
    for cut in cuts:
        path.write_bytes(whole[:cut])
        assert "first" in Taxonomy.load(path).names.values(), cut
    loaded = Taxonomy.load(path)
    loaded.rename(loaded.levels[0].nodes[0], "third")
    loaded.save_edits(path)
    assert path.read_bytes()[:n_before] == whole[:n_before] and same(Taxonomy.load(path), loaded)


def test_edits_never_get_into_another_taxonomy(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    other = Taxonomy.from_texts(["red apple", "green apple", "old engine", "new engine"] * 5)
    other.save(path)  # somebody else, meanwhile
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    for write in (taxonomy.save_edits, taxonomy.save):
        with pytest.raises(Stale, match="holds something else"):
            write(path)
    assert same(Taxonomy.load(path), other)
    taxonomy.save_edits(tmp_path / "new.taxonomy")
    assert same(Taxonomy.load(tmp_path / "new.taxonomy"), taxonomy)


def test_names_given_anew_are_saved_with_edits(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    taxonomy.name(lambda views: [f"name {i}" for i, _ in enumerate(views)])
    taxonomy.save_edits(path)
    assert Taxonomy.load(path).names == taxonomy.names


def test_a_file_does_not_grow_without_end(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    n_before = len(path.read_bytes())
    for i in range(20):
        taxonomy.rename(taxonomy.levels[0].nodes[0], f"{i} " * 40_000)
        taxonomy.undo()
        taxonomy.save_edits(path)
        assert len(path.read_bytes()) < 2 * n_before + 2**21
    assert same(Taxonomy.load(path), taxonomy)


def test_a_full_disk_leaves_the_old_edits(taxonomy, tmp_path, monkeypatch):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    before = path.read_bytes()
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(FileError, match="free some space"):
        taxonomy.save_edits(path)
    assert path.read_bytes() == before


def test_without_locks_the_file_is_written_anew(taxonomy, tmp_path, monkeypatch):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    before = path.read_bytes()
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    monkeypatch.setattr("fcntl.flock", lambda *_: (_ for _ in ()).throw(OSError(37, "No locks available")))
    taxonomy.save_edits(path)
    assert not path.read_bytes().startswith(before) and same(Taxonomy.load(path), taxonomy)


def test_flipped_bytes_behind_the_rest_are_noticed(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    plain, n_before = Taxonomy.load(path), len(path.read_bytes())
    taxonomy.rename(taxonomy.levels[0].nodes[0], "mine")
    taxonomy.save_edits(path)
    data = path.read_bytes()
    for at in np.random.default_rng(0).integers(n_before, len(data), 60):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = Taxonomy.load(path)
        except FileError as error:
            assert "\n" not in str(error)
        else:
            assert same(loaded, taxonomy) or same(loaded, plain)


def test_a_file_of_an_earlier_day_opens():
    made = Taxonomy.load(Path(__file__).parent / "version2.taxonomy")
    assert sorted(made.names.values()) == ["all items", "apple, red", "machines"]
    assert made.ids == list("abcdef") and made.columns.to_pydict() == {"year": [1999, 2000, 2001, 2002, 2003, 2004]}
    assert made.names_of(made.path(3)) == ["machines"] and len(made.edits) == 1
    assert made.place("a steam engine", form="arrow").column("path").to_pylist() == ["machines"]


def test_a_date_that_is_none_is_found_when_the_file_is_read(taxonomy, tmp_path):
    import pyarrow as pa

    path = tmp_path / "forged.taxonomy"
    taxonomy.save(path)

    def change(meta, members):
        with pa.ipc.open_stream(members["items.arrow"]) as reader:
            table = reader.read_all()
        days = pa.array(np.full(len(table), 2**31 - 1, np.int32)).view(pa.date32())
        table = table.append_column(f"column.{len(meta['column_names'])}", days)
        meta["column_names"].append("day")
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        members["items.arrow"] = sink.getvalue().to_pybytes()

    forge(path, change)
    with pytest.raises(FileError, match="is not a taxonomy") as caught:
        Taxonomy.load(path)
    assert "\n" not in str(caught.value)


def test_a_large_file_is_in_memory_once(tmp_path):
    import pyarrow as pa

    import cladify
    from cladify.taxonomy._file.store import INDEXED

    path, n = tmp_path / "large.taxonomy", INDEXED + 1
    days = np.datetime64("2020-01-01") + (np.arange(n) % 900).astype("m8[D]")
    tree = cladify.Tree(np.append(np.repeat(n + np.arange(2), [n // 2, n - n // 2]), [n + 2, n + 2, -1]))
    Taxonomy(tree, [f"item {i}" for i in range(n)], columns={"day": days}, full=tree).save(path)
    before = pa.total_allocated_bytes()
    loaded = Taxonomy.load(path)
    assert pa.total_allocated_bytes() == before  # the items are the bytes that were read
    now = loaded._now.edited
    assert np.shares_memory(now.keys, now.places) and np.shares_memory(now.keys, now.key_of)


def test_a_binary_tree_comes_back_from_its_narrow_form(tmp_path):
    import cladify
    from cladify.taxonomy._file.store import INDEXED

    n = INDEXED
    full = cladify.fit(np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32), "kmeans", metric="sqeuclidean")
    made = Taxonomy(full.condense(), full=full)
    made.save(tmp_path / "a.taxonomy")
    loaded = Taxonomy.load(tmp_path / "a.taxonomy")
    loaded.save(tmp_path / "b.taxonomy")
    first, second = (zipfile.ZipFile(tmp_path / f"{name}.taxonomy") for name in "ab")
    assert first.read("full_parent.npy") == second.read("full_parent.npy")
    assert first.read("full_height.npy") == second.read("full_height.npy")
    assert loaded.full == full
