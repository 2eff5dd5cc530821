"""VaDE: a variational autoencoder whose prior is a mixture of Gaussians, one a cluster."""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from cladify._kit.params import check_choice, integer, number
from cladify._kit.progress import Progress
from cladify.embed._clusters import LEAST_VARIANCE, graph_clusters, moments
from cladify.embed._network import cross_entropy, sample, torch
from cladify.embed.rescaling import rescale
from cladify.embed.vae import VAE
from cladify.errors import CladifyWarning, InvalidInput

__all__ = ["VaDE"]

#: Rows at most that a mixture is fitted to.
MIXTURE_ROWS = 20_000


@dataclass(kw_only=True, eq=False, repr=False)
class VaDE(VAE):
    r"""Variational deep embedding: clusters are components of the prior.

    The prior is :math:`p(z, c) = \pi_c N(z; \mu_c, \sigma_c^2)`. With :math:`\tilde\mu, \tilde\sigma^2` from the
    encoder, z drawn from them and :math:`\gamma_c = p(c | z)`, the loss of a row is

    .. math::
        -\log p(x|z) + \tfrac12 \sum_c \gamma_c \sum_j \Big( \log \sigma_{cj}^2 + \frac{\tilde\sigma_j^2}{\sigma_{cj}^2}
        + \frac{(\tilde\mu_j - \mu_{cj})^2}{\sigma_{cj}^2} \Big) - \sum_c \gamma_c \log \frac{\pi_c}{\gamma_c}
        - \tfrac12 \sum_j (1 + \log \tilde\sigma_j^2).

    Three stages: an autoencoder without noise, the prior's start in its latent space, and the loss above. With
    ``start="graph"`` the loss has one more term, :math:`-g \log \gamma_{c(x)}`, with c(x) the row's cluster at the
    start. Without it the components drift off to others that have the same loss and mean less (``docs/embed.md``).

    Printed, the weights π of the mixture are 1/k each and a component has one variance, σ²I (``prior="isotropic"``); by
    default the weights are learned, and a variance a coordinate.

    Parameters
    ----------
    n_components : int
        k: clusters of the prior.
    n_latent, hidden, likelihood, n_epochs, batch_size, learning_rate, patience, precision, budget_seconds, warm_start
        As in :class:`VAE`; half of the time budget goes to the first stage.
    n_pretrain : int
        Epochs of the autoencoder.
    start : "graph" or "mixture"
        Where the prior's components begin, in the latent space of the autoencoder: at the k clusters that
        ``cladify.fit(X, method="graph")`` sees in the rows themselves, which need not be round, or at a Gaussian
        mixture fitted to that space, as in the paper.
    prior : "diagonal" or "isotropic"
        What is learned of the prior beside its means: weights and a variance a coordinate, or one variance a component.
    guide : float
        g: the weight, in nats a row, of the clusters that ``start="graph"`` found. 0 leaves them as a start alone.
    metric : "auto", "cosine" or "sqeuclidean"
        Of ``start="graph"``. "auto" compares rows without negative values, such as pixels and counts, by their angle.
    preset : "paper", optional
        As printed: the start from a mixture without a guide, the isotropic prior, batches of 800 rows; network and
        rate are the printed ones by default. It sets parameters that are at their defaults. How long the paper trains
        is not printed.
    random_state, n_jobs
        As in :class:`VAE`.

    Attributes
    ----------
    means_, variances_ : float64 arrays of shape (k, h)
    weights_ : float64 array of shape (k,)
    metric_ : str
        By which ``start="graph"`` compared the rows.
    history_ : dict from stages to the average loss of every epoch

    Examples
    --------
    >>> from cladify.datasets import btgm
    >>> data = btgm(2, 100, n_features=4, random_state=0)
    >>> model = VaDE(n_components=2, n_latent=1, hidden="small", n_epochs=2, n_pretrain=5, random_state=0).fit(data.X)
    >>> model.transform(data.X).shape, model.predict(data.X).shape
    ((200, 1), (200,))

    References
    ----------
    .. [1] Jiang, Zheng, Tan, Tang, Zhou. Variational deep embedding. IJCAI 2017.
    .. [2] Zhao, Hao, Rashtchian. Unsupervised embedding of hierarchical structure in Euclidean space. 2020, §3.
    """

    _checks: ClassVar = {**VAE._checks, "n_components": integer(1), "n_pretrain": integer(0), "guide": number(0.0)}

    _presets: ClassVar = {
        "paper": {
            "start": "mixture",
            "prior": "isotropic",
            "guide": 0.0,
            "batch_size": 800,
        }
    }

    n_components: int = 10
    n_pretrain: int = 50
    start: str = "graph"
    prior: str = "diagonal"
    guide: float = 10.0
    metric: str = "auto"
    preset: str | None = None

    def _check_data(self, X: np.ndarray) -> None:
        super()._check_data(X)
        check_choice("start", self.start, ["graph", "mixture"])
        check_choice("prior", self.prior, ["diagonal", "isotropic"])
        check_choice("metric", self.metric, ["auto", "cosine", "sqeuclidean"])
        if self.n_components > len(X):
            raise InvalidInput(
                f"n_components must be at most the number of points, got {self.n_components} for {len(X)}."
            )

    def _make(self, n_features: int, binary: bool) -> None:
        super()._make(n_features, binary)
        self._mean: Any = None  # until the prior starts
        self._held: tuple[int | None, Any] = None, None

    def _sizes(self) -> dict[str, Any]:
        return {**super()._sizes(), "n_components": self.n_components}

    def _train(self, X: np.ndarray, deadline: float | None, rng: np.random.Generator, report: Progress) -> None:
        network = self.network_
        if self._mean is None:
            half = None if deadline is None or self.budget_seconds is None else deadline - 0.5 * self.budget_seconds
            plain = lambda x, _: network.misfit(x, network.encode(x)[0])  # noqa: E731
            self._stage("autoencoder", plain, network.parameters(), X, self.n_pretrain, half, rng, report)
            self._start_prior(X, rng, report)
        parameters = [*network.parameters(), self._mean, self._log_variance]
        if self._with_preset().prior == "diagonal":
            parameters.append(self._logit)
        held = self._held_clusters(X)
        loss = lambda x, rows: self._loss(x, None if held is None else held[rows])  # noqa: E731
        self._stage("elbo", loss, parameters, X, self.n_epochs, deadline, rng, report)

    def _start_prior(self, X: np.ndarray, rng: np.random.Generator, report: Progress) -> None:
        """The prior's first components, in the latent space of the autoencoder."""
        k, seed, asked = self.n_components, int(rng.integers(2**31)), self._with_preset()
        if asked.start == "mixture":
            rows = X if len(X) <= MIXTURE_ROWS else X[np.sort(rng.choice(len(X), MIXTURE_ROWS, replace=False))]
            kind = "diag" if asked.prior == "diagonal" else "spherical"
            means, variances, weights = _mixture(self.transform(rows).astype(np.float64), k, seed, kind)
        else:
            self.metric_ = self.metric
            if self.metric == "auto":
                self.metric_ = "cosine" if X.min() >= 0.0 else "sqeuclidean"
            options: dict[str, Any] = {"metric": self.metric_, "random_state": seed, "n_jobs": self.n_jobs}
            clusters = graph_clusters(X, k, **options, progress=report)
            self._held = _checksum(X), clusters
            means, variances, weights = moments(self.transform(X).astype(np.float64), clusters, k)
        if asked.prior == "isotropic":
            variances, weights = variances.reshape(k, -1).mean(axis=1, keepdims=True), np.full(k, 1.0 / k)
        self._set_mixture(means, np.log(variances), np.log(weights + 1e-12))

    def _held_clusters(self, X: np.ndarray) -> Any:
        """The clusters that guide: those of the start, or for rows it has not seen, the model's own so far."""
        asked = self._with_preset()
        if asked.start == "mixture" or not asked.guide:
            return None
        seen, clusters = self._held
        return torch.from_numpy(clusters if seen == _checksum(X) else self.predict(X))

    def _set_mixture(self, mean: Any, log_variance: Any, logit: Any) -> None:
        self._mean, self._log_variance, self._logit = (
            torch.nn.Parameter(torch.as_tensor(np.asarray(value), dtype=torch.float32).clone())
            for value in (mean, log_variance, logit)
        )

    def _log_joint(self, z: Any) -> Any:
        """log π_c + log N(z; μ_c, σ_c²) for every row and component."""
        gap = z[:, None, :] - self._mean
        log_variance = self._log_variance.clamp(-12.0, 12.0)
        density = -0.5 * (log_variance + gap.square() / log_variance.exp() + np.log(2 * np.pi)).sum(2)
        return density + torch.log_softmax(self._logit, 0)

    def _loss(self, x: Any, clusters: Any = None) -> Any:
        mean, log_variance = self.network_.encode(x)
        z = sample(mean, log_variance)
        joint = self._log_joint(z)
        gamma = torch.softmax(joint, 1)
        prior = self._log_variance.clamp(-12.0, 12.0)
        gap = (mean[:, None, :] - self._mean).square() + log_variance.exp()[:, None, :]
        inside = 0.5 * (gamma * (prior + gap / prior.exp()).sum(2)).sum(1)
        share = (gamma * (torch.log_softmax(self._logit, 0) - (gamma + 1e-10).log())).sum(1)
        loss = self.network_.misfit(x, z) + inside - share - 0.5 * (1.0 + log_variance).sum(1)
        if clusters is None:
            return loss
        return loss + self.guide * cross_entropy(joint, clusters, ignore_index=-1, reduction="none")

    def _rows_a_step(self, n: int) -> int:
        return self._with_preset().batch_size or super()._rows_a_step(n)

    def _look_out(self, X: np.ndarray) -> None:
        super()._look_out(X)
        used = np.bincount(self.predict(X[:: max(1, len(X) // 5000)]), minlength=self.n_components)
        if self.n_components > 1 and (used > 0).sum() <= self.n_components // 2:
            warnings.warn(
                f"Only {int((used > 0).sum())} of {self.n_components} components hold points: the mixture collapsed. "
                "Pretrain longer (n_pretrain), or use fewer components.",
                CladifyWarning,
                stacklevel=3,
            )

    # --- using --------------------------------------------------------------------------------------------------------

    def _check_prior(self) -> None:
        check_is_fitted(self, "network_")
        if self._mean is None:
            raise NotFittedError(
                "VaDE was stopped before its clusters began. Fit it again; warm_start=True goes on where it was."
            )

    @property
    def means_(self) -> np.ndarray:
        """Means of the components in the latent space."""
        self._check_prior()
        return self._mean.detach().numpy().astype(np.float64)

    @property
    def variances_(self) -> np.ndarray:
        """Variances of the components in the latent space."""
        self._check_prior()
        variances = np.exp(self._log_variance.detach().numpy().astype(np.float64))
        return np.tile(variances, (1, self._mean.shape[1])) if variances.shape[1] == 1 else variances

    @property
    def weights_(self) -> np.ndarray:
        """Shares of the components."""
        self._check_prior()
        return torch.softmax(self._logit.detach(), 0).numpy().astype(np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """The most likely component of every row."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every component for every row."""
        self._check_prior()
        with torch.no_grad():
            return torch.softmax(self._log_joint(torch.from_numpy(self.transform(X))), 1).numpy()

    def rescaled(self, X: Any, s: float = 3.0) -> np.ndarray:
        """The embedding with the model's own clusters moved apart; see :func:`cladify.embed.rescale`."""
        return rescale(self.transform(X), self.means_, self.predict(X), s)

    def _tensors(self) -> dict[str, Any]:
        self._check_prior()
        own = {"prior.mean": self._mean, "prior.log_variance": self._log_variance, "prior.logit": self._logit}
        return {**super()._tensors(), **{name: value.detach() for name, value in own.items()}}

    def _restore(self, tensors: dict[str, Any], n_features: int, binary: bool) -> None:
        prior = [tensors.pop(f"prior.{name}") for name in ("mean", "log_variance", "logit")]
        super()._restore(tensors, n_features, binary)
        self._set_mixture(*(value.numpy() for value in prior))


def _mixture(Z: np.ndarray, k: int, seed: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, variances and weights of the best of five Gaussian mixtures.

    Of one start in several, two clusters often share a component, which the stage that follows seldom mends.
    """
    mixture = GaussianMixture(k, covariance_type=kind, n_init=5, reg_covar=LEAST_VARIANCE, random_state=seed)
    with warnings.catch_warnings():  # a start need not have converged
        warnings.simplefilter("ignore")
        mixture.fit(Z)
    return mixture.means_, mixture.covariances_, mixture.weights_


def _checksum(X: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(X).data)
