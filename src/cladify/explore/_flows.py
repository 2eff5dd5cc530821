"""Two taxonomies of the same items side by side: how many items each group of one shares with each of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.taxonomy import Taxonomy

if TYPE_CHECKING:
    from cladify.explore._view import View
    from cladify.tree import Tree

__all__ = ["flows", "parts_of"]

_MOST = 20  # groups a side that are shown one by one


def parts_of(other: Taxonomy | Tree, k: int, view: View) -> tuple[np.ndarray, list[str]]:
    """About ``k`` groups of the other: the one of each item, and their names; a plain tree's are some of its items."""
    if isinstance(other, Taxonomy):
        level = min(other.levels, key=lambda each: abs(each.n_clusters - k))
        label = np.full(other.n_items, len(level.nodes), dtype=np.int64)
        tree = other.tree
        for i, v in enumerate(level.nodes):
            label[tree.leaf_order[tree.first[v] : tree.last[v]]] = i
        names = other.names_of([int(v) for v in level.nodes])
        return label, [*names, "in no group"] if (label == len(names)).any() else names
    label, nodes = other.cut(n_clusters=min(k, other.n_leaves), return_nodes=True)
    names = []
    for v in nodes.tolist():
        inside = other.leaf_order[np.linspace(other.first[v], other.last[v] - 1, 3).astype(np.int64)]
        names.append(" · ".join(dict.fromkeys(view.text(int(row)) for row in inside)))
    return label, names


def flows(view: View, nodes: np.ndarray, other: Taxonomy | Tree) -> dict[str, Any]:
    """Shared items of the groups ``nodes`` of a view and the groups of the other; small ones are one group a side.

    Returns
    -------
    dict
        ``left`` and ``right`` (name, size, and ``id`` on the left), and ``cells``: left, right, count of each pair.
    """
    theirs, names = parts_of(other, len(nodes), view)
    mine = np.full(view.tree.n_leaves, len(nodes), dtype=np.int64)
    for i, v in enumerate(nodes.tolist()):
        mine[view.tree.leaf_order[view.tree.first[v] : view.tree.last[v]]] = i
    left: list[dict[str, Any]] = [{"id": int(view.keys[v]), "name": view.name(v)} for v in nodes.tolist()]
    table = np.zeros((len(left) + 1, len(names)), dtype=np.int64)
    np.add.at(table, (mine, theirs), 1)
    rows, rest_left = _largest(table.sum(axis=1))
    columns, rest_right = _largest(table.sum(axis=0))
    small = np.zeros((len(rows) + 1, len(columns) + 1), dtype=np.int64)
    at_row = np.full(table.shape[0], len(rows))
    at_row[rows] = np.arange(len(rows))
    at_column = np.full(table.shape[1], len(columns))
    at_column[columns] = np.arange(len(columns))
    np.add.at(small, (at_row[:, None], at_column[None, :]), table)
    everything: list[dict[str, Any]] = [*left, {"id": None, "name": "in no group"}]
    return {
        "left": [*({**everything[i], "size": int(small[k].sum())} for k, i in enumerate(rows)), *rest_left],
        "right": [*({"name": names[j], "size": int(small[:, k].sum())} for k, j in enumerate(columns)), *rest_right],
        "cells": [[int(i), int(j), int(small[i, j])] for i, j in zip(*np.nonzero(small), strict=True)],
    }


def _largest(sizes: np.ndarray) -> tuple[list[int], list[dict[str, Any]]]:
    """The places of the largest, and one entry for the others together where there are any."""
    order = [i for i in np.argsort(-sizes, kind="stable").tolist() if sizes[i]]
    held = int(sizes[order[_MOST:]].sum())
    rest = [{"id": None, "name": f"{len(order) - _MOST} smaller groups", "size": held}] if held else []
    return order[:_MOST], rest
