"""Depths of common ancestors and the loss of triplets: against numerical geodesics, differences, and all triplets."""

from itertools import combinations

import numpy as np
import pytest

import cladify
from cladify import _core
from cladify.hyperbolic import decode, embed_tree, lca_depth, triplet_loss
from cladify.hyperbolic.geometry import on_circle
from cladify.objectives import dasgupta


def numerical_depth(x, y):
    """The smallest distance to the origin along the geodesic from x to y, by golden sections of its arc length.

    On the hyperboloid a geodesic is a combination of its ends: no lemma, no circle.
    """

    def lift(p):
        square = (p * p).sum(axis=1)
        return np.concatenate([(1 + square)[:, None], 2 * p], axis=1) / (1 - square)[:, None]

    X, Y = lift(x), lift(y)
    between = np.arccosh(np.maximum(X[:, 0] * Y[:, 0] - (X[:, 1:] * Y[:, 1:]).sum(axis=1), 1.0))
    safe = np.maximum(between, 1e-300)

    def height(t):
        # sinh((1 − t) D) / sinh D and sinh(t D) / sinh D, without overflow.
        a = np.exp(-t * safe) * -np.expm1(-2 * (1 - t) * safe) / -np.expm1(-2 * safe)
        b = np.exp(-(1 - t) * safe) * -np.expm1(-2 * t * safe) / -np.expm1(-2 * safe)
        return a * X[:, 0] + b * Y[:, 0]

    low, high = np.zeros(len(x)), np.ones(len(x))
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(200):
        c, d = high - ratio * (high - low), low + ratio * (high - low)
        left = height(c) < height(d)
        high, low = np.where(left, d, high), np.where(left, low, c)
    best = np.minimum(height((low + high) / 2), np.minimum(X[:, 0], Y[:, 0]))
    return np.arccosh(np.maximum(best, 1.0))


def pairs(kind, count, random):
    angle = random.uniform(0, 2 * np.pi, size=(2, count))
    if kind == "inside":
        radius = np.sqrt(random.random((2, count))) * 0.98
    elif kind == "near the rim":
        radius = 1 - 10.0 ** random.uniform(-7, -2, size=(2, count))
    else:
        radius = random.uniform(0.05, 0.999, size=(2, count))
        turn = 10.0 ** random.uniform(-6, -1, size=count) * random.choice([-1, 1], size=count)
        angle[1] = angle[0] + turn + (np.pi if kind == "opposite" else 0.0)
    return on_circle(angle[0], radius[0]), on_circle(angle[1], radius[1])


@pytest.mark.parametrize("kind", ["inside", "near the rim", "same direction", "opposite"])
def test_lemma_4_1_against_numerical_geodesics(kind):
    x, y = pairs(kind, 10_000, np.random.default_rng(0))
    expected = numerical_depth(x, y)
    # arccosh near 1 has half of the digits, and the hyperboloid loses those of the rim.
    np.testing.assert_allclose(lca_depth(x, y), expected, atol=2e-6, rtol=2e-6)


def test_the_formula_of_the_paper():
    """Lemma 4.1 as it is written, where the foot of the altitude lies between the points."""
    x, y = pairs("inside", 10_000, np.random.default_rng(1))
    rx, ry = np.hypot(*x.T), np.hypot(*y.T)
    theta = np.arccos(np.clip((x * y).sum(axis=1) / (rx * ry), -1, 1))
    alpha = np.arctan((rx * (ry**2 + 1) / (ry * (rx**2 + 1)) - np.cos(theta)) / np.sin(theta))
    between = (alpha > 0) & (alpha < theta)
    R = np.sqrt(((rx**2 + 1) / (2 * rx * np.cos(alpha))) ** 2 - 1)
    depth = 2 * np.arctanh(np.sqrt(R**2 + 1) - R)
    assert between.mean() > 0.5
    np.testing.assert_allclose(lca_depth(x, y)[between], depth[between], rtol=1e-6, atol=1e-9)


def test_the_poles():
    z = np.array([[0.3, 0.4], [0.3, 0.4], [0.0, 0.0], [0.0, 0.0], [0.5, 0.0], [0.9, 0.0]])
    w = np.array([[0.3, 0.4], [-0.3, -0.4], [0.2, 0.1], [0.0, 0.0], [-0.2, 0.0], [0.4, 0.0]])
    np.testing.assert_allclose(lca_depth(z, w), [2 * np.arctanh(0.5), 0, 0, 0, 0, 2 * np.arctanh(0.4)], atol=1e-12)
    rim = on_circle(np.array([0.0, 1.0]), 1 - 1e-16)
    for dtype in (np.float32, np.float64):
        depth, by_x, by_y = np.empty(2, dtype), np.empty((2, 2), dtype), np.empty((2, 2), dtype)
        _core.lca_depths(rim.astype(dtype), rim[::-1].astype(dtype), depth, by_x, by_y)
        assert np.isfinite(depth).all() and np.isfinite(by_x).all() and np.isfinite(by_y).all()


