"""Planted data keep their promises, checked pair by pair and set by set."""

from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

import cladify
from cladify import Tree, datasets
from cladify.errors import InvalidInput

SEEDS = range(12)
GENERATORS = [
    datasets.make_delta_separated,
    datasets.make_strictly_separated,
    datasets.make_chains,
    datasets.make_model_separated,
    datasets.make_noisy_separated,
]


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else X


@pytest.mark.parametrize("make", GENERATORS)
def test_the_same_seed_gives_the_same_data(make) -> None:
    one, two = make(40, 4, random_state=3), make(40, 4, random_state=3)
    np.testing.assert_array_equal(dense(one.X), dense(two.X))
    np.testing.assert_array_equal(one.y, two.y)
    assert not np.array_equal(one.y, make(40, 4, random_state=4).y)
    assert np.bincount(one.y).tolist() == [10] * 4
    assert len(one.y) == one.X.shape[0]


@pytest.mark.parametrize("make", GENERATORS)
def test_bad_sizes(make) -> None:
    with pytest.raises(InvalidInput, match=r"n_clusters must be an int in \[1, 5\] for 5 points, got 6"):
        make(5, 6)
    with pytest.raises(InvalidInput, match="n_points must be an int of at least 1, got 0"):
        make(0, 1)


# --- distances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "delta"), [(1, 6.0), (2, 4.1), (16, 6.0), (3, 30.0)])
def test_delta_separated(d, delta) -> None:
    for seed in SEEDS:
        data = datasets.make_delta_separated(90, 9, n_features=d, delta=delta, random_state=seed)
        radius = np.linalg.norm(data.X - data.centers[data.y], axis=1).max()
        between = pdist(data.centers)
        assert between.min() >= delta * radius
        assert between.min() <= 1.2 * delta * radius  # as close as allowed


def test_wide_separation_is_strict() -> None:
    for seed in SEEDS:
        data = datasets.make_delta_separated(60, 6, n_features=2, delta=4.01, random_state=seed)
        assert strictly_separated(*data)


def strictly_separated(X, y) -> bool:
    distance = squareform(pdist(X))
    same = y[:, None] == y
    return bool((np.where(same, distance, 0).max(axis=1) < np.where(same, np.inf, distance).min(axis=1)).all())


@pytest.mark.parametrize("d", [1, 2, 16])
def test_strictly_separated(d) -> None:
    no_threshold = 0
    for seed in SEEDS:
        X, y = datasets.make_strictly_separated(120, 8, n_features=d, spread=20.0, random_state=seed)
        assert strictly_separated(X, y)
        same = squareform(y[:, None] == y, checks=False).astype(bool)
        distance = pdist(X)
        no_threshold += distance[same].max() > distance[~same].min()
        tree = cladify.HAC().fit(X).tree_
        assert float(cladify.metrics.dendrogram_purity(tree, y)) == 1.0
    assert no_threshold > len(SEEDS) // 2


def test_one_cluster_of_one_point() -> None:
    assert datasets.make_delta_separated(1, 1, random_state=0).X.shape == (1, 16)
    assert sorted(datasets.make_strictly_separated(3, 3, n_features=1, random_state=0).y.tolist()) == [0, 1, 2]
    assert datasets.make_chains(2, 2, random_state=0).edges.shape == (0, 2)


# --- latent graphs ----------------------------------------------------------------------------------------------------


def connected_sets(data):
    """Every set of points that is connected in the latent graph."""
    n = len(data.y)
    neighbours = np.zeros((n, n), dtype=bool)
    neighbours[tuple(data.edges.T)] = neighbours[tuple(data.edges.T[::-1])] = True
    found = set()
    todo = [frozenset([i]) for i in range(n)]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            around = np.flatnonzero(neighbours[list(one)].any(axis=0))
            todo += [one | {int(j)} for j in around if j not in one]
    return found, neighbours


def broken(data, f):
    """Triples that break model-based separation: A and B hang together, A and C do not, and yet f(A, B) <= f(A, C)."""
    sets, neighbours = connected_sets(data)
    sets = [(sorted(s), s) for s in sets]
    for a, set_a in sets:
        linked, apart = [], []
        for b, set_b in sets:
            if not set_a & set_b:
                (linked if neighbours[np.ix_(a, b)].any() else apart).append((f(a, b), b))
        for value_b, b in linked:
            yield from ((a, b, c, value_b, value_c) for value_c, c in apart if value_b <= value_c)


