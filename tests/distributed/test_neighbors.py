"""The neighbour graph in parts: the recall that it states, and the same edges however the work is cut."""

from dataclasses import replace

import numpy as np
import pytest
from points import blobs

import cladify
from cladify.distributed import open_vectors
from cladify.distributed._stages import neighbors as module
from cladify.distributed._stages.neighbors import sharded_neighbors
from cladify.distributed._storage.work_folder import WorkFolder, finish_piece
from cladify.errors import InvalidInput


def cells(n, d):
    return blobs(n, d, max(2, n // 100), spread=0.5)


def build(X, k, job, parts=5, **options):
    vectors = open_vectors(X, client=job.client, part_bytes=4 * X.shape[1] * -(-len(X) // parts))
    with job.working("graph") as own:
        return sharded_neighbors(vectors, k, job=own, **options).gather(job.client)


def recall(graph, truth):
    rows = zip(graph.indptr, graph.indptr[1:], truth.indptr, truth.indptr[1:], strict=False)
    same = [len(np.intersect1d(graph.indices[a:b], truth.indices[c:d])) for a, b, c, d in rows]
    return sum(same) / truth.n_edges


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_recall_is_that_of_local_shards_and_as_stated(metric, job):
    X = cells(20_000, 16)
    truth = cladify.neighbors.neighbors(X, 10, metric, method="exact")
    local = cladify.neighbors.neighbors(X, 10, metric, method="shards")
    graph = build(X, 10, job, metric=metric)
    assert graph.info["groups"] > 1 and graph.info["copies"] > 1, "the groups overlap"
    assert abs(recall(graph, truth) - recall(local, truth)) < 0.02
    assert abs(recall(graph, truth) - graph.info["recall"]) < 4 * graph.info["recall_error"] + 0.005
    # Edges that both have carry the same distance, to the digit.
    same = np.isin(graph.indices + graph.n_points * np.repeat(np.arange(len(X)), graph.degree),
                   truth.indices + truth.n_points * np.repeat(np.arange(len(X)), truth.degree))  # fmt: skip
    assert same.mean() > 0.9
    far = graph.distances().reshape(len(X), 10).max(axis=1)
    assert (far >= truth.distances().reshape(len(X), 10).max(axis=1)).all()


def test_groups_parts_and_workers_change_nothing(job, monkeypatch):
    X = cells(1500, 8)
    plain = build(X, 5, job, parts=1)
    monkeypatch.setattr("cladify.distributed._stages.plan.GROUP_SHARE", 1e-7)  # as many groups as cells
    many = build(X, 5, job, parts=1)
    assert many.info["groups"] == many.info["cells"] > plain.info["groups"]
    monkeypatch.setattr("cladify.distributed._stages.plan.GROUP_SHARE", 1.0)
    monkeypatch.setattr("cladify.distributed._stages.group_search._BLOCK", 100)
    one = build(X, 5, job, parts=7)
    assert one.info["groups"] == 1 and one.info["copies"] == 1.0
    for other in (many, one):
        assert np.array_equal(plain.indices, other.indices)
        assert np.array_equal(plain.distances(), other.distances())


def test_with_recall_1_the_graph_is_exact(job):
    X = cells(3000, 4)
    truth = cladify.neighbors.neighbors(X, 7, method="exact")
    graph = build(X, 7, job, recall=1.0, parts=3)
    assert recall(graph, truth) > 0.999


def test_rows_in_small_cells_search_everywhere(job):
    # One far row, alone in its cells, and many equal ones.
    X = cells(3000, 4)
    X[17], X[40:90] = 1e4, X[40]
    graph = build(X, 10, job, recall=0.5)
    assert (graph.degree == 10).all()
    truth = cladify.neighbors.neighbors(X, 10, method="exact")
    assert graph.indices[170:180].tolist() == truth.indices[170:180].tolist()
    assert (graph.distances().reshape(-1, 10)[40:90] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_few_rows(n, job):
    X = cells(n, 3)
    graph = build(X, 25, job, parts=2)
    k = min(25, n - 1)
    assert graph.n_points == n and (graph.degree == k).all()
    if n > 1:
        assert graph.indices.tolist() == cladify.neighbors.neighbors(X, k, method="exact").indices.tolist()


def test_what_it_does_not_take(job):
    X = cells(100, 3)
    with pytest.raises(InvalidInput, match=r"cosine or a Euclidean metric, got 'dot'"):
        build(X, 5, job, metric="dot")
    X[33] = 0
    with pytest.raises(InvalidInput, match=r"row 33 of all is zero"):
        build(X, 5, job, metric="cosine")
    with pytest.raises(InvalidInput, match=r"squares beyond float32"):
        build(X * 1e14, 5, job)


def test_a_finished_stage_is_not_done_again(client, job, tmp_path, monkeypatch):
    X = cells(3000, 4)
    vectors = open_vectors(X, client=client, part_bytes=1 << 14)
    kept = replace(job, work=WorkFolder(str(tmp_path)))
    first = sharded_neighbors(vectors, 5, job=kept)
    monkeypatch.setattr(module.tasks, "assign", None)  # would fail
    monkeypatch.setattr(module, "make_plan", None)
    monkeypatch.setattr(module.tasks, "merge_part", None)
    again = sharded_neighbors(vectors, 5, job=kept)
    assert first.info == again.info
    assert np.array_equal(first.gather(client).indices, again.gather(client).indices)


def test_a_task_that_runs_again_finds_its_receipt(tmp_path):
    calls = []
    work = WorkFolder(str(tmp_path))
    for _ in range(2):
        assert finish_piece(work, "a", lambda path: calls.append(path) or {"rows": 3}) == {"rows": 3}
    assert calls == [str(tmp_path / "a")]
