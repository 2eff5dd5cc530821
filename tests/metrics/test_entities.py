"""B³ and CEAF-e against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from cladify.errors import InvalidInput
from cladify.metrics import b_cubed, ceaf_e, conll, muc

few = st.integers(-1, 5)


def sets(labels):
    """Clusters as sets of items, those with -1 alone."""
    out = [set(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels[labels >= 0])]
    return out + [{int(i)} for i in np.flatnonzero(labels < 0)]


@given(st.lists(st.tuples(few, few), min_size=1, max_size=25))
def test_by_the_definition(pairs):
    labels, y = np.array(pairs).T
    known = y >= 0
    predicted, true = sets(labels[known]), sets(y[known])
    if not known.any():
        assert b_cubed(labels, y) == ceaf_e(labels, y) == (0.0, 0.0, 0.0)
        return
    n = int(known.sum())
    precision = sum(len(k & r) ** 2 / len(k) for k in predicted for r in true) / n
    recall = sum(len(k & r) ** 2 / len(r) for k in predicted for r in true) / n
    assert b_cubed(labels, y)[:2] == pytest.approx((precision, recall))
    likeness = np.array([[2 * len(k & r) / (len(k) + len(r)) for r in true] for k in predicted])
    total = likeness[linear_sum_assignment(-likeness)].sum()
    score = ceaf_e(labels, y)
    assert score[:2] == pytest.approx((total / len(predicted), total / len(true)))
    assert score.f1 == pytest.approx(2 * total / (len(predicted) + len(true)))

    def links_found(clusters, others):
        """By the definition: what is left of a cluster once the others have parted it."""
        found = sum(len(c) - sum(1 for other in others if c & other) for c in clusters)
        needed = sum(len(c) - 1 for c in clusters)
        return found / needed if needed else 0.0

    assert muc(labels, y)[:2] == pytest.approx((links_found(predicted, true), links_found(true, predicted)))
    assert conll(labels, y) == pytest.approx((muc(labels, y).f1 + b_cubed(labels, y).f1 + score.f1) / 3)


def test_the_right_answer_and_bad_input():
    y = np.repeat(np.arange(5000), 3)
    assert b_cubed(y, y) == (1.0, 1.0, 1.0) and ceaf_e(y, y) == (1.0, 1.0, 1.0)
    assert b_cubed(["a", "a", "b"], [7, 7, 9]).f1 == 1.0
    with pytest.raises(InvalidInput, match="one-dimensional"):
        b_cubed(np.zeros((2, 2)), [0, 1])
    with pytest.raises(InvalidInput, match="y"):
        ceaf_e([0, 1], [0])