def components(data):
    n = len(data.y)
    graph = csr_array((np.ones(len(data.edges)), tuple(data.edges.T)), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def same_partition(a, b) -> bool:
    return len({*zip(a.tolist(), b.tolist(), strict=True)}) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("make", [datasets.make_chains, datasets.make_model_separated, datasets.make_noisy_separated])
def test_clusters_are_the_components(make) -> None:
    for seed in SEEDS:
        data = make(60, 5, random_state=seed)
        assert same_partition(components(data), data.y)


@pytest.mark.parametrize("d", [2, 8])
def test_chains(d) -> None:
    misled = 0
    for seed in SEEDS:
        data = datasets.make_chains(100, 5, n_features=d, random_state=seed)
        distance = squareform(pdist(data.X))
        edge = np.zeros(distance.shape, dtype=bool)
        edge[tuple(data.edges.T)] = edge[tuple(data.edges.T[::-1])] = True
        assert distance[edge].max() < 1.5
        assert distance[~edge & ~np.eye(100, dtype=bool)].min() >= 2
        single = Tree.from_linkage(linkage(data.X, "single"))
        assert float(cladify.metrics.dendrogram_purity(single, data.y)) == 1.0
        average = Tree.from_linkage(linkage(data.X, "average"))
        misled += float(cladify.metrics.dendrogram_purity(average, data.y)) < 0.9
    assert misled == len(SEEDS)
    with pytest.raises(InvalidInput, match="n_features must be at least 2"):
        datasets.make_chains(n_features=1)


def test_single_linkage_separates_chains() -> None:
    for seed in SEEDS:
        data = datasets.make_chains(16, 3, n_features=3, random_state=seed)
        distance = squareform(pdist(data.X))
        assert not list(broken(data, lambda a, b, distance=distance: -distance[np.ix_(a, b)].min()))


def cosine_of_sums(data):
    X = dense(data.X)

    def f(a, b):
        one, two = X[a].sum(axis=0), X[b].sum(axis=0)
        return float(one @ two / np.sqrt((one @ one) * (two @ two)))

    return f


def test_cosine_separates_bags_of_words() -> None:
    nothing_shared = 0
    for seed in SEEDS:
        data = datasets.make_model_separated(15, 3, n_bits=8, density=0.2, random_state=seed)
        assert not list(broken(data, cosine_of_sums(data)))
        X = dense(data.X)
        nothing_shared += ((X @ X.T == 0) & (data.y[:, None] == data.y)).any()
    assert nothing_shared > len(SEEDS) // 2  # more than cliques


def test_noisy_separation() -> None:
    for seed in range(4):
        data = datasets.make_noisy_separated(15, 3, noise=0.4, random_state=seed)
        X = dense(data.X)
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
        similarity = X @ X.T - 2 * np.eye(len(X))
        nearest = similarity.argmax(axis=1)
        misled = np.flatnonzero(data.y[nearest] != data.y)
        assert len(misled) == 6
        wrong = list(broken(data, cosine_of_sums(data)))
        assert wrong
        for a, b, c, *_ in wrong:  # only points prefer strangers, and each of them is somebody's nearest
            assert len(a) == len(b) == len(c) == 1 and a[0] in misled
            followers = np.flatnonzero(nearest == a[0])
            assert (data.y[followers] == data.y[a[0]]).any()


def test_trees_cannot_hold_noisy_clusters() -> None:
    X, y = datasets.make_noisy_separated(random_state=0)
    similarity = dense(X @ X.T)
    assert np.mean(y[(similarity - 2 * np.eye(len(y))).argmax(axis=1)] != y) == 0.25
    tree = cladify.HAC(metric="cosine").fit(dense(X)).tree_
    assert float(cladify.metrics.dendrogram_purity(tree, y)) < 0.95


def test_noise_that_does_not_fit() -> None:
    with pytest.raises(InvalidInput, match="leave room for no misled pair"):
        datasets.make_noisy_separated(10, 10)
    with pytest.raises(InvalidInput, match=r"noise must be a finite number in \[0.0, 0.5\], got 0.7"):
        datasets.make_noisy_separated(noise=0.7)
    X, y = datasets.make_noisy_separated(20, 2, noise=0.0, random_state=0)
    assert strictly_separated(dense(X), y)


# --- mixtures ---------------------------------------------------------------------------------------------------------


def test_dirichlet_mixture_counts() -> None:
    n, alpha, repeats = 50, 3.0, 2000
    rng = np.random.default_rng(0)
    labels = [
        datasets.make_dirichlet_mixture(n, concentration=alpha, n_features=1, random_state=rng).y
        for _ in range(repeats)
    ]
    counts = [y.max() + 1 for y in labels]
    starts = alpha / (alpha + np.arange(n))
    error = np.sqrt((starts * (1 - starts)).sum() / repeats)
    assert abs(np.mean(counts) - starts.sum()) < 4 * error
    # The process is exchangeable: any two points share a component with probability 1 / (1 + alpha).
    for i, j in combinations((0, 7, 49), 2):
        together = np.mean([y[i] == y[j] for y in labels])
        assert abs(together - 1 / (1 + alpha)) < 4 * np.sqrt(0.25 * 0.75 / repeats)


def test_dirichlet_mixture_spread() -> None:
    data = datasets.make_dirichlet_mixture(
        20_000, concentration=200.0, n_features=4, between=7.0, within=2.0, random_state=1
    )
    assert (np.diff(np.unique(data.y, return_index=True)[1]) > 0).all()  # numbered as they come
    assert abs((data.X - data.centers[data.y]).std() - 2.0) < 0.05
    assert abs(data.centers.std() - 7.0) < 0.5


# --- hard for average linkage -----------------------------------------------------------------------------------------


def average_tree(similarity) -> Tree:
    return Tree.from_linkage(linkage(squareform(1.0 - similarity, checks=False), "average"))


def moseley_wang(tree, similarity) -> float:
    return cladify.score(tree, similarity, metric="precomputed-similarity", objective="mw").value


def groups_first(y) -> Tree:
    """The groups of ``y``, each a binary tree of its points, joined at the top."""
    order = np.argsort(y, kind="stable")
    where = np.empty(len(y))
    where[order] = np.arange(len(y)) + 1000.0 * y[order]
    return Tree.from_linkage(linkage(where[:, None], "single"))


def test_hard_grid() -> None:
    ratios = []
    for k in (3, 5, 7):
        data = datasets.make_hard_grid(k, random_state=0)
        square = squareform(pdist(data.X, "sqeuclidean"))
        similarity = np.exp(-data.gamma * square)
        similarity /= np.exp(-2 * data.gamma)
        near = similarity[(data.y[:, None] == data.y) & (square > 0)]
        np.testing.assert_allclose(near, np.exp(-0.1), rtol=0.01)  # within a large group
        np.fill_diagonal(similarity, 1.0)
        assert np.sort(similarity, axis=1)[:, : k**3 - k**2 - k + 1].max() < 2 / k**3
        best = moseley_wang(groups_first(data.y), similarity)
        ratios.append(moseley_wang(average_tree(similarity), similarity) / best)
    assert ratios[0] > ratios[1] > ratios[2] and ratios[2] < 0.6


def test_hard_grid_in_fewer_dimensions() -> None:
    data = datasets.make_hard_grid(4, n_features=2000, random_state=0)
    assert data.X.shape == (64, 2000)
    full = pdist(datasets.make_hard_grid(4, random_state=0).X)
    np.testing.assert_allclose(pdist(data.X), full, rtol=0.1)


def test_hard_line() -> None:
    X, y = data = datasets.make_hard_line()
    similarity = np.exp(-data.gamma * squareform(pdist(X, "sqeuclidean")))
    value = moseley_wang(average_tree(similarity), similarity)
    best = cladify.objectives.optimal_tree(similarity, metric="precomputed-similarity", objective="mw")
    assert abs(value / moseley_wang(best, similarity) - 0.75) < 0.05
    assert best.cut(n_clusters=2).tolist() == y.tolist()


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_vectors_of_a_graph(density) -> None:
    """Theorem 4.3 of Charikar and others."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, epsilon = int(rng.integers(1, 20)), float(rng.uniform(0.01, 0.9))
        graph = np.triu(rng.random((n, n)) < density, 1)
        data = datasets.make_graph_vectors(graph, epsilon=epsilon)
        np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1)
        similarity = np.exp(-data.gamma * squareform(pdist(data.X, "sqeuclidean")))
        expected = epsilon ** (n - 1) * np.where(graph | graph.T, 1.0, epsilon)
        pairs = np.triu_indices(n, 1)
        np.testing.assert_allclose(similarity[pairs], expected[pairs], rtol=1e-6)
        assert same_partition(components(data), data.y)


def test_graphs_that_are_none() -> None:
    with pytest.raises(InvalidInput, match="square matrix"):
        datasets.make_graph_vectors(np.ones((2, 3)))
    with pytest.raises(InvalidInput, match="above the smallest float64"):
        datasets.make_graph_vectors(np.ones((1000, 1000)))


# --- orders -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["random", "round-robin", "sorted"])
def test_orders_are_permutations(order) -> None:
    y = np.repeat([4, 7, 9, -1], [5, 3, 8, 2])
    arrival = datasets.arrival_order(y, order, random_state=0)
    assert sorted(arrival.tolist()) == list(range(len(y)))
    assert arrival.tolist() == datasets.arrival_order(y, order, random_state=0).tolist()
    assert arrival.tolist() != datasets.arrival_order(y, order, random_state=1).tolist()
    assert datasets.arrival_order([], order).tolist() == []


def test_round_robin_takes_one_of_each_class_in_turn() -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [5, 3, 8]))
    arriving = y[datasets.arrival_order(y, "round-robin", random_state=0)].tolist()
    turn = arriving[:3]
    assert sorted(turn) == [0, 1, 2]
    assert arriving[:9] == 3 * turn
    assert arriving[9:13] == 2 * [c for c in turn if c != 1] and arriving[13:] == [2, 2, 2]


def test_sorted_takes_class_after_class() -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [5, 3, 8]))
    arriving = y[datasets.arrival_order(y, "sorted", random_state=0)]
    assert np.count_nonzero(np.diff(arriving)) == 2
    firsts = {tuple(dict.fromkeys(y[datasets.arrival_order(y, "sorted", random_state=s)].tolist())) for s in range(40)}
    assert len(firsts) == 6


def test_unknown_order() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'round-robin'"):
        datasets.arrival_order([0, 1], "round_robin")
