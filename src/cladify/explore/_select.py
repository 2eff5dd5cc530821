"""Some of the items: those that pass the filters of columns, a search, and a lasso around points of the map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.explore._plane import MOST_CORNERS, Plane
from cladify.explore._values import real

if TYPE_CHECKING:
    from cladify.explore._view import View

__all__ = ["plane_of", "selected", "selection"]

_MOST_GROUPS = 12
_MOST_PAGE = 200


def plane_of(view: View) -> Plane:
    """The map of a view, or an error that says how to get one."""
    if view.plane is None:
        raise InvalidInput("There is no map: it needs vectors (--vectors) or coordinates (--points).")
    return view.plane


def selected(view: View, values: Mapping[str, str]) -> np.ndarray | None:
    """Which places of the line of items an address asks for: ``filter``, ``q`` and ``polygon``; None for all."""
    found = view.columns.mask(view.columns.filters(values.get("filter", "")))
    if values.get("q", "").strip():
        here = view.found(values["q"][:200])
        found = here if found is None else found & here
    if values.get("polygon"):
        inside = plane_of(view).inside(_corners(values["polygon"]))
        found = inside if found is None else found & inside
    return found


def selection(view: View, values: Mapping[str, str], offset: int = 0, limit: int = 50) -> dict[str, Any]:
    """A page of what is selected, and the groups that most of it is in."""
    found = selected(view, values)
    found = view.is_shown if found is None else found & view.is_shown
    places = np.flatnonzero(found)
    rows = view.tree.leaf_order[places[offset : offset + min(limit, _MOST_PAGE)]]
    return {
        "total": len(places),
        "items": [view.item(int(row)) for row in rows],
        "groups": _groups(view, found, len(places)) if offset == 0 else [],
    }


def _groups(view: View, found: np.ndarray, total: int) -> list[dict[str, Any]]:
    tree = view.tree
    levels = [nodes for nodes, _ in view.levels if len(nodes) >= 8] or [tree.children(tree.root)]
    nodes = np.asarray(levels[0], dtype=np.int64)
    nodes = nodes[nodes >= tree.n_leaves]
    below = np.concatenate([[0], np.cumsum(found)])
    count = below[tree.last[nodes]] - below[tree.first[nodes]]
    best = np.argsort(-count, kind="stable")[:_MOST_GROUPS]
    return [
        {**view.record(int(nodes[i])), "count": int(count[i]), "share": float(count[i] / max(total, 1))}
        for i in best.tolist()
        if count[i]
    ]


def _corners(text: str) -> np.ndarray:
    parts = text[:4000].split(",")
    if len(parts) % 2 or not 6 <= len(parts) <= 2 * MOST_CORNERS:
        raise InvalidInput(f"polygon must be x,y,x,y,… with 3 to {MOST_CORNERS} corners.")
    numbers = [real({"polygon": part}, "polygon") for part in parts]
    return np.array(numbers).reshape(-1, 2)
