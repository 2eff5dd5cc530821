"""The Poincaré disk: an embedding of leaves with its tree, and how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_int
from cladify.errors import InvalidInput
from cladify.plot._figure import make_axes
from cladify.tree._either import as_tree

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from cladify.tree import Tree

__all__ = ["animate_disk", "disk"]

_LINE = "#9a9a9a"
_SIZE = (6, 6)  # inches
_MOST_NODES = 3000  # drawn with their branches; below, a million lines are a black ring


def disk(
    tree: Tree,
    embedding: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    n_branches: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """Draw leaves in the Poincaré disk, with the branches of the tree that they decode to.

    A node lies on the way to the middle of its leaves, as far out as its height says: the root at the centre, leaves at
    their places. Branches are hyperbolic straight lines.

    Parameters
    ----------
    tree : Tree or ClusterDag
        Of a graph of clusters every cluster is drawn below its best parent.
    embedding : array of shape (n, 2), optional
        Places of the leaves, as :attr:`cladify.HypHC.embedding_` has them. By default those of
        :func:`cladify.hyperbolic.embed_tree`, so that any tree can be drawn.
    labels : sequence of n classes, optional
        Colours of the leaves.
    n_branches : int
        Nodes whose branches are drawn, from the root down.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import cladify
    >>> ax = disk(cladify.Tree([4, 4, 5, 5, 6, 6, -1]), labels=["cat", "dog", "cat", "dog"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['cat', 'dog']
    """
    from cladify.hyperbolic import embed_tree
    from cladify.hyperbolic.geometry import check_disk

    tree = as_tree(tree)
    n = tree.n_leaves
    count = min(check_int("n_branches", n_branches, low=0), _MOST_NODES)
    Z = embed_tree(tree) if embedding is None else check_disk(embedding, name="embedding").astype(np.float64)
    if len(Z) != n:
        raise InvalidInput(f"embedding must have one row a leaf ({n}), got {len(Z)}.")
    if labels is not None and len(labels) != n:
        raise InvalidInput(f"labels must have one entry a leaf ({n}), got {len(labels)}.")
    ax = make_axes(ax, _SIZE)
    _frame(ax)
    place = node_places(tree, Z)
    lines = [
        _geodesic(place[child], place[v])
        for v in range(tree.root, max(tree.root - count, n - 1), -1)
        for child in tree.children(v)
    ]
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(lines, colors=_LINE, linewidths=0.6))
    _leaves(ax, Z, labels)
    return ax


def animate_disk(
    snapshots: Sequence[tuple[int, np.ndarray]], *, labels: Sequence[Any] | None = None, interval: int = 100
) -> FuncAnimation:
    """How an embedding came about, as a matplotlib animation.

    Parameters
    ----------
    snapshots : list of (step, embedding)
        :attr:`cladify.HypHC.snapshots_` of a model with ``n_snapshots`` above 0.
    labels : sequence of n classes, optional
    interval : int
        Milliseconds a frame.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        ``.save("zoo.gif", writer="pillow")`` writes it.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> X = np.eye(4) + 0.1
    >>> model = cladify.HypHC(n_steps=10, n_snapshots=3, random_state=0).fit(X)
    >>> film = animate_disk(model.snapshots_)
    >>> film._draw_was_started = True          # not shown here
    """
    if len(snapshots) == 0:
        raise InvalidInput("There are no snapshots; fit the model with n_snapshots above 0.")
    ax = make_axes(None, _SIZE)
    from matplotlib.animation import FuncAnimation

    from cladify.hyperbolic import decode

    def draw(frame: int) -> list[Any]:
        ax.clear()
        step, Z = snapshots[frame]
        disk(decode(Z, method="greedy"), Z, labels=labels, n_branches=200, ax=ax)
        ax.set_title(f"step {step}")
        return [ax]

    return FuncAnimation(ax.figure, draw, frames=len(snapshots), interval=interval)  # type: ignore[arg-type]


def _frame(ax: Axes) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.plot(np.cos(angle), np.sin(angle), color="#d0d0d0", linewidth=0.8)
    ax.set_aspect("equal")
    ax.set_xlim(-1.05, 1.05)
    ax.set_ylim(-1.05, 1.05)
    ax.axis("off")


def _leaves(ax: Axes, Z: np.ndarray, labels: Sequence[Any] | None) -> None:
    size = float(np.clip(3000.0 / len(Z), 2.0, 30.0))
    if labels is None:
        ax.scatter(Z[:, 0], Z[:, 1], s=size, color="#4477aa", linewidths=0, zorder=2)
        return
    classes, code = np.unique(np.asarray(labels), return_inverse=True)
    for c, name in enumerate(classes):
        part = Z[code.reshape(-1) == c]
        ax.scatter(part[:, 0], part[:, 1], s=size, color=f"C{c % 10}", linewidths=0, zorder=2, label=str(name))
    if len(classes) <= 12:
        ax.legend(loc="upper left", bbox_to_anchor=(0.95, 1.0), frameon=False, fontsize=8)


def node_places(tree: Tree, Z: np.ndarray) -> np.ndarray:
    """Places of all nodes: leaves at Z, inner ones towards the mean direction of their leaves."""
    from cladify import _core

    n = tree.n_leaves
    direction = np.stack([_core.node_sums(tree.parent, np.ascontiguousarray(Z[:, c])) for c in range(2)], axis=1)
    length = np.maximum(np.hypot(direction[:, 0], direction[:, 1]), 1e-12)
    top = max(float(tree.height[tree.root]), 1e-12)
    depth = 2.0 * np.arctanh(min(float(np.hypot(Z[:, 0], Z[:, 1]).max()), 1.0 - 1e-12))
    radius = np.tanh(0.5 * depth * (1.0 - np.clip(tree.height / top, 0.0, 1.0)))
    place = direction / length[:, None] * radius[:, None]
    place[:n] = Z
    place[tree.root] = 0.0
    return place


def _geodesic(x: np.ndarray, y: np.ndarray, steps: int = 12) -> np.ndarray:
    """Points on the hyperbolic straight line from x to y: a chord of the Klein model, bent back."""
    a, b = (2.0 * p / (1.0 + p @ p) for p in (x, y))
    t = np.linspace(0.0, 1.0, steps)[:, None]
    chord = (1.0 - t) * a + t * b
    return chord / (1.0 + np.sqrt(np.maximum(1.0 - np.square(chord).sum(axis=1, keepdims=True), 0.0)))
