"""The dendrogram shows the branches of the tree."""

import matplotlib
import numpy as np
import pytest

from cladify import Tree
from cladify.errors import InvalidInput
from cladify.plot import dendrogram

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def tree() -> Tree:
    from scipy.cluster.hierarchy import linkage

    return Tree.from_linkage(linkage(np.random.default_rng(0).normal(size=(200, 3)), "ward"))


def test_one_line_a_branch(tree: Tree) -> None:
    ax = dendrogram(tree, [f"item {i}" for i in range(200)], n_branches=12)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert len(labels) == 12 and all(label.startswith("item ") for label in labels)
    sizes = [int(label.rsplit("(", 1)[1][:-1]) for label in labels]
    assert sum(sizes) == 200
    assert len(ax.patches) == 12
    left, right = ax.get_xlim()
    assert left > tree.height[-1] and right == 0


def test_lines_join_children_to_parents(tree: Tree) -> None:
    ax = dendrogram(tree, n_branches=5)
    heights = {float(x) for line in ax.lines for x in line.get_xdata()}
    assert {float(h) for h in np.sort(tree.height)[-4:]} <= heights, "the four top merges"
    # One vertical line a merge and one horizontal line a child.
    assert len(ax.lines) == 4 + 8


def test_own_labels_and_colours(tree: Tree) -> None:
    ax = dendrogram(tree, n_branches=3, label=lambda v: f"node {v}", color=lambda v: "red")
    assert all(text.get_text().startswith("node ") for text in ax.get_yticklabels())
    assert {patch.get_facecolor() for patch in ax.patches} == {(1.0, 0.0, 0.0, 1.0)}


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_trees(n: int) -> None:
    ax = dendrogram(Tree([-1] if n == 1 else [2, 2, -1]))
    assert len(ax.get_yticklabels()) == n


def test_a_path_of_many_leaves() -> None:
    n = 100_000
    parent = np.concatenate([[n], np.arange(n, 2 * n - 1), np.arange(n + 1, 2 * n - 1), [-1]])
    assert len(dendrogram(Tree(parent), n_branches=10).get_yticklabels()) >= 1


def test_bad_input(tree: Tree) -> None:
    with pytest.raises(InvalidInput, match="one entry a leaf"):
        dendrogram(tree, ["a"])
    with pytest.raises(InvalidInput, match="n_branches must be an int"):
        dendrogram(tree, n_branches=0)


def test_names_are_text_not_mathematics(tree: Tree) -> None:
    ax = dendrogram(tree, [rf"$\frac{i} [b]\x1b[31m" for i in range(200)], n_branches=3)
    labels = ax.get_yticklabels()
    assert all(not text.get_parse_math() for text in labels)
    assert all(r"$\frac" in text.get_text() and "\x1b" not in text.get_text() for text in labels)
    ax.figure.canvas.draw()
