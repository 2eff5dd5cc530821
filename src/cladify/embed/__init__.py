"""Embeddings that make hierarchies: variational autoencoders with a Gaussian mixture as prior, and rescaling.

:class:`VAE` and :class:`VaDE` need PyTorch (``pip install 'cladify[torch]'``); the rest does not. ``PCA`` is
scikit-learn's. Whether a trained embedding beats ``cladify.fit(X)`` on what you already have is measured in
``docs/embed.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["PCA", "VAE", "Rescale", "VaDE", "rescale"]

_WHERE = {
    "PCA": "sklearn.decomposition",
    "Rescale": "cladify.embed.rescaling",
    "VAE": "cladify.embed.vae",
    "VaDE": "cladify.embed.vade",
    "rescale": "cladify.embed.rescaling",
}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'cladify.embed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
