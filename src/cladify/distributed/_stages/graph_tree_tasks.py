"""The tasks of :mod:`cladify.distributed._stages.graph_tree`; each leaves its files in the work folder."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.data._frame import row_squares
from cladify.data.points import as_points
from cladify.data.similarity import Similarity
from cladify.distributed._edges import Part, combine_pairs, part_of
from cladify.distributed._storage.work_folder import (
    Receipt,
    WorkFolder,
    read_arrays,
    read_split,
    write_arrays,
    write_split,
)
from cladify.distributed.graph_parts import ShardedGraph
from cladify.graphtree._edges import Edges, at_least, fifth_distance
from cladify.graphtree._heights import row_scale, spread_of_rows, spread_of_sums
from cladify.graphtree._scales import MICRO, Rows, centroids, groups, micro_clusters, put_below, scale_over
from cladify.graphtree._scales import grow as grow_scales
from cladify.graphtree._search import Budget, search_small
from cladify.graphtree.graph_tree import GraphTree, tree_of_pairs
from cladify.tree import Tree

__all__ = [
    "GROUP",
    "LABEL",
    "SCALE",
    "both",
    "contract",
    "grow",
    "home",
    "join",
    "labels",
    "send",
    "ties",
    "top",
    "vote",
    "weigh",
    "whole",
]

SCALE, GROUP, LABEL = "scale", "group", "label"  # files of all rows: how far the fifth neighbour is; their clusters


# --- rows and their ties ----------------------------------------------------------------------------------------------


def home(path: str, X: np.ndarray, edges: Part, similarity: Similarity) -> Receipt:
    """The distance of each row of a part to its fifth neighbour, and the sum of the rows."""
    total = X.sum(axis=0, dtype=np.float64) if similarity.order != "angle" else np.zeros(X.shape[1])
    return {"bytes": write_arrays(path, scale=fifth_distance(edges[0], edges[2]), total=total)}


def weigh(path: str, work: WorkFolder, edges: Part, i: int, offsets: np.ndarray, typical: float) -> Receipt:
    """Weights as in :mod:`cladify.graphtree._edges`, in both directions, by the part of the row; typical scales."""
    indptr, indices, distance = edges
    low, degree = int(offsets[i]), np.diff(indptr)
    scale = read_arrays(work.path(SCALE))["scale"]
    own, ends = at_least(scale[low : low + len(degree)], typical), at_least(scale[indices], typical)
    usual = np.ones(len(own))
    if len(indices) and np.ptp(degree) == 0:
        usual = np.minimum(1.0, np.median(ends.reshape(len(own), -1), axis=1) / own)
    finer = np.minimum(np.repeat(own, degree), ends).astype(distance.dtype)
    weight = (finer / (finer + distance)).astype(np.float32)
    rows = np.repeat(np.arange(low, low + len(degree), dtype=np.int32), degree)
    columns = indices.astype(np.int32)
    rows, columns, weight = np.append(rows, columns), np.append(columns, rows), np.append(weight, weight)
    size = write_split(path, part_of(offsets, rows), len(offsets) - 1, row=rows, column=columns, weight=weight)
    write_arrays(work.path(f"typical-{i:05d}"), typical=usual)
    return {"edges": len(indices), "bytes": size}


def both(path: str, work: WorkFolder, files: list[str], j: int, offsets: np.ndarray) -> Receipt:
    """The rows of a part in half of A + Aᵀ, and how typical they are."""
    low, n = int(offsets[j]), int(offsets[j + 1] - offsets[j])
    rows, columns, weight = read_split(files, j, "row", "column", "weight")
    rows, columns, weight = combine_pairs(rows - low, columns, weight, np.add)
    indptr = np.searchsorted(rows, np.arange(n + 1))
    columns, weight = columns.astype(np.int32), weight * np.float32(0.5)
    typical = read_arrays(work.path(f"typical-{j:05d}"))["typical"]
    return {"bytes": write_arrays(path, indptr=indptr, columns=columns, weight=weight, typical=typical)}


def ties(path: str) -> Part:
    """A part of the weighed graph."""
    tied = read_arrays(path)
    return tied["indptr"], tied["columns"].astype(np.int64), tied["weight"]


def vote(path: str, work: WorkFolder, i: int, low: int) -> Receipt:
    """The group that each row is tied to most, and by how much more than to its own."""
    from scipy.sparse import csr_array

    tied, group = read_arrays(work.path(f"tied-{i:05d}")), read_arrays(work.path(GROUP))["group"]
    n = len(tied["indptr"]) - 1
    of_group = group[tied["columns"]].astype(np.int32)
    ties = csr_array((tied["weight"], of_group, tied["indptr"]), shape=(n, int(group.max()) + 1)).toarray()
    own = group[low : low + n]
    wanted = ties.argmax(axis=1).astype(np.int16)
    gain = ties[np.arange(n), wanted] - ties[np.arange(n), own]
    return {"bytes": write_arrays(path, wanted=wanted, gain=gain)}


def send(path: str, work: WorkFolder, X: np.ndarray, i: int, low: int, n_groups: int) -> Receipt:
    """The rows of a part by their group, and the edges that stay in it."""
    tied, group = read_arrays(work.path(f"tied-{i:05d}")), read_arrays(work.path(GROUP))["group"]
    own = group[low : low + len(X)]
    owner = np.repeat(np.arange(len(X)), np.diff(tied["indptr"]))
    inside = np.flatnonzero(group[tied["columns"]] == own[owner])
    owner = owner[inside]
    size = write_split(
        work.path(f"inside-{i:05d}"),
        own[owner],
        n_groups,
        column=tied["columns"][inside],
        weight=tied["weight"][inside],
    )
    rows = {
        "id": np.arange(low, low + len(X), dtype=np.int64),
        "x": np.ascontiguousarray(X).view(_row_type(X.shape[1])).ravel(),
        "typical": tied["typical"],
        "degree": np.bincount(owner, minlength=len(X)),
    }
    return {"bytes": size + write_split(path, own, n_groups, **rows)}


def _row_type(d: int) -> np.dtype:
    """A float32 row as one value."""
    return np.dtype((np.void, 4 * d))


# --- groups -----------------------------------------------------------------------------------------------------------


def grow(
    path: str,
    work: WorkFolder,
    n_parts: int,
    g: int,
    similarity: Similarity,
    centre: np.ndarray,
    k: int,
    seconds: float | None,
    n_jobs: int | None,
) -> Receipt:
    """The small subtrees of a group below one root, and what is above them needs to know.

    Leaves ``ids`` and ``label``, the rows, ascending, and the micro-cluster of each; ``parent`` and ``height``, trees
    over the rows in their order, where those without a parent are the micro-clusters; of these ``mean`` and ``count``,
    the sums ``total`` and ``square`` of their rows about the centre of all and of the squares of these, and ``mass``,
    of how typical they are.
    """
    from scipy.sparse import csr_array

    files = [work.path(f"rows-{i:05d}") for i in range(n_parts)]
    ids, x, typical, degree = read_split(files, g, "id", "x", "typical", "degree")
    X = x.view(np.float32).reshape(len(ids), len(centre))
    columns, weight = read_split([work.path(f"inside-{i:05d}") for i in range(n_parts)], g, "column", "weight")
    n = len(ids)
    if n == 0:
        none = np.empty(0)
        empty = {"label": ids, "parent": ids, "height": none, "mean": none.astype(np.float32), "count": none}
        write_arrays(path, ids=ids, **empty, total=none, square=none, mass=none)
        return {"count": 0}
    indptr = np.concatenate([[0], np.cumsum(degree)])
    edges = Edges(indptr, np.searchsorted(ids, columns).astype(np.int32), weight, np.ones(n))
    deadline = None if seconds is None else time.monotonic() + seconds
    tree, label, m = Tree([-1]), np.zeros(1, dtype=np.int32), 1
    if n > 1:
        whole = search_small(edges, Budget(deadline, 0, n_jobs, Progress()))
        label = micro_clusters(whole, MICRO)
        group = groups(edges, label)
        label, m = group[label], int(group.max()) + 1
        tree = put_below(whole, MICRO, group, Tree(np.append(np.full(m, m), -1)) if m > 1 else Tree([-1]))
    above = centroids(Rows(X, similarity, np.ones(n), k), label)
    height = spread_of_rows(tree, X, similarity, typical, n_jobs)
    z = (X - centre) * row_scale(X, similarity)[:, None]
    total = csr_array((typical, label, np.arange(n + 1)), shape=(n, m)).T @ z
    square = np.bincount(label, typical * row_squares(z), minlength=m)
    mass = np.bincount(label, typical, minlength=m)
    last = tree.n_nodes - (m > 1)  # the root above several micro-clusters is not one
    parent = np.where(tree.parent[:last] < last, tree.parent[:last], -1)
    write_arrays(
        path,
        ids=ids,
        label=label.astype(np.int64),
        parent=parent,
        height=height[:last],
        mean=above.X.ravel(),
        count=above.count,
        total=np.asarray(total).ravel(),
        square=square,
        mass=mass,
    )
    return {"count": m}


def labels(path: str, work: WorkFolder, n: int, base: np.ndarray) -> Receipt:
    """The micro-cluster of every row; those of group g are numbered from ``base[g]`` on."""
    label = np.empty(n, dtype=np.int32)
    for g, start in enumerate(base[:-1].tolist()):
        group = read_arrays(work.path(f"grown-{g:05d}"))
        label[group["ids"]] = group["label"] + start
    return {"bytes": write_arrays(path, label=label)}


def contract(path: str, work: WorkFolder, j: int, low: int, base: np.ndarray) -> Receipt:
    """The weight between each two micro-clusters, as far as the rows of a part see it; by the group of the first."""
    tied, label = read_arrays(work.path(f"tied-{j:05d}")), read_arrays(work.path(LABEL))["label"]
    degree = np.diff(tied["indptr"])
    rows, ends = np.repeat(label[low : low + len(degree)], degree), label[tied["columns"]]
    between = np.flatnonzero(rows != ends)
    weight = tied["weight"][between].astype(np.float64)
    rows, ends, weight = combine_pairs(rows[between], ends[between], weight, np.add)
    to = part_of(base, rows)
    pairs = {"row": rows.astype(np.int32), "end": ends.astype(np.int32)}
    return {"bytes": write_split(path, to, len(base) - 1, **pairs, weight=weight)}


def join(path: str, files: list[str], g: int, base: np.ndarray) -> Receipt:
    """The ties of the micro-clusters of a group: rows of a CSR matrix."""
    rows, ends, weight = read_split(files, g, "row", "end", "weight")
    rows, ends, weight = combine_pairs(rows, ends, weight, np.add)
    degree = np.diff(np.searchsorted(rows, np.arange(base[g], base[g + 1] + 1)))
    return {"bytes": write_arrays(path, degree=degree, end=ends.astype(np.int32), weight=weight.astype(np.float32))}


# --- the top ----------------------------------------------------------------------------------------------------------


def top(
    path: str,
    work: WorkFolder,
    n_groups: int,
    similarity: Similarity,
    d: int,
    k: int,
    seconds: float | None,
    random_state: Any,
    n_jobs: int | None,
) -> Receipt:
    """Parents and heights of the tree over micro-clusters; the receipt has the number of points of every scale."""
    from scipy.sparse import csr_array

    grown = [read_arrays(work.path(f"grown-{g:05d}")) for g in range(n_groups)]
    mean, count, total, square, mass = (
        np.concatenate([group[what] for group in grown]) for what in ("mean", "count", "total", "square", "mass")
    )
    m = len(count)
    mean, total = mean.reshape(m, d), total.reshape(m, d)
    if m == 1:
        write_arrays(path, parent=np.array([-1]), height=np.zeros(1))
        return {"scales": [1]}
    tied = [read_arrays(work.path(f"joined-{g:05d}")) for g in range(n_groups)]
    degree, ends, weight = (np.concatenate([group[what] for group in tied]) for what in ("degree", "end", "weight"))
    between = csr_array((weight, ends, np.concatenate([[0], np.cumsum(degree)])), shape=(m, m))
    del grown, tied
    deadline = None if seconds is None else time.monotonic() + seconds
    budget = Budget(deadline, random_state, n_jobs, Progress())
    edges, above = scale_over(Rows(mean, similarity, count, k), between, count, count, budget)
    tree, scales = grow_scales(edges, above, budget, upper=True)
    write_arrays(path, parent=tree.parent, height=spread_of_sums(tree, total, square, mass))
    return {"scales": [int(scale) for scale in scales]}


def whole(edges: list[Part], rows: list[np.ndarray], about: dict[str, Any], estimator: GraphTree) -> Tree:
    """The local engine with this graph, on one worker."""
    points = as_points(np.concatenate(rows), estimator.metric)
    graph = ShardedGraph(parts=edges, **about).assemble(edges)
    deadline = None if estimator.budget_seconds is None else time.monotonic() + estimator.budget_seconds
    budget = Budget(deadline, estimator.random_state, estimator.n_jobs, Progress())
    tree = tree_of_pairs(estimator, points, np.ones(points.n), budget, graph)
    tree.info.update(method="graph", n_edges=graph.n_edges)
    return tree
