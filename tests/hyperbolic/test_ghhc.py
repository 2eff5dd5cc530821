"""gHHC: gradients and losses, and trees that are worth something."""

import numpy as np
import pytest
from oracles import clades
from scipy.sparse import csr_array

import cladify
from cladify.hyperbolic.ghhc import GHHC, triplet_step
from cladify.metrics import dendrogram_purity
from cladify.objectives import mw


def test_gradient():
    random = np.random.default_rng(0)
    leaf = random.standard_normal((20, 4))
    leaf *= 0.9 / np.linalg.norm(leaf, axis=1, keepdims=True)
    ids = random.integers(20, size=(3, 15))
    node = random.standard_normal((6, 4)) * 0.25
    _, gradient = triplet_step(leaf, ids, node)
    step = 1e-6
    for i, c in np.ndindex(*node.shape):
        up, down = node.copy(), node.copy()
        up[i, c] += step
        down[i, c] -= step
        numeric = (triplet_step(leaf, ids, up)[0] - triplet_step(leaf, ids, down)[0]) / (2 * step)
        assert gradient[i, c] == pytest.approx(numeric, abs=1e-6)


def test_separates_directions():
    random = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.eye(3)[y] + 0.1 * random.standard_normal((90, 3))
    model = GHHC(random_state=0, n_steps=200).fit(X)
    assert np.mean(model.losses_[-20:]) < np.mean(model.losses_[:20])
    assert dendrogram_purity(model.tree_, y) > 0.8
    assert (np.linalg.norm(model.nodes_, axis=1) < 1).all()


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_few_and_equal_points(n):
    for X in (np.ones((n, 2)), np.random.default_rng(0).standard_normal((n, 2))):
        assert GHHC(n_steps=5, random_state=0).fit(X).tree_.n_leaves == n


def test_reads_sparse_rows_as_dense_ones():
    X = np.random.default_rng(0).standard_normal((40, 3))
    sparse, dense = (GHHC(n_steps=5, random_state=0).fit(form).tree_ for form in (csr_array(X), X))
    assert sparse == dense


def test_weights_are_refused():
    with pytest.raises(cladify.CladifyError, match="takes no sample_weight"):
        GHHC().fit(np.eye(40), sample_weight=np.arange(1, 41))


def test_the_tree_before_it_is_made_binary():
    """The same nodes, and the score of the k-ary tree is the mean over random binary ones."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    wide, binary = (GHHC(n_steps=40, binary=b, random_state=0).fit(X).tree_ for b in (False, True))
    assert not wide.is_binary and binary.is_binary and clades(wide).keys() <= clades(binary).keys()
    values = [mw(wide.binarize(seed), X, "cosine") for seed in range(300)]
    assert mw(wide, X, "cosine") == pytest.approx(np.mean(values), abs=4 * np.std(values) / 300**0.5)
