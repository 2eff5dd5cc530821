"""The top of a tree as a dendrogram that stays readable for any number of leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_int
from cladify._kit.text import one_line
from cladify.plot._figure import check_items, make_axes
from cladify.tree._either import as_tree
from cladify.tree._text import branches, skeleton

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.tree import Tree

__all__ = ["dendrogram"]

LINE = "#7a7a7a"


def dendrogram(
    tree: Tree,
    items: Sequence[Any] | None = None,
    *,
    n_branches: int = 30,
    label: Callable[[int], str] | None = None,
    color: Callable[[int], Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the top of a tree, root at the left, one line of text a branch.

    The branches are those of :meth:`cladify.Tree.summary`: a cut that leaves outliers in place. What is below a branch
    is a wedge from its height down to the leaves, thicker for more leaves.

    Parameters
    ----------
    tree : Tree or ClusterDag
        Of a graph of clusters every cluster is drawn below its best parent.
    items : sequence of n strings, optional
        What each leaf is, for the default labels.
    n_branches : int
        How many branches to show.
    label : callable from a node to a str, optional
        Text of a branch; by default its size and an item.
    color : callable from a node to a matplotlib colour, optional
    ax : matplotlib Axes, optional
        By default a new figure of a fitting height.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cladify
    >>> tree = cladify.Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 5.0, 4]])
    >>> ax = dendrogram(tree, ["cat", "dog", "car", "bus"], n_branches=2)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['cat … (2)', 'car … (2)']
    """
    tree = as_tree(tree)
    check_items(tree, items)
    k = min(check_int("n_branches", n_branches, low=1), tree.n_leaves)
    ends = branches(tree, k)
    root, children = skeleton(tree, ends)
    ax = make_axes(ax, (8, 1 + 0.2 * len(ends)))
    position = {v: float(i) for i, v in enumerate(ends)}
    for v in sorted(children):  # children come before parents
        position[v] = float(np.mean([position[child] for child in children[v]]))
    for v, kids in children.items():
        at = [position[child] for child in kids]
        ax.plot([tree.height[v]] * 2, [min(at), max(at)], color=LINE, linewidth=1, solid_capstyle="round")
        for child in kids:
            ax.plot([tree.height[child], tree.height[v]], [position[child]] * 2, color=LINE, linewidth=1)
    largest = max(int(tree.size[v]) for v in ends)
    for v in ends:
        half = 0.08 + 0.36 * float(np.sqrt(tree.size[v] / largest))
        y, tip = position[v], float(tree.height[v])
        ax.fill([tip, 0, 0], [y, y - half, y + half], color=color(v) if color else "#4477aa", linewidth=0)

    label = label or (lambda v: _label(tree, v, items))
    ax.set_yticks([position[v] for v in ends], [label(v) for v in ends], fontsize=8, parse_math=False)
    ax.yaxis.tick_right()
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(max(float(tree.height[root]), 1e-12) * 1.02, 0)
    ax.set_ylim(len(ends) - 0.4, -0.6)
    ax.spines[["left", "right", "top"]].set_visible(False)
    ax.set_xlabel("height")
    return ax


def _label(tree: Tree, v: int, items: Sequence[Any] | None) -> str:
    leaf = int(tree.leaf_order[tree.first[v]])
    text = one_line(leaf if items is None else items[leaf], 50)
    size = int(tree.size[v])
    return text if size == 1 else f"{text} … ({size})"
