"""The methods that have a distributed form, and the data that each takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["METHODS", "Distributed", "supports"]


@dataclass(frozen=True)
class Distributed:
    """A distributed form of a method.

    Attributes
    ----------
    takes : tuple of str
        ``"vectors"`` (:class:`ShardedVectors`), ``"graph"`` (:class:`ShardedGraph`), or both, in this order.
    module, name : str
        Where its function is: ``function(*taken, estimator, job) -> Tree``.
    weights : bool
        Whether it also takes ``sample_weight``.
    folders : bool
        Whether it also takes ``out``, a folder for a tree that need not fit in memory.
    """

    takes: tuple[str, ...]
    module: str
    name: str
    weights: bool = False
    folders: bool = False

    @property
    def run(self) -> Callable[..., Any]:
        function: Any = getattr(import_module(f"cladify.distributed._stages.{self.module}"), self.name)
        return function


_ROUNDS = Distributed(("graph",), "rounds", "rounds_tree", weights=True, folders=True)
_DIVIDE = Distributed(("vectors",), "divide", "divide_tree")

METHODS: dict[str, Distributed] = {
    "affinity": _ROUNDS,
    "bisect": _DIVIDE,
    "graph": Distributed(("vectors", "graph"), "graph_tree", "graph_tree"),
    "kmeans": _DIVIDE,
    "random-cut": Distributed(("vectors",), "random_cut", "random_cut_tree"),
    "reciprocal": _ROUNDS,
    "scc": _ROUNDS,
}


def supports(method: str) -> bool:
    """Whether a method has a distributed form."""
    return method in METHODS
