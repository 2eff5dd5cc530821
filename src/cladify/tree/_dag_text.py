"""A graph of clusters in words: its figures, and items with the different clusters that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_float, check_int
from cladify._kit.text import one_line
from cladify.errors import InvalidInput
from cladify.tree._text import Description, figure

if TYPE_CHECKING:
    from cladify.tree.dag import ClusterDag

__all__ = ["describe", "senses", "summary"]


def describe(dag: ClusterDag) -> Description:
    """Sizes and overlap. ``clusters_per_leaf`` counts the nodes above a leaf."""
    n = dag.n_leaves
    n_parents = np.diff(dag.parent_start)[:-1]
    figures = Description(
        n_leaves=n,
        n_nodes=dag.n_nodes,
        n_edges=len(dag.parent_ids),
        is_tree=dag.is_tree,
        clusters_per_leaf=float((dag.size.sum() - n) / n),
        mean_parents=float(n_parents.mean()) if len(n_parents) else 0.0,
        max_parents=int(n_parents.max(initial=0)),
        root_height=float(dag.height[-1]),
    )
    if dag.spans is not None:
        figures["n_rounds"] = dag.n_rounds
    if "method" in dag.info:
        figures["method"] = dag.info["method"]
    return figures


def senses(dag: ClusterDag, leaf: int, *, n_senses: int, max_size: int, max_shared: float) -> list[int]:
    """Clusters of a leaf that have little in common beside it, the larger ones first."""
    n_senses = check_int("n_senses", n_senses, low=1)
    max_size = check_int("max_size", max_size, low=2)
    max_shared = check_float("max_shared", max_shared, low=0.0, high=1.0)
    above = dag.ancestors_of_leaf(leaf)
    above = above[dag.size[above] <= max_size]
    if (dag.size[above] > 2).any():  # a pair says little where there is more
        above = above[dag.size[above] > 2]
    others = {v: set(dag.members(v).tolist()) - {int(leaf)} for v in above[::-1].tolist()}
    best: list[int] = []
    nodes = list(others)
    # A large cluster may hold all senses at once: leave out the largest ones until most of them stand side by side.
    for first in range(len(nodes)):
        found: list[int] = []
        for v in nodes[first:]:
            mine = others[v]
            if all(len(mine & others[u]) <= max_shared * len(mine) for u in found):
                found.append(v)
        if len(found[:n_senses]) > len(best):
            best = found[:n_senses]
        if len(best) == n_senses:
            break
    return best


def summary(
    dag: ClusterDag, items: Sequence[Any] | None, *, leaves: Sequence[int] | None, n_items: int, n_examples: int
) -> str:
    """Items, each with its senses."""
    n = dag.n_leaves
    if items is not None and len(items) != n:
        raise InvalidInput(f"items must have one entry a leaf ({n}), got {len(items)}.")
    n_items = check_int("n_items", n_items, low=0)
    n_examples = check_int("n_examples", n_examples, low=1)
    inner = dag.n_nodes - n
    each = (int(dag.size.sum()) - n) / n
    lines = [f"{n} {'leaf' if n == 1 else 'leaves'} in {inner} clusters, {each:.3g} a leaf"]
    if leaves is None:
        parents = np.diff(dag.parent_start)[:n]
        shown = np.argsort(-parents, kind="stable")[:n_items].tolist() if inner else []
    else:
        shown = [int(leaf) for leaf in leaves]
    for leaf in shown:
        lines.append(one_line(leaf if items is None else items[leaf]))
        for number, v in enumerate(dag.senses(leaf), 1):
            members = [i for i in dag.members(v).tolist() if i != leaf]
            names = " · ".join(one_line(i if items is None else items[i]) for i in members[:n_examples])
            more = " …" if len(members) > n_examples else ""
            lines.append(f"   {number}: {dag.size[v]} members, height {figure(float(dag.height[v]))}: {names}{more}")
    return "\n".join(lines)
