"""Trees from merges, parents and linkage matrices, and back: arrays in, the arrays of a `Tree` out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify import _core
from cladify._kit.params import check_int
from cladify.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    import networkx

    from cladify.tree.tree import Tree

Arrays = tuple[np.ndarray, "np.ndarray | None", "np.ndarray | None"]


def from_merges(left: Any, right: Any, height: Any, n_leaves: int, level: Any) -> Arrays:
    """Parents, heights and levels of the nodes that n - 1 merges make, in SciPy's order where heights allow it."""
    n = check_int("n_leaves", n_leaves, low=1)
    pair = np.empty((n - 1, 2), dtype=np.int64)
    for side, values in enumerate((left, right)):
        pair[:, side] = _column(("left", "right")[side], values, n - 1, integers=True)
    height = _column("height", height, n - 1)
    level = None if level is None else _column("level", level, n - 1, integers=True)
    _check_merges(pair, n)

    inner = pair >= n
    below = np.where(inner, height[np.where(inner, pair - n, 0)], -np.inf)
    if (below <= height[:, None]).all():
        order = np.argsort(height, kind="stable")
        now = np.arange(2 * n - 1)
        now[n + order] = np.arange(n, 2 * n - 1)
        pair, height = now[pair[order]], height[order]
        level = None if level is None else level[order]
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    parent[pair] = np.arange(n, 2 * n - 1)[:, None]
    zeros = np.zeros(n)
    return (
        parent,
        np.concatenate([zeros, height]),
        None if level is None else np.concatenate([zeros.astype(int), level]),
    )


def _column(name: str, values: Any, length: int, *, integers: bool = False) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != (length,):
        raise InvalidInput(f"{name} must have shape ({length},), one entry a merge, got {array.shape}.")
    if array.dtype.kind not in ("iu" if integers else "iuf") and array.size:
        raise InvalidInput(f"{name} must hold {'integers' if integers else 'numbers'}, got dtype {array.dtype}.")
    return array.astype(np.int64 if integers else np.float64, copy=False)


def _check_merges(pair: np.ndarray, n: int) -> None:
    late = (pair < 0) | (pair >= n + np.arange(n - 1)[:, None])
    if late.any():
        row = int(np.flatnonzero(late.any(axis=1))[0])
        raise InvalidInput(
            f"Merge {row} uses node {pair[row][late[row]][0]}; it may use leaves 0 .. {n - 1} and the nodes "
            f"that earlier merges made (below {n + row})."
        )
    used = np.bincount(pair.reshape(-1), minlength=2 * n - 1)
    if used.size and used.max() > 1:
        raise InvalidInput(
            f"Node {int(used.argmax())} is merged {used.max()} times; each node but the root is merged once."
        )


def from_parents(parent: Any, n_leaves: int, height: Any, level: Any) -> Arrays:
    """Parents, heights and levels in canonical order, from any numbering of the inner nodes."""
    parent = np.asarray(parent)
    if parent.ndim != 1 or parent.dtype.kind not in "iu":
        raise InvalidInput(
            f"parent must be a one-dimensional array of integers, got dtype {parent.dtype} and shape {parent.shape}."
        )
    parent = np.require(parent, np.int64, ["C", "A"])
    n = check_int("n_leaves", n_leaves, low=1, high=len(parent), why=f"for {len(parent)} nodes")
    ordered, source, fault, node = _core.tree_order(parent, n)
    if fault:
        raise InvalidInput(_fault(fault, node, int(parent[node]), n, len(parent)))
    heights = None
    if height is not None:
        heights = _node_values("height", height, len(parent))[source]
        heights[:n] = 0
    levels = None
    if level is not None:
        levels = _node_values("level", level, len(parent), integers=True)[source]
        levels[:n] = 0
    key = np.asarray(_core.tree_levels_up(ordered), dtype=np.float64) if heights is None else heights
    ordered, again = _core.tree_canonical(ordered, key, n)
    return ordered, None if heights is None else heights[again], None if levels is None else levels[again]


def _node_values(name: str, values: Any, length: int, *, integers: bool = False) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != (length,) or array.dtype.kind not in ("iu" if integers else "iuf"):
        kind = "integer" if integers else "number"
        raise InvalidInput(
            f"{name} must have one {kind} a node, shape ({length},), got dtype {array.dtype}, shape {array.shape}."
        )
    return array.astype(np.int64 if integers else np.float64)


