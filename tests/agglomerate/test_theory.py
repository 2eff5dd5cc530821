"""What the papers prove about planted clusters holds for the data of the theory."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import ramify
from ramify import HAC, SCC, ReciprocalNN, datasets


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def purity(tree: ramify.Tree, y: np.ndarray) -> float:
    return float(ramify.metrics.dendrogram_purity(tree, y))


@pytest.mark.parametrize(("metric", "delta"), [("euclidean", 6.0), ("sqeuclidean", 30.0)])
def test_a_round_of_scc_is_the_separated_clustering(metric, delta) -> None:
    for seed in range(50):
        X, y = datasets.make_delta_separated(80, 6, n_features=4, delta=delta, random_state=seed)
        distance = pdist(X, metric)
        thresholds = distance.min() * 2.0 ** np.arange(np.ceil(np.log2(distance.max() / distance.min())) + 1)
        model = SCC(metric=metric, n_neighbors=79, thresholds=thresholds, until_stable=True).fit(X)
        assert any(same_partition(labels, y) for labels in model.rounds_)
        assert purity(model.tree_, y) == 1.0


@pytest.mark.parametrize("linkage", ["single", "average", "complete"])
def test_strictly_separated_clusters_are_nodes(linkage) -> None:
    for seed in range(10):
        X, y = datasets.make_strictly_separated(150, 8, n_features=3, spread=30.0, random_state=seed)
        assert purity(HAC(linkage=linkage).fit(X).tree_, y) == 1.0
        assert purity(ReciprocalNN(metric="euclidean", n_neighbors=149, linkage=linkage).fit(X).tree_, y) == 1.0


def test_single_linkage_follows_chains() -> None:
    for seed in range(10):
        X, y = datasets.make_chains(200, 6, random_state=seed)
        assert purity(HAC(linkage="single").fit(X).tree_, y) == 1.0
        assert purity(HAC(linkage="average").fit(X).tree_, y) < 0.9


def test_noise_misleads_every_tree() -> None:
    X, y = datasets.make_noisy_separated(120, 6, random_state=0)
    assert purity(HAC(metric="cosine").fit(X).tree_, y) < 0.95


def test_average_linkage_falls_for_the_hard_grid() -> None:
    data = datasets.make_hard_grid(6, random_state=0)
    metric = f"rbf({data.gamma})"
    tree = HAC(metric=metric).fit(data.X).tree_
    groups = ramify.Tree(np.concatenate([216 + data.y, np.full(6, 222), [-1]]))
    ours, better = (ramify.objectives.mw(t, data.X, metric=metric) for t in (tree, groups))
    assert ours < 0.6 * better
