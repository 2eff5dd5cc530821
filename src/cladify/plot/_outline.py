"""The lines of a dendrogram over equally spaced leaves: all of a small tree, the visible part of a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.tree import Tree

__all__ = ["tree_lines"]


def tree_lines(ax: Axes, tree: Tree, *, upright: bool) -> None:
    """Draw the tree into axes whose long side counts the leaves, in the tree's own order.

    A node with fewer than a thousandth of the leaves could not be told from its neighbours and is left out.
    """
    from matplotlib.collections import LineCollection

    n = tree.n_leaves
    middle = (tree.first + tree.last) / 2.0  # where each node stands on the line of leaves
    inner = np.arange(n, tree.n_nodes)
    inner = inner[tree.size[inner] * 1000 >= n]
    lines = []
    for v in inner.tolist():
        kids = tree.children(v)
        at, top = middle[kids], float(tree.height[v])
        lines.append([(at.min(), top), (at.max(), top)])
        lines.extend([(x, float(tree.height[kid])), (x, top)] for x, kid in zip(at, kids.tolist(), strict=True))
    if not upright:
        lines = [[(height, place) for place, height in line] for line in lines]
    ax.add_collection(LineCollection(lines, colors="#55606d", linewidths=0.8))
    top = max(float(tree.height.max()), 1e-300) * 1.02
    if upright:
        ax.set_ylim(0, top)
    else:
        ax.set_xlim(top, 0)
    ax.set_axis_off()
