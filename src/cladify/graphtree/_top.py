"""The tree over points whose neighbours are known by now, searched anew."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import Similarity
from cladify.graphtree._edges import LEAST_SCALE, SCALE_AT, neighbor_edges
from cladify.graphtree._far import edges_at_once
from cladify.graphtree._scales import LAST, Rows, grow
from cladify.graphtree._search import Budget
from cladify.tree import Tree

__all__ = ["LEAST_SCALE", "SCALE_AT", "regrow"]

#: Weight of an edge between two small groups of the present tree, in that of one within a group: where the neighbours
#: leave it open, what was together stays together. See docs/studies/update.md.
_APART = 0.7


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
) -> Tree:
    """Where points have come and gone, all scales of :class:`GraphTree` once more, on the neighbours as they are.

    The small clusters at the bottom, too: points that arrive one by one leave many of one or two points, which the
    larger scales cannot mend and the cost does not show. The smallest groups worth a line stay where they may.

    Parameters
    ----------
    tree : Tree
        The present one.
    graph : NeighborGraph
        The nearest neighbours of n points.
    mass : array of shape (n,)
    X : array of shape (n, d)
    similarity : Similarity
    n_neighbors : int
    budget_seconds : float, optional
    random_state, n_jobs

    Returns
    -------
    Tree
        Without heights.
    """
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    budget = Budget(deadline, random_state, n_jobs, Progress())
    once = len(mass) <= LAST
    edges = edges_at_once(graph, mass, X, similarity, budget) if once else neighbor_edges(graph, mass, n_jobs)
    group = tree.condense().parent[: tree.n_leaves]
    inside = np.repeat(group, np.diff(edges.indptr)) == group[edges.indices]
    edges.value = np.where(inside, edges.value, np.float32(_APART) * edges.value)
    return grow(edges, Rows(X, similarity, mass, n_neighbors), budget)[0]
