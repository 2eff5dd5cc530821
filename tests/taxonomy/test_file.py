"""The .taxonomy file: nothing lost, nothing believed."""

import hashlib
import json
import zipfile

import numpy as np
import pytest

from ramify.errors import FileError
from ramify.taxonomy import Taxonomy

META = "ramify-taxonomy.json"


def same(first: Taxonomy, second: Taxonomy) -> bool:
    return (
        first.tree == second.tree
        and first.full == second.full
        and first.items == second.items
        and first.names == second.names
        and first.levels == second.levels
        and first.table().equals(second.table())
        and first.edits == second.edits
        and all(first.examples(v) == second.examples(v) for v in first.names)
        and all(first.keyword_table(v) == second.keyword_table(v) for v in first.names)
    )


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
    with pytest.raises(FileError, match="is not a taxonomy that ramify can read") as caught:
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
    with pytest.raises(FileError, match=r"has no ramify-taxonomy.json"):
        Taxonomy.load(tmp_path / "zip.taxonomy")


def forge(path, change):
    """Rewrite a file with its header and members changed, and the checksums made right again."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(members.pop(META))
    change(meta, members)
    meta["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(META, json.dumps(meta))
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array) -> bytes:
    import io

    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), version=(1, 0))
    return out.getvalue()


def beside(node, dtype=np.uint8) -> dict[str, bytes]:
    """Members that say the last of 180 items is also in some groups."""
    start = np.zeros(181, np.int64)
    start[-1] = len(node)
    arrays = {"start": start, "node": np.array(node, np.int32), "share": np.ones(len(node), dtype)}
    return {f"also_{name}.npy": npy(array) for name, array in arrays.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta, _: meta.update(version=99), "version 99 of the format; this ramify reads up to 1. Update"),
        (lambda meta, _: meta.update(version="x"), "version 'x'"),
        (lambda meta, _: meta.update(format="other"), "does not describe a taxonomy"),
        (lambda meta, _: meta.pop("names"), "it lacks 'names'"),
        (lambda meta, _: meta["names"].pop(), "names for"),
        (lambda meta, _: meta.update(names="abc"), "names of its header is not a list"),
        (lambda meta, _: meta.update(keywords=[[[1, 2]]] * 99), "is not a taxonomy"),
        (lambda meta, _: meta.update(levels=[[10**9, 0.5]]), "impossible number of clusters"),
        (lambda meta, _: meta.update(levels=["x"]), "is not a taxonomy"),
        (lambda meta, _: meta.update(n_items=3), "items for"),
        (lambda meta, _: meta.update(edits=[{"kind": "format disk", "nodes": [1]}]), "an edit must be one of"),
        (lambda meta, _: meta.update(edits=[{"kind": "rename", "nodes": ["x"]}]), "wrong type"),
        (lambda meta, _: meta.update(edits=[{"kind": "move", "nodes": [5], "to": 10**9}]), "no such node"),
        (lambda _, members: members.update({"parent.npy": npy([5, 5, -1])}), "tree breaks rule|leaves"),
        (lambda _, members: members.update({"parent.npy": npy(np.array(["x"]))}), "dtype"),
        (lambda _, members: members.update({"central.npy": npy(np.full((3, 2), 10**6))}), "central"),
        (lambda _, members: members.update({"firmness.npy": npy(np.zeros((2, 2), np.uint8))}), "firmness has shape"),
        (lambda _, members: members.update({"also_node.npy": npy([5])}), "do not belong together"),
        (lambda _, members: members.update(beside([0])), "names groups that are not there"),
        (lambda _, members: members.update(beside([200], np.uint16)), "do not belong together"),
        (lambda _, members: members.pop("also_share.npy"), "also_node and also_share are missing"),
        (lambda _, members: members.update({"items.arrow": b"not arrow"}), "is not a taxonomy"),
        (lambda _, members: members.pop("items.arrow"), "members are not those of its header"),
        (lambda _, members: members.pop("height.npy"), "it lacks 'height'"),
        (lambda meta, _: meta["embedder"].update(kind="pickle"), "unknown kind"),
        (lambda _, members: members.update({"embed_idf.npy": npy(np.ones(2))}), "do not fit each other"),
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
    with pytest.raises(FileError, match="compressed or cut short"):
        Taxonomy.load(path)


def test_names_from_a_file_cannot_act_on_a_terminal(taxonomy, tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy.save(path)
    forge(path, lambda meta, _: meta["names"].__setitem__(0, "\x1b]0;title\x07evil\x1b[2J"))
    assert "\x1b" not in Taxonomy.load(path).summary(depth=9)
