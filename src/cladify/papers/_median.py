"""Robust median neighbourhood linkage (RHC): a baseline of one table, built for that alone."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from cladify.tree import Tree

__all__ = ["median_linkage"]


def median_linkage(X: np.ndarray, noise: float, metric: str = "euclidean") -> Tree:
    """The tree of algorithm 1 of [1]_, O(n⁴) in all.

    For t from 6εn + 1 on, points are linked that have all but 2εn of their t nearest neighbours in common (graph F).
    Two blobs are linked where the median over their pairs of points of the neighbours in F that a pair shares inside
    both blobs is above a quarter of their size; two points where they share more than εn. Components of linked blobs
    that have at least 4εn points become blobs.

    Parameters
    ----------
    X : array of shape (n, d)
    noise : float
        ε, the share of bad neighbours and of bad points (α + ν).

    metric : str
        Of SciPy's distances.

    References
    ----------
    .. [1] Balcan, Liang, Gupta. Robust hierarchical clustering. JMLR 2014.
    """
    n = len(X)
    rank = np.argsort(np.argsort(cdist(X, X, metric), axis=1, kind="stable"), axis=1)
    parent: list[int] = [-1] * n
    blobs, node = [np.array([i]) for i in range(n)], list(range(n))
    t = int(6 * noise * n) + 1
    while len(blobs) > 1:
        t += 1
        near = (rank < t).astype(np.float32)
        shared = (near @ near.T >= t - 2 * noise * n).astype(np.float32)
        linked = np.ones((len(blobs),) * 2, bool) if t >= n else _links(shared, blobs, noise * n)
        count, part = connected_components(linked, directed=False)
        left, rest = [], []
        for component in range(count):
            own = np.flatnonzero(part == component)
            members = np.concatenate([blobs[b] for b in own])
            if len(own) == 1 or (len(members) < 4 * noise * n and t < n):
                left += [blobs[b] for b in own]
                rest += [node[b] for b in own]
                continue
            parent.append(-1)
            for b in own:
                parent[node[b]] = len(parent) - 1
            left.append(members)
            rest.append(len(parent) - 1)
        blobs, node = left, rest
    return Tree.from_parents(parent, n)


def _links(shared: np.ndarray, blobs: list[np.ndarray], least: float) -> np.ndarray:
    """Which blobs are linked, given the neighbours of each point."""
    linked = np.zeros((len(blobs),) * 2, bool)
    single = np.array([b for b, blob in enumerate(blobs) if len(blob) == 1], np.int64)
    point = np.array([blobs[b][0] for b in single], np.int64)
    linked[np.ix_(single, single)] = shared[point] @ shared[point].T > least
    large = [b for b, blob in enumerate(blobs) if len(blob) > 1]
    for i, b in enumerate(large):
        blob = blobs[b]
        inside = shared[np.ix_(point, blob)]
        common = inside @ shared[np.ix_(blob, blob)] + inside  # the point itself is a neighbour, too, where it is one
        linked[b, single] = linked[single, b] = np.median(common, axis=1) > (len(blob) + 1) / 4
        for c in large[:i]:
            both = np.concatenate([blob, blobs[c]])
            common = shared[np.ix_(blob, both)] @ shared[np.ix_(blobs[c], both)].T
            linked[b, c] = linked[c, b] = np.median(common) > len(both) / 4
    return linked
