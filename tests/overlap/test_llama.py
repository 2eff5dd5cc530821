"""LLAMA against its definition, its theorems, and bad input."""

import os
import signal
import threading
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from quick import repeats
from scipy.sparse import csr_array

import cladify
from cladify import HAC, Llama, NeighborGraph, ReciprocalNN, datasets
from cladify.errors import CladifyWarning, InvalidInput


def random_graph(seed: int, whole_numbers: bool) -> NeighborGraph:
    """A sparse graph of similarities; whole numbers make many ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    W = rng.integers(1, 5, (n, n)).astype(float) if whole_numbers else rng.random((n, n))
    W = np.triu(W * (rng.random((n, n)) < rng.choice([0.3, 0.6, 1.0])), 1)
    return NeighborGraph.from_scipy(csr_array(W + W.T))


def rounded(value: float) -> float:
    """As the core keeps a link: to 24 bits, of what is missing to 1 where that is less."""
    return float(np.float32(value)) if value <= 0.5 else 1.0 - float(np.float32(1.0 - value))


def naive_llama(W, linkage, max_parents, n_rounds, merge_equal):
    """The covers of all rounds, as lists of sets, from the definition on a dense matrix."""
    n = len(W)
    W = W / W.max(initial=1e-300)
    cover = [frozenset([i]) for i in range(n)]
    bag = [1.0] * n
    f = {(i, j): rounded(W[i, j]) for i in range(n) for j in range(n) if i != j and W[i, j] > 0}
    covers = [cover]
    for _ in range(n_rounds):
        chosen = set()
        for c in range(len(cover)):
            options = [(-f[c, q], q) for q in range(len(cover)) if (c, q) in f]
            if options:
                q = min(options)[1]
                chosen.add((min(c, q), max(c, q)))
        if not chosen:
            break
        if max_parents is not None:
            best = {}
            for c in range(len(cover)):
                mine = sorted((-f[pair], pair) for pair in chosen if c in pair)
                best[c] = {pair for _, pair in mine[:max_parents]}
            chosen = {pair for pair in chosen if all(pair in best[c] for c in pair)}
        merged = {c for pair in chosen for c in pair}
        parts = sorted([*chosen, *((c,) for c in range(len(cover)) if c not in merged)])
        new, children = [], []
        for part in parts:
            union = frozenset().union(*(cover[c] for c in part))
            if merge_equal and union in new:
                continue
            inside = [c for c in part if cover[c] == union] if merge_equal else []
            new.append(union)
            children.append(inside or list(part))
        sizes = [sum(bag[c] for c in part) for part in children]
        g = {}
        for p, P in enumerate(children):
            for q, Q in enumerate(children):
                if p >= q:
                    continue
                if linkage == "exact-average":
                    value = W[np.ix_(sorted(new[p]), sorted(new[q]))].sum() / (len(new[p]) * len(new[q]))
                elif linkage == "average":
                    value = sum(f.get((a, b), 0.0) * bag[a] * bag[b] for a in P for b in Q) / (sizes[p] * sizes[q])
                else:
                    value = max(W[a, b] for a in new[p] for b in new[q])
                if value > 0:
                    g[p, q] = g[q, p] = rounded(value)
        cover, bag, f = new, sizes, g
        covers.append(cover)
        if len(cover) == 1:
            break
    return covers


def sets_of(dag, nodes):
    return Counter(frozenset(dag.members(v).tolist()) for v in nodes)


def contains(dag, y) -> bool:
    """Whether every cluster of the labels is a node."""
    size = dag.size
    for label in np.unique(y):
        member = np.flatnonzero(y == label)
        above = np.append(dag.ancestors_of_leaf(int(member[0])), member[0])
        if not any(np.array_equal(dag.members(v), member) for v in above[size[above] == len(member)].tolist()):
            return False
    return True


def positive_cosines(X) -> NeighborGraph:
    S = csr_array(X @ X.T)
    return NeighborGraph.from_scipy(csr_array(S * (S > 1e-9)))


@pytest.mark.parametrize("merge_equal", [True, False])
@pytest.mark.parametrize("linkage", ["average", "exact-average", "single"])
@pytest.mark.filterwarnings("ignore:The graph has")
def test_agrees_with_the_definition_on_small_graphs(linkage, merge_equal):
    for seed in repeats(200):
        graph = random_graph(seed, whole_numbers=seed % 2 == 0)
        max_parents = (None, 1, 2, 5)[seed // 2 % 4]
        W = graph.to_scipy().toarray().astype(float)
        model = Llama(n_rounds=6, max_parents=max_parents, linkage=linkage, merge_equal=merge_equal, n_jobs=1)
        dag = model.fit(graph).dag_
        covers = naive_llama(W, linkage, max_parents, 6, merge_equal)
        for i, cover in enumerate(covers):
            assert sets_of(dag, dag.cover(i)) == Counter(cover), f"seed {seed}, round {i}"
        everything = set().union(*map(set, covers)) | {frozenset(range(len(W)))}
        found = sets_of(dag, range(dag.n_nodes))
        assert set(found) == everything and (max(found.values()) == 1 or not merge_equal)
        assert dag.size.tolist() == [len(dag.members(v)) for v in range(dag.n_nodes)]
        assert dag.info["n_rounds"] == len(covers) - 1
        for v in range(dag.n_leaves, dag.n_nodes):
            whole = set(dag.members(v).tolist())
            parts = sets_of(dag, dag.children(v))
            assert all(part < whole or not merge_equal for part in parts) and set().union(*parts) == whole
        assert set(sets_of(dag.minimal(), range(dag.minimal().n_nodes))) == everything


def cliques(seed: int) -> tuple[NeighborGraph, np.ndarray]:
    """Clusters of different sizes; all similarities within them are above 1/2, all others below 1/5."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(4), [3, 7, 11, 14]))
    W = np.where(y[:, None] == y, rng.uniform(0.5, 1.0, (35, 35)), rng.uniform(0.0, 0.2, (35, 35)))
    W = np.triu(W, 1)
    return NeighborGraph.from_scipy(csr_array(W + W.T)), y


