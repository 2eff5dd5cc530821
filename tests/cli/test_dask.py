"""``cladify fit FOLDER --engine dask``."""

import numpy as np
import pytest

import cladify as package

pytest.importorskip("distributed")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    shards = tmp_path / "shards"
    shards.mkdir()
    for i in range(2):
        np.save(shards / f"{i}.npy", rng.normal(size=(200, 4)))
    return shards


def test_fit_of_a_folder_starts_workers_of_its_own(cladify, folder, tmp_path):
    out = tmp_path / "out.tree"
    told = cladify("fit", folder, "--engine", "dask", "--workers", 1, "-m", "affinity", "--out", out, "--json").json
    assert told["vectors"] == {"file": str(folder), "rows": 400, "dimensions": 4}
    assert told["info"]["engine"] == "dask" and told["info"]["neighbors"]["recall"] > 0.9
    assert out.exists()


def test_bad_shards_leave_nothing_behind(cladify, folder, tmp_path, scheduler):
    bad = np.zeros((10, 4))
    bad[7, 2] = np.nan
    np.save(folder / "2.npy", bad)
    done = cladify("fit", folder, "--engine", "dask", "--scheduler", scheduler, "--out", tmp_path / "out.tree")
    assert done.code != 0
    assert "2.npy, rows 0:10: row 7 (row 407 of all) has NaN" in " ".join(done.err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shards"]


def test_a_tree_in_a_folder(cladify, folder, tmp_path, scheduler):
    import pyarrow.parquet as pq

    given = ["--engine", "dask", "--scheduler", scheduler, "-m", "scc"]
    out = tmp_path / "tree"
    told = cladify("fit", folder, *given, "--out", out)
    assert told.code == 0, told.err
    assert "below its top" in told.out and "group " in told.out
    assert cladify("fit", folder, *given, "--out", tmp_path / "whole.tree", "-q").code == 0
    tree = package.Tree.load(tmp_path / "whole.tree")
    height = float(np.median(tree.height[400:]))
    cut = ["--height", height]
    for file, read in (
        ("l.npy", np.load),
        ("l.txt", lambda f: np.loadtxt(f, dtype=int)),
        ("l.parquet", lambda f: pq.read_table(f)["label"].to_numpy()),
    ):
        assert cladify("cut", out, *cut, "--out", tmp_path / file).code == 0
        np.testing.assert_array_equal(read(tmp_path / file), tree.cut(height=height))
    printed = cladify("cut", out, *cut).out.split()
    assert list(map(int, printed)) == tree.cut(height=height).tolist()
    assert "400" in cladify("info", out).out
    assert cladify("info", out, "--json").json["n_leaves"] == 400
    for node in ([], ["--node", 0]):
        assert cladify("export", out, *node, "--html", tmp_path / "page.html").code == 0
    wrong = cladify("cut", out, "--min-size", 3)
    assert wrong.code != 0 and "is cut by --n-clusters or --height alone" in " ".join(wrong.err.split())
    wrong = cladify("fit", folder, *given, "--out", tmp_path / "other", "-k", 3)
    assert wrong.code != 0 and "is cut afterwards" in " ".join(wrong.err.replace("│", "").split())


@pytest.fixture
def scheduler():
    from distributed import LocalCluster

    with LocalCluster(
        processes=False, n_workers=1, protocol="tcp://", host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address
