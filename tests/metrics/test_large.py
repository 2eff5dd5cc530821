"""A million leaves against a thousand classes, balanced and path-shaped: exact, and within generous limits."""

import time

import numpy as np
import pytest
from trees import balanced_tree, path_tree

from cladify import metrics

pytestmark = pytest.mark.slow

N = 1_000_000
LIMIT = 12.0  # seconds a call on a busy machine; idle, each takes under 3 s


@pytest.mark.parametrize("make", [balanced_tree, path_tree])
def test_a_million_leaves(make):
    tree = make(N)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.5, np.arange(N) * 1000 // N, rng.integers(0, 1000, N))
    calls = {
        "purity": lambda: metrics.dendrogram_purity(tree, y),
        "best f1": lambda: metrics.best_f1(tree, y).f1,
        "best f1 over heights": lambda: metrics.best_f1(tree, y, over="heights").f1,
        "per label": lambda: metrics.jaccard_per_label(tree, y),
        "per point": lambda: metrics.jaccard_per_point(tree, y),
        "per node": lambda: metrics.jaccard_per_node(tree, y),
        "mw": lambda: metrics.label_mw(tree, [y // 10, y]).ratio,
    }
    for name, call in calls.items():
        start = time.perf_counter()
        value = call()
        took = time.perf_counter() - start
        assert 0 < value < 1
        assert took < LIMIT, f"{name}: {took:.1f} s"
    sampled = metrics.dendrogram_purity(tree, y, n_samples=200_000, random_state=0)
    assert abs(sampled - metrics.dendrogram_purity(tree, y)) < 0.01
