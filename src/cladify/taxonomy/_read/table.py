"""A taxonomy as tables, nested values, and search results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify._kit.text import printable, shorten
from cladify.errors import InvalidInput, InvalidType, MissingExtra
from cladify.taxonomy._kept import Kept
from cladify.taxonomy._names.names import distinct
from cladify.taxonomy._read.also import also_column
from cladify.taxonomy._read.levels import Level, as_level, labels_of
from cladify.taxonomy._read.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Match",
    "as_form",
    "chosen_levels",
    "cluster_names",
    "find",
    "flat_dict",
    "level_columns",
    "nested_dict",
    "table",
]

SEPARATOR = " > "


class Match(NamedTuple):
    """What :meth:`Taxonomy.find` found: a group or an item, its text, and the names of the groups above it."""

    kind: str
    node: int
    text: str
    path: tuple[str, ...]


def as_form(columns: pa.Table, form: str, kept: Kept | None = None) -> Any:
    """An Arrow table in the form that was asked for: ids are its first columns, or the index of a frame."""
    import pyarrow as pa

    if form != "arrow":
        try:
            import pandas  # noqa: F401
        except ImportError:
            if form == "pandas":
                raise MissingExtra("A pandas frame", "pandas") from None
        else:
            frame = columns.to_pandas()
            index = None if kept is None else kept.pandas_index()
            return frame if index is None else frame.set_index(index)
    ids = {} if kept is None else kept.id_columns(columns.column_names)
    return pa.table({**ids, **dict(zip(columns.column_names, columns.columns, strict=True))})


def chosen_levels(now: Snapshot, levels: Any) -> list[Level]:
    """The levels that a caller asked for, the coarse ones first."""
    if levels is None:
        return now.levels
    wanted = [levels] if isinstance(levels, int | Level) else list(levels)
    if not wanted:
        raise InvalidInput("levels must name at least one level: a number of clusters, or one of taxonomy.levels.")
    full = now.facts.full if now.tree is now.facts.base else None  # it does not have the edits
    found = [as_level(now.tree, level, now.levels, full) for level in wanted]
    return sorted(found, key=lambda level: level.n_clusters)


def table(now: Snapshot, levels: Any = None) -> pa.Table:
    """One row an item; see :meth:`cladify.Taxonomy.table`."""
    import pyarrow as pa

    tree = now.tree
    columns: dict[str, Any] = {"row": pa.array(np.arange(tree.n_leaves)), "item": now.facts.items}
    for i, level in enumerate(chosen_levels(now, levels), 1):
        labels = labels_of(tree, level.nodes)
        nodes = np.where(labels >= 0, np.array(level.nodes)[labels], tree.parent[: tree.n_leaves])
        columns |= level_columns(now, i, level, labels, nodes, now.confidence(nodes))
        columns[f"also_{i}"] = also_column(now.also, tree, level, cluster_names(now, level))
    lowest = np.maximum(tree.parent[: tree.n_leaves], tree.n_leaves if tree.n_leaves > 1 else 0)
    return pa.table({**columns, **path_columns(now, lowest)})


def level_columns(
    now: Snapshot, i: int, level: Level, groups: np.ndarray, nodes: np.ndarray, confidence: np.ndarray
) -> dict[str, Any]:
    """Label, name and confidence at level ``i``, for items in the groups ``nodes``; -1 in ``groups`` is none."""
    import pyarrow as pa

    labels = groups if level.cluster is None else np.where(groups >= 0, np.array(level.cluster)[groups], -1)
    names = cluster_names(now, level)
    above = sorted(set(nodes[labels < 0].tolist()))  # items that lie above the level, in groups edited by hand
    texts = pa.array([*names, *now.names_of(above)], pa.string())
    which = labels.copy()
    which[labels < 0] = len(names) + np.searchsorted(above, nodes[labels < 0])
    return {
        f"label_{i}": pa.array(labels),
        f"name_{i}": texts.take(pa.array(which)),
        f"confidence_{i}": pa.array(confidence.astype(np.float32)),
    }


def cluster_names(now: Snapshot, level: Level) -> list[str]:
    """The name of each cluster of a level."""
    return [_cluster_name(now, part) for part in level.parts()]


def _cluster_name(now: Snapshot, groups: list[int]) -> str:
    """The name of a group; for several in one cluster, the most telling words of all of them."""
    if len(groups) == 1:
        return now.names_of(groups)[0]
    keywords = sorted((k for v in groups for k in now.keyword_table(v)), key=lambda keyword: -keyword.contrast)
    terms = [keyword.term for keyword in islice(distinct(keywords, []), 3)]
    largest = max(groups, key=lambda v: int(now.tree.size[v]))
    return ", ".join(terms) or f"{now.names_of([largest])[0]} and {len(groups) - 1} more"


def path_columns(now: Snapshot, lowest: np.ndarray) -> dict[str, Any]:
    """The lowest group of each item, and the names down to it."""
    import pyarrow as pa

    return {
        "node": pa.array(lowest),
        "path": _named(now, lowest, lambda v: SEPARATOR.join(now.names_of(now.path(v)))),
    }


def _named(now: Snapshot, nodes: np.ndarray, text: Any) -> pa.Array:
    """A text a row, of the few different nodes."""
    import pyarrow as pa

    distinct, which = np.unique(nodes, return_inverse=True)
    texts = pa.array([text(int(v)) for v in distinct], pa.string())
    return texts.take(pa.array(which))


def nested_dict(now: Snapshot, items: bool) -> dict[str, Any]:
    """Groups in groups, as d3 takes them; hidden ones are left out."""
    tree, names, hidden = now.tree, now.names, now.hidden
    n = tree.n_leaves

    def entry(v: int) -> dict[str, Any]:
        if v < n:
            return {"name": printable(now.item(v)), "node": v, "size": 1, "row": v}
        return {"name": names[v], "node": v, "size": int(tree.size[v])}

    root = entry(tree.root)
    entries = {tree.root: root}
    for p in range(tree.root, n - 1, -1):
        above = entries.get(p)
        if above is None:
            continue
        kept = [int(c) for c in tree.children(p) if (c >= n or items) and int(c) not in hidden]
        for child in sorted(kept, key=lambda c: (-int(tree.size[c]), c)):
            entries[child] = entry(child)
            above.setdefault("children", []).append(entries[child])
    return root


def flat_dict(now: Snapshot, items: bool) -> dict[str, Any]:
    """All groups in a list, each with its parent, keywords and examples."""
    tree, names = now.tree, now.names
    groups = [
        {
            "node": v,
            "parent": int(tree.parent[v]),
            "name": names[v],
            "size": int(tree.size[v]),
            "height": float(tree.height[v]),
            "keywords": now.keywords(v),
            "examples": [printable(item) for item in now.examples(v).central],
            "hidden": v in now.hidden,
        }
        | ({"rank": now.ranks[v]} if now.ranks else {})
        for v in range(tree.root, tree.n_leaves - 1, -1)
    ]
    data: dict[str, Any] = {
        "n_items": tree.n_leaves,
        "levels": [list(level.nodes) for level in now.levels],
        "groups": groups,
    }
    if items:
        kept = now.facts.kept
        data["items"] = [_plain(item) for item in now.facts.item_list]
        data["parent"] = tree.parent[: tree.n_leaves].tolist()
        data["ids"] = [[_plain(value) for value in values.to_pylist()] for values in kept.ids]
        data["id_names"] = list(kept.id_names)
        data["sizes"] = [list(size) for size in now.facts.sizes]
        data["has_items"] = now.facts.has_items
    return data


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else str(value)


def find(now: Snapshot, text: str, limit: int) -> list[Match]:
    """Groups and items with ``text`` in them, whatever the case."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(text, str) or not text.strip():
        raise InvalidType("find takes the text to look for.")
    wanted = text.strip().casefold()
    tree, names = now.tree, now.names
    groups: list[tuple[tuple[int, int], int]] = []
    for v, name in names.items():
        if v == tree.root:
            continue
        in_name = wanted in name.casefold()
        if in_name or any(wanted in term.casefold() for term in now.keywords(v)):
            groups.append(((0 if in_name else 1, -int(tree.size[v])), v))
    found = [Match("group", v, names[v], _path_names(now, v)) for _, v in sorted(groups)[:limit]]
    items = now.facts.items
    if not pa.types.is_string(items.type) and not pa.types.is_large_string(items.type):
        items = pa.array([printable(item) for item in now.facts.item_list], pa.string())
    has = pc.fill_null(pc.match_substring(items, text.strip(), ignore_case=True), False)
    rows: Sequence[int] = np.flatnonzero(np.asarray(has))[: limit - len(found)].tolist()
    return found + [Match("item", i, shorten(now.item(i), 200), _path_names(now, i)) for i in rows]


def _path_names(now: Snapshot, v: int) -> tuple[str, ...]:
    path = now.path(v)
    return tuple(now.names_of([u for u in path if u != v]))
