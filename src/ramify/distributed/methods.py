"""The methods that have a distributed form, and what each is run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ramify.tree import Tree

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
    """

    takes: tuple[str, ...]
    module: str
    name: str

    @property
    def run(self) -> Callable[..., Tree]:
        function: Any = getattr(import_module(f"ramify.distributed.{self.module}"), self.name)
        return function


_ROUNDS = Distributed(("graph",), "rounds", "rounds_tree")
_DIVIDE = Distributed(("vectors",), "divide", "divide_tree")

DISTRIBUTED: dict[str, Distributed] = {
    "affinity": _ROUNDS,
    "bisect": _DIVIDE,
    "graph": Distributed(("vectors", "graph"), "graph_tree", "graph_tree"),
    "kmeans": _DIVIDE,
    "random-cut": Distributed(("vectors",), "random_cut", "random_cut_tree"),
    "reciprocal": _ROUNDS,
    "scc": _ROUNDS,
}
