"""Pictures of small and of huge trees: what they show, and that they end."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot

import cladify
from cladify.errors import InvalidInput
from cladify.plot import clustermap, icicle, scores, sizes


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def path_tree(n):
    return cladify.Tree(np.concatenate([[n], np.arange(n, 2 * n - 1), np.arange(n + 1, 2 * n - 1), [-1]]))


def test_icicle_boxes_are_as_wide_as_their_share():
    tree = cladify.fit(np.random.default_rng(0).normal(size=(50, 3)), "hac")
    ax = icicle(tree, depth=4)
    rows = {}
    for box in ax.patches:
        rows.setdefault(round(box.get_y()), []).append(box)
    assert sum(box.get_width() for box in rows[-1]) == pytest.approx(1.0)
    nodes = tree.node_depth <= 3
    assert len(ax.patches) == nodes.sum()


@pytest.mark.parametrize("draw", [icicle, sizes])
def test_a_million_leaves(draw):
    draw(path_tree(1_000_000)).figure.canvas.draw()


def test_texts_are_shown_as_they_are():
    tree = cladify.Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 5.0, 4]])
    items = ["costs $5 or $6", "a_b^c", r"\frac{", "<b>"]
    ax = icicle(tree, items, n_clusters=2)
    ax.figure.canvas.draw()
    assert any("$5 or $6" in text.get_text() for text in ax.texts)
    assert not any(text.get_parse_math() for text in ax.texts)


def test_sizes_of_a_balanced_tree_halve():
    tree = cladify.Tree([4, 4, 5, 5, 6, 6, -1])
    lines = sizes(tree).get_lines()
    assert lines[0].get_xdata().tolist()[0] == 1
    assert lines[0].get_ydata().tolist()[0] == 1.0
    assert lines[0].get_ydata().tolist()[-1] == 0.25


def test_clustermap_orders_rows_and_columns():
    rng = np.random.default_rng(0)
    blocks = np.kron(np.eye(2), np.ones((20, 15))) + 0.01 * rng.normal(size=(40, 30))
    mixed = blocks[rng.permutation(40)][:, rng.permutation(30)]
    axes = clustermap(mixed)
    shown = axes["heat"].images[0].get_array()
    assert (shown[:20, :15].mean() > 0.9) != (shown[:20, 15:].mean() > 0.9)
    assert shown.shape == (40, 30)


def test_clustermap_of_many_rows_is_averaged():
    X = np.random.default_rng(0).normal(size=(2500, 4)).astype(np.float32)
    shown = clustermap(X)["heat"].images[0].get_array()
    assert shown.shape == (1000, 4)
    assert shown.mean() == pytest.approx(X.mean(), abs=0.02)


def test_scores_draw_every_column():
    X = np.random.default_rng(0).normal(size=(30, 3))
    trees = {"hac": cladify.fit(X, "hac"), "random": cladify.fit(X, "random")}
    board = cladify.scoreboard(trees, X, [0] * 15 + [1] * 15, objectives=["mw", "ckmm"])
    ax = scores(board, {"hac": 0.5, "random": 0.1})
    assert len(ax.get_legend().get_texts()) == 3


def test_bad_input():
    tree = cladify.Tree([3, 3, 4, 4, -1])
    with pytest.raises(InvalidInput, match="one entry a leaf"):
        icicle(tree, ["a"])
    with pytest.raises(InvalidInput, match="has 3 leaves, and X has 2 rows"):
        clustermap(np.ones((2, 2)), rows=tree)
