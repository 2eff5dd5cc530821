"""The top of a tree, rebuilt over the small clusters at its bottom."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Similarity
from cladify.graphtree._edges import LEAST_SCALE, SCALE_AT, neighbor_edges
from cladify.graphtree._far import edges_at_once
from cladify.graphtree._scales import LAST, MICRO, Rows, grow, micro_clusters, next_scale, roots_of
from cladify.graphtree._search import Budget
from cladify.tree import Tree

__all__ = ["LEAST_SCALE", "SCALE_AT", "regrow"]


def regrow(
    tree: Tree,
    graph: NeighborGraph,
    mass: np.ndarray,
    X: Any,
    similarity: Similarity,
    *,
    n_neighbors: int,
    budget_seconds: float | None = None,
    random_state: Any = 0,
    n_jobs: int | None = -1,
) -> tuple[np.ndarray, Tree]:
    """Where points have come and gone, the upper scales of :class:`GraphTree` once more; the lower ones stay.

    Up to 10 000 points there is one scale, which is searched as a whole.

    Parameters
    ----------
    tree : Tree
    graph : NeighborGraph
        The nearest neighbours of the n leaves.
    mass : array of shape (n,)
    X : array of shape (n, d)
    similarity : Similarity
    n_neighbors : int
    budget_seconds : float, optional
    random_state, n_jobs

    Returns
    -------
    bottom : int array
        Nodes of ``tree`` that hold every leaf once.
    top : Tree
        A tree whose leaf i is ``bottom[i]``.
    """
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    budget = Budget(deadline, random_state, n_jobs, Progress())
    rows = Rows(X, similarity, mass, n_neighbors)
    if tree.n_leaves <= LAST:
        return np.arange(tree.n_leaves), grow(edges_at_once(graph, mass, X, similarity, budget), rows, budget)[0]
    edges = neighbor_edges(graph, mass, n_jobs)
    top, _ = grow(*next_scale(edges, rows, micro_clusters(tree, MICRO), budget), budget)
    return roots_of(tree, MICRO), top
