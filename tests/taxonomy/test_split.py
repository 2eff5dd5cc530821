"""Splits and notes by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cladify.errors import InvalidInput
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._edits import Edit, Edits, apply_edits
from cladify.taxonomy._steer.split import split_rows
from cladify.tree import Tree

WORDS = ["red", "old", "new", "big", "raw", "hot", "dry", "wet"]
TEXTS = [f"{kind} {word}" for kind in ("apple", "pear", "engine") for word in WORDS]


@pytest.fixture
def groups() -> Taxonomy:
    """Fruit in one group of 16, engines in another of 8."""
    rng = np.random.default_rng(0)
    X = np.repeat([[9.0, 0, 0], [8, 4, 0], [0, 0, 9]], 8, axis=0) + 0.3 * rng.normal(size=(24, 3))
    parent = np.concatenate([np.repeat([24, 25], [16, 8]), [26, 26, -1]])
    height = np.concatenate([np.zeros(24), [1.0, 1.0, 3.0]])
    return Taxonomy(Tree(parent, height), TEXTS, X=X)


def test_a_split_is_by_the_vectors_and_can_be_undone_and_saved(groups, tmp_path):
    made = groups.split(24, 2)
    assert sorted(groups.tree.members(v).tolist() for v in made) == [list(range(8)), list(range(8, 16))]
    assert {groups.names[v] for v in made} == {"apple", "pear"}
    assert [int(groups.tree.parent[v]) for v in made] == [groups.node(24)] * 2
    groups.tree.validate()
    groups.save(tmp_path / "x.taxonomy")
    loaded = Taxonomy.load(tmp_path / "x.taxonomy")
    assert loaded.tree == groups.tree and loaded.names == groups.names
    loaded.undo()
    assert loaded.tree.n_nodes == 27
    loaded.redo()
    assert loaded.tree == groups.tree
    apple = loaded.find("apple")[0].node
    assert (
        loaded.examples(apple).central and not np.isnan(loaded.table(form="arrow").column("label_1").to_numpy()).any()
    )


def test_parts_can_be_edited_as_any_group(groups):
    one, other = groups.split(24, 2)
    groups.rename(one, "mine")
    groups.move(0, groups.node(25))
    assert "mine" in groups.names.values()
    keys = [int(groups.keys[v]) for v in range(24, groups.tree.n_nodes)]
    assert len(set(keys)) == len(keys)
    again = groups.merge([v for v, name in groups.names.items() if name in ("mine", "pear")])
    assert groups.tree.size[again] == 15
    del other


def test_items_that_came_later_go_with_those_next_to_them():
    parent = np.concatenate([np.full(9, 9), [11], [10], [11], [-1]])
    tree = Tree(np.array([10] * 9 + [11, 11, -1]), np.concatenate([np.zeros(10), [1.0, 2.0]]))
    del parent
    edit = Edit("split", (10,), parts=((0, 1, 2), (6, 7, 77)), names=("a", "b"))
    edited = apply_edits(tree, Edits((edit,)))
    groups = {edited.names[int(edited.keys[v])]: set(edited.tree.members(v).tolist()) for v in range(10, 12)}
    assert groups["a"] | groups["b"] == set(range(9)) and {0, 1, 2, 3} <= groups["a"] and {5, 6, 7, 8} <= groups["b"]
    assert Edits.from_dict(Edits((edit,)).to_dict()) == Edits((edit,))


def test_a_group_with_groups_is_split_anew(groups):
    groups.split(24, 2)
    v = groups.node(24)
    parts = groups.split(v, 3)
    assert len(parts) == len(groups.tree.children(groups.node(24))) <= 3


def test_without_vectors_the_whole_tree_decides(groups):
    now = groups._now
    with pytest.raises(InvalidInput, match="no two parts"):
        split_rows(now, 24, 2, None, "cosine")
    with pytest.raises(InvalidInput, match="k must be"):
        groups.split(24, 9)
    with pytest.raises(InvalidInput, match="for a group"):
        groups.split(3, 2)


def test_notes_stay_with_their_group(groups, tmp_path):
    groups.note(25, "ask the workshop")
    groups.note(3, "typo")
    groups.split(24, 2)
    assert groups.notes == {groups.node(25): "ask the workshop", 3: "typo"}
    groups.save(tmp_path / "x.taxonomy")
    loaded = Taxonomy.load(tmp_path / "x.taxonomy")
    loaded.note(loaded.node(25), "")
    assert loaded.notes == {3: "typo"}
    loaded.undo()
    assert len(loaded.notes) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "split", "nodes": [1], "parts": [["a"]], "names": ["x"]},
        {"kind": "split", "nodes": [1], "parts": [[1], [2]], "names": ["x"]},
        {"kind": "split", "nodes": [1], "parts": 3, "names": []},
        {"kind": "split", "nodes": [1], "parts": [[1]], "names": [1]},
    ],
)
def test_damaged_splits_are_refused(wrong):
    with pytest.raises(InvalidInput):
        Edit.from_dict(wrong)