@pytest.mark.parametrize("kind", ["inside", "same direction", "opposite"])
def test_derivatives_of_the_depth(kind):
    x, y = pairs(kind, 500, np.random.default_rng(2))
    depth, by_x, by_y = np.empty(500), np.empty((500, 2)), np.empty((500, 2))
    _core.lca_depths(x, y, depth, by_x, by_y)
    step = 1e-7
    for c in range(2):
        move = np.zeros(2)
        move[c] = step
        for points, found in ((x, by_x), (y, by_y)):
            up, down = (x + move, y) if points is x else (x, y + move), (x - move, y) if points is x else (x, y - move)
            numeric = (lca_depth(*up) - lca_depth(*down)) / (2 * step)
            close = np.isclose(found[:, c], numeric, rtol=1e-3, atol=1e-4)
            assert close.mean() > 0.98  # the rest: the foot passes an end within the step


def test_derivatives_near_the_rim():
    """Against 60 digits: lemma 4.1 as the paper has it, and differences that lose nothing."""
    mpmath = pytest.importorskip("mpmath")
    random = np.random.default_rng(6)
    angle = random.uniform(0, 2 * np.pi, size=(2, 60))
    room = 10.0 ** random.uniform(-8, -2, size=60)
    angle[1] = angle[0] + room * 10.0 ** random.uniform(0.5, 2, size=60)  # near enough to feel the rim, feet between
    x, y = (on_circle(turned, 1 - room) for turned in angle)
    depth, by_x, by_y = np.empty(60), np.empty((60, 2)), np.empty((60, 2))
    _core.lca_depths(x, y, depth, by_x, by_y)
    with mpmath.workdps(60):
        for p, q, found, own, other in zip(x, y, depth, by_x, by_y, strict=True):

            def lemma(a, b, c, d):
                r, s = mpmath.hypot(a, b), mpmath.hypot(c, d)
                cosine, sine = (a * c + b * d) / (r * s), abs(a * d - b * c) / (r * s)
                alpha = mpmath.atan((r * (s**2 + 1) / (s * (r**2 + 1)) - cosine) / sine)
                R = mpmath.sqrt(((r**2 + 1) / (2 * r * mpmath.cos(alpha))) ** 2 - 1)
                return 2 * mpmath.atanh(mpmath.sqrt(R**2 + 1) - R)

            place = [mpmath.mpf(float(v)) for v in (*p, *q)]
            assert found == pytest.approx(float(lemma(*place)), rel=1e-7)
            exact = []
            for c in range(4):
                up, down = list(place), list(place)
                up[c] += mpmath.mpf("1e-30")
                down[c] -= mpmath.mpf("1e-30")
                exact.append(float((lemma(*up) - lemma(*down)) / mpmath.mpf("2e-30")))
            np.testing.assert_allclose([*own, *other], exact, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0])
def test_gradient_of_triplets(temperature):
    random = np.random.default_rng(3)
    Z = random.uniform(-0.65, 0.65, size=(20, 2))
    ids = np.array([random.choice(20, 3, replace=False) for _ in range(40)])
    weight = random.random((40, 3))
    loss, gradient = triplet_loss(Z, ids, weight, temperature=temperature)
    numeric, step = np.empty_like(Z), 1e-6
    for i, c in np.ndindex(*Z.shape):
        up, down = Z.copy(), Z.copy()
        up[i, c] += step
        down[i, c] -= step
        numeric[i, c] = (
            triplet_loss(up, ids, weight, temperature=temperature)[0]
            - triplet_loss(down, ids, weight, temperature=temperature)[0]
        ) / (2 * step)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5 * max(1.0, abs(numeric).max()))
    single, gradient32 = triplet_loss(Z.astype(np.float32), ids, weight, temperature=temperature)
    assert gradient32.dtype == np.float32
    assert single == pytest.approx(loss, rel=2e-3)


