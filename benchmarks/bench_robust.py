"""Robust single linkage and its clusters, against the implementations of HDBSCAN."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered

robust = Case(
    "robust",
    "Robust single linkage and HDBSCAN's clusters of clustered vectors; peers compute the same clusters",
    short={"n": 20_000, "d": 32},
    long={"n": 50_000, "d": 64},
)


@robust.prepare
def blobs(n: int, d: int) -> dict[str, Any]:
    return {"X": clustered(n, d)}


@robust.contestant("cladify", needs="cladify.agglomerate")
def ours(X: np.ndarray) -> Any:
    import cladify

    return cladify.RobustSingleLinkage(min_cluster_size=10).fit(X).labels_


@robust.contestant("scikit-learn", needs="sklearn", max_n=50_000)
def sklearn_hdbscan(X: np.ndarray) -> Any:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(min_cluster_size=10, n_jobs=-1, copy=True).fit(X).labels_


@robust.contestant("fast_hdbscan", needs="fast_hdbscan", warm_up=True)
def fast_hdbscan(X: np.ndarray) -> Any:
    import fast_hdbscan

    return fast_hdbscan.HDBSCAN(min_cluster_size=10, min_samples=9).fit(X).labels_
