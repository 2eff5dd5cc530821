"""`Perch`: nearest neighbours, and rotations against masking and for balance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._kit.params import Check, integer, optional
from cladify.online._base import OnlineTree
from cladify.online._state import State

__all__ = ["Perch"]


@dataclass(eq=False, repr=False)
class Perch(OnlineTree):
    r"""Purity-enhancing rotations ([1]_): a point goes beside its nearest neighbour, and all above it is set right.

    A node v is masked where points of its aunt are closer to it than those of its sibling. Going up from the new point,
    a node that surely is masked,

    .. math:: \max_{x \in v,\, y \in \mathrm{aunt}(v)} d(x, y) < \min_{x \in v,\, y \in \mathrm{sib}(v)} d(x, y),

    gets its aunt for its sibling. Then, again from the new point upwards, nodes do the same where that makes the tree
    more balanced and masks nobody. Of each node up to 16 points are looked at. Where every cluster's points are closer
    to each other than to all others, the clusters are nodes of the tree, in whatever order the points arrive.

    With ``max_leaves`` the tree stops growing (the collapsed mode of [1]_): when it has that many leaves, with every
    further point the two sibling leaves that are nearest to each other become one, which holds the items of both. In
    :attr:`tree_` such a leaf is a node with all of its items as children. They stay together when others leave.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    balance : bool
        Whether there are rotations for balance.
    max_leaves : int, optional
        Leaves that are kept apart.
    search : {"auto", "exact", "cells"}
        How neighbours are found; see :class:`Greedy`.
    n_clusters, distance_threshold : optional
        The cut that ``labels_`` shows.
    random_state : int
        For the cells.
    n_jobs : int
        Threads of the search; the tree does not depend on it.

    Attributes
    ----------
    n_maskings_, n_balancings_, n_collapses_ : int
        How often the tree was rotated so far, and why, and how often two leaves became one.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import Perch
    >>> online = Perch(metric="sqeuclidean").fit(np.array([[0.0], [9.0], [1.0], [10.0]]))
    >>> online.tree_.cut(n_clusters=2).tolist()
    [0, 1, 0, 1]

    References
    ----------
    .. [1] Kobren, Monath, Krishnamurthy, McCallum. A hierarchical algorithm for extreme clustering. KDD 2017.
    """

    _method = "perch"
    _checks: ClassVar[dict[str, Check]] = {**OnlineTree._checks, "max_leaves": optional(integer(low=2))}

    metric: Any = "cosine"
    _: KW_ONLY
    balance: bool = True
    max_leaves: int | None = None
    search: str = "auto"
    n_clusters: int | None = None
    distance_threshold: float | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    _n_near = 8  # float32 proposes, float64 decides

    def _insert(self, state: State, leaves: np.ndarray, near: np.ndarray) -> None:
        if state.buffer is None:
            state.buffer = self._make_buffer(state)
        state.counts = np.add(state.buffer.insert(leaves, near), state.counts).tolist()

    def _make_buffer(self, state: State) -> Any:
        most = np.iinfo(np.int64).max if self.max_leaves is None else self.max_leaves
        return _core.OnlinePerch(state.tree, state.rows.scale, bool(self.balance), most)

    def _own_arrays(self, state: State) -> dict[str, dict[str, np.ndarray]]:
        if state.buffer is None:
            return {}
        return {"buffer": dict(zip(("node", "similarity"), state.buffer.state(), strict=True))}

    def _restored(self, state: State, parts: dict[str, dict[str, np.ndarray]]) -> None:
        if parts["buffer"]:
            state.buffer = self._make_buffer(state)
            state.buffer.restore(parts["buffer"]["node"], parts["buffer"]["similarity"])

    @property
    def n_maskings_(self) -> int:
        """Rotations against masking so far."""
        return self._count(0)

    @property
    def n_balancings_(self) -> int:
        """Rotations for balance so far."""
        return self._count(1)

    @property
    def n_collapses_(self) -> int:
        """Leaves that became one with another so far."""
        return self._count(2)

    def _remove(self, state: State, slots: np.ndarray) -> None:
        super()._remove(state, slots)
        state.buffer = None  # the nearest siblings are searched again

    def _distances(self, state: State, nodes: np.ndarray) -> np.ndarray:
        return state.rows.heights(_core.online_heights_average(state.tree, state.rows.scale, nodes))
