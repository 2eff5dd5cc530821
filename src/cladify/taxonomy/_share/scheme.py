"""A taxonomy in plain values, as other formats can say it: groups, names, items and ids; and back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.text import printable
from cladify.errors import CladifyWarning, InvalidInput
from cladify.taxonomy._building import level_sizes
from cladify.taxonomy._edits import Edit, Edits
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._items import as_items
from cladify.taxonomy._kept import Kept
from cladify.taxonomy._names.names import Keyword
from cladify.taxonomy._read.geometry import spread_examples
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Group", "Item", "Scheme", "from_dict", "scheme_of", "snapshot_of"]

_JOINED = " > "
_LONG = 200


@dataclass
class Group:
    """A group: its name, the group above it (None at the top), its keywords, its height and its finest level."""

    name: str
    parent: Any = None
    keywords: list[str] = field(default_factory=list)
    height: float | None = None
    is_hidden: bool = False
    rank: int | None = None


@dataclass
class Item:
    """An item: the group that it is in, what it is, and its ids, one for each of the scheme's ``id_names``."""

    group: Any
    value: Any
    ids: tuple[Any, ...] = ()


@dataclass
class Scheme:
    """Groups by any key, items in their order, and suggested numbers of clusters with their stability."""

    groups: dict[Any, Group]
    items: list[Item]
    id_names: tuple[str | None, ...] = ()
    levels: list[tuple[int, float | None]] = field(default_factory=list)
    has_items: bool = True


def scheme_of(now: Snapshot, items: bool = True) -> Scheme:
    """The taxonomy as it stands, edits done. Keys are the nodes, so that children come before parents."""
    tree, names, kept = now.tree, now.names, now.facts.kept
    groups = {
        v: Group(
            name,
            None if tree.parent[v] < 0 else int(tree.parent[v]),
            now.keywords(v),
            float(tree.height[v]),
            v in now.hidden,
            now.ranks.get(v),
        )
        for v, name in names.items()
    }
    rows: list[Item] = []
    if items:
        ids = [values.to_pylist() for values in kept.ids]
        above = np.maximum(tree.parent[: tree.n_leaves], 0 if tree.n_leaves == 1 else tree.n_leaves).tolist()
        values = now.facts.item_list
        rows = [Item(above[i], values[i], tuple(level[i] for level in ids)) for i in range(tree.n_leaves)]
    return Scheme(groups, rows, kept.id_names, list(now.facts.sizes), now.facts.has_items)


def snapshot_of(scheme: Scheme, columns: pa.Table | None = None) -> Snapshot:
    """The taxonomy that a scheme describes.

    Groups without items and without groups below them are the items where there are no others. A group with a single
    one below it is one with it: its name comes first. Groups left empty are left out, with a warning.
    """
    import pyarrow as pa

    groups, items = dict(scheme.groups), list(scheme.items)
    above = {key: group.parent for key, group in groups.items()}
    _check_parents(above)
    if not items:
        inner = set(above.values())
        leaves = [key for key in groups if key not in inner]
        items = [Item(above[key], groups[key].name) for key in leaves]
        for key in leaves:
            del groups[key], above[key]
    if not items:
        raise InvalidInput("there are no items and no groups.")
    order, parent, rows = _arranged(groups, above, [item.group for item in items])
    n = len(items)
    heights = [groups[key].height if key in groups else None for key in order]
    tree = Tree(np.array([*rows, *parent], np.int64), _heights(heights, [*rows, *parent], n))
    named = [groups.get(key, Group("all items")) for key in order]
    sizes = [level for level in scheme.levels if 1 <= level[0] <= n] or level_sizes(tree)
    ranks = [group.rank for group in named if isinstance(group.rank, int) and -1 <= group.rank < len(sizes)]
    facts = Facts(
        base=tree,
        items=as_items([item.value for item in items], n),
        has_items=scheme.has_items,
        kept=Kept(
            tuple(as_items([item.ids[i] for item in items], n, what="ids") for i in range(len(scheme.id_names))),
            scheme.id_names,
            pa.table({}) if columns is None else columns,
        ),
        names=[printable(group.name) or "unnamed" for group in named],
        keywords=[[Keyword(printable(word), 0.0, 0.0, ()) for word in group.keywords] for group in named],
        geometry=spread_examples(tree),
        confidence=None,
        also=None,
        sizes=sizes,
        full_tree=tree,
        ranks=np.array(ranks, np.int8) if len(ranks) == len(named) else None,
    )
    hidden = tuple(n + i for i, group in enumerate(named) if group.is_hidden and i < len(named) - 1)
    return Snapshot.of(facts, Edits(tuple(Edit("hide", (v,)) for v in hidden)))


def _check_parents(above: Mapping[Any, Any]) -> None:
    """Raise where a group is above itself, or lies in one that is not there."""
    state: dict[Any, int] = {}
    for key in above:
        path = []
        while key is not None and key not in state:
            if key not in above:
                raise InvalidInput(f"a group lies in {key!r}, which is not there.")
            state[key] = 1
            path.append(key)
            key = above[key]
        if key is not None and state[key] == 1 and path:
            raise InvalidInput(f"group {key!r} lies in itself.")
        for done in path:
            state[done] = 2


