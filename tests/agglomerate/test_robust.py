"""Robust single linkage against the definition, and its flat clusters against scikit-learn's HDBSCAN."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from sklearn import datasets as data
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify import NeighborGraph, RobustSingleLinkage, Tree
from cladify.errors import CladifyWarning, InvalidInput


def reachability(distance: np.ndarray, min_samples: int, alpha: float = 1.0) -> np.ndarray:
    core = np.sort(distance, axis=1)[:, min_samples - 1]
    reach = np.maximum(np.maximum(core[:, None], core), distance / alpha)
    np.fill_diagonal(reach, 0.0)
    return reach


def same_ultrametric(tree: Tree, reach: np.ndarray, rtol: float = 1e-9) -> None:
    """Single linkage has one ultrametric, whatever the order of equal edges."""
    expected = cophenet(linkage(squareform(reach, checks=False), "single"))
    np.testing.assert_allclose(cophenet(tree.to_linkage()), expected, rtol=rtol, atol=1e-12)


def some_points(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "far apart":
        X = 0.05 * X + 100.0 * rng.integers(0, 4, size=(n, d))
    if kind == "with duplicates":
        X = X[rng.integers(0, n // 3, size=n)]
    if kind == "integers":
        X = np.round(2 * X)
    if kind == "one cluster far away":
        X[: n // 4] = 1e-3 * X[: n // 4] + 1e4
    return X


KINDS = ["one cloud", "far apart", "with duplicates", "integers", "one cluster far away"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("min_samples", [1, 2, 5, 30])
def test_tree_is_exact(kind, min_samples) -> None:
    for seed, n in enumerate((31, 150, 400)):
        X = some_points(kind, n, 1 + seed, seed)
        model = RobustSingleLinkage(min_samples=min_samples).fit(X)
        distance = squareform(pdist(X))
        same_ultrametric(model.tree_, reachability(distance, min_samples))
        core = np.sort(distance, axis=1)[:, min_samples - 1]
        np.testing.assert_allclose(model.core_distances_, core, rtol=1e-9, atol=1e-12)
        assert model.tree_.is_binary and model.tree_.is_monotone


@pytest.mark.parametrize("alpha", [1.0, 1.4])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "euclidean"])
def test_metrics_of_squared_distances(metric, alpha) -> None:
    X = some_points("far apart", 300, 3, 0) + 1.0
    reach = reachability(squareform(pdist(X, metric)), 4, alpha)
    for rows in (X, X.astype(np.float32), csr_array(X), np.asfortranarray(X)):
        model = RobustSingleLinkage(metric=metric, min_samples=4, alpha=alpha).fit(rows)
        same_ultrametric(model.tree_, reach, 1e-3 if rows.dtype == np.float32 or metric == "cosine" else 1e-9)


def test_other_metrics() -> None:
    X = some_points("one cloud", 120, 3, 0)
    distance = squareform(pdist(X, "cityblock"))
    for rows, metric, expected in (
        (distance, "precomputed", distance),
        (X, lambda A, B: np.abs(A[:, None] - B[None]).sum(axis=2), distance),
        (X, "rbf(0.3)", 1.0 - np.exp(-0.3 * squareform(pdist(X, "sqeuclidean")))),
        (X, "laplacian(0.3)", 1.0 - np.exp(-0.3 * distance)),
    ):
        for alpha in (1.0, 1.5):
            model = RobustSingleLinkage(metric=metric, min_samples=3, alpha=alpha).fit(rows)
            same_ultrametric(model.tree_, reachability(expected, 3, alpha), rtol=1e-4)


def test_threads_change_nothing() -> None:
    X = some_points("far apart", 2000, 4, 0)
    one, two = (RobustSingleLinkage(n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.tree_.parent, two.tree_.parent)
    np.testing.assert_array_equal(one.tree_.height, two.tree_.height)
    np.testing.assert_array_equal(one.labels_, two.labels_)


# --- flat clusters ----------------------------------------------------------------------------------------------------


def standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def noisy_blobs() -> np.ndarray:
    noise = np.random.default_rng(0).uniform(-12, 12, size=(200, 2))
    return np.concatenate([data.make_blobs(800, centers=6, random_state=1)[0], noise])


SETS = {
    "iris": lambda: data.load_iris().data,
    "digits": lambda: data.load_digits().data,
    "wine": lambda: standardised(data.load_wine().data),
    "breast cancer": lambda: standardised(data.load_breast_cancer().data),
    "blobs with noise": noisy_blobs,
    "moons": lambda: data.make_moons(600, noise=0.07, random_state=0)[0],
    "duplicates": lambda: np.repeat(noisy_blobs()[::10], 4, axis=0),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_cluster_size": 10},
        {"min_cluster_size": 15, "min_samples": 3},
        {"min_cluster_size": 8, "min_samples": 1},
        {"cluster_selection_method": "leaf", "min_cluster_size": 10},
        {"allow_single_cluster": True, "min_cluster_size": 20},
    ],
    ids=str,
)
def test_same_clusters_as_hdbscan(name, params) -> None:
    X = SETS[name]()
    theirs = HDBSCAN(copy=True, **params).fit(X)
    ours = RobustSingleLinkage(**params).fit(X)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) >= 0.99
    assert np.mean((theirs.labels_ < 0) != (ours.labels_ < 0)) <= 0.01
    assert np.mean(np.abs(theirs.probabilities_ - ours.probabilities_) > 1e-6) <= 0.01


def test_small_and_equal_data() -> None:
    one = RobustSingleLinkage().fit([[1.0, 2.0]])
    assert one.labels_.tolist() == [-1] and one.tree_.n_leaves == 1 and len(one.condensed_tree_) == 0
    two = RobustSingleLinkage().fit([[0.0], [3.0]])
    assert two.labels_.tolist() == [-1, -1] and two.tree_.height[-1] == 3.0
    same = RobustSingleLinkage().fit(np.ones((40, 3)))
    assert same.labels_.tolist() == [-1] * 40 and same.tree_.height.max() == 0
    together = RobustSingleLinkage(allow_single_cluster=True).fit(np.ones((40, 3)))
    assert together.labels_.tolist() == [0] * 40 and together.probabilities_.tolist() == [1.0] * 40
    twins = np.repeat([[0.0], [1.0], [5.0]], 6, axis=0)
    assert RobustSingleLinkage().fit(twins).labels_.tolist() == np.repeat([0, 1, 2], 6).tolist()


def test_weights_are_points_of_clusters() -> None:
    X = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]])
    model = RobustSingleLinkage(min_cluster_size=4, min_samples=1)
    assert model.fit(X).labels_.tolist() == [-1] * 5
    assert model.fit(X, sample_weight=[2, 2, 2, 2, 1]).labels_.tolist() == [0, 0, 1, 1, -1]


def test_cuts_in_place_of_density() -> None:
    X = noisy_blobs()
    model = RobustSingleLinkage(n_clusters=7).fit(X)
    assert model.labels_.tolist() == model.tree_.cut(n_clusters=7).tolist()
    assert RobustSingleLinkage(distance_threshold=0.5).fit(X).labels_.min() == 0
    assert model.predict(X[:5]).tolist() == model.labels_[:5].tolist()


# --- the condensed tree -----------------------------------------------------------------------------------------------


def naive_condense(tree: Tree, least: int):
    """Rows as a set, by recursion over sets of leaves."""
    rows, names = [], iter(range(tree.n_leaves + 1, 10**6))

    def walk(v, cluster):
        if v < tree.n_leaves:
            return
        children = [c for c in range(tree.n_nodes) if tree.parent[c] == v]
        density = 1.0 / tree.height[v]
        big = [c for c in children if tree.size[c] >= least]
        for c in children:
            if tree.size[c] < least:
                rows.extend((cluster, int(leaf), density, 1) for leaf in tree.members(c))
            elif len(big) == 1:
                walk(c, cluster)
            else:
                name = next(names)
                rows.append((cluster, name, density, int(tree.size[c])))
                walk(c, name)

    walk(tree.root, tree.n_leaves)
    return rows


def shape(rows, n):
    """A condensed tree without the names of its clusters."""
    below: dict[int, list] = {}
    for parent, child, density, size in rows:
        below.setdefault(parent, []).append((child, density, size))

    def form(cluster):
        return tuple(
            sorted((c if c < n else -1, density, size, form(c)) for c, density, size in below.get(cluster, []))
        )

    return form(n)


@pytest.mark.parametrize("max_children", [2, 4])
def test_condensed_tree(max_children) -> None:
    from trees import random_tree

    for seed in range(30):
        tree = random_tree(40, seed, max_children=max_children)
        tree = Tree(tree.parent, tree.height + (tree.height > 0) * 0.1)
        rows = cladify.agglomerate.condense(tree, 4)
        ours = zip(*(a.tolist() for a in (rows.parent, rows.child, rows.lambda_val, rows.child_size)), strict=True)
        assert shape(ours, 40) == shape(naive_condense(tree, 4), 40)
        assert (np.sort(rows.child[rows.child < 40]) == np.arange(40)).all()


def test_largest_excess_of_mass() -> None:
    from trees import random_tree

    for seed in range(40):
        tree = random_tree(60, seed)
        rows = cladify.agglomerate.condense(Tree(tree.parent, tree.height + (tree.height > 0) * 0.1), 3)
        count, upper = rows.n_clusters, rows._upper
        best = [0.0] * count  # of disjoint clusters at or below each one
        for c in range(count - 1, -1, -1):
            split = sum(best[d] for d in range(1, count) if upper[d] == c)
            best[c] = max(split, rows.stability[c])
        for single in (False, True):
            chosen = rows.select(allow_single_cluster=single) - 60
            expected = best[0] if single else sum(best[d] for d in range(1, count) if upper[d] == 0)
            assert rows.stability[chosen].sum() == pytest.approx(expected)
        leaves = set(range(1, count)) - set(upper.tolist())
        assert set(rows.select("leaf") - 60) == leaves


def test_to_pandas() -> None:
    frame = RobustSingleLinkage().fit(noisy_blobs()).condensed_tree_.to_pandas()
    assert list(frame.columns) == ["parent", "child", "lambda_val", "child_size"]
    assert frame.parent.min() == 1000 and (frame.lambda_val > 0).all()


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_graph_of_all_pairs_is_exact() -> None:
    X = some_points("one cloud", 150, 2, 0).astype(np.float32)
    reach = reachability(squareform(pdist(X.astype(np.float64))), 5)
    for model in (
        RobustSingleLinkage(n_neighbors=149).fit(X),
        RobustSingleLinkage().fit(cladify.neighbors.neighbors(X, 149, "euclidean")),
        RobustSingleLinkage(metric="precomputed").fit(csr_array(squareform(pdist(X.astype(np.float64))))),
    ):
        same_ultrametric(model.tree_, reach, rtol=1e-5)


def test_graph_of_neighbours_is_close() -> None:
    X = noisy_blobs()
    exact, near = (
        RobustSingleLinkage(min_cluster_size=15).fit(X),
        RobustSingleLinkage(min_cluster_size=15, n_neighbors=20).fit(X),
    )
    assert adjusted_rand_score(exact.labels_, near.labels_) > 0.95
    assert near.tree_.height.sum() >= exact.tree_.height.sum() * (1 - 1e-6)
    far = some_points("far apart", 300, 2, 0)
    model = RobustSingleLinkage(n_neighbors=6).fit(far)  # falls apart, and is linked
    assert model.tree_.height[-1] > 50


def test_graph_in_parts() -> None:
    X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0], [53.0]])
    graph = cladify.neighbors.neighbors(X, 2, "euclidean")
    with pytest.warns(CladifyWarning, match="2 connected components"):
        model = RobustSingleLinkage(min_cluster_size=3, min_samples=2).fit(graph)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.tree_.height[-1] == pytest.approx(3.0)
    with pytest.raises(InvalidInput, match="fitted on a graph"):
        model.predict(X)


# --- conventions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [RobustSingleLinkage(n_neighbors=10)])
def test_scikit_learn_conventions(estimator, conforms) -> None:
    conforms(estimator)


def test_bad_input() -> None:
    X = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(InvalidInput, match=r"min_samples must be an int in \[1, 10\] for 10 points, got 11"):
        RobustSingleLinkage(min_samples=11).fit(X)
    with pytest.raises(InvalidInput, match="min_cluster_size must be an int of at least 2, got 1"):
        RobustSingleLinkage(min_cluster_size=1).fit(X)
    with pytest.raises(InvalidInput, match="metric 'dot' has no largest value"):
        RobustSingleLinkage(metric="dot").fit(X)
    with pytest.raises(InvalidInput, match="Did you mean 'leaf'"):
        RobustSingleLinkage(cluster_selection_method="leafs").fit(X)
    similarities = NeighborGraph.from_scipy(csr_array(np.exp(-squareform(pdist(X)))))
    with pytest.raises(InvalidInput, match="has no largest value to count distances from"):
        RobustSingleLinkage().fit(similarities)


def test_clusters_born_at_an_infinite_density():
    """Distances of 1e-323 have densities beyond all numbers: what leaves a cluster at its birth adds nothing to it."""
    x = np.concatenate([np.repeat(np.arange(0.0, 40.0, 8.0), 6) + np.tile(np.arange(6.0), 5), [500.0]])
    distance = squareform(pdist(x[:, None])) * 5e-324
    model = RobustSingleLinkage(metric="precomputed", min_cluster_size=3, min_samples=2).fit(distance)
    stability = model.condensed_tree_.stability
    assert not np.isnan(stability).any() and np.isinf(model.condensed_tree_.birth).any()
    assert len(np.unique(model.labels_[model.labels_ >= 0])) >= 1


@pytest.mark.parametrize("least", [5, 20, 89, 150, 199])
def test_leaves_are_those_of_scikit_learn_at_every_size(least):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(4, 1, (100, 2))])
    options = {"min_cluster_size": least, "cluster_selection_method": "leaf", "allow_single_cluster": True}
    theirs = HDBSCAN(copy=True, **options).fit(X).labels_
    ours = RobustSingleLinkage(**options).fit(X).labels_
    assert adjusted_rand_score(theirs, ours) == 1.0 and set(theirs) == set(ours)