def test_threads_change_nothing():
    random = np.random.default_rng(4)
    Z = on_circle(random.uniform(0, 6, 500), 0.99)
    ids, weight = random.integers(500, size=(20_000, 3)), random.random((20_000, 3))
    first = triplet_loss(Z, ids, weight, n_jobs=1)
    for n_jobs in (2, 3, 5):
        again = triplet_loss(Z, ids, weight, n_jobs=n_jobs)
        assert again[0] == first[0] and (again[1] == first[1]).all()


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("m", [2, 3, 8, 9, 33])
def test_blocks_are_all_their_triplets(wide, m):
    """Two blocks of different sizes on circles of their own, against the loss of general triplets."""
    random = np.random.default_rng(m)
    n = 2 * m + 1
    angle = random.uniform(0, 2 * np.pi, size=n)
    angle[:2] = 0.01, 6.28  # neighbours across 0
    angle[m] = angle[m - 1]
    W = random.random((n, n)).astype(np.float32)
    W = (W + W.T) / 2
    points = random.permutation(n)
    start, radius = np.array([0, m + 1, n]), np.array([0.5, 0.9])
    found = np.empty(n)
    loss = _core.matrix_blocks(W, wide, start, points, points, angle, radius, 0.1, found, 1)
    expected, gradient = 0.0, np.zeros(n)
    for block, r in zip((points[: m + 1], points[m + 1 :]), radius, strict=True):
        Z = on_circle(angle, r)
        ids = np.array(list(combinations(block, 3)), dtype=np.int64).reshape(-1, 3)
        i, j, k = ids.T
        value, part = triplet_loss(Z, ids, np.stack([W[i, j], W[i, k], W[j, k]], axis=1), temperature=0.1)
        expected += value / max(1, len(ids)) / 2
        gradient += (Z[:, 0] * part[:, 1] - Z[:, 1] * part[:, 0]) / max(1, len(ids))
    tolerance = {"rtol": 1e-9, "atol": 1e-12} if wide else {"rtol": 1e-3, "atol": 1e-6}
    np.testing.assert_allclose(found, gradient, **tolerance)
    assert loss == pytest.approx(expected, rel=1e-10 if wide else 1e-5)
    features = random.standard_normal((n, 5)).astype(np.float32)
    matrix = (0.5 + 0.25 * features @ features.T).astype(np.float32)
    other = np.empty(n)
    rest = (wide, start, points, points, angle, radius, 0.1)
    one = _core.feature_blocks(features, np.zeros(n), 0.5, 0.25, *rest, other, 2)
    two = _core.matrix_blocks(matrix, *rest, found, 1)
    assert one == pytest.approx(two, rel=1e-4)
    np.testing.assert_allclose(other, found, rtol=1e-3, atol=1e-4 * max(abs(found).max(), 1e-3))


def test_the_relaxed_cost_tends_to_that_of_the_tree():
    """Theorem 4.1: with the constant term, and as the temperature falls, at the rate of lemma C.1."""
    random = np.random.default_rng(5)
    n = 12
    W = random.random((n, n))
    W = (W + W.T) / 2
    np.fill_diagonal(W, 0)
    ids = np.array(list(combinations(range(n), 3)))
    i, j, k = ids.T
    weight = np.stack([W[i, j], W[i, k], W[j, k]], axis=1)
    for seed in range(20):
        tree = cladify.RandomTree(random_state=seed).fit(np.zeros((n, 1))).tree_
        Z = embed_tree(tree, spread=1.5)
        cost = dasgupta(tree, W, "precomputed-similarity")
        errors = []
        for temperature in (0.5, 0.25, 0.1, 0.05):
            relaxed = triplet_loss(Z, ids, weight, temperature=temperature)[0] + W.sum()  # 2 Σ_{i<j} w
            errors.append(abs(relaxed - cost))
            assert errors[-1] <= 4 * np.exp(-1 / temperature) * weight.max(axis=1).sum() + 1e-9
        assert errors[-1] < 1e-6 * cost
        assert sorted(errors, reverse=True) == errors


def test_bad_input():
    Z = np.array([[0.1, 0.2], [0.3, 0.1], [0.0, 0.5]])
    with pytest.raises(cladify.CladifyError, match="outside the open unit disk"):
        triplet_loss(Z * 3, [[0, 1, 2]], np.ones((1, 3)))
    with pytest.raises(cladify.CladifyError, match=r"two columns.*got shape \(3, 3\)"):
        lca_depth(np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(cladify.CladifyError, match="same shape"):
        lca_depth(Z, Z[:2])
    with pytest.raises(cladify.CladifyError, match=r"points in \[0, 2\], got 0 to 3"):
        triplet_loss(Z, [[0, 1, 3]], np.ones((1, 3)))
    with pytest.raises(cladify.CladifyError, match=r"shape \(b, 3\)"):
        triplet_loss(Z, [[0, 1]], np.ones((1, 3)))
    with pytest.raises(cladify.CladifyError, match="shape of triplets"):
        triplet_loss(Z, [[0, 1, 2]], np.ones((1, 2)))
    with pytest.raises(cladify.CladifyError, match="temperature must be"):
        triplet_loss(Z, [[0, 1, 2]], np.ones((1, 3)), temperature=0)


def test_decode_says_what_it_takes():
    with pytest.raises(cladify.CladifyError, match="method 'gready' is not known"):
        decode(np.zeros((2, 2)), method="gready")
