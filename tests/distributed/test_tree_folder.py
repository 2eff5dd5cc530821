"""A tree in a folder is the tree in memory: the same cuts and the same subtrees, reading no more than it needs."""

import json

import numpy as np
import pytest

import cladify
from cladify.distributed import TreeFolder
from cladify.errors import CladifyWarning, FileError, InvalidInput

X = np.random.default_rng(0).normal(size=(1500, 4)).astype(np.float32)


def labels(folder, *args, **kwargs):
    return np.concatenate(list(folder.cut(*args, **kwargs, part_leaves=400)))


def same_node(tree, members):
    v = int(members[0])
    while tree.size[v] < len(members):
        v = int(tree.parent[v])
    return v


@pytest.fixture(scope="module", params=["scc", "affinity", "hac", "duplicates", "star"])
def pair(request, tmp_path_factory):
    """A tree, and the same in a folder."""
    if request.param == "star":
        tree = cladify.Tree([50] * 50 + [-1], np.append(np.zeros(50), 1.0))
    else:
        rows = np.repeat(X[:300], 5, axis=0) if request.param == "duplicates" else X
        tree = cladify.fit(rows, method="hac" if request.param == "duplicates" else request.param)
    return tree, TreeFolder.write(
        tree, tmp_path_factory.mktemp("tree") / "folder", n_groups=100 if len(tree.parent) > 60 else 9
    )


def test_all_of_it_is_the_tree(pair):
    tree, folder = pair
    assert folder.tree() == tree and folder.n_leaves == tree.n_leaves
    assert folder.top.n_leaves <= 100 and folder.size[-1] == tree.n_leaves


def test_cuts(pair):
    tree, folder = pair
    heights = tree.height[tree.n_leaves :]
    for height in [*np.quantile(heights, [0, 0.3, 0.8, 0.97, 1]), heights.min() / 2]:
        np.testing.assert_array_equal(labels(folder, height=height), tree.cut(height=height))
        k = int(tree.cut(height=height).max()) + 1
        if k <= folder.top.n_leaves:  # all nodes above a height: no choice among splits
            np.testing.assert_array_equal(labels(folder, k), tree.cut(k))


def test_subtrees(pair):
    tree, folder = pair
    rng = np.random.default_rng(1)
    for v in rng.integers(folder.top.n_nodes, size=12).tolist():
        members = folder.members(v)
        node = same_node(tree, members)
        np.testing.assert_array_equal(np.sort(tree.members(node)), members)
        assert folder.size[v] == len(members)
        assert folder.subtree(v) == tree.subtree(node)


def test_only_what_is_needed_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("cladify.distributed._storage.tree_rows._ROW_GROUP", 100)
    folder = TreeFolder.write(cladify.fit(X, method="scc"), tmp_path / "tree")
    read, parquet = [], type(folder._files[0][0])
    assert folder._files[0][0].metadata.num_row_groups > 10
    real = parquet.read_row_groups
    monkeypatch.setattr(parquet, "read_row_groups", lambda self, some: read.extend(some) or real(self, some))
    v = int(np.argmin(np.where(folder.size > 20, folder.size, 10**9)))
    folder.subtree(v)
    assert 1 <= len(read) <= 2 + folder.size[v] // 50


@pytest.mark.filterwarnings("ignore:The graph has")
@pytest.mark.parametrize("method", ["scc", "affinity", "reciprocal"])
@pytest.mark.parametrize("finish_bytes", [0, 4_000, 1e9])
def test_workers_write_it(method, finish_bytes, here, tmp_path, monkeypatch):
    from cladify.distributed import ShardedGraph
    from cladify.distributed._stages.rounds import rounds_tree
    from cladify.methods import find_method

    monkeypatch.setattr("cladify.distributed._stages.below._LEAF", 1e9)  # several files
    graph = cladify.neighbors(X[:200], 5)
    parts = ShardedGraph.from_graph(graph, 3)
    folder = rounds_tree(parts, find_method(method).load()(), here, finish_bytes=finish_bytes, out=tmp_path / "tree")
    tree = cladify.fit(graph, method=method)
    assert folder.tree() == tree
    assert folder.info["n_rounds"] == tree.info["n_rounds"] and folder.info["n_parts"] == tree.info["n_parts"]
    height = float(np.median(tree.height[200:]))
    np.testing.assert_array_equal(labels(folder, height=height), tree.cut(height=height))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tree"]


@pytest.mark.parametrize("method", ["scc", "random-cut"])
def test_fit_gives_a_folder(method, client, tmp_path):
    options = {"method": method, "engine": "dask", "client": client, "random_state": 0}
    folder = cladify.fit(X, **options, out=tmp_path / "tree")
    tree = cladify.fit(X, **options)
    assert folder.tree() == tree
    again = TreeFolder(tmp_path / "tree")
    assert again.info["method"] == method and again.info["n"] == 1500 and again.info["engine"] == "dask"
    with pytest.raises(FileError, match="exists; give the tree a folder of its own"):
        cladify.fit(X, **options, out=tmp_path / "tree")
    with pytest.raises(InvalidInput, match="out belong to engine='dask'"):
        cladify.fit(X, method=method, out=tmp_path / "other")


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(FileError, match="is not a folder with a tree"):
        TreeFolder(tmp_path)
    tree = cladify.fit(X, method="scc")
    folder = TreeFolder.write(tree, tmp_path / "tree", n_groups=50)
    with pytest.raises(InvalidInput, match=r"has .* groups, got n_clusters=900; use height="):
        next(folder.cut(900))
    with pytest.raises(InvalidInput, match="Say where to cut"):
        next(folder.cut())
    star = TreeFolder.write(cladify.Tree([9] * 9 + [-1], np.append(np.zeros(9), 1.0)), tmp_path / "star", n_groups=9)
    with pytest.warns(CladifyWarning, match="The cut has 1 clusters, not 3"):
        next(star.cut(3))
    about = json.loads((tmp_path / "tree" / "tree.json").read_text())
    (tmp_path / "tree" / "tree.json").write_text(json.dumps({**about, "version": 9}))
    with pytest.raises(FileError, match="has version 9"):
        TreeFolder(tmp_path / "tree")
