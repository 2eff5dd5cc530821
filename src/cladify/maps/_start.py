"""Where the points of a map start: small groups of them first, placed by their means or by paths of the graph.

The order of distances across a whole map is decided at its start, because forces between neighbours are local. So up to
a thousand cells are placed by the two main axes of their means, or, where only a graph is known, of the lengths of the
shortest paths between them (Isomap on landmarks), and moved by the same forces. Then each point starts near its cell.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from cladify._kit.parallel import one_blas_thread
from cladify.data._vectors import is_sparse
from cladify.data.points import Points
from cladify.errors import CladifyWarning
from cladify.tree import Tree

__all__ = ["cells_of_graph", "cells_of_tree", "known_start", "means_start", "merged", "paths_start", "scaled"]


def cells_of_tree(tree: Tree, count: int) -> np.ndarray:
    """The cell of each point: clusters of a cut into at most ``count``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)  # a tree with wide nodes has a few cells less
        labels: np.ndarray = tree.cut(n_clusters=count, by="spread")
    return labels


def cells_of_graph(graph: csr_array, count: int, random: np.random.Generator) -> np.ndarray:
    """The cell of each point: those of ``count`` random points grow along the strongest edges until they meet."""
    n = graph.shape[0]
    label = np.full(n, -1, dtype=np.int64)
    label[random.permutation(n)[:count]] = np.arange(count)
    owner = np.repeat(np.arange(n), np.diff(graph.indptr))
    order = np.lexsort((graph.data, owner))  # the strongest edge of a row is its last
    row, end = owner[order], graph.indices[order]
    while True:
        open_edges = (label[row] < 0) & (label[end] >= 0)
        if not open_edges.any():
            break
        new = label.copy()
        new[row[open_edges]] = label[end[open_edges]]
        label = new
    alone = np.flatnonzero(label < 0)  # components without a seed: what is left of all of them is one cell
    label[alone] = count
    return np.unique(label, return_inverse=True)[1]


def merged(graph: csr_array, cell: np.ndarray) -> csr_array:
    """The graph between cells. Weights are relative to those of both ends, so that large cells pull no harder."""
    n, count = len(cell), int(cell.max()) + 1
    member = csr_array((np.ones(n, dtype=np.float32), cell, np.arange(n + 1)), shape=(n, count))
    between = (member.T @ graph @ member).tocoo()
    other = between.row != between.col
    between = csr_array((between.data[other], (between.row[other], between.col[other])), shape=(count, count))
    total = np.maximum(between.sum(axis=1), np.finfo(np.float32).tiny)
    row = np.repeat(np.arange(count), np.diff(between.indptr))
    between.data = (between.data / np.sqrt(total[row]) / np.sqrt(total[between.indices])).astype(np.float32)
    return between


def means_start(points: Points, cell: np.ndarray) -> np.ndarray:
    """Cells on the two main axes of the means of their rows."""
    X, count = points.rows, int(cell.max()) + 1
    n = X.shape[0]
    share = 1.0 / np.bincount(cell, minlength=count)[cell]
    if points.similarity.order == "angle":
        length = np.sqrt(X.multiply(X).sum(axis=1)) if is_sparse(X) else np.sqrt(np.einsum("ij,ij->i", X, X))
        share = share / np.maximum(np.asarray(length).ravel(), np.finfo(np.float32).tiny)
    with one_blas_thread():
        mean = csr_array((share, cell, np.arange(n + 1)), shape=(n, count)).T.tocsr() @ X  # rows of X a cell at a time
        product = mean @ mean.T
        return _main_axes(product.toarray() if is_sparse(product) else product)


def paths_start(graph: csr_array) -> np.ndarray:
    """Cells on the two main axes of the lengths of shortest paths; components lie beyond the longest path."""
    if graph.nnz == 0:
        angle = 2 * np.pi * np.arange(graph.shape[0]) / graph.shape[0]
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    length = csr_array((1.0 - np.log(np.clip(graph.data, 1e-6, 1.0)), graph.indices, graph.indptr), shape=graph.shape)
    path = shortest_path(length, directed=False)
    path[np.isinf(path)] = 1.5 * path[np.isfinite(path)].max()
    with one_blas_thread():
        return _main_axes(-0.5 * path**2)


def _main_axes(product: np.ndarray) -> np.ndarray:
    """Coordinates on the first two axes of a matrix of inner products, up to a shift of the origin."""
    n = len(product)
    product = product - product.mean(axis=0) - product.mean(axis=1)[:, None] + product.mean()
    if n < 3:
        return np.stack([np.arange(n) - 0.5 * (n - 1), np.zeros(n)], axis=1)
    value, vector = eigh(product.astype(np.float64), subset_by_index=(n - 2, n - 1))
    axes: np.ndarray = (vector * np.sqrt(np.maximum(value, 0.0)))[:, ::-1]
    sign = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # eigenvectors have no sign of their own
    return axes * np.where(sign == 0, 1.0, sign)


def known_start(graph: csr_array, init: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """``init`` with its NaN rows at the weighted means of the neighbours that are known, those of theirs, and so on."""
    start = init.astype(np.float64)
    known: np.ndarray = np.asarray(np.isfinite(start).all(axis=1))
    open_rows = ~known
    width = float(np.ptp(start[known], axis=0).max()) if known.any() else 1.0
    while not known.all():
        weight = graph @ known.astype(np.float64)
        found = np.flatnonzero(~known & (weight > 0))
        if len(found) == 0:
            break
        value = np.where(known[:, None], start, 0.0)
        start[found] = (graph[found] @ value) / weight[found, None]
        known[found] = True
    start[~known] = start[known].mean(axis=0) if known.any() else 0.0
    start[open_rows] += 1e-3 * max(width, 1e-6) * random.standard_normal((int(open_rows.sum()), 2))
    return start


def scaled(start: Any, spread: float) -> np.ndarray:
    """Coordinates around 0 with this root mean square distance to it."""
    centred = start - start.mean(axis=0)
    now = float(np.sqrt((centred**2).sum(axis=1).mean()))
    result: np.ndarray = centred * (spread / now if now > 0 else 1.0)
    return result
