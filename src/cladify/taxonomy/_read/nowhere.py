"""Whether a new item belongs anywhere: how far it lies from the items, beside how far they lie from each other.

When a taxonomy is built, some of its own items are taken out one by one, and their distances to the rest are kept. The
fit of a new item is the share of them that lie as far away or farther: if it comes from where the items came from, a
fit below p has probability p, whatever the data (a conformal p-value; Vovk, Gammerman and Shafer, *Algorithmic
Learning in a Random World*, 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify.neighbors import query
from cladify.taxonomy._read.geometry import Geometry, n_neighbors_for
from cladify.tree import Tree

__all__ = ["NOWHERE", "calibrate", "centre_distance", "fit_of", "lowest_centres", "neighbor_distance"]

#: Items that fit worse than all but this share of the taxonomy's own belong nowhere.
NOWHERE = 0.01
#: Own items that are taken out, at most; and members beyond which one of them does not move a centre.
_SAMPLE = 500
_LARGE = 200


def calibrate(tree: Tree, X: Any, geometry: Geometry, metric: str) -> np.ndarray | None:
    """Sorted distances of own items to the rest: to their neighbours (row 0), to the nearest centre (row 1).

    Parameters
    ----------
    tree : Tree
        As built.
    X : array of shape (n, d)
    geometry : Geometry
        With the centres of the groups.

    Returns
    -------
    float32 array of shape (2, m), or None without centres
    """
    n = tree.n_leaves
    if geometry.centres is None or n < 3:
        return None
    rows = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))
    own = np.asarray(X[rows])
    found = query(X, own, k=min(n, n_neighbors_for(n) + 1), metric=metric)
    angular = metric in ("cosine", "dot")
    nodes, centres = lowest_centres(tree, geometry)
    distance = _to_centres(own, centres, angular)
    at = np.searchsorted(nodes, tree.parent[rows])
    for i, row in enumerate(rows.tolist()):  # its own centre without it
        members = tree.members(int(tree.parent[row]))
        if len(members) <= _LARGE:
            others = _directed(X[members[members != row]], angular)
            distance[i, at[i]] = _to_centres(own[i : i + 1], others.mean(axis=0)[None], angular)[0, 0]
    scores = [found.distance[:, 1:].mean(axis=1), distance.min(axis=1)]
    return np.sort(np.array(scores, np.float32), axis=1)


def lowest_centres(tree: Tree, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The groups that have items of their own, and their centres."""
    assert geometry.centres is not None
    nodes = np.unique(tree.parent[: tree.n_leaves])
    return nodes, geometry.centres[nodes - tree.n_leaves]


def neighbor_distance(distance: np.ndarray) -> np.ndarray:
    """How far new items lie from their neighbours, whose distances are given."""
    return distance.mean(axis=1)


def centre_distance(tree: Tree, geometry: Geometry, X_new: np.ndarray, metric: str) -> np.ndarray:
    """How far new items lie from the nearest centre of a lowest group."""
    return _to_centres(X_new, lowest_centres(tree, geometry)[1], metric in ("cosine", "dot")).min(axis=1)


def fit_of(own: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The share of own items, the new one included, that lie as far away or farther; ``own`` is sorted.

    >>> fit_of(np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 9.0])).tolist()
    [1.0, 0.75, 0.25]
    """
    beyond = len(own) - np.searchsorted(own, distance.astype(np.float32), side="left")
    return (beyond + 1) / (len(own) + 1)


def _directed(rows: Any, angular: bool) -> np.ndarray:
    rows = np.asarray(rows, np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30) if angular else rows


def _to_centres(rows: np.ndarray, centres: np.ndarray, angular: bool) -> np.ndarray:
    """1 - cosine, or squared distance."""
    rows, centres = _directed(rows, angular), _directed(centres, angular)
    product = rows @ centres.T
    if angular:
        return 1.0 - product
    lengths = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", centres, centres)
    return np.maximum(lengths - 2 * product, 0.0)
