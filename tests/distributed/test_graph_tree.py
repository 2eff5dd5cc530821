"""GraphTree in groups: the local tree with one, and about as pure with several."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import cladify
from cladify.distributed import ShardedGraph
from cladify.distributed._stages import graph_tree_tasks as tasks
from cladify.distributed._stages.graph_tree import graph_tree
from cladify.distributed._storage.work_folder import WorkFolder
from cladify.distributed.sources import open_vectors
from cladify.graphtree._heights import by_rows, typicality
from cladify.similarity import get_similarity


def directed(graph, offsets):
    from dask import delayed

    parts = []
    for low, high in pairwise(offsets):
        edges = slice(graph.indptr[low], graph.indptr[high])
        rows = graph.indptr[low : high + 1] - graph.indptr[low]
        parts.append(delayed((rows, graph.indices[edges].astype(np.int64), graph.distances()[edges])))
    return ShardedGraph(offsets, parts, values="distance", metric=graph.metric, info=graph.info)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_groups_and_the_local_tree(client, job, metric):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 500)
    X = (3 * rng.normal(size=(12, 8))[y] + rng.normal(size=(500, 8))).astype(np.float32)
    model = cladify.GraphTree(metric=metric, n_jobs=1).fit(X)
    vectors = open_vectors(X, client=client, part_bytes=X.nbytes // 3)
    graph = directed(model.graph_, vectors.offsets)
    tree = graph_tree(vectors, graph, cladify.GraphTree(metric=metric, n_jobs=1), job)
    np.testing.assert_array_equal(tree.parent, model.tree_.parent)
    np.testing.assert_array_equal(tree.height, model.tree_.height)

    tree = graph_tree(vectors, graph, cladify.GraphTree(metric=metric, n_jobs=1), job, n_groups=3)
    assert tree.is_binary and tree.n_leaves == 500 and tree.info["scales"][0] == 500 > tree.info["scales"][1]
    assert tree.info["n_edges"] == model.graph_.n_edges
    height = by_rows(tree, X, get_similarity(metric), typicality(model.graph_))
    np.testing.assert_allclose(tree.height, height, rtol=1e-9, atol=1e-9 * height[-1])
    purity = cladify.metrics.dendrogram_purity
    assert purity(tree, y) > purity(model.tree_, y) - 0.03
    again = graph_tree(vectors, graph, cladify.GraphTree(metric=metric, n_jobs=1), job, n_groups=3)
    np.testing.assert_array_equal(again.parent, tree.parent)


def test_groups_that_hardly_any_row_comes_to(client, job):
    """Two far points among many equal ones: groups of one row, and of none."""
    X = np.repeat(np.array([[0.0], [1.0]], dtype=np.float32), 60, axis=0)
    X = np.concatenate([X, [[50.0], [90.0]]]).astype(np.float32)
    vectors = open_vectors(X, client=client, part_bytes=X.nbytes // 2)
    graph = directed(cladify.neighbors(X, 6), vectors.offsets)
    tree = graph_tree(vectors, graph, cladify.GraphTree(), job, n_groups=4)
    assert tree.n_leaves == 122 and tree.is_binary and tree.is_monotone
    labels = tree.cut(n_clusters=4)
    assert np.ptp(labels[:60]) == 0 == np.ptp(labels[60:120]) and labels[0] != labels[60]


def test_a_run_that_was_cut_off_goes_on(client, job, monkeypatch, tmp_path):
    """The stages that were finished are not done again, and the tree is the same."""
    rng = np.random.default_rng(1)
    X = (3 * rng.normal(size=(6, 4))[rng.integers(0, 6, 300)] + rng.normal(size=(300, 4))).astype(np.float32)
    vectors = open_vectors(X, client=client, part_bytes=X.nbytes // 3)
    graph = directed(cladify.neighbors(X, 6), vectors.offsets)
    model = cladify.GraphTree(n_jobs=1)
    whole = graph_tree(vectors, graph, model, job, n_groups=3)
    kept = replace(job, work=WorkFolder(str(tmp_path)))
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "top", None)
        with pytest.raises(TypeError, match="NoneType"):
            graph_tree(vectors, graph, model, kept, n_groups=3)
    other = graph_tree(vectors, graph, model, kept, n_groups=2)  # as with workers of more memory
    np.testing.assert_array_equal(other.parent, graph_tree(vectors, graph, model, job, n_groups=2).parent)
    for name in ("home", "weigh", "both", "vote", "send", "grow", "labels", "contract", "join"):
        monkeypatch.setattr(tasks, name, None)
    again = graph_tree(vectors, graph, model, kept, n_groups=3)
    np.testing.assert_array_equal(again.parent, whole.parent)
    np.testing.assert_array_equal(again.height, whole.height)
