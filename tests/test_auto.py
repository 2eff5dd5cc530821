"""`ramify.fit`: the choice of a method, refinement, and what it refuses."""

import numpy as np
import pytest

import ramify
from ramify import auto
from ramify.errors import InvalidInput

X = np.random.default_rng(0).normal(size=(80, 5)).astype(np.float32)


def test_auto_is_exact_while_that_is_quick(monkeypatch):
    tree = ramify.fit(X)
    assert tree.info["method"] == "hac" and tree.info["auto"].startswith("hac: exact average linkage of 80 rows")
    assert tree == ramify.fit(X, method="hac")
    monkeypatch.setattr(auto, "_MOST_SECONDS", 0.0)
    tree = ramify.fit(X)
    assert tree.info["method"] == "scc" and tree.info["auto"].startswith("scc:")


def test_auto_takes_a_graph():
    tree = ramify.fit(ramify.neighbors(X, 5))
    assert tree.n_leaves == 80 and tree.info["auto"] == "scc: the data is a graph of neighbours"


@pytest.mark.parametrize(
    ("metric", "refine", "objective"),
    [("cosine", True, "mw"), ("sqeuclidean", True, "ckmm"), ("cosine", "dasgupta", "dasgupta")],
)
def test_refine_improves_the_objective(metric, refine, objective):
    plain = ramify.fit(X, method="hac", metric=metric)
    better = ramify.fit(X, method="hac", metric=metric, refine=refine)
    assert better.info["refine"]["objective"] == objective and better.info["method"] == "hac"
    before, after = (
        ramify.score(tree, X, metric=metric, objective="mw" if metric == "cosine" else "ckmm")
        for tree in (plain, better)
    )
    assert after.value > before.value


def test_every_method_takes_random_state_and_n_jobs():
    for method in auto.METHODS:
        assert ramify.fit(X, method=method, random_state=0, n_jobs=1).n_leaves == 80


def test_refusals():
    with pytest.raises(InvalidInput, match=r"method 'hca' is not known. Did you mean 'hac'"):
        ramify.fit(X, method="hca")
    with pytest.raises(InvalidInput, match=r"method 'hac' has no parameter 'linkge'. It takes: distance_threshold"):
        ramify.fit(X, method="hac", linkge="ward")
    with pytest.raises(InvalidInput, match="objective 'mv' is not known"):
        ramify.fit(X, refine="mv")
