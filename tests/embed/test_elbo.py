"""The losses, term by term, against SciPy's densities and averages over many draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

torch = pytest.importorskip("torch")

from cladify.embed import VAE, VaDE

DRAWS = 50_000


def untrained(cls, X, **params):
    """A model as it starts: random weights, far from any optimum, where each term counts."""
    model = cls(n_latent=2, hidden=(16,), n_epochs=0, random_state=0, n_jobs=1, **params).fit(X)
    with torch.no_grad():  # variances of q that differ, and not all near 1
        model.network_.log_variance.weight *= 5
    return model


def posterior(model, x):
    mean, log_variance = (value.detach().numpy().astype(np.float64) for value in model.network_.encode(x))
    return mean, np.exp(0.5 * log_variance)


def drawn(model, mean, deviation, seed=1):
    """Draws of q(z | x) of shape (DRAWS, rows, h), and their log-densities."""
    z = mean + deviation * np.random.default_rng(seed).standard_normal((DRAWS, *mean.shape))
    return z, stats.norm.logpdf(z, mean, deviation).sum(2)


def loss_and_draw(model, x):
    """The loss of each row, and the z it was computed for."""
    torch.manual_seed(3)
    loss = model._loss(x).detach().numpy()
    torch.manual_seed(3)
    mean, log_variance = model.network_.encode(x)
    z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
    return loss, z.detach()


def log_likelihood(model, x, z):
    """log p(x | z) from the decoder's output by SciPy."""
    with torch.no_grad():
        out = model.network_.decoder(torch.as_tensor(z, dtype=torch.float32)).numpy().astype(np.float64)
    if model.network_.binary:
        p = 1 / (1 + np.exp(-out))
        return (x * np.log(p) + (1 - x) * np.log1p(-p)).sum(-1)
    deviation = np.sqrt(np.square(out - x).mean())  # the best for the batch
    return stats.norm.logpdf(x, out, deviation).sum(-1) + 0.5 * x.shape[-1] * np.log(2 * np.pi)  # a constant left out


@pytest.fixture(params=["gaussian", "bernoulli"])
def X(request):
    rng = np.random.default_rng(0)
    if request.param == "bernoulli":
        return rng.integers(0, 2, size=(60, 5)).astype(np.float32)
    return (2 * rng.standard_normal((60, 5))).astype(np.float32)


def test_vae(X):
    model = untrained(VAE, X)
    x = model.network_.scaled(X[:4])
    loss, z = loss_and_draw(model, x)
    draws, log_q = drawn(model, *posterior(model, x))
    divergence = (log_q - stats.norm.logpdf(draws).sum(2)).mean(0)
    np.testing.assert_allclose(loss, divergence - log_likelihood(model, x.numpy(), z), rtol=0.01)


def mixture(model, z):
    """log p(z | c) and log p(c)."""
    density = stats.norm.logpdf(z[..., None, :], model.means_, np.sqrt(model.variances_)).sum(-1)
    return density, np.log(model.weights_)


def test_vade(X):
    model = untrained(VaDE, X, n_components=3, n_pretrain=0)
    x = model.network_.scaled(X[:4])
    loss, z = loss_and_draw(model, x)
    density, share = mixture(model, z.numpy())
    log_gamma = density + share - logsumexp(density + share, axis=1, keepdims=True)
    draws, log_q = drawn(model, *posterior(model, x))
    density, share = mixture(model, draws)
    inside = (np.exp(log_gamma) * (density + share - log_gamma)).sum(2)
    np.testing.assert_allclose(loss, (log_q - inside).mean(0) - log_likelihood(model, x.numpy(), z), rtol=0.01)


@pytest.mark.parametrize("cls", [VAE, VaDE])
def test_lower_bound_of_the_evidence(X, cls):
    """On average over draws, the loss is no less than -log p(x), here by importance sampling."""
    model = untrained(cls, X, **({"n_components": 3, "n_pretrain": 0} if cls is VaDE else {}))
    x = model.network_.scaled(X[:1])
    mean, deviation = posterior(model, x)
    draws, log_q = drawn(model, mean, deviation)
    log_prior = logsumexp(sum(mixture(model, draws)), axis=2) if cls is VaDE else stats.norm.logpdf(draws).sum(2)
    log_joint = log_likelihood(model, x.numpy(), draws) + log_prior
    evidence = float(logsumexp(log_joint - log_q) - np.log(DRAWS))
    with torch.no_grad():
        bound = float(model._loss(x.repeat(DRAWS, 1)).mean())
    gap, least = bound + evidence, evidence - float((log_joint - log_q).mean())
    if cls is VAE:
        assert gap == pytest.approx(least, rel=0.02)
    assert gap > 0.98 * least > 0  # VaDE's shares come from another draw than its z: a looser bound, as in its paper
