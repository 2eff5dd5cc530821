"""From rows to the tree of a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import InvalidInput, InvalidType
from cladify.taxonomy._geometry import n_neighbors_for
from cladify.tree import Tree

__all__ = ["as_rows", "build", "level_sizes"]


def build(X: Any, method: str, metric: str, report: Progress, options: dict[str, Any]) -> tuple[Tree, Any]:
    """The tree, and the graph of neighbours that says how firmly items sit in it."""
    import cladify
    from cladify.neighbors import NeighborGraph, neighbors

    is_graph = isinstance(X, NeighborGraph)
    if method in ("auto", "graph"):
        model = cladify.GraphTree(metric=metric, **options).fit(X, progress=report)
        return model.tree_, model.graph_
    on_rows = {} if is_graph else {"metric": metric}
    full = cladify.fit(X, method, progress=report, **on_rows, **options)
    if is_graph or X.shape[0] == 1:
        return full, X if is_graph else None
    k = n_neighbors_for(X.shape[0])
    seed, n_jobs = options["random_state"], options["n_jobs"]
    return full, neighbors(X, k, metric, random_state=seed, n_jobs=n_jobs, progress=report)


def as_rows(X: Any) -> Any:
    """Rows as methods take them; a frame becomes its values."""
    from cladify.data._vectors import is_sparse
    from cladify.neighbors import NeighborGraph

    if isinstance(X, NeighborGraph) or is_sparse(X):
        return X
    if isinstance(X, Sequence) and X and isinstance(X[0], str):
        raise InvalidType("X holds texts, not vectors; use Taxonomy.from_texts(texts).")
    X = np.asarray(X)
    if X.ndim != 2:
        raise InvalidInput(f"X must have two dimensions, one row an item, got shape {X.shape}.")
    return X


def level_sizes(full: Tree) -> list[tuple[int, float | None]]:
    """Suggested numbers of clusters, with their stability."""
    return [(int(level.n_clusters), float(level.stability)) for level in full.levels()]
