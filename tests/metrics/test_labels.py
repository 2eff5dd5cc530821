"""Trees and cuts against labels: every metric against its definition, written out over pairs and sets."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick import seeds
from scipy.cluster import hierarchy
from scipy.sparse import csr_array
from trees import NaiveTree, balanced_tree, path_tree, random_tree, trees

from cladify import Tree, metrics
from cladify.errors import InvalidInput


@st.composite
def labelled_trees(draw, max_leaves=18, noise=True, **kwargs):
    tree = draw(trees(max_leaves=max_leaves, **kwargs))
    low = -1 if noise else 0
    y = draw(st.lists(st.integers(low, draw(st.integers(0, 5))), min_size=tree.n_leaves, max_size=tree.n_leaves))
    return tree, np.array(y)


def same_pairs(labels):
    return {(i, j) for i, j in combinations(range(len(labels)), 2) if labels[i] == labels[j] >= 0}


def naive_purity(tree, y):
    naive, found = NaiveTree(tree), []
    for i, j in same_pairs(y):
        below = [k for k in naive.members[naive.lca(i, j)] if y[k] >= 0]
        found.append(sum(y[k] == y[i] for k in below) / len(below))
    return np.mean(found)


# --- dendrogram purity ------------------------------------------------------------------------------------------------


@given(labelled_trees())
def test_purity_against_its_definition(case):
    tree, y = case
    if not same_pairs(y):
        with pytest.raises(InvalidInput, match=r"pairs|no labels"):
            metrics.dendrogram_purity(tree, y)
        return
    found = metrics.dendrogram_purity(tree, y)
    assert found.exact
    assert found == pytest.approx(naive_purity(tree, y), rel=1e-12)
    assert metrics.dendrogram_purity(tree, y, n_jobs=1) == found

    naive, known = NaiveTree(tree), np.flatnonzero(np.asarray(y) >= 0)
    ordered = []
    for i, j in product(known.tolist(), repeat=2):
        if y[i] == y[j]:
            below = [k for k in naive.members[naive.lca(i, j)] if y[k] >= 0]
            ordered.append(sum(y[k] == y[i] for k in below) / len(below))
    assert metrics.dendrogram_purity(tree, y, self_pairs=True) == pytest.approx(np.mean(ordered), rel=1e-12)
    sampled = metrics.dendrogram_purity(tree, y, self_pairs=True, n_samples=50, random_state=0)
    assert not sampled.exact and sampled.interval[0] <= sampled <= sampled.interval[1]


def test_purity_against_higra():
    higra = pytest.importorskip("higra", reason="higra is not installed")
    for seed in range(5):
        tree = random_tree(200, seed, max_children=2 + seed % 3)
        y = np.random.default_rng(seed).integers(0, 12, 200)
        other = higra.dendrogram_purity(higra.Tree(np.append(tree.parent[:-1], tree.root)), y)
        assert metrics.dendrogram_purity(tree, y) == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("zoo", (97.7, 90.1, 96.6, 90.0)), ("glass", (50.3, 46.3, 46.9, 48.3))],
)
def test_purity_of_published_linkages(dataset, name, expected):
    """Chami et al. 2020, table 2: the same convention as their costs (z-scores, unit rows, linkage on 1 - w)."""
    data = dataset(name)
    X = data["X"].astype(np.float64)
    X = (X - X.mean(0)) / X.std(0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    distance = np.clip((1 - X @ X.T) / 2, 0, None)[np.triu_indices(len(X), 1)]
    found = [
        100 * metrics.dendrogram_purity(Tree.from_linkage(hierarchy.linkage(distance, method)), data["y"])
        for method in ("single", "average", "complete", "ward")
    ]
    assert np.abs(np.array(found) - expected).max() < 0.0501, found


def test_purity_is_one_when_the_classes_are_nodes():
    tree = balanced_tree(64)
    assert metrics.dendrogram_purity(tree, np.arange(64) // 8) == 1.0
    assert metrics.dendrogram_purity(tree, np.arange(64) // 32) == 1.0
    assert metrics.dendrogram_purity(path_tree(50), np.zeros(50)) == 1.0


def test_sampled_purity_covers():
    tree = random_tree(300, 0)
    y = np.random.default_rng(0).integers(0, 6, 300)
    y[:30] = -1
    exact = metrics.dendrogram_purity(tree, y)
    hits = 0
    for seed in range(100):
        found = metrics.dendrogram_purity(tree, y, n_samples=500, random_state=seed)
        assert not found.exact
        assert found.n_samples == 500
        hits += found.interval[0] <= exact <= found.interval[1]
    assert hits >= 88
    again = [metrics.dendrogram_purity(tree, y, n_samples=500, random_state=3) for _ in range(2)]
    assert again[0] == again[1]


def test_wrong_labels():
    tree = Tree([4, 4, 5, 5, 6, 6, -1])
    for metric in (metrics.dendrogram_purity, metrics.best_f1, metrics.jaccard_per_label, metrics.label_mw):
        with pytest.raises(InvalidInput, match=r"shape \(4,\)") as caught:
            metric(tree, [0, 0, 1])
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInput, match="no labels"):
        metrics.dendrogram_purity(tree, [-1] * 4)
    with pytest.raises(InvalidInput, match="equal labels, and y has none"):
        metrics.dendrogram_purity(tree, [0, 1, 2, 3])
    with pytest.raises(InvalidInput, match="NaN"):
        metrics.dendrogram_purity(tree, [0, 1, np.nan, 3])
    with pytest.raises(InvalidInput, match="n_samples"):
        metrics.dendrogram_purity(tree, [0, 0, 1, 1], n_samples=0)


def test_labels_need_not_be_dense():
    tree = random_tree(30, 0)
    y = np.random.default_rng(0).integers(0, 4, 30)
    words = np.array(["d", "b", "zebra", "a"])[y]
    assert metrics.dendrogram_purity(tree, y * 1000) == metrics.dendrogram_purity(tree, y)
    assert metrics.dendrogram_purity(tree, words.tolist()) == pytest.approx(
        metrics.dendrogram_purity(tree, y), rel=1e-14
    )


# --- pairs ------------------------------------------------------------------------------------------------------------


@given(st.data())
def test_pairwise_f1_against_its_definition(data):
    n = data.draw(st.integers(1, 15))
    labels, y = (np.array(data.draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))) for _ in range(2))
    kept = y >= 0
    predicted, true = same_pairs(labels[kept]), same_pairs(y[kept])
    found = metrics.pairwise_f1(labels, y)
    both = len(predicted & true)
    assert found.precision == pytest.approx(both / len(predicted) if predicted else 1)
    assert found.recall == pytest.approx(both / len(true) if true else 1)
    total = found.precision + found.recall
    if predicted or true:
        assert found == pytest.approx(2 * found.precision * found.recall / total if total and both else 0)


def test_wrong_pairs():
    with pytest.raises(InvalidInput, match="one-dimensional"):
        metrics.pairwise_f1([[0, 1]], [0, 1])
    with pytest.raises(InvalidInput, match="shape"):
        metrics.pairwise_f1([0, 1], [0, 1, 2])


def all_cuts(naive, v):
    """Every way to cut below node v."""
    yield [v]
    if naive.children[v]:
        parts = [list(all_cuts(naive, c)) for c in naive.children[v]]
        combined = [[]]
        for part in parts:
            combined = [chosen + more for chosen in combined for more in part]
        yield from combined


@given(labelled_trees(max_leaves=9))
def test_best_f1_over_all_cuts(case):
    tree, y = case
    naive = NaiveTree(tree)
    best = metrics.best_f1(tree, y)
    scores = []
    for cut in all_cuts(naive, tree.root):
        labels = np.empty(tree.n_leaves, dtype=int)
        for number, v in enumerate(cut):
            labels[list(naive.members[v])] = number
        scores.append(float(metrics.pairwise_f1(labels, y)))
    assert best.f1 == pytest.approx(max(scores))
    score = metrics.pairwise_f1(best.labels, y)
    assert (best.f1, best.precision, best.recall) == (score.f1, score.precision, score.recall)
    assert best.n_clusters == len(np.unique(best.labels))


@given(labelled_trees(max_leaves=15))
def test_best_f1_over_heights_and_rounds(case):
    tree, y = case
    best = metrics.best_f1(tree, y, over="heights")
    scores = [float(metrics.pairwise_f1(tree.cut(height=h), y)) for h in [-1.0, *tree.height]]
    assert best.f1 == pytest.approx(max(scores))
    assert np.array_equal(best.labels, tree.cut(height=best.height))
    assert best.f1 <= metrics.best_f1(tree, y).f1 + 1e-12
    if tree.is_monotone:
        ranks = np.searchsorted(np.unique(tree.height), tree.height)
        rounds = Tree(tree.parent, tree.height, level=ranks)
        by_round = metrics.best_f1(rounds, y, over="rounds")
        assert np.array_equal(by_round.labels, rounds.partition(by_round.level))
        assert by_round.f1 == pytest.approx(
            max([float(metrics.pairwise_f1(rounds.partition(r), y)) for r in {*ranks.tolist()}])
        )


def test_best_f1_of_no_pairs_and_wrong_choices():
    tree = random_tree(6, 0)
    assert metrics.best_f1(tree, np.arange(6)).labels.tolist() == list(range(6))
    assert metrics.best_f1(tree, np.arange(6)).f1 == 1.0
    with pytest.raises(InvalidInput, match="Did you mean 'cuts'"):
        metrics.best_f1(tree, np.arange(6), over="cut")
    with pytest.raises(InvalidInput, match="no rounds"):
        metrics.best_f1(tree, np.arange(6), over="rounds")


# --- Jaccard ----------------------------------------------------------------------------------------------------------


def naive_jaccard(nodes, classes, kept):
    """The three metrics from sets of points, empty ones left out."""
    nodes = [node & kept for node in nodes if node & kept]
    classes = [c & kept for c in classes if c & kept]
    table = np.array([[len(a & b) / len(a | b) for b in classes] for a in nodes])
    size = np.array([len(c) for c in classes])
    return table.max(0).mean(), table.max(0) @ size / size.sum(), table.max(1).mean()


def three(structure, truth, **kwargs):
    return [
        metric(structure, truth, **kwargs)
        for metric in (metrics.jaccard_per_label, metrics.jaccard_per_point, metrics.jaccard_per_node)
    ]


@given(labelled_trees())
def test_jaccard_of_trees_and_partitions(case):
    tree, y = case
    if (y < 0).all():
        return
    kept = frozenset(np.flatnonzero(y >= 0).tolist())
    classes = [frozenset(np.flatnonzero(y == c).tolist()) for c in np.unique(y[y >= 0])]
    # Nodes that unlabelled leaves alone tell apart are one node.
    nodes = {members & kept for members in NaiveTree(tree).members.values()}
    expected = naive_jaccard(nodes, classes, kept)
    assert three(tree, y) == pytest.approx(expected)
    assert three(tree, y, n_jobs=1) == three(tree, y)


@given(trees(max_leaves=15), st.data())
def test_jaccard_of_trees_and_covers(tree, data):
    n = tree.n_leaves
    sets = data.draw(st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=n, max_size=n))
    if not any(sets):
        with pytest.raises(InvalidInput, match="no labels"):
            metrics.jaccard_per_label(tree, sets)
        return
    kept = frozenset(i for i in range(n) if sets[i])
    classes = [frozenset(i for i in range(n) if c in sets[i]) for c in range(5)]
    nodes = {members & kept for members in NaiveTree(tree).members.values()}
    expected = naive_jaccard(nodes, classes, kept)
    assert three(tree, sets) == pytest.approx(expected)
    indicator = np.array([[c in sets[i] for c in range(5)] for i in range(n)], dtype=float)
    assert three(tree, csr_array(indicator)) == pytest.approx(expected)
    if n != 2:
        sparse = csr_array(indicator)
        assert three(tree, (sparse.indptr, sparse.indices)) == pytest.approx(expected)
    # The same nodes as a list of clusters, and as a membership matrix.
    as_list = [sorted(members) for members in {frozenset(m) for m in nodes} if members]
    assert three(as_list, sets) == pytest.approx(expected)
    rows = np.array([[i in members for i in range(n)] for members in as_list], dtype=float)
    assert three(csr_array(rows), sets) == pytest.approx(expected)


@given(st.data())
def test_jaccard_of_flat_clusters(data):
    n = data.draw(st.integers(1, 15))
    labels, y = (np.array(data.draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))) for _ in range(2))
    kept = frozenset(np.flatnonzero(y >= 0).tolist())
    clusters = [frozenset(np.flatnonzero(labels == c).tolist()) for c in range(5)]
    if not kept or not any(c & kept for c in clusters):
        with pytest.raises(InvalidInput):
            metrics.jaccard_per_label(labels, y)
        return
    classes = [frozenset(np.flatnonzero(y == c).tolist()) for c in range(5)]
    assert three(labels, y) == pytest.approx(naive_jaccard(clusters, classes, kept))


def test_jaccard_of_any_structure_with_members():
    class Dag:
        n_nodes, n_leaves = 3, 4

        def members(self, v):
            return [[0, 1], [1, 2, 3], [0, 1, 2, 3]][v]

    assert metrics.jaccard_per_label(Dag(), [0, 0, 1, 1]) == pytest.approx((1 + 2 / 3) / 2)


@pytest.mark.parametrize("make", [path_tree, balanced_tree])
def test_jaccard_per_node_on_long_chains(make):
    tree = make(400)
    for n_labels in (2, 7, 150):
        y = np.random.default_rng(n_labels).integers(0, n_labels, 400)
        classes = [frozenset(np.flatnonzero(y == c).tolist()) for c in range(n_labels)]
        nodes = list(NaiveTree(tree).members.values())
        assert three(tree, y) == pytest.approx(naive_jaccard(nodes, classes, frozenset(range(400))))


def test_wrong_structures():
    with pytest.raises(InvalidInput, match="every labelled point is noise"):
        metrics.jaccard_per_label([-1, -1], [0, 1])
    with pytest.raises(InvalidInput, match="point 7"):
        metrics.jaccard_per_label([[0, 7], [1]], [0, 1, 1])
    with pytest.raises(InvalidInput, match="mixes"):
        metrics.jaccard_per_label(Tree([2, 2, -1]), [{1}, 2])
    with pytest.raises(InvalidInput, match="one row a point"):
        metrics.jaccard_per_label(Tree([2, 2, -1]), csr_array((3, 4)))
    with pytest.raises(InvalidInput, match="indptr"):
        metrics.jaccard_per_label(Tree([3, 3, 3, -1]), ([0, 1], [0]))


# --- cost and label hierarchies ---------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 5))
def test_dp_means_cost_against_its_definition(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 100
    X[rng.random(X.shape) < 0.3] = 0
    labels = rng.integers(-1, 5, n)
    expected = sum(((X[labels == c] - X[labels == c].mean(0)) ** 2).sum() + 2.5 for c in set(labels.tolist()) - {-1})
    assert metrics.dp_means_cost(X, labels, 2.5) == pytest.approx(expected, rel=1e-9)
    assert metrics.dp_means_cost(csr_array(X), labels, 2.5) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert metrics.dp_means_cost(X.astype(np.float32), labels, 2.5) == pytest.approx(expected, rel=1e-4)


def test_dp_means_cost_over_blocks():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30_000, 300)).astype(np.float32), rng.integers(0, 40, 30_000)
    expected = sum(((X[labels == c] - X[labels == c].mean(0, dtype=float)) ** 2).sum() for c in range(40))
    assert metrics.dp_means_cost(X, labels, 0) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(InvalidInput, match="lam"):
        metrics.dp_means_cost(X[:3], [0, 1, 1], -1)
    with pytest.raises(InvalidInput, match="shape"):
        metrics.dp_means_cost(X[:3], [0, 1], 1)


def nested_levels(rng, n, depth):
    """Random labels, each level splitting the classes of the one above; some leaves lose theirs on the way down."""
    levels = [rng.integers(-1, 3, n)]
    for _ in range(depth - 1):
        above = levels[-1]
        levels.append(np.where((above >= 0) & (rng.random(n) < 0.9), 3 * above + rng.integers(0, 3, n), -1))
    return levels


def naive_mw(tree, levels):
    """Mean over the three resolutions of each triple, summed over pairs."""
    naive = NaiveTree(tree)
    weight = np.zeros((tree.n_leaves,) * 2)
    for depth, level in enumerate(levels):
        weight[(level[:, None] == level) & (level[:, None] >= 0)] = 2.0**depth
    total = 0.0
    for i, j in combinations(range(tree.n_leaves), 2):
        v = naive.lca(i, j)
        a, b = (next(c for c in naive.children[v] if leaf in naive.members[c]) for leaf in (i, j))
        size = [len(naive.members[node]) for node in (v, a, b)]
        total += weight[i, j] * (tree.n_leaves - size[0] + (size[0] - size[1] - size[2]) / 3)
    return total


@given(trees(max_leaves=14), st.integers(0, 2**32), st.integers(1, 3))
def test_label_mw_against_its_definition(tree, seed, depth):
    levels = nested_levels(np.random.default_rng(seed), tree.n_leaves, depth)
    kept = levels[0] >= 0
    try:
        found = metrics.label_mw(tree, levels if depth > 1 else levels[0])
    except InvalidInput:
        assert kept.sum() < 3 or not same_pairs(levels[0])
        return
    assert found.value == pytest.approx(naive_mw(tree.prune(kept), [level[kept] for level in levels]))
    assert found.value <= found.optimum * (1 + 1e-12)
    assert 0 <= found.ratio <= 1 + 1e-12


@pytest.mark.parametrize("seed", seeds(10))
def test_label_mw_optimum_is_reached(seed):
    rng = np.random.default_rng(seed)
    levels = nested_levels(rng, 40, 3)
    kept = levels[0] >= 0
    levels = [level[kept] for level in levels]
    # The tree of the levels: leaves that lost their label stand alone in their class.
    n = int(kept.sum())
    keys = [[(int(level[i]),) if level[i] >= 0 else (-1, i) for level in levels] for i in range(n)]
    ids, parent = {(): n}, [0] * n + [-1]
    for i in range(n):
        above = ()
        for key in keys[i]:
            node = (*above, key)
            if node not in ids:
                ids[node] = len(parent)
                parent.append(ids[above])
            above = node
        parent[i] = ids[above]
    tree = Tree.from_parents(parent, n).binarize(seed)
    assert metrics.label_mw(tree, levels).ratio == pytest.approx(1)
    # Any order of leaves inside a class is as good; a shuffled tree is not.
    assert metrics.label_mw(tree.relabel(rng.permutation(n)), levels).ratio < 1


def test_label_mw_of_wrong_levels():
    tree = random_tree(4, 0)
    with pytest.raises(InvalidInput, match=r"nested.*leaf 1 shares its label of level 2"):
        metrics.label_mw(tree, [[0, 0, 1, 1], [0, 1, 1, 2]])
    with pytest.raises(InvalidInput, match=r"levels\[1\] must have shape"):
        metrics.label_mw(tree, [[0, 0, 1, 1], [0, 1]])
    with pytest.raises(InvalidInput, match="No tree earns"):
        metrics.label_mw(tree, [0, 1, 2, 3])
    assert float(metrics.label_mw(tree, np.array([[0, 0, 1, 1], [0, 1, 2, 3]]))) <= 1
