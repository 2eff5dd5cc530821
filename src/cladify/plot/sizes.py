"""How large and how high the nodes of a tree are: where it splits evenly, and where it peels off outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cladify.plot._figure import COLORS, make_axes
from cladify.tree._either import as_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.tree import Tree

__all__ = ["sizes"]


def sizes(tree: Tree, *, ax: Axes | None = None) -> Axes:
    """Draw the share of leaves in the largest clusters against the number of clusters.

    A line near the top means that the tree peels off outliers and leaves one large rest; a line that falls quickly,
    that it splits evenly.

    Parameters
    ----------
    tree : Tree or ClusterDag
        Of a graph of clusters every cluster is drawn below its best parent.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cladify
    >>> ax = sizes(cladify.Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 5.0, 4]]))
    >>> ax.get_xlabel()
    'clusters'
    """
    tree = as_tree(tree)
    ax = make_axes(ax, (7, 4.5))
    count, largest, median = _curve(tree)
    ax.plot(count, largest, color=COLORS[0], label="largest cluster", drawstyle="steps-post")
    ax.plot(count, median, color=COLORS[1], label="median cluster", drawstyle="steps-post")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("clusters")
    ax.set_ylabel("share of the leaves")
    ax.legend(frameon=False)
    ax.spines[["right", "top"]].set_visible(False)
    return ax


def _curve(tree: Tree, most: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest and median share of the cuts from the top, at numbers of clusters in steps of equal ratio."""
    order = tree.split_order
    if not len(order):
        return np.ones(1), np.ones(1), np.ones(1)
    rank = np.full(tree.n_nodes, tree.n_nodes)
    rank[order] = np.arange(len(order))
    clusters = 1 + np.cumsum(np.diff(tree.child_start)[order - tree.n_leaves] - 1)
    made = np.unique(np.searchsorted(clusters, np.geomspace(1, tree.n_leaves, most), side="right"))
    parent_rank = np.append(rank[tree.parent[:-1]], -1)
    found = []
    for splits in made.tolist():
        size = tree.size[(rank >= splits) & (parent_rank < splits)]
        found.append((len(size), size.max(), np.median(size)))
    count, largest, median = np.array(found, dtype=np.float64).T
    return count, largest / tree.n_leaves, median / tree.n_leaves
