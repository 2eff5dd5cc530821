"""``cladify.fit(engine="dask")``: the same tree as the local engine for the same graph, and what can go wrong."""

import sys

import numpy as np
import pytest
from points import blobs

import cladify
from cladify.distributed import open_vectors
from cladify.distributed._stages.neighbors import sharded_neighbors
from cladify.errors import CladifyError, FileError, InvalidInput, MissingExtra


def same_tree(a, b):
    return np.array_equal(a.parent, b.parent) and np.array_equal(a.height, b.height)


X = blobs(2000, 6, 40, spread=0.3)


def shards(folder, rows=X):
    for i, part in enumerate(np.array_split(rows, 3)):
        np.save(folder / f"{i}.npy", part)
    return folder


@pytest.mark.filterwarnings("ignore:The graph has")  # parts without a link between them are joined at the top
@pytest.mark.parametrize("method", ["affinity", "reciprocal", "scc"])
def test_the_tree_is_that_of_the_local_engine_on_the_same_graph(method, client, job, tmp_path):
    folder = shards(tmp_path)
    stages = []
    tree = cladify.fit(
        folder,
        method=method,
        n_neighbors=10,
        engine="dask",
        client=client,
        progress=lambda stage, done, total: stages.append(stage),
    )
    vectors = open_vectors(folder, client=client)
    with job.working("graph") as own:
        graph = sharded_neighbors(vectors, 10, job=own).gather(client)
    local = cladify.fit(graph, method=method)
    assert same_tree(tree, local)
    assert tree.info["engine"] == "dask" and tree.info["n"] == 2000 and tree.info["d"] == 6
    assert tree.info["neighbors"]["recall"] >= 0.95 and "recall" in tree.info["approximations"][0]
    assert {"check rows", "assign to cells", "neighbours in groups", "merge by point"} <= set(stages)


def test_every_form_of_x_gives_the_same_tree(client, tmp_path):
    import dask.array as da

    folder = shards(tmp_path)
    forms = [X, da.from_array(X, chunks=(500, 6)), folder, str(folder), open_vectors(folder, client=client)]
    options = {"method": "affinity", "metric": "cosine", "engine": "dask", "client": client}
    first, *others = [cladify.fit(form, **options) for form in forms]
    assert all(same_tree(tree, first) for tree in others)


@pytest.mark.filterwarnings("ignore:The graph has")
def test_a_graph_comes_as_it_is(client):
    graph = cladify.neighbors.neighbors(X, 8)
    tree = cladify.fit(graph, method="scc", engine="dask", client=client)
    assert same_tree(tree, cladify.fit(graph, method="scc"))


@pytest.mark.filterwarnings("ignore:The graph has")
def test_weights_count_where_they_can(client, job, tmp_path):
    folder, weight = shards(tmp_path), np.random.default_rng(0).integers(1, 9, len(X))
    options = {"engine": "dask", "client": client}
    tree = cladify.fit(folder, method="scc", n_neighbors=10, sample_weight=weight, **options)
    with job.working("graph") as own:
        graph = sharded_neighbors(open_vectors(folder, client=client), 10, job=own).gather(client)
    assert same_tree(tree, cladify.fit(graph, method="scc", sample_weight=weight))
    assert same_tree(tree, cladify.fit(graph, method="scc", sample_weight=weight, **options))
    assert not same_tree(tree, cladify.fit(graph, method="scc"))
    with pytest.raises(InvalidInput, match=r"sample_weight counts in affinity, reciprocal, scc; method 'kmeans' takes"):
        cladify.fit(folder, method="kmeans", sample_weight=weight, **options)
    with pytest.raises(InvalidInput, match="sample_weight"):
        cladify.fit(folder, method="scc", sample_weight=weight[1:], **options)


def test_auto_says_what_it_took(client):
    tree = cladify.fit(X, engine="dask", client=client)
    assert tree.info["method"] == "scc" and tree.info["auto"].startswith("scc: ")


