"""Greedy, Rotate and Grinch against their pseudo-code, with ties; linkages over all pairs."""

import numpy as np
import pytest
from naive_online import NaiveOnline
from oracles import clades
from quick import seeds
from scipy.spatial.distance import cdist

from cladify.online import Greedy, Grinch, Rotate

WHOLE = {"average": np.mean, "single": np.max, "complete": np.min}
EXACT = {"cap": None, "single_elimination": False, "single_search": False}


def clusters(S, over, **steps):
    """Those of the pseudo-code, over similarities of points that arrive in order."""
    naive = NaiveOnline(lambda a, b: float(over(S[np.ix_(a, b)])), **steps)
    for i in range(len(S)):
        naive.insert(i)
    return naive.clusters()


@pytest.mark.parametrize("seed", seeds(200, daily=5))
def test_greedy_and_rotate_are_their_pseudo_code(seed):
    """Products of small whole numbers: exact, and many of them equal."""
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, size=(int(random.integers(1, 16)), 2)).astype(float)
    linkage = list(WHOLE)[seed % 3]
    for method, rotate in ((Greedy, False), (Rotate, True)):
        tree = method("dot", linkage).fit(X).tree_
        assert set(clades(tree)) == clusters(X @ X.T, WHOLE[linkage], rotate=rotate, graft=False)


@pytest.mark.parametrize("seed", seeds(200, daily=5))
def test_grinch_is_its_pseudo_code(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 16))
    S = np.triu(random.integers(0, 6, size=(n, n)), 1)
    S = (S + S.T).astype(float)
    over = WHOLE[list(WHOLE)[seed % 3]]

    def of_rows(A, B):
        return float(over(S[np.ix_(A[:, 1].astype(int), B[:, 1].astype(int))]))

    X = np.column_stack([np.ones(n), np.arange(n)])
    online = Grinch("dot", of_rows, **EXACT).fit(X)
    assert set(clades(online.tree_)) == clusters(S, over)


@pytest.mark.parametrize("linkage", ["single", "complete"])
@pytest.mark.parametrize("metric", ["cosine", "sqeuclidean", "dot"])
def test_linkages_over_all_pairs(linkage, metric):
    X = np.random.default_rng(3).normal(size=(40, 4))
    if metric == "cosine":
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        S = unit @ unit.T
    else:
        S = X @ X.T if metric == "dot" else -cdist(X, X, "sqeuclidean")
    tree = Grinch(metric, linkage, **EXACT).fit(X).tree_
    assert set(clades(tree)) == clusters(S, WHOLE[linkage])
    first, second = (tree.members(c) for c in tree.children(tree.root))
    apart = WHOLE[linkage](S[np.ix_(first, second)])
    assert tree.height[tree.root] >= (1.0 - apart if metric == "cosine" else -apart) - 1e-6
