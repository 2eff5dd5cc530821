"""The state of an online estimator, beside its parameters."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cladify import _core
from cladify.neighbors._growing import GrowingRows
from cladify.online._items import Items
from cladify.online._labels import StableLabels
from cladify.online._rows import OnlineRows
from cladify.tree import Tree

__all__ = ["LISTS", "LOG", "Held", "State", "Undo"]

LOG = 4_000_000  # events of the change log
LISTS = ("from", "to", "weight", "mine", "theirs", "lost")  # columns of the lists of neighbours


class Held(NamedTuple):
    """Items with their rows and weights, in order of arrival."""

    ids: list[Hashable]
    rows: np.ndarray
    weight: np.ndarray


class Undo:
    """A change that is under way, and its items as they were before it.

    Parameters
    ----------
    kind : str
    items : Held
        Without rows where the change adds the items.
    next_id : int
    metric : tuple
        Number of columns and origin of the rows.
    """

    def __init__(self, kind: str, items: Held, next_id: int, metric: tuple[dict[str, Any], dict[str, np.ndarray]]):
        self.kind, self.items, self.next_id, self.metric = kind, items, next_id, metric
        self.folder: Path | None = None  # that has the state before the change
        self.done = False  # whether tree and folder are changed, and only ids of removed items may be left to drop


class State:
    """Items, rows, tree and neighbours.

    Parameters
    ----------
    metric, search, seed, n_jobs :
        Parameters of the estimator.
    """

    def __init__(self, metric: Any, search: Any, seed: int, n_jobs: int | None) -> None:
        self.rows = OnlineRows(metric)
        self.items = Items()
        self.search = GrowingRows(method=search, seed=seed, n_jobs=n_jobs)
        self.labels = StableLabels()
        self.tree: Any = None
        self.frozen: tuple[int, Tree, np.ndarray] | None = None
        self.kept: np.ndarray | None = None  # the rows as they came, by leaf, for methods that need them
        self.graph: Any = None  # of neighbours, for methods that keep one
        self.patched_lists: list[tuple[np.ndarray, ...]] = []  # of neighbours, while the state is read from a folder
        self.buffer: Any = None  # of clusters, for a method that keeps one
        self.counts = [0, 0, 0]  # rearrangements of the tree so far, by kind
        self.seconds = 0.0  # that changes took
        self.changed = 0  # items that came or went since the whole tree was searched
        self.scale: float | None = None  # unit of the distances of edges
        self.first_version = 0  # version of the tree when this state was made

    @property
    def version(self) -> int:
        return self.first_version + (0 if self.tree is None else int(self.tree.version))

    @property
    def oldest_version(self) -> int:
        return self.first_version + (0 if self.tree is None else int(self.tree.oldest_version))

    def start(self, width: int) -> None:
        self.tree = _core.MutableTree(width, LOG)

    def undo(self, kind: str, ids: list[Hashable], *, known: bool) -> Undo:
        """The undo record of a change to items that are in the tree already, or are not yet."""
        if not known:
            return Undo(kind, Held(ids, np.empty((0, 0)), np.empty(0)), self.items.next_id, self.rows.dump())
        slots = self.items.slots_of(ids)
        held = Held(ids, self.rows_of(slots), self.items.weight_of(slots))
        return Undo(kind, held, self.items.next_id, self.rows.dump())

    def rows_of(self, slots: np.ndarray) -> np.ndarray:
        """Rows that give the same features again."""
        if not len(slots):
            return np.empty((0, self.rows.n_features or 0))
        if self.kept is not None:
            return self.kept[self.items.leaf_of(slots)]
        return self.rows.originals(self.search.z(slots))

    def before(self, undo: Undo) -> Held:
        """All items as they were before a change that ended in the middle.

        Ids that are in the tree before a change stay in their places until it is done, and rows of other items are
        never written over.
        """
        place = {item: i for i, item in enumerate(undo.items.ids)}
        is_new = not len(undo.items.rows)
        ids = [item for item in self.items.entries() if not (is_new and item in place)]
        slots = self.items.slots_of(ids)
        rows, weight = self.rows_of(slots), self.items.weight_of(slots)
        if not is_new:
            at = [(i, place[item]) for i, item in enumerate(ids) if item in place]
            here, there = (list(column) for column in zip(*at, strict=True))
            rows[here], weight[here] = undo.items.rows[there], undo.items.weight[there]
        return Held(ids, rows, weight)
