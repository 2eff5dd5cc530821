"""The state of an online tree as values and arrays, and back.

Arrays from a folder are checked against one table of types, against each other and, in the native core, against the
rules of the tree and of the lists of neighbours, before anything works on them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cladify import _core
from cladify.online._items import numbers_in
from cladify.online._labels import StableLabels
from cladify.online._state import LISTS, LOG, State

__all__ = ["dump", "load", "raw_lists"]

_TREE = ("parent", "left", "right", "before", "after", "states", "free", "size", "cross", "sums")
_RAW = ("start", "edges", "lost")
#: An edge as it stands in memory.
_EDGE = np.dtype([("to", "<i4"), ("weight", "<f4"), ("mine", "|i1"), ("theirs", "|i1"), ("unused", "<u2")])
_PARTS = ("tree", "items", "search", "rows", "graph", "level", "buffer")
#: Type and number of dimensions of every array that a folder may hold.
_TABLE: dict[str, tuple[str, int]] = {
    **{f"tree_{name}": ("<i4", 1) for name in ("parent", "left", "right", "before", "after", "free")},
    **{f"tree_{name}": ("<f8", 1) for name in ("size", "cross", "sums")},
    "tree_states": ("|i1", 1),
    "items_slots": ("<i4", 1),
    "items_leaves": ("<i4", 1),
    "items_weight": ("<f8", 1),
    "search_z": ("<f4", 2),
    "search_bias": ("<f4", 1),
    "search_free": ("<i4", 1),
    "search_centre": ("<f4", 2),
    "search_list": ("<i4", 1),
    "rows_centre": ("<f8", 1),
    **{f"graph_{name}": ("<i4", 1) for name in ("from", "to")},
    "graph_weight": ("<f4", 1),
    "graph_start": ("<i8", 1),
    "graph_edges": ("|u1", 1),
    **{f"graph_{name}": ("|i1", 1) for name in ("mine", "theirs", "lost")},
    **{f"level_{name}": ("<i4", 1) for name in ("of", "best", "awake")},
    **{f"level_{name}": ("<f8", 1) for name in ("scale", "tried")},
    "buffer_node": ("<i4", 1),
    "buffer_best": ("<i8", 1),
    "buffer_similarity": ("<f8", 1),
}
#: Types of the values beside them.
_VALUES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("root", "version", "width", "changed"), (int,)),
    "seconds": (int, float),
    "scale": (int, float, type(None)),
    "counts": (list,),
    **dict.fromkeys(("items", "search", "rows", "labels"), (dict,)),
}
_MAY_BE_INFINITE = ("search_bias", "buffer_similarity")


def dump(
    state: State, extra: dict[str, dict[str, np.ndarray]], lists: Literal["columns", "raw"] | None = "columns"
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The full state as values and arrays.

    Parameters
    ----------
    extra : dict
        Arrays of the method's own: ``level`` and ``buffer``.
    lists : {"columns", "raw"}, optional
        How lists of neighbours come, which are most of what there is: a column a property, or as they stand in memory.
    """
    *columns, root, version = state.tree.state()
    meta: dict[str, Any] = {"root": root, "version": state.first_version + version, "scale": state.scale}
    meta |= {"width": state.tree.width, "changed": state.changed, "seconds": state.seconds, "counts": state.counts}
    meta["labels"] = state.labels.dump()
    parts: dict[str, dict[str, np.ndarray]] = {"tree": dict(zip(_TREE, columns, strict=True)), **extra}
    for name in ("items", "search", "rows"):
        meta[name], parts[name] = getattr(state, name).dump()
    if state.graph is not None and lists == "columns":
        parts["graph"] = dict(zip(LISTS, state.graph.lists(state.tree), strict=True))
    elif state.graph is not None and lists == "raw":
        parts["graph"] = dict(zip(_RAW, state.graph.raw_lists(state.tree), strict=True))
    return meta, {f"{part}_{name}": array for part, arrays in parts.items() for name, array in arrays.items()}


