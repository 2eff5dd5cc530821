"""`Perch`: nearest neighbours, and rotations against masking and for balance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify import _core
from ramify.online._base import OnlineTree
from ramify.online._state import State

__all__ = ["Perch"]


class Perch(OnlineTree):
    r"""Purity-enhancing rotations ([1]_): a point goes beside its nearest neighbour, and all above it is set right.

    A node v is masked where points of its aunt are closer to it than those of its sibling. Going up from the new point,
    a node that surely is masked,

    .. math:: \max_{x \in v,\, y \in \mathrm{aunt}(v)} d(x, y) < \min_{x \in v,\, y \in \mathrm{sib}(v)} d(x, y),

    gets its aunt for its sibling. Then, again from the new point upwards, nodes do the same where that makes the tree
    more balanced and masks nobody. Of each node up to 16 points are looked at. Where every cluster's points are closer
    to each other than to all others, the clusters are nodes of the tree, in whatever order the points arrive.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    balance : bool
        Whether there are rotations for balance.
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
    n_maskings_, n_balancings_ : int
        How often the tree was rotated so far, and why.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.online import Perch
    >>> online = Perch(metric="sqeuclidean").fit(np.array([[0.0], [9.0], [1.0], [10.0]]))
    >>> online.tree_.cut(n_clusters=2).tolist()
    [0, 1, 0, 1]

    References
    ----------
    .. [1] Kobren, Monath, Krishnamurthy, McCallum. A hierarchical algorithm for extreme clustering. KDD 2017.
    """

    _method = "perch"

    def __init__(
        self,
        metric: Any = "cosine",
        *,
        balance: bool = True,
        search: str = "auto",
        n_clusters: int | None = None,
        distance_threshold: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.metric = metric
        self.balance = balance
        self.search = search
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    _n_near = 8  # float32 proposes, float64 decides
    _counts: tuple[int, int] = (0, 0)

    def _insert(self, state: State, leaves: np.ndarray, near: np.ndarray) -> None:
        counts = _core.online_perch(state.tree, state.rows.scale, bool(self.balance), leaves, near)
        self.n_maskings_, self.n_balancings_ = np.add(counts, self._counts).tolist()
        self._counts = (self.n_maskings_, self.n_balancings_)

    def _distances(self, state: State, nodes: np.ndarray) -> np.ndarray:
        return state.rows.heights(_core.online_heights_average(state.tree, state.rows.scale, nodes))
