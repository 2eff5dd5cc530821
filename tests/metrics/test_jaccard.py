"""Jaccard metrics of graphs of clusters, and quality against size."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from trees import random_tree

import cladify
from cladify.errors import InvalidInput
from cladify.metrics import jaccard_curve, jaccard_per_label, jaccard_per_node, jaccard_per_point

METRICS = (jaccard_per_label, jaccard_per_point, jaccard_per_node)


@pytest.mark.parametrize("kind", ["partition", "cover", "some labelled"])
def test_dags_agree_with_the_matrix_of_their_members(kind):
    rng = np.random.default_rng(0)
    dag = cladify.Llama(n_neighbors=5).fit(rng.random((150, 2))).dag_
    truth = {
        "partition": rng.integers(0, 7, 150),
        "cover": csr_array(rng.random((150, 9)) < 0.2),
        "some labelled": np.where(rng.random(150) < 0.5, -1, rng.integers(0, 7, 150)),
    }[kind]
    for metric in METRICS:
        assert metric(dag, truth) == pytest.approx(metric(dag.memberships(), truth))
    with pytest.raises(InvalidInput, match="truth has no labels"):
        jaccard_per_node(dag, np.full(150, -1))


def test_the_curve_is_the_metric_of_the_first_nodes():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 60)
    for structure in (random_tree(60, 0, max_children=3), cladify.Llama(n_neighbors=5).fit(rng.random((60, 2))).dag_):
        curve = jaccard_curve(structure, y)
        assert curve.n_nodes[0] == 60 and curve.n_nodes[-1] == structure.n_nodes
        assert (np.diff(curve.per_label) >= 0).all()
        assert curve.per_label[-1] == pytest.approx(jaccard_per_label(structure, y))
        assert curve.per_point[-1] == pytest.approx(jaccard_per_point(structure, y))
        assert curve.per_node[-1] == pytest.approx(jaccard_per_node(structure, y))
        leaves = csr_array(np.eye(60))
        assert curve.per_node[0] == pytest.approx(jaccard_per_node(leaves, y))
    for budgets, message in [([5, 5], "rising integers"), ([0, 3], r"in \[1, "), ([], "rising integers")]:
        with pytest.raises(InvalidInput, match=message):
            jaccard_curve(structure, y, budgets=budgets)
