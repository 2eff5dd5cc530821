"""Past one machine: the same calls over Dask, ``cladify.fit(X, method="scc", engine="dask", client=client)``.

The data are parts: rows of a Dask array, or of a folder of shards, which workers read when a task needs them. Every
stage is one task a part, and what passes between parts is cut into one piece a destination. ``docs/scale.md`` has the
figures.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Public name -> module it lives in.
_PUBLIC = {
    "ShardedGraph": "cladify.distributed.graph_parts",
    "ShardedVectors": "cladify.distributed.sources",
    "TreeFolder": "cladify.distributed.tree_folder",
    "open_vectors": "cladify.distributed.sources",
}

__all__ = ["ShardedGraph", "ShardedVectors", "TreeFolder", "open_vectors"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'cladify.distributed' has no attribute {name!r}")
