"""From an embedding back to a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.params import check_choice
from cladify.hyperbolic.geometry import check_disk, lca_depth, on_circle
from cladify.tree import Tree

__all__ = ["decode"]

_CIRCLE = 2 * np.pi


def decode(Z: Any, *, method: str = "auto") -> Tree:
    """The tree of an embedding in the Poincaré disk.

    * ``"exact"`` joins points in the order of the depth of their common ancestors (algorithm 1 of [1]_), which is
      single linkage: n² depths by Prim's algorithm, in linear memory.
    * ``"greedy"`` looks at angles alone and splits at the largest gap, again and again: the Cartesian tree of the gaps,
      n log n in all.

    Where all points have one radius, a depth falls with the angle between two points, neighbours on the circle have
    the deepest ancestors, and both give the same tree.

    Parameters
    ----------
    Z : array of shape (n, 2)
        Points inside the unit disk.
    method : "auto", "exact" or "greedy"
        "auto" is greedy where the points share a radius (to six digits of what is left to the rim), otherwise exact.

    Returns
    -------
    Tree
        Binary. The height of a node is how far its common ancestor lies above the deepest point.

    Examples
    --------
    >>> import numpy as np
    >>> angle = np.array([0.0, 3.0, 0.2, 3.5])
    >>> Z = 0.9 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> decode(Z).cut(n_clusters=2).tolist()
    [0, 1, 0, 1]

    References
    ----------
    .. [1] Chami, Gu, Chatziafratis, Ré. From trees to continuous embeddings and back. NeurIPS 2020.
    """
    Z = check_disk(Z).astype(np.float64, copy=False)
    check_choice("method", method, ["auto", "exact", "greedy"])
    n = len(Z)
    radius = np.hypot(Z[:, 0], Z[:, 1])
    if method == "auto":
        method = "greedy" if np.ptp(radius) <= max(1e-15, 1e-6 * (1.0 - radius.max())) else "exact"
    if method == "greedy":
        return decode_angles(np.arctan2(Z[:, 1], Z[:, 0]), float(radius.max()))
    if n == 1:
        return Tree([-1])
    source, target, depth = _core.deepest_tree(Z)
    deepest = 2.0 * np.arctanh(radius.max())
    left, right, height = _core.merge_edges(source, target, np.maximum(deepest - depth, 0.0), n)
    return Tree.from_merges(left, right, height, n, info={"decoding": "exact"})


def decode_angles(angle: np.ndarray, radius: float) -> Tree:
    """The tree of points at these angles on a circle of this radius."""
    n = len(angle)
    if n == 1:
        return Tree([-1])
    parent, gap = _core.decode_angles(np.ascontiguousarray(np.mod(angle, _CIRCLE)))
    height = np.zeros(2 * n - 1)
    # Across more than half of the circle the geodesic is the diameter's, through the origin.
    start = on_circle(np.zeros(n - 1), radius)
    height[n:] = 2.0 * np.arctanh(radius) - lca_depth(start, on_circle(np.minimum(gap, np.pi), radius))
    return Tree.from_parents(parent, n, height=np.maximum(height, 0.0), info={"decoding": "greedy"})
