"""RandomCut in parts is the local tree."""

import numpy as np
import pytest

import cladify
from cladify.distributed._stages.random_cut import random_cut_tree
from cladify.distributed.sources import open_vectors
from cladify.errors import InvalidInput


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 1), (500, 7)])
def test_the_local_tree(client, job, metric, n, d):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    tree = cladify.RandomCut(metric=metric, random_state=3).fit(X).tree_
    vectors = open_vectors(X, client=client, part_bytes=max(1, X.nbytes // 3))
    found = random_cut_tree(vectors, cladify.RandomCut(metric=metric, random_state=3), job)
    np.testing.assert_array_equal(found.parent, tree.parent)
    np.testing.assert_array_equal(found.height, tree.height)
    assert found.info["distributed"]["bytes_shuffled"] == [8 * n]


def test_rows_without_a_direction_are_named(client, job):
    X = np.ones((6, 2), dtype=np.float32)
    X[4] = 0
    with pytest.raises(InvalidInput, match="row 4 of all is zero"):
        random_cut_tree(open_vectors(X, client=client), cladify.RandomCut(metric="cosine"), job)
