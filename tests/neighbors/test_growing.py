"""Rows that come and go: neighbours and who has whom within reach, against a search among all of them."""

from __future__ import annotations

import numpy as np
import pytest

from cladify.neighbors import _growing_cells as growing_cells
from cladify.neighbors._growing import GrowingRows
from cladify.neighbors._growing_cells import GrowingCells


def rows(n, d=7, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def squared(z):
    return np.einsum("ij,ij->i", z, z).astype(np.float64)


def recall(search, z, slots, k=10):
    """Share of the true nearest of some rows that a search for them finds."""
    near = search.nearest(z[slots], k)
    score = z[slots] @ z.T
    true = np.argsort(-score, axis=1)[:, :k]
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(near.tolist(), true.tolist(), strict=True)])


@pytest.mark.parametrize("method", ["exact", "cells"])
@pytest.mark.parametrize("distance", [False, True])
@pytest.mark.parametrize("width", [1, 7, 33])
def test_a_batch_finds_all_neighbours_and_all_who_reach_it(method, distance, width, monkeypatch):
    """With as many probes as there are cells nothing is left out, whatever the number of queries in a cell."""
    monkeypatch.setattr(growing_cells, "_PROBES", 10**6)
    k, rng = 5, np.random.default_rng(1)
    search = GrowingRows(method=method, seed=0, n_jobs=1)
    z, there, reach = np.empty((0, width), np.float32), [], {}
    for size in (200, 3, 1, 40, 17):
        new = rows(size, width, seed=size)
        arrived = search.add(new, squared(new) if distance else None, k, back=True)
        z = np.concatenate([z, np.zeros((max(0, arrived.slots.max() + 1 - len(z)), width), np.float32)])
        for i, slot in enumerate(arrived.slots.tolist()):
            z[slot] = new[i]
            before = np.array(there)
            product = z[before] @ new[i] if there else np.empty(0)
            value = -squared(z[before] - new[i]) if distance and there else product
            best = np.sort(value)[::-1][:k]
            near = arrived.near[i][arrived.near[i] >= 0]
            found = -squared(z[near] - new[i]) if distance else z[near] @ new[i]
            np.testing.assert_allclose(found, best, atol=1e-4)
            back = arrived.back[arrived.start[i] : arrived.start[i + 1]].tolist()
            assert not set(back) & set(near.tolist())
            sure = [s for s, v in zip(there, value, strict=True) if s in reach and v > reach[s] + 1e-4]
            never = [s for s, v in zip(there, value, strict=True) if s in reach and v < reach[s] - 1e-4]
            assert set(sure) <= set(back) | set(near.tolist()) and not set(never) & set(back)
            there.append(slot)
        chosen = rng.permutation(there)[: len(there) // 2].astype(np.int32)
        value = rng.normal(size=len(chosen)).astype(np.float32)
        value = -np.abs(value) * width if distance else value
        search.set_reach(chosen, -value if distance else value, squared=distance)
        reach |= dict(zip(chosen.tolist(), value.tolist(), strict=True))
        gone = rng.permutation(there)[:20].astype(np.int32)
        search.remove(gone)
        there = [s for s in there if s not in gone.tolist()]
        reach = {s: v for s, v in reach.items() if s in there}
    assert len(search) == len(there)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(growing_cells, "_ALONE", 0)
    z = rows(3000, 12)
    one, two = (GrowingRows(method="cells", seed=0, n_jobs=jobs) for jobs in (1, 2))
    for part in np.split(z, 6):
        a, b = one.add(part, None, 8, back=True), two.add(part, None, 8, back=True)
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("batch", [1, 500])
def test_cells_follow_rows_into_new_regions(batch, monkeypatch):
    """Without cells of their own, rows of new clusters would lie scattered over those of others, or in one of them."""
    monkeypatch.setattr(growing_cells, "_PROBES", 8)
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(60, 16)).astype(np.float32)
    z = np.repeat(centre, 50, axis=0) + 0.3 * rng.normal(size=(3000, 16)).astype(np.float32)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    cells = GrowingCells.find(z, np.arange(1500, dtype=np.int32), seed=0, n_jobs=1)
    search = GrowingRows(method="cells", seed=0, n_jobs=1)
    search.put(z[:1500], None)
    known = len(cells.centre)
    for start in range(1500, 3000, batch):
        search.put(z[start : start + batch], None)
    assert search._trained == 1500 and len(search._cells.centre) > 1.5 * known
    assert recall(search, z, np.arange(1500, 3000, 7)) > 0.97
    size = search._cells._lists.sizes()
    assert size.sum() == 3000 and size.max() <= 2 * growing_cells._LARGE * search._cells.usual