def _fault(fault: str, node: int, parent: int, n: int, m: int) -> str:
    return {
        "range": f"parent[{node}] is {parent}; parents are in [0, {m - 1}], and -1 at the root.",
        "leaf_parent": f"parent[{node}] is {parent}, which is a leaf: nodes below n_leaves={n} have no children.",
        "forest": f"Node {node} is a second root: a tree has one node with parent -1. Join the roots under a new node.",
        "cycle": f"Node {node} lies on or above a cycle of parents; following parents must end at the root.",
    }[fault]


def from_linkage(Z: Any) -> Arrays:
    """Parents, heights and, where it is not that of the ids, leaf order of a SciPy linkage; row i is node n + i."""
    Z = np.asarray(Z)
    if Z.size == 0:
        Z = Z.reshape(0, 4).astype(np.float64)
    if Z.ndim != 2 or Z.shape[1] not in (3, 4) or Z.dtype.kind not in "iuf":
        raise InvalidInput(
            f"A linkage matrix has shape (n - 1, 4), got dtype {Z.dtype} and shape {Z.shape}. "
            "scipy.cluster.hierarchy.linkage makes one."
        )
    if not np.isfinite(Z).all():
        row = int(np.flatnonzero(~np.isfinite(Z).all(axis=1))[0])
        raise InvalidInput(f"Row {row} of the linkage matrix has NaN or inf.")
    n = len(Z) + 1
    pair = Z[:, :2].astype(np.int64)
    if (pair != Z[:, :2]).any():
        row = int(np.flatnonzero((pair != Z[:, :2]).any(axis=1))[0])
        raise InvalidInput(
            f"Row {row} of the linkage matrix joins {Z[row, 0]} and {Z[row, 1]}; node ids are whole numbers."
        )
    _check_merges(pair, n)
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    parent[pair] = np.arange(n, 2 * n - 1)[:, None]
    height = np.zeros(2 * n - 1)
    height[n:] = Z[:, 2]
    order = None
    if (pair[:, 0] > pair[:, 1]).any():
        order = _core.tree_pair_order(np.ascontiguousarray(pair).reshape(-1), _core.tree_sizes(parent, n), n)
    return parent, height, order


def to_linkage(tree: Tree) -> np.ndarray:
    """SciPy's matrix of a binary tree."""
    n = tree.n_leaves
    if not tree.is_binary:
        wide = n + int(np.argmax(np.diff(tree.child_start) > 2))
        raise InvalidInput(
            f"A linkage matrix holds binary trees, and node {wide} has {len(tree.children(wide))} children; "
            "use tree.binarize(random_state=0).to_linkage()."
        )
    if (tree.height < 0).any():
        v = int(np.argmax(tree.height < 0))
        raise InvalidInput(
            f"A linkage matrix has no negative heights, and height[{v}] is {tree.height[v]}; shift them first."
        )
    Z = np.empty((n - 1, 4))
    Z[:, :2] = tree.child_ids.reshape(-1, 2)
    Z[:, 2] = tree.height[n:]
    Z[:, 3] = tree.size[n:]
    return Z


def to_networkx(tree: Tree) -> networkx.DiGraph:
    """The tree as a directed graph from parents to children."""
    try:
        import networkx
    except ImportError:
        raise MissingExtra("Tree.to_networkx", "test") from None
    graph = networkx.DiGraph()
    # The dicts that add_nodes_from and add_edges_from would fill one call at a time, three times as fast.
    m = tree.n_nodes
    with _collector_paused():
        parent = tree.parent[:-1].tolist()
        heights, sizes = tree.height.tolist(), tree.size.tolist()
        graph._node.update(enumerate([{"height": h, "size": s} for h, s in zip(heights, sizes, strict=True)]))
        edges: list[dict[str, Any]] = [{} for _ in parent]
        below: list[dict[int, Any]] = [{} for _ in range(m)]
        for v, (p, edge) in enumerate(zip(parent, edges, strict=True)):
            below[p][v] = edge
        graph._succ.update(enumerate(below))
        graph._pred.update(enumerate([{p: edge} for p, edge in zip(parent, edges, strict=True)]))
        graph._pred[m - 1] = {}
    return graph


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Millions of small dicts and not one cycle: the collector would look at all of them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