def test_theorem_8_separated_clusters_are_nodes():
    """The linkage must be a function of sets: the update rule of average linkage is only close to one."""
    for seed in repeats(100):
        graph, y = cliques(seed)
        assert contains(Llama(max_parents=None, n_rounds=None, linkage="exact-average", n_jobs=1).fit(graph).dag_, y)
        within = Llama(max_parents=None, n_rounds=14, linkage="exact-average", n_jobs=1)  # proposition 7
        assert contains(within.fit(graph).dag_, y)
    words = datasets.make_model_separated(60, 5, random_state=0)
    for linkage in ("average", "exact-average", "single"):
        with pytest.warns(CladifyWarning, match="5 connected components"):
            dag = Llama(max_parents=None, n_rounds=None, linkage=linkage).fit(positive_cosines(words.X)).dag_
        assert contains(dag, words.y)


@pytest.mark.filterwarnings("ignore:The graph has")
def test_proposition_3_noise_misleads_trees_and_not_llama():
    for seed in repeats(100):
        X, y = datasets.make_noisy_separated(48, 4, random_state=seed)
        dag = Llama(max_parents=None, n_rounds=None, linkage="exact-average", n_jobs=1).fit(positive_cosines(X)).dag_
        assert contains(dag, y), f"seed {seed}"
        assert dag.n_nodes <= 48 * 49 / 2  # proposition 5
        counts = [len(dag.cover(i)) for i in range(dag.n_rounds + 1)]
        assert (np.diff(counts) < 0).all()  # proposition 6: each round has fewer
    assert cladify.metrics.dendrogram_purity(HAC(metric="cosine").fit(X).tree_, y) < 1.0


def test_proposition_4_the_counter_example():
    """b prefers c, a follows b: trees put b with c and cannot have {a, b}, in whatever order the points arrive."""
    a, b, c = range(3)
    graph = NeighborGraph.from_scipy(csr_array([[0, 1.0, 0], [1.0, 0, 2.0], [0, 2.0, 0]]))
    assert {frozenset([a, b]), frozenset([b, c])} <= set(sets_of(Llama().fit(graph).dag_, range(6)))
    trees = [(estimator().fit(graph).tree_, [a, b, c]) for estimator in (HAC, ReciprocalNN)]
    weight = graph.to_scipy().toarray()

    def mean(A, B):
        return weight[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))].mean()

    for order in permutations((a, b, c)):
        rows = np.array(order, dtype=float)[:, None]
        trees.append((cladify.online.Grinch(metric="sqeuclidean", linkage=mean).partial_fit(rows).tree_, order))
    for tree, names in trees:
        nodes = {frozenset(names[i] for i in tree.members(v)) for v in range(tree.n_nodes)}
        assert frozenset([b, c]) in nodes and frozenset([a, b]) not in nodes


@pytest.mark.parametrize("linkage", ["average", "exact-average", "single"])
def test_threads_change_nothing(linkage):
    X = datasets.make_dirichlet_mixture(4000, random_state=0).X
    graph = cladify.neighbors(X, 10).connect(X)
    merge_equal = linkage != "single"
    one, two, three = (
        Llama(linkage=linkage, merge_equal=merge_equal, n_jobs=jobs).fit(graph).dag_ for jobs in (1, 2, 3)
    )
    assert one == two == three
    assert one.n_nodes > 4000


