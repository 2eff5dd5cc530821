"""Hard instances for trees under a Gaussian kernel: average linkage far below the best, and vectors of any graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.datasets._planted import Planted
from cladify.errors import InvalidInput

__all__ = ["make_graph_vectors", "make_hard_grid", "make_hard_line"]


def make_hard_grid(
    k: int = 4, *, tau: float | None = None, n_features: int | None = None, random_state: Any = None
) -> Planted:
    r"""k³ points on which average linkage earns about a third of what is possible, as k grows.

    .. math:: v_{ij} = e_i + (1 + \tau)\, e_{k+j}, \quad i = 1..k,\ j = 1..k^2

    Points with the same j have the largest similarity, those with the same i a slightly smaller one, and all others
    next to none. Average linkage first joins the k² small groups of equal j, which costs it the k large groups of
    equal i, where most of the objective is. With similarity :math:`\exp(-\gamma \|x - y\|^2)`,
    :math:`\gamma = \log n`.

    Parameters
    ----------
    k : int
        At least 2; there are k³ points.
    tau : float, optional
        τ > 0, by default 1 / (40 log n), which makes the two large similarities differ by about a tenth.
    n_features : int, optional
        Project the k + k² coordinates at random to this many (Johnson and Lindenstrauss), which distorts the
        similarities the less the more there are. By default they are kept.
    random_state : int or Generator, optional
        For the projection and the order of the points.

    Returns
    -------
    Planted
        ``metric="rbf"`` with its ``gamma``; ``y`` is i, the large groups, which a good tree splits first.

    Examples
    --------
    >>> X, y = make_hard_grid(3, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((27, 12), [9, 9, 9])

    References
    ----------
    Charikar, Chatziafratis, Niazadeh and Yaroslavtsev, Hierarchical clustering for Euclidean data, AISTATS 2019,
    theorem 5.1; Charikar, Chatziafratis and Niazadeh, Hierarchical clustering better than average-linkage, SODA 2019.
    """
    rng = check_random_state(random_state)
    k = check_int("k", k, low=2)
    n = k**3
    step = 0.025 / np.log(n) if tau is None else check_float("tau", tau, low=0.0, open_low=True)
    place = rng.permutation(n)
    i, j = place // k**2, place % k**2
    X = np.zeros((n, k + k**2))
    X[np.arange(n), i] = 1.0
    X[np.arange(n), k + j] = 1.0 + step
    if n_features is not None:
        d = check_int("n_features", n_features, low=1)
        X = X @ rng.standard_normal((X.shape[1], d)) / np.sqrt(d)
    return Planted(X, i, "rbf", gamma=float(np.log(n)))


def make_hard_line(shift: float = 0.001) -> Planted:
    r"""Four points on a line, 0, 1 + ε, 2 − ε, 3, on which average linkage earns three quarters of what is possible.

    Average linkage joins the two middle points first, for their distance is the smallest by a little; the pairs at the
    two ends are the better start. :math:`\exp(-\gamma \|x - y\|^2)` with γ = 5 makes all pairs but the three
    neighbouring ones negligible.

    Parameters
    ----------
    shift : float in (0, 0.25]
        ε.

    Returns
    -------
    Planted
        ``metric="rbf"`` with its ``gamma``; ``y`` has the two pairs.

    Examples
    --------
    >>> make_hard_line().X.ravel().tolist()
    [0.0, 1.001, 1.999, 3.0]

    References
    ----------
    Charikar, Chatziafratis, Niazadeh and Yaroslavtsev, Hierarchical clustering for Euclidean data, AISTATS 2019,
    lemma 5.3.
    """
    shift = check_float("shift", shift, low=0.0, high=0.25, open_low=True)
    return Planted(np.array([[0.0], [1.0 + shift], [2.0 - shift], [3.0]]), np.array([0, 0, 1, 1]), "rbf", gamma=5.0)


def make_graph_vectors(graph: Any, *, epsilon: float = 0.01) -> Planted:
    r"""Unit vectors whose Gaussian similarities are those of a graph: α for its edges, αε for all other pairs.

    So no algorithm can do better on such vectors than on graphs with weights 1 and ε ([1]_, theorem 4.3). Node v with
    :math:`d_v` edges becomes

    .. math:: k_v = \sqrt{1 - d_v / n}\; e_v + \sqrt{1 / n} \sum_{e \ni v} e_e, \qquad
              \langle k_u, k_v \rangle = \tfrac1n \text{ for edges, } 0 \text{ for other pairs,}

    with a coordinate for each node and each edge, and :math:`\gamma = \tfrac{n}{2} \log \tfrac{1}{\epsilon}`. Then
    :math:`\alpha = \epsilon^{n - 1}`, which float64 holds for n up to about 700 / log(1/ε).

    Parameters
    ----------
    graph : array or sparse matrix of shape (n, n)
        An edge wherever (u, v) or (v, u) is not zero; the diagonal is ignored.
    epsilon : float in (0, 1)
        Similarity of pairs without an edge, over that of the others.

    Returns
    -------
    Planted
        ``metric="rbf"`` with its ``gamma``, X in float64, ``edges``; ``y`` are the connected components.

    Examples
    --------
    >>> data = make_graph_vectors([[0, 1, 0], [1, 0, 0], [0, 0, 0]], epsilon=0.1)
    >>> square = ((data.X[:, None] - data.X[None]) ** 2).sum(axis=2)
    >>> similarity = np.exp(-data.gamma * square)
    >>> (similarity / similarity[0, 1]).round(3)[np.triu_indices(3, 1)].tolist()
    [1.0, 0.1, 0.1]

    References
    ----------
    .. [1] Charikar, Chatziafratis, Niazadeh and Yaroslavtsev, Hierarchical clustering for Euclidean data, AISTATS 2019.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    epsilon = check_float("epsilon", epsilon, low=0.0, high=1.0, open_low=True)
    links = coo_array(graph)
    n = links.shape[0]
    if links.ndim != 2 or links.shape != (n, n) or n == 0:
        raise InvalidInput(f"graph must be a square matrix with a row for each node, got shape {links.shape}.")
    if epsilon == 1.0 or (n - 1) * -np.log(epsilon) > 700.0:
        raise InvalidInput(
            f"epsilon={epsilon:g} gives {n} nodes the similarity epsilon^{n - 1}, which must lie below 1 and above "
            "the smallest float64; choose another epsilon or a smaller graph."
        )
    ends = np.column_stack([links.row, links.col])[(links.data != 0) & (links.row != links.col)]
    edges = np.unique(np.sort(ends, axis=1), axis=0).astype(np.int64)
    X = np.zeros((n, n + len(edges)))
    for side in edges.T:
        X[side, n + np.arange(len(edges))] = np.sqrt(1.0 / n)
    np.fill_diagonal(X, np.sqrt(1.0 - np.bincount(edges.ravel(), minlength=n) / n))
    _, y = connected_components(coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n)), directed=False)
    return Planted(X, y.astype(np.int64), "rbf", edges=edges, gamma=0.5 * n * float(-np.log(epsilon)))
