"""``ramify fit FOLDER --engine dask``."""

import numpy as np
import pytest

pytest.importorskip("distributed")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    shards = tmp_path / "shards"
    shards.mkdir()
    for i in range(2):
        np.save(shards / f"{i}.npy", rng.normal(size=(200, 4)))
    return shards


def test_fit_of_a_folder_starts_workers_of_its_own(ramify, folder, tmp_path):
    out = tmp_path / "out.tree"
    told = ramify("fit", folder, "--engine", "dask", "--workers", 1, "-m", "affinity", "--out", out, "--json").json
    assert told["vectors"] == {"file": str(folder), "rows": 400, "dimensions": 4}
    assert told["info"]["engine"] == "dask" and told["info"]["neighbors"]["recall"] > 0.9
    assert out.exists()


def test_bad_shards_leave_nothing_behind(ramify, folder, tmp_path, scheduler):
    bad = np.zeros((10, 4))
    bad[7, 2] = np.nan
    np.save(folder / "2.npy", bad)
    done = ramify("fit", folder, "--engine", "dask", "--scheduler", scheduler, "--out", tmp_path / "out.tree")
    assert done.code != 0
    assert "2.npy, rows 0:10: row 7 (row 407 of all) has NaN" in " ".join(done.err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shards"]


@pytest.fixture
def scheduler():
    from distributed import LocalCluster

    with LocalCluster(
        processes=False, n_workers=1, protocol="tcp://", host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address
