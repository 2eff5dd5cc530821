"""Data that several benchmarks share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np


class DataMissing(Exception):
    """A real data set is not on this machine; the case is reported as skipped."""


def clustered(n: int, d: int, *, n_clusters: int | None = None, spread: float = 0.5, seed: int = 0) -> np.ndarray:
    """float32 rows in two levels of Gaussian clusters, about as hard as real embeddings of the same dimension."""
    random = np.random.default_rng(seed)
    k = n_clusters or max(2, int(np.sqrt(n)))
    top = random.standard_normal((max(2, int(np.sqrt(k))), d), dtype=np.float32)
    centres = top[random.integers(len(top), size=k)] + 0.7 * random.standard_normal((k, d), dtype=np.float32)
    X = centres[random.integers(k, size=n)]
    X += spread * random.standard_normal((n, d), dtype=np.float32)
    return X


def real(name: str) -> dict[str, np.ndarray]:
    """Arrays of a real data set from ``$CLADIFY_DATA``, or from ``../shared/datasets`` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    path = Path(os.environ.get("CLADIFY_DATA") or beside) / f"{name}.npz"
    if not path.exists():
        raise DataMissing(f"data set {name!r} not found at {path}; set CLADIFY_DATA to the folder that has it")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)
