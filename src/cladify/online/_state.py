"""What an online estimator holds beside its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify.neighbors._growing import GrowingRows
from cladify.online._items import Items
from cladify.online._labels import StableLabels
from cladify.online._rows import OnlineRows
from cladify.tree import Tree

__all__ = ["LISTS", "LOG", "State"]

LOG = 4_000_000  # events of the change log
LISTS = ("from", "to", "weight", "mine", "theirs", "lost")  # columns of the lists of neighbours


class State:
    def __init__(self, metric: Any, search: Any, seed: int, n_jobs: int | None) -> None:
        self.rows = OnlineRows(metric)
        self.items = Items()
        self.search = GrowingRows(method=search, seed=seed, n_jobs=n_jobs)
        self.labels = StableLabels()
        self.tree: Any = None
        self.frozen: tuple[int, Tree, np.ndarray] | None = None
        self.kept: np.ndarray | None = None  # the rows as they came, by leaf, for methods that need them
        self.graph: Any = None  # of neighbours, for methods that keep one
        self.buffer: Any = None  # of clusters, for a method that keeps one
        self.edges: dict[str, np.ndarray] | None = None  # of a graph that was read from a folder
        self.seconds = 0.0  # that changes took
        self.changed = 0  # items that came or went since the graph's upper scales were searched
        self.scale: float | None = None  # what distances of its edges are measured in

    def start(self, width: int) -> None:
        self.tree = _core.MutableTree(width, LOG)

    def graph_state(self) -> dict[str, np.ndarray]:
        """What lists of neighbours do not tell: scales of leaves, or levels of nodes."""
        end = self.tree.capacity
        if isinstance(self.graph, _core.OnlineLevels):
            return {"of": self.graph.levels()[:end], "best": self.graph.best()[:end]}
        graph = self.graph
        return {"scale": graph.scales()[:end], "tried": graph.tried()[:end], "awake": graph.awake()}
