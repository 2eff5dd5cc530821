"""The clusters of the neighbour graph as start and guide of VaDE."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

torch = pytest.importorskip("torch")

from cladify.datasets import btgm
from cladify.embed import VAE, VaDE

QUICK = {"n_latent": 2, "hidden": (64,), "random_state": 0, "learning_rate": 2e-3, "n_jobs": 1}


@pytest.fixture(scope="module")
def X():
    return btgm(4, 100, n_features=12, random_state=0).X


def test_clusters_that_are_not_round():
    """Two moons, one in the other's arms, in ten dimensions: no Gaussian holds one of them alone."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 400)
    turn = np.pi * rng.random(800)
    moons = np.column_stack([np.cos(turn), np.sin(turn)]) * (1 - 2 * y)[:, None] + y[:, None] * [1.0, 0.35]
    X = 3 * moons @ rng.normal(size=(2, 10)) + 0.4 * rng.normal(size=(800, 10))

    def agreement(**options):
        model = VaDE(n_components=2, n_pretrain=10, n_epochs=15, **options, **QUICK).fit(X)
        return adjusted_rand_score(y, model.predict(X))

    assert agreement() > 0.85
    assert agreement(guide=0.0) < 0.8
    assert agreement(start="mixture") < 0.8


def test_guide_is_the_cross_entropy_of_the_clusters(X):
    model = VaDE(n_components=4, n_pretrain=0, n_epochs=0, guide=2.5, **QUICK).fit(X)
    x, clusters = model.network_.scaled(X[:3]), torch.tensor([1, 3, -1])

    def loss(*given):
        torch.manual_seed(3)
        return model._loss(x, *given).detach().numpy()

    torch.manual_seed(3)
    mean, log_variance = model.network_.encode(x)
    z = (mean + torch.randn_like(mean) * (0.5 * log_variance).exp()).detach().numpy().astype(np.float64)
    gap = z[:, None] - model.means_
    density = -0.5 * (np.log(model.variances_) + gap**2 / model.variances_).sum(2) + np.log(model.weights_)
    log_gamma = density - np.log(np.exp(density).sum(1, keepdims=True))
    expected = -2.5 * np.array([log_gamma[0, 1], log_gamma[1, 3], 0.0])
    np.testing.assert_allclose(loss(clusters) - loss(), expected, atol=1e-3)


def test_metric_follows_the_data(X):
    fit = lambda rows, **options: VaDE(n_components=2, n_pretrain=1, n_epochs=1, **options, **QUICK).fit(rows)  # noqa: E731
    assert fit(X).metric_ == "sqeuclidean"
    assert fit(X, metric="cosine").metric_ == "cosine"
    words = np.random.default_rng(0).poisson(0.6, size=(60, 8)).astype(float)
    words[:30, :4] *= 9
    words[30:, 4:] *= 9
    words[7] = 0.0  # has no angle, and no cluster
    model = fit(words)
    assert model.metric_ == "cosine"
    assert model._held[1][7] == -1 and set(np.delete(model._held[1], 7)) == {0, 1}
    assert np.isfinite(model.transform(words)).all()


def test_goes_on_with_the_clusters_of_the_start(X, tmp_path):
    model = VaDE(n_components=4, n_pretrain=2, n_epochs=0, warm_start=True, **QUICK).fit(X)
    np.testing.assert_array_equal(model._held_clusters(X), model._held[1])
    other = X[::-1].copy()  # as many rows, but not these
    np.testing.assert_array_equal(model._held_clusters(other), model.predict(other))
    model.save(tmp_path / "model")
    again = VaDE.load(tmp_path / "model")
    again.n_epochs = 1
    assert len(again.fit(X).history_["elbo"]) == 1
    np.testing.assert_array_equal(again._held_clusters(X), again.predict(X))


def test_small_sets_have_small_batches(monkeypatch):
    steps = []
    plain = VAE._loss
    monkeypatch.setattr(VAE, "_loss", lambda self, x: steps.append(len(x)) or plain(self, x))
    VAE(n_epochs=1, **QUICK).fit(np.random.default_rng(0).normal(size=(2500, 3)))
    assert steps == [50] * 50


def test_one_point():
    model = VaDE(n_components=1, n_pretrain=1, n_epochs=1, **QUICK)
    assert model.fit(np.ones((1, 3))).predict(np.ones((1, 3))).tolist() == [0]
