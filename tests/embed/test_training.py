"""What goes wrong in training is noticed and said; what can be mended is."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cladify.datasets import btgm
from cladify.embed import VAE, VaDE
from cladify.embed._network import Diverged
from cladify.errors import CladifyWarning, InvalidInput

QUICK = {"n_latent": 2, "hidden": (32,), "random_state": 0, "batch_size": 100, "learning_rate": 2e-3, "n_jobs": 1}


@pytest.fixture(scope="module")
def X():
    return btgm(4, 100, n_features=12, random_state=0).X


def test_divergence_is_said_and_mended(X, monkeypatch):
    plain = VAE._loss
    calls = []

    def once(self, x):  # the third batch of all blows up
        calls.append(0)
        return plain(self, x) * (np.nan if len(calls) == 3 else 1.0)

    monkeypatch.setattr(VAE, "_loss", once)
    with pytest.warns(CladifyWarning, match=r"diverged; stage 'elbo' starts again with learning_rate=0.0002"):
        model = VAE(n_epochs=3, **QUICK).fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert len(model.history_["elbo"]) == 3


def test_divergence_for_good(X, monkeypatch):
    monkeypatch.setattr(VAE, "_loss", lambda self, x: self.network_.encode(x)[0].sum(1) * np.nan)
    with pytest.warns(CladifyWarning, match="diverged"), pytest.raises(Diverged, match="scale the data, or lower"):
        VAE(n_epochs=2, **QUICK).fit(X)


@pytest.mark.parametrize("spread", [0.0, 0.003])
def test_collapsed_latent_space(X, spread):
    """Means that all but coincide say nothing beside noise of variance 1; TF-IDF ends so, at .0025."""
    model = VAE(n_epochs=3, warm_start=True, **QUICK).fit(X).set_params(n_epochs=0)
    with torch.no_grad():
        model.network_.mean.weight.mul_(spread / float(model.transform(X).std(axis=0).max()))
    with pytest.warns(CladifyWarning, match="The embedding collapsed"):
        model.fit(X)


@pytest.mark.filterwarnings("ignore:The embedding collapsed")  # it was not trained
def test_collapsed_mixture(X):
    with pytest.warns(CladifyWarning, match="Only . of 8 components hold points"):
        VaDE(n_components=8, n_pretrain=0, n_epochs=0, **QUICK).fit(np.repeat(np.eye(2, 12), 50, axis=0))


def test_constant_columns(X):
    held = np.hstack([X, np.full((len(X), 3), 7.0, dtype=np.float32)])
    assert np.isfinite(VaDE(n_components=4, n_pretrain=2, n_epochs=2, **QUICK).fit_transform(held)).all()


def test_bfloat16_learns_the_same(X):
    fit = lambda precision: VAE(n_epochs=10, precision=precision, **QUICK).fit(X)  # noqa: E731
    half, full = fit("bfloat16"), fit("float32")
    assert half.history_["elbo"][-1] == pytest.approx(full.history_["elbo"][-1], rel=0.02)
    assert half.history_["elbo"] != full.history_["elbo"]
    assert half.transform(X).dtype == np.float32 and not half.network_.in_bfloat16
    with pytest.raises(InvalidInput, match=r"precision 'float16' is not known\. Did you mean"):
        fit("float16")


def test_without_torch():
    block = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Block())
import cladify.embed
cladify.embed.rescale, cladify.embed.PCA, cladify.embed.Rescale
from cladify.embed import VaDE
"""
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "needs an optional part. Install it with: pip install 'cladify[torch]'"
    )
