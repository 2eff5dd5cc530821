"""What the papers prove about planted clusters holds for the data of the theory."""

import numpy as np
import pytest

import cladify
from cladify import HAC, ReciprocalNN, datasets


def purity(tree: cladify.Tree, y: np.ndarray) -> float:
    return float(cladify.metrics.dendrogram_purity(tree, y))


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
    groups = cladify.Tree(np.concatenate([216 + data.y, np.full(6, 222), [-1]]))
    ours, better = (cladify.objectives.mw(t, data.X, metric=metric) for t in (tree, groups))
    assert ours < 0.6 * better
