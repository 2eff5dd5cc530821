"""`LiveTree`: Dasgupta's cost on a graph of neighbours that grows and shrinks."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from cladify import _core
from cladify._kit.params import Check, check_float, integer
from cladify.data.graph import NeighborGraph
from cladify.errors import InvalidInput
from cladify.graphtree import GraphTree
from cladify.graphtree._top import LEAST_SCALE, SCALE_AT, regrow
from cladify.neighbors.build import neighbors
from cladify.online._folder import locked
from cladify.online._neighbors import NeighborTree, typical
from cladify.online._state import State
from cladify.tree import Tree

__all__ = ["LiveTree"]

_TRIES = 8  # subtrees that are offered another place after each arrival
_BATCH = 2048  # points that look for neighbours at once
_LARGEST = 64  # leaves of the largest of them
_CHANGED = 0.1  # share of the items that come or go before the whole tree is searched again
_FIRST = 32  # rows from which on an empty tree is built by the batch method


@dataclass(eq=False, repr=False)
class LiveTree(NeighborTree):
    r"""The tree of :class:`~cladify.GraphTree`, kept up to date while points arrive and leave.

    The first batch is built as a whole. After that, a point that arrives finds its nearest neighbours, takes the place
    of a farther one in the lists of all who have it among theirs, and goes beside the node u where it adds least to
    Dasgupta's cost,

    .. math::

        (|u| + 1)\,W(x, u) + \sum_{a \text{ above } u} \bigl(W_a + (|a| + 1)\,W(x, \text{the child of } a
        \text{ without } u)\bigr),

    W being the weight of the edges between two sets and :math:`W_a` the weight that meets in a. This is exact: no other
    place is better. Then small subtrees around it are offered better places, too. A point that leaves is taken out, and
    points that have lost a third of their neighbours get new ones from among their neighbours' neighbours.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    n_neighbors : int
    search : {"auto", "exact", "cells"}
        How neighbours of arriving points are found; see :class:`Greedy`.
    n_clusters : int, optional
        The cut that ``labels_`` shows.
    random_state : int
    n_jobs : int

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import LiveTree
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.1, (50, 2)) for c in ([0, 1], [1, 0], [1, 1])])
    >>> X = X[rng.permutation(150)]
    >>> live = LiveTree(n_neighbors=5, n_clusters=3).partial_fit(X[:100])
    >>> sorted(np.bincount(live.partial_fit(X[100:]).labels_).tolist())
    [50, 50, 50]
    >>> live.remove(range(10)).refresh(budget_seconds=1).tree_.n_leaves
    140
    """

    _method = "live"
    _checks: ClassVar[dict[str, Check]] = {**NeighborTree._checks, "n_neighbors": integer(low=1)}
    distance_threshold = None

    metric: Any = "cosine"
    _: KW_ONLY
    n_neighbors: int = 25
    search: str = "auto"
    n_clusters: int | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    @locked
    def refresh(self, budget_seconds: float = 1.0) -> Self:
        """Make the tree better, in idle moments; it ends after about ``budget_seconds``, or when nothing is left to do.

        Points that have lost neighbours search for new ones among all, and small subtrees that were changed around are
        offered better places. When a tenth of the items has come or gone since the last time, the whole tree is
        searched again on the present neighbours, as by the batch method: all inner nodes are new then. Where the time
        is over before that tree is better, the present one stays. In a folder the result is kept as a new snapshot.
        """
        seconds = check_float("budget_seconds", budget_seconds, low=0.0)
        state = self._begin()
        self._writer()
        if len(state.items) >= 3:
            with self._change("refresh", [], whole=True):
                self._refresh(state, time.monotonic() + seconds)
        return self

    @property
    @locked
    def changed_(self) -> float:
        """Items that came or went since the whole tree was searched, as a share of those that are there."""
        state = self._begin()
        return state.changed / max(len(state.items), 1)

    def _refresh(self, state: State, end: float) -> None:
        self._mend_all(state, end)
        state.graph.rescale(self._least_scale(state))
        if state.changed > _CHANGED * len(state.items) and time.monotonic() < end and self._regrow(state, end):
            return
        state.graph.settle(max(0.0, end - time.monotonic()))
        state.frozen = None

    @classmethod
    def from_tree(
        cls, tree: Tree, X: Any, *, graph: NeighborGraph | None = None, ids: Any = None, **params: Any
    ) -> Self:
        """A tree that is there already, of whatever method, kept up to date from now on.

        Parameters
        ----------
        tree : Tree
            Binary, over the rows of ``X``.
        X : array of shape (n, d)
        graph : NeighborGraph, optional
            The ``n_neighbors`` nearest of each row; searched for if not given.
        ids : n whole numbers or strings, optional
        **params
            As for the class.

        Examples
        --------
        >>> import numpy as np, cladify
        >>> X = np.random.default_rng(0).normal(size=(100, 4))
        >>> live = cladify.LiveTree.from_tree(cladify.fit(X, method="hac", linkage="ward"), X, metric="sqeuclidean")
        >>> len(live.partial_fit(X[:5] + 0.01).ids_)
        105
        """
        live = cls(**params)
        state = live._begin()
        X = state.rows.check(X, cls.__name__)
        if tree.n_leaves != len(X) or len(X) < 2 or not tree.is_binary:
            raise InvalidInput(
                f"from_tree takes a binary tree of the {len(X)} rows, got one of {tree.n_leaves} leaves."
            )
        named = state.items.new(ids, len(X))
        state.rows.settle(X)
        if graph is None:
            k = min(live.n_neighbors, len(X) - 1)
            graph = neighbors(X, k, live.metric, random_state=live.random_state, n_jobs=live.n_jobs)
        elif graph.n_edges > live.n_neighbors * graph.n_points:
            graph = graph.top(live.n_neighbors)
        live._adopt(state, named, X, np.ones(len(X)), tree, graph)
        live.n_features_in_ = X.shape[1]
        return live

    @locked
    def replace_tree(self, tree: Tree) -> Self:
        """Another binary tree over the same items, in the order of :attr:`ids_`; their neighbours stay."""
        state = self._begin()
        if tree.n_leaves != len(state.items) or not tree.is_binary:
            raise InvalidInput(f"replace_tree takes a binary tree of the {len(state.items)} items, got {tree!r}.")
        self._writer()
        with self._change("refresh", [], whole=True):
            _core.online_replace_top(state.tree, state.items.leaves, tree.parent)
            state.graph.refresh(self._least_scale(state))
            state.frozen = None
        return self

    @property
    @locked
    def graph_(self) -> NeighborGraph:
        """The neighbours of all items, in the order of :attr:`ids_`."""
        state = self._begin()
        return self._graph(state, state.items.leaves)

    @locked
    def near(self, ids: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Neighbours of some items, the nearest first: place in ``ids``, the neighbour's in :attr:`ids_`, distance.

        Distances are 1 − cosine, squared ones, or minus the product.
        """
        state = self._begin()
        leaves = state.items.leaf_of(state.items.slots_of(state.items.known(ids)))
        a, b, weight = state.graph.neighbors(leaves)
        place, row = (np.empty(state.tree.capacity, dtype=np.int64) for _ in range(2))
        place[leaves] = np.arange(len(leaves))
        row[state.items.leaves] = np.arange(len(state.items))
        order = np.lexsort((-weight, place[a]))
        return place[a][order], row[b[order]], -weight[order]

    @locked
    def rows(self, ids: Any = None) -> np.ndarray:
        """Rows of some items, or of all, in float32; those of cosine have length 1."""
        state = self._begin()
        slots = state.items.slots if ids is None else state.items.slots_of(state.items.known(ids))
        z = state.search.rows[0]
        in_order = len(slots) <= len(z) and np.array_equal(slots, np.arange(len(slots), dtype=slots.dtype))
        found = z[: len(slots)] if in_order else z[slots]
        return found if state.rows.similarity.name != "sqeuclidean" else state.rows.originals(found).astype(np.float32)

    @property
    @locked
    def cost_(self) -> float:
        """Dasgupta's cost of the tree on the graph of neighbours as they are now."""
        state = self._begin()
        return 0.0 if state.graph is None else float(state.graph.cost())

    def _mend_all(self, state: State, end: float) -> None:
        leaves = state.items.leaves
        short = leaves[state.graph.has_lost(leaves) != 0]
        for start in range(0, len(short), _BATCH):
            if time.monotonic() >= end:
                return
            self._search_all(state, short[start : start + _BATCH])

    def _regrow(self, state: State, end: float) -> bool:
        """Searches the tree again, and whether it is another now. Nothing is moved afterwards: the graph of points
        alone shows next to nothing of the larger scales."""
        tree, _ = self._frozen(state)
        leaves, slots = state.items.leaves, state.items.slots
        cost, least = state.graph.cost(), self._least_scale(state)
        found = regrow(
            tree,
            self._graph(state, leaves),
            np.array([state.tree.size(leaf) for leaf in leaves.tolist()]),
            state.search.z(slots),
            state.rows.similarity,
            n_neighbors=self.n_neighbors,
            budget_seconds=end - time.monotonic(),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        _core.online_replace_top(state.tree, leaves, found.parent)
        state.graph.refresh(least)
        state.frozen = None
        if time.monotonic() >= end and state.graph.cost() > cost:  # stopped too early to be better
            _core.online_replace_top(state.tree, leaves, tree.parent)
            state.graph.refresh(least)
            return False
        state.changed = 0
        return True

    def _graph(self, state: State, leaves: np.ndarray) -> NeighborGraph:
        """The neighbours as the batch method has them."""
        place = np.empty(state.tree.capacity, dtype=np.int32)
        place[leaves] = np.arange(len(leaves))
        a, b, weight = state.graph.neighbors(leaves)
        start = np.concatenate([[0], np.cumsum(np.bincount(place[a], minlength=len(leaves)))])
        order = np.lexsort((place[b], place[a]))
        name, scale = state.rows.similarity.name, state.scale or 1.0
        if name == "sqeuclidean":
            weight = scale / (scale - weight)
        elif name == "cosine":
            weight = 1.0 + 0.5 * weight
        return NeighborGraph(
            start.astype(np.int64),
            place[b][order],
            weight[order].astype(np.float32),
            metric=name,
            scale=scale if name == "sqeuclidean" else None,
        )

    # --- inside -------------------------------------------------------------------------------------------------------

    def _make_graph(self, state: State) -> Any:
        rank = 0 if state.rows.similarity.name == "dot" else SCALE_AT + 1
        return _core.OnlineLiveTree(state.tree, self.n_neighbors, rank, _TRIES, _LARGEST)

    def _weigh(self, state: State, value: np.ndarray, there: np.ndarray) -> np.ndarray:
        name = state.rows.similarity.name
        if name == "dot":
            return np.maximum(value, 0.0)
        distance = np.maximum(1.0 - value if name == "cosine" else value, 0.0)
        if state.scale is None and there.any():
            state.scale = typical(distance, there) or 1.0
            state.graph.refresh(LEAST_SCALE * state.scale)
        return -distance

    def _unweigh(self, state: State, weight: np.ndarray) -> np.ndarray:
        name = state.rows.similarity.name
        return weight if name == "dot" else 1.0 + weight if name == "cosine" else -weight

    def _least_scale(self, state: State) -> float:
        """The least scale of a leaf, from the neighbours as they are by now."""
        if state.rows.similarity.name != "dot":
            distance = state.graph.ranked_distances(state.items.leaves)
            state.scale = typical(distance, np.ones(len(distance), dtype=bool)) or 1.0
        return LEAST_SCALE * (state.scale or 0.0)

    def _take_first(self, state: State, ids: list[Hashable], X: np.ndarray, weight: np.ndarray) -> int:
        if len(X) < _FIRST or state.tree.capacity:
            return 0
        model = GraphTree(
            metric=self.metric, n_neighbors=self.n_neighbors, random_state=self.random_state, n_jobs=self.n_jobs
        ).fit(X, sample_weight=weight)
        self._adopt(state, ids, X, weight, model.tree_, model.graph_)
        return len(X)

    def _adopt(
        self, state: State, ids: list[Hashable], X: np.ndarray, weight: np.ndarray, tree: Tree, graph: NeighborGraph
    ) -> None:
        """Fills an empty state with a tree and the neighbours of its leaves."""
        _core.online_build(state.tree, tree.parent, weight)
        z, squared = state.rows.searched(state.rows.features(X))
        slots = state.search.put(z, squared)
        leaves = np.arange(len(X), dtype=np.int32)
        state.items.add(ids, slots, leaves, weight)
        near = np.full((len(X), self.n_neighbors), -1, dtype=np.int32)
        value = np.zeros(near.shape, dtype=np.float32)
        row = np.repeat(leaves, np.diff(graph.indptr))
        place = np.arange(len(row)) - np.repeat(graph.indptr[:-1], np.diff(graph.indptr))
        near[row, place] = graph.indices
        is_dot = state.rows.similarity.name == "dot"
        value[row, place] = np.maximum(graph.weight, 0.0) if is_dot else -np.maximum(graph.distances(), 0.0)
        state.graph.load(leaves, near, value)
        self._note_reach(state, slots)
        state.graph.refresh(self._least_scale(state))

    def _own_arrays(self, state: State) -> dict[str, dict[str, np.ndarray]]:
        end, graph = state.tree.capacity, state.graph
        return {"level": {"scale": graph.scales()[:end], "tried": graph.tried()[:end], "awake": graph.awake()}}

    def _restored(self, state: State, parts: dict[str, dict[str, np.ndarray]]) -> None:
        super()._restored(state, parts)
        level = parts["level"]
        least = LEAST_SCALE * (state.scale or 0.0)
        state.graph.restore(least, level["scale"], level["tried"], level["awake"])

    def _heights(self, state: State, parent: np.ndarray, node: np.ndarray, n: int) -> np.ndarray:
        return np.asarray(_core.tree_sizes(parent, n), dtype=np.float64) - 1.0
