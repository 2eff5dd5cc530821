"""Edits: what they do to the tree, and that they can be undone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import random_tree

from cladify.errors import InvalidInput
from cladify.taxonomy._edits import Edit, apply_edits


def members(edited) -> dict[int, set[int]]:
    """Leaves of each group, by key."""
    tree = edited.tree
    return {int(edited.keys[v]): set(tree.members(v).tolist()) for v in range(tree.n_leaves, tree.n_nodes)}


def test_rename_and_back(taxonomy):
    v = taxonomy.levels[0].nodes[0]
    old = taxonomy.names[v]
    taxonomy.rename(v, "  my \x1b[31mname\n")
    assert taxonomy.names[v] == "my name" and taxonomy.edits.done[-1].kind == "rename"
    taxonomy.undo()
    assert taxonomy.names[v] == old
    taxonomy.redo()
    taxonomy.rename(v, "")
    assert taxonomy.names[v] == old
    with pytest.raises(InvalidInput, match="name must be text"):
        taxonomy.rename(v, 3)
    with pytest.raises(InvalidInput, match="node must be"):
        taxonomy.rename(10**6, "x")


def test_merge_makes_one_group_of_several(taxonomy):
    tree = taxonomy.tree
    first, second = (int(v) for v in tree.children(tree.root)[:2])
    expected = set(tree.members(first)) | set(tree.members(second))
    made = taxonomy.merge([first, second], "both")
    assert set(taxonomy.tree.members(made)) == expected and taxonomy.names[made] == "both"
    assert taxonomy.keywords(made) and taxonomy.examples(made).central
    assert (taxonomy.table()["confidence_1"] >= 0).all()
    assert "both" in " ".join(taxonomy.table()["path"])
    taxonomy.undo()
    assert taxonomy.tree == tree


def test_move_a_group_and_an_item(taxonomy):
    tree = taxonomy.tree
    inner = [int(v) for v in tree.children(tree.root)]
    small, large = inner[0], inner[-1]
    key = int(taxonomy.keys[large])
    rows = set(tree.members(small))
    taxonomy.move(small, large)
    assert rows <= set(taxonomy.tree.members(taxonomy.node(key)))
    taxonomy.move(0, taxonomy.node(key))
    assert 0 in taxonomy.tree.members(taxonomy.node(key))
    assert len(taxonomy.table()) == 180 and taxonomy.summary()


def test_collapse_and_hide(taxonomy):
    tree = taxonomy.tree
    v = next(int(u) for u in tree.children(tree.root) if (tree.children(int(u)) >= 180).any())
    key = int(taxonomy.keys[v])
    taxonomy.collapse(v)
    assert (taxonomy.tree.children(taxonomy.node(key)) < 180).all()
    name = taxonomy.names[taxonomy.node(key)]
    assert f"─ {name} " in taxonomy.summary()
    taxonomy.hide(taxonomy.node(key))
    assert f"─ {name} " not in taxonomy.summary()
    assert name not in [child["name"] for child in taxonomy.to_dict()["children"]]
    taxonomy.hide(taxonomy.node(key))
    assert f"─ {name} " in taxonomy.summary()


def test_what_cannot_be_done_changes_nothing(taxonomy):
    tree = taxonomy.tree
    v = int(tree.children(tree.root)[-1])
    for act, message in [
        (lambda: taxonomy.move(tree.root, v), "part of it"),
        (lambda: taxonomy.move(v, v), "part of it"),
        (lambda: taxonomy.move(v, 0), "is an item"),
        (lambda: taxonomy.merge([v]), "two or more"),
        (lambda: taxonomy.merge([v, v]), "two or more"),
        (lambda: taxonomy.merge([v, 0]), "is an item"),
        (lambda: taxonomy.merge([v, tree.root]), "part of"),
        (lambda: taxonomy.collapse(0), "is an item"),
        (taxonomy.undo, "no edit to undo"),
        (taxonomy.redo, "no undone edit"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            act()
        assert taxonomy.tree is tree and not taxonomy.edits.done


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.tuples(st.sampled_from(["merge", "move", "collapse"]), st.integers(0, 10**6)), max_size=6),
)
def test_every_sequence_of_edits_keeps_the_leaves(seed, steps):
    base = random_tree(25, seed, max_children=4)
    edits: list[Edit] = []
    edited = apply_edits(base, edits)
    for kind, draw in steps:
        rng = np.random.default_rng(draw)
        keys = edited.keys[rng.integers(0, edited.tree.n_nodes, 2)].tolist()
        edit = {
            "merge": Edit("merge", tuple(keys)),
            "move": Edit("move", (keys[0],), to=keys[1]),
            "collapse": Edit("collapse", (keys[0],)),
        }[kind]
        before = members(edited)
        try:
            after = apply_edits(base, [*edits, edit])
        except InvalidInput:
            continue
        edits.append(edit)
        assert after.tree.n_leaves == 25 and after.tree.is_monotone
        groups = members(after)
        if kind == "merge" and max(groups) >= base.n_nodes and max(groups) not in before:
            assert groups[max(groups)] == before[keys[0]] | before[keys[1]]
        if kind == "collapse":
            assert groups[keys[0]] == before[keys[0]]
        edited = after
    assert members(apply_edits(base, edits)) == members(edited)


def test_keys_of_any_numbers_name_the_same_nodes():
    """Keys that an update left, in any order, mean what numbers of nodes mean in a tree just built."""
    base = random_tree(30, 3)
    keys = np.random.default_rng(0).permutation(base.n_nodes) + 1000
    n = base.n_leaves
    groups = [v for v in range(n, base.root) if (base.children(v) < n).all()][:2]
    plain = [Edit("rename", (groups[0],), "a"), Edit("merge", tuple(groups)), Edit("hide", (3,))]
    plain.append(Edit("move", (4,), to=base.n_nodes))
    by_key = [Edit(e.kind, tuple(int(keys[v]) for v in e.nodes), e.name, None if e.to is None else 5000) for e in plain]
    one, two = apply_edits(base, plain), apply_edits(base, by_key, keys, 5000)
    assert np.array_equal(one.tree.parent, two.tree.parent)
    assert np.array_equal(one.places, two.places)
    assert np.array_equal(two.keys, np.append(keys, 5000)[two.places])
    assert two.names == {5000: "a", int(keys[groups[0]]): "a"} and two.hidden == {int(keys[3])}
    with pytest.raises(InvalidInput, match="no such node"):
        apply_edits(base, [Edit("hide", (3,))], keys, 5000)


def test_a_made_node_keeps_the_key_that_was_fixed():
    base = random_tree(30, 3)
    groups = tuple(v for v in range(base.n_leaves, base.root) if (base.children(v) < base.n_leaves).all())[:2]
    edited = apply_edits(base, [Edit("merge", groups, made=(777,)), Edit("rename", (777,), "both")])
    assert edited.names == {777: "both"} and 777 in edited.keys
    again = Edit.from_dict(Edit("merge", groups, made=(777,)).to_dict())
    assert again.made == (777,)
    with pytest.raises(InvalidInput, match="there already"):
        apply_edits(base, [Edit("merge", groups, made=(0,))])
