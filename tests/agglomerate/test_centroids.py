"""Rounds on vectors without a graph: the same as on the complete graph, and as SciPy."""

import numpy as np
import pytest
from naive_rounds import naive_rounds, partition
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse import csr_matrix

from cladify import SCC, Affinity, ReciprocalNN, Tree
from cladify.errors import InvalidInput
from cladify.similarity import get_similarity


def vectors(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4)) + 1.5


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "dot"])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_definition(metric, seed):
    X = vectors(40, seed)
    S = get_similarity(metric)(X)
    if metric == "sqeuclidean":
        S = 1e3 - S
    elif metric == "dot":
        S = S + 100
    for pairs, estimator in ((True, ReciprocalNN), (False, Affinity)):
        model = estimator(metric=metric, n_neighbors=None).fit(X)
        expected, _ = naive_rounds(S, "average", [0.0], pairs=pairs)
        assert [partition(labels) for labels in model.rounds_] == expected
    thresholds = np.quantile(S[~np.eye(40, dtype=bool)], [0.99, 0.9, 0.6, 0.5, 0.3])
    given = {"sqeuclidean": 1e3 - thresholds, "dot": thresholds - 100}.get(metric, thresholds)
    for until_stable in (False, True):
        model = SCC(metric=metric, n_neighbors=None, thresholds=given, until_stable=until_stable).fit(X)
        expected, used = naive_rounds(S, "average", thresholds, until_stable=until_stable)
        assert [partition(labels) for labels in model.rounds_] == expected
        assert len(model.rounds_.threshold) == len(used)


@pytest.mark.parametrize("method", ["average", "ward"])
@pytest.mark.parametrize("seed", range(5))
def test_reciprocal_pairs_are_hac(method, seed):
    X = vectors(120, seed)
    Z = scipy_linkage(X, method, **({"metric": "sqeuclidean"} if method == "average" else {}))
    tree = ReciprocalNN(linkage=method, n_neighbors=None).fit(X).tree_
    assert np.allclose(np.sort(tree.height[120:]), Z[:, 2])
    for k in (1, 2, 3, 10, 50, 120):
        assert np.array_equal(tree.cut(n_clusters=k), Tree.from_linkage(Z).cut(n_clusters=k))


def test_weights_stand_for_copies():
    X = vectors(25, 0)
    copies = np.random.default_rng(0).integers(1, 4, 25)
    for linkage in ("average", "ward"):
        weighted = ReciprocalNN(linkage=linkage, n_neighbors=None, n_clusters=6)
        full = ReciprocalNN(linkage=linkage, n_neighbors=None, n_clusters=6).fit(np.repeat(X, copies, axis=0))
        first = np.cumsum(copies) - copies
        assert np.array_equal(weighted.fit_predict(X, sample_weight=copies), full.labels_[first])


def test_sparse_rows_and_schedules():
    X = np.abs(vectors(50, 3))
    for metric in ("sqeuclidean", "cosine", "dot"):
        for thresholds in ("geometric", "linear", "quantile"):
            model = SCC(metric=metric, n_neighbors=None, thresholds=thresholds)
            assert model.fit(csr_matrix(X)).tree_.n_leaves == 50
            assert model.fit(X).tree_.is_monotone
            assert len(np.unique(model.labels_)) == 2


def test_linkages_that_means_do_not_tell():
    with pytest.raises(InvalidInput, match="linkage 'single' with metric 'sqeuclidean' does not follow from means"):
        Affinity(linkage="single", n_neighbors=None).fit(vectors(5, 0))
    with pytest.raises(InvalidInput, match="linkage 'average' with metric 'euclidean' does not follow from means"):
        Affinity(metric="euclidean", n_neighbors=None).fit(vectors(5, 0))
    with pytest.raises(InvalidInput, match="linkage 'ward' needs metric 'sqeuclidean', got 'cosine'"):
        Affinity(metric="cosine", linkage="ward", n_neighbors=None).fit(vectors(5, 0))
