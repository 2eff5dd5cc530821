"""`MiniBatchSCC`: a tree of levels, each kept up to date where a batch of points has changed the one below."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._kit.params import Check, check_choice, integer, optional
from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.online._neighbors import NeighborTree, typical
from cladify.online._state import State

__all__ = ["MiniBatchSCC"]

_LAST = 1e-3  # where the geometric schedule ends


def _check_thresholds(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("linear", "geometric"))
        return
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or not (values > 0).all() or not (np.diff(values) < 0).all():
        raise InvalidInput(f"{name} must be 'linear', 'geometric' or similarities above 0 that fall, got {value!r}.")


@dataclass(eq=False, repr=False)
class MiniBatchSCC(NeighborTree):
    r"""The sub-cluster component algorithm for points that arrive in batches (algorithm 10 of [1]_).

    As in :class:`~cladify.SCC`, every level links each cluster of the one below to its most similar one, where that
    similarity reaches the level's threshold :math:`\tau_i`, and merges the components of these links. When a batch
    arrives, its points and those that have it among their neighbours are assigned again, all others are left; on
    the next level those that were changed by it, their siblings, and the best neighbours of what they were part of
    before; and so on, until a level is left as it was. An old point that is reassigned takes the rest of its cluster
    along no farther than that cluster wants, which is how earlier mistakes are mended. Points that leave take nothing
    along: the others stay where they are, and are assigned again when points arrive near them.

    The similarity of two clusters is the mean over their pairs, 0 where two points are not neighbours; that of two
    points is (1 + cos)/2 for cosine, :math:`s/(s + d^2)` for squared distances (s being the median one between
    neighbours in the first batch), and products over the largest one of the first batch.

    Parameters
    ----------
    metric : {"cosine", "dot", "sqeuclidean"}
    n_neighbors : int
    n_rounds : int
        Levels, where thresholds are not given.
    thresholds : {"linear", "geometric"} or array
        Similarities in falling order: in equal steps from 1 to 1/n_rounds, in equal ratios from 1 to 0.001, or these.
    batch_size : int, optional
        Rows that come together are taken so many at a time. None: all at once, so that ``fit`` is one batch.
    search : {"auto", "exact", "cells"}
        How neighbours of arriving points are found; see :class:`Greedy`.
    n_clusters, distance_threshold : optional
        The cut that ``labels_`` shows.
    random_state : int
        For the cells.
    n_jobs : int
        Threads of the search; the tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        Not binary; the height of a node is the distance (1 − cos, squared, or −product) at its level's threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify.online import MiniBatchSCC
    >>> online = MiniBatchSCC(metric="sqeuclidean", n_neighbors=2, n_clusters=2)
    >>> _ = online.partial_fit(np.array([[0.0], [1.0], [9.0]])).partial_fit(np.array([[10.0], [2.0]]))
    >>> online.labels_.tolist()
    [0, 0, 1, 1, 0]

    References
    ----------
    .. [1] Monath. Incremental non-greedy clustering at scale. 2022, section 4.2. Printed :math:`U^{(0)}` also holds
       neighbours of arriving points whose own nearest one stays; only those whose neighbours change are in it here.
    """

    _method = "mini-batch-scc"
    _checks: ClassVar[dict[str, Check]] = {
        **NeighborTree._checks,
        "n_neighbors": integer(low=1),
        "n_rounds": integer(low=1),
        "thresholds": _check_thresholds,
        "batch_size": optional(integer(low=1)),
    }

    metric: Any = "cosine"
    _: KW_ONLY
    n_neighbors: int = 25
    n_rounds: int = 400
    thresholds: Any = "linear"
    batch_size: int | None = None
    search: str = "auto"
    n_clusters: int | None = None
    distance_threshold: float | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    # --- inside -------------------------------------------------------------------------------------------------------

    @property
    def _thresholds(self) -> np.ndarray:
        if not isinstance(self.thresholds, str):
            return np.asarray(self.thresholds, dtype=np.float64)
        steps = np.linspace if self.thresholds == "linear" else np.geomspace
        last = 1.0 / self.n_rounds if self.thresholds == "linear" else _LAST
        return np.asarray(steps(1.0, last, self.n_rounds))

    def _make_graph(self, state: State) -> Any:
        return _core.OnlineLevels(state.tree, self.n_neighbors, self._thresholds)

    def _weigh(self, state: State, value: np.ndarray, there: np.ndarray) -> np.ndarray:
        name = state.rows.similarity.name
        if name == "cosine":
            return np.clip(0.5 + 0.5 * value, 0.0, 1.0)
        if state.scale is None:
            state.scale = typical(np.maximum(value, 0.0), there) if name == "sqeuclidean" else _largest(value, there)
        scale = state.scale or 1.0
        return scale / (scale + value) if name == "sqeuclidean" else np.maximum(value / scale, 0.0)

    def _unweigh(self, state: State, weight: np.ndarray) -> np.ndarray:
        name = state.rows.similarity.name
        if name == "cosine":
            return 2.0 * weight - 1.0
        scale = state.scale or 1.0
        if name == "dot":
            return scale * weight
        with np.errstate(divide="ignore"):
            return np.where(weight > 0.0, scale / weight - scale, np.inf)

    def _add(self, state: State, named: list[Hashable], X: np.ndarray, weight: np.ndarray, report: Progress) -> None:
        step = self.batch_size or max(len(X), 1)
        for start in range(0, len(X), step):
            batch = slice(start, start + step)
            super()._add(state, named[batch], X[batch], weight[batch], report)
            state.graph.update()

    def _update(self, state: State, known: list[Hashable], X: np.ndarray, weight: np.ndarray) -> None:
        super()._update(state, known, X, weight)
        state.graph.update()

    def _own_arrays(self, state: State) -> dict[str, dict[str, np.ndarray]]:
        end = state.tree.capacity
        return {"level": {"of": state.graph.levels()[:end], "best": state.graph.best()[:end]}}

    def _restored(self, state: State, parts: dict[str, dict[str, np.ndarray]]) -> None:
        super()._restored(state, parts)
        state.graph.restore(parts["level"]["of"], parts["level"]["best"])

    def _heights(self, state: State, parent: np.ndarray, node: np.ndarray, n: int) -> np.ndarray:
        below = np.append(self._thresholds, 0.0)
        similarity = below[np.maximum(state.graph.levels()[node] - 1, 0)]
        name = state.rows.similarity.name
        scale = state.scale or 1.0
        if name == "cosine":
            height = 2.0 * (1.0 - similarity)
        elif name == "sqeuclidean":
            height = scale / np.maximum(similarity, 0.5 * self._thresholds[-1]) - scale
        else:
            height = scale * (1.0 - similarity)
        height[:n] = 0.0
        return height


def _largest(value: np.ndarray, there: np.ndarray) -> float | None:
    most = float(value[there].max(initial=0.0))
    return most if most > 0 else None
