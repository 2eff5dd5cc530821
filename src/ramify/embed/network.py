"""The networks, and the loop that trains them: batches, a time budget, early stop, and what goes wrong said aloud."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramify.errors import MissingExtra, RamifyError
from ramify.progress import Progress

try:
    import torch
    from torch import nn
except ImportError:  # pragma: no cover - the extra is there where tests run
    raise MissingExtra("Training an embedding", "torch") from None

__all__ = ["PRESETS", "Coder", "Diverged", "History", "train"]

#: Widths of the hidden layers of the encoder; the decoder has them in reverse. "paper" is that of VaDE.
PRESETS = {"paper": (2000, 500, 500), "medium": (500, 500, 1000), "small": (256, 128)}


class Diverged(RamifyError):
    """The loss was no longer a number."""


def stack(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU after each."""
    layers: list[nn.Module] = []
    for wide, narrow in itertools.pairwise(widths):
        layers += [nn.Linear(wide, narrow), nn.ReLU()]
    return nn.Sequential(*layers)


class Coder(nn.Module):
    """Encoder to the mean and log-variance of a latent Gaussian, and decoder back to the data.

    ``binary`` data lie in [0, 1] and have a Bernoulli likelihood; others a Gaussian one of variance 1.
    """

    def __init__(self, d: int, hidden: Sequence[int], h: int, binary: bool) -> None:
        super().__init__()
        self.encoder = stack([d, *hidden])
        self.mean = nn.Linear(hidden[-1], h)
        self.log_variance = nn.Linear(hidden[-1], h)
        self.decoder = nn.Sequential(stack([h, *reversed(hidden)]), nn.Linear(hidden[0], d))
        self.binary = binary

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and log-variance of q(z | x)."""
        hidden = self.encoder(x)
        return self.mean(hidden), self.log_variance(hidden).clamp(-12.0, 6.0)

    def misfit(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """-log p(x | z) of every row, up to a constant."""
        out = self.decoder(z)
        if self.binary:
            return nn.functional.binary_cross_entropy_with_logits(out, x, reduction="none").sum(1)
        return 0.5 * (out - x).square().sum(1)


def sample(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
    """One draw from a Gaussian, through which gradients pass."""
    return mean + torch.randn_like(mean) * (0.5 * log_variance).exp()


@dataclass
class History:
    """The average loss of every epoch, by stage."""

    losses: dict[str, list[float]] = field(default_factory=dict)


def train(
    parameters: Any,
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    X: np.ndarray,
    *,
    stage: str,
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    decay: float,
    patience: int,
    deadline: float | None,
    rng: np.random.Generator,
    report: Progress,
    history: History,
) -> None:
    """Adam over shuffled batches until the epochs, the patience or the time are used up.

    Raises :class:`Diverged` as soon as a loss is not finite.
    """
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, decay)
    losses = history.losses.setdefault(stage, [])
    best, since = np.inf, 0
    with report.stage(stage, n_epochs) as advance:
        for _ in range(n_epochs):
            order = rng.permutation(len(X))
            total = 0.0
            for start in range(0, len(X), batch_size):
                batch = torch.from_numpy(X[order[start : start + batch_size]])  # a copy: X may be read-only, a file
                loss = loss_of(batch).mean()
                value = loss.item()
                if not np.isfinite(value):
                    raise Diverged(f"The loss of stage {stage!r} is {value}; scale the data, or lower learning_rate.")
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], 100.0)
                optimizer.step()
                total += value * len(batch)
                if deadline is not None and time.monotonic() > deadline:
                    break
            losses.append(total / len(X))
            schedule.step()
            advance()
            if deadline is not None and time.monotonic() > deadline:
                return
            if losses[-1] < best - 1e-4 * abs(best if np.isfinite(best) else 1.0):
                best, since = losses[-1], 0
            else:
                since += 1
                if since >= patience:
                    return
