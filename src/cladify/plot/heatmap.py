"""A matrix with the trees of its rows and of its columns beside it, both in an order that brings like to like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.plot._figure import item_text, plain
from cladify.plot._outline import tree_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cladify.tree import Tree

__all__ = ["clustermap"]

MOST_CELLS = 1000  # rows and columns of the picture; more are averaged, neighbours in the order together


def clustermap(
    X: Any,
    rows: Tree | None = None,
    columns: Tree | None = None,
    *,
    items: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    cmap: str = "viridis",
    figure: Any = None,
) -> dict[str, Axes]:
    """Draw a matrix as a heat map with the trees of its rows and columns.

    Leaves are in the order of :meth:`cladify.Tree.order_leaves`. A matrix of more than a thousand rows or columns is
    shown by the averages of neighbours, so that any size gives a picture.

    Parameters
    ----------
    X : array of shape (n, d)
    rows, columns : Tree, optional
        Trees over the n rows and the d columns; by default average linkage of both, the columns' by correlation.
    items, features : sequences of n and of d strings, optional
        Names; shown where there is room.
    cmap : str
        A colour map of matplotlib.
    figure : matplotlib Figure, optional

    Returns
    -------
    dict of matplotlib Axes
        ``"heat"``, ``"rows"``, ``"columns"`` and ``"scale"``.

    Examples
    --------
    >>> import numpy as np
    >>> axes = clustermap(np.array([[0.0, 1.0, 5.0], [0.1, 1.1, 5.0], [9.0, 0.0, 2.0]]))
    >>> sorted(axes)
    ['columns', 'heat', 'rows', 'scale']
    """
    from matplotlib import pyplot

    import cladify
    from cladify.data._vectors import check_vectors

    X = check_vectors(X, accept_sparse=False)
    n, d = X.shape
    rows = cladify.fit(X, "hac") if rows is None else rows
    columns = cladify.fit(np.ascontiguousarray(X.T), "hac") if columns is None else columns
    for what, tree, count in (("rows", rows, n), ("columns", columns, d)):
        if tree.n_leaves != count:
            raise InvalidInput(f"The tree of the {what} has {tree.n_leaves} leaves, and X has {count} {what}.")
    rows, columns = rows.order_leaves(X), columns.order_leaves(np.ascontiguousarray(X.T))
    figure = figure or pyplot.figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplot_mosaic(
        [[".", "columns", "."], ["rows", "heat", "scale"]], width_ratios=[1, 5, 0.15], height_ratios=[1, 5]
    )
    shown = _averaged(_averaged(X[rows.leaf_order], 0)[:, columns.leaf_order], 1)
    picture = axes["heat"].imshow(shown, aspect="auto", cmap=cmap, interpolation="nearest", extent=(0, d, n, 0))
    figure.colorbar(picture, cax=axes["scale"])
    tree_lines(axes["rows"], rows, upright=False)
    tree_lines(axes["columns"], columns, upright=True)
    axes["rows"].set_ylim(n, 0)
    axes["columns"].set_xlim(0, d)
    _name(axes["heat"].yaxis, rows, items, 60)
    axes["heat"].yaxis.tick_right()
    _name(axes["heat"].xaxis, columns, features, 60)
    axes["heat"].tick_params(axis="x", rotation=90)
    return axes


def _averaged(values: np.ndarray, axis: int) -> np.ndarray:
    """Averages of neighbouring rows (or columns), so that there are at most a thousand."""
    n = values.shape[axis]
    if n <= MOST_CELLS:
        return values
    edges = np.linspace(0, n, MOST_CELLS + 1).astype(np.int64)
    sums = np.add.reduceat(values, edges[:-1], axis=axis, dtype=np.float64)
    shape = [-1, 1] if axis == 0 else [1, -1]
    return sums / np.diff(edges).reshape(shape)


def _name(axis: Any, tree: Tree, items: Sequence[Any] | None, most: int) -> None:
    n = tree.n_leaves
    if items is not None and len(items) != n:
        raise InvalidInput(f"There are {len(items)} names for {n} leaves; give one a leaf.")
    if items is None or n > most:
        axis.set_ticks([])
        return
    axis.set_ticks(np.arange(n) + 0.5, [item_text(items, int(leaf), 30) for leaf in tree.leaf_order], fontsize=8)
    plain(*axis.get_ticklabels())
