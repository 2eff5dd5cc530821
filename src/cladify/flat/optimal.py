"""The cheapest cut of a tree, for every price of a cluster at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.params import check_float
from cladify.data._cost_features import check_metric, cost_features
from cladify.data._pairs import FeatureWeights
from cladify.data._vectors import check_sample_weight
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["OptimalCuts", "by_dp_means", "dp_means_cuts", "optimal_cuts"]


class OptimalCuts:
    r"""All optimal cuts of a tree: for every price λ the one that minimises cost plus λ times the number of clusters.

    .. math:: \min_{\mathcal{C} \text{ cut of } T} \; \sum_{C \in \mathcal{C}} \mathrm{cost}(C) + \lambda |\mathcal{C}|

    over *all* cuts, that is all partitions of the leaves into nodes of the tree. The higher the price, the coarser the
    cut, and the cuts are nested: node v stays whole from one price on, its threshold, and all thresholds come from one
    pass over the tree in O(m log m). A cut then takes O(m), its cost and number of clusters O(log m). Of two cuts with
    the same cost the coarser one counts. Made by :func:`dp_means_cuts` and :func:`optimal_cuts`.

    Attributes
    ----------
    tree : Tree
    node_cost : float64 array of shape (m,)
        Cost of each node as a cluster, without its price.
    threshold : float64 array of shape (m,)
        The price from which on each node is whole; minus infinity at the leaves.
    prices : float64 array
        Where the cut changes, descending: at ``prices[0]`` and above everything is one cluster.
    """

    def __init__(self, tree: Tree, node_cost: np.ndarray) -> None:
        self.tree = tree
        self.node_cost = node_cost
        self.threshold, self.prices, saving, more = _core.tree_cut_path(tree.parent, node_cost, tree.n_leaves)
        # Entry i holds below the i highest prices.
        self._cost = node_cost[-1] - np.concatenate([[0.0], np.cumsum(saving)])
        self._count = 1 + np.concatenate([[0], np.cumsum(more)])

    def labels(self, lam: float) -> np.ndarray:
        """Clusters of the optimal cut at price ``lam``, numbered as in :meth:`cladify.Tree.cut`."""
        whole = self.threshold <= check_float("lam", lam)
        return _core.tree_top_labels(self.tree.parent, whole.view(np.uint8), self.tree.n_leaves)

    def cost(self, lam: Any) -> Any:
        """Cost of the optimal cut, prices included; of one price or of an array of them."""
        lam = np.asarray(lam, dtype=np.float64)
        place = self._place(lam)
        return self._plain(self._cost[place] + lam * self._count[place])

    def n_clusters(self, lam: Any) -> Any:
        """Number of clusters of the optimal cut; of one price or of an array of them."""
        return self._plain(self._count[self._place(np.asarray(lam, dtype=np.float64))])

    def _place(self, lam: np.ndarray) -> np.ndarray:
        return np.searchsorted(-self.prices, -lam, side="left")

    @staticmethod
    def _plain(values: np.ndarray) -> Any:
        return values.item() if values.ndim == 0 else values

    def __repr__(self) -> str:
        return f"OptimalCuts({len(self.prices)} prices, 1 to {self._count[-1]} clusters)"


def optimal_cuts(tree: Tree, node_cost: Any) -> OptimalCuts:
    """The optimal cuts for any cost of clusters.

    Parameters
    ----------
    tree : Tree
    node_cost : array of shape (m,)
        Cost of each node as a cluster, leaves first.

    Examples
    --------
    >>> tree = Tree([4, 4, 5, 5, 6, 6, -1])
    >>> cuts = optimal_cuts(tree, [0.0, 0.0, 0.0, 0.0, 1.0, 4.0, 10.0])
    >>> [cuts.n_clusters(lam) for lam in (0.5, 2.0, 4.5, 6.0)]
    [4, 3, 2, 1]
    >>> cuts.labels(2.0).tolist()
    [0, 0, 1, 2]
    """
    cost = np.ascontiguousarray(node_cost, dtype=np.float64)
    if cost.shape != (tree.n_nodes,):
        raise InvalidInput(f"node_cost must have shape ({tree.n_nodes},), one number a node, got {cost.shape}.")
    if not np.isfinite(cost).all():
        raise InvalidInput(f"node_cost must be finite, got {cost[~np.isfinite(cost)][0]}.")
    return OptimalCuts(tree, cost)


def dp_means_cuts(
    tree: Tree, X: Any, *, metric: str = "sqeuclidean", sample_weight: Any = None, n_jobs: int | None = -1
) -> OptimalCuts:
    r"""The cuts of a tree with the least DP-means cost, for every λ at once.

    The cost of a cluster is that of :func:`cladify.metrics.dp_means_cost`, which follows from sums of features:

    .. math:: \sum_{x \in C} \|x - \mu_C\|^2 = \frac{1}{|C|} \sum_{\{x, x'\} \subseteq C} \|x - x'\|^2

    O(nd + m log m) time; memory for a few vectors beside X.

    Parameters
    ----------
    tree : Tree
    X : array or CSR matrix of shape (n, d)
        The rows that the leaves stand for.
    metric : {"sqeuclidean", "cosine"}
        ``"cosine"`` takes every row at length 1, as [1]_ does.
    sample_weight : array of shape (n,), optional
        How many points each row stands for.
    n_jobs : int
        Threads; -1 is all cores. The result does not depend on it.

    Returns
    -------
    OptimalCuts

    Examples
    --------
    >>> import cladify
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> cuts = dp_means_cuts(cladify.fit(X, "hac"), X)
    >>> cuts.prices.tolist()
    [110.25, 2.0, 0.5]
    >>> cuts.labels(1.0).tolist(), cuts.cost(1.0)
    ([0, 0, 1, 2], 3.5)

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, §4.4.8, which chooses among the rounds of SCC.
    """
    features = cost_features(X, metric)
    if features.shape[0] != tree.n_leaves:
        raise InvalidInput(
            f"X has {features.shape[0]} rows and the tree {tree.n_leaves} leaves; give the rows it is of."
        )
    weight = check_sample_weight(sample_weight, tree.n_leaves)
    return OptimalCuts(tree, FeatureWeights(features, metric, weight).spreads(tree, n_jobs))


def by_dp_means(
    tree: Tree, X: Any, lam: float, *, metric: str = "sqeuclidean", sample_weight: Any = None, n_jobs: int | None = -1
) -> np.ndarray:
    """Labels of the cut of a tree with the least DP-means cost at price ``lam``; see :func:`dp_means_cuts`.

    Examples
    --------
    >>> import cladify
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> by_dp_means(cladify.fit(X, "hac"), X, lam=4.0).tolist()
    [0, 0, 1, 1]
    """
    lam = check_float("lam", lam, low=0.0)
    check_metric(metric)
    return dp_means_cuts(tree, X, metric=metric, sample_weight=sample_weight, n_jobs=n_jobs).labels(lam)
