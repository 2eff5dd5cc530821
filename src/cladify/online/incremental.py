"""`Greedy`, `Rotate` and `Grinch`: a point arrives, finds its nearest neighbour, and the tree makes room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._kit.params import Check, check_choice, integer, optional
from cladify.errors import InvalidInput
from cladify.online._base import OnlineTree
from cladify.online._state import State

__all__ = ["Greedy", "Grinch", "Rotate"]

Linkage = str | Callable[[np.ndarray, np.ndarray], float]
_OVER_PAIRS = {"single": np.max, "complete": np.min}  # linkages that look at all pairs of two clusters
_NO_CAP = np.iinfo(np.int64).max


def _check_linkage(name: str, value: Any) -> None:
    if not callable(value):
        check_choice(name, value, ("average", "centroid", *_OVER_PAIRS))


@dataclass(eq=False, repr=False)
class _Incremental(OnlineTree):
    _checks: ClassVar[dict[str, Check]] = {
        **OnlineTree._checks,
        "linkage": _check_linkage,
    }
    metric: Any = "cosine"
    linkage: Linkage = "average"
    _: KW_ONLY
    search: str = "auto"
    n_clusters: int | None = None
    distance_threshold: float | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    #: rotate, graft, restructure, cap, single elimination, search for each graft
    def _steps(self) -> tuple[bool, bool, bool, int, bool, bool]:
        raise NotImplementedError

    def _new_state(self) -> State:
        state = super()._new_state()
        if self.linkage == "centroid" and state.rows.similarity.name != "cosine":
            raise InvalidInput(
                f"linkage 'centroid' is a cosine of sums and needs metric 'cosine', got {self.metric!r}."
            )
        return state

    @property
    def _needs_rows(self) -> bool:
        return callable(self.linkage) or self.linkage in _OVER_PAIRS

    def _insert(self, state: State, leaves: np.ndarray, near: np.ndarray) -> None:
        if self._needs_rows:
            if self._steps()[5]:
                near = self._everyone_before(state, leaves)
            counts = _core.online_given(state.tree, self._of_leaves(state), *self._steps(), leaves, near)
        elif self.linkage == "centroid":
            counts = _core.online_centroid(state.tree, *self._steps(), leaves, near)
        else:
            counts = _core.online_average(state.tree, state.rows.scale, *self._steps(), leaves, near)
        state.counts = np.add(counts, state.counts).tolist()

    @property
    def n_rotations_(self) -> int:
        """Rotations so far."""
        return self._count(0)

    @property
    def n_grafts_(self) -> int:
        """Grafts so far."""
        return self._count(1)

    @property
    def n_swaps_(self) -> int:
        """Swaps by restructuring so far."""
        return self._count(2)

    @staticmethod
    def _everyone_before(state: State, leaves: np.ndarray) -> np.ndarray:
        """A function of the user's need not agree with the metric on who is near: every leaf is asked."""
        present = state.items.leaves
        place = np.flatnonzero(np.isin(present, leaves))
        near = np.full((len(leaves), len(present)), -1, dtype=np.int32)
        row_of = {int(leaf): i for i, leaf in enumerate(leaves)}
        others = np.delete(present, place)
        came = [int(leaf) for leaf in present[place]]
        for rank, leaf in enumerate(came):
            row = np.concatenate([others, np.array(came[:rank], dtype=np.int32)])
            near[row_of[leaf], : len(row)] = row
        return near

    def _distances(self, state: State, nodes: np.ndarray) -> np.ndarray:
        if self._needs_rows:
            found = np.asarray(_core.online_heights_given(state.tree, self._of_leaves(state), nodes))
            return 1.0 - found if callable(self.linkage) else state.rows.heights(found)
        if self.linkage == "centroid":
            return state.rows.heights(_core.online_heights_centroid(state.tree, nodes))
        return state.rows.heights(_core.online_heights_average(state.tree, state.rows.scale, nodes))

    def _keep(self, state: State, slots: np.ndarray, X: np.ndarray) -> None:
        if not self._needs_rows:
            return
        leaves = state.items.leaf_of(slots)
        kept = np.empty((0, X.shape[1]), X.dtype) if state.kept is None else state.kept
        need = int(leaves.max()) + 1
        if need > len(kept):
            grown = np.empty((2 * need, X.shape[1]), dtype=np.result_type(kept, X))
            grown[: len(kept)] = kept
            kept = grown
        kept[leaves] = X
        state.kept = kept

    def _of_leaves(self, state: State) -> Callable[[np.ndarray, np.ndarray], float]:
        function: Any = self.linkage if callable(self.linkage) else _over_pairs(self.linkage, state)

        def of_leaves(a: np.ndarray, b: np.ndarray) -> float:
            assert state.kept is not None
            value = float(function(state.kept[a], state.kept[b]))
            if value != value:
                raise InvalidInput("The linkage function returned NaN; it must give a number, larger for closer.")
            return value

        return of_leaves


