"""BIRCH as a tree: scikit-learn's clustering-feature tree with the points below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.params import integer, number, optional
from cladify._kit.progress import Progress
from cladify.agglomerate.hac import HAC
from cladify.data._vectors import columns_in_use
from cladify.data.points import Points
from cladify.flat.optimal import dp_means_cuts
from cladify.neighbors import query
from cladify.tree import Tree

__all__ = ["Birch"]


@dataclass(kw_only=True, eq=False, repr=False)
class Birch(TreeEstimator):
    r"""BIRCH [1]_: points join the nearest of a few subclusters, node after node, in one pass over the data.

    The CF-tree of scikit-learn's ``Birch`` becomes a :class:`~cladify.Tree`, in general not binary: its nodes, its leaf
    subclusters, and below them the points for which they are nearest. Subclusters that are nearest to no point vanish.
    The height of a node is the root mean square distance of its points from their mean, or that of a node below it
    where this is larger. The tree depends on the order of the rows.

    Parameters
    ----------
    threshold : float
        A subcluster takes a point while its radius stays below this; in the units of the data.
    branching_factor : int
        Subclusters of a node at most, at least 2.
    n_clusters : int, optional
        So many clusters in ``labels_``: as in scikit-learn, Ward's linkage of the subclusters' centres joins those;
        with fewer subclusters than that it is a cut of the tree. By default ``labels_`` are the subclusters.
    distance_threshold : float, optional
        Or cut at this height.
    n_jobs : int
        Threads for the assignment of points; -1 is all cores.

    Attributes
    ----------
    tree_ : Tree
    labels_ : int64 array of shape (n,)
    n_subclusters_ : int
        Leaf subclusters that have points.

    Notes
    -----
    ``sample_weight`` is not used.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Birch(threshold=1.0).fit(np.array([[0.0], [1.0], [10.0], [11.0]])).tree_
    >>> tree.cut(n_clusters=2).tolist()
    [0, 0, 1, 1]

    References
    ----------
    .. [1] Zhang, Ramakrishnan and Livny. BIRCH: an efficient data clustering method for very large databases. SIGMOD
       1996. Compared in Naumov et al., Objective-based hierarchical clustering of deep embedding vectors, AAAI 2021.
    """

    _checks: ClassVar = {
        "threshold": number(0.0, open_low=True),
        "branching_factor": integer(2),
        "n_clusters": optional(integer(1)),
        "distance_threshold": optional(number(0.0)),
    }

    threshold: float = 0.5
    branching_factor: int = 50
    distance_threshold: float | None = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        from sklearn.cluster import Birch as CFTree

        X, n = points.rows, points.n
        if points.is_sparse:  # centres are dense
            X = X[:, columns_in_use(X)]
        # Rows are finite. A BLAS that reads past a last short row may still raise the flag of an invalid operation.
        with report.stage("cf-tree", total=1) as advance, np.errstate(invalid="ignore"):
            model = CFTree(
                threshold=self.threshold, branching_factor=self.branching_factor, n_clusters=None, compute_labels=False
            ).fit(X)
            advance()
        parent, centers = _cf_parents(model.root_)
        rows = centers.astype(X.dtype)
        if points.is_sparse:
            from scipy.sparse import csr_array

            rows = csr_array(rows)
        nearest = query(rows, X, k=1, metric="sqeuclidean", n_jobs=self.n_jobs, progress=report).indices[:, 0]
        _, first, number = np.unique(nearest, return_index=True, return_inverse=True)
        self.n_subclusters_ = len(first)
        order = np.argsort(first)
        self._subcluster = np.argsort(order)[number]
        self._centers = centers[np.unique(nearest)[order]]
        tree = _with_points(parent, nearest, n)
        if n > 1:
            spread = dp_means_cuts(tree, X, n_jobs=self.n_jobs).node_cost / tree.size
            height = np.sqrt(spread)
            tree = Tree(tree.parent, _core.tree_largest_heights(tree.parent, height, n))
        tree.info.update(method="birch", threshold=self.threshold, branching_factor=self.branching_factor)
        return tree

    def _default_labels(self) -> np.ndarray:
        return self._subcluster

    def labels_for(self, n_clusters: int | None = None, *, height: float | None = None) -> np.ndarray:
        if n_clusters is None or height is not None or n_clusters >= self.n_subclusters_:
            return super().labels_for(n_clusters, height=height)
        return HAC(linkage="ward", n_clusters=n_clusters).fit(self._centers).labels_[self._subcluster]


def _cf_parents(root: Any) -> tuple[np.ndarray, np.ndarray]:
    """Parents of the leaf subclusters 0, 1, … and, after them, of the nodes of a CF-tree; centres of the subclusters.

    Nodes count from minus one down while it is not known how many subclusters there are.
    """
    of_subcluster: list[int] = []
    centers: list[np.ndarray] = []
    of_node = [0]
    stack = [(root, -1)]
    while stack:
        node, number = stack.pop()
        for subcluster in node.subclusters_:
            if subcluster.child_ is None:
                of_subcluster.append(number)
                centers.append(np.asarray(subcluster.centroid_).ravel())
            else:
                of_node.append(number)
                stack.append((subcluster.child_, -len(of_node)))
    count = len(of_subcluster)
    parent = np.array(of_subcluster + of_node, dtype=np.int64)
    parent = count - 1 - parent
    parent[count] = -1
    return parent, np.array(centers)


def _with_points(parent: np.ndarray, nearest: np.ndarray, n: int) -> Tree:
    """The tree of the points below their subclusters, without nodes that have no point below them."""
    used = np.zeros(len(parent), dtype=bool)
    level = np.unique(nearest)
    while len(level):  # up, all at once
        used[level] = True
        level = np.unique(parent[level])
        level = level[(level >= 0)]
        level = level[~used[level]]
    number = n + np.cumsum(used) - 1
    above = np.where(parent[used] >= 0, number[parent[used]], -1)
    return Tree.from_parents(np.concatenate([number[nearest], above]), n)
