"""Base of the online methods on a graph of neighbours: the nearest of every item, kept while items come and go."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import one_blas_thread, resolve_jobs
from cladify.online._base import OnlineTree
from cladify.online._snapshot import raw_lists
from cladify.online._state import State

__all__ = ["NeighborTree"]

_WAITING = 256  # leaves short of neighbours that may wait for new ones, in a large tree
_PARTS = 16  # so large a part of all items leaves, and may wait, before new neighbours are looked for around the old
_NUMBERS = 2**20  # of the rows whose products are worked out at once


class NeighborTree(OnlineTree):
    """Base of methods whose tree is that of a graph of neighbours, ``state.graph``.

    A subclass makes the graph in ``_make_graph`` and says in ``_weigh`` what its edges weigh.
    """

    n_neighbors: int

    def _make_graph(self, state: State) -> Any:
        raise NotImplementedError

    def _weigh(self, state: State, value: np.ndarray, there: np.ndarray) -> np.ndarray:
        """Weights of edges, the larger the nearer, from cosines, products or squared distances."""
        raise NotImplementedError

    def _unweigh(self, state: State, weight: np.ndarray) -> np.ndarray:
        """Cosines, products or squared distances of such weights; −inf is farther than everything."""
        raise NotImplementedError

    def _new_state(self) -> State:
        state = super()._new_state()
        state.start(0)
        state.graph = self._make_graph(state)
        return state

    def _take(self, state: State, ids: list[Hashable], X: np.ndarray, weight: np.ndarray) -> None:
        if not len(X):
            return
        self._mend(state)
        z, squared = state.rows.searched(state.rows.features(X))
        with one_blas_thread():
            slots, near, start, back = state.search.add(z, squared, self.n_neighbors, back=True)
        leaves = _core.online_make_leaves(state.tree, np.empty((len(X), 0)), weight)
        state.items.add(ids, slots, leaves, weight)
        state.changed += len(leaves)
        edges = self._edges(state, slots, near)
        _, weights = self._edges(state, back, np.repeat(slots, np.diff(start))[:, None])
        state.graph.insert(leaves, *edges, start, state.items.leaf_of(back), weights.ravel())
        self._note_reach(state, np.concatenate([slots, near[near >= 0], back]))

    def _note_reach(self, state: State, slots: np.ndarray) -> None:
        """Sets from which score on a row is among the nearest of these."""
        value = self._unweigh(state, state.graph.reach(state.items.leaf_of(slots)))
        state.search.set_reach(slots, value, squared=state.rows.similarity.name == "sqeuclidean")

    def _remove(self, state: State, slots: np.ndarray) -> None:
        state.changed += len(slots)
        step = max(1, len(state.items) // _PARTS)
        for start in range(0, len(slots), step):
            some = slots[start : start + step]
            leaves = state.items.leaf_of(some)
            others, short = state.graph.remove(leaves)
            state.search.remove(some)
            self._note_reach(state, state.items.slot_of(np.setdiff1d(others, leaves)))
            if short > min(_WAITING, step):
                self._mend(state)

    def _mend(self, state: State) -> None:
        """Leaves that have lost a third of their neighbours get new ones: the nearest of their neighbours' neighbours,
        or, where these are too few, of all."""
        short = state.graph.short()
        if not len(short):
            return
        near = np.empty((len(short), self.n_neighbors), dtype=np.int32)
        score = np.empty(near.shape, dtype=np.float32)
        state.graph.nearby(short, state.items.leaf_slots, *state.search.rows, near, score)
        own = state.items.slot_of(short)
        value = state.search.values(own, score, squared=state.rows.similarity.name == "sqeuclidean")
        weight = self._weigh(state, value, near >= 0)
        state.graph.mend(short, near, weight.astype(np.float32))
        self._note_reach(state, own)
        self._search_all(state, state.graph.short())

    def _search_all(self, state: State, leaves: np.ndarray) -> None:
        """Fills the lists of leaves by a search among all."""
        if not len(leaves):
            return
        own = state.items.slot_of(leaves)
        with one_blas_thread():
            near = state.search.nearest(state.search.z(own), self.n_neighbors + 1)
        order = np.argsort(near == own[:, None], axis=1, kind="stable")  # itself last
        near = np.take_along_axis(near, order, axis=1)[:, : self.n_neighbors]
        near[near == own[:, None]] = -1
        state.graph.mend(leaves, *self._edges(state, own, np.ascontiguousarray(near)))
        state.graph.set_whole(leaves)
        self._note_reach(state, own)

    def _edges(self, state: State, slots: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leaves and weights of these neighbours, -1 where there are fewer."""
        there = near >= 0
        value = np.zeros(near.shape, dtype=np.float64)
        step = max(1, _NUMBERS // (near.shape[1] * state.rows.n_features))
        for start in range(0, len(slots), step):
            part = slice(start, start + step)
            A, B = state.search.z(slots[part]), state.search.z(np.maximum(near[part], 0))
            dot = np.einsum("id,ikd->ik", A, B)
            if state.rows.similarity.name == "sqeuclidean":
                norm = np.einsum("id,id->i", A, A)[:, None] + np.einsum("ikd,ikd->ik", B, B)
                value[part] = np.maximum(norm - 2.0 * dot, 0.0)
            else:
                value[part] = dot
        leaves = np.where(there, state.items.leaf_of(np.maximum(near, 0)), -1).astype(np.int32)
        return leaves, self._weigh(state, value, there).astype(np.float32)

    def _restored(self, state: State, parts: dict[str, dict[str, np.ndarray]]) -> None:
        state.graph = self._make_graph(state)
        if len(state.items):
            columns = raw_lists(parts["graph"], state.tree.capacity)
            state.graph.restore_lists(state.tree, *columns, state.patched_lists, resolve_jobs(self.n_jobs))
            state.patched_lists = []
            self._note_reach(state, state.items.slots)


def typical(value: np.ndarray, there: np.ndarray) -> float | None:
    """The median of the distances above 0, or None where there is none."""
    positive = value[there & (value > 0)]
    return float(np.median(positive)) if len(positive) else None
