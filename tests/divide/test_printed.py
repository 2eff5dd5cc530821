"""B++&C and B2SAT&C as printed, against their pseudo-code in plain NumPy, with ties."""

import numpy as np
import pytest
from naive_bisect import bisect_and_conquer, most_satisfied, path_value
from oracles import assert_minimal_merges, clades
from quick import seeds
from trees import NaiveTree

import cladify
from cladify.divide import sat
from cladify.errors import InvalidInput
from cladify.objectives import ckmm
from cladify.tree import Tree


def distances(random, n):
    """Integer distances, many of them equal, or those of points on a small grid."""
    if random.random() < 0.5:
        D = np.triu(random.integers(1, 5, size=(n, n)), 1)
        return (D + D.T).astype(float)
    X = random.integers(0, 4, size=(n, 2))
    return ((X[:, None] - X[None]) ** 2).sum(axis=2).astype(float)


def by_height(tree):
    """The same binary tree with its nodes numbered in the order of their heights."""
    n = tree.n_leaves
    order = np.concatenate([np.arange(n), n + np.argsort(tree.height[n:], kind="stable")])
    number = np.argsort(order)
    return Tree([number[p] if p >= 0 else -1 for p in tree.parent[order]], tree.height[order])


@pytest.mark.parametrize("seed", seeds(200, daily=6))
def test_bisect_and_conquer_is_algorithms_1_and_2(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 24))
    D = distances(random, n)
    theta = int(random.integers(1, n + 1))  # random rounding is the preset's
    settings = {"delta": float(random.choice([0.0, 0.2])), "noise": float(random.choice([0.01, 1.0])), "n_iter": 5}
    rate = 1.0 / n
    model = cladify.BisectConquer(
        metric="precomputed", preset="paper", theta=theta, learning_rate=rate, random_state=seed, **settings
    )
    tree = model.fit(D).tree_
    generator = np.random.default_rng(seed)
    order = generator.permutation(n)
    above, parts = bisect_and_conquer(D, order, theta, int(generator.integers(2**63)), rate=rate, **settings)
    found = NaiveTree(tree)
    clusters = set(found.members.values())
    assert above <= set(clusters) and parts <= set(clusters)
    assert len(above) == sum(1 for c in clusters if not any(c <= part for part in parts))
    for part in parts:
        if len(part) > 1:
            inside = tree.prune(np.array(sorted(part)))
            rows = np.ix_(sorted(part), sorted(part))
            assert_minimal_merges(by_height(inside), D[rows], "average")


@pytest.mark.parametrize("seed", seeds(200, daily=6))
def test_b2sat_is_algorithms_3_to_5(seed, monkeypatch):
    """The partition by brute force; the three trees rebuilt from it; every bisection even."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 11))
    D = distances(random, n)
    made = {}
    monkeypatch.setattr(sat, "max_2sat", lambda *given, real=sat.max_2sat: made.setdefault("S", real(*given)))
    monkeypatch.setattr(sat, "_path", lambda *given, real=sat._path: made.setdefault("O1", real(*given)))
    monkeypatch.setattr(sat, "_join", lambda *given, real=sat._join: made.setdefault("O2", real(*given)))
    model = cladify.SatConquer(metric="precomputed", preset="paper", random_state=seed).fit(D)
    true = made["S"]
    assert true.sum() == n - n // 2
    satisfied = (D.sum() - D[np.ix_(~true, ~true)].sum()) / 2
    assert satisfied >= 0.94 * most_satisfied(D)

    path = NaiveTree(made["O1"])
    order = sorted(range(n), key=lambda i: len(path.ancestors(i)))  # the last two leave together
    assert set(order[: true.sum()]) == set(np.flatnonzero(true)) or n == 3
    assert model.values_["O1"] == pytest.approx(path_value(D, np.array(order)))
    assert {frozenset(np.flatnonzero(true)), frozenset(np.flatnonzero(~true))} <= {
        *clades(made["O2"]),
        *(frozenset([i]) for i in range(n)),
    }
    whole = model._bisection(np.random.default_rng(seed)).fit(D).tree_
    for tree in (made["O2"], whole):
        naive = NaiveTree(tree)
        value = 0.0
        for v in range(n, tree.n_nodes):
            a, b = (naive.members[c] for c in naive.children[v])
            across = D[np.ix_(sorted(a), sorted(b))].sum()
            value += across * (len(a) + len(b))
            if tree is whole or v != tree.root:
                assert abs(len(a) - len(b)) <= 1
        assert model.values_["O2" if tree is made["O2"] else "O3"] == pytest.approx(value)
    assert ckmm(model.tree_, D, "precomputed") == pytest.approx(max(model.values_.values()))


def test_a_balanced_root_of_one_outlier_is_average_linkage_only_by_default():
    X = np.append(np.random.default_rng(0).normal(size=199), 1000.0)[:, None]
    sides = {}
    for theta in (None, 1):
        tree = cladify.BisectConquer(delta=0, theta=theta, random_state=0).fit(X).tree_
        sides[theta] = sorted(tree.size[tree.children(tree.root)].tolist())
    assert sides == {None: [1, 199], 1: [100, 100]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise must be a finite number"),
        ({"learning_rate": [0.1, -1.0]}, "learning_rate must be a finite number"),
        ({"learning_rate": []}, "learning_rate must be a number above 0"),
        ({"preset": "papers"}, "preset 'papers' is not known. Did you mean 'paper'"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(InvalidInput, match=message):
        cladify.BisectConquer(**options).fit(np.zeros((4, 1)))


def test_a_preset_keeps_what_was_given():
    X = np.random.default_rng(0).normal(size=(300, 3))
    info = cladify.BisectConquer(preset="paper", delta=0.1, random_state=0).fit(X).tree_.info
    assert (info["delta"], info["theta"]) == (0.1, 100)
    assert cladify.SatConquer(preset="paper", theta=7, random_state=0).fit(X).tree_.info["theta"] == 7
