"""What X is: every form of the table in `cladify.data.points`, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import kneighbors_graph

import cladify
from cladify.data.points import as_points
from cladify.errors import CladifyWarning, InvalidInput, InvalidType
from cladify.methods import METHODS

X = np.random.default_rng(0).normal(size=(60, 4))
TREES = [name for name, method in METHODS.items() if method.result == "tree"]
GRAPHS = [name for name, method in METHODS.items() if "graph" in method.inputs and name in TREES and name != "random"]


def model(name, **params):
    """An estimator with those of the parameters that it has."""
    cls = METHODS[name].load()
    known = cls().get_params()
    return cls(**{key: value for key, value in {"random_state": 0, **params}.items() if key in known})


# --- forms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_square_sparse_rows_are_rows(name):
    """2000 × 2000 TF-IDF rows were taken for a graph."""
    rows = np.abs(X @ X.T) + 0.1
    dense, sparse = model(name).fit(rows), model(name).fit(sp.csr_matrix(rows))
    assert sparse.points_.form == "rows"
    assert sparse.tree_.n_leaves == 60 and sparse.tree_.info["input"] == "rows"
    if METHODS[name].exact and name != "birch":
        assert (sparse.tree_.cut(5) == dense.tree_.cut(5)).all()


@pytest.mark.parametrize("linkage", ["average", "single", "complete"])
def test_given_distances_are_the_same_dense_condensed_and_sparse(linkage):
    D = cdist(X, X)
    trees = [
        cladify.HAC(linkage=linkage, metric="precomputed").fit(form).tree_
        for form in (D, D.astype(np.float32), pdist(X), sp.csr_matrix(D), sp.coo_array(D))
    ]
    for tree in trees[1:]:
        assert (tree.cut(7) == trees[0].cut(7)).all()
        np.testing.assert_allclose(tree.height, trees[0].height, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_sparse_distances_and_similarities_are_graphs_of_that_kind(name):
    D = kneighbors_graph(X, 8, mode="distance")
    assert D.format == "csr" and not D.diagonal().any()
    near = D.copy()
    near.data = np.exp(-near.data)
    by_distance = model(name, metric="precomputed").fit(D)
    by_similarity = model(name, metric="precomputed-similarity").fit(near) if name != "robust" else None
    assert by_distance.points_.form == "graph" and by_distance.points_.kind == "distance"
    if by_similarity is not None:
        assert by_similarity.points_.kind == "similarity"
    if name in ("reciprocal", "hac"):
        assert by_distance.tree_.info["missing_distance"] == pytest.approx(D.max(), rel=1e-5)
        given = cladify.NeighborGraph.from_scipy(near)
        assert by_similarity.tree_ == model(name).fit(given).tree_


def test_csr_matrix_and_csr_array_mix():
    rows = np.abs(X)
    for name in TREES:
        fitted = model(name, n_clusters=5).fit(sp.csr_matrix(rows))
        again = fitted.predict(sp.csr_array(rows))
        assert (again == fitted.labels_).all() and (fitted.predict(rows) == fitted.labels_).all()


FRAMES = {
    "list of arrays": list,
    "series of arrays": lambda X: pd.Series(list(X), index=range(100, 160)),
    "pandas": lambda X: pd.DataFrame(X, index=np.arange(60)[::-1]),
    "polars": pl.DataFrame,
    "polars series": lambda X: pl.Series(list(X)),
    "nested lists": lambda X: X.tolist(),
    "matrix": np.matrix,
    "masked": np.ma.masked_array,
    "fortran": np.asfortranarray,
    "big endian": lambda X: X.astype(">f8"),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("form", FRAMES)
def test_other_forms_of_rows(form):
    assert cladify.fit(FRAMES[form](X), "hac") == cladify.fit(X, "hac")


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr", "dia"])
def test_every_sparse_format(form):
    rows = np.abs(X)
    assert cladify.fit(sp.csr_array(rows).asformat(form), "hac") == cladify.fit(sp.csr_array(rows), "hac")


@pytest.mark.parametrize(("name", "same"), [("l2", "euclidean"), ("l1", "manhattan"), ("cityblock", "manhattan")])
def test_other_names_of_metrics(name, same):
    assert cladify.fit(X, "scc", metric=name) == cladify.fit(X, "scc", metric=same)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "correlation", "hamming", "canberra", "braycurtis"])
def test_scipys_metrics(metric):
    rows = np.round(np.abs(X), 1)
    expected = cdist(rows, rows, "cityblock" if metric == "manhattan" else metric)
    np.testing.assert_allclose(cladify.similarity.get_similarity(metric)(rows), expected, atol=1e-12)
    sparse = cladify.similarity.get_similarity(metric)(sp.csr_array(rows))
    np.testing.assert_allclose(sparse, expected, atol=1e-12)
    tree = cladify.HAC(metric=metric).fit(rows).tree_
    given = cladify.HAC(metric="precomputed").fit((expected + expected.T) / 2).tree_
    np.testing.assert_allclose(np.sort(tree.height), np.sort(given.height), atol=1e-9)


def test_constant_rows_have_no_correlation():
    with pytest.raises(InvalidInput, match="'correlation' is not defined for some of the rows"):
        cladify.fit(np.where(np.arange(60)[:, None] == 5, 1.0, X), metric="correlation")


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hac", "kmeans", "scc", "reciprocal"])
def test_rows_of_weight_zero_get_a_place_and_do_not_count(name):
    weight = np.ones(60)
    weight[50:] = 0
    params = {"n_neighbors": None, "random_state": 0}
    tree = model(name, **params).fit(X, sample_weight=weight).tree_
    assert tree.n_leaves == 60
    if name != "kmeans":  # which draws its starts among all rows
        alone = model(name, **params).fit(X[:50]).tree_
        if name != "scc":  # whose thresholds depend on all distances
            np.testing.assert_allclose(
                tree.height[tree.lca(np.arange(49), 49)], alone.height[alone.lca(np.arange(49), 49)], rtol=1e-9
            )
    value = cladify.objectives.ckmm(tree, X, sample_weight=weight)
    assert value == pytest.approx(cladify.objectives.ckmm(tree.prune(np.arange(50)), X[:50]))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(60), "above zero for one row"),
        (-np.ones(60), "not below zero"),
        (np.full(60, 1e308), "between 1e-100 and 1e100"),
        (["a"] * 60, "array of 60 numbers"),
        (np.ones(59), r"must have shape \(60,\)"),
    ],
)
def test_weights_that_cannot_be(weight, message):
    with pytest.raises(InvalidInput, match=message):
        cladify.fit(X, "hac", sample_weight=weight)


# --- contradictions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "metric", "message"),
    [
        (np.exp(-cdist(X, X)), "precomputed", "distance to itself is 0.*'precomputed-similarity'"),
        (-cdist(X, X), "precomputed", "distances are at least 0.*'precomputed-similarity'"),
        (sp.csr_array(np.exp(-cdist(X, X))), "precomputed", "on its diagonal.*'precomputed-similarity'"),
        (sp.csr_array(-cdist(X, X)), "precomputed", "distances are at least 0.*'precomputed-similarity'"),
        (X, "precomputed", "needs a square matrix"),
        (sp.csr_array(X), "precomputed", "needs a square matrix"),
        (np.ones(7), "precomputed", r"n\(n - 1\)/2 values, and 7 is no such number"),
        (np.triu(cdist(X, X)), "precomputed", "needs a symmetric matrix"),
        (np.full((3, 3), np.nan), "precomputed", "X has NaN in 3 rows"),
    ],
)
def test_contradictions_name_the_other_reading(data, metric, message):
    with pytest.raises(InvalidInput, match=message):
        as_points(data, metric)
    with pytest.raises(InvalidInput, match=message):
        cladify.fit(data, "hac", metric=metric)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "cosine"])
def test_similarities_that_look_like_distances(metric):
    with pytest.warns(CladifyWarning, match="as distances do.*metric='precomputed'"):
        as_points(cdist(X, X, metric), "precomputed-similarity")


@pytest.mark.filterwarnings("ignore:X is 0 on its diagonal")
@pytest.mark.parametrize("seed", range(5))
def test_kernels_without_their_diagonal(seed):
    P = np.random.default_rng(seed).normal(size=(10, 5))
    K = np.exp(-((P[:, None] - P) ** 2).sum(-1) / 32)
    whole = cladify.fit(K, "hac", metric="precomputed-similarity")
    np.fill_diagonal(K, 0)
    assert np.array_equal(cladify.fit(K, "hac", metric="precomputed-similarity").parent, whole.parent)


def test_objectives_of_similarities_take_no_distances():
    tree, D = cladify.fit(X, "hac"), cdist(X, X)
    with pytest.raises(InvalidInput, match="takes similarities, but metric 'precomputed' gives distances"):
        cladify.score(tree, D, "precomputed", "dasgupta")
    assert cladify.score(tree, D, "precomputed", "ckmm").value > 0
    assert cladify.score(tree, np.exp(-D), "precomputed-similarity", "dasgupta").value > 0


@pytest.mark.parametrize("name", [name for name in METHODS if "graph" not in METHODS[name].inputs])
def test_methods_of_vectors_say_so(name):
    with pytest.raises(InvalidType, match="a graph of neighbours, and this method takes vectors"):
        model(name).fit(cladify.neighbors(X, 5))


# --- predict ----------------------------------------------------------------------------------------------------------


def test_predict_on_collinear_rows_under_cosine():
    rows = np.concatenate([X, 2 * X, 3 * X])
    fitted = cladify.HAC(metric="cosine").fit(rows)
    order = np.random.default_rng(1).permutation(180)[:50]
    assert (fitted.predict(rows[order], n_clusters=180) == fitted.tree_.cut(180)[order]).all()


def test_predict_of_new_points_by_given_values():
    new = X[:5] + 1e-3
    D, to_old = cdist(X, X), cdist(new, X)
    fitted = cladify.HAC(metric="precomputed", n_clusters=10).fit(D)
    assert (fitted.predict(to_old) == fitted.labels_[:5]).all()
    near = sp.csr_array(np.where(to_old < 0.5, to_old, 0))
    assert (fitted.predict(near.toarray() + 9.0 * (near.toarray() == 0)) == fitted.labels_[:5]).all()
    graph = cladify.HAC(metric="precomputed", n_clusters=10).fit(sp.csr_array(D))
    assert (graph.predict(near) == graph.labels_[:5]).all()
    with pytest.raises(InvalidInput, match="row 0 of X has no stored value"):
        graph.predict(sp.csr_array((2, 60)))


# --- nothing is changed -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The cut has 1 clusters")  # these rows have no levels for methods with levels
def test_inputs_are_never_modified():
    """Duplicates were summed and indices sorted in place; a read-only matrix raised."""
    data, indices, indptr = np.arange(1.0, 181), np.tile([3, 0, 3], 60), np.arange(0, 181, 3)
    rows = sp.csr_matrix((data, indices, indptr), shape=(60, 4))
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    before = [part.copy() for part in (rows.data, rows.indices, rows.indptr)]
    trees = []
    for name in TREES:
        fitted = model(name).fit(rows)
        fitted.predict(rows)
        trees.append(fitted.tree_)
    for part, old in zip((rows.data, rows.indices, rows.indptr), before, strict=True):
        assert np.array_equal(part, old)
    assert trees[TREES.index("hac")].cut(4).tolist() == cladify.fit(rows.toarray(), "hac").cut(4).tolist()
    dense = X.copy()
    dense.setflags(write=False)
    for name in TREES:
        model(name).fit(dense)
