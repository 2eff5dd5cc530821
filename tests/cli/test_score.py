"""``cladify score``."""

from pathlib import Path

import numpy as np
import pytest

import cladify as package

pytest.importorskip("cladify.metrics")


@pytest.fixture
def tree(points: np.ndarray, tmp_path: Path) -> package.Tree:
    tree = package.Tree.from_linkage([[0, 1, 1, 2], [3, 4, 2, 2], [2, 6, 2.5, 3], [5, 7, 5, 3], [8, 9, 22, 6]])
    tree.save(tmp_path / "t.tree")
    (tmp_path / "y.txt").write_text("a\na\na\nb\nb\nb\n")
    return tree


def test_score(cladify, tree, points: np.ndarray) -> None:
    done = cladify("score", "t.tree", "x.npy", "--labels", "y.txt")
    assert done.code == 0 and done.err == ""
    for text in ("mw (cosine, 6 leaves", "ckmm (sqeuclidean, 6 leaves", "dendrogram purity: 1.0000", "best f1: 1.0000"):
        assert text in done.out


def test_score_as_json(cladify, tree, points: np.ndarray) -> None:
    data = cladify("score", "t.tree", "x.npy", "--objective", "dasgupta", "--objective", "mw", "--json").json
    assert [entry["objective"] for entry in data["scores"]] == ["dasgupta", "mw"]
    assert data["scores"][1]["value"] == pytest.approx(package.score(tree, points, objective="mw").value)
    assert "dendrogram_purity" not in data


def test_points_without_a_class_are_left_out(cladify, tree, tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("0\n0\n-1\n1\n1\n-1\n")
    assert cladify("score", "t.tree", "x.npy", "--labels", "some.txt", "--json").json["dendrogram_purity"] == 1.0


def test_every_measure_against_classes(cladify, tree) -> None:
    data = cladify("score", "t.tree", "--labels", "y.txt", "-k", 2, "--json").json
    assert data["scores"] == []
    names = ("jaccard_per_label", "jaccard_per_point", "pairwise_f1", "b_cubed", "ceaf_e", "muc", "conll", "best_f1")
    assert [data[name] for name in names] == [1.0] * len(names) and 0 < data["jaccard_per_node"] < 1
    more = cladify("score", "t.tree", "--labels", "y.txt", "--self-pairs", "--json").json
    assert more["dendrogram_purity"] == 1.0 and "conll" not in more


@pytest.mark.parametrize("method", ["llama", "ohc"])
def test_overlapping_clusters(cladify, points: np.ndarray, tree, method: str) -> None:
    assert cladify("fit", "x.npy", "-m", method, "--out", "x.dag", "-q").code == 0
    data = cladify("score", "x.dag", "--labels", "y.txt", "--json").json
    dag = package.ClusterDag.load("x.dag")
    y = np.repeat([0, 1], 3)
    assert data["jaccard_per_node"] == pytest.approx(package.metrics.jaccard_per_node(dag, y))
    assert "dendrogram_purity" not in data
    done = cladify("score", "x.dag", "x.npy")
    assert done.code == 1 and "no objective and no cut" in done.err


def test_the_metric_says_which_objective(cladify, tree) -> None:
    data = cladify("score", "t.tree", "x.npy", "--metric", "euclidean", "--json").json
    assert [(entry["objective"], entry["metric"]) for entry in data["scores"]] == [("ckmm", "euclidean")]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("score t.tree", "Give the vectors the tree was built from, --labels"),
        ("score t.tree x.npy -k 2", "give --labels too"),
        ("score t.tree few.npy", "few.npy has 2 vectors and t.tree has 6 leaves"),
        ("score t.tree x.npy --labels few.txt", "there are 2 labels in few.txt for 6 leaves in t.tree"),
        ("score t.tree x.npy --objective mwx", "is not known"),
        ("score t.tree x.npy --objective mw --metric sqeuclidean", "objective 'mw' takes similarities, but metric"),
        ("score t.tree x.npy --objective ckmm --metric cosine", "objective 'ckmm' takes distances, but metric"),
        ("score t.tree below.npy --metric dot", "must not be negative"),
        ("score t.tree x.npy --labels noise.txt", "no labels: all of its 6 entries are -1"),
        ("score t.tree x.npy --labels alone.txt", "pairs of leaves with equal labels, and y has none"),
    ],
)
def test_errors(cladify, tree, tmp_path: Path, points: np.ndarray, command: str, message: str) -> None:
    np.save(tmp_path / "few.npy", points[:2])
    np.save(tmp_path / "below.npy", points - 10)
    (tmp_path / "few.txt").write_text("a\nb\n")
    (tmp_path / "noise.txt").write_text("-1\n" * 6)
    (tmp_path / "alone.txt").write_text("0\n1\n2\n3\n-1\n-1\n")
    done = cladify(*command.split())
    assert done.code == 1 and done.out == "" and done.err.count("\n") == 1
    assert message in done.err
