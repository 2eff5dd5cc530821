"""Clusters that are the components of a latent graph: chains, sets of words, and sets with misleading neighbours.

A linkage f separates the graph G by its model ([1]_, assumption 1) when

    φ(A, B) = 1 and φ(A, C) = 0  ⇒  f(A, B) > f(A, C),

where φ(A, B) says whether A ∪ B is connected in G. Here A, B and C are disjoint and connected themselves, as the
clusters are that an algorithm meets. (For disconnected sets no linkage that looks at distances between points can
separate chains of five points or more.)

.. [1] Monath. Incremental non-greedy clustering at scale. 2022, §2.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.datasets._planted import SLACK, Planted, apart, check_features, cluster_labels, in_ball
from cladify.errors import InvalidInput

__all__ = ["make_chains", "make_model_separated", "make_noisy_separated"]

#: Longest step along a chain, and how far its sideways wandering may go in one step: every edge stays below 2.
_STEP, _SIDEWAYS = 1.3, 0.7


def make_chains(n_points: int = 500, n_clusters: int = 10, *, n_features: int = 8, random_state: Any = None) -> Planted:
    """Long thin clusters side by side: each point has its neighbours on the chain near it, and the rest far away.

    The latent graph is one path a cluster. Its edges are shorter than 1.5, and every other pair of points is at least
    2 apart, so single linkage separates the graph; yet the ends of a chain are far from each other and near to other
    chains, which misleads average linkage, k-means, and greedy incremental methods.

    Parameters
    ----------
    n_points, n_clusters : int
        Sizes of clusters differ by at most one point; the points come in random order.
    n_features : int
        At least 2.
    random_state : int or Generator, optional

    Returns
    -------
    Planted
        ``metric="euclidean"``, with ``edges``; X in float64.

    Examples
    --------
    >>> chains = make_chains(60, 4, n_features=2, random_state=0)
    >>> first, second = chains.X[chains.edges].transpose(1, 0, 2)
    >>> bool((np.linalg.norm(first - second, axis=1) < 1.5).all())
    True

    References
    ----------
    Monath, Incremental non-greedy clustering at scale, 2022, example 5.
    """
    rng = check_random_state(random_state)
    d = check_features(n_features, 2)
    y = cluster_labels(n_points, n_clusters, rng)
    # Along the first axis a chain goes on by 1 or more a step; across, it stays in a ball of radius 1 about its own
    # axis, and axes are 4 apart.
    axis = apart(np.full((n_clusters, n_clusters), 4.0), d - 1, rng)
    X = np.empty((len(y), d))
    edges = []
    for cluster in range(n_clusters):
        member = rng.permutation(np.flatnonzero(y == cluster))
        steps = 1.0 + SLACK + (_STEP - 1.0 - SLACK) * rng.random(len(member))
        X[member, 0] = np.cumsum(steps) - steps.sum() * rng.random()
        X[member, 1:] = axis[cluster] + _wander(len(member), d - 1, rng)
        edges.append(np.column_stack([member[:-1], member[1:]]))
    turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return Planted(X @ turn, y, "euclidean", edges=np.concatenate(edges))


def _wander(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A walk in the unit ball with steps of at most ``_SIDEWAYS``."""
    step = _SIDEWAYS * in_ball(n, d, rng)
    place = np.zeros((n, d))
    for i in range(1, n):
        place[i] = place[i - 1] + step[i]
        # Drawing a point of a ball's outside back onto the ball brings it no farther from any point inside.
        place[i] /= max(1.0, (1.0 + SLACK) * float(np.sqrt(place[i] @ place[i])))
    return place


def make_model_separated(
    n_points: int = 2500,
    n_clusters: int = 100,
    *,
    n_bits: int = 100,
    density: float = 0.1,
    random_state: Any = None,
) -> Planted:
    """Bags of words in which every cluster has a vocabulary of its own.

    A point has each of the ``n_bits`` words of its cluster with probability ``density`` and no others. Its latent graph
    links the points that share a word; where chance leaves a cluster in parts, or a point without words, a word is
    added. The cosine of the sums of two sets is above 0 if and only if they share a word, so that linkage separates the
    graph; but two points of a cluster may well have nothing in common. The defaults are the experiment of [1]_, §3.5.1,
    in which GRINCH reaches dendrogram purity 1, ROTATE .872 and GREEDY .854 (here 1, .80 and .79; a density of .12
    gives what it has for the last two).

    Parameters
    ----------
    n_points, n_clusters : int
        Sizes of clusters differ by at most one point; the points come in random order.
    n_bits : int
        Words a cluster.
    density : float in (0, 1]
    random_state : int or Generator, optional

    Returns
    -------
    Planted
        ``metric="cosine"``, X a CSR matrix of zeros and ones in float32, with ``edges``.

    Examples
    --------
    >>> words = make_model_separated(50, 5, random_state=0)
    >>> words.X.shape, words.edges.shape[1]
    ((50, 500), 2)

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022.
    """
    from scipy.sparse import csr_array

    rng = check_random_state(random_state)
    bits = check_int("n_bits", n_bits, low=1)
    density = check_float("density", density, low=0.0, high=1.0, open_low=True)
    y = cluster_labels(n_points, n_clusters, rng)
    row, column, edges = [], [], []
    for cluster in range(n_clusters):
        member = np.flatnonzero(y == cluster)
        words = _connected_words(rng.random((len(member), bits)) < density, rng)
        which, word = np.nonzero(words)
        row.append(member[which])
        column.append(cluster * bits + word)
        first, second = np.nonzero(np.triu(words.astype(np.int64) @ words.T.astype(np.int64), 1))
        edges.append(np.column_stack([member[first], member[second]]))
    places = (np.concatenate(row), np.concatenate(column))
    X = csr_array((np.ones(len(places[0]), dtype=np.float32), places), shape=(len(y), n_clusters * bits))
    return Planted(X, y, "cosine", edges=np.concatenate(edges))


