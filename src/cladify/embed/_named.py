"""Embeddings by name, as ``cladify fit --embed`` calls them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from cladify._kit.params import check_choice
from cladify._kit.progress import Progress, ProgressLike
from cladify.data._vectors import check_vectors
from cladify.errors import InvalidInput

__all__ = ["EMBEDDINGS", "embed"]

#: Name -> the class in :mod:`cladify.embed`.
EMBEDDINGS = {"pca": "PCA", "vae": "VAE", "vade": "VaDE"}


def embed(
    X: Any,
    name: str,
    /,
    *,
    s: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
    progress: ProgressLike | Progress = None,
    **params: Any,
) -> tuple[np.ndarray, Any]:
    """The rows of ``X`` in an embedding trained on them, and the trained model.

    Parameters
    ----------
    X : array of shape (n, d)
    name : "pca", "vae" or "vade"
    s : float
        How far :func:`cladify.embed.rescale` moves the clusters of VaDE apart, by default 3; 0 leaves them where they
        are.
    random_state, n_jobs, progress
    **params
        Of :class:`~cladify.embed.VAE`, :class:`~cladify.embed.VaDE` or scikit-learn's ``PCA``.

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
    import cladify.embed

    estimator = getattr(cladify.embed, EMBEDDINGS[check_choice("embed", name, list(EMBEDDINGS))])
    known = [*(["s"] if name == "vade" else []), *inspect.signature(estimator).parameters]
    for key in [*params, *([] if s is None else ["s"])]:
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
    model = estimator(random_state=random_state, n_jobs=n_jobs, **params).fit(X, progress=progress)
    s = 3.0 if s is None else s
    return (model.rescaled(X, s) if name == "vade" and s else model.transform(X)), model