def test_methods_without_a_distributed_form_name_those_that_have_one(client):
    with pytest.raises(
        InvalidInput, match=r"'hac' has no distributed form; .* use one of: affinity, bisect, graph, kmeans"
    ):
        cladify.fit(X, method="hac", engine="dask", client=client)
    with pytest.raises(InvalidInput, match=r"'sc' is not known. Did you mean 'scc'"):
        cladify.fit(X, method="sc", engine="dask", client=client)


def test_parameters_are_checked_before_the_work(client):
    with pytest.raises(InvalidInput, match=r"method 'scc' has no parameter 'n_round'"):
        cladify.fit(X, method="scc", n_round=3, engine="dask", client=client)
    with pytest.raises(InvalidInput, match=r"n_rounds must be an int"):
        cladify.fit(X, method="scc", n_rounds=0, engine="dask", client=client)
    with pytest.raises(InvalidInput, match=r"give n_neighbors a number"):
        cladify.fit(X, method="scc", n_neighbors=None, engine="dask", client=client)
    with pytest.raises(InvalidInput, match=r"takes no objective, refine"):
        cladify.fit(X, method="scc", refine=True, engine="dask", client=client)
    with pytest.raises(InvalidInput, match=r"engine 'spark' is not known"):
        cladify.fit(X, engine="spark")
    with pytest.raises(InvalidInput, match=r"belong to engine='dask'"):
        cladify.fit(X, client=client)
    with pytest.raises(InvalidInput, match=r"n_workers is for workers that start here"):
        cladify.fit(X, engine="dask", client=client, n_workers=2)


def test_dask_missing_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"^engine='dask' needs .* pip install 'cladify\[dask\]'$"):
        cladify.fit(X, method="scc", engine="dask")


def test_a_checkpoint_goes_on_where_the_last_call_was(client, tmp_path, monkeypatch):
    folder = tmp_path / "shards"
    folder.mkdir()
    shards(folder)
    options = {"method": "scc", "engine": "dask", "client": client, "checkpoint": tmp_path / "kept"}
    monkeypatch.setattr("cladify.distributed._stages.rounds.rounds_tree", None)  # after the graph
    with pytest.raises(TypeError):
        cladify.fit(folder, **options)
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr("cladify.distributed._stages.group_search.assign", None)  # would fail where it is called
        tree = cladify.fit(folder, **options)
    with monkeypatch.context() as patch:
        patch.setattr("cladify.distributed._engine.sharded_neighbors", None)
        assert same_tree(cladify.fit(folder, **options), tree)
    assert same_tree(cladify.fit(folder, **{**options, "checkpoint": None}), tree)
    # Other data or other parameters are another run.
    shards(folder, X[::-1])
    assert not same_tree(cladify.fit(folder, **options), tree)


def test_a_full_disk_is_said(client, tmp_path, monkeypatch):
    import errno

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cladify.distributed._stages.group_search.write_pieces", full)
    with pytest.raises(
        FileError, match=r"assign to cells: a worker's disk is full. Free some space, or choose another"
    ):
        cladify.fit(shards(tmp_path), method="scc", engine="dask", client=client)


def test_a_folder_that_workers_do_not_see_is_said(client, monkeypatch):
    monkeypatch.setattr(client, "run", lambda function, path, on_error: {"tcp://elsewhere:1": False})
    with pytest.raises(InvalidInput, match=r"worker tcp://elsewhere:1 does not see the folder .* give checkpoint="):
        cladify.fit(X, method="scc", engine="dask", client=client)


def test_no_scheduler_at_the_address_is_said():
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.3s"}),
        pytest.raises(
            CladifyError, match=r"connecting: the scheduler at tcp://127.0.0.1:9 was lost or cannot be reached"
        ),
    ):
        cladify.fit(X, method="scc", engine="dask", client="tcp://127.0.0.1:9")
