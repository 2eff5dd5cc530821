"""Past one machine: the same calls over Dask, ``cladify.fit(X, method="scc", engine="dask", client=client)``.

The data come in parts: rows of a Dask array, or of a folder of shards, which workers read when a task needs them. A
stage is one task a part, and data between parts is cut into one piece a receiver. See ``docs/scale.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Public name -> module it lives in.
_PUBLIC = {
    "ShardedGraph": "cladify.distributed.graph_parts",
    "ShardedVectors": "cladify.distributed.sources",
    "TreeFolder": "cladify.distributed.tree_folder",
    "check": "cladify.distributed.tree_folder",
    "is_tree_folder": "cladify.distributed.tree_folder",
    "open_vectors": "cladify.distributed.sources",
}

__all__ = ["ShardedGraph", "ShardedVectors", "TreeFolder", "check", "is_tree_folder", "open_vectors"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'cladify.distributed' has no attribute {name!r}")
