"""Damaged files: a checkpoint runs the stages of damaged pieces again, a tree folder says what is wrong in one line."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import cladify
from cladify.distributed import ShardedGraph, TreeFolder, check
from cladify.distributed._stages.rounds import rounds_tree
from cladify.distributed._storage.work_folder import WorkFolder
from cladify.errors import CladifyWarning, FileError

X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)

CHANGES = {
    "zeroed": lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "flipped": lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:] if len(data) > 9 else b"?",
    "longer": lambda data: data + b"\0",
}


def files(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(here, tmp_path):
    """A job whose folder has the files of finished rounds, and the tree of these."""
    parts = ShardedGraph.from_graph(cladify.neighbors(X[:60], 4), 2)
    job = replace(here, work=WorkFolder(str(tmp_path / "work")))

    def build(job):
        return rounds_tree(parts, cladify.Affinity(), job, finish_bytes=0)

    return job, build, build(job)


@pytest.mark.parametrize("change", CHANGES)
def test_every_damaged_piece_is_found_and_made_again(kept, change, tmp_path):
    job, build, tree = kept
    listed = {name for folder in job.work.folders() for names in folder.batches() for name in names}
    names = [name for name in files(job.work.folder) if os.path.basename(name).removesuffix(".json") in listed]
    assert len(names) > 10
    for i, name in enumerate(names):
        other = tmp_path / f"other-{i}"
        shutil.copytree(job.work.folder, other)
        data = (other / name).read_bytes()
        if (changed := CHANGES[change](data)) == data:
            continue
        (other / name).write_bytes(changed)
        again = replace(job, work=WorkFolder(str(other)))
        assert again.repair()
        if i % 5 == 0:
            assert build(again) == tree
    assert job.repair() == []


def test_missing_files_and_paths_that_leave_the_folder_are_damage(kept):
    job, build, tree = kept
    (folder,) = (folder for folder in job.work.folders() if folder.receipt("base-00000"))
    os.unlink(folder.path("base-00000"))
    assert job.repair() and build(job) == tree
    folder.keep("base-00001")
    (about,) = folder._read("base-00001")["files"].values()
    folder._write("base-00001", {}, {f"../{os.path.basename(folder.folder)}/base-00001": about})
    assert folder.path("base-00001") in job.repair() and build(job) == tree


def test_fit_goes_on_from_a_damaged_checkpoint(client, tmp_path):
    """The graph is made again where it is damaged, and no tree is believed that is not the run's own."""
    np.save(tmp_path / "a.npy", X)
    options = {"method": "affinity", "engine": "dask", "client": client, "checkpoint": tmp_path / "kept"}
    tree = cladify.fit(tmp_path / "a.npy", **options)
    (run,) = (tmp_path / "kept").iterdir()
    (finished,) = run.glob("*.tree")
    graph = run / "graph-00000"
    graph.write_bytes(CHANGES["zeroed"](graph.read_bytes()))
    cladify.fit(X[:50], method="hac").save(finished)
    with pytest.warns(CladifyWarning, match=r"damaged: .*graph-00000.*; their stages are run again"):
        assert cladify.fit(tmp_path / "a.npy", **options) == tree
    graph.with_suffix(".json").write_bytes(b"")
    finished.with_name(finished.name + ".json").unlink()
    with pytest.warns(CladifyWarning, match="damaged: "):
        assert cladify.fit(tmp_path / "a.npy", **options) == tree
    with pytest.raises(FileError, match=r"a.npy exists; give the tree a folder of its own"):
        cladify.fit(tmp_path / "a.npy", **options, out=tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), X)


# --- tree folders -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tree = cladify.fit(X, method="scc")
    return tree, TreeFolder.write(tree, tmp_path_factory.mktemp("tree") / "folder", n_groups=20).folder


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["tree.json", "top.tree", "groups.parquet", "below-00000.parquet"])
def test_a_damaged_tree_folder_is_one_line_or_the_same_tree(folder, name, change, tmp_path):
    tree, whole = folder
    other = tmp_path / "tree"
    shutil.copytree(whole, other)
    (other / name).write_bytes(CHANGES[change]((other / name).read_bytes()))
    try:
        assert TreeFolder(other).tree() == tree
    except FileError as error:
        assert "\n" not in str(error)
    found = check(other)
    assert (len(found["problems"]) == 1 and name in found["problems"][0]) or change == "flipped"


def test_check_counts_and_finds_nothing_in_a_whole_folder(folder):
    tree, whole = folder
    assert check(whole) == {
        "kind": "tree folder",
        "version": 2,
        "n_leaves": tree.n_leaves,
        "n_nodes": tree.n_nodes,
        "problems": [],
    }
    assert check(whole.parent)["problems"][0].endswith("leaves it.")


@pytest.mark.parametrize(
    "change", [{"n_leaves": 299}, {"n_leaves": -1}, {"n_groups": True}, {"below": []}, {"info": 3}, {"groups": None}]
)
def test_a_forged_manifest_with_a_right_checksum_is_one_line(folder, change, tmp_path):
    from cladify.distributed._storage.tree_rows import read_about, write_about

    other = tmp_path / "tree"
    shutil.copytree(folder[1], other)
    about = read_about(other)
    del about["format"], about["version"]
    write_about(other, {**about, **change})
    with pytest.raises(FileError, match="damaged"):
        TreeFolder(other)
