"""Reciprocal nearest neighbours: every round merges all pairs of clusters that are each other's nearest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify._kit.params import number
from cladify.agglomerate._estimator import SHARED_CHECKS, RoundsEstimator

__all__ = ["ReciprocalNN"]


@dataclass(kw_only=True, eq=False, repr=False)
class ReciprocalNN(RoundsEstimator):
    r"""The reciprocal nearest neighbour algorithm ([1]_; [2]_, algorithm 2).

    With :math:`\mathcal C^{(0)}` every point on its own, round i merges

    .. math:: \{(C, C') : C' = \arg\max_B f(C, B),\; C = \arg\max_B f(C', B)\},

    all pairs that are each other's most similar cluster under the linkage f. Single, complete and average linkage are
    reducible (merging two nearest clusters brings neither closer to a third), so the tree is that of hierarchical
    agglomerative clustering, found in few rounds of work that runs in parallel.

    On a graph, pairs of points without an edge have similarity 0, and the tree is exact for that; parts without any
    link are joined by one node at the top. For distances, missing pairs are at the largest distance of the graph. One
    round looks only at clusters whose nearest neighbour has changed; memory is a small multiple of the graph.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`, and :mod:`cladify.data.points` for graphs and given distances.
    n_neighbors : int or None
        Vectors become the graph of this many nearest neighbours (at most n − 1). None: no graph, exact average or Ward
        linkage of the vectors (``sqeuclidean``, ``cosine``, ``dot``) in O(n²) time and linear memory.
    linkage : {"average", "single", "complete", "ward"}
        ``"ward"`` only without a graph.
    epsilon : float
        Above 0, pairs merge that are within a factor 1 + ε of the best similarity either has, provided that the same
        holds for all merges inside them [3]_: fewer rounds, and a (1 + ε)-approximate tree.
    n_clusters : int, optional
        Cut into this many clusters: ``labels_``.
    cut : {"exact", "round"}
        Exactly ``n_clusters`` clusters, as HAC has them, or the round with the closest number of clusters.
    distance_threshold : float, optional
        Or cut at this height.
    n_jobs : int
        Threads; -1 is all cores. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        With one level a round; the height of a node is that of the similarity it was merged at.
    rounds_ : Rounds
        The partition after every round.
    labels_ : int64 array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [10.0], [12.0]])
    >>> model = ReciprocalNN(n_neighbors=4).fit(X)
    >>> [labels.tolist() for labels in model.rounds_]
    [[0, 1, 2, 3, 4], [0, 0, 1, 2, 2], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]

    References
    ----------
    .. [1] Murtagh. A survey of recent advances in hierarchical clustering algorithms. Computer Journal 26, 1983.
    .. [2] Monath. Incremental non-greedy clustering at scale. PhD thesis, University of Massachusetts Amherst, 2022.
    .. [3] Dhulipala et al. TeraHAC: hierarchical agglomerative clustering of trillion-edge graphs. SIGMOD 2024.
    """

    _method: ClassVar = "reciprocal"
    _pairs: ClassVar = True
    _checks: ClassVar = {**SHARED_CHECKS, "epsilon": number(low=0.0)}

    epsilon: float = 0.0

    def _rule(self) -> dict[str, Any]:
        return {"epsilon": float(self.epsilon)}

    def _exact(self, n_clusters: int) -> np.ndarray:
        # Below the joined top the tree is binary, and its heights order the merges, whatever their round.
        if self.tree_.info["n_parts"] <= n_clusters <= self.tree_.n_leaves:
            return self.tree_.cut(n_clusters=n_clusters)
        return self.rounds_.exact(n_clusters)
