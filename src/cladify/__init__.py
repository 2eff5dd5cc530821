"""cladify builds, scores, keeps up to date and explores hierarchies over embedding vectors.

>>> import numpy as np, cladify
>>> tree = cladify.fit(np.array([[0.0], [1.0], [10.0], [12.0]]), method="hac")
>>> tree.cut(n_clusters=2).tolist()
[0, 0, 1, 1]

Public names load on first use, so that ``import cladify`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cladify._version import __version__
from cladify.methods import METHODS

#: Public name -> module it lives in. Those of the methods come from their registry.
_PUBLIC = {
    "ClusterDag": "cladify.tree",
    "NeighborGraph": "cladify.data",
    "OHC": "cladify.overlap",
    "CladifyError": "cladify.errors",
    "CladifyWarning": "cladify.errors",
    "Taxonomy": "cladify.taxonomy",
    "Tree": "cladify.tree",
    "fit": "cladify._fit",
    "layout": "cladify.maps",
    "refine": "cladify.refinement",
    "score": "cladify.objectives",
    "scoreboard": "cladify.objectives",
    **{method.estimator: method.module for method in METHODS.values()},
}
_MODULES = {
    "agglomerate",
    "data",
    "datasets",
    "distributed",
    "divide",
    "embed",
    "entities",
    "errors",
    "explore",
    "flat",
    "graph",
    "graphtree",
    "hyperbolic",
    "io",
    "maps",
    "methods",
    "metrics",
    "neighbors",
    "objectives",
    "online",
    "overlap",
    "plot",
    "refinement",
    "similarity",
    "taxonomy",
    "text",
    "tree",
}

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"cladify.{name}")
    raise AttributeError(f"module 'cladify' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
