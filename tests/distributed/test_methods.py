"""Every method with a distributed form, through the door."""

import numpy as np
import pytest

import cladify
from cladify.distributed._methods import METHODS as DASK_METHODS
from cladify.errors import InvalidInput
from cladify.methods import METHODS


@pytest.mark.parametrize("method", DASK_METHODS)
def test_through_the_door(client, method):
    X = np.random.default_rng(0).normal(size=(90, 5)).astype(np.float32)
    tree = cladify.fit(X, method=method, random_state=0, engine="dask", client=client)
    assert tree.n_leaves == 90 and tree.info["method"] == method and tree.info["engine"] == "dask"
    assert tree.info["n"] == 90 and tree.info["distributed"]["n_parts"] >= 1
    local = cladify.fit(X, method=method, random_state=0)
    np.testing.assert_array_equal(tree.parent, local.parent)
    np.testing.assert_allclose(tree.height, local.height, rtol=1e-6)


def test_the_table_names_methods_and_graphs_have_theirs(client):
    assert set(DASK_METHODS) <= {entry.name for entry in METHODS.values()}
    graph = cladify.neighbors(np.random.default_rng(0).normal(size=(30, 2)), 3)
    with pytest.raises(InvalidInput, match="method 'kmeans' takes vectors, got a graph"):
        cladify.fit(graph, method="kmeans", engine="dask", client=client)
