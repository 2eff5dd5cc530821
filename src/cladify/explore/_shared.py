"""What else a cluster or an item belongs to, where clusters overlap."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.explore._text import one_line

if TYPE_CHECKING:
    from cladify.explore._view import View
    from cladify.tree.dag import ClusterDag

__all__ = ["also_in"]

_MOST_ROWS = 300  # members of a cluster that are asked what they belong to
_LARGEST = 5000  # clusters that are compared have at most so many members


def also_in(dag: ClusterDag, view: View, v: int, most: int = 6) -> list[dict[str, Any]]:
    """The senses of an item; for a cluster, those that share members with it and have most of theirs elsewhere.

    Parameters
    ----------
    dag : ClusterDag
    view : View
        Of a tree of the same items.
    v : int
        A node of the tree.
    most : int

    Returns
    -------
    list of dict
        ``name`` (some of the other members), ``id`` (the node of the tree that holds most of them) and ``note``.
    """
    if v < view.tree.n_leaves:
        largest = max(2, min(30, dag.n_leaves - 1))  # the root says nothing
        found = [(u, dag.members(u)) for u in dag.senses(v, n_senses=most, max_size=largest)]
        return [_entry(view, members, {v}, f"{dag.size[u]} items") for u, members in found]
    inside = view.tree.members(v)
    mine = set(inside.tolist())
    some = inside[np.linspace(0, len(inside) - 1, min(_MOST_ROWS, len(inside))).astype(np.int64)]
    above = np.concatenate([dag.ancestors_of_leaf(int(row)) for row in some])
    nodes, count = np.unique(above, return_counts=True)
    fits = (dag.size[nodes] <= min(_LARGEST, 2 * len(inside))) & (count > 1)
    order = np.argsort(-count[fits], kind="stable")
    found = []
    for u in nodes[fits][order][: 20 * most].tolist():
        members = dag.members(u)
        shared = len(mine.intersection(members.tolist()))
        # Mostly elsewhere, and not much the same as one that is shown already.
        if 2 * shared > len(members) or any(len(np.intersect1d(members, old)) > 0.5 * len(members) for _, old in found):
            continue
        found.append((shared, members))
        if len(found) == most:
            break
    return [_entry(view, members, mine, f"{shared} of its {len(members)} items are here") for shared, members in found]


def _entry(view: View, members: np.ndarray, without: set[int], note: str) -> dict[str, Any]:
    others = [row for row in members.tolist() if row not in without] or members.tolist()
    # The lowest node above the members that lie next to each other in the middle: one far away would lead to the root.
    places = sorted(others, key=lambda row: int(view.tree.first[row]))
    middle = places[len(places) // 4 : max(len(places) // 4 + 1, 3 * len(places) // 4)]
    node = reduce(lambda a, b: int(view.tree.lca(a, b)), middle[:20])
    name = " · ".join(one_line(view.text(row), 40) for row in others[:4])
    return {"id": int(view.keys[node]), "name": name, "note": note}
