"""Random points that many tests share, in float32."""

import numpy as np


def rows(n, d=5, seed=0):
    """Normal points, without clusters."""
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def blobs(n, d=6, k=5, *, seed=0, spread=0.2):
    """Points around k normal centres."""
    return labelled_blobs(n, d, k, seed=seed, spread=spread)[0]


def labelled_blobs(n, d=6, k=5, *, seed=0, spread=0.2):
    """The same, and the centre of each point."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(k, d))
    y = rng.integers(k, size=n)
    return (centre[y] + spread * rng.normal(size=(n, d))).astype(np.float32), y
