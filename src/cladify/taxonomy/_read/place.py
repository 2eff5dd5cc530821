"""Where new items belong in a finished taxonomy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.data._vectors import check_vectors, is_sparse
from cladify.errors import CladifyError, InvalidInput
from cladify.io import read_vectors
from cladify.neighbors import query
from cladify.taxonomy._items import as_texts
from cladify.taxonomy._read.geometry import groups_by_depth, n_neighbors_for
from cladify.taxonomy._read.levels import labels_of
from cladify.taxonomy._read.nowhere import NOWHERE, calibrate, centre_distance, fit_of, neighbor_distance
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.taxonomy._read.table import chosen_levels, level_columns, path_columns
from cladify.text._embed import TextEmbedder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["new_rows", "place", "read_vectors_at"]

#: Likeness at which a centre counts e times as much as another, in cosine.
_TEMPERATURE = 0.05


def place(now: Snapshot, X: Any, X_new: Any, levels: Any, metric: str) -> pa.Table:
    """A row a new item; see :meth:`cladify.Taxonomy.place`."""
    import pyarrow as pa

    if X is not None:
        lowest, shares, distance = _by_neighbors(now, X, X_new, metric)
    else:
        lowest, shares = _by_centres(now, X_new, metric)
        distance = centre_distance(now.facts.base, now.facts.geometry, X_new, metric)
    far = now.facts.far
    if far is None and isinstance(X, np.ndarray):
        far = calibrate(now.facts.base, X, now.facts.geometry, metric)
    fit = None if far is None else fit_of(far[0 if X is not None else 1], distance)
    tree = now.tree
    columns: dict[str, Any] = {"row": pa.array(np.arange(len(lowest)))}
    for i, level in enumerate(chosen_levels(now, levels), 1):
        of_node = _labels_of_nodes(now, level.nodes)
        labels = of_node[lowest]
        nodes = np.where(labels >= 0, np.array(level.nodes)[labels], lowest)
        confidence = shares[np.arange(len(lowest)), tree.node_depth[nodes]]
        columns |= level_columns(now, i, level, labels, nodes, confidence)
    steps = [
        [float(shares[i, d]) for d in range(1, int(tree.node_depth[v]) + 1)] for i, v in enumerate(lowest.tolist())
    ]
    columns |= path_columns(now, lowest)
    m = len(lowest)
    return pa.table(
        {
            **columns,
            "fit": pa.nulls(m, pa.float64()) if fit is None else pa.array(fit),
            "nowhere": pa.nulls(m, pa.bool_()) if fit is None else pa.array(fit < NOWHERE),
            "path_confidence": pa.array(steps, pa.list_(pa.float32())),
        }
    )


def new_rows(X_new: Any, embedder: TextEmbedder | None, model: str | None = None) -> np.ndarray:
    """Vectors of new items: checked, or made from texts by the embedder, whose model may be opened if it is named."""
    X_new = [X_new] if isinstance(X_new, str) else X_new
    first = X_new[0] if isinstance(X_new, list | tuple) and X_new else None
    is_text = isinstance(first, str) or str(getattr(X_new, "dtype", "")) in ("object", "str", "string")
    if not is_text:
        return check_vectors(X_new, accept_sparse=False)
    if embedder is None:
        raise InvalidInput("this taxonomy was not made from texts by cladify; place takes vectors of new items.")
    if model is not None:
        embedder.open_model(model)
    return embedder.transform(as_texts(X_new))


def read_vectors_at(at: Mapping[str, Any] | None, n_items: int) -> Any:
    """The vectors of the items from the file that holds them; None if they are not there any more."""
    if not at or not Path(str(at.get("path"))).exists():
        return None
    try:
        X = read_vectors(at["path"], column=at.get("column"))
    except CladifyError:
        return None
    return X if X.shape[0] == n_items else None


def _by_neighbors(now: Snapshot, X: Any, X_new: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lowest group of each new row; at each depth its share of what the row's neighbours say for it or another;
    and how far the neighbours are.
    """
    tree = now.tree
    k = n_neighbors_for(now.n_items)
    found = query(X, X_new, k=k, metric=metric)
    if X.shape[1] != X_new.shape[1]:
        raise InvalidInput(f"new items have {X_new.shape[1]} dimensions and the taxonomy's {X.shape[1]}.")
    near = found.indices.astype(np.int64)
    m = len(near)
    shares = np.zeros((m, max(tree.depth, 1)))
    shares[:, 0] = 1.0
    lowest = np.full(m, tree.root)
    same = _is_same(X, X_new, near[:, 0])
    groups = groups_by_depth(tree)
    for d in range(1, tree.depth):
        here = groups[near, d]
        inside = groups[near, d - 1] == lowest[:, None]
        votes = (here[:, :, None] == here[:, None, :]).sum(axis=2)
        candidates = np.where(inside, votes, 0)
        candidates[same, 0] = 2 * k  # what is there already goes to its own place
        best = candidates.argmax(axis=1)
        chosen = here[np.arange(m), best]
        own = votes[np.arange(m), best]
        other = np.where(here == chosen[:, None], 0, votes).max(axis=1)
        lowest = chosen
        shares[:, d] = own / (own + other)
    return lowest, shares, neighbor_distance(found.distance)


