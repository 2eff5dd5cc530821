"""Random trees: their distributions."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from cladify import RandomTree, _core


@pytest.mark.parametrize("kind", ["uniform", "path"])
@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_binary_over_all_leaves(kind, n):
    tree = RandomTree(kind=kind, random_state=0).fit(np.zeros((n, 1))).tree_
    assert tree.is_binary and tree.n_leaves == n and tree.is_monotone
    assert (tree.depth == n - 1) if kind == "path" else tree.depth <= n - 1


def test_uniform_over_all_binary_trees():
    rng = np.random.default_rng(0)
    n, draws = 5, 10_500

    def shape(seed: int) -> frozenset:
        members = [{v} if v < n else set() for v in range(2 * n - 1)]
        parent = _core.uniform_tree(n, seed).tolist()
        for leaf in range(n):
            v = leaf
            while (v := parent[v]) >= 0:
                members[v].add(leaf)
        return frozenset(map(frozenset, members))

    counts = Counter(map(shape, rng.integers(2**62, size=draws).tolist()))
    assert len(counts) == 105  # (2n - 3)!!
    expected = draws / 105
    chi2 = sum((c - expected) ** 2 / expected for c in counts.values())
    assert chi2 < 153  # 99.9 % of a chi-squared with 104 degrees of freedom


@pytest.mark.parametrize("kind", ["uniform", "path"])
def test_each_of_three_leaves_is_split_off_first_equally_often(kind):
    rng = np.random.default_rng(1)
    X = np.zeros((6, 1))
    trees = [RandomTree(kind=kind, random_state=rng).fit(X).tree_ for _ in range(1000)]
    for a, b in combinations(range(3), 2):
        c = 3 - a - b
        first = np.mean([tree.lca(a, b) < tree.lca(a, c) for tree in trees])
        assert abs(first - 1 / 3) < 0.06  # four standard deviations


def test_seed_decides():
    X = np.zeros((40, 1))
    draw = [RandomTree(random_state=s).fit(X).tree_ for s in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]
