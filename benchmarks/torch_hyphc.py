"""HypHC's loss of a batch of triplets in plain PyTorch: what the native kernel is measured against.

Lemma 4.1 and equation 9 of the paper, vectorised over the batch, gradients by autograd.
"""

from __future__ import annotations

from typing import Any


def depth(x: Any, y: Any) -> Any:
    """Depth of the common ancestors of the rows of x and y, by the lemma's α and R."""
    import torch

    eps = 1e-12 if x.dtype == torch.float64 else 1e-6
    r_x, r_y = x.norm(dim=-1).clamp_min(eps), y.norm(dim=-1).clamp_min(eps)
    cosine = ((x * y).sum(dim=-1) / (r_x * r_y)).clamp(-1 + eps, 1 - eps)
    sine = (1 - cosine**2).sqrt()
    alpha = torch.atan((r_x * (r_y**2 + 1) / (r_y * (r_x**2 + 1)) - cosine) / sine)
    radius = (((r_x**2 + 1) / (2 * r_x * alpha.cos())) ** 2 - 1).clamp_min(eps).sqrt()
    return 2 * torch.atanh(((radius**2 + 1).sqrt() - radius).clamp(max=1 - eps))


def triplet_loss(z: Any, triplets: Any, similarities: Any, temperature: float) -> Any:
    """Sum of the relaxed costs of triplets."""
    import torch

    i, j, k = z[triplets[:, 0]], z[triplets[:, 1]], z[triplets[:, 2]]
    depths = torch.stack([depth(i, j), depth(i, k), depth(j, k)], dim=1)
    share = torch.softmax(depths / temperature, dim=1)
    return (similarities.sum(dim=1) - (similarities * share).sum(dim=1)).sum()
