"""Geometry of a taxonomy: centres of its nodes, central and boundary items, and the confidence of each membership.

It is computed once, when a taxonomy is built, and kept in arrays that are small beside the vectors, so that a taxonomy
from a file does not need them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.graphtree import confidence
from cladify.tree import Tree

__all__ = [
    "N_EXAMPLES",
    "Geometry",
    "confidence_table",
    "groups_by_depth",
    "measure",
    "n_neighbors_for",
    "spread_examples",
]

#: Central and boundary items kept for each node.
N_EXAMPLES = 10
#: Neighbours that say where a new item belongs, at most.
_N_NEIGHBORS = 15
#: Rows handled at once.
_BLOCK = 8192


@dataclass(frozen=True)
class Geometry:
    """Per inner node: its centre, and rows of its most central and its boundary items (-1: no more)."""

    centres: np.ndarray | None  # float32 (m - n, d)
    central: np.ndarray  # int64 (m - n, N_EXAMPLES)
    boundary: np.ndarray  # int64 (m - n, N_EXAMPLES)
    cohesion: np.ndarray | None = None  # float32 (m - n,), the share of the spread of all items that is not within it


def measure(tree: Tree, X: np.ndarray, angular: bool, report: Progress | None = None) -> Geometry:
    """Centres and examples of the inner nodes of ``tree`` over the rows of ``X``.

    A central item is near the centre of its node; a boundary item is nearly as near to the centre of a sibling.

    Parameters
    ----------
    tree : Tree
    X : float array of shape (n, d)
    angular : bool
        Compare directions (cosine) instead of positions.
    """
    n = tree.n_leaves
    n_inner = tree.n_nodes - n
    order = tree.leaf_order
    scale = _lengths(X) if angular else None
    centres, cohesion = _centres(tree, X, scale)
    central, boundary = (np.full((n_inner, N_EXAMPLES), -1, np.int64) for _ in range(2))
    with (report or Progress()).stage("examples", n_inner) as advance:
        for v in range(n, tree.n_nodes):
            parent = tree.parent[v]
            siblings = tree.children(parent) if parent >= 0 else np.empty(0, np.int64)
            siblings = siblings[(siblings >= n) & (siblings != v)]
            rows = order[tree.first[v] : tree.last[v]]
            near, margin = _nearness(X, scale, rows, centres[v - n], centres[siblings - n])
            central[v - n, : min(N_EXAMPLES, len(rows))] = _smallest(rows, -near)
            if len(siblings):
                boundary[v - n, : min(N_EXAMPLES, len(rows))] = _smallest(rows, margin)
            advance()
    return Geometry(centres, central, boundary, cohesion)


def _lengths(X: np.ndarray) -> np.ndarray:
    """1 over the length of each row; 0 for a row of zeros, which has no direction."""
    lengths = np.concatenate(
        [np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64)) for block in _blocks(X)] or [np.empty(0)]
    )
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _blocks(X: np.ndarray) -> Any:
    return (np.asarray(X[i : i + _BLOCK], dtype=np.float32) for i in range(0, len(X), _BLOCK))


def _centres(tree: Tree, X: np.ndarray, scale: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the rows below each inner node, and its cohesion; sums go up the tree, every row is added once.

    The cohesion of a node is 1 - (mean squared distance of its rows to their mean) / (the same of all rows).
    """
    n, m = tree.n_leaves, tree.n_nodes
    sums = np.zeros((m - n, X.shape[1]))
    squares = np.zeros(m - n)
    # The lowest nodes take their own rows, in blocks of leaves that lie together; then children go to parents.
    order = np.argsort(tree.parent[:n], kind="stable")
    for start in range(0, n, _BLOCK):
        rows = order[start : start + _BLOCK]
        block = np.asarray(X[rows], dtype=np.float64)
        if scale is not None:
            block *= scale[rows, None]
        parents = tree.parent[rows]
        if n == 1:
            break
        first = np.flatnonzero(np.append(True, parents[1:] != parents[:-1]))
        sums[parents[first] - n] += np.add.reduceat(block, first, axis=0)
        squares[parents[first] - n] += np.add.reduceat(np.einsum("ij,ij->i", block, block), first)
    for v in range(n, m - 1):
        sums[tree.parent[v] - n] += sums[v - n]
        squares[tree.parent[v] - n] += squares[v - n]
    centres = sums / tree.size[n:, None]
    spread = np.maximum(squares / tree.size[n:] - np.einsum("ij,ij->i", centres, centres), 0.0)
    cohesion = np.clip(1.0 - spread / max(spread[-1] if m > n else 0.0, 1e-300), -1.0, 1.0)
    if scale is not None:
        length = np.linalg.norm(centres, axis=1, keepdims=True)
        centres = np.divide(centres, length, out=np.zeros_like(centres), where=length > 0)
    return centres.astype(np.float32), cohesion.astype(np.float32)


