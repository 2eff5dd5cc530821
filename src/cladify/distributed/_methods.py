"""The methods that have a distributed form, and what each is run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cladify.tree import Tree

__all__ = ["DISTRIBUTED", "Distributed"]


@dataclass(frozen=True)
class Distributed:
    """A distributed form of a method.

    Attributes
    ----------
    takes : tuple of str
        ``"vectors"`` (:class:`ShardedVectors`), ``"graph"`` (:class:`ShardedGraph`), or both, in this order.
    module, name : str
        Where its function is: ``function(*taken, estimator, client, report) -> Tree``.
    works : bool
        Whether it also takes ``work``, a folder in which it leaves what its steps hand on.
    weights : bool
        Whether it also takes ``sample_weight``.
    folders : bool
        Whether it also takes ``out``, a folder for a tree that need not fit in memory.
    """

    takes: tuple[str, ...]
    module: str
    name: str
    works: bool = False
    weights: bool = False
    folders: bool = False

    @property
    def run(self) -> Callable[..., Tree]:
        function: Any = getattr(import_module(f"cladify.distributed.{self.module}"), self.name)
        return function


_ROUNDS = Distributed(("graph",), "rounds", "rounds_tree", works=True, weights=True, folders=True)
_DIVIDE = Distributed(("vectors",), "divide", "divide_tree")

DISTRIBUTED: dict[str, Distributed] = {
    "affinity": _ROUNDS,
    "bisect": _DIVIDE,
    "graph": Distributed(("vectors", "graph"), "graph_tree", "graph_tree", works=True),
    "kmeans": _DIVIDE,
    "random-cut": Distributed(("vectors",), "random_cut", "random_cut_tree"),
    "reciprocal": _ROUNDS,
    "scc": _ROUNDS,
}
