"""Binary tree Gaussian mixtures: clusters whose means encode a complete binary tree by their distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["Btgm", "btgm"]


@dataclass(frozen=True)
class Btgm:
    """Points of a binary tree Gaussian mixture.

    Attributes
    ----------
    X : float32 array of shape (n, d)
    y : int64 array of shape (n,)
        The component of every point.
    means : float64 array of shape (k, d)
    tree : Tree
        The true hierarchy of the points: those of a component meet in one node, components as in the binary tree.
    """

    X: np.ndarray
    y: np.ndarray
    means: np.ndarray
    tree: Tree


def btgm(
    n_components: int = 8,
    n_per_component: int = 2000,
    *,
    n_features: int = 100,
    margin: float = 8.0,
    alpha: float = 2.0,
    shifted: bool = True,
    random_state: Any = None,
) -> Btgm:
    r"""Sample a binary tree Gaussian mixture.

    The k = 2^h components are spherical Gaussians of unit variance. Coordinate j of the mean of component i is

    .. math:: \mu_i[j] = \pm \tfrac{m}{2} \alpha^{h - j}, \quad j = 1 \dots h,

    where the sign is bit j of i, and 0 elsewhere. So two components whose lowest common ancestor has height t are
    at least :math:`m \alpha^{t-1}` apart, and the two nearest exactly m.

    Parameters
    ----------
    n_components : int
        A power of two.
    n_per_component : int
    n_features : int
        At least h, and 2h with ``shifted``.
    margin : float
        m: the distance of the two nearest means.
    alpha : float
        How much farther apart components are for each step up the tree.
    shifted : bool
        Move the entries of the first half of the means to other coordinates: no linear map to h dimensions keeps the
        tree then.
    random_state : int or Generator, optional

    Returns
    -------
    Btgm

    Examples
    --------
    >>> data = btgm(4, 3, n_features=5, margin=2.0, shifted=False, random_state=0)
    >>> data.means[:, :2].tolist()
    [[2.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [-2.0, -1.0]]
    >>> data.X.shape, data.tree.n_leaves
    ((12, 5), 12)

    References
    ----------
    .. [1] Zhao, Hao, Rashtchian. Unsupervised embedding of hierarchical structure in Euclidean space. 2020, §2.
    """
    k = check_int("n_components", n_components, low=2)
    per = check_int("n_per_component", n_per_component, low=1)
    h = k.bit_length() - 1
    if k != 2**h:
        raise InvalidInput(f"n_components must be a power of two (a complete binary tree), got {k}.")
    d = check_int("n_features", n_features, low=2 * h if shifted else h, why=f"for {k} components")
    check_float("margin", margin, low=0.0, open_low=True)
    check_float("alpha", alpha, low=1.0, open_low=True)
    rng = check_random_state(random_state)
    bits = (np.arange(k)[:, None] >> np.arange(h - 1, -1, -1)) & 1
    means = np.zeros((k, d))
    means[:, :h] = np.where(bits, -1.0, 1.0) * (margin / 2) * alpha ** np.arange(h - 1, -1, -1)
    if shifted:
        means[: k // 2] = np.roll(means[: k // 2], h, axis=1)
    y = rng.permutation(np.repeat(np.arange(k), per))
    X = (means[y] + rng.standard_normal((k * per, d))).astype(np.float32)
    return Btgm(X, y, means, _true_tree(y, k))


def _true_tree(y: np.ndarray, k: int) -> Tree:
    """Points below their component's node, components below a complete binary tree."""
    n = len(y)
    above = np.concatenate([k + np.arange(2 * k - 2) // 2, [-1]])  # components 0..k-1 and the nodes above them
    height = np.concatenate([np.full(k >> level, 1.0 + level) for level in range(k.bit_length())])
    if n == k:  # one point a component: it is the leaf itself
        return Tree(np.concatenate([above[y], above[k:]]), np.concatenate([np.zeros(k), height[k:]]))
    parent = np.concatenate([y + n, np.where(above < 0, -1, above + n)])
    return Tree(parent, np.concatenate([np.zeros(n), height]))