def _is_same(X: Any, X_new: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Which new rows equal their nearest old one."""
    old = X[nearest]
    old = old.toarray() if is_sparse(old) else np.asarray(old)
    return (old == X_new).all(axis=1)


def _by_centres(now: Snapshot, X_new: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """From the top down, always to the child with the nearest centre; confidence is its weight among its siblings'."""
    centres = now.facts.geometry.centres
    if centres is None:
        raise InvalidInput("the vectors of this taxonomy are not at hand; say where they are with vectors_at.")
    if centres.shape[1] != X_new.shape[1]:
        raise InvalidInput(f"new items have {X_new.shape[1]} dimensions and the taxonomy's {centres.shape[1]}.")
    tree, n = now.tree, now.n_items
    base_size = now.facts.base.size
    angular = metric in ("cosine", "dot")
    rows = X_new.astype(np.float32)
    if angular:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    m = len(rows)
    shares = np.zeros((m, max(tree.depth, 1)))
    shares[:, 0] = 1.0
    lowest = np.full(m, tree.root)
    for v in range(tree.root, n - 1, -1):  # parents before children
        here = np.flatnonzero(lowest == v)
        children = [int(c) for c in tree.children(v) if c >= n]
        if not len(here) or not children:
            continue
        middle = []
        for child in children:
            nodes = np.array(now.base_nodes(child))
            middle.append(np.average(centres[nodes - n], axis=0, weights=base_size[nodes]))
        targets = np.array(middle, np.float32)
        nearness = rows[here] @ targets.T
        if not angular:
            nearness -= 0.5 * np.einsum("ij,ij->i", targets, targets)
        spread = _TEMPERATURE if angular else max(float(nearness.std()), 1e-12)
        weight = np.exp((nearness - nearness.max(axis=1, keepdims=True)) / spread)
        weight /= weight.sum(axis=1, keepdims=True)
        best = weight.argmax(axis=1)
        depth = int(tree.node_depth[v])
        lowest[here] = np.array(children)[best]
        shares[here, depth + 1] = shares[here, depth] * weight[np.arange(len(here)), best]
    return lowest, shares


def _labels_of_nodes(now: Snapshot, nodes: tuple[int, ...]) -> np.ndarray:
    """Index among ``nodes`` of the one that each group lies in, -1 for none (it lies above)."""
    tree = now.tree
    first = tree.leaf_order[tree.first]
    label = labels_of(tree, nodes)[first]
    size = tree.size[np.array(nodes)][label]
    return np.where(tree.size <= size, label, -1)
