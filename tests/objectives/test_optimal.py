"""The exact optimum against all trees."""

import math

import numpy as np
import pytest

from cladify import objectives
from cladify.errors import InvalidInput
from cladify.objectives import optimal_tree
from cladify.similarity import get_similarity

NAMES = ["dasgupta", "mw", "ckmm"]


def given_metric(objective):
    """The metric of given values of the objective's kind."""
    return "precomputed" if objective == "ckmm" else "precomputed-similarity"


def best_value(W, m, points, name):
    """The best value over all binary trees by trying every first split."""
    if len(points) == 1:
        return 0.0
    choose = max if name == "ckmm" else min
    size = sum(m[i] for i in points)
    first, rest = points[0], points[1:]
    values = []
    for mask in range(2 ** len(rest) - 1):
        left = (first, *(p for b, p in enumerate(rest) if mask >> b & 1))
        right = tuple(p for p in points if p not in left)
        cross = sum(W[i, j] * m[i] * m[j] for i in left for j in right)
        values.append(size * cross + best_value(W, m, left, name) + best_value(W, m, right, name))
    return choose(values)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_all_trees(name, weighted):
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 6):
        W = np.triu(rng.random((n, n)), 1)
        W += W.T
        m = rng.integers(1, 4, size=n) if weighted else np.ones(n)
        tree = optimal_tree(W, name, given_metric(name), sample_weight=m)
        assert tree.is_binary and tree.n_leaves == n
        best = best_value(W, m, tuple(range(n)), name)
        if name == "mw":
            best = m.sum() * (np.outer(m, m) * W).sum() / 2 - best
        assert math.isclose(tree.info["value"], best, abs_tol=1e-9)
        assert math.isclose(getattr(objectives, name)(tree, W, given_metric(name), sample_weight=m), best, abs_tol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_no_random_tree_is_better(name, random_tree):
    rng = np.random.default_rng(1)
    X = rng.random((12, 3))
    tree = optimal_tree(X, name)
    sign = -1 if name == "dasgupta" else 1
    metric = "sqeuclidean" if name == "ckmm" else "cosine"
    W = get_similarity(metric).block(X, X)
    for _ in range(100):
        other = getattr(objectives, name)(random_tree(12, rng), W, given_metric(name))
        assert sign * tree.info["value"] >= sign * other - 1e-9


def test_small_and_large():
    assert optimal_tree(np.ones((1, 2))).n_leaves == 1
    with pytest.raises(InvalidInput, match="at most 16 points, got 17"):
        optimal_tree(np.ones((17, 2)))
