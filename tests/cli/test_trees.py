"""``cladify info``, ``cut`` and ``convert``."""

import json
from pathlib import Path

import numpy as np
import pytest

import cladify as package
from cladify.io import read_tree

NEWICK = "(((ant:1,bee:1):1.5,fly:2.5):19.5,((cat:2,dog:2):3,fox:5):17);\n"


@pytest.fixture
def tree(tmp_path: Path) -> package.Tree:
    """The tree of ants and cats, in t.nwk, and with numbers for names in t.tree."""
    (tmp_path / "t.nwk").write_text(NEWICK)
    (tmp_path / "names.txt").write_text("ant\nbee\nfly\ncat\ndog\nfox\n")
    tree = package.Tree.from_newick(NEWICK)
    numbered = package.Tree(tree.parent, tree.height, info={"method": "hac", "metric": "cosine"})
    numbered.save(tmp_path / "t.tree")
    return numbered


def test_info(cladify, tree) -> None:
    done = cladify("info", "t.tree", "--items", "names.txt", "--branches", 2)
    assert done.code == 0 and done.err == ""
    for text in ("n leaves", "hac", "cosine", "fly · ant · bee", "fox · cat · dog"):
        assert text in done.out
    data = cladify("info", "t.tree", "--json").json
    assert data["n_leaves"] == 6 and data["depth"] == 3 and data["info"]["method"] == "hac"
    assert "fly · ant · bee" in cladify("info", "t.nwk", "--branches", 2).out, "names from the file itself"


def test_cut(cladify, tree, tmp_path: Path) -> None:
    assert cladify("cut", "t.tree", "-k", 2).out == "0\n0\n0\n1\n1\n1\n"
    assert cladify("cut", "t.tree", "--height", 2, "--items", "names.txt").out.splitlines()[:3] == [
        "0\tant",
        "0\tbee",
        "1\tfly",
    ]
    assert cladify("cut", "t.tree", "-k", 2, "--json").json == {
        "n_clusters": 2,
        "sizes": [3, 3],
        "file": None,
        "labels": [0, 0, 0, 1, 1, 1],
    }
    done = cladify("cut", "t.tree", "--max-size", 2, "--items", "names.txt", "-o", "c.csv")
    assert "4 clusters of 1 to 2 leaves, median 1.5" in done.out
    assert (tmp_path / "c.csv").read_text().splitlines()[:2] == ['"item","label"', '"ant",0']


@pytest.mark.parametrize("ending", ["tree", "nwk", "json", "npy"])
def test_convert_there_and_back(cladify, tree, tmp_path: Path, ending: str) -> None:
    done = cladify("convert", "t.tree", f"u.{ending}")
    assert done.code == 0 and f"u.{ending}: 6 leaves" in done.out
    assert cladify("convert", f"u.{ending}", "back.tree", "--json").json == {
        "file": "back.tree",
        "n_leaves": 6,
        "n_nodes": 11,
    }
    assert read_tree(tmp_path / "back.tree") == tree


def test_convert_with_names(cladify, tree, tmp_path: Path) -> None:
    assert cladify("convert", "t.tree", "named.nwk", "--items", "names.txt").code == 0
    assert "(ant:1,bee:1)" in (tmp_path / "named.nwk").read_text()
    assert cladify("convert", "named.nwk", "back.npy", "--items", "names.txt").code == 0
    assert read_tree(tmp_path / "back.npy") == tree
    assert cladify("convert", "t.nwk", "again.nwk").code == 0
    assert "(ant:1,bee:1)" in (tmp_path / "again.nwk").read_text(), "names of a Newick file stay"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("info none.tree", "none.tree does not exist. Did you mean"),
        ("info names.txt", "names.txt is not a tree: expected a cladify tree"),
        ("info bad.nwk", "bad.nwk is not a tree"),
        ("info bad.json", "bad.json"),
        ("info t.tree --items few.txt", "there are 2 items in few.txt for 6 leaves in t.tree"),
        ("convert t.tree u.nwk --items few.txt", "there are 2 items in few.txt for 6 leaves"),
        ("convert t.tree u.xyz", "the ending says the format. Known: .tree"),
        ("convert t.tree no/u.nwk", "does not exist; create it first"),
        ("cut t.tree", "Say where to cut"),
        ("cut t.tree -k 7", "n_clusters must be an int in [1, 6] for 6 leaves, got 7"),
        ("cut t.tree -k 2 -o c.xls", "known endings are .csv"),
    ],
)
def test_errors_are_one_line(cladify, tree, tmp_path: Path, command: str, message: str) -> None:
    (tmp_path / "few.txt").write_text("a\nb\n")
    (tmp_path / "bad.nwk").write_text("((a,b")
    (tmp_path / "bad.json").write_text(json.dumps({"format": "cladify-tree", "version": 1, "parent": [5, 1]}))
    done = cladify(*command.split())
    assert done.code == 1 and done.out == ""
    assert done.err.startswith("cladify: error: ") and done.err.count("\n") == 1
    assert message in done.err


