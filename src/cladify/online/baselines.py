"""`MiniBatchHAC` and `OHAC`: agglomeration for points that arrive, as papers compare with it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._kit.params import Check, integer
from cladify.online._base import OnlineTree
from cladify.online._state import State

__all__ = ["OHAC", "MiniBatchHAC"]


class _Average(OnlineTree):
    def _distances(self, state: State, nodes: np.ndarray) -> np.ndarray:
        return state.rows.heights(_core.online_heights_average(state.tree, state.rows.scale, nodes))


@dataclass(eq=False, repr=False)
class OHAC(_Average):
    r"""Online agglomeration ([1]_): the path above the nearest neighbour of a new point is rebuilt.

    All ancestors of the nearest neighbour are taken away, and the pieces, with the new point, are joined by average
    linkage. Quick where trees are flat; a wrong step below the pieces is never mended.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    search : {"auto", "exact", "cells"}
        How neighbours are found; see :class:`Greedy`.
    n_clusters, distance_threshold : optional
        The cut that ``labels_`` shows.
    random_state : int
        For the cells.
    n_jobs : int
        Threads of the search; the tree does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import OHAC
    >>> online = OHAC(metric="sqeuclidean").fit(np.array([[0.0], [9.0], [1.0], [10.0]]))
    >>> online.tree_.cut(n_clusters=2).tolist()
    [0, 1, 0, 1]

    References
    ----------
    .. [1] Menon et al. Online hierarchical clustering approximations. 2019.
    """

    _method = "ohac"

    metric: Any = "cosine"
    _: KW_ONLY
    search: str = "auto"
    n_clusters: int | None = None
    distance_threshold: float | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    def _insert(self, state: State, leaves: np.ndarray, near: np.ndarray) -> None:
        _core.online_recluster(state.tree, state.rows.scale, leaves, near)


@dataclass(eq=False, repr=False)
class MiniBatchHAC(_Average):
    r"""Average linkage with a buffer: when it is full, the two most similar clusters in it are joined.

    The baseline of chapter 3 of [1]_. What is joined stays joined, so that points that come late find their cluster
    taken: it needs a buffer that sees every cluster.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    buffer_size : int
        Clusters that are kept apart. A point takes O(buffer_size) comparisons.
    n_clusters, distance_threshold : optional
        The cut that ``labels_`` shows.
    random_state, n_jobs : int
        As in the other online methods, for :meth:`predict`.

    Attributes
    ----------
    tree_ : Tree
        The clusters of the buffer are joined by average linkage at the top.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import MiniBatchHAC
    >>> online = MiniBatchHAC(metric="sqeuclidean", buffer_size=3).fit(np.array([[0.0], [1.0], [9.0], [10.0]]))
    >>> online.tree_.cut(n_clusters=2).tolist()
    [0, 0, 1, 1]

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, chapter 3.
    """

    _method = "mini-batch-hac"
    _checks: ClassVar[dict[str, Check]] = {**_Average._checks, "buffer_size": integer(low=2)}
    search = "auto"

    metric: Any = "cosine"
    _: KW_ONLY
    buffer_size: int = 2000
    n_clusters: int | None = None
    distance_threshold: float | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    def _insert(self, state: State, leaves: np.ndarray, near: np.ndarray) -> None:
        if state.buffer is None:
            state.buffer = self._make_buffer(state)
        state.buffer.insert(leaves)

    def _make_buffer(self, state: State) -> Any:
        return _core.OnlineBuffer(state.tree, state.rows.scale, self.buffer_size)

    def _own_arrays(self, state: State) -> dict[str, dict[str, np.ndarray]]:
        if state.buffer is None:
            return {}
        return {"buffer": dict(zip(("node", "best", "similarity"), state.buffer.state(), strict=True))}

    def _restored(self, state: State, parts: dict[str, dict[str, np.ndarray]]) -> None:
        if parts["buffer"]:
            state.buffer = self._make_buffer(state)
            state.buffer.restore(*(parts["buffer"][name] for name in ("node", "best", "similarity")))

    def _remove(self, state: State, slots: np.ndarray) -> None:
        super()._remove(state, slots)
        state.buffer = None  # the most similar pairs are searched again

    def _shape(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parent, node, height = super()._shape(state)
        clusters = _core.online_clusters(state.tree)
        if len(clusters) < 3:
            return parent, node, height
        # The root with its many children makes room for the tree that average linkage makes of them.
        top: Any = _core.MutableTree(state.tree.width, 2)
        rows = np.array([state.tree.sums(int(v)) for v in clusters])
        size = np.array([state.tree.size(int(v)) for v in clusters])
        leaves = _core.online_make_leaves(top, rows, size)
        _core.online_agglomerate(top, state.rows.scale, leaves)
        above, inner = top.freeze(leaves)
        m, base = len(clusters), len(parent) - 1
        place = np.empty(state.tree.capacity, dtype=np.int64)
        place[node] = np.arange(len(node))
        name = np.concatenate([place[clusters], base + np.arange(len(above) - m)])
        parent = np.concatenate([parent[:-1], np.full(len(above) - m, -1)])
        parent[name[:-1]] = name[above[:-1]]
        heights = state.rows.heights(_core.online_heights_average(top, state.rows.scale, inner[m:]))
        node = np.concatenate([node[:-1], np.full(len(above) - m - 1, -1, dtype=node.dtype), node[-1:]])
        return parent, node, np.concatenate([height[:-1], np.maximum(heights, 0.0)])
