"""The condensed tree of HDBSCAN, and the flat clusters of largest stability in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.params import check_choice, check_float
from cladify.data._vectors import check_sample_weight
from cladify.tree import Tree

__all__ = ["CondensedTree", "condense"]

#: How clusters are chosen: those with the largest excess of mass, or the leaves of the condensed tree.
SELECTIONS = ("eom", "leaf")


@dataclass(frozen=True)
class CondensedTree:
    r"""A tree of clusters that only split into clusters of ``min_cluster_size`` points or more.

    Row i says that ``child[i]``, a point (below ``n_points``) or a cluster, leaves cluster ``parent[i]`` at density
    :math:`\lambda = 1 / \text{height}`. Clusters are ``n_points`` (everything), ``n_points + 1``, …, parents first.

    Attributes
    ----------
    parent, child : int64 arrays of shape (r,)
    lambda_val : float64 array of shape (r,)
        Infinite where equal points leave together.
    child_size : float64 array of shape (r,)
        Points of the child, by their weights.
    n_points : int
    """

    parent: np.ndarray
    child: np.ndarray
    lambda_val: np.ndarray
    child_size: np.ndarray
    n_points: int

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def n_clusters(self) -> int:
        """Clusters of the tree, the root included."""
        return 1 + int(np.count_nonzero(self.child >= self.n_points))

    @cached_property
    def birth(self) -> np.ndarray:
        """Density at which each cluster parts from its parent; 0 for the root."""
        rows = self.child >= self.n_points
        birth = np.zeros(self.n_clusters)
        birth[self.child[rows] - self.n_points] = self.lambda_val[rows]
        return birth

    @cached_property
    def stability(self) -> np.ndarray:
        r"""Excess of mass of each cluster: :math:`\sum (\lambda - \lambda_{birth})` over its points."""
        cluster = self.parent - self.n_points
        birth = self.birth[cluster]
        # Distances near the smallest number there is have infinite densities, which may be those of the birth.
        with np.errstate(over="ignore", invalid="ignore"):
            excess = np.where(self.lambda_val == birth, 0.0, self.lambda_val - birth) * self.child_size
        return np.bincount(cluster, weights=excess, minlength=self.n_clusters)

    def select(self, method: str = "eom", *, allow_single_cluster: bool = False) -> np.ndarray:
        """The chosen clusters, ascending.

        ``"eom"`` takes the disjoint clusters with the largest sum of stabilities, ``"leaf"`` those that never split.
        The root counts only with ``"eom"`` and ``allow_single_cluster``; where nothing splits, ``"leaf"`` has no
        cluster, as in scikit-learn.
        """
        check_choice("method", method, SELECTIONS)
        upper = self._upper
        if method == "leaf":
            chosen = np.ones(self.n_clusters, dtype=bool)
            chosen[upper[1:]] = False
            chosen[0] = False
            return self.n_points + np.flatnonzero(chosen)
        stability = self.stability.tolist()
        below = [0.0] * self.n_clusters
        taken = [False] * self.n_clusters
        for c in range(self.n_clusters - 1, -1, -1):
            candidate = c > 0 or allow_single_cluster
            taken[c] = candidate and not below[c] > stability[c]
            if c > 0:
                below[int(upper[c])] += stability[c] if taken[c] else below[c]
        covered = [False] * self.n_clusters
        for c in range(1, self.n_clusters):
            covered[c] = taken[int(upper[c])] or covered[int(upper[c])]
        return self.n_points + np.flatnonzero(np.array(taken) & ~np.array(covered))

    def labels(self, clusters: Any) -> tuple[np.ndarray, np.ndarray]:
        """Label of each point under chosen clusters, -1 for those in none, and how firmly it belongs there.

        Labels go by the smallest point. The probability is the density at which the point leaves its cluster over the
        largest one at which any does.
        """
        n = self.n_points
        home = np.full(self.n_clusters, -1, dtype=np.int64)
        home[np.asarray(clusters, dtype=np.int64) - n] = np.asarray(clusters, dtype=np.int64) - n
        for c in range(1, self.n_clusters):
            if home[c] < 0:
                home[c] = home[self._upper[c]]
        top = np.zeros(self.n_clusters)
        np.maximum.at(top, self.parent - n, self.lambda_val)
        points = self.child < n
        cluster, leaves = np.full(n, -1, dtype=np.int64), np.zeros(n)
        cluster[self.child[points]] = home[self.parent[points] - n]
        leaves[self.child[points]] = self.lambda_val[points]
        if len(clusters) == 1 and clusters[0] == n:  # one cluster: only the points that stay until its last split
            cluster[leaves < top[0]] = -1
        labels, probability = np.full(n, -1, dtype=np.int64), np.zeros(n)
        inside = np.flatnonzero(cluster >= 0)
        highest = top[cluster[inside]]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.minimum(leaves[inside], highest) / highest
        probability[inside] = np.where(np.isinf(leaves[inside]) | (highest == 0), 1.0, share)
        found, first, number = np.unique(cluster[inside], return_index=True, return_inverse=True)
        rank = np.empty(len(found), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(found))
        labels[inside] = rank[number]
        return labels, probability

    @cached_property
    def _upper(self) -> np.ndarray:
        """Parent of each cluster, both counted from 0; the root's is 0."""
        rows = self.child >= self.n_points
        upper = np.zeros(self.n_clusters, dtype=np.int64)
        upper[self.child[rows] - self.n_points] = self.parent[rows] - self.n_points
        return upper

    def to_pandas(self) -> Any:
        """A DataFrame with the columns ``parent``, ``child``, ``lambda_val`` and ``child_size``."""
        import pandas as pd

        names = ("parent", "child", "lambda_val", "child_size")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def condense(tree: Tree, min_cluster_size: float, *, sample_weight: Any = None) -> CondensedTree:
    """The condensed tree of any tree whose heights are distances; O(n), and for trees of any arity.

    Parameters
    ----------
    tree : Tree
    min_cluster_size : float
        A node splits its cluster where two or more of its children have this many points.
    sample_weight : array of shape (n,), optional
        How many points each leaf stands for.

    Examples
    --------
    >>> import cladify
    >>> tree = cladify.Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [5, 6, 4.0, 4], [4, 7, 8.0, 5]])
    >>> rows = condense(tree, 2)
    >>> rows.parent.tolist(), rows.child.tolist()
    ([5, 5, 5, 6, 6, 7, 7], [6, 7, 4, 3, 2, 1, 0])
    >>> rows.labels(rows.select())[0].tolist()
    [0, 0, 1, 1, -1]
    """
    size = check_float("min_cluster_size", min_cluster_size, low=0.0, open_low=True)
    weight = check_sample_weight(sample_weight, tree.n_leaves)
    mass = tree.size.astype(np.float64) if weight is None else _core.node_sums(tree.parent, weight)
    rows = _core.condense_tree(tree.parent, mass, tree.height, tree.n_leaves, size)
    parent, child, density, child_size = rows
    return CondensedTree(parent, child, density, child_size, tree.n_leaves)
