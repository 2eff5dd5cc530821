"""The table over trees, objectives and metrics, in all its forms."""

import io
import json
import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import cladify
from cladify import Tree, scoreboard
from cladify.errors import InvalidInput
from cladify.similarity import custom


def trees_and_data(n=40):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    X = np.abs(rng.normal(size=(n, 3))) + 5 * np.eye(3)[y]
    trees = {method: Tree.from_linkage(linkage(X, method)) for method in ("single", "average", "ward")}
    return trees, X, y


def test_scores_are_those_of_score():
    trees, X, _ = trees_and_data()
    board = scoreboard(trees, X, objectives=["mw", "dasgupta", "ckmm"], metrics=["cosine", "rbf", "euclidean"])
    for name, tree in trees.items():
        keys = [("mw", "cosine"), ("mw", "rbf"), ("dasgupta", "cosine"), ("dasgupta", "rbf"), ("ckmm", "euclidean")]
        assert list(board.scores[name]) == keys
        for (objective, metric), found in board.scores[name].items():
            alone = cladify.score(tree, X, metric, objective)
            assert found.value == alone.value and math.isclose(found.normalized, alone.normalized)
    values = {name: row["mw", "cosine"].value for name, row in board.scores.items()}
    costs = {name: row["dasgupta", "rbf"].value for name, row in board.scores.items()}
    assert board.best() == board.best("mw") == max(values, key=values.get)
    assert board.scores[board.best("dasgupta")]["dasgupta", "cosine"].value == min(
        row["dasgupta", "cosine"].value for row in board.scores.values()
    )
    assert len(set(costs.values())) == 3
    with pytest.raises(InvalidInput, match="not on this scoreboard; it has 'mw', 'dasgupta', 'ckmm'"):
        board.best("purity")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("mw", "cosine"), ("ckmm", "sqeuclidean")]),
        ({"metrics": "rbf"}, [("mw", "rbf")]),
        ({"metrics": ["rbf", "euclidean"]}, [("mw", "rbf"), ("ckmm", "euclidean")]),
        ({"objectives": "dasgupta"}, [("dasgupta", "cosine")]),
        ({"objectives": ["mw", "ckmm"], "metrics": ["jaccard"]}, [("mw", "jaccard"), ("ckmm", "sqeuclidean")]),
    ],
)
def test_what_is_scored(options, expected):
    trees, X, _ = trees_and_data()
    assert list(scoreboard(trees, X, **options).scores["ward"]) == expected


def test_forms():
    trees, X, _ = trees_and_data()
    board = scoreboard(trees, X, columns={"seconds": {"ward": 1.5}})
    best = board.best("mw")

    lines = board.to_markdown().splitlines()
    assert lines[0] == "| tree | mw cosine α* | value | ckmm sqeuclidean α* | value | seconds |"
    assert len(lines) == 5 and str(board) == board.to_markdown()
    row = next(line for line in lines if line.startswith(f"| {best} "))
    assert f"**{board.scores[best]['mw', 'cosine'].normalized:.3f}**" in row
    assert "1.500" in lines[-1] and "**1.500**" not in lines[-1]

    records = json.loads(json.dumps(board.to_dict()))
    assert [record["tree"] for record in records] == list(trees)
    assert records[0]["scores"][0]["value"] == board.scores["single"]["mw", "cosine"].value
    assert records[0]["seconds"] is None and records[2]["seconds"] == 1.5

    frame = board.to_dataframe()
    assert list(frame.index) == list(trees)
    assert frame.loc["ward", "ckmm sqeuclidean value"] == board.scores["ward"]["ckmm", "sqeuclidean"].value
    assert math.isnan(frame.loc["single", "seconds"])

    from rich.console import Console

    console = Console(file=io.StringIO(), width=160)
    console.print(board)
    text = console.file.getvalue()
    assert "ckmm sqeuclidean α*" in text and "0 = a random tree" in text and all(name in text for name in trees)


def test_purity():
    metrics = pytest.importorskip("cladify.metrics")
    trees, X, y = trees_and_data()
    board = scoreboard(trees, X, y, objectives="mw")
    for name, tree in trees.items():
        assert board.columns["dendrogram purity"][name] == float(metrics.dendrogram_purity(tree, y))
    assert "**1.000**" in board.to_markdown()


def test_graphs():
    trees, X, _ = trees_and_data()
    graph = cladify.neighbors(X, k=5)
    board = scoreboard(trees, graph)
    (key,) = board.scores["ward"]
    assert key == ("mw", "graph")
    matrix = graph.symmetrize().to_scipy()
    found = cladify.score(trees["ward"], matrix, "precomputed-similarity", "mw")
    assert math.isclose(board.scores["ward"][key].value, found.value)
    with pytest.raises(
        InvalidInput, match="'ckmm' takes distances, but the weights of a neighbour graph are similarities"
    ):
        cladify.score(trees["ward"], graph, objective="ckmm")


def test_progress():
    trees, X, _ = trees_and_data()
    seen = []
    scoreboard(trees, X, progress=lambda *step: seen.append(step))
    assert ("scores", 6, 6) in seen


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, X: scoreboard({}, X), "a dict with at least one tree"),
        (lambda t, X: scoreboard(list(t.values()), X), "a dict with at least one tree"),
        (lambda t, X: scoreboard(t, X[:9]), "tree 'single' has 40 leaves but X has 9 rows"),
        (lambda t, X: scoreboard({"mine": X}, X), "tree 'mine' must be a cladify.Tree, got ndarray"),
        (lambda t, X: scoreboard(t, X, metrics=lambda A, B: A @ B.T), r"Say objectives=\['mw'\] for similarities"),
        (lambda t, X: scoreboard(t, X, metrics=lambda A, B: A @ B.T), r"Say objectives=\['mw'\] for similarities"),
        (lambda t, X: scoreboard(t, X, objectives="purity"), "objective 'purity' is not known"),
    ],
)
def test_bad_input(call, message):
    trees, X, _ = trees_and_data()
    with pytest.raises(InvalidInput, match=message):
        call(trees, X)


def test_a_function_with_a_kind_is_enough():
    trees, X, _ = trees_and_data()
    metric = custom(lambda A, B: A @ B.T, kind="similarity", name="product")
    assert list(scoreboard(trees, X, metrics=metric).scores["ward"]) == [("mw", "product")]
