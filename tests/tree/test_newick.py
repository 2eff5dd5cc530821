"""Newick: trees come back equal, other tools' texts are understood, and no text does worse than one clear error."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import NaiveTree, path_tree, random_tree, trees

from cladify import Tree
from cladify.errors import FileError, InvalidInput


@given(trees())
def test_round_trip(tree):
    assert Tree.from_newick(tree.to_newick()) == tree


@given(trees(max_leaves=12), st.data())
def test_round_trip_with_names(tree, data):
    n = tree.n_leaves
    name = st.text("ab01_ '\"(),:;[]&\n\u00e9\u4e16", max_size=5)
    names = data.draw(st.lists(name, min_size=n, max_size=n, unique=True))
    text = tree.to_newick(names)
    assert Tree.from_newick(text, names) == tree
    if not all(name.isdecimal() for name in names) and "" not in names:
        again = Tree.from_newick(text)
        order = [names.index(name) for name in again.info["names"]]
        assert again == tree.prune(order)


@given(trees(max_leaves=20, monotone=True), st.integers(0, 2**32))
def test_round_trip_of_levels(tree, seed):
    step = np.random.default_rng(seed).integers(0, 3, tree.n_nodes)
    level = np.zeros(tree.n_nodes, dtype=int)
    for v in range(tree.n_leaves, tree.n_nodes):
        level[v] = max(level[tree.children(v)]) + step[v]
    tree = Tree(tree.parent, tree.height, level=level)
    assert Tree.from_newick(tree.to_newick()) == tree


def test_awkward_heights_come_back_to_the_last_bit():
    rng = np.random.default_rng(0)
    tree = random_tree(300, 0)
    awkward = np.concatenate([np.zeros(300), np.sort(10.0 ** rng.uniform(-300, 300, 299))])
    tree = Tree(tree.parent, awkward)
    assert "[&cladify_height=" in tree.to_newick()
    assert Tree.from_newick(tree.to_newick()) == tree
    assert "[" not in tree.to_newick(exact=False)


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("(a,b,(c,d));", {"ab cd", "cd"}),
        (" ( a , b ,\n( c , d ) inner:1.5 ) root ; \n", {"ab cd", "cd"}),
        ("[a comment [with another]](a,b,(c[&&NHX:S=x],d)0.98:1e-3)[x];", {"ab cd", "cd"}),
        ("('a',\"b\",('c':1,'d':+2):.5):7;", {"ab cd", "cd"}),
        ("((((a,b))),((c,d)));", {"ab cd", "ab", "cd"}),
    ],
)
def test_texts_of_others(text, clusters):
    tree = Tree.from_newick(text)
    names = tree.info["names"]
    found = {"".join(sorted(names[i] for i in m)) for m in NaiveTree(tree).members.values() if len(m) > 1}
    assert found == {c.replace(" ", "") for c in clusters}


def test_heights_of_branch_lengths():
    tree = Tree.from_newick("((0:1,1:3):2,2:1);")
    assert tree.height.tolist() == [0, 0, 0, 3, 5]
    assert Tree.from_newick("((0,1),2);").height.tolist() == [0, 0, 0, 1, 2]
    assert Tree.from_newick("((0,1)[&cladify_height=7],2);").height.tolist() == [0, 0, 0, 7, 7]


def test_quotes_and_unnamed_leaves():
    tree = Tree.from_newick('(\'it\'\'s\',"say ""hi""",under_score,);')
    assert tree.info["names"] == ["it's", 'say "hi"', "under_score", ""]
    assert Tree.from_newick("(,(,));").n_leaves == 3
    assert Tree.from_newick("(,(,));").info == {"source": "newick"}
    assert Tree([3, 3, 3, -1]).to_newick(["a_b", "", "c'd"]) == "('a_b':1,'':1,'c''d':1);"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expects ';' at the end at character 0, got the end of the text"),
        (";;", "nothing after ';'"),
        ("(a,b)", "';' at the end"),
        ("(a,b;", r"'\)' before ';'"),
        ("(a,(b,c);", r"'\)' before ';'"),
        ("(a,b", r"'\)' before the end"),
        ("(a,b));", r"no '\(' is open"),
        ("a,b;", r"no '\(' is open"),
        ("(a,b)(c,d);", "';' at character 5"),
        ("(a b,c);", r"',' or '\)' at character 3"),
        ("(a:x,b);", "a finite branch length after ':' at character 3"),
        ("(a:inf,b);", "finite branch length"),
        ("(a:,b);", "finite branch length"),
        ("('a,b);", "end of this quoted name at character 1"),
        ("(a,b)[c;", r"'\]' for this '\[' at character 5"),
        ("(a,b)[&cladify_height=x];", "a number after 'cladify_height='"),
        ("(a,b)[&cladify_level=-1];", "a whole number after 'cladify_level='"),
        ("(a,b);(c,d);", "one tree a text"),
        ("(\u00e4\u00f6\u00fc:?,b);", "at character 5"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(FileError, match=message) as caught:
        Tree.from_newick(text)
    assert "\n" not in str(caught.value)


def test_wrong_names():
    with pytest.raises(InvalidInput, match="'b' of the Newick text is not among the names"):
        Tree.from_newick("(a,b);", ["a", "c"])
    with pytest.raises(InvalidInput, match="each leaf of the text once"):
        Tree.from_newick("(a,b);", ["a", "b", "c"])
    with pytest.raises(InvalidInput, match="each leaf of the text once"):
        Tree.from_newick("(a,a);", ["a", "b"])
    with pytest.raises(InvalidInput, match="one entry a leaf"):
        Tree([2, 2, -1]).to_newick(["a"])
    with pytest.raises(InvalidInput, match="must be text, got int"):
        Tree.from_newick(3)


@given(st.text("()[],:;'\"&=0123456789.e-+ab \n\u00e9", max_size=40))
def test_any_text_gives_a_tree_or_one_line(text):
    try:
        tree = Tree.from_newick(text)
    except InvalidInput as error:
        assert "\n" not in str(error)
    else:
        tree.validate()
        assert networkx.is_arborescence(tree.to_networkx())


@given(trees(max_leaves=8), st.data())
def test_damaged_texts(tree, data):
    text = tree.to_newick()
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(FileError):
        Tree.from_newick(text[:cut])


def test_deep_text_needs_no_stack():
    depth = 200_000
    assert Tree.from_newick("(" * depth + "0" + ")" * depth + ";").n_leaves == 1
    with pytest.raises(FileError, match="before the end"):
        Tree.from_newick("(" * depth)
    tree = path_tree(50_000)
    assert Tree.from_newick(tree.to_newick()) == tree


def test_notes_of_other_programs_are_comments():
    """BEAST writes heights above the youngest leaf beside the branch lengths."""
    text = "((a[&height=0.0]:1,b[&height=0.5]:3)[&height=9.0,height_95%_HPD={8.0,10.0}]:2,c:5)[&height=70];"
    assert Tree.from_newick(text).height.tolist() == [0, 0, 0, 3, 5]


@pytest.mark.parametrize("text", ["\ufeff(a:1,b:1);", "\ufeff(a:1,b:1);".encode()])
def test_byte_order_mark(text, tmp_path):
    assert Tree.from_newick(text).info["names"] == ["a", "b"]


@pytest.mark.parametrize("names", [["00", "01", "02"], ["0", "1", "02"], ["-0", "1", "2"], ["007", "0", "1"]])
def test_names_that_look_like_numbers_stay_names(names):
    assert Tree.from_newick(f"(({names[0]},{names[1]}),{names[2]});").info["names"] == names
