"""Counts of groups by a column, and what stands out among them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import contingency

import cladify
from cladify.errors import InvalidInput
from cladify.tree import Tree


@pytest.fixture(scope="module")
def groups() -> cladify.Taxonomy:
    """Ten groups of 300 items each, one after the other."""
    n, g = 3000, 10
    parent = np.concatenate([n + np.arange(n) // 300, np.full(g, n + g), [-1]])
    height = np.concatenate([np.zeros(n), np.ones(g), [2.0]])
    return cladify.Taxonomy(Tree(parent, height), [f"item {i}" for i in range(n)])


def labels(taxonomy: cladify.Taxonomy) -> np.ndarray:
    return np.asarray(taxonomy.table(10, form="arrow").column("label_1"))


@pytest.mark.parametrize("seed", range(5))
def test_planted_bursts_are_found(groups, seed):
    rng = np.random.default_rng(seed)
    weeks = rng.integers(20, size=3000)
    own = labels(groups)
    planted = set()
    for _ in range(8):
        g, week = int(rng.integers(10)), int(rng.integers(20))
        rows = rng.choice(np.flatnonzero(own == g), 45, replace=False)
        weeks[rows] = week
        planted.add((g, week))
    days = np.datetime64("2026-01-05") + 7 * weeks + rng.integers(7, size=3000)
    found = groups.trend(days, level=10, every="week")
    nodes = {node: i for i, node in enumerate(found.nodes)}
    places = {name: i for i, name in enumerate(found.bins)}
    bursts = {(nodes[burst.node], places[burst.bin]) for burst in found.bursts()}
    right = len(bursts & planted)
    assert 2 * right / (len(bursts) + len(planted)) >= 0.9


def test_a_column_without_meaning_has_no_bursts(groups):
    values = np.random.default_rng(0).choice(["a", "b", "c"], size=3000)
    found = groups.trend(values, level=10)
    assert not found.bursts() and not found.is_ordered and sorted(found.bins) == ["a", "b", "c"]


def test_counts_and_expected_are_those_of_scipy(groups):
    values = np.random.default_rng(1).choice(["a", "b", "c", "d"], size=3000, p=[0.5, 0.3, 0.15, 0.05])
    found = groups.trend(values, level=10)
    by_hand = [[int(((labels(groups) == g) & (values == b)).sum()) for b in found.bins] for g in range(10)]
    assert found.counts.tolist() == by_hand
    np.testing.assert_allclose(found.expected, contingency.expected_freq(found.counts))
    g2 = contingency.chi2_contingency(found.counts, lambda_="log-likelihood").statistic
    assert found.g2 == pytest.approx(g2)
    p = contingency.chi2_contingency(found.counts, lambda_="log-likelihood").pvalue
    assert found.p_value == pytest.approx(p) and "G² " in str(found)


def test_rising_groups(groups):
    rng = np.random.default_rng(2)
    day = rng.integers(365, size=3000)
    rising = labels(groups) == 4
    day[rising] = 364 - np.abs(rng.integers(-120, 120, size=rising.sum()))
    found = groups.trend(np.datetime64("2025-01-01") + day, level=10, every="month")
    assert found.bins == [f"2025-{m:02}" for m in range(1, 13)]
    assert int(np.argmax(found.change)) == 4 and "rising" in str(found)
    assert found.table().column_names[:5] == ["node", "name", "size", "change", "2025-01"]


@pytest.mark.parametrize(
    ("every", "first", "last"),
    [
        ("day", "2026-03-30", "2026-04-09"),
        ("week", "2026-03-30", "2026-04-06"),
        ("month", "2026-03", "2026-04"),
        ("quarter", "2026-Q1", "2026-Q2"),
        ("year", "2026", "2026"),
        ("auto", "2026-03-30", "2026-04-09"),
    ],
)
def test_bins_of_the_calendar(groups, every, first, last):
    days = ["2026-03-30"] * 1500 + ["2026-04-09"] * 1499 + [None]
    found = groups.trend(days, every=every)
    assert (found.bins[0], found.bins[-1], found.n_missing) == (first, last, 1)
    assert found.counts.sum() == 2999


def test_numbers_and_many_values(groups):
    rng = np.random.default_rng(3)
    found = groups.trend(rng.normal(size=3000), level=10)
    assert len(found.bins) == 12 and found.is_ordered
    assert np.ptp(found.counts.sum(axis=0)) <= 1
    found = groups.trend(rng.integers(3, size=3000).astype(float))
    assert found.bins == ["0.0", "1.0", "2.0"]
    found = groups.trend([f"v{i % 100:02}" for i in range(3000)])
    assert len(found.bins) == 41 and found.bins[-1] == "60 more" and found.counts.sum() == 3000


def test_bad_columns_are_one_line(groups):
    with pytest.raises(InvalidInput, match="no column 'day'"):
        groups.trend("day")
    with pytest.raises(InvalidInput, match="no dates"):
        groups.trend(["x"] * 3000, every="week")
    with pytest.raises(InvalidInput, match="is for a column of times"):
        groups.trend(np.arange(3000), every="week")
    with pytest.raises(InvalidInput, match="5 values for 3000 rows"):
        groups.trend([1, 2, 3, 4, 5])
