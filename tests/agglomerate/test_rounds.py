"""Reciprocal nearest neighbours, Affinity and SCC on graphs: against their definitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_rounds import naive_rounds, partition
from quick import seeds
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify import SCC, Affinity, NeighborGraph, ReciprocalNN
from cladify.agglomerate._links import as_links
from cladify.agglomerate._rounds import RoundMerges
from cladify.datasets import make_delta_separated
from cladify.errors import CladifyWarning, InvalidInput
from cladify.metrics import dendrogram_purity
from cladify.tree import Tree

ESTIMATORS = {"reciprocal": ReciprocalNN, "affinity": Affinity, "scc": SCC}


def graph_of(S):
    """The graph of a matrix of similarities."""
    return cladify.NeighborGraph.from_scipy(csr_array(S))


def random_graph(n: int, density: float, seed: int) -> np.ndarray:
    """A symmetric matrix of similarities in (0, 1), exact in float32, most of them 0, connected by a path."""
    rng = np.random.default_rng(seed)
    S = rng.random((n, n)) * (rng.random((n, n)) < density)
    S[np.arange(n - 1), np.arange(1, n)] = rng.random(n - 1) + 0.01
    S = np.triu(S, 1).astype(np.float32).astype(np.float64)
    return S + S.T


def same(model, expected: list) -> bool:
    return [partition(labels) for labels in model.rounds_] == expected


@pytest.mark.parametrize("linkage", ["average", "single", "complete"])
@pytest.mark.parametrize("seed", seeds(200, daily=12))
def test_equals_the_definition(linkage, seed):
    n = [2, 3, 7, 20, 45][seed % 5] if seed < 12 else 2 + seed % 17
    S = random_graph(n, [0.1, 0.4, 1.0][seed % 3], seed)
    if seed % 2:  # quarters: many are equal
        S = np.ceil(4 * S) / 4
    graph = graph_of(S)
    pairs, _ = naive_rounds(S, linkage, [0.0], pairs=True)
    components, _ = naive_rounds(S, linkage, [0.0])
    assert same(ReciprocalNN(linkage=linkage).fit(graph), pairs)
    assert same(Affinity(linkage=linkage).fit(graph), components)
    thresholds = np.linspace(1, 0.05, 7)
    for until_stable in (False, True):
        rounds, used = naive_rounds(S, linkage, thresholds, until_stable=until_stable)
        model = SCC(linkage=linkage, thresholds=thresholds, until_stable=until_stable).fit(graph)
        assert same(model, rounds)
        assert model.rounds_.threshold.tolist() == pytest.approx(used)


@given(st.data())
def test_ties_give_a_valid_tree_for_any_number_of_threads(data):
    n = data.draw(st.integers(2, 30))
    weights = data.draw(st.lists(st.integers(0, 3), min_size=n * n, max_size=n * n))
    S = np.triu(np.array(weights, dtype=float).reshape(n, n), 1)
    S[np.arange(n - 1), np.arange(1, n)] += 1
    graph = graph_of(S)  # one direction of every edge
    for estimator in ESTIMATORS.values():
        for linkage in ("average", "single", "complete"):
            one, two = (estimator(linkage=linkage, n_jobs=jobs).fit(graph) for jobs in (1, 2))
            assert one.tree_ == two.tree_
            assert [partition(a) for a in one.rounds_] == [partition(b) for b in two.rounds_]
            for level, labels in enumerate(one.rounds_):
                assert np.array_equal(one.tree_.partition(level), labels)


def test_threads_do_not_change_a_large_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))[rng.integers(0, 200, 6000)] * 4 + rng.normal(size=(6000, 8))
    graph = cladify.neighbors(X.astype(np.float32), 10)
    for estimator in ESTIMATORS.values():
        trees = [estimator(n_jobs=jobs).fit(graph.connect(X)).tree_ for jobs in (1, 2, 3)]
        assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("method", ["average", "single", "complete"])
@pytest.mark.parametrize("seed", range(5))
def test_reciprocal_on_a_complete_graph_is_hac(method, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    D = squareform(pdist(X)).astype(np.float32)
    graph = NeighborGraph.from_scipy(csr_array(D), kind="distance")
    tree = ReciprocalNN(linkage=method).fit(graph).tree_
    Z = scipy_linkage(squareform(D.astype(float)), method)
    ours = Tree(tree.parent, tree.height)
    assert np.allclose(np.sort(ours.height[60:]), Z[:, 2], rtol=1e-6)
    for k in range(1, 61):
        assert np.array_equal(ours.cut(n_clusters=k), Tree.from_linkage(Z).cut(n_clusters=k))


@pytest.mark.parametrize("seed", seeds(10))
def test_scc_that_merges_one_pair_a_round_is_hac(seed):
    """Proposition 2 of the thesis."""
    X = np.random.default_rng(seed).normal(size=(40, 4))
    D = squareform(pdist(X, "sqeuclidean")).astype(np.float32)
    Z = scipy_linkage(squareform(D.astype(float)), "average")
    graph = NeighborGraph.from_scipy(csr_array(D), kind="distance")
    model = SCC(thresholds=Z[:, 2] * (1 + 1e-9)).fit(graph)
    hac = Tree.from_linkage(Z)
    assert model.tree_.is_binary and len(model.rounds_) == 40
    for k, labels in zip(range(40, 0, -1), model.rounds_, strict=True):
        assert np.array_equal(labels, hac.cut(n_clusters=k))
    assert np.allclose(model.tree_.height[40:], Z[:, 2])


@pytest.mark.parametrize(("metric", "delta"), [("euclidean", 6.0), ("sqeuclidean", 30.0)])
@pytest.mark.parametrize("seed", seeds(50, daily=9))
def test_scc_has_the_clusters_of_separated_data_as_a_round(metric, delta, seed):
    """Theorem 4 of the thesis, and corollary 7: its purity is 1."""
    X, y = make_delta_separated(120, 2 + seed % 9, n_features=2 + seed % 5, delta=delta, random_state=seed)
    model = SCC(metric=metric, n_neighbors=len(X) - 1).fit(X)
    truth = np.unique(y, return_inverse=True)[1]
    same = [adjusted_rand_score(truth, labels) == 1.0 for labels in model.rounds_]
    assert any(same)
    assert dendrogram_purity(model.tree_, y) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("name", "bar"), [("iris", 0.926), ("wine", 0.975)])
def test_best_purity_over_a_grid(dataset, name, bar):
    """Table 4.7 of the thesis: the best over neighbours and rounds; columns scaled to [0, 1] where units differ."""
    data = dataset(name)
    X = data["X"].astype(np.float64)
    if name == "wine":
        X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    best = 0.0
    for k in (25, 50, 79, 89):
        graph = cladify.neighbors(X, k)
        for n_rounds in (28, 30, 34, 40):
            tree = SCC(n_rounds=n_rounds, thresholds="linear", n_jobs=1).fit(graph).tree_
            best = max(best, float(dendrogram_purity(tree, data["y"])))
    assert best >= bar


@pytest.mark.parametrize("linkage", ["average", "single"])
@pytest.mark.parametrize("seed", range(5))
def test_affinity_doubles_the_smallest_component(linkage, seed):
    S = random_graph(300, 0.03, seed)
    sizes = [np.bincount(labels).min() for labels in Affinity(linkage=linkage).fit(graph_of(S)).rounds_]
    assert all(b >= 2 * a for a, b in pairwise(sizes))
    assert len(sizes) <= 1 + np.log2(300)


def test_epsilon_merges_are_good():
    """No merge is more than (1 + ε) below what either side could have had, nor below an earlier merge inside."""
    S = random_graph(100, 0.2, 3)
    rounds = []
    for epsilon in (0.0, 0.1, 0.5):
        model = ReciprocalNN(epsilon=epsilon).fit(graph_of(S))
        rounds.append(len(model.rounds_))
        merges: RoundMerges = model.rounds_._merges
        clusters = {i: [i] for i in range(100)}
        weakest = dict.fromkeys(clusters, np.inf)
        for left, right, value in zip(merges.left, merges.right, merges.similarity, strict=True):
            A, B = clusters[left], clusters.pop(right)
            assert value == pytest.approx(S[np.ix_(A, B)].mean())
            # RoundMerges of one round happen at once: later ones only lose candidates, so the bound may only loosen.
            best = max(
                S[np.ix_(C, D)].mean() for C in (A, B) for D in [A, B, *clusters.values()] if C is not D and D is not C
            )
            weakest[left] = min(weakest[left], weakest.pop(right), value)
            assert best <= (1 + epsilon) * weakest[left] * (1 + 1e-9)
            clusters[left] = A + B
    assert rounds[0] > rounds[1] > rounds[2]


def test_sample_weight_counts_points():
    rng = np.random.default_rng(5)
    S = random_graph(30, 0.5, 5)
    copies = rng.integers(1, 4, 30)
    owner = np.repeat(np.arange(30), copies)
    many = S[np.ix_(owner, owner)]
    many[owner[:, None] == owner] = 100.0  # copies merge first
    np.fill_diagonal(many, 0.0)
    first = np.unique(owner, return_index=True)[1]
    for k in (1, 2, 5, 10, 20):
        model = ReciprocalNN(n_clusters=k)
        weighted = model.fit_predict(graph_of(S), sample_weight=copies)
        assert np.array_equal(weighted, model.fit_predict(graph_of(many))[first])


def test_edges_are_handed_over_once():
    """What needs the edges after that raises: zeros instead of quantiles would give wrong trees."""
    links = as_links(cladify.neighbors(np.arange(8.0)[:, None], 3))
    assert links.quantiles(np.array([1.0]))[0] > 0
    assert all(len(part) for part in links.take())
    for use in (links.take, lambda: links.quantiles(np.array([1.0]))):
        with pytest.raises(AttributeError):
            use()


def test_cuts():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = Affinity(n_neighbors=99, n_clusters=17).fit(X)
    assert len(np.unique(model.labels_)) == 17
    model = Affinity(n_neighbors=99, n_clusters=17, cut="round").fit(X)
    counts = model.rounds_.n_clusters
    assert len(np.unique(model.labels_)) == counts[np.abs(counts - 17).argmin()]
    scc = SCC(metric="euclidean", n_neighbors=99, thresholds=[0.05, 0.1, 0.2, 0.4]).fit(X)
    for level, threshold in enumerate(scc.rounds_.threshold, start=1):
        assert np.array_equal(scc.tree_.cut(height=threshold), scc.rounds_[level])
    assert np.array_equal(scc.rounds_[-1], scc.rounds_[len(scc.rounds_) - 1])
    assert [len(labels) for labels in scc.rounds_[1:3]] == [100, 100]
    with pytest.raises(IndexError):
        scc.rounds_[99]
    for k in (1, 2, 50, 100):
        assert len(np.unique(scc.rounds_.exact(k))) == k
    with pytest.raises(InvalidInput, match=r"n_clusters must be an int in \[1, 100\] for 100 points, got 101"):
        scc.rounds_.exact(101)
    with pytest.raises(InvalidInput, match="not both"):
        SCC(n_clusters=2, distance_threshold=1.0).fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
class TestOddInput:
    def test_disconnected_graph(self, estimator):
        S = np.zeros((7, 7))
        S[0, 1] = S[1, 2] = 0.9
        S[3, 4] = 0.8
        with pytest.warns(CladifyWarning, match="4 connected components; they are joined at the top"):
            model = estimator().fit(graph_of(S))  # 5 and 6 are on their own
        tree = model.tree_
        assert tree.info["n_parts"] == 4
        assert partition(model.rounds_[-1]) == [[0, 1, 2], [3, 4], [5], [6]]
        assert tree.height[-1] == pytest.approx(0.9)  # similarity 0, counted from the most similar pair
        assert len(np.unique(model.labels_)) == 2

    def test_no_edges_at_all(self, estimator):
        with pytest.warns(CladifyWarning, match="3 connected components"):
            tree = estimator().fit(graph_of((3, 3))).tree_
        assert tree.parent.tolist() == [3, 3, 3, -1]

    def test_equal_points(self, estimator):
        tree = estimator(n_neighbors=5).fit(np.ones((40, 3))).tree_
        assert tree.n_leaves == 40
        assert tree.height.max() < 1e-30

    def test_duplicates(self, estimator):
        rng = np.random.default_rng(0)
        X = np.repeat(rng.normal(size=(50, 3)), 2, axis=0)
        tree = estimator(n_neighbors=10).fit(X).tree_
        assert (tree.level[tree.lca(np.arange(0, 100, 2), np.arange(1, 100, 2))] == 1).all()

    @pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint8])
    def test_other_dtypes(self, estimator, dtype):
        X = np.random.default_rng(0).integers(0, 100, (60, 4))
        assert estimator().fit(X.astype(dtype)).tree_ == estimator().fit(X.astype(np.float64)).tree_

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_few_points(self, estimator, n):
        model = estimator().fit(np.arange(float(n)).reshape(n, 1))
        assert model.tree_.n_leaves == n
        assert len(model.labels_) == n

    def test_negative_similarities(self, estimator):
        S = graph_of(np.array([[0, 1.0, -5.0], [1.0, 0, -4.0], [-5.0, -4.0, 0]]))
        assert partition(estimator().fit(S).rounds_[-1]) == [[0, 1], [2]]
        with pytest.raises(InvalidInput, match=r"no positive similarity .* kind='distance'"):
            estimator().fit(graph_of(-np.eye(3)[::-1]))

    def test_bad_parameters(self, estimator):
        X = np.zeros((5, 2))
        with pytest.raises(InvalidInput, match=r"linkage 'avrage' is not known. Did you mean 'average'"):
            estimator(linkage="avrage").fit(X)
        with pytest.raises(InvalidInput, match="n_neighbors must be an int of at least 1, got 0"):
            estimator(n_neighbors=0).fit(X)
        with pytest.raises(InvalidInput, match="linkage 'ward' needs vectors and n_neighbors=None"):
            estimator(linkage="ward").fit(X)
        with pytest.raises(InvalidInput, match="a square matrix"):
            estimator(metric="precomputed").fit(csr_matrix((3, 4)))

    def test_predict(self, estimator):
        X = np.random.default_rng(0).normal(size=(60, 3))
        model = estimator(n_clusters=5).fit(X)
        assert np.array_equal(model.predict(X), model.labels_)
        with pytest.raises(InvalidInput, match="predict needs the vectors"):
            estimator().fit(graph_of(random_graph(20, 0.5, 0))).predict(X)

    def test_progress_and_params(self, estimator):
        seen = []
        X = np.random.default_rng(0).normal(size=(50, 2))
        estimator(n_neighbors=49).fit(X, progress=lambda *report: seen.append(report))
        assert seen[-1][1:] == (49, 49)
        assert cladify.fit(X, method=estimator._method, n_jobs=1) == estimator().fit(X).tree_


@pytest.mark.parametrize(
    ("metric", "thresholds", "message"),
    [
        (
            "cosine",
            [0.5, 0.9],
            "must strictly decrease: similarities, the strictest first, but thresholds\\[0\\] is 0.5",
        ),
        ("sqeuclidean", [2.0, 1.0], "must strictly increase: distances"),
        ("sqeuclidean", [1.0, 1.0], "must strictly increase"),
        ("sqeuclidean", [], "array of finite numbers"),
        ("sqeuclidean", [1.0, np.nan], "array of finite numbers"),
        ("sqeuclidean", "geometrical", "Did you mean 'geometric'"),
    ],
)
def test_wrong_thresholds(metric, thresholds, message):
    with pytest.raises(InvalidInput, match=message):
        SCC(metric=metric, thresholds=thresholds).fit(np.random.default_rng(0).normal(size=(20, 3)))


@pytest.mark.parametrize("metric", ["cosine", "dot", "sqeuclidean", "euclidean", "rbf"])
@pytest.mark.parametrize("thresholds", ["geometric", "linear", "quantile"])
def test_schedules(metric, thresholds):
    X = np.abs(np.random.default_rng(1).normal(size=(80, 5)))
    for rounds in (1, 2, 50):
        model = SCC(metric=metric, thresholds=thresholds, n_rounds=rounds).fit(X)
        steps = model.rounds_.threshold
        assert len(steps) <= rounds
        direction = 1 if metric in ("sqeuclidean", "euclidean") else -1
        assert (np.diff(steps) * direction > 0).all()
        assert model.tree_.is_monotone


@pytest.mark.parametrize("estimator", [ReciprocalNN(n_neighbors=None), SCC(n_neighbors=None)])
def test_scikit_learn_conventions(estimator, conforms):
    conforms(estimator)


# --- the least DP-means cost ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "euclidean"])
def test_scc_chooses_by_dp_means(metric):
    from cladify.metrics import dp_means_cost

    X = np.random.default_rng(0).normal(size=(300, 5)) + np.repeat(np.eye(5), 60, axis=0) * 6
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    for lam in (0.2, 20.0, 1e5):
        by_round = cladify.SCC(metric=metric, dp_means_lambda=lam, cut="round").fit(X)
        costs = [dp_means_cost(rows, labels, lam) for labels in by_round.rounds_]
        assert dp_means_cost(rows, by_round.labels_, lam) == pytest.approx(min(costs))
        exact = cladify.SCC(metric=metric, dp_means_lambda=lam).fit(X)
        assert dp_means_cost(rows, exact.labels_, lam) <= min(costs) + 1e-9
        assert exact.labels_.tolist() == cladify.flat.by_dp_means(exact.tree_, rows, lam).tolist()


def test_dp_means_needs_vectors():
    X = np.random.default_rng(0).normal(size=(30, 2))
    graph = cladify.neighbors.neighbors(X, 5)
    with pytest.raises(InvalidInput, match=r"dp_means_lambda needs vectors .*got a graph"):
        cladify.SCC(dp_means_lambda=1.0).fit(graph)
    with pytest.raises(InvalidInput, match="got metric 'dot'"):
        cladify.SCC(dp_means_lambda=1.0, metric="dot").fit(X)
    with pytest.raises(InvalidInput, match="Give one of n_clusters, distance_threshold and dp_means_lambda"):
        cladify.SCC(dp_means_lambda=1.0, n_clusters=3).fit(X)


@pytest.mark.parametrize("thresholds", ["geometric", "linear", "quantile", [0.2, 0.6, 0.9]])
def test_what_is_exactly_at_the_distance_threshold_joins(thresholds):
    D = csr_array(np.array([[0, 0.6, 0], [0.6, 0, 0.7], [0, 0.7, 0]]))
    X = np.array([[0.0], [0.5], [1.25]])
    scc = {"thresholds": thresholds}
    for cls, params in ((SCC, scc), (cladify.ReciprocalNN, {}), (cladify.HAC, {})):
        model = cls(metric="precomputed", distance_threshold=0.6, **params).fit(D)
        assert model.labels_.tolist() == [0, 0, 1]
        assert cls(metric="precomputed", distance_threshold=0.59, **params).fit(D).labels_.tolist() == [0, 1, 2]
    if thresholds != [0.2, 0.6, 0.9]:
        assert SCC(metric="euclidean", distance_threshold=0.5, **scc).fit(X).labels_.tolist() == [0, 0, 1]


def test_exponential_thresholds_are_those_of_the_thesis():
    """m (M/m)^(i/L) over the distances of the graph; with doubling steps theorem 4 holds."""
    X = np.array([[0.0], [1.0], [3.0], [40.0], [42.0], [100.0]])
    rounds = SCC(metric="euclidean", n_neighbors=5, n_rounds=9, thresholds="exponential").fit(X).rounds_
    printed = 1.0 * (100.0 / 1.0) ** (np.arange(9) / 8)
    assert all(np.isclose(printed, t).any() for t in rounds.threshold)
