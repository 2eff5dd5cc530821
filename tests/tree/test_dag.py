"""`ClusterDag`: its rules, its questions, other forms, partitions and files."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import random_tree

import cladify
from cladify import ClusterDag, Llama, Tree
from cladify.errors import FileError, InvalidInput, InvalidType
from cladify.tree.protocol import Hierarchy

# Three points, the middle one in two clusters.
MIDDLE = ([0, 1, 3, 4, 5, 6, 6], [3, 3, 4, 4, 5, 5])


@st.composite
def dags(draw) -> ClusterDag:
    """Random ones: every node but the root gets some parents above it, every inner node at least two children."""
    n = draw(st.integers(2, 8))
    m = n + draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = {(int(c), v) for v in range(n, m) for c in rng.choice(v, size=2, replace=False)}
    for v in range(m - 1):
        if not any(c == v for c, _ in edges):
            edges.add((v, int(rng.integers(max(v + 1, n), m))))
    parents = [sorted(p for c, p in edges if c == v) for v in range(m)]
    ids = np.array([p for row in parents for p in row], dtype=int)
    return ClusterDag(np.cumsum([0] + [len(row) for row in parents]), ids)


def members(dag: ClusterDag) -> list[frozenset[int]]:
    sets: list[frozenset[int]] = [frozenset([i]) for i in range(dag.n_leaves)]
    for v in range(dag.n_leaves, dag.n_nodes):
        sets.append(frozenset().union(*(sets[c] for c in dag.children(v))))
    return sets


@given(dag=dags())
def test_questions_agree_with_plain_sets(dag):
    sets = members(dag)
    assert [frozenset(dag.members(v).tolist()) for v in range(dag.n_nodes)] == sets
    assert dag.size.tolist() == list(map(len, sets))
    for v in range(dag.n_nodes):
        assert all(v in dag.children(p) for p in dag.parents(v)) and all(v in dag.parents(c) for c in dag.children(v))
        above = {p for p in range(dag.n_nodes) if p in _reach(dag, v)}
        assert set(dag.ancestors(v).tolist()) == above
    matrix = dag.memberships().toarray()
    assert [frozenset(np.flatnonzero(row).tolist()) for row in matrix] == sets
    some = [dag.root, 0, dag.n_leaves]
    np.testing.assert_array_equal(dag.memberships(some).toarray(), matrix[some])


def _reach(dag, v):
    found = set()
    stack = dag.parents(v).tolist()
    while stack:
        u = stack.pop()
        if u not in found:
            found.add(u)
            stack.extend(dag.parents(u).tolist())
    return found


@given(dag=dags())
def test_minimal_keeps_the_sets_and_drops_what_is_double(dag):
    small = dag.minimal()
    sets = members(small)
    assert set(sets) == set(members(dag)) and len(set(sets)) == len(sets)
    graph = small.to_networkx()
    import networkx

    assert set(graph.edges) == set(networkx.transitive_reduction(graph).edges)
    assert small.minimal() == small


@given(dag=dags())
def test_to_tree_has_every_leaf_and_nested_heights(dag):
    tree = dag.to_tree()
    assert isinstance(tree, Tree) and tree.n_leaves == dag.n_leaves
    assert tree.height[-1] <= dag.height[-1]


@given(dag=dags(), seed=st.integers(0, 1000))
def test_best_partition_is_the_best(dag, seed):
    cost = np.random.default_rng(seed).integers(-3, 20, dag.n_nodes).astype(float)
    sets = members(dag)
    best = np.inf
    for count in range(1, dag.n_leaves + 1):
        for nodes in itertools.combinations(range(dag.n_nodes), count):
            if sum(len(sets[v]) for v in nodes) == dag.n_leaves == len(frozenset().union(*(sets[v] for v in nodes))):
                best = min(best, sum(cost[v] for v in nodes))
    found = dag.best_partition(cost)
    assert found.cost == pytest.approx(best) and found.gap == pytest.approx(0, abs=1e-9)
    for label, v in enumerate(found.nodes):
        assert frozenset(np.flatnonzero(found.labels == label).tolist()) == sets[v]


def test_partition_without_time_still_is_one_and_tells_its_gap():
    X = np.random.default_rng(0).random((200, 2))
    dag = Llama(n_neighbors=8).fit(X).dag_
    cost = 1.0 + dag.height * dag.size
    quick, slow = dag.best_partition(cost, budget_seconds=1e-6), dag.best_partition(cost)
    assert np.bincount(quick.labels).sum() == 200
    assert quick.bound <= slow.cost <= quick.cost + 1e-9
    with pytest.raises(InvalidInput, match=r"cost must have one finite number a node, shape \(\d+,\)"):
        dag.best_partition([1.0])


def test_a_tree_is_a_special_case():
    tree = random_tree(20, 0, max_children=4)
    start = np.arange(tree.n_nodes + 1)
    start[-1] -= 1
    dag = ClusterDag(start, tree.parent[:-1], tree.height)
    assert dag.is_tree and dag.to_tree() == tree
    assert isinstance(dag, Hierarchy) and isinstance(tree, Hierarchy)
    for v in range(tree.n_nodes):
        for question in ("children", "parents", "members"):
            assert getattr(tree, question)(v).tolist() == getattr(dag, question)(v).tolist()
    y = np.arange(20) % 3
    for metric in (
        cladify.metrics.jaccard_per_label,
        cladify.metrics.jaccard_per_point,
        cladify.metrics.jaccard_per_node,
    ):
        assert metric(dag, y) == pytest.approx(metric(tree, y))


@pytest.mark.parametrize(
    ("arrays", "more", "message"),
    [
        (([1, 2], [0]), {}, "rule 1"),
        (([0, 0, 1, 1], [2]), {}, r"rule 2 \(every node but the last has a parent\): node 0 does not"),
        (([0, 1, 2, 2], [2, 1]), {}, r"rule 3 \(parents come after"),
        (([0, 1, 2, 2], [2, 7]), {}, "rule 3"),
        (([0, 2, 3, 4, 4], [3, 3, 3, 3]), {}, "rule 4"),
        (([0, 1, 2, 3, 4, 4], [2, 2, 4, 4]), {}, "rule 5"),
        (([0, 1, 2, 3, 3], [2, 2, 3]), {}, "rule 6"),
        (MIDDLE, {"height": [0, 0, 0, 1, 1]}, "rule 7.*5 heights for 6 nodes"),
        (MIDDLE, {"height": [0, 0, 0, 1, 3, 2]}, "rule 7.*node 4 is above its parent 5"),
        (MIDDLE, {"height": [0, 0, 0, 1, np.nan, 2]}, "rule 7.*not finite"),
        (MIDDLE, {"spans": [[9, 0, 1]]}, r"rule 8.*\(9, 0, 1\)"),
        (MIDDLE, {"spans": [1, 2]}, "2-D array"),
        (([0.5, 1], [0]), {}, "parent_start must be a 1-D array of integers"),
    ],
)
def test_rules(arrays, more, message):
    with pytest.raises(InvalidInput, match=message):
        ClusterDag(*arrays, **more)


def test_questions_out_of_range():
    dag = ClusterDag(*MIDDLE)
    for ask, message in [
        (lambda: dag.members(6), r"node must be an int in \[0, 5\] for 6 nodes, got 6"),
        (lambda: dag.ancestors_of_leaf(3), r"leaf must be an int in \[0, 2\]"),
        (lambda: dag.cover(0), "no rounds"),
        (lambda: dag.memberships([7]), r"node must be in \[0, 5\]"),
        (lambda: dag.summary(["a"]), r"items must have one entry a leaf \(3\), got 1"),
        (lambda: dag.senses(0, max_size=1), "max_size must be an int of at least 2"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            ask()


def fitted() -> ClusterDag:
    return Llama(n_neighbors=6).fit(np.random.default_rng(0).random((120, 2))).dag_


def test_files_and_pickles_bring_it_back(tmp_path):
    dag = fitted()
    path = tmp_path / "a.dag"
    dag.save(path)
    again = ClusterDag.load(path)
    assert again == dag and again.info["method"] == "llama" and again.size.tolist() == dag.size.tolist()
    assert pickle.loads(pickle.dumps(dag)) == dag
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first
    from cladify.io import read_hierarchy

    assert read_hierarchy(path) == dag
    dag.to_tree().save(tmp_path / "a.tree")
    assert isinstance(read_hierarchy(tmp_path / "a.tree"), Tree)
    with pytest.raises(FileError, match="it has no cladify-tree"):
        Tree.load(path)
    with pytest.raises(FileError, match="it has no cladify-dag"):
        ClusterDag.load(tmp_path / "a.tree")


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "a.dag"
    fitted().save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(damaged[: rng.integers(len(whole) // 2, len(whole) + 1)]))
        try:
            again = ClusterDag.load(path)
        except FileError as error:
            assert str(path) in str(error)
        else:
            again.validate()


def test_it_reads_well():
    dag = fitted()
    figures = dag.describe()
    assert figures["n_leaves"] == 120 and figures["max_parents"] <= 6 and not figures["is_tree"]
    text = dag.summary([f"item {i}" for i in range(120)], n_items=4)
    assert text.startswith("120 leaves in ") and text.count("\nitem ") == 4 and "members, height" in text
    assert repr(dag).startswith("ClusterDag(n_leaves=120, n_nodes=")
    for leaf in range(120):
        found = [set(dag.members(v).tolist()) for v in dag.senses(leaf, max_shared=0.5)]
        assert found and all(leaf in sense for sense in found)
        for a, b in itertools.combinations(found, 2):
            assert len(a & b) - 1 <= 0.5 * (len(b) - 1)


def test_large_and_deep():
    """A path of 100 000 nodes that all overlap: nothing recurses."""
    n = 100_000
    inner = np.arange(n, 2 * n - 1)
    child = np.concatenate([np.arange(n), inner[:-1]])
    parent = np.concatenate([[n], inner, inner[1:]])
    start = np.concatenate([[0], np.cumsum(np.bincount(child, minlength=2 * n - 1))])
    dag = ClusterDag(start, parent, np.maximum(np.arange(2 * n - 1) - n + 1.0, 0.0))
    assert dag.members(n + 2).tolist() == [0, 1, 2, 3] and len(dag.ancestors(0)) == n - 1
    assert dag.to_tree().n_leaves == n


def test_plots_draw_the_best_parents():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    from cladify import plot

    dag = Llama(n_neighbors=5).fit(np.random.default_rng(0).random((40, 2))).dag_
    for draw in (plot.dendrogram, plot.disk, plot.icicle, plot.sizes):
        shown, wanted = (len(draw(x).get_children()) for x in (dag, dag.to_tree()))
        assert shown == wanted
        with pytest.raises(InvalidType, match="a Tree or a ClusterDag is drawn, got list"):
            draw([0, 1])
    pyplot.close("all")


def test_metrics_of_trees_say_what_graphs_have_instead():
    dag, y = ClusterDag(*MIDDLE), [0, 0, 1]
    for metric, message in [
        (cladify.metrics.dendrogram_purity, "use jaccard_per_point, or dag.to_tree"),
        (cladify.metrics.label_mw, "use jaccard_per_label"),
        (cladify.metrics.best_f1, "use jaccard_per_label"),
    ]:
        with pytest.raises(InvalidType, match=message):
            metric(dag, y)
