"""Scores by map and reduce are the local ones."""

import numpy as np
import pytest

import cladify
from cladify.distributed import ShardedGraph
from cladify.distributed._stages import score
from cladify.distributed.sources import open_vectors
from cladify.errors import InvalidInput


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 7, 400)
    X = (2 * rng.normal(size=(7, 9))[y] + rng.normal(size=(400, 9)) + 5).astype(np.float32)
    return X, y


@pytest.fixture(scope="module")
def trees(rows):
    X, _ = rows
    binary = cladify.HAC().fit(X).tree_
    return {"binary": binary, "k-ary": cladify.SCC(n_rounds=6).fit(X).tree_}


CASES = [("dasgupta", "cosine"), ("mw", "cosine"), ("ckmm", "sqeuclidean")]


@pytest.mark.parametrize(("objective", "metric"), CASES)
@pytest.mark.parametrize("shape", ["binary", "k-ary"])
def test_objectives_of_vectors(client, job, rows, trees, shape, objective, metric):
    X, _ = rows
    vectors = open_vectors(X, client=client, part_bytes=X.nbytes // 3)
    expected = getattr(cladify.objectives, objective)(trees[shape], X, metric=metric)
    assert score.objective_value(trees[shape], vectors, objective, job) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("objective", ["dasgupta", "mw"])
@pytest.mark.parametrize("shape", ["binary", "k-ary"])
def test_objectives_of_a_graph(job, rows, trees, shape, objective):
    graph = cladify.neighbors(rows[0], 5, metric="cosine")
    expected = getattr(cladify.objectives, objective)(trees[shape], graph)
    parts = ShardedGraph.from_graph(graph, 3)
    assert score.objective_value(trees[shape], parts, objective, job) == pytest.approx(expected, rel=1e-10)


def test_purity_and_f1(job, rows, trees):
    y = rows[1].copy()
    for tree in trees.values():
        assert score.dendrogram_purity(tree, y, job) == pytest.approx(cladify.metrics.dendrogram_purity(tree, y))
    y[::9] = -1
    labels = trees["binary"].cut(n_clusters=9)
    labels[5:8] = -1
    found, expected = score.pairwise_f1(labels, y, job, n_parts=3), cladify.metrics.pairwise_f1(labels, y)
    assert (found, found.precision, found.recall) == (expected, expected.precision, expected.recall)
    tree = trees["binary"]
    assert score.dendrogram_purity(tree, y, job) == pytest.approx(cladify.metrics.dendrogram_purity(tree, y))


def test_what_cannot_be_scored_is_said(client, job, rows, trees):
    vectors = open_vectors(rows[0], client=client)
    with pytest.raises(InvalidInput, match="takes similarities, but metric 'sqeuclidean' gives distances"):
        score.objective_value(trees["binary"], vectors, "dasgupta", job, metric="sqeuclidean")
    with pytest.raises(InvalidInput, match="scored under cosine, dot or sqeuclidean, got 'euclidean'"):
        score.objective_value(trees["binary"], vectors, "ckmm", job, metric="euclidean")
    with pytest.raises(InvalidInput, match="y has none"):
        score.dendrogram_purity(trees["binary"], np.arange(400), job)
