"""The networks, and the loop that trains them: batches, a time budget, early stopping, and warnings."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import CladifyError, MissingExtra

try:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy
except ImportError:  # pragma: no cover - the extra is there where tests run
    raise MissingExtra("Training an embedding", "torch") from None

__all__ = ["PRESETS", "Coder", "Diverged", "cross_entropy", "train"]

#: Widths of the hidden layers of the encoder; the decoder has them in reverse. "paper" is that of VaDE.
PRESETS = {"paper": (2000, 500, 500), "medium": (500, 500, 1000), "small": (256, 128)}

#: Of the Gaussian likelihood, beside data of variance 1: rows that a network learns by heart must not blow up the loss.
LEAST_VARIANCE = 1e-4


class Diverged(CladifyError):
    """The loss was no longer a number."""


def stack(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU after each."""
    layers: list[nn.Module] = []
    for wide, narrow in itertools.pairwise(widths):
        layers += [nn.Linear(wide, narrow), nn.ReLU()]
    return nn.Sequential(*layers)


class Coder(nn.Module):
    """Encoder to the mean and log-variance of a latent Gaussian, and decoder back to the data.

    ``binary`` data lie in [0, 1] and have a Bernoulli likelihood. Others are centred and divided by one number, and
    have a Gaussian likelihood of one variance: the best for each batch, so that the scale of the data does not matter.
    ``in_bfloat16`` runs the wide layers in bfloat16; weights, the latent space and the losses stay in float32.
    """

    shift: torch.Tensor
    unit: torch.Tensor

    def __init__(self, d: int, hidden: Sequence[int], h: int, binary: bool) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(d))
        self.register_buffer("unit", torch.ones(()))
        self.encoder = stack([d, *hidden])
        self.mean = nn.Linear(hidden[-1], h)
        self.log_variance = nn.Linear(hidden[-1], h)
        self.decoder = nn.Sequential(stack([h, *reversed(hidden)]), nn.Linear(hidden[0], d))
        self.binary = binary
        self.in_bfloat16 = False

    def scale_to(self, X: np.ndarray) -> None:
        """Take the centre and the unit of :meth:`scaled` from the data."""
        if not self.binary:
            unit = float(np.sqrt(X.var(axis=0, dtype=np.float64).mean()))
            self.shift = torch.from_numpy(X.mean(axis=0, dtype=np.float64).astype(np.float32))
            self.unit = torch.tensor(unit or 1.0)

    def scaled(self, rows: np.ndarray) -> torch.Tensor:
        """Rows as the network takes them; a copy, for they may be read-only, or of a file."""
        return torch.from_numpy(np.array(rows, dtype=np.float32)).sub_(self.shift).div_(self.unit)

    def wide(self, layers: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """``layers`` applied to ``x``, in bfloat16 where asked."""
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.in_bfloat16):
            out = layers(x)
        return out.float()

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and log-variance of q(z | x)."""
        hidden = self.wide(self.encoder, x)
        return self.mean(hidden), self.log_variance(hidden).clamp(-12.0, 6.0)

    def misfit(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """-log p(x | z) of every row, up to a constant."""
        out = self.wide(self.decoder, z)
        if self.binary:
            return nn.functional.binary_cross_entropy_with_logits(out, x, reduction="none").sum(1)
        gap = (out - x).square()
        variance = gap.detach().mean().clamp(min=LEAST_VARIANCE)
        return 0.5 * (gap.sum(1) / variance + x.shape[1] * variance.log())


def sample(mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
    """One draw from a Gaussian, through which gradients pass."""
    return mean + torch.randn_like(mean) * (0.5 * log_variance).exp()


def train(
    parameters: Any,
    loss_of: Callable[[torch.Tensor, np.ndarray], torch.Tensor],
    scaled: Callable[[np.ndarray], torch.Tensor],
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
    losses: list[float],
) -> None:
    """Adam over shuffled batches until the epochs, the patience or the time are used up.

    The average loss of every epoch is added to ``losses``.
    Raises :class:`Diverged` as soon as a loss is not finite.
    """
    optimizer = torch.optim.Adam(parameters, lr=learning_rate, fused=True)  # bounds each step itself: no clipping
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, decay)
    best, since = np.inf, 0
    with report.stage(stage, n_epochs) as advance:
        for _ in range(n_epochs):
            order = rng.permutation(len(X))
            total = 0.0
            for start in range(0, len(X), batch_size):
                rows = order[start : start + batch_size]
                batch = scaled(X[rows])
                loss = loss_of(batch, rows).mean()
                value = loss.item()
                if not np.isfinite(value):
                    raise Diverged(f"The loss of stage {stage!r} is {value}; scale the data, or lower learning_rate.")
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                total += value * len(batch)
                if deadline is not None and time.monotonic() > deadline:
                    break
            losses.append(total / len(X))
            schedule.step()
            report.note(stage, f"loss {losses[-1]:.4g}")
            advance()
            if deadline is not None and time.monotonic() > deadline:
                return
            if losses[-1] < best - 1e-4 * abs(best if np.isfinite(best) else 1.0):
                best, since = losses[-1], 0
            else:
                since += 1
                if since >= patience:
                    return
