"""From rows to the tree of a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cladify._fit import fit_model
from cladify._kit.progress import Progress
from cladify.data._vectors import is_sparse
from cladify.errors import InvalidInput, InvalidType
from cladify.graphtree import Guide
from cladify.maps import layout
from cladify.maps._gaps import with_narrow_gaps
from cladify.neighbors import NeighborGraph, neighbors
from cladify.taxonomy._read.geometry import n_neighbors_for
from cladify.taxonomy._steer.reading import levels_of, stability_at
from cladify.tree import Tree

__all__ = ["as_rows", "build", "level_sizes", "map_of", "rank_sizes"]

_MAP_NEIGHBORS = 15


def build(
    X: Any, method: str, metric: str, report: Progress, options: dict[str, Any], guide: Guide | None = None
) -> tuple[Tree, Any]:
    """The tree that :func:`cladify.fit` makes, and the graph of neighbours for confidences; None for one row."""
    is_graph = isinstance(X, NeighborGraph)
    if guide is not None:
        if method not in ("auto", "graph"):
            raise InvalidInput(f"seeds, labels and links guide the graph of neighbours; method {method!r} has none.")
        method, options = "graph", {**options, "guide": guide}
    params = options if is_graph and method not in ("auto", "graph") else {"metric": metric, **options}
    progress: Any = report
    full, model = fit_model(X, method, progress=progress, **params)
    if not isinstance(full, Tree):
        raise InvalidInput(f"method {method!r} gives overlapping clusters; a taxonomy needs a tree.")
    graph = X if is_graph else getattr(model, "graph_", None)
    if graph is not None or X.shape[0] == 1:
        return full, graph
    k = n_neighbors_for(X.shape[0])
    seed, n_jobs = options["random_state"], options["n_jobs"]
    return full, neighbors(X, k, metric, random_state=seed, n_jobs=n_jobs, progress=report)


def as_rows(X: Any) -> Any:
    """Rows as methods take them; a frame becomes its values."""
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


def rank_sizes(tree: Tree, ranks: np.ndarray, full: Tree) -> list[tuple[int, float | None]]:
    """The numbers of clusters of the levels that a tree for reading has, and the stability of such cuts."""
    counts = [len(nodes) for nodes in levels_of(tree, ranks)]
    return list(zip(counts, stability_at(full, counts), strict=True))


def map_of(X: Any, full: Tree, graph: NeighborGraph, metric: str, n_jobs: int | None, report: Progress) -> np.ndarray:
    """Where each item lies on the map; see :func:`cladify.layout`.

    Islands are drawn nearer here, once: were it done where the map is shown, new items would move old ones there.
    """
    near = graph.top(_MAP_NEIGHBORS) if graph.n_edges > _MAP_NEIGHBORS * graph.n_points else graph
    if X is None:
        return with_narrow_gaps(layout(near, full, n_jobs=n_jobs, progress=report)).astype(np.float32)
    made = layout(X, full, metric=metric, graph=near, n_jobs=n_jobs, progress=report)
    return with_narrow_gaps(made).astype(np.float32)
