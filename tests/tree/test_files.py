"""Trees in files of every format, whole and broken."""

from pathlib import Path

import numpy as np
import pytest
from trees import random_tree

from cladify import Tree
from cladify.errors import FileError, InvalidInput
from cladify.io import read_tree, write_tree

FORMATS = ["tree", "cladify", "nwk", "newick", "tre", "json", "npy"]


@pytest.fixture
def tree() -> Tree:
    linkage = [[0, 1, 1, 2], [3, 4, 2, 2], [2, 6, 2.5, 3], [5, 7, 5, 3], [8, 9, 22, 6]]
    return Tree.from_linkage(linkage, info={"method": "hac"})


@pytest.mark.parametrize("ending", FORMATS)
def test_round_trip(tree: Tree, tmp_path: Path, ending: str) -> None:
    write_tree(tree, tmp_path / f"t.{ending}")
    assert read_tree(tmp_path / f"t.{ending}") == tree
    (tmp_path / f"t.{ending}").rename(tmp_path / "renamed")
    assert read_tree(tmp_path / "renamed") == tree, "the content says the format, not the name"


def test_names(tree: Tree, tmp_path: Path) -> None:
    names = ["ant", "bee", "fly", "cat", "dog", "big fox"]
    write_tree(tree, tmp_path / "t.nwk", names)
    assert sorted(read_tree(tmp_path / "t.nwk").info["names"]) == sorted(names)
    assert read_tree(tmp_path / "t.nwk", names) == tree


def test_unknown_endings(tree: Tree, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"the ending says the format. Known: \.tree"):
        write_tree(tree, tmp_path / "t.pkl")
    (tmp_path / "t.txt").write_text("no tree")
    with pytest.raises(FileError, match="is not a tree: expected"):
        read_tree(tmp_path / "t.txt")


@pytest.mark.parametrize("ending", ["tree", "nwk", "json", "npy"])
def test_mutants(tree: Tree, tmp_path: Path, ending: str) -> None:
    """Damaged trees give a one-line FileError that names the file, or still are trees."""
    write_tree(tree, tmp_path / f"t.{ending}")
    content = (tmp_path / f"t.{ending}").read_bytes()
    random = np.random.default_rng(0)
    errors = 0
    for _ in range(200):
        data = bytearray(content)
        at = int(random.integers(len(data)))
        data[at : at + int(random.integers(1, 6))] = random.bytes(int(random.integers(0, 6)))
        path = tmp_path / f"mutant.{ending}"
        path.unlink(missing_ok=True)
        path.write_bytes(bytes(data))
        try:
            read_tree(path).validate()
        except FileError as error:
            errors += 1
            assert "\n" not in str(error) and "mutant" in str(error)
    assert errors > 50


@pytest.mark.parametrize("ending", [".nwk", ".newick", ".tre", ".json", ".npy", ".tree", ".anything", ""])
def test_save_follows_the_ending(ending, tmp_path):
    tree = random_tree(20, 0)
    path = tmp_path / f"small{ending}"
    tree.save(path)
    start = path.read_bytes()[:6]
    expected = {".json": b"{", ".npy": b"\x93NUMPY", ".nwk": b"(", ".newick": b"(", ".tre": b"("}.get(ending, b"PK")
    assert start.startswith(expected)
    assert Tree.load(path) == tree == read_tree(path)


@pytest.mark.parametrize("ending", [".nwk", ".json"])
def test_files_carry_names(ending, tmp_path):
    tree = random_tree(4, 0)
    names = ["a $5 note", "[bold]b", "c, d", "é"]
    write_tree(tree, tmp_path / f"x{ending}", names)
    back = read_tree(tmp_path / f"x{ending}")
    assert sorted(back.info["names"]) == sorted(names)
    back.save(tmp_path / f"y{ending}")
    assert Tree.load(tmp_path / f"y{ending}").info["names"] == back.info["names"]
    with pytest.raises(InvalidInput, match=r"one entry a leaf \(4\), got 3"):
        write_tree(tree, tmp_path / f"z{ending}", names[:3])