def _nearness(
    X: np.ndarray, scale: np.ndarray | None, rows: np.ndarray, own: np.ndarray, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How near rows are to a centre, and how much nearer than to the nearest of the others."""
    targets = np.concatenate([own[None], others])
    near, margin = np.empty(len(rows)), np.empty(len(rows))
    for i in range(0, len(rows), _BLOCK):
        part = rows[i : i + _BLOCK]
        block = np.asarray(X[part], dtype=np.float32)
        values = block @ targets.T
        if scale is not None:
            values *= scale[part, None].astype(np.float32)
        else:  # minus half the squared distance, up to what is the same for all centres
            values -= 0.5 * np.einsum("ij,ij->i", targets, targets)
        lead = values[:, 0]
        margin[i : i + _BLOCK] = lead - values[:, 1:].max(axis=1) if len(others) else lead
        if scale is None:
            lead = lead - 0.5 * np.einsum("ij,ij->i", block, block)
        near[i : i + _BLOCK] = lead
    return near, margin


def _smallest(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The rows with the smallest values, the smallest first; ties by row."""
    k = min(N_EXAMPLES, len(rows))
    if len(rows) > 4 * k:
        close = np.argpartition(values, 2 * k)[: 2 * k + 1]
        rows, values = rows[close], values[close]
    return rows[np.lexsort((rows, values))[:k]]


def spread_examples(tree: Tree) -> Geometry:
    """Examples where there are no vectors: items spread evenly over the node, and none at a boundary."""
    n = tree.n_leaves
    n_inner = tree.n_nodes - n
    central = np.full((n_inner, N_EXAMPLES), -1, np.int64)
    for v in range(n, tree.n_nodes):
        size = int(tree.size[v])
        k = min(N_EXAMPLES, size)
        central[v - n, :k] = tree.leaf_order[tree.first[v] + (2 * np.arange(k) + 1) * size // (2 * k)]
    return Geometry(None, central, np.full((n_inner, N_EXAMPLES), -1, np.int64))


def n_neighbors_for(n: int) -> int:
    """How many neighbours say where a new item belongs: no more than the smallest group has items."""
    return max(1, min(_N_NEIGHBORS, round(n**0.5 / 3)))


def groups_by_depth(tree: Tree) -> np.ndarray:
    """Group of each depth above each leaf, int64 (n, depth); its lowest group below that."""
    n = tree.n_leaves
    table = np.full((n, max(tree.depth, 1)), -1, np.int64)
    node = tree.parent[:n].copy() if n > 1 else np.zeros(1, np.int64)
    lowest = node.copy()
    while (node >= 0).any():
        rows = np.flatnonzero(node >= 0)
        table[rows, tree.node_depth[node[rows]]] = node[rows]
        node[rows] = tree.parent[node[rows]]
    return np.where(table >= 0, table, lowest[:, None])


def confidence_table(tree: Tree, graph: Any, n_jobs: int | None = -1) -> np.ndarray:
    """How firmly each leaf sits in each node above it, beside the other nodes of that depth.

    Parameters
    ----------
    tree : Tree
    graph : NeighborGraph over the leaves

    Returns
    -------
    uint8 array of shape (n, depth)
        Entry (i, d) is :func:`cladify.graphtree.confidence`, in 255ths, for the node of depth d above leaf i (0 is the
        root, where it is 255).
    """
    n, depth = tree.n_leaves, max(tree.depth, 1)
    if graph.n_points != n:
        raise InvalidInput(f"the graph has {graph.n_points} points and the tree {n} leaves.")
    table = np.full((n, depth), 255, np.uint8)
    groups = groups_by_depth(tree)
    for d in range(1, depth):
        table[:, d] = np.round(255 * confidence(graph, groups[:, d], n_jobs=n_jobs))
    return table
