import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

pytest.importorskip("torch")

import cladify
from cladify.datasets import btgm
from cladify.embed import VAE, Rescale, VaDE
from cladify.errors import CladifyWarning, FileError, InvalidInput, MissingExtra
from cladify.metrics import dendrogram_purity

QUICK = {"n_latent": 3, "hidden": "small", "random_state": 0, "batch_size": 200, "learning_rate": 2e-3, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return btgm(8, 150, n_features=40, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return VaDE(n_components=8, n_pretrain=25, n_epochs=15, **QUICK).fit(data.X)


def test_beats_pca_on_shifted_means(data, model):
    """No linear map to h dimensions keeps a shifted tree; the learned one does (paper's table 1)."""
    from sklearn.decomposition import PCA

    def purity(Z):
        return dendrogram_purity(cladify.fit(Z, "hac", linkage="ward"), data.y)

    flat = purity(PCA(3, random_state=0).fit_transform(data.X))
    assert purity(model.transform(data.X)) > flat + 0.2
    assert purity(model.rescaled(data.X)) > flat + 0.2


def test_loss_falls_and_prior_is_a_mixture(model):
    for losses in model.history_.values():
        assert losses[-1] < losses[0]
    assert model.means_.shape == model.variances_.shape == (8, 3)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert (model.variances_ > 0).all()


@pytest.mark.parametrize("start", ["mixture", "graph"])
def test_starts_find_the_components(data, start):
    """Before the last stage already: the means are 8 apart, and a tenth of the points may be lost on the way."""
    from sklearn.metrics import adjusted_rand_score

    model = VaDE(n_components=8, n_pretrain=25, n_epochs=0, start=start, **QUICK).fit(data.X)
    assert adjusted_rand_score(data.y, model.predict(data.X)) > 0.9
    np.testing.assert_allclose(np.sort(model.weights_), 1 / 8, atol=0.02)


def test_probabilities_follow_the_mixture(data, model):
    Z = model.transform(data.X[:50]).astype(np.float64)
    gap = Z[:, None] - model.means_
    log = -0.5 * (np.log(2 * np.pi * model.variances_) + gap**2 / model.variances_).sum(2) + np.log(model.weights_)
    expected = np.exp(log - log.max(1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(data.X[:50]), expected / expected.sum(1, keepdims=True), atol=1e-4)


def test_scale_and_place_of_the_data_do_not_matter(data):
    """Rows of unit length would otherwise drown in a likelihood of variance 1, and rows far off in their mean."""
    fit = lambda X: VAE(n_epochs=3, **QUICK).fit_transform(X)  # noqa: E731
    np.testing.assert_allclose(fit(1e-2 * data.X + 3.0), fit(data.X), atol=0.02)


@pytest.mark.filterwarnings("ignore:The embedding collapsed")  # so does one that hardly trained
def test_likelihood_follows_the_data(data):
    rng = np.random.default_rng(0)
    pixels = np.clip(rng.normal(0.3, 0.6, size=(50, 20)), 0, 1)
    words = rng.random((50, 20)) * (rng.random((50, 20)) < 0.2) * 0.4
    for X, binary in ((pixels, True), (words, False), (np.round(pixels), True), (data.X[:50], False)):
        assert VAE(n_epochs=0, **QUICK).fit(X).network_.binary == binary
    assert not VAE(n_epochs=0, likelihood="gaussian", **QUICK).fit(pixels).network_.binary


def test_same_seed_same_model(data):
    make = lambda: VaDE(n_components=4, n_pretrain=2, n_epochs=2, **QUICK).fit(data.X[:300])  # noqa: E731
    np.testing.assert_array_equal(make().transform(data.X[:50]), make().transform(data.X[:50]))


def test_save_and_load(data, model, tmp_path):
    file = tmp_path / "model.safetensors"
    model.save(file)
    again = VaDE.load(file)
    np.testing.assert_array_equal(again.transform(data.X), model.transform(data.X))
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    with pytest.raises(InvalidInput, match="holds a VaDE, not a VAE"):
        VAE.load(file)
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(FileError, match="damaged"):
        VaDE.load(file)
    with pytest.raises(FileError, match="there is no file"):
        VaDE.load(tmp_path / "none")


@pytest.mark.filterwarnings("ignore:The embedding collapsed")  # so does one that hardly trained
def test_parameters_of_numpy_are_saved(data, tmp_path):
    """``n_components=y.max() + 1`` is no int of Python."""
    shape = {**QUICK, "n_latent": np.int64(2), "hidden": np.array([16, 8])}
    model = VaDE(n_components=np.int64(3), n_pretrain=1, n_epochs=1, **shape).fit(data.X[:100])
    model.save(tmp_path / "model")
    again = VaDE.load(tmp_path / "model")
    assert again.hidden == [16, 8] and again.n_components == 3
    np.testing.assert_array_equal(again.transform(data.X), model.transform(data.X))


def test_files_without_safetensors(data, model, tmp_path, monkeypatch):
    for name in ("safetensors", "safetensors.torch"):
        monkeypatch.setitem(sys.modules, name, None)
    for use in (model.save, VaDE.load):
        with pytest.raises(MissingExtra, match=r"Install it with: pip install 'cladify\[torch\]'"):
            use(tmp_path / "model")


def test_newer_file(data, model, tmp_path, monkeypatch):
    from cladify.embed import _storage as storage

    monkeypatch.setattr(storage, "FORMAT", 2)
    model.save(tmp_path / "new")
    monkeypatch.setattr(storage, "FORMAT", 1)
    with pytest.raises(FileError, match="a newer one may read it"):
        VaDE.load(tmp_path / "new")


@pytest.mark.filterwarnings("ignore:Only .* components hold points")  # so does a training of some batches
def test_goes_on_after_a_stop(data):
    calls = []

    def stop(stage, done, total):
        calls.append(stage)
        if stage == "elbo" and done == 2:
            raise KeyboardInterrupt

    model = VaDE(n_components=4, n_pretrain=2, n_epochs=6, warm_start=True, **QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X[:300], progress=stop)
    before = len(model.history_["elbo"])
    model.fit(data.X[:300])
    assert len(model.history_["autoencoder"]) == 2
    assert len(model.history_["elbo"]) == before + 6


def test_stopped_before_the_prior(data, tmp_path):
    def stop(stage, done, total):
        if stage == "autoencoder" and done == 1:
            raise KeyboardInterrupt

    model = VaDE(n_components=4, n_pretrain=2, n_epochs=1, **QUICK).fit(data.X[:300])
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X[:300], progress=stop)
    for use in (model.predict, model.rescaled, lambda _: model.means_, lambda _: model.save(tmp_path / "model")):
        with pytest.raises(NotFittedError, match="stopped before its clusters began"):
            use(data.X)
    assert model.set_params(warm_start=True).fit(data.X[:300]).predict(data.X).shape == (len(data.X),)


@pytest.mark.parametrize(("name", "value"), [("n_latent", 2), ("hidden", (8,)), ("n_components", 5)])
def test_going_on_keeps_the_shape(data, name, value):
    model = VaDE(n_components=4, n_pretrain=1, n_epochs=1, warm_start=True, **QUICK).fit(data.X[:300])
    with pytest.raises(InvalidInput, match=r"X has 3 columns, .* of 40\. Use warm_start=False"):
        model.fit(data.X[:300, :3])
    model.set_params(**{name: value})
    assert model.transform(data.X).shape == (len(data.X), 3)
    with pytest.raises(InvalidInput, match=rf"{name} is .*goes on with a model of {name}="):
        model.fit(data.X[:300])


@pytest.mark.filterwarnings("ignore:Only .* components hold points")  # half a second may be too short for a mixture
def test_budget_ends_training(data):
    model = VaDE(n_components=4, n_pretrain=10_000, n_epochs=10_000, budget_seconds=0.5, **QUICK).fit(data.X)
    assert 0 < len(model.history_["elbo"]) < 1000


def test_bad_input(data):
    with pytest.raises(InvalidInput, match="at most the number of points"):
        VaDE(n_components=5, **QUICK).fit(data.X[:3])
    with pytest.raises(InvalidInput, match="NaN in 1 row"):
        VAE(**QUICK).fit(np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(InvalidInput, match="start 'random' is not known"):
        VaDE(start="random", **QUICK).fit(data.X)
    with pytest.raises(InvalidInput, match="'huge' is not known"):
        VAE(hidden="huge", n_epochs=1).fit(data.X)
    with pytest.raises(InvalidInput, match=r"hidden must be one of paper, .*, got 32"):
        VAE(hidden=32, n_epochs=1).fit(data.X)
    for scale in (1e30, 1e-30):
        with pytest.raises(InvalidInput, match=r"X has values up to .*; divide X by .* first"):
            VAE(**QUICK).fit(scale * data.X.astype(np.float64))
    with pytest.raises(InvalidInput, match=r"for values in \[0, 1\], got -.*Scale X, or use"):
        VAE(likelihood="bernoulli", **QUICK).fit(data.X)
    with pytest.warns(CladifyWarning, match="Column 1 of X has a standard deviation .* Scale the columns"):
        VAE(n_epochs=1, **QUICK).fit(data.X[:50] * np.where(np.arange(40) == 1, 1000.0, 1.0))
    with pytest.warns(CladifyWarning, match="All rows of X are equal"):
        VAE(n_epochs=1, **QUICK).fit(np.ones((10, 3)))


def test_one_point():
    assert VAE(n_epochs=1, **QUICK).fit_transform(np.ones((1, 3))).shape == (1, 3)
    model = VaDE(n_components=1, n_pretrain=1, n_epochs=1, **QUICK)
    assert model.fit(np.array([[0.0, 1.0], [1.0, 0.0]])).predict([[0.0, 1.0]]).tolist() == [0]


TINY = {"hidden": (8,), "n_latent": 2, "n_epochs": 1, "random_state": 0, "n_jobs": 1}


@pytest.mark.filterwarnings("ignore")  # SciPy's array API, and rows of very different columns
@pytest.mark.parametrize("model", [VAE(**TINY), VaDE(n_components=1, n_pretrain=1, **TINY), Rescale(n_components=1)])
def test_scikit_learn_conventions(model):
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(model)


def test_pipeline(data):
    from sklearn.pipeline import make_pipeline

    steps = VaDE(n_components=8, n_pretrain=3, n_epochs=1, **QUICK), Rescale(n_components=8, random_state=0)
    labels = make_pipeline(*steps, cladify.HAC(linkage="ward", n_clusters=8)).fit_predict(data.X)
    assert labels.max() == 7


@pytest.mark.filterwarnings("ignore:The embedding collapsed")
def test_the_preset_is_the_printed_prior(data, tmp_path):
    """Equal weights, one variance a component, a start from a mixture in the autoencoder's space, batches of 800."""
    shape = {"n_components": 8, "n_latent": 3, "hidden": "small", "n_pretrain": 25, "n_epochs": 2, "random_state": 0}
    model = VaDE(preset="paper", n_jobs=1, **shape).fit(data.X)
    np.testing.assert_allclose(model.weights_, 1 / 8)
    assert model.variances_.shape == (8, 3) and (model.variances_ == model.variances_[:, :1]).all()
    assert len(np.unique(model.variances_)) == 8
    same = VaDE(start="mixture", prior="isotropic", guide=0.0, batch_size=800, n_jobs=1, **shape).fit(data.X)
    np.testing.assert_array_equal(model.transform(data.X), same.transform(data.X))
    gap = model.transform(data.X[:50]).astype(np.float64)[:, None] - model.means_
    log = -0.5 * (np.log(model.variances_) + gap**2 / model.variances_).sum(2)
    expected = np.exp(log - log.max(1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(data.X[:50]), expected / expected.sum(1, keepdims=True), atol=1e-4)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(VaDE.load(tmp_path / "model").variances_, model.variances_)
    guided = VaDE(prior="isotropic", **{**shape, "n_epochs": 0}).fit(data.X)
    np.testing.assert_allclose(guided.weights_, 1 / 8)
    with pytest.raises(InvalidInput, match="prior 'diag' is not known"):
        VaDE(prior="diag", **shape).fit(data.X)


def test_a_preset_keeps_what_was_given(data):
    kept = VaDE(preset="paper", batch_size=100, start="mixture", prior="isotropic")._with_preset()
    assert (kept.batch_size, kept.start, kept.guide) == (100, "mixture", 0.0)