def test_tiny_and_odd_data():
    one = Llama().fit(np.ones((1, 3))).dag_
    assert (one.n_nodes, one.n_leaves, one.cover(0).tolist(), one.is_tree) == (1, 1, [0], True)
    two = Llama().fit(np.array([[0.0], [2.0]])).dag_
    assert (two.n_nodes, two.height.tolist(), two.info["n_rounds"]) == (3, [0.0, 0.0, 4.0], 1)
    same = Llama().fit(np.ones((50, 2))).dag_
    assert same.n_leaves == 50 and same.height.max() < 1e-40
    far = Llama(n_neighbors=3).fit(np.array([[0.0], [1.0], [2.5], [1e4]])).dag_
    assert far.height[far.parents(0)[0]] == pytest.approx(1.0, rel=1e-3)  # digits survive a far outlier


def test_parts_without_links_are_joined_by_the_root():
    W = csr_array(np.kron(np.eye(3), [[0, 1.0], [1.0, 0]]))
    with pytest.warns(CladifyWarning, match="3 connected components"):
        dag = Llama().fit(NeighborGraph.from_scipy(W)).dag_
    assert set(sets_of(dag, dag.children(dag.root))) == {frozenset(p) for p in ([0, 1], [2, 3], [4, 5])}
    assert dag.n_rounds == 2 and dag.cover(2).tolist() == [dag.root]


def test_rounds_end_at_the_cap_and_say_so():
    X = np.random.default_rng(0).random((300, 2))
    with pytest.warns(CladifyWarning, match=r"stopped after 1 rounds: there are \d+ nodes, and max_nodes is 400"):
        dag = Llama(max_nodes=400).fit(X).dag_
    assert "max_nodes" in dag.info["stopped"] and dag.n_rounds == 2


def test_every_metric_and_sparse_rows():
    X = np.abs(np.random.default_rng(0).normal(size=(60, 5)))
    for metric in ("sqeuclidean", "euclidean", "cosine", "dot", "rbf", "laplacian"):
        dag = Llama(metric=metric, n_neighbors=8).fit(X).dag_
        assert dag.n_leaves == 60 and dag.info["metric"].startswith(metric)
    assert Llama(n_neighbors=8).fit(csr_array(X)).dag_.n_leaves == 60


def test_bad_input():
    X = np.random.default_rng(0).random((20, 2))
    for params, message in [
        ({"n_rounds": 0}, "n_rounds must be an int of at least 1"),
        ({"max_parents": 0}, "max_parents must be an int of at least 1"),
        ({"linkage": "ward"}, "linkage 'ward' is not known"),
        ({"n_neighbors": 0}, "n_neighbors must be an int"),
        ({"merge_equal": "no"}, "merge_equal must be True or False, got 'no'"),
        ({"metric": "cosin"}, "cosin"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            Llama(**params).fit(X)
    with pytest.raises(InvalidInput, match="no use for sample_weight"):
        Llama().fit(X, sample_weight=np.ones(20))
    with pytest.raises(InvalidInput, match="no positive similarity"):
        Llama().fit(NeighborGraph.from_scipy(csr_array([[0, -1.0], [-1.0, 0]])))


def test_progress_and_ctrl_c():
    X = np.random.default_rng(0).random((2000, 3))
    steps = []
    Llama().fit(X, progress=lambda *step: steps.append(step))
    assert steps[-1][0] == "llama" and steps[-1][2] == 1999
    big = cladify.neighbors(np.random.default_rng(0).random((60_000, 4)), 15)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(20):
            Llama(linkage="exact-average", n_rounds=None).fit(big)


def test_is_an_estimator():
    from sklearn.base import clone

    model = clone(Llama(n_rounds=7))
    assert model.get_params()["n_rounds"] == 7
    assert model.fit(np.random.default_rng(0).random((30, 4))).n_features_in_ == 4


def test_a_hub_without_a_limit_of_parents_stops_in_time(monkeypatch):
    """All points of a star get a parent with the hub, and all of those are linked: more than fits."""
    n = 3000
    star = csr_array((np.linspace(1, 2, n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n))), shape=(n, n))
    graph = NeighborGraph.from_scipy(csr_array(star + star.T))
    monkeypatch.setattr("cladify.overlap.llama.available_memory", lambda: 10**8)
    with pytest.warns(CladifyWarning, match="stopped after 1 rounds: the next round may not fit in memory"):
        dag = Llama(max_parents=None).fit(graph).dag_
    assert dag.n_nodes == 2 * n and dag.size[dag.root] == n
    assert Llama(max_parents=2).fit(graph).dag_.size[-1] == n
