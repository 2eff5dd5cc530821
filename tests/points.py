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


#: What :func:`of_kind` makes.
KINDS = [
    "blobs", "far from the origin", "integers with many ties", "all equal", "one huge value", "tiny", "huge",
    "lengths of all kinds", "duplicates", "spikes",
]  # fmt: skip


def of_kind(kind, n, rng, d=21):
    """Points that bounds of rounding errors meet: ties, values of all sizes, and nothing of the sort."""
    blobs = rng.normal(size=(9, d))[rng.integers(9, size=n)] * 4 + rng.normal(size=(n, d))
    return {
        "blobs": lambda: blobs,
        "far from the origin": lambda: blobs + 1e4,
        "integers with many ties": lambda: rng.integers(0, 3, size=(n, d)).astype(float),
        "all equal": lambda: np.ones((n, d)),
        "one huge value": lambda: np.where(np.arange(n * d).reshape(n, d) == 77, 1e12, blobs),
        "tiny": lambda: blobs * 1e-30,
        "huge": lambda: blobs * 1e30,
        "lengths of all kinds": lambda: blobs * 10.0 ** rng.integers(-9, 9, size=(n, 1)),
        "duplicates": lambda: blobs[rng.integers(n // 40, size=n)],
        "spikes": lambda: np.eye(d)[rng.integers(d, size=n)] + 1e-3 * blobs,
    }[kind]().astype(np.float32)
