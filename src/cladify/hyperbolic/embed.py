"""From a tree to an embedding that decodes to it."""

from __future__ import annotations

import numpy as np

from cladify import _core
from cladify._kit.params import check_float
from cladify.errors import InvalidInput
from cladify.hyperbolic.geometry import on_circle
from cladify.tree import Tree

__all__ = ["embed_tree"]

_CIRCLE = 2 * np.pi
_RANGE = 1e12  # of the widest to the narrowest gap: float64 angles resolve it with some digits to spare


def embed_tree(tree: Tree, *, spread: float | None = None, radius: float | None = None) -> np.ndarray:
    r"""The leaves of a tree as points of the Poincaré disk that decode to it.

    After Sarkar's construction [1]_, every node has an arc of the boundary, its children lie apart on it, and the
    leaves sit on a circle near the rim. With ``spread`` the gap between the arcs of two siblings is
    :math:`e^{s}` times the wider of them, so that the common ancestors of a triplet differ in depth by about s or more
    (the spread embeddings of [2]_, lemma C.2). That takes an arc ratio of up to :math:`e^s + 2` a level, which float64
    has only for some levels. Without it, a gap is a power of the number of leaves that meet across it: that decodes to
    the same tree at any depth, with as much spread as there is room for.

    Parameters
    ----------
    tree : Tree
        Nodes with more than two children decode to binary ones.
    spread : float, optional
        How far common ancestors are apart in depth at least.
    radius : float in (0, 1), optional
        Where the leaves sit. By default so near to the rim that the narrowest gap still counts.

    Returns
    -------
    float64 array of shape (n, 2)

    Examples
    --------
    >>> import cladify
    >>> tree = cladify.Tree([4, 4, 5, 5, 6, 6, -1])
    >>> cladify.hyperbolic.decode(embed_tree(tree)).cut(n_clusters=2).tolist()
    [0, 0, 1, 1]

    References
    ----------
    .. [1] Sarkar. Low distortion Delaunay embedding of trees in hyperbolic plane. Graph Drawing 2011.
    .. [2] Chami, Gu, Chatziafratis, Ré. From trees to continuous embeddings and back. NeurIPS 2020.
    """
    if spread is not None:
        spread = check_float("spread", spread, low=0.0, open_low=True)
    if radius is not None:
        radius = check_float("radius", radius, low=0.0, high=1.0 - 1e-15, open_low=True)
    angle, narrowest = tree_angles(tree, spread)
    if radius is None:
        radius = 1.0 - min(1e-3, 0.1 * narrowest) if tree.n_leaves > 1 else 0.5
    return on_circle(angle, min(radius, 1.0 - 1e-15))


def tree_angles(tree: Tree, spread: float | None = None) -> tuple[np.ndarray, float]:
    """Angles of the leaves, and the narrowest gap between neighbours on the circle."""
    n = tree.n_leaves
    if n == 1:
        return np.zeros(1), _CIRCLE
    meet = tree.lca(tree.leaf_order[:-1], tree.leaf_order[1:])  # the node across each gap of the leaf order
    node_gap = _size_gaps(tree) if spread is None else _spread_gaps(tree, float(np.exp(spread)))
    gap = node_gap[meet - n]
    around = gap.max() if spread is None else np.exp(spread) * gap.sum()  # the gap left open opposite to the tree
    unit = _CIRCLE / (gap.sum() + around)
    angle = np.empty(n)
    angle[tree.leaf_order] = unit * np.concatenate([[0.0], np.cumsum(gap)])
    return angle, float(unit * gap.min())


def _size_gaps(tree: Tree) -> np.ndarray:
    """size^p of every inner node, p as large as float64 allows."""
    size = tree.size[tree.n_leaves :].astype(np.float64)
    power = 6.0
    while power > 1.0 and (size**power).sum() > _RANGE * 2.0**power:
        power -= 0.25
    return size**power


def _spread_gaps(tree: Tree, factor: float) -> np.ndarray:
    """``factor`` times the wider of the arcs on both sides; 1 between two leaves."""
    gap = np.asarray(_core.spread_gaps(tree.parent, tree.n_leaves, factor))
    if not gap.max() <= 100 * _RANGE:
        raise InvalidInput(
            f"float64 has no room for spread={np.log(factor):g} on a tree of depth {tree.depth}; "
            "use a smaller spread, or None."
        )
    return gap
