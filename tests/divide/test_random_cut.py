"""Random cut: the distribution of its trees, its pseudo-code, its guarantee, its inputs."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from naive_bisect import mix
from oracles import clades
from quick import seeds
from scipy.sparse import csr_matrix
from scipy.stats import kstest

import cladify
from cladify import RandomCut
from cladify.divide.random_cut import cut_line
from cladify.errors import InvalidInput


def recursive_cut(x: list[float], rng: random.Random) -> frozenset:
    """The definition: the clusters (as bit sets) of cutting the sorted positions ``x`` at uniform points."""
    clusters = []
    parts = [(0, len(x))]
    while parts:
        first, last = parts.pop()
        clusters.append((1 << last) - (1 << first))
        if last - first > 1:
            r = rng.uniform(x[first], x[last - 1])
            middle = next((i for i in range(first, last) if x[i] > r), last - 1)
            parts += [(first, middle), (middle, last)]
    return frozenset(clusters)


def clusters_of(parent: list[int]) -> frozenset:
    """Clusters of a binary tree as bit sets."""
    members = [1 << i if i <= len(parent) // 2 else 0 for i in range(len(parent))]
    for v, p in enumerate(parent[:-1]):
        members[p] |= members[v]
    return frozenset(members)


def tree_of(x: np.ndarray, seed: int) -> list[int]:
    """Parents of one draw, without the estimator around it."""
    parent, height = np.empty(2 * len(x) - 1, dtype=np.int64), np.empty(2 * len(x) - 1)
    height[: len(x)] = x
    cut_line(parent, height, seed, 2)
    return parent.tolist()


def test_same_distribution_as_recursive_cutting():
    x = np.array([0.0, 1.0, 1.5, 4.0, 4.2])
    rng = random.Random(0)
    n = 20_000
    ours = Counter(clusters_of(tree_of(x, seed)) for seed in range(n))
    theirs = Counter(recursive_cut(x.tolist(), rng) for _ in range(n))
    shapes = sorted(set(ours) | set(theirs), key=lambda s: -theirs[s])
    assert len(shapes) == 14  # all ways to cut five points on a line
    a, b = (np.array([c[s] for s in shapes], dtype=float) for c in (ours, theirs))
    chi2 = ((a - b) ** 2 / np.maximum(a + b, 1)).sum()
    assert chi2 < 34.5  # 99.9 % of a chi-squared with 13 degrees of freedom


def bits(seed, i):
    """The i-th number of a stream (``core/common/random.hpp``)."""
    return mix((seed + (i + 1) * 0x9E3779B97F4A7C15) % 2**64)


def printed_cut(place, seed):
    """Algorithm of section 4, part by part: sort the projections, cut at a uniform point, and do so in both parts.

    A uniform point of a part is the first one that falls into it, in the order of a Poisson process on the line. Points
    that are equal are cut apart anywhere.
    """
    order = np.lexsort((np.arange(len(place)), place))
    gaps = range(len(place) - 1)
    length = np.diff(place[order])
    falls = [(-math.log(((bits(seed, i) >> 11) + 0.5) / 2**53) / g if g else math.inf) for i, g in enumerate(length)]
    anywhere = [bits(~seed % 2**64, i) for i in gaps]
    clusters, parts = set(), [(0, len(place))]
    while parts:
        first, last = parts.pop()
        if last - first > 1:
            clusters.add(frozenset(order[first:last].tolist()))
            cut = min(range(first, last - 1), key=lambda i: (falls[i], anywhere[i])) + 1
            parts += [(first, cut), (cut, last)]
    return clusters


@pytest.mark.parametrize("seed", seeds(200, daily=20))
def test_projected_random_cut_is_its_pseudo_code(seed):
    """Points of a small grid, some of them equal."""
    generator = np.random.default_rng(seed)
    n, d = int(generator.integers(1, 25)), int(generator.integers(1, 4))
    X = generator.integers(0, 5, size=(n, d)).astype(float)
    tree = RandomCut(random_state=seed).fit(X).tree_
    drawn = np.random.default_rng(seed)
    direction = drawn.standard_normal(d) if d > 1 else np.ones(1)
    place = np.array([sum(x * g for x, g in zip(row, direction, strict=True)) for row in X])
    assert set(clades(tree)) == printed_cut(place, int(drawn.integers(2**63)))


def moseley_wang(parent: list[int], w: np.ndarray) -> float:
    """The sum over triples of the similarity of the two that stay together longest."""
    n = len(w)
    members = [[i] for i in range(n)] + [[] for _ in range(n - 1)]
    total = 0.0
    for v, p in enumerate(parent[:-1]):
        if members[p]:
            total += w[np.ix_(members[p], members[v])].sum() * (n - len(members[p]) - len(members[v]))
        members[p] = members[p] + members[v]
    return total


def triple_values(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(w)
    i, j, k = (t.ravel() for t in np.indices((n, n, n)))
    keep = (i < j) & (j < k)
    i, j, k = i[keep], j[keep], k[keep]
    return w[i, j], w[j, k], w[i, k]


def test_half_of_the_one_dimensional_bound():
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = int(rng.integers(3, 11))
        x = np.sort(rng.exponential(size=n).cumsum() if rng.random() < 0.5 else rng.normal(size=n))
        w = np.exp(-((x[:, None] - x[None]) ** 2) / rng.uniform(0.1, 4.0))
        near, other, _ = triple_values(w)
        mean = np.mean([moseley_wang(tree_of(x, seed), w) for seed in range(200)])
        assert mean >= 0.5 * np.maximum(near, other).sum()


def test_guarantee_in_higher_dimensions():
    rng = np.random.default_rng(2)
    for _ in range(4):
        n, d = 8, int(rng.integers(2, 6))
        X = rng.normal(size=(n, d))
        distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        w = np.exp(-distance / (2 * rng.uniform(0.5, 2.0) ** 2))
        bound = np.max(triple_values(w), axis=0).sum()
        trees = [RandomCut(random_state=s, n_jobs=1).fit(X).tree_ for s in range(150)]
        mean = np.mean([moseley_wang(tree.parent.tolist(), w) for tree in trees])
        assert mean >= (1 + w.min()) / 3 * bound


def test_heights_are_extents_and_clusters_are_intervals():
    x = np.random.default_rng(3).normal(size=200)
    tree = RandomCut(random_state=0).fit(x[:, None]).tree_
    rank = np.argsort(np.argsort(x))
    assert tree.is_binary and tree.is_monotone
    for v in range(tree.n_leaves, tree.n_nodes):
        members = tree.members(v)
        assert tree.height[v] == pytest.approx(np.ptp(x[members]))
        assert np.ptp(rank[members]) == len(members) - 1


def test_many_points_are_cut_in_the_same_way():
    """Enough points for threads to share: still extents, intervals, and cuts that are uniform on the line."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=30_000).round(4)  # a third of the gaps are 0
    tree = RandomCut(random_state=0).fit(x[:, None]).tree_
    assert tree == RandomCut(random_state=0, n_jobs=1).fit(x[:, None]).tree_
    inner = np.arange(tree.n_leaves, tree.n_nodes)
    by_node = x[tree.leaf_order]
    low, high = (np.array([f(by_node[tree.first[v] : tree.last[v]]) for v in inner]) for f in (np.min, np.max))
    np.testing.assert_allclose(tree.height[inner], high - low, atol=1e-12)
    rank = np.argsort(np.argsort(x, kind="stable"))[tree.leaf_order]
    spans = np.array([np.ptp(rank[tree.first[v] : tree.last[v]]) for v in inner])
    np.testing.assert_array_equal(spans, tree.size[inner] - 1)

    n = 10_000
    cuts = []  # places of the cut of the whole and of its larger side, as shares of their extents
    for seed in range(200):
        tree = cladify.Tree(tree_of(np.arange(n, dtype=np.float64), seed))
        for v in (tree.root, max(tree.children(tree.root), key=lambda child: tree.size[child])):
            first = min(tree.children(v), key=lambda child: tree.members(child).min())
            cuts.append(tree.size[first] / tree.size[v])
    assert kstest(cuts[::2], "uniform").pvalue > 1e-3
    assert kstest(cuts[1::2], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 50_000])
