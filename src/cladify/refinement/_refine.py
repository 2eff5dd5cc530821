"""`refine`: local moves on a finished tree, each with its exact gain."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_float, optional
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._heights import HeightRule
from cladify.data._pairs import PairWeights
from cladify.data.points import Points
from cladify.objectives._objective import Objective, get_objective
from cladify.refinement._search import Moves
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["refine"]


def refine(
    tree: Tree,
    X: Any,
    metric: Any = None,
    objective: str = "dasgupta",
    *,
    budget_seconds: float | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = -1,
    progress: ProgressLike | Progress = None,
) -> Tree:
    r"""A tree at least as good as ``tree`` under the objective, by moving subtrees to better places.

    A subtree S is taken out and put back above the node u where the objective is best. With :math:`W(S, u)` the sum of
    weights between S and the leaves of u, the cost of every place comes from one pass down the tree:

    .. math::
        \text{going from } a \text{ down past } b: \; |S|\,W_a + (|a| + |S|)\,W(S, b) \qquad
        \text{stopping above } u: \; (|u| + |S|)\,W(S, u)

    where :math:`W_a` is the weight that meets in a and b is the child of a that S does not go to. Subtrees that cannot
    hold a better place are left out by a bound. The search ends when a pass over all subtrees gains no more. Then the
    top of the tree, a thousand nodes with all that hangs below them, is searched again from a few random trees, which
    finds what moving one subtree at a time cannot; if one of them is better, everything starts over from there.

    The tree is searched as a whole on a graph, on vectors up to 25 000 and on a matrix up to 6000 leaves. A larger
    tree, and one so deep that this would take long, is cut into parts of about a thousand leaves, what hangs below a
    cut standing as one leaf with the sums of all it holds; all parts are searched side by side, and the next pass cuts
    elsewhere. Memory beside X: O(n) links, the sums of features of one part a thread, one and a half times the graph.

    Parameters
    ----------
    tree : Tree
        From any method; nodes with more than two children are first split at random.
    X : array or CSR of shape (n, d), a graph of neighbours, or given values (:mod:`cladify.data.points`)
        Pairs without an edge have weight 0. Metrics without a feature map are worked out for all pairs first.
    metric : str, Similarity or callable, optional
        By default cosine for the objectives of similarities, and sqeuclidean for that of distances.
    objective : "dasgupta", "mw" or "ckmm"
        MW and Dasgupta's cost are improved by the same moves.
    budget_seconds : float, optional
        The search stops after about this time with what it has.
    sample_weight : array of shape (n,), optional
        Leaves that each row stands for.
    random_state : int, optional
        For the random trees, for trees that are not binary, and for metrics with random features.
    n_jobs : int
        Threads. The result does not depend on it, unless the time budget ends the search.
    progress : bool or callable ``(stage, done, total)``, optional

    Returns
    -------
    Tree
        Binary. The height of a node is the average distance (1 − cos for cosine; for a matrix of similarities what
        is missing to the largest average) between its two sides, or its child's height where that is larger. Where no
        move helps, the tree that was given.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.array([[0.0], [1.0], [10.0], [12.0]])
    >>> poor = cladify.Tree.from_newick("((0,2),(1,3));")
    >>> cladify.refine(poor, X, objective="ckmm").cut(n_clusters=2).tolist()
    [0, 0, 1, 1]
    """
    goal = get_objective(objective)
    optional(lambda name, value: check_float(name, value, low=0.0, open_low=True))("budget_seconds", budget_seconds)
    points = goal.points(X, metric, sample_weight)
    weights = goal.weights(points, random_state=random_state)
    check_tree(tree, weights.n)
    with reporting(progress) as report:
        return refined(
            tree, points, weights, goal, budget_seconds, random_state=random_state, n_jobs=n_jobs, report=report
        )[0]


def refined(
    tree: Tree,
    points: Points,
    weights: PairWeights,
    goal: Objective,
    budget_seconds: float | None,
    *,
    random_state: Any,
    n_jobs: int | None,
    report: Progress,
) -> tuple[Tree, float]:
    """The refined tree, and its value."""
    before = goal.value(weights.pair_sums(tree, n_jobs, report), weights.mass)
    if weights.n < 3:
        return tree, before
    binary = tree if tree.is_binary else tree.binarize(random_state)
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    moves = Moves.of(weights, -1.0 if goal.kind == "distance" else 1.0, n_jobs, report)
    search = moves.search(binary, deadline, random_state, resolve_jobs(n_jobs), report)
    # The weights of a graph that was made from distances lie between 0 and 1.
    rule = HeightRule(1.0, -1.0) if points.is_graph and points.kind == "distance" else points.heights
    better = _tree_of(search, weights, goal, rule, tree)
    after = goal.value(weights.pair_sums(better, n_jobs, report), weights.mass)
    gained = after > before if goal.maximize else after < before
    if not gained:
        return tree, before
    better.info["refine"] = {"objective": goal.name, "metric": points.metric, "before": before, "after": after}
    return better, after


def _tree_of(search: Any, weights: PairWeights, goal: Objective, rule: HeightRule, origin: Tree) -> Tree:
    """The searched tree, its heights the average distances between the two sides of every node."""
    n = weights.n
    left, right, cross, size = search.links()
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    inner = np.arange(n, 2 * n - 1)
    parent[left], parent[right] = inner, inner
    sizes = np.concatenate([weights.weight, size])
    sign = -1.0 if goal.kind == "distance" else 1.0
    average = sign * cross / (sizes[left] * sizes[right])
    heights = np.zeros(2 * n - 1)
    # Where no largest similarity is known, heights count from that of the most similar two sides.
    heights[n:] = np.maximum(rule.from_top(float(average.max()))(average), 0.0)
    info = dict(origin.info)
    tree = Tree.from_parents(parent, n, height=heights, info=info)
    return Tree(tree.parent, np.asarray(_core.tree_largest_heights(tree.parent, tree.height, n)), info=info)
