"""Neighbour graphs: ``cladify.neighbors(X, k)`` builds one, :class:`NeighborGraph` is one.

``cladify.neighbors`` is both this module and the function that users call most of it, so the module object is made
callable: ``cladify.neighbors(X, k=25)`` and ``from cladify.neighbors import NeighborGraph`` work, in any order of
imports. Inside the package the function is ``cladify.neighbors.build.neighbors``.
"""

import sys
from types import ModuleType
from typing import Any

from cladify.data._exact import Neighborhoods
from cladify.data.graph import NeighborGraph
from cladify.neighbors.build import neighbors, query

__all__ = ["NeighborGraph", "Neighborhoods", "neighbors", "query"]


class _CallableModule(ModuleType):
    __wrapped__ = staticmethod(neighbors)  # for inspect.signature and help

    def __call__(self, *args: Any, **kwargs: Any) -> NeighborGraph:
        return neighbors(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
