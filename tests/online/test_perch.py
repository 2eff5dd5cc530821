"""Perch against its pseudo-code, with ties."""

import numpy as np
import pytest
from naive_perch import NaivePerch
from oracles import clades
from quick import seeds
from scipy.spatial.distance import cdist

from cladify.online import Perch


@pytest.mark.parametrize("metric", ["dot", "sqeuclidean"])
@pytest.mark.parametrize("seed", seeds(200, daily=10))
def test_perch_is_its_pseudo_code(metric, seed):
    """Points of a small grid, many of them equally far from each other; up to 16, so that all of a node are looked at.

    Their mean is zero, so that taking it off leaves whole numbers.
    """
    random = np.random.default_rng(seed)
    half = random.integers(-3, 4, size=(int(random.integers(1, 9)), int(random.integers(1, 4)))).astype(float)
    X = random.permutation(np.concatenate([half, -half]))
    S = X @ X.T if metric == "dot" else -cdist(X, X, "sqeuclidean")
    for balance in (True, False):
        naive = NaivePerch(S, balance=balance)
        for i in range(len(X)):
            naive.insert(i)
        online = Perch(metric, balance=balance).fit(X)
        assert set(clades(online.tree_)) == naive.clusters()
        assert (online.n_maskings_, online.n_balancings_) == (naive.maskings, naive.balancings)