def _over_pairs(linkage: str, state: State) -> Callable[[np.ndarray, np.ndarray], float]:
    """The value of a pair does not depend on the clusters it is looked at in, or ties would break at random."""
    from scipy.spatial.distance import cdist

    rows, choose = state.rows, _OVER_PAIRS[linkage]

    def largest_or_least(a: np.ndarray, b: np.ndarray) -> float:
        if rows.similarity.kind == "distance":
            return float(choose(-cdist(a, b, "sqeuclidean")))
        return float(choose(np.einsum("ik,jk->ij", rows.features(a)[:, :-1], rows.features(b)[:, :-1])))

    return largest_or_least


class Greedy(_Incremental):
    r"""Every arriving point becomes the sibling of its nearest neighbour (algorithm 4 of [1]_).

    Quick, and wrong as soon as the first point of a new cluster arrives; :class:`Rotate` and :class:`Grinch` are not.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    linkage : {"average", "centroid", "single", "complete"} or callable
        Gives the heights of the tree, as in :class:`Grinch`.
    search : {"auto", "exact", "cells"}
        How neighbours are found: all rows looked at (``"auto"`` up to 20 000 of them), or those of the nearest cells.
    n_clusters, distance_threshold : optional
        The cut that ``labels_`` shows.
    random_state : int
        For the cells.
    n_jobs : int
        Threads of the search; the tree does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import Greedy
    >>> online = Greedy(metric="sqeuclidean").partial_fit(np.array([[0.0], [1.0], [9.0]]), ids=["a", "b", "c"])
    >>> online.ids_.tolist(), online.tree_.n_leaves
    (['a', 'b', 'c'], 3)

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, chapter 3.
    """

    _method = "greedy"

    _n_near = 8  # float32 proposes, float64 decides

    def _steps(self) -> tuple[bool, bool, bool, int, bool, bool]:
        return False, False, False, _NO_CAP, False, False


@dataclass(kw_only=True, eq=False, repr=False)
class Rotate(_Incremental):
    r"""Every arriving point goes up from its nearest neighbour until it fits (algorithm 5 of [1]_).

    It climbs while :math:`f(V, x) < f(V, \mathrm{sib}(V))`, where f is the linkage. Where every cluster's points are
    closer to each other than to all others, the clusters are nodes of the tree, in whatever order the points arrive.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    linkage : {"average", "centroid", "single", "complete"} or callable
        As in :class:`Grinch`.
    cap : int, optional
        Steps that a point climbs at most.
    search : {"auto", "exact", "cells"}
    n_clusters, distance_threshold : optional
    random_state : int
    n_jobs : int

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import Rotate
    >>> online = Rotate(metric="sqeuclidean").fit(np.array([[0.0], [1.0], [9.0], [10.0]]))
    >>> online.tree_.cut(n_clusters=2).tolist()
    [0, 0, 1, 1]

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, chapter 3.
    """

    _method = "rotate"
    _checks: ClassVar[dict[str, Check]] = {**_Incremental._checks, "cap": optional(integer(low=1))}

    cap: int | None = None

    _n_near = 8

    def _steps(self) -> tuple[bool, bool, bool, int, bool, bool]:
        return True, False, False, _NO_CAP if self.cap is None else self.cap, False, False


