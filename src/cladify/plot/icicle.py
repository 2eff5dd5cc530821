"""The icicle: every node a box, as wide as its share of the leaves, below the box of its parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_choice, check_int
from cladify.plot._figure import COLORS, check_items, item_text, make_axes, plain
from cladify.tree._either import as_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.tree import Tree

__all__ = ["icicle"]


def icicle(
    tree: Tree,
    items: Sequence[Any] | None = None,
    *,
    n_clusters: int = 8,
    depth: int = 12,
    by: str = "depth",
    label: Callable[[int], str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree as an icicle, the root on top.

    Boxes narrower than a thousandth of the picture are left out, so that the work and the picture stay the same for a
    hundred and for a million leaves.

    Parameters
    ----------
    tree : Tree or ClusterDag
        Of a graph of clusters every cluster is drawn below its best parent.
    items : sequence of n strings, optional
    n_clusters : int
        The clusters of this cut get a colour each.
    depth : int
        Rows to show.
    by : "depth" or "height"
        Rows of equal height, or boxes from a node's height up to its parent's.
    label : callable from a node to a str, optional
        By default the size and an item.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cladify
    >>> tree = cladify.Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 5.0, 4]])
    >>> ax = icicle(tree, ["cat", "dog", "car", "bus"], n_clusters=2)
    >>> [text.get_text() for text in ax.texts][:3]
    ['cat … (4)', 'cat … (2)', 'car … (2)']
    """
    tree = as_tree(tree)
    check_items(tree, items)
    check_choice("by", by, ["depth", "height"])
    depth = check_int("depth", depth, low=1)
    clusters = tree.cut(n_clusters=min(check_int("n_clusters", n_clusters, low=1), tree.n_leaves))
    ax = make_axes(ax, (11, 6))
    boxes = _boxes(tree, depth)
    pure = _colours(tree, clusters)
    bottom, tall = _rows(tree, boxes, by, depth)
    width = tree.size[boxes] / tree.n_leaves
    left = tree.first[boxes] / tree.n_leaves
    face = ["#e3e7ec" if pure[v] < 0 else COLORS[pure[v] % len(COLORS)] for v in boxes.tolist()]
    ax.bar(left, tall, width, bottom, align="edge", color=face, edgecolor="white", linewidth=0.5)
    name = label or (lambda v: _label(tree, v, items))
    least = 0.03 * float((bottom + tall).max() - bottom.min())
    for i, v in enumerate(boxes.tolist()):
        room = int(width[i] * 130)  # characters of this size that the box has room for
        if room >= 4 and tall[i] >= least:
            text = name(v)
            text = text if len(text) <= room else text[: room - 1] + "…"
            plain(ax.text(left[i] + width[i] / 2, bottom[i] + tall[i] / 2, text, ha="center", va="center", fontsize=8))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom.min(), (bottom + tall).max())
    ax.set_xticks([])
    if by == "depth":
        ax.set_yticks([])
    else:
        ax.set_ylabel("height")
    ax.spines[:].set_visible(False)
    return ax


def _boxes(tree: Tree, depth: int) -> np.ndarray:
    """The nodes that are wide enough to be seen, parents before children, at most ``depth`` rows."""
    least = tree.n_leaves / 1000
    row, rows = np.array([tree.root]), []
    for _ in range(depth):
        rows.append(row)
        inner = row[row >= tree.n_leaves] - tree.n_leaves
        start, end = tree.child_start[inner], tree.child_start[inner + 1]
        count = end - start
        at = np.repeat(start - np.cumsum(count) + count, count) + np.arange(count.sum())
        row = tree.child_ids[at]
        row = row[tree.size[row] >= least]
        if not len(row):
            break
    return np.concatenate(rows)


def _colours(tree: Tree, labels: np.ndarray) -> np.ndarray:
    """The cluster of every node that lies in one cluster, -1 for the others."""
    in_order = labels[tree.leaf_order]
    changes = np.concatenate([[0], np.cumsum(np.diff(in_order) != 0)])
    whole = changes[tree.first] == changes[tree.last - 1]
    return np.where(whole, in_order[tree.first], -1)


def _rows(tree: Tree, boxes: np.ndarray, by: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
    if by == "depth":
        return -1.0 - tree.node_depth[boxes], np.full(len(boxes), 0.97)
    top = max(float(tree.height[tree.root]), 1e-300)
    parent = tree.parent[boxes]
    above = np.where(parent < 0, top * 1.08, tree.height[parent])
    return tree.height[boxes], np.maximum(above - tree.height[boxes], 0.0)


def _label(tree: Tree, v: int, items: Sequence[Any] | None) -> str:
    text, size = item_text(items, int(tree.leaf_order[tree.first[v]])), int(tree.size[v])
    return text if size == 1 else f"{text} … ({size})"