def _arranged(
    groups: dict[Any, Group], above: dict[Any, Any], places: Sequence[Any]
) -> tuple[list[Any], list[int], list[int]]:
    """Keys of the groups, children before parents and the root last; parents of the groups and of the items."""
    unknown = {key for key in places if key is not None and key not in groups}
    if unknown:
        raise InvalidInput(f"an item lies in {min(map(str, unknown))!r}, which is not a group.")
    count: dict[Any, int] = {}
    for key in (*above.values(), *places):
        count[key] = count.get(key, 0) + 1
    empty = _drop_empty(groups, above, count)
    if empty:
        warnings.warn(CladifyWarning(f"{empty} groups without items were left out."), stacklevel=6)
    occupied, only = set(places), {parent: key for key, parent in above.items()}
    for key in [key for key in groups if count.get(key) == 1 and key not in occupied]:  # one with the one below it
        below, parent = only[key], above.pop(key)
        joined = f"{groups[key].name}{_JOINED}{groups[below].name}"
        groups[below].name = joined if len(joined) <= _LONG else groups[below].name
        above[below] = parent
        only[parent] = below
        del groups[key]
    places = _lifted(groups, above, places)
    tops = [key for key in groups if above[key] is None]
    loose = [key for key in places if key is None]
    root = tops[0] if len(tops) == 1 and not loose else None
    if len(places) == 1:
        return [], [], [-1]
    depth: dict[Any, int] = {None: -1}
    for key in groups:
        path = []
        while key not in depth:
            path.append(key)
            key = above[key]
        depth.update({done: i for i, done in enumerate(reversed(path), depth[key] + 1)})
    order = list(groups)
    if not all(isinstance(key, int) and (above[key] is None or above[key] > key) for key in order):
        order.sort(key=lambda key: -depth[key])
    else:
        order.sort()
    n = len(places)
    number = {key: n + i for i, key in enumerate(order)}
    if root is None:  # several at the top
        order.append(None)
        number[None] = n + len(order) - 1
    parent = [-1 if key is None or key == root else number[above[key]] for key in order]
    return order, parent, [number[key] for key in places]


def _lifted(groups: dict[Any, Group], above: dict[Any, Any], places: Sequence[Any]) -> list[Any]:
    """Items that are alone in their group are in the group above it: a tree has no group of one."""
    below: dict[Any, int] = {}
    for key in (*above.values(), *places):
        below[key] = below.get(key, 0) + 1
    lifted = []
    for key in places:
        while key is not None and below[key] == 1 and len(places) > 1:
            parent = above.pop(key)
            del groups[key]
            key = parent
        lifted.append(key)
    return lifted


def _drop_empty(groups: dict[Any, Group], above: dict[Any, Any], count: dict[Any, int]) -> int:
    dropped = 0
    waiting = [key for key in groups if not count.get(key)]
    while waiting:
        key = waiting.pop()
        parent = above.pop(key)
        del groups[key]
        dropped += 1
        count[parent] -= 1
        if parent is not None and not count[parent]:
            waiting.append(parent)
    return dropped


def _heights(given: Sequence[float | None], parent: Sequence[int], n: int) -> np.ndarray:
    """The given heights; where one is missing or out of order, the steps to the lowest item."""
    found = np.zeros(len(parent))
    known = [np.nan if height is None else height for height in given]
    found[n:] = known
    up = np.array(parent)
    if len(parent) == n or (np.isfinite(found).all() and (found >= 0).all() and (found[:-1] <= found[up[:-1]]).all()):
        return found
    found[n:] = 0
    for v, p in enumerate(parent[:-1]):
        found[p] = max(found[p], found[v] + 1)
    return found


def from_dict(data: Any) -> Scheme:
    """The scheme in what ``Taxonomy.to_dict(nested=False, items=True)`` gives."""
    try:
        groups = {
            entry["node"]: Group(
                str(entry["name"]),
                None if entry["parent"] < 0 else entry["parent"],
                [str(word) for word in entry.get("keywords", [])],
                entry.get("height"),
                bool(entry.get("hidden", False)),
                entry.get("rank"),
            )
            for entry in data["groups"]
        }
        names = tuple(data.get("id_names", ()))
        ids = list(zip(*data.get("ids", ()), strict=True)) or [()] * len(data["items"])
        items = [
            Item(group if group in groups else None, value, tuple(own))
            for group, value, own in zip(data["parent"], data["items"], ids, strict=True)
        ]
        levels = [(int(k), None if stability is None else float(stability)) for k, stability in data.get("sizes", [])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"this is not what to_dict(nested=False, items=True) gives: {type(error).__name__} {str(error)[:60]}"
        ) from None
    return Scheme(groups, items, names, levels, bool(data.get("has_items", True)))
