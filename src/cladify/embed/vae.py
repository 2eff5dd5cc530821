"""A variational autoencoder as a scikit-learn transformer."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cladify._kit.estimator import Estimator
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import (
    Check,
    check_bool,
    check_choice,
    check_int,
    check_random_state,
    integer,
    number,
    optional,
)
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._vectors import check_vectors
from cladify.embed import _storage as storage
from cladify.embed._network import PRESETS, Coder, Diverged, sample, torch, train
from cladify.errors import CladifyWarning, InvalidInput

__all__ = ["VAE"]

_LARGE = 1e15  # values up to here, and down to one in so many, have squares that float32 holds


@dataclass(kw_only=True, eq=False, repr=False)
class VAE(TransformerMixin, Estimator):
    r"""Variational autoencoder with a standard normal prior.

    Maximises the evidence lower bound

    .. math:: \mathbb{E}_{q(z|x)} \log p(x | z) - \mathrm{KL}(q(z|x) \,\|\, N(0, I)),

    where q(z|x) is a Gaussian whose mean and variance an encoder gives, and p(x|z) comes from a decoder: Bernoulli or
    Gaussian. The Gaussian's variance, one number, is the best for each batch; rows are centred and divided by one
    number before, so that the scale of the data as a whole does not matter. The embedding of a row is the mean of q.

    Parameters
    ----------
    n_latent : int
        h: dimensions of the embedding.
    hidden : "paper", "medium", "small" or a sequence of ints
        Widths of the encoder's hidden layers; the decoder has them in reverse. "paper" is 2000-500-500.
    likelihood : "auto", "bernoulli" or "gaussian"
        Of the data. "auto" takes Bernoulli for values in [0, 1] most of whose weight is near 1, as in images and 0/1
        tables (sum of squares over half of the sum), and Gaussian otherwise.
    n_epochs : int
    batch_size : int, optional
        Rows of a step. By default 800 as in the paper, and fewer for less than 40 000 rows: a fiftieth of them, at
        least 32, because an epoch of two steps teaches little.
    learning_rate : float
        Of Adam; falls by 5 % every 10 epochs.
    patience : int
        Stop after so many epochs without a better loss.
    precision : "float32" or "bfloat16"
        Arithmetic of the wide layers in training. bfloat16 takes about half the time on processors that have it
        (AVX512-BF16, AMX), and longer on others. The trained model embeds in float32 either way.
    budget_seconds : float, optional
        Stop after about this time.
    warm_start : bool
        Go on from the last ``fit`` instead of starting again, also from one that was stopped with Ctrl-C: for another
        ``n_epochs``, in the stage that it had come to.
    random_state : int, optional
    n_jobs : int
        Threads of PyTorch; -1 leaves its own choice.

    Attributes
    ----------
    history_ : dict from stages to the average loss of every epoch

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    >>> VAE(n_latent=2, hidden="small", n_epochs=2, random_state=0).fit_transform(X).shape
    (50, 2)

    References
    ----------
    .. [1] Kingma, Welling. Auto-encoding variational Bayes. ICLR 2014.
    .. [2] Burda, Grosse, Salakhutdinov. Importance weighted autoencoders. ICLR 2016.
    """

    _checks: ClassVar[dict[str, Check]] = {
        "n_latent": integer(1),
        "n_epochs": integer(0),
        "batch_size": optional(integer(1)),
        "learning_rate": number(0.0, open_low=True),
        "patience": integer(1),
        "budget_seconds": optional(number(0.0, open_low=True)),
        "warm_start": check_bool,
    }

    n_latent: int = 10
    hidden: Any = "paper"
    likelihood: str = "auto"
    n_epochs: int = 100
    batch_size: int | None = None
    learning_rate: float = 5e-4
    patience: int = 10
    precision: str = "float32"
    budget_seconds: float | None = None
    warm_start: bool = False
    random_state: Any = None
    n_jobs: int | None = -1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, progress: ProgressLike | Progress = None) -> Self:
        """Train on the rows of ``X``."""
        self.check_params()
        half = check_choice("precision", self.precision, ["float32", "bfloat16"]) == "bfloat16"
        X = _as_float32(check_vectors(X, accept_sparse=False), least=1.0 / _LARGE)
        going_on = self.warm_start and hasattr(self, "network_")
        if going_on:
            self._check_same(X)
        self._check_data(X)
        deadline = None if self.budget_seconds is None else time.monotonic() + self.budget_seconds
        seed = int(check_random_state(self.random_state).integers(2**31))
        with reporting(progress) as report, _seeded(seed, self.n_jobs):
            if not going_on:
                self._make(X.shape[1], self._is_binary(X))
                self.network_.scale_to(X)
            self.network_.in_bfloat16 = half
            try:
                self._train(X, deadline, np.random.default_rng(seed), report)
            finally:
                self.network_.in_bfloat16 = False
        self._look_out(X)
        return self

    def _make(self, n_features: int, binary: bool) -> None:
        """A new network."""
        self.n_features_in_: int = n_features
        self._made = self._sizes()
        self.network_ = Coder(n_features, self._widths(), self.n_latent, binary)
        self.history_: dict[str, list[float]] = {}

    def _sizes(self) -> dict[str, Any]:
        """The parameters that give the model its shape."""
        return {"n_latent": self.n_latent, "hidden": self._widths()}

    def _check_same(self, X: np.ndarray) -> None:
        if X.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"X has {X.shape[1]} columns, but warm_start goes on with a network of {self.n_features_in_}. Use "
                "warm_start=False to start again."
            )
        for name, value in self._sizes().items():
            if value != self._made[name]:
                raise InvalidInput(
                    f"{name} is {value}, but warm_start goes on with a model of {name}={self._made[name]}. Use "
                    "warm_start=False to start again."
                )

    def _train(self, X: np.ndarray, deadline: float | None, rng: np.random.Generator, report: Progress) -> None:
        self._stage(
            "elbo", lambda x, _: self._loss(x), self.network_.parameters(), X, self.n_epochs, deadline, rng, report
        )

    def _stage(
        self,
        name: str,
        loss: Any,
        parameters: Any,
        X: np.ndarray,
        n_epochs: int,
        deadline: float | None,
        rng: np.random.Generator,
        report: Progress,
    ) -> None:
        """Train one stage; where its loss blows up, from where it began with a tenth of the rate."""
        parameters = list(parameters)
        start = [parameter.detach().clone() for parameter in parameters]
        rate = self.learning_rate
        for attempt in range(3):
            try:
                train(
                    parameters,
                    loss,
                    self.network_.scaled,
                    X,
                    stage=name,
                    n_epochs=n_epochs,
                    batch_size=self._rows_a_step(len(X)),
                    learning_rate=rate,
                    decay=0.95**0.1,
                    patience=self.patience,
                    deadline=deadline,
                    rng=rng,
                    report=report,
                    losses=self.history_.setdefault(name, []),
                )
                return
            except Diverged:
                if attempt == 2:
                    raise
                rate /= 10
                with torch.no_grad():
                    for parameter, value in zip(parameters, start, strict=True):
                        parameter.copy_(value)
                warnings.warn(
                    f"Training diverged; stage {name!r} starts again with learning_rate={rate:g}.",
                    CladifyWarning,
                    stacklevel=4,
                )

    def _rows_a_step(self, n: int) -> int:
        return self.batch_size or min(800, max(32, n // 50))

    def _loss(self, x: Any) -> Any:
        mean, log_variance = self.network_.encode(x)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance).sum(1)
        return self.network_.misfit(x, sample(mean, log_variance)) + divergence

    def _is_binary(self, X: np.ndarray) -> bool:
        likelihood = check_choice("likelihood", self.likelihood, ["auto", "bernoulli", "gaussian"])
        inside = bool(X.min() >= 0.0 and X.max() <= 1.0)
        if likelihood == "auto":
            return inside and 2.0 * float(np.vdot(X, X)) > float(X.sum(dtype=np.float64))
        if likelihood == "bernoulli" and not inside:
            raise InvalidInput(
                f"likelihood 'bernoulli' is for values in [0, 1], got {X.min():.3g} to {X.max():.3g}. Scale X, or use "
                "likelihood='gaussian'."
            )
        return likelihood == "bernoulli"

    def _widths(self) -> tuple[int, ...]:
        if isinstance(self.hidden, str):
            return PRESETS[check_choice("hidden", self.hidden, list(PRESETS))]
        widths = tuple(self.hidden) if np.iterable(self.hidden) else ()
        if not widths:
            raise InvalidInput(
                f"hidden must be one of {', '.join(PRESETS)} or the widths of layers, such as (500, 200), got "
                f"{self.hidden!r}."
            )
        return tuple(check_int("hidden", width, low=1) for width in widths)

    def _check_data(self, X: np.ndarray) -> None:
        spread = X.std(axis=0)
        typical = float(np.median(spread[spread > 0])) if spread.any() else 0.0
        if len(X) > 1 and not typical:
            warnings.warn("All rows of X are equal; the embedding says nothing.", CladifyWarning, stacklevel=3)
        elif spread.max() > 30.0 * typical:
            warnings.warn(
                f"Column {int(spread.argmax())} of X has a standard deviation of {spread.max():.3g}, half of the "
                f"columns at most {typical:.3g}; the embedding will see little else. Scale the columns first, for "
                "example with sklearn.preprocessing.StandardScaler.",
                CladifyWarning,
                stacklevel=3,
            )

    def _look_out(self, X: np.ndarray) -> None:
        """Warn where no dimension separates rows: the variance of the means is below a hundredth of the noise [2]_."""
        if len(X) > 1 and X.std(axis=0).any():
            with torch.no_grad():
                mean, log_variance = self.network_.encode(self.network_.scaled(X[:: max(1, len(X) // 2000)]))
            if bool((mean.var(0) < 0.01 * log_variance.exp().mean(0)).all()):
                warnings.warn(
                    "The embedding collapsed: in none of its dimensions do rows differ beyond the noise. Train longer, "
                    "scale the data or use fewer layers; VaDE, which learns without noise first, collapses less often.",
                    CladifyWarning,
                    stacklevel=3,
                )

    # --- using --------------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """The embedding of the rows of ``X``: float32 of shape (n, h)."""
        check_is_fitted(self, "network_")
        X = check_vectors(X, accept_sparse=False, n_features=self.n_features_in_, model=type(self).__name__)
        X = _as_float32(X)
        out = np.empty((len(X), self._made["n_latent"]), dtype=np.float32)
        with torch.no_grad():
            for start in range(0, len(X), 4096):
                rows = self.network_.scaled(X[start : start + 4096])
                out[start : start + 4096] = self.network_.encode(rows)[0].numpy()
        return out

    def save(self, path: str | Path) -> None:
        """Write the model to a file: weights as safetensors, parameters as JSON; nothing is pickled."""
        check_is_fitted(self, "network_")
        storage.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model that :meth:`save` wrote."""
        return storage.load(cls, path)

    def _tensors(self) -> dict[str, Any]:
        return dict(self.network_.state_dict())

    def _restore(self, tensors: dict[str, Any], n_features: int, binary: bool) -> None:
        self._make(n_features, binary)
        self.network_.load_state_dict(tensors)


def _as_float32(X: np.ndarray, least: float = 0.0) -> np.ndarray:
    largest = float(max(X.max(), -X.min())) if len(X) else 0.0
    if largest > _LARGE or 0.0 < largest < least:
        raise InvalidInput(
            f"X has values up to {largest:.2g}, whose squares a network in float32 cannot hold; divide X by "
            f"{largest:.1g} first."
        )
    return X.astype(np.float32, copy=False)


class _seeded:
    """Draws of PyTorch by the seed, and its threads, inside a block; both as before after it."""

    def __init__(self, seed: int, n_jobs: int | None) -> None:
        self.seed = seed
        self.n_jobs = n_jobs

    def __enter__(self) -> None:
        self.state, self.threads = torch.random.get_rng_state(), torch.get_num_threads()
        torch.manual_seed(self.seed)
        if self.n_jobs is not None and self.n_jobs != -1:
            torch.set_num_threads(resolve_jobs(self.n_jobs))

    def __exit__(self, *_: Any) -> None:
        torch.random.set_rng_state(self.state)
        torch.set_num_threads(self.threads)
