"""Affinity clustering: every round, each cluster joins its nearest neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cladify.agglomerate._estimator import SHARED_CHECKS, RoundsEstimator

__all__ = ["Affinity"]


@dataclass(kw_only=True, eq=False, repr=False)
class Affinity(RoundsEstimator):
    r"""Affinity clustering ([1]_; [2]_, algorithm 3): Borůvka's algorithm, with any linkage.

    Each round links every cluster to its most similar one, :math:`\arg\max_B f(C, B)`, and merges the connected
    components of these links. The smallest cluster at least doubles its size a round, so there are at most log₂ n
    rounds and every round is one pass over the edges that are left. With single linkage the links are those of the
    minimum spanning tree. Large components can chain unlike clusters; :class:`~cladify.SCC` holds them back with a
    threshold.

    On a graph, pairs of points without an edge have similarity 0; parts without any link are joined by one node at the
    top. For distances, missing pairs are at the largest distance of the graph.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`, and :mod:`cladify.data.points` for graphs and given distances.
    n_neighbors : int or None
        Vectors become the graph of this many nearest neighbours (at most n − 1). None: no graph, exact average or Ward
        linkage of the vectors (``sqeuclidean``, ``cosine``, ``dot``) in O(n²) time a round and linear memory.
    linkage : {"average", "single", "complete", "ward"}
        ``"ward"`` only without a graph.
    n_clusters : int, optional
        Cut into this many clusters: ``labels_``.
    cut : {"exact", "round"}
        Exactly ``n_clusters`` clusters (the round that would lead below stops at its strongest links), or the round
        with the closest number of clusters.
    distance_threshold : float, optional
        Or cut at this height.
    n_jobs : int
        Threads; -1 is all cores. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        With one level a round; the height of a node is that of the least similar link merged in it.
    rounds_ : Rounds
        The partition after every round.
    labels_ : int64 array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0], [12.0]])
    >>> model = Affinity(n_neighbors=4).fit(X)
    >>> [labels.tolist() for labels in model.rounds_]
    [[0, 1, 2, 3, 4], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]

    References
    ----------
    .. [1] Bateni et al. Affinity clustering: hierarchical clustering at scale. NeurIPS 2017.
    .. [2] Monath. Incremental non-greedy clustering at scale. PhD thesis, University of Massachusetts Amherst, 2022.
    """

    _method: ClassVar = "affinity"
    _checks: ClassVar = SHARED_CHECKS
