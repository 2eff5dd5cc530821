"""Linking the components of a graph that falls apart; see :meth:`NeighborGraph.connect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._exact import exact_query
from cladify.errors import InvalidInput

if TYPE_CHECKING:
    from cladify.data.graph import NeighborGraph

__all__ = ["connect"]

_SEARCHERS = 256  # points of a component that look for the nearest point outside


def connect(
    graph: NeighborGraph, X: Any = None, *, n_jobs: int | None = -1, progress: ProgressLike | Progress = None
) -> NeighborGraph:
    """One component; the public door is :meth:`NeighborGraph.connect`."""
    label = graph.components()
    count = int(label.max(initial=0)) + 1
    if count == 1:
        return graph
    if X is None:
        left, right = _to_the_largest(label)
        height = np.full(len(left), np.inf if graph.kind == "distance" else graph.to_height.shift)
        how = "weight 0 between first points"
    else:
        with reporting(progress) as report:
            left, right, height = _to_the_nearest(graph, X, label, n_jobs, report)
        how = "nearest pairs"
    info = {**graph.info, "connected": {"components": count, "links": len(left), "by": how}}
    return graph.with_edges(np.concatenate([left, right]), np.concatenate([right, left]), np.tile(height, 2), info=info)


def _to_the_largest(label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first = np.unique(label, return_index=True)[1]
    hub = int(np.argmax(np.bincount(label)))
    left = np.delete(first, hub)
    return left, np.full(len(left), first[hub])


def _to_the_nearest(
    graph: NeighborGraph, X: Any, label: np.ndarray, n_jobs: int | None, report: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Borůvka's rounds over the components: every one but the largest takes its shortest link to the outside."""
    similarity = graph.similarity
    if similarity is None:
        raise InvalidInput(f"the graph does not know how to compute {graph.metric!r}; use connect() without X.")
    X = similarity.check(X)
    if X.shape[0] != graph.n_points:
        raise InvalidInput(
            f"X has {X.shape[0]} rows, the graph has {graph.n_points} points; pass the rows it was built from."
        )
    links = []
    while (count := int(label.max()) + 1) > 1:
        searchers = _searchers(label, count)
        found = exact_query(
            X, X[searchers], 1, similarity, groups=(label[searchers], label), n_jobs=n_jobs, report=report
        )
        target, height = found.indices[:, 0], similarity.height(found.values[:, 0])
        order = np.lexsort((target, searchers, height, label[searchers]))
        best = order[np.unique(label[searchers][order], return_index=True)[1]]
        a, b = searchers[best], target[best].astype(np.int64)
        pair = np.unique(np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1), axis=0, return_index=True)
        links.append((pair[0][:, 0], pair[0][:, 1], height[best][pair[1]]))
        label = _merged(label, a, b, count)
    left, right, height = (np.concatenate(parts) for parts in zip(*links, strict=True))
    return left, right, height


def _searchers(label: np.ndarray, count: int) -> np.ndarray:
    """Up to ``_SEARCHERS`` evenly spaced members of every component but the largest."""
    size = np.bincount(label, minlength=count)
    members = np.argsort(label, kind="stable")
    start = np.concatenate([[0], np.cumsum(size)])
    hub = int(np.argmax(size))
    chosen = []
    for c in range(count):
        if c != hub:
            step = np.linspace(0, size[c], min(size[c], _SEARCHERS), endpoint=False).astype(np.int64)
            chosen.append(members[start[c] + step])
    return np.concatenate(chosen)


def _merged(label: np.ndarray, a: np.ndarray, b: np.ndarray, count: int) -> np.ndarray:
    """Labels after joining the components of ``a`` with those of ``b``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joins = coo_array((np.ones(len(a), dtype=np.int8), (label[a], label[b])), shape=(count, count))
    return connected_components(joins, directed=False)[1][label].astype(np.int32)
