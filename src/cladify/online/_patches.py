"""What has changed of a state since it was last written or read: small beside all of it, and enough to have it again.

A patch says which entries of which arrays are others by now, and what was done to the lists of neighbours, edge by
edge. To read is to put that in: nothing is worked out again, so that a tree from a snapshot and patches is the same,
bit for bit, as one from a snapshot alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from cladify.online._snapshot import dump
from cladify.online._state import State
from cladify.online._storage import Change, Content

__all__ = ["PATCH", "Mark", "marked", "patch", "patched", "patches_of"]

PATCH = "patch"
_STEPS = ("leaf", "to", "weight", "what")  # columns of what was done to lists of neighbours
_ITEMS = ("items_slots", "items_leaves", "items_weight")
_MOST = 0.25  # share of an array that may be others before all of it is written


class Mark(NamedTuple):
    """A state as a folder holds it: where that is, and all but rows and lists of neighbours, which note changes."""

    at: tuple[str, int]  #: the snapshot, and the last change behind it
    ids: list[Hashable]
    arrays: dict[str, np.ndarray]


def marked(at: tuple[str, int], state: State, arrays: dict[str, np.ndarray]) -> Mark:
    """The mark of a state that was just written as ``arrays``, or read from them; what changes from now on is noted."""
    state.graph.list_steps()
    state.search.changed_slots()
    some = {name: array for name, array in arrays.items() if name != "search_z" and not name.startswith("graph_")}
    return Mark(at, list(state.items.entries()), some)


def patch(mark: Mark, state: State, extra: Any) -> tuple[dict[str, Any], dict[str, np.ndarray], Mark] | None:
    """Values and arrays that lead from a mark to the state as it is, and its mark; None where all of it is shorter."""
    steps = state.graph.list_steps()
    if steps is None:
        return None
    meta, now = dump(state, extra, None)
    ids = meta["items"].pop("ids")
    z = now.pop("search_z")
    before = dict(mark.arrays)
    gone, kept = _gone(mark.ids, ids)
    if len(gone):
        before |= {name: np.delete(before[name], gone) for name in _ITEMS}
    found: dict[str, np.ndarray] = {"items_gone": gone}
    for name, array in now.items():
        found |= _difference(name, before.get(name), array)
    slots = state.search.changed_slots()
    found |= {"rows_at": slots, "rows_to": z[slots]}
    found |= {f"lists_{name}": array for name, array in zip(_STEPS, steps, strict=True)}
    return {"kind": PATCH, "ids": ids[kept:], "state": meta}, found, Mark(mark.at, ids, now)


def patches_of(content: Content) -> list[Change]:
    """The patches right behind a snapshot, up to the first that is missing."""
    numbered = enumerate(content.changes, 1)
    return [
        change for _, change in takewhile(lambda at: at[1].number == at[0] and at[1].meta["kind"] == PATCH, numbered)
    ]


def patched(content: Content) -> Content:
    """A snapshot with its patches put in; what does not fit is a ValueError."""
    patches = patches_of(content)
    found = content._replace(changes=content.changes[len(patches) :])
    for change in patches:
        found = _put_in(found, change)
    return found


def _put_in(found: Content, change: Change) -> Content:
    """One more patch. Arrays are changed in place, and grow in their rooms."""
    meta, arrays, rooms, new = change.meta["state"], dict(found.arrays), dict(found.rooms), dict(change.arrays)
    ids = found.meta["state"]["items"]["ids"]
    gone = new.pop("items_gone")
    if len(gone):
        keep = np.ones(len(ids), dtype=bool)
        keep[_places(gone, len(ids))] = False
        ids = [item for item, stays in zip(ids, keep.tolist(), strict=True) if stays]
        for name in _ITEMS:
            arrays[name] = arrays[name][keep]
            rooms.pop(name, None)
    meta = {**meta, "items": {**meta["items"], "ids": [*ids, *change.meta["ids"]]}}
    slots, rows = new.pop("rows_at"), new.pop("rows_to")
    lists = tuple(new.pop(f"lists_{name}") for name in _STEPS)
    for name in {key.partition("@")[0] for key in new}:
        if name in new:
            arrays[name] = new[name].copy()  # what comes next changes it
            rooms.pop(name, None)
            continue
        n, more = len(arrays[name]), new.get(f"{name}@end", ())
        arrays[name] = _grown(name, arrays[name], n + len(more), rooms)
        arrays[name][n:] = more
        arrays[name][_places(new[f"{name}@at"], n)] = new[f"{name}@to"]
    used = len(arrays["search_bias"])
    arrays["search_z"] = _grown("search_z", arrays["search_z"], used, rooms)
    arrays["search_z"][_places(slots, used)] = rows
    return found._replace(meta={**found.meta, "state": meta}, arrays=arrays, rooms=rooms, lists=(*found.lists, lists))


def _grown(name: str, array: np.ndarray, size: int, rooms: dict[str, np.ndarray]) -> np.ndarray:
    """The array with so many entries; what is new is not set."""
    if len(array) >= size:
        return array[:size]
    if name not in rooms or len(rooms[name]) < size:
        rooms[name] = np.zeros((size + size // 8, *array.shape[1:]), dtype=array.dtype)
        rooms[name][: len(array)] = array
    return rooms[name][:size]


def _places(at: np.ndarray, end: int) -> np.ndarray:
    if at.dtype.kind not in "iu" or (len(at) and (at.min() < 0 or at.max() >= end)):
        raise ValueError("a change is outside of its array")
    return at


def _gone(before: list[Hashable], now: list[Hashable]) -> tuple[np.ndarray, int]:
    """Positions of ids that are not there any more, and how many are still at their places among the others."""
    nothing = np.empty(0, dtype=np.int64)
    if now[: len(before)] == before:
        return nothing, len(before)
    there = set(now)
    gone = np.array([i for i, item in enumerate(before) if item not in there], dtype=np.int64)
    kept = [item for item in before if item in there]
    if now[: len(kept)] == kept:
        return gone, len(kept)
    return np.arange(len(before)), 0  # some left and came back


def _difference(name: str, before: np.ndarray | None, now: np.ndarray) -> dict[str, np.ndarray]:
    if before is None or before.dtype != now.dtype or before.ndim != now.ndim or before.ndim > 1:
        return {name: now}
    n = len(before)
    if len(now) < n:
        return {name: now}
    same = before.view(f"u{before.itemsize}") == now[:n].view(f"u{now.itemsize}")
    at = np.flatnonzero(~same)
    if len(at) > _MOST * n:
        return {name: now}
    found = {f"{name}@at": at.astype(np.int32 if n < 2**31 else np.int64), f"{name}@to": now[at]}
    return found if len(now) == n else {**found, f"{name}@end": now[n:]}
