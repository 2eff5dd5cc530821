"""New items that belong nowhere."""

import numpy as np
import pytest

from cladify.taxonomy import Taxonomy
from cladify.taxonomy._read.nowhere import calibrate, centre_distance, fit_of


def points(seed, n):
    """Rows around six directions in 12 dimensions."""
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(np.random.default_rng(99).normal(size=(12, 12)))[0]
    return (3 * centres[rng.integers(0, 6, n)] + rng.normal(size=(n, 12)) * 0.5).astype(np.float32), centres


@pytest.fixture(scope="module")
def made():
    X, _ = points(0, 1500)
    return X, Taxonomy.fit(X)


@pytest.mark.parametrize("at_hand", [True, False])
def test_of_new_items_like_the_old_about_one_in_a_hundred_is_called_nowhere(made, tmp_path, at_hand):
    taxonomy = made[1]
    new, centres = points(1, 3000)
    strange = 3 * centres[6:] + 0.1
    if not at_hand:
        taxonomy.save(tmp_path / "t.taxonomy")
        taxonomy = Taxonomy.load(tmp_path / "t.taxonomy")
    placed = taxonomy.place(np.concatenate([new, strange]), form="arrow")
    nowhere = np.array(placed.column("nowhere").to_pylist())
    assert 0.001 <= nowhere[:3000].mean() <= 0.03
    assert nowhere[3000:].all()
    fit = np.array(placed.column("fit").to_pylist())
    assert abs((fit[:3000] < 0.2).mean() - 0.2) < 0.07  # a p-value is uniform


def test_own_items_are_taken_out_one_by_one():
    X, _ = points(3, 60)
    taxonomy = Taxonomy.fit(X, min_size=5)
    facts = taxonomy._now.facts
    nearest, centre = [], []
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    base = facts.base
    for i in range(60):
        others = np.delete(unit, i, axis=0) @ unit[i]
        k = max(1, min(15, round(60**0.5 / 3)))
        nearest.append(np.sort(1 - others)[:k].mean())
        found = []
        for v in np.unique(base.parent[:60]):
            members = [m for m in base.members(v) if m != i]
            mean = unit[members].mean(axis=0)
            found.append(1 - mean @ unit[i] / np.linalg.norm(mean))
        centre.append(min(found))
    far = calibrate(base, X, facts.geometry, "cosine")
    assert np.allclose(far[1], np.sort(centre), atol=1e-4)
    ratio = far[0] / np.sort(nearest)
    assert np.allclose(ratio, ratio[0], rtol=1e-3)  # the same up to the unit of the metric


def test_few_items_call_nothing_nowhere():
    X, _ = points(4, 40)
    placed = Taxonomy.fit(X, min_size=5).place(-X[:2], form="arrow")
    assert placed.column("nowhere").to_pylist() == [False, False]


def test_one_text_or_a_list():
    texts = [f"{word} {i}" for i in range(30) for word in ("apple pie", "steam engine")]
    taxonomy = Taxonomy.from_texts(texts, min_size=5)
    one, several = taxonomy.place("apple pie 3", form="arrow"), taxonomy.place(["apple pie 3"], form="arrow")
    assert one.equals(several) and len(one) == 1


def test_fit_of_is_the_share_that_lies_as_far():
    own = np.sort(np.random.default_rng(0).random(50)).astype(np.float32)
    new = np.float32([0.0, own[10], 2.0])
    naive = [(1 + sum(o >= d for o in own)) / 51 for d in new]
    assert fit_of(own, new).tolist() == pytest.approx(naive)


def test_squared_distances(made):
    X, _ = made
    taxonomy = Taxonomy.fit(X, metric="sqeuclidean")
    facts = taxonomy._now.facts
    nodes = np.unique(facts.base.parent[: len(X)])
    centres = np.array([X[facts.base.members(v)].mean(axis=0) for v in nodes])
    expected = ((X[:20, None] - centres) ** 2).sum(axis=2).min(axis=1)
    assert np.allclose(centre_distance(facts.base, facts.geometry, X[:20], "sqeuclidean"), expected, rtol=1e-3)
