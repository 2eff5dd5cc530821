"""The state of an online tree as plain arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify import _core
from cladify.errors import FileError
from cladify.online._state import LISTS, LOG, State

__all__ = ["dump", "load"]

_TREE = ("parent", "left", "right", "before", "after", "states", "free", "size", "cross", "sums")


def dump(state: State) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Values and arrays that say all there is to say."""
    *columns, root, version = state.tree.state()
    arrays = {f"tree_{name}": column for name, column in zip(_TREE, columns, strict=True)}
    meta: dict[str, Any] = {"root": root, "version": version, "scale": state.scale, "width": state.tree.width}
    meta["changed"], meta["seconds"] = state.changed, state.seconds
    meta["labels"] = state.labels.dump()
    meta["items"], items = state.items.dump()
    meta["search"], search = state.search.dump()
    meta["rows"], rows = state.rows.dump()
    arrays |= {f"items_{k}": v for k, v in items.items()} | {f"search_{k}": v for k, v in search.items()}
    arrays |= {f"rows_{k}": v for k, v in rows.items()}
    if state.graph is not None:
        lists = zip(LISTS, state.graph.lists(state.tree), strict=True)
        arrays |= {f"graph_{name}": column for name, column in lists}
        arrays |= {f"level_{name}": column for name, column in state.graph_state().items()}
    return meta, arrays


def load(state: State, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Fills a new state."""
    part = {
        kind: {name[len(kind) + 1 :]: array for name, array in arrays.items() if name.startswith(kind + "_")}
        for kind in ("tree", "items", "search", "rows", "graph", "level")
    }
    if part["graph"] and (missing := [name for name in LISTS if name not in part["graph"]]):
        raise FileError(
            f"The tree was saved by an older version of cladify, whose lists of neighbours have no {missing[0]!r}; "
            "give its rows to a new one with partial_fit and save that, or open it with the version that saved it."
        )
    columns: list[Any] = [np.ascontiguousarray(part["tree"][name]) for name in _TREE]
    arguments: list[Any] = [meta["width"], LOG, *columns, meta["root"], meta["version"]]
    state.tree = _core.MutableTree.restore(*arguments)
    broken = state.tree.broken_rule(1e-4)
    if broken:
        raise FileError(f"The tree of the snapshot is not whole: {broken}. Restore the folder from a copy.")
    state.scale, state.changed, state.seconds = meta["scale"], meta["changed"], meta["seconds"]
    state.items.load(meta["items"], part["items"])
    state.search.load(meta["search"], part["search"])
    state.rows.load(meta["rows"], part["rows"])
    state.labels.load(meta["labels"])
    state.edges = (part["graph"] | part["level"]) or None