def _connected_words(words: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same sets of words, none empty, with words added until the sets hang together."""
    from scipy.sparse.csgraph import connected_components

    empty = np.flatnonzero(~words.any(axis=1))
    words[empty, rng.integers(words.shape[1], size=len(empty))] = True
    count, part = connected_components(words.astype(np.int64) @ words.T.astype(np.int64), directed=False)
    for other in range(1, count):
        giver, taker = np.flatnonzero(part == 0)[0], np.flatnonzero(part == other)[0]
        words[taker, np.flatnonzero(words[giver])[0]] = True
    return words


def make_noisy_separated(
    n_points: int = 200,
    n_clusters: int = 10,
    *,
    noise: float = 0.25,
    random_state: Any = None,
) -> Planted:
    r"""Clusters in which some points have their nearest neighbour elsewhere, while sets of points show the clusters.

    Noisy separation ([1]_, assumption 3) lets a point b prefer a point d of another cluster to one of its own, provided
    that some point of its cluster has b as nearest neighbour; sets of two points or more must be separated. Trees that
    merge b with d, as exact linkage does, cannot contain the clusters; overlapping clusterings
    (nearest-neighbour DAGs) can: :class:`~cladify.Llama` does with ``linkage="exact-average"``, all neighbours and
    ``max_parents=None``. With at most five parents a node, misled pairs crowd out some that are needed.

    Points have length 1; with cluster direction :math:`u_C` they are
    :math:`x = \tfrac{1}{2} u_{C} + \dots`, so that two points of a cluster have cosine ¼; misleading pairs have .28, a
    misled point and its follower .26, and other pairs 0. Sums of points are not misled: the linkage is the cosine
    of sums, and the latent graph has a clique a cluster.

    Parameters
    ----------
    n_points, n_clusters : int
        Sizes of clusters differ by at most one point; the points come in random order.
    noise : float in [0, 1/2]
        Share of points that are misled.
    random_state : int or Generator, optional

    Returns
    -------
    Planted
        ``metric="cosine"``, X a CSR matrix in float64, with ``edges``.

    Examples
    --------
    >>> X, y = make_noisy_separated(40, 4, random_state=0)
    >>> similarity = (X @ X.T).toarray() - np.eye(40)
    >>> float(np.mean(y[similarity.argmax(axis=1)] != y))
    0.2

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, §2.5.2 and proposition 4.
    """
    from scipy.sparse import csr_array

    rng = check_random_state(random_state)
    noise = check_float("noise", noise, low=0.0, high=0.5)
    y = cluster_labels(n_points, n_clusters, rng)
    n = len(y)
    misled, follower = _misled(y, noise, rng)
    if noise > 0 and len(misled) == 0:
        raise InvalidInput(
            f"{n} points in {n_clusters} clusters leave room for no misled pair at noise={noise}; it takes two "
            "clusters of two points or more. Ask for more points, fewer clusters or more noise."
        )
    within, misleading, following = 0.25, 0.28, 0.01
    # Coordinates: one a cluster, one a misled pair, one a follower and its leader, one a point for the rest.
    pairs, leads = len(misled) // 2, len(misled)
    row = [np.arange(n), misled, misled, follower]
    column = [y, n_clusters + np.arange(leads) // 2]
    column += 2 * [n_clusters + pairs + np.arange(leads)]
    value = [np.full(n, within), np.full(leads, misleading), np.full(leads, following), np.full(leads, following)]
    left = 1.0 - np.bincount(np.concatenate(row), weights=np.concatenate(value), minlength=n)
    row.append(np.arange(n))
    column.append(n_clusters + pairs + leads + np.arange(n))
    value.append(left)
    places = (np.concatenate(row), np.concatenate(column))
    X = csr_array((np.sqrt(np.concatenate(value)), places), shape=(n, n_clusters + pairs + leads + n))
    return Planted(X, y, "cosine", edges=_cliques(y))


def _misled(y: np.ndarray, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Misled points, two of different clusters after each other, and for each a point of its cluster that follows it.

    At most ⌊size · noise⌋ points of a cluster are misled, always the cluster with most to give next to the second one.
    """
    count = np.bincount(y)
    wanted = np.minimum((noise * count).astype(np.int64), count // 2)
    queue = [rng.permutation(np.flatnonzero(y == cluster)) for cluster in range(len(count))]
    misled: list[int] = []
    follower: list[int] = []
    left = wanted.copy()
    while True:
        first, second = np.argsort(left, kind="stable")[::-1][:2] if len(left) > 1 else (0, 0)
        if first == second or left[second] == 0:
            return np.array(misled, dtype=np.int64), np.array(follower, dtype=np.int64)
        for cluster in (first, second):
            done = wanted[cluster] - left[cluster]
            misled.append(queue[cluster][2 * done])
            follower.append(queue[cluster][2 * done + 1])
            left[cluster] -= 1


def _cliques(y: np.ndarray) -> np.ndarray:
    """All pairs of points of one cluster."""
    pairs = []
    for cluster in range(int(y.max()) + 1):
        member = np.flatnonzero(y == cluster)
        first, second = np.triu_indices(len(member), 1)
        pairs.append(np.column_stack([member[first], member[second]]))
    return np.concatenate(pairs)
