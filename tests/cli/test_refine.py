"""``cladify refine``, and ``cladify fit --refine``."""

from pathlib import Path

import numpy as np
import pytest

import cladify as package
from cladify.io import read_tree


@pytest.fixture
def poor(points: np.ndarray, tmp_path: Path) -> package.Tree:
    """A tree that pairs points of different groups."""
    tree = package.Tree.from_newick("((0,3),((1,4),(2,5)));")
    tree = package.Tree(tree.parent, tree.height, info={"method": "by hand", "metric": "sqeuclidean"})
    tree.save(tmp_path / "poor.tree")
    return tree


def test_refine(cladify, poor, tmp_path: Path) -> None:
    done = cladify("refine", "poor.tree", "x.npy", "--items", "names.txt")
    assert done.code == 0 and done.err == ""
    assert "ckmm (sqeuclidean): " in done.out and " → " in done.out and "tree: poor-refined.tree" in done.out
    better = read_tree(tmp_path / "poor-refined.tree")
    assert better.cut(n_clusters=2).tolist() == [0, 0, 0, 1, 1, 1]
    assert read_tree(tmp_path / "poor.tree") == poor


def test_refine_as_json(cladify, poor, points: np.ndarray, tmp_path: Path) -> None:
    data = cladify(
        "refine", "poor.tree", "x.npy", "--objective", "mw", "--budget-seconds", 5, "-o", "b.nwk", "--json"
    ).json
    assert data["improved"] and data["objective"] == "mw" and data["after"] > data["before"]
    value = package.score(read_tree(tmp_path / "b.nwk"), points, objective="mw").value
    assert data["after"] == pytest.approx(value)
    data = cladify("refine", "b.nwk", "x.npy", "--objective", "mw", "--json").json
    assert data["improved"] is False
    assert "no move helps" in cladify("refine", "b.nwk", "x.npy", "--objective", "mw").out


def test_refine_on_a_matrix(cladify, poor, points: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", package.similarity.sqeuclidean(points))
    data = cladify("refine", "poor.tree", "d.npy", "--metric", "precomputed", "--objective", "ckmm", "--json").json
    assert data["improved"] and data["metric"] == "precomputed"
    assert read_tree(tmp_path / "poor-refined.tree").cut(n_clusters=2).tolist() == [0, 0, 0, 1, 1, 1]


def test_fit_and_refine(cladify, points: np.ndarray, tmp_path: Path) -> None:
    for goal in ("auto", "ckmm"):
        assert cladify("fit", "x.npy", "-m", "random", "--refine", goal, "--seed", 1, "-q").code == 0
        assert read_tree(tmp_path / "x.tree").cut(n_clusters=2).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("refine poor.tree few.npy", "few.npy has 2 vectors and poor.tree has 6 leaves"),
        ("refine poor.tree x.npy --objective cost", "is not known"),
        ("refine poor.tree x.npy --budget-seconds 0", "budget_seconds must be a finite number above 0"),
        ("refine poor.tree x.npy --objective mw --metric sqeuclidean", "objective 'mw' takes similarities, but metric"),
        ("refine poor.tree below.npy --metric dot", "must not be negative"),
        ("refine poor.tree x.npy --metric precomputed", "needs a square matrix"),
        ("refine poor.tree x.npy --out poor.xyz", "the ending says the format"),
        ("fit x.npy --refine cost", "is not known"),
    ],
)
def test_errors(cladify, poor, points: np.ndarray, tmp_path: Path, command: str, message: str) -> None:
    np.save(tmp_path / "few.npy", points[:2])
    np.save(tmp_path / "below.npy", points - 10)
    done = cladify(*command.split())
    assert done.code == 1 and done.out == "" and done.err.count("\n") == 1
    assert message in done.err
