"""The exact optimum for a few points."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.objectives._objective import get_objective
from cladify.tree import Tree

__all__ = ["OPTIMAL_LIMIT", "optimal_tree"]

#: Most points that :func:`optimal_tree` takes: O(3ⁿ) time.
OPTIMAL_LIMIT = 16


def optimal_tree(X: Any, objective: str = "dasgupta", metric: Any = None, *, sample_weight: Any = None) -> Tree:
    """The best of all trees over at most 16 points, by dynamic programming over all subsets.

    Every set of points takes its best split into two; a binary tree is always among the best. O(3ⁿ) time and O(2ⁿ)
    memory: 12 points take milliseconds, 16 about a second.

    Parameters
    ----------
    X : array of shape (n, d), sparse rows, a graph, or given values
    objective : "dasgupta", "mw" or "ckmm"
    metric : str, Similarity or callable, optional
        As in :func:`cladify.score`.
    sample_weight : array of shape (n,), optional

    Returns
    -------
    Tree
        With the number of leaves below as heights, less one; ``info["value"]`` is the objective.

    Examples
    --------
    >>> import numpy as np
    >>> tree = optimal_tree(np.array([[0.0], [1.0], [10.0], [12.0]]), "ckmm")
    >>> tree.cut(n_clusters=2).tolist(), tree.info["value"]
    ([0, 0, 1, 1], 1794.0)
    """
    chosen = get_objective(objective)
    weights = chosen.weights(chosen.points(X, metric, sample_weight), method="pairs")
    n = weights.n
    if n > OPTIMAL_LIMIT:
        raise InvalidInput(
            f"optimal_tree takes at most {OPTIMAL_LIMIT} points, got {n}; use cladify.fit and cladify.refine for more."
        )
    sign = 1.0 if chosen.maximize != chosen.inner else -1.0  # Σ w·|LCA| is to be small for Dasgupta and for MW
    side = _core.best_splits(weights.block(np.arange(n)), weights.weight, sign)
    tree = Tree.from_parents(*_parents(side, n), info={"method": "optimal", "objective": chosen.name})
    tree.info["value"] = chosen.value(weights.pair_sums(tree, 1, Progress()), weights.mass)
    return tree


def _parents(side: np.ndarray, n: int) -> tuple[np.ndarray, int, np.ndarray]:
    """Parents, number of leaves and heights from one side of the best split of every set."""
    parent = np.full(2 * n - 1, -1)
    height = np.zeros(2 * n - 1)
    open_sets = [((1 << n) - 1, -1)]
    fresh = n
    while open_sets:
        points, above = open_sets.pop()
        if points & (points - 1):
            node, fresh = fresh, fresh + 1
            height[node] = points.bit_count() - 1
            left = int(side[points])
            open_sets += [(left, node), (points ^ left, node)]
        else:
            node = points.bit_length() - 1
        parent[node] = above
    return parent, n, height