def load(state: State, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Fills a new state; returns the arrays of ``graph``, ``level`` and ``buffer``, which the method restores.

    Anything that does not fit is a ValueError.
    """
    _check_types(meta, arrays)
    part = {
        kind: {name[len(kind) + 1 :]: array for name, array in arrays.items() if name.startswith(kind + "_")}
        for kind in _PARTS
    }
    missing = [name for name in _TREE if name not in part["tree"]]
    if part["graph"]:
        missing += [name for name in (_RAW if "edges" in part["graph"] else LISTS) if name not in part["graph"]]
    if missing:
        raise ValueError(f"array {missing[0]!r} is missing")
    columns = [part["tree"][name] for name in _TREE]
    _check_items(meta, part)
    arguments: list[Any] = [meta["width"], LOG, *columns, meta["root"], meta["version"]]
    state.tree = _core.MutableTree.restore(*arguments)
    if not np.array_equal(np.sort(part["items"]["leaves"]), state.tree.leaves()):
        raise ValueError("the items are not the leaves of the tree")
    scale = meta["scale"]
    state.scale = None if scale is None else float(scale)
    state.changed, state.seconds = int(meta["changed"]), float(meta["seconds"])
    state.counts = [int(count) for count in meta["counts"]]
    for name in ("items", "search", "rows"):
        getattr(state, name).load(meta[name], part[name])
    if len(state.items) != len(part["items"]["slots"]):
        raise ValueError("an id is there twice")
    state.labels = StableLabels.load(meta["labels"])
    return {name: part[name] for name in ("graph", "level", "buffer")}


def raw_lists(graph: dict[str, np.ndarray], nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists of neighbours as they stand in memory, from either form."""
    if "edges" in graph:
        return graph["start"], graph["edges"], graph["lost"]
    of, lost = graph["from"], graph["lost"]
    if len(lost) > nodes or (len(of) and (of.min() < 0 or of.max() >= len(lost) or (np.diff(of) < 0).any())):
        raise ValueError("a list of neighbours belongs to no leaf, or is out of order")
    if any(len(graph[name]) != len(of) for name in LISTS[1:-1]):
        raise ValueError("columns of neighbours are of unequal length")
    edges = np.zeros(len(of), _EDGE)
    for name in LISTS[1:-1]:
        edges[name] = graph[name]
    start = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(lost)))]).astype(np.int64)
    return start, edges.view(np.uint8), lost


def _check_types(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name, kinds in _VALUES.items():
        if type(meta[name]) not in kinds:
            raise ValueError(f"{name} is {str(meta[name])[:40]!r}")
    for name, array in arrays.items():
        if name not in _TABLE:
            raise ValueError(f"array {name!r} is not known")
        dtype, ndim = _TABLE[name]
        if array.dtype != np.dtype(dtype) or array.ndim != ndim:
            raise ValueError(f"array {name!r} has type {array.dtype} and {array.ndim} dimensions")
        if array.dtype.kind == "f" and name not in _MAY_BE_INFINITE and array.size:
            ends = array.min(), array.max()  # which are NaN where anything is
            if not np.isfinite(ends).all():
                raise ValueError(f"array {name!r} is not finite")


def _check_items(meta: dict[str, Any], part: dict[str, dict[str, np.ndarray]]) -> None:
    """Ids, slots, rows and free slots belong to each other."""
    ids, items, search = meta["items"]["ids"], part["items"], part["search"]
    slots, used = items["slots"], len(search["bias"])
    if not isinstance(ids, list) or not set(map(type, ids)) <= {int, str}:
        raise ValueError("ids are whole numbers or strings")
    if type(meta["items"]["next"]) is not int or max(numbers_in(ids), default=-1) >= meta["items"]["next"]:
        raise ValueError("the next id is taken")
    if not len(ids) == len(slots) == len(items["leaves"]) == len(items["weight"]):
        raise ValueError("ids, slots, leaves and weights are of unequal number")
    both = np.concatenate([slots, search["free"]])
    is_once = len(both) == used and both.min(initial=0) >= 0 and both.max(initial=-1) < used
    if not is_once or not (np.bincount(both, minlength=used) == 1).all() or len(search["z"]) < used:
        raise ValueError("slots of rows are lost or used twice")
    there = np.isfinite(search["bias"])
    if there.sum() != len(slots) or not there[slots].all():
        raise ValueError("the rows are not those of the items")
    d = meta["rows"]["n_features"]
    width = meta["width"]
    if len(ids) and (search["z"].shape[1] != d or width not in (0, d + 1)):
        raise ValueError("the rows are of another length")
    if "centre" in part["rows"] and part["rows"]["centre"].shape != (d,):
        raise ValueError("the centre is of another length")
    if "list" in search:
        cells = search["centre"]
        if cells.shape[1] != d or len(search["list"]) != len(slots) or not len(cells):
            raise ValueError("the cells do not fit the rows")
        if search["list"].min(initial=0) < 0 or search["list"].max(initial=0) > len(cells):
            raise ValueError("a row is in no cell")