def test_a_cell_that_grows_too_large_is_divided_and_equal_rows_are_not_tried_for_ever(monkeypatch):
    z = rows(400, 5)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    search = GrowingRows(method="cells", seed=0, n_jobs=1)
    search.put(z, None)
    calls = []
    divide = GrowingCells._divide
    monkeypatch.setattr(GrowingCells, "_divide", lambda self, z, c: (calls.append(c), divide(self, z, c)))
    for _ in range(350):
        search.put(z[:1], None)
    assert 1 <= len(calls) <= 8
    near = search.nearest(z[:1], 351)
    assert sorted(near[0].tolist()) == [0, *range(400, 750)]


@pytest.mark.parametrize("sort", [False, True])
def test_cells_grow_with_the_rows_a_little_at_a_time(sort, monkeypatch):
    """From 3000 to 24 000 rows, as good as cells that were found for all of them, and no call looks at a large part."""
    monkeypatch.setattr(growing_cells, "_PROBES", 12)
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(300, 16)).astype(np.float32)
    z = centre[rng.integers(300, size=24_000)] + 0.7 * rng.normal(size=(24_000, 16)).astype(np.float32)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    if sort:
        z = z[np.argsort(z[:, 0])]
    looked = []
    nearest = growing_cells.Cells.nearest
    monkeypatch.setattr(
        growing_cells.Cells, "nearest", lambda self, z, *a, **k: (looked.append(len(z)), nearest(self, z, *a, **k))[1]
    )
    some = rng.permutation(24_000)[:500]
    whole = GrowingRows(method="cells", seed=0, n_jobs=1)
    whole.put(z, None)
    grown = GrowingRows(method="cells", seed=0, n_jobs=1)
    grown.put(z[:3000], None)
    looked.clear()
    for start in range(3000, 24_000, 300):
        grown.put(z[start : start + 300], None)
    assert max(looked) < 3000
    assert recall(grown, z, some) > recall(whole, z, some) - 0.03
    cells, size = len(grown._cells.centre), grown._cells._lists.sizes()
    assert size.sum() == 24_000 and 0.5 < cells / (4 * np.sqrt(24_000)) < 1.5


def test_cells_that_were_kept_go_on_as_the_others_do():
    z = rows(900, 6)
    one, other = (GrowingRows(method="cells", seed=0, n_jobs=1) for _ in range(2))
    for start in range(0, 500, 50):
        one.put(z[start : start + 50], None)
    assert one._cells.turn > 0
    other.load(*one.dump())
    for start in range(500, 900, 7):
        slots = one.put(z[start : start + 7], None)
        np.testing.assert_array_equal(slots, other.put(z[start : start + 7], None))
    np.testing.assert_array_equal(one._cells.centre, other._cells.centre)
    everyone = np.arange(900, dtype=np.int32)
    np.testing.assert_array_equal(one._cells.lists_of(everyone), other._cells.lists_of(everyone))


def test_rows_that_come_after_most_have_gone_are_found():
    """Cells are given up when few rows are left, and made again when there are many."""
    z = rows(600, 4)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    search = GrowingRows(method="cells", seed=0, n_jobs=1)
    slots = search.put(z[:300], None)
    for left in (70, 50, 10):
        search.remove(slots[left:])
        slots = np.concatenate([slots[:left], search.put(z[300:320], None)])
        found = search.nearest(z[300:320], 1)[:, 0]
        assert set(found.tolist()) <= set(slots.tolist()) and search.has_cells == (len(slots) > 32)
        np.testing.assert_array_equal(search.z(found), z[300:320])
    search.remove(slots)
    assert len(search) == 0
    search.put(z, None)
    assert search.has_cells and (search.nearest(z, 1)[:, 0] >= 0).all()
