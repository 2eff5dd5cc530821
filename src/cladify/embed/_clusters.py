"""Clusters of rows by ``method="graph"``, for models that start from clusters or move them."""

from __future__ import annotations

import numpy as np

from cladify._kit.progress import Progress
from cladify.graphtree import GraphTree

__all__ = ["LEAST_VARIANCE", "graph_clusters", "moments"]

#: Of a cluster: one of equal rows has a density, too.
LEAST_VARIANCE = 1e-4


def graph_clusters(
    X: np.ndarray, k: int, *, metric: str, random_state: int, n_jobs: int | None, progress: Progress | None = None
) -> np.ndarray:
    """The cluster of every row in the tree of ``method="graph"``; -1 for rows of zeros, which have no angle.

    Fewer than k where the tree, which need not be binary, has no cut at k.
    """
    clusters = np.full(len(X), -1, dtype=np.int64)
    kept = X.any(axis=1) if metric == "cosine" else np.ones(len(X), dtype=bool)
    if kept.sum() >= k:
        model = GraphTree(metric=metric, random_state=random_state, n_jobs=n_jobs).fit(X[kept], progress=progress)
        clusters[kept] = model.tree_.cut(n_clusters=k)
    return clusters


def moments(Z: np.ndarray, clusters: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, variances and shares of the clusters; those of all rows for a cluster without rows."""
    groups = [Z[clusters == c] for c in range(k)]
    groups = [group if len(group) else Z for group in groups]
    means = np.array([group.mean(axis=0) for group in groups])
    variances = np.array([group.var(axis=0) for group in groups])
    weights = np.bincount(clusters[clusters >= 0], minlength=k) / max(1, int((clusters >= 0).sum()))
    return means, np.maximum(variances, LEAST_VARIANCE), weights
