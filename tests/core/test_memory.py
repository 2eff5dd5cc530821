"""Without memory: an allocation of the native core that fails is a MemoryError, and the next fit is right."""

import numpy as np
import pytest
from quick import FEW_STEPS

import cladify
from cladify import _core
from cladify._fit import METHODS
from cladify.errors import NotEnoughMemory

FAILURES = 84  # a method: 1000 over twelve methods
EVERYTHING = 2**40


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(6, 4))[np.arange(60) % 6] + 0.5 * rng.normal(size=(60, 4))).astype(np.float32)


@pytest.fixture(autouse=True)
def disarm():
    yield
    _core.fail_allocation(0)


def fails_everywhere(run, same):
    """Make the allocations of ``run`` fail one after the other, spread over all of them; the number that failed."""
    expected = run()
    _core.fail_allocation(EVERYTHING)
    run()
    count = EVERYTHING - _core.fail_allocation(0)
    failed = 0
    for number in np.unique(np.linspace(1, count, FAILURES).astype(int)):
        _core.fail_allocation(int(number))
        try:
            result = run()
        except MemoryError:
            failed += 1
            assert _core.fail_allocation(0) <= 0
        else:  # threads share the work differently, and need fewer allocations now and then
            assert _core.fail_allocation(0) != 0 or same(result, expected)
        if number % 10 == 0:
            assert same(run(), expected)
    assert same(run(), expected)
    return failed, count


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_allocation_of_a_fit_may_fail(method, X):
    steps = FEW_STEPS.get(method, {})

    def run():
        return cladify.fit(X, method=method, random_state=0, n_jobs=2, **steps).height

    failed, count = fails_everywhere(run, np.array_equal)
    assert failed >= 0.9 * min(count, FAILURES)


@pytest.mark.parametrize("linkage", ["complete", "single", "centroid", "ward", "weighted"])
def test_every_allocation_of_a_linkage_may_fail(linkage, X):
    failed, count = fails_everywhere(lambda: cladify.HAC(linkage=linkage, n_jobs=2).fit(X).tree_.parent, np.array_equal)
    assert failed >= 0.9 * min(count, FAILURES)


def test_every_allocation_of_refinement_scores_and_measures_may_fail(X):
    tree = cladify.RandomTree(random_state=0).fit(X).tree_
    labels = np.arange(len(X)) % 7

    def run():
        better = cladify.refine(tree, X, objective="ckmm", random_state=0, n_jobs=2)
        score = cladify.score(better, X, objective="ckmm", n_jobs=2)
        return better.parent, score.value, cladify.metrics.dendrogram_purity(better, labels)

    def same(a, b):
        return np.array_equal(a[0], b[0]) and a[1:] == b[1:]

    failed, count = fails_everywhere(run, same)
    assert failed >= 0.9 * min(count, FAILURES)


@pytest.mark.parametrize(
    ("model", "what"),
    [(cladify.SCC(), "Contraction"), (cladify.HAC(linkage="single"), "Single linkage")],
    ids=["rounds", "single linkage"],
)
def test_a_graph_that_will_not_fit_is_refused_before_the_work(model, what, X, monkeypatch):
    graph = cladify.neighbors(X, 5)
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match=rf"{what} of a graph of 60 points .* fewer neighbours"):
        model.fit(graph)
