"""Embeddings by name, as ``ramify fit --embed`` calls them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ramify.errors import InvalidInput
from ramify.progress import Progress, ProgressLike
from ramify.validate import check_choice, check_vectors

__all__ = ["EMBEDDINGS", "embed"]

#: Name -> the class in :mod:`ramify.embed`.
EMBEDDINGS = {"pca": "PCA", "vae": "VAE", "vade": "VaDE"}


def embed(
    X: Any,
    name: str,
    *,
    s: float = 3.0,
    random_state: Any = None,
    progress: ProgressLike | Progress = None,
    **params: Any,
) -> tuple[np.ndarray, Any]:
    """The rows of ``X`` in an embedding trained on them, and the trained model.

    Parameters
    ----------
    X : array of shape (n, d)
    name : "pca", "vae" or "vade"
    s : float
        How far :func:`ramify.embed.rescale` moves the clusters of VaDE apart; 0 leaves them where they are.
    random_state, progress
    **params
        Of :class:`~ramify.embed.VAE`, :class:`~ramify.embed.VaDE` or scikit-learn's ``PCA``.

    Returns
    -------
    Z : float32 array of shape (n, h)
    model

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> embed(X, "pca", n_components=2)[0].shape
    (20, 2)
    """
    import ramify.embed

    estimator = getattr(ramify.embed, EMBEDDINGS[check_choice("embed", name, list(EMBEDDINGS))])
    known = [key for key in inspect.signature(estimator).parameters if key != "random_state"]
    for key in params:
        if key not in known:
            raise InvalidInput(f"{name} has no parameter {key!r}; it has {', '.join(known)}.")
    X = check_vectors(X, accept_sparse=False)
    if name == "pca":
        params = {"n_components": min(10, *X.shape), **params}
        model = estimator(random_state=random_state, **params)
        try:
            return model.fit_transform(X).astype(np.float32, copy=False), model
        except ValueError as error:
            raise InvalidInput(f"pca: {error}") from None
    model = estimator(random_state=random_state, **params).fit(X, progress=progress)
    return (model.rescaled(X, s) if name == "vade" and s else model.transform(X)), model