def test_equal_points(n):
    tree = RandomCut(random_state=0).fit(np.ones((n, 3))).tree_
    assert tree.n_leaves == n and tree.is_binary
    assert not tree.height.any()
    assert tree.depth <= 80  # equal points are split at random places, not peeled off one by one


def same_clusters(a: cladify.Tree, b: cladify.Tree) -> bool:
    return cladify.Tree(a.parent) == cladify.Tree(b.parent)


def test_threads_layouts_and_types_give_the_same_tree(tmp_path):
    X = np.random.default_rng(4).normal(size=(3000, 7)).astype(np.float32)
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=X.shape)
    mapped[:] = X
    tree = RandomCut(random_state=5, n_jobs=1).fit(X).tree_
    for same in (X, np.asfortranarray(X), mapped):
        assert RandomCut(random_state=5, n_jobs=2).fit(same).tree_ == tree
    for alike in (X.astype(np.float64), X.tolist(), csr_matrix(X)):  # other roundings, the same clusters
        assert same_clusters(RandomCut(random_state=5).fit(alike).tree_, tree)


def test_cosine_ignores_lengths():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 4))
    scaled = X * rng.uniform(0.1, 10.0, size=(500, 1))
    first, second, sparse = (
        RandomCut(metric="cosine", random_state=0).fit(rows).tree_ for rows in (X, scaled, csr_matrix(X))
    )
    assert same_clusters(first, second) and same_clusters(first, sparse)


def test_one_far_outlier_is_cut_first():
    X = np.random.default_rng(7).normal(size=(300, 2))
    X[123] = 1e9
    tree = RandomCut(random_state=0).fit(X).tree_
    assert 123 in tree.children(tree.root)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan], [0.0, 1.0]]), "X has NaN in 1 row"),
        (np.array([[1.0, np.inf], [0.0, 1.0]]), "X has inf in 1 row"),
        (np.full((2, 400), 1e308), "too large to project"),
        (np.empty((0, 2)), "0 sample"),
    ],
)
def test_bad_rows(X, message):
    with pytest.raises(InvalidInput, match=message):
        RandomCut(random_state=0).fit(X)


def test_zero_rows_under_cosine():
    with pytest.raises(InvalidInput, match="X has 1 zero row"):
        RandomCut(metric="cosine").fit(np.array([[0.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(InvalidInput, match=r"metric 'cosin' is not known\. Did you mean 'cosine'"):
        RandomCut(metric="cosin").fit(np.eye(3))