def test_a_k_ary_tree_has_no_linkage(cladify, tmp_path: Path) -> None:
    (tmp_path / "k.nwk").write_text("(0,1,2);")
    (tmp_path / "precious.npy").write_bytes(b"precious")
    done = cladify("convert", "k.nwk", "precious.npy")
    assert done.code == 1 and done.err.count("\n") == 1
    assert (tmp_path / "precious.npy").read_bytes() == b"precious"


def test_warnings_are_one_line(cladify, tmp_path: Path) -> None:
    (tmp_path / "k.nwk").write_text("(0,1,2);")
    done = cladify("cut", "k.nwk", "-k", 2)
    assert done.code == 0 and done.out == "0\n0\n0\n"
    assert done.err.startswith("cladify: warning: The cut has 1 clusters, not 2") and done.err.count("\n") == 1


def test_cut_by_dp_means(cladify, tmp_path: Path) -> None:
    np.save("x.npy", np.array([[0.0], [1.0], [10.0], [12.0]]))
    cladify("fit", "x.npy", "--method", "hac", "--out", "t.tree", "--quiet")
    assert cladify("cut", "t.tree", "x.npy", "--dp-means", 1).out == "0\n0\n1\n2\n"
    assert cladify("cut", "t.tree", "x.npy", "--dp-means", 4, "--json").json["sizes"] == [2, 2]
    done = cladify("cut", "t.tree", "--dp-means", 1)
    assert done.code == 1 and "cladify cut TREE X --dp-means PRICE" in done.err
    done = cladify("cut", "t.tree", "x.npy", "-k", 2)
    assert done.code == 1 and "cladify cut TREE X --dp-means PRICE" in done.err
    done = cladify("cut", "t.tree", "x.npy", "--dp-means", 1, "-k", 2)
    assert done.code == 1 and "leave the other rules out" in done.err
    np.save("y.npy", np.ones((3, 1)))
    done = cladify("cut", "t.tree", "y.npy", "--dp-means", 1)
    assert done.code == 1 and "y.npy has 3 vectors and t.tree has 4 leaves" in done.err


def test_cut_for_reading(cladify, tree) -> None:
    assert cladify("cut", "t.tree", "-k", 2, "--by", "spread").out == "0\n0\n0\n1\n1\n1\n"
    done = cladify("cut", "t.tree", "-k", 2, "--by", "size")
    assert done.code == 1 and 'by must be "height" or "spread"' in done.err


def test_levels(cladify, tmp_path: Path) -> None:
    X = np.add.outer([0.0, 100.0], np.add.outer([0.0, 10.0, 20.0], [0.0, 1.0, 2.0])).reshape(-1, 1)
    np.save(tmp_path / "x.npy", X)
    package.fit(X, "hac").save(tmp_path / "x.tree")
    lines = cladify("levels", "x.tree", "--min-size", 2).out.splitlines()
    assert lines[0].startswith("clusters  stability") and [int(line.split()[0]) for line in lines[1:]] == [6]
    data = cladify("levels", "x.tree", "x.npy", "--min-size", 2, "--out", "levels.csv", "--json").json
    assert data["out"] == "levels.csv" and len(data["levels"]) == 1
    table = (tmp_path / "levels.csv").read_text().splitlines()
    assert table[0].startswith('"item","clusters_') and len(table) == 19
    assert "known endings are .csv, .jsonl" in cladify("levels", "x.tree", "--out", "levels.xls").err


def test_condense(cladify, tree, tmp_path: Path) -> None:
    done = cladify("condense", "t.tree", "c.nwk", "--items", "names.txt", "--min-size", 2)
    assert done.code == 0 and "c.nwk: 6 leaves in 3 nodes, depth 2" in done.out and "ant" in done.out
    assert read_tree(tmp_path / "c.nwk").info["names"][:2] == ["ant", "bee"]
    assert cladify("condense", "t.tree", "c.tree", "--json").json["n_leaves"] == 6
    assert cladify("condense", "t.tree", "c.xls").code == 1
