"""The tree file and JSON: equal trees back, and hostile content gives one line, not a crash."""

import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees import random_tree, trees

import cladify
from cladify import Tree
from cladify.errors import FileError, InvalidInput


def with_levels(seed: int = 0) -> Tree:
    tree = random_tree(30, seed, max_children=4)
    level = np.concatenate([np.zeros(30, dtype=int), np.arange(1, tree.n_nodes - 29)])
    return Tree(tree.parent, tree.height, level=level, info={"method": "scc", "k": np.int64(3), "grid": (1, 2.5)})


@given(tree=trees())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trips(tree, tmp_path):
    tree.save(tmp_path / "a.tree")
    for again in (Tree.load(tmp_path / "a.tree"), Tree.from_dict(json.loads(json.dumps(tree.to_dict())))):
        assert again == tree
        assert again.parent.tolist() == tree.parent.tolist()
        assert again.height.tolist() == tree.height.tolist()


def test_levels_and_info_come_back(tmp_path):
    tree = with_levels()
    tree.info["model"] = object
    tree.save(tmp_path / "a.tree")
    for again in (Tree.load(tmp_path / "a.tree"), Tree.from_dict(tree.to_dict())):
        assert again == tree
        assert again.info == {"method": "scc", "k": 3, "grid": [1, 2.5], "model": "<class 'object'>"}


def test_the_file_is_open_to_other_tools(tmp_path):
    tree = with_levels()
    path = tmp_path / "a.tree"
    tree.save(path)
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["parent"].tolist() == tree.parent.tolist()
    meta = json.loads(zipfile.ZipFile(path).read("cladify-tree.json"))
    assert (meta["format"], meta["version"], meta["cladify"]) == ("cladify-tree", 1, cladify.__version__)
    assert (meta["n_leaves"], meta["n_nodes"], meta["info"]["method"]) == (30, tree.n_nodes, "scc")
    first = path.read_bytes()
    tree.save(path)
    assert path.read_bytes() == first


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.tree"
    old = random_tree(5, 0)
    old.save(path)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(FileError):
        random_tree(9, 1).save(path)
    monkeypatch.undo()
    assert Tree.load(path) == old
    assert os.listdir(tmp_path) == ["a.tree"]
    with pytest.raises(FileError):
        old.save(tmp_path / "no folder" / "a.tree")


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"Cannot read .*: No such file"):
        Tree.load(tmp_path / "none.tree")
    with pytest.raises(FileError, match="Cannot read"):
        Tree.load(tmp_path)
    (tmp_path / "text.tree").write_text("(a,b);")
    with pytest.raises(FileError, match="not a zip archive"):
        Tree.load(tmp_path / "text.tree")
    np.savez(tmp_path / "other.npz", parent=[2, 2, -1])
    with pytest.raises(FileError, match=r"no cladify-tree\.json"):
        Tree.load(tmp_path / "other.npz")


def rewrite(path, change):
    """Write the archive again with its members changed by ``change(name, data)``; None drops one."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            data = change(name, data)
            if data is not None:
                archive.writestr(name, data)


def in_meta(**entries):
    def change(name, data):
        return json.dumps({**json.loads(data), **entries}) if name.endswith(".json") else data

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_meta(version=2), "version 2 of the format; this cladify reads up to 1. Update cladify"),
        (in_meta(version="1"), "version '1'"),
        (in_meta(format="x"), "does not describe a tree"),
        (in_meta(info=[]), "does not describe a tree"),
        (in_meta(sha256="0"), "checksum"),
        (in_meta(n_leaves=3), "wrong lengths"),
        (lambda name, data: "[" * 100_000 if name.endswith(".json") else data, "RecursionError|does not"),
        (lambda name, data: "{" if name.endswith(".json") else data, "JSONDecodeError"),
        (lambda name, data: None if name == "height.npy" else data, "lacks"),
        (lambda name, data: data[:-8] if name == "height.npy" else data, "bytes"),
        (lambda name, data: data[:20] if name == "parent.npy" else data, "ValueError|EOF"),
        (lambda name, data: b"x" if name == "level.npy" else data, "ValueError"),
    ],
)
def test_changed_files(tmp_path, change, message):
    path = tmp_path / "a.tree"
    with_levels().save(path)
    rewrite(path, change)
    with pytest.raises(FileError, match=message) as caught:
        Tree.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_no_pickles_and_no_bombs(tmp_path):
    path = tmp_path / "a.tree"
    tree = with_levels()
    np.savez(path.with_suffix(".npz"), parent=np.array([{}], dtype=object), allow_pickle=True)
    pickled = zipfile.ZipFile(path.with_suffix(".npz")).read("parent.npy")
    tree.save(path)
    rewrite(path, lambda name, data: pickled if name == "parent.npy" else data)
    with pytest.raises(FileError, match=r"dtype \|O"):
        Tree.load(path)
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    huge = b"\x93NUMPY\x01\x00v\x00" + header
    tree.save(path)
    rewrite(path, lambda name, data: huge if name == "parent.npy" else data)
    with pytest.raises(FileError, match="1000000000000"):
        Tree.load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cladify-tree.json", b"{}" + b" " * 10_000_000)
    with pytest.raises(FileError, match="compressed"):
        Tree.load(path)


def test_a_broken_tree_in_a_whole_file(tmp_path):
    from cladify.tree import _file as treefile

    path = tmp_path / "a.tree"
    tree = random_tree(4, 0)
    object.__setattr__(tree, "_parent", np.array([4, 4, 5, 5, 5, 6, -1]))
    treefile.save(tree, path)
    with pytest.raises(FileError, match="rule 5"):
        Tree.load(path)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files(tmp_path, data):
    path = tmp_path / "a.tree"
    tree = with_levels()
    tree.save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, len(content) - 1))
        content[where] = data.draw(st.integers(0, 255))
    length = data.draw(st.sampled_from([len(content), data.draw(st.integers(0, len(content)))]))
    path.write_bytes(content[:length])
    try:
        again = Tree.load(path)
    except FileError as error:
        assert "\n" not in str(error)
    else:
        assert again == tree  # the damage hit nothing that counts


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "not a tree as Tree.to_dict"),
        ([], "not a tree as Tree.to_dict"),
        ({"format": "cladify-tree", "version": 9, "parent": []}, "version 9"),
        ({"format": "cladify-tree", "version": 1, "parent": "abc"}, "rule 1"),
        ({"format": "cladify-tree", "version": 1, "parent": [[1], 2]}, "cannot be read"),
        ({"format": "cladify-tree", "version": 1, "parent": [2, 2, -1], "info": 3}, "info"),
        ({"format": "cladify-tree", "version": 1, "parent": [2, 2, -1], "n_leaves": 3}, "3 leaves"),
        ({"format": "cladify-tree", "version": 1, "parent": [2, 2, 10**30]}, "rule 1|cannot be read"),
        ({"format": "cladify-tree", "version": 1, "parent": [2, 2, -1], "height": [0, 0, None]}, "rule 6"),
    ],
)
def test_wrong_dicts(data, message):
    with pytest.raises(InvalidInput, match=message):
        Tree.from_dict(data)