@dataclass(kw_only=True, eq=False, repr=False)
class Grinch(_Incremental):
    r"""Rotations, grafts and restructuring (algorithms 6 to 8 of [1]_): what was placed wrongly is fetched later.

    After a point x has been put into the tree as by :class:`Rotate`, each node V above it looks for the leaf nearest to
    it elsewhere. If V and that leaf, or an ancestor of it, prefer each other to their siblings,

    .. math:: f(V, L) > \max(f(V, \mathrm{sib}(V)), f(L, \mathrm{sib}(L))),

    L is fetched and becomes V's sibling; the subtrees it left behind then look for better siblings among those above.
    Without the approximations the clusters of any data that are separated by model under f (each is connected in a
    graph, and f of two parts is larger where an edge joins them; theorem 3) are nodes of the tree, in whatever order
    the points arrive. Chains of vectors under single linkage are not: there f also ranks the gaps inside a chain.

    The printed algorithms are read as their text and proofs have it: restructuring (algorithm 7) starts at Z, the
    sibling that L left behind, not V's (Z and V would have no node between them after the graft, and nothing would be
    swapped), looks at the siblings of the ancestors of Z, and both tests of lines 14 and 15 of algorithm 6 are made on
    the same V and L, where equality climbs as well; after a graft the search goes on at the parent of V.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    linkage : {"average", "centroid", "single", "complete"} or callable
        f: the average of the metric over all pairs, the cosine between the sums of two clusters, the largest or least
        similarity of a pair (whose time grows with the product of their sizes), or a function of the
        rows of two clusters, larger for closer; it need not be symmetric, and is called ``f(V, other)``. The height of
        a node is then 1 − f, or 0 where f is above 1. :class:`cladify.entities.LearnedLinkage` is such a function.
    n_neighbors : int
        Neighbours of a point among which its grafts look, where ``single_search`` is on.
    cap : int, optional
        Nothing is rearranged more than this many steps above the new leaf.
    single_elimination : bool
        Attempts at grafting end with the first that both sides refuse.
    single_search : bool
        Grafts look among the neighbours of the new point, not among all leaves.
    restructure : bool
        Whether what a graft left behind is put in order.
    search : {"auto", "exact", "cells"}
    n_clusters, distance_threshold : optional
    random_state : int
    n_jobs : int

    Attributes
    ----------
    n_rotations_, n_grafts_, n_swaps_ : int
        How often the tree was rearranged so far.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import Grinch
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.1, (50, 2)) for c in ([0, 1], [1, 0])])
    >>> online = Grinch(n_clusters=2)
    >>> for part in np.split(X, 10):
    ...     _ = online.partial_fit(part)
    >>> np.bincount(online.labels_).tolist()
    [50, 50]
    >>> online.remove(range(40)).tree_.n_leaves
    60

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, chapter 3.
    """

    _method = "grinch"
    _checks: ClassVar[dict[str, Check]] = {
        **_Incremental._checks,
        "n_neighbors": integer(low=1),
        "cap": optional(integer(low=1)),
    }

    n_neighbors: int = 25
    cap: int | None = 100
    single_elimination: bool = True
    single_search: bool = True
    restructure: bool = True

    @property
    def _n_near(self) -> int:  # type: ignore[override]
        return self.n_neighbors

    def _steps(self) -> tuple[bool, bool, bool, int, bool, bool]:
        cap = _NO_CAP if self.cap is None else self.cap
        return True, True, bool(self.restructure), cap, bool(self.single_elimination), not self.single_search
