"""UFit: gradients, losses, and trees that are worth something."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import pdist, squareform

import cladify
from cladify.hyperbolic.ufit import Fitted, UFit, dasgupta_loss, triplet_loss
from cladify.metrics import dendrogram_purity

LOSSES = ["closest", "closest-size", "closest-triplet", "dasgupta"]


def two_blobs(n=40, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return random.standard_normal((n, 3)) + np.array([6.0, 0.0, 0.0]) * y[:, None], y


def random_distances(n, seed):
    D = np.random.default_rng(seed).random((n, n)).astype(np.float32) + 0.5
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


def test_the_linkage_of_a_matrix_is_single_linkage():
    D = random_distances(30, 0)
    linkage = Fitted(D).linkage()
    expected = cladify.fit(D, "hac", metric="precomputed", linkage="single")
    np.testing.assert_allclose(cophenet(linkage.tree.to_linkage()), cophenet(expected.to_linkage()), rtol=1e-6)
    i, j = np.triu_indices(30, 1)
    meet = linkage.tree.lca(i, j) - 30
    np.testing.assert_allclose(linkage.sums(D), np.bincount(meet, D[i, j], minlength=29), rtol=1e-5)
    np.testing.assert_allclose(linkage.count, np.bincount(meet, minlength=29))


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_by_heights(loss):
    """A spanning edge that moves a little moves one height: differences of the loss against its derivative."""
    D = random_distances(12, 1)
    model = UFit(loss=loss, random_state=0)
    model._y = np.arange(12) % 3
    value = model._loss_of(D)
    M = random_distances(12, 2)
    linkage = Fitted(M).linkage()
    _, gradient, _ = value(linkage)
    step = 1e-3
    for v, (a, b) in enumerate(zip(*linkage.edge, strict=True)):
        losses = []
        for sign in (1, -1):
            moved = M.copy()
            moved[a, b] = moved[b, a] = M[a, b] + np.float32(sign * step)
            other = Fitted(moved).linkage()
            losses.append(value(other)[0] if (other.tree.parent == linkage.tree.parent).all() else np.nan)
        numeric = (losses[0] - losses[1]) / (2 * step)
        if np.isfinite(numeric) and loss != "closest-triplet":
            assert gradient[v] == pytest.approx(numeric, rel=2e-2, abs=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_falls_and_the_tree_is_right(loss):
    X, y = two_blobs()
    model = UFit(loss=loss, n_steps=60, learning_rate=0.02, random_state=0).fit(X, y)
    assert min(model.losses_[1:]) < model.losses_[0]
    assert dendrogram_purity(model.tree_, y) > 0.9
    assert model.tree_.is_monotone


def test_the_triplet_and_dasgupta_terms_by_hand():
    linkage = Fitted(squareform(pdist(np.array([[0.0], [1.0], [5.0]]))).astype(np.float32)).linkage()
    loss, gradient = triplet_loss(linkage, np.array([[0], [2], [1]]), 0.5)  # u_02 = 4, u_01 = 1
    assert loss == pytest.approx(3.5) and gradient.tolist() == [-1.0, 1.0]
    # Points 0 and 1 see 1 + ½ leaves below their parent; below the root 1 sees 1 + 1 + ½, and 5 sees 1 + ½ · 2.
    loss, _, count = dasgupta_loss(linkage, np.array([1.0, 1.0]))
    assert loss == pytest.approx(1.5 + (2.5 + 2.0) / 2, abs=0.01) and count == 2.0 + 3.0


@pytest.mark.parametrize("seed", range(6))
def test_the_dasgupta_loss_ends_no_worse_than_it_began(seed):
    """Leaves over distances, of the tree: that of the first linkage, and that of the result."""
    X = np.random.default_rng(seed).standard_normal((30, 3)) + 3.0 * (np.arange(30) % 3)[:, None]
    D = squareform(pdist(X))
    i, j = np.triu_indices(30, 1)
    first = cladify.fit(D, "hac", metric="precomputed", linkage="single")
    last = UFit(loss="dasgupta", n_steps=60).fit(X).tree_
    before, after = ((tree.size[tree.lca(i, j)] / D[i, j]).sum() for tree in (first, last))
    assert after <= before * (1 + 1e-6)


def test_ufit_on_published_data(dataset):
    data = dataset("iris")
    X = (data["X"] - data["X"].mean(axis=0)) / data["X"].std(axis=0)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    tree = UFit().fit(X).tree_
    assert 2 * cladify.objectives.dasgupta(tree, X) / 1e5 <= 7.916 * 1.01


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_few_and_equal_points(n):
    for X in (np.ones((n, 2)), np.random.default_rng(0).standard_normal((n, 2))):
        assert UFit(n_steps=5).fit(X).tree_.n_leaves == n


def test_errors():
    X, _ = two_blobs()
    with pytest.raises(cladify.CladifyError, match=r"needs labels: fit\(X, y\)"):
        UFit(loss="closest-triplet").fit(X)
    with pytest.raises(cladify.CladifyError, match="two rows of one label and one of another"):
        UFit(loss="closest-triplet").fit(X, np.zeros(40, dtype=int))
    with pytest.raises(cladify.CladifyError, match="loss 'closets' is not known"):
        UFit(loss="closets").fit(X)
    with pytest.raises(cladify.CladifyError, match="takes no sample_weight"):
        UFit().fit(X, sample_weight=np.arange(1, 41))
