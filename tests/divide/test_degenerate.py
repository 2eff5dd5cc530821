"""Input that splits poorly or not at all, for every top-down method: it works, or says what is wrong."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import cladify
from cladify.errors import InvalidInput

METHODS = {
    "bisect": lambda **options: cladify.BisectConquer(**options),
    "bisect balanced": lambda **options: cladify.BisectConquer(**{"delta": 0.0, "theta": 1, **options}),
    "bisect random rounding": lambda **options: cladify.BisectConquer(**{"rounding": "random", "theta": 1, **options}),
    "sat": lambda **options: cladify.SatConquer(**options),
    "sat to the points": lambda **options: cladify.SatConquer(**{"theta": 1, **options}),
    "kmeans": lambda **options: cladify.BisectingKMeans(**options),
    "random-cut": lambda **options: cladify.RandomCut(**options),
    "spectral": lambda **options: cladify.SpectralCut(**options),
    "random": lambda metric=None, n_jobs=None, **options: cladify.RandomTree(**options),
}
#: Those that look at the data, and those of them that no balance or chance keeps from the obvious cut.
LOOKING = [name for name in METHODS if name != "random"]
GREEDY = ["bisect", "sat", "kmeans", "random-cut", "spectral"]


def tree_of(name, X, **options):
    tree = METHODS[name](**{"random_state": 0, **options}).fit(X).tree_
    tree.validate()
    assert tree.is_binary and tree.is_monotone and tree.n_leaves == len(X)
    assert np.isfinite(tree.height).all()
    return tree


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("n", [1, 2, 3, 60])
def test_equal_points(name, metric, n):
    tree = tree_of(name, np.full((n, 3), 7.0), metric=metric)
    if name in LOOKING and (name != "spectral" or n <= 26):  # of 60 points, 25 neighbours each, some have no edge
        assert tree.height[-1] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_one_point_and_two(name):
    assert tree_of(name, np.array([[1.0, 2.0]])).n_nodes == 1
    two = tree_of(name, np.array([[1.0, 2.0], [4.0, 6.0]]))
    assert two.parent.tolist() == [2, 2, -1]
    assert two.height[2] > 0 or name == "spectral"  # whose heights count from the most similar pair


@pytest.mark.parametrize("name", ["bisect", "sat", "kmeans"])
def test_theta_above_n(name):
    X = np.random.default_rng(0).standard_normal((50, 4))
    average = cladify.HAC().fit(X).tree_
    options = {"delta": 0.0} if name == "bisect" else {}
    tree = tree_of(name, X, theta=10_000, **options)
    assert adjusted_rand_score(tree.cut(n_clusters=5), average.cut(n_clusters=5)) == 1.0


@pytest.mark.parametrize("name", LOOKING)
def test_one_far_outlier(name):
    X = np.random.default_rng(1).standard_normal((300, 5)).astype(np.float32)
    X[123] = 1e6
    tree = tree_of(name, X)
    # A point alone has all its similarity across the cut: a normalised cut never takes it off first.
    assert name not in GREEDY or name == "spectral" or 123 in tree.children(tree.root)


@pytest.mark.parametrize("name", LOOKING)
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_heavy_duplicates(name, metric):
    points = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.5, 0.0]])
    which = np.random.default_rng(4).integers(4, size=400)
    tree = tree_of(name, points[which], metric=metric)
    assert name not in GREEDY or adjusted_rand_score(which, tree.cut(n_clusters=4)) == 1.0


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite(name, value):
    X = np.ones((20, 3))
    X[7, 1] = value
    with pytest.raises(InvalidInput, match=r"X has (NaN|inf) in 1 row \(first: 7\)"):
        METHODS[name]().fit(X)


@pytest.mark.parametrize("name", LOOKING)
def test_zero_rows_under_cosine(name):
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[7] = 0.0
    with pytest.raises(InvalidInput, match=r"X has 1 zero row \(first: 7\)"):
        METHODS[name](metric="cosine").fit(X)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bisect", {"delta": 0.51}, r"delta must be a finite number in \[0.0, 0.5\], got 0.51"),
        ("bisect", {"delta": -0.01}, r"delta must be a finite number in \[0.0, 0.5\], got -0.01"),
        ("bisect", {"delta": np.nan}, "delta must be a finite number"),
        ("bisect", {"theta": 0}, "theta must be an int of at least 1, got 0"),
        ("sat", {"theta": 0}, "theta must be an int of at least 1, got 0"),
        ("sat", {"n_init": 0}, "n_init must be an int of at least 1"),
        ("kmeans", {"theta": 0}, "theta must be an int of at least 1, got 0"),
        ("spectral", {"n_neighbors": 0}, "n_neighbors must be an int of at least 1"),
        ("random", {"kind": "star"}, "kind 'star' is not known"),
    ],
)
def test_parameters_out_of_range(name, options, message):
    with pytest.raises(InvalidInput, match=message):
        METHODS[name](**options).fit(np.ones((5, 2)))


@pytest.mark.parametrize("name", LOOKING)
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_threads_do_not_change_the_tree(name, metric):
    random = np.random.default_rng(3)
    X = 2.0 * random.standard_normal((20, 6))[random.integers(20, size=1500)] + random.standard_normal((1500, 6))
    assert tree_of(name, X, metric=metric, n_jobs=1) == tree_of(name, X, metric=metric, n_jobs=2)


@pytest.mark.parametrize("name", ["bisect", "sat", "kmeans", "random-cut"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [2.0**-100, 2.0**62, 2.0**100])
def test_scales_whose_squares_float32_cannot_hold(name, dtype, scale):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(4, 5)) * 10)[np.arange(80) % 4] + rng.normal(size=(80, 5))
    plain, scaled = tree_of(name, X.astype(np.float32)), tree_of(name, (X.astype(np.float32) * scale).astype(dtype))
    power = 1 if name == "random-cut" else 2
    np.testing.assert_array_equal(scaled.cut(n_clusters=4), plain.cut(n_clusters=4))
    assert scaled.height[-1] == pytest.approx(plain.height[-1] * scale**power, rel=1e-5)


@pytest.mark.parametrize("name", ["kmeans", "random-cut"])
def test_graphs_where_vectors_are_needed(name):
    graph = cladify.neighbors(np.arange(8.0)[:, None], 2)
    with pytest.raises(InvalidInput, match="X is a graph of neighbours, and this method takes vectors"):
        METHODS[name](random_state=0).fit(graph)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an int of at least 1, got 0"),
        ({"distance_threshold": -1.0}, "distance_threshold must be a finite number of at least 0"),
        ({"n_clusters": 2, "distance_threshold": 1.0}, "not both"),
    ],
)
@pytest.mark.parametrize("name", ["bisect", "sat", "random-cut", "spectral"])
def test_cuts_are_checked_before_the_work(name, cut, message):
    with pytest.raises(InvalidInput, match=message):
        METHODS[name](**cut).fit(np.full((5, 2), np.nan))


@pytest.mark.parametrize("model", [cladify.BisectConquer(theta=4), cladify.SpectralCut(n_neighbors=None)])
def test_heights_of_products_have_the_unit_of_the_data(model):
    X = np.abs(np.random.default_rng(0).normal(size=(40, 3)))
    model.set_params(metric="dot", random_state=0)
    tree = model.fit(X).tree_
    large = model.fit(X * 2.0**60).tree_  # products of 2**120: float32 does not hold their sums
    np.testing.assert_array_equal(large.parent, tree.parent)
    np.testing.assert_array_equal(large.height, tree.height * 2.0**120)
