"""Top levels by feature sums: values near the local ones, heights as the local estimators define them."""

import numpy as np
import pytest

import cladify
from cladify.distributed._stages.divide import divide_tree
from cladify.distributed.sources import open_vectors
from cladify.errors import InvalidInput


def blobs(n=1200, d=8, k=15):
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    return (3 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)) + 4).astype(np.float32), y


@pytest.fixture(scope="module")
def vectors(client):
    X, _ = blobs()
    return open_vectors(X, client=client, part_bytes=X.nbytes // 3)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("method", [cladify.BisectingKMeans, cladify.BisectConquer])
def test_value_and_heights(job, vectors, method, metric):
    X, _ = blobs()
    model = method(metric=metric, random_state=0, n_jobs=1)
    local = model.fit(X).tree_
    tree = divide_tree(vectors, model, job, most=300)
    figures = tree.info["distributed"]
    assert tree.is_binary and tree.n_leaves == 1200 and figures["top_leaves"] > 4 and figures["largest_leaf"] < 600
    objective = "ckmm" if metric == "sqeuclidean" else "mw"
    value, expected = (cladify.score(t, X, objective=objective, metric=metric).normalized for t in (tree, local))
    assert value > expected - 0.03
    # Heights of the upper nodes, from their rows.
    for v in range(tree.n_nodes - 1, tree.n_nodes - 4, -1):
        assert tree.height[v] == pytest.approx(height(X, tree, v, method, metric), rel=1e-4)


def height(X, tree, v, method, metric):
    z = X.astype(np.float64)
    if metric == "cosine":
        z /= np.linalg.norm(z, axis=1, keepdims=True)
    if method is cladify.BisectingKMeans:
        z = z[tree.members(v)]
        if metric == "cosine":
            return len(z) - np.linalg.norm(z.sum(axis=0))
        return np.square(z - z.mean(axis=0)).sum()
    a, b = (z[tree.members(child)] for child in tree.children(v))
    across = 1 - a @ b.T if metric == "cosine" else np.square(a[:, None] - b[None]).sum(axis=2)
    return max(across.mean(), tree.height[tree.children(v)].max())


def test_few_rows_are_the_local_tree(job, vectors):
    X, _ = blobs()
    model = cladify.BisectingKMeans(random_state=1, n_jobs=1)
    tree = divide_tree(vectors, model, job)
    np.testing.assert_array_equal(tree.parent, model.fit(X).tree_.parent)


def test_equal_rows_and_other_metrics(client, job, vectors):
    same = open_vectors(np.ones((40, 2), dtype=np.float32), client=client)
    tree = divide_tree(same, cladify.BisectingKMeans(random_state=0, n_jobs=1), job, most=10)
    assert tree.n_leaves == 40 and tree.height.max() == 0
    with pytest.raises(InvalidInput, match="split under cosine or sqeuclidean, got 'euclidean'"):
        divide_tree(vectors, cladify.BisectConquer(metric="euclidean"), job, most=10)
