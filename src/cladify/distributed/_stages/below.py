"""The tree of rounds as a :class:`TreeFolder`, written by the workers: no one holds it whole.

Groups are the clusters that were left when one worker went on alone. Its merges are the top. The trees below are made
file by file, some groups each, from the merges of the rounds on parts, which are sent to the file of their group.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cladify import _core
from cladify.agglomerate._links import Scale
from cladify.agglomerate._rounds import RoundMerges
from cladify.distributed._job import Job
from cladify.distributed._stages.clusters import read_merges
from cladify.distributed._storage.tree_rows import Groups, below_name, group_rows, new_folder, write_below, write_folder
from cladify.distributed._storage.work_folder import (
    Receipt,
    WorkFolder,
    read_arrays,
    read_split,
    write_arrays,
    write_split,
)
from cladify.distributed.tree_folder import TreeFolder
from cladify.tree import Tree

__all__ = ["Below", "write_rounds"]

_ORDER = "order"
_LEAF = 300  # bytes of a leaf while its file is made


@dataclass(frozen=True)
class Below:
    """The merges on parts: ``done`` are the steps that merged, ``used`` the thresholds that heights are."""

    work: WorkFolder
    names: str
    done: list[int]
    used: np.ndarray | None
    scale: Scale

    def heights(self, level: np.ndarray, similarity: np.ndarray) -> np.ndarray:
        """Of nodes made in these rounds with this similarity, the least in them or below."""
        if self.used is not None:
            similarity = np.concatenate([[0.0], self.used, [self.scale.floor]])[level]
        return self.scale.height(similarity)


def write_rounds(about: Below, rest: RoundMerges, job: Job, info: dict[str, Any], folder: Path) -> TreeFolder:
    """Write the tree; ``rest`` are the merges of the groups."""
    label = read_arrays(about.work.path(about.names))["label"]
    alive = np.flatnonzero(label == np.arange(len(label), dtype=np.int32))
    parent, level, similarity = np.full(1, -1), np.zeros(1, dtype=np.int64), np.zeros(1)
    if len(alive) > 1:
        left, right = (np.searchsorted(alive, ends).astype(np.int32) for ends in (rest.left, rest.right))
        rounds = (rest.round + len(about.done)).astype(np.int32)
        parent, level, similarity = _core.round_tree(left, right, rest.similarity, rounds)
    order = Tree(parent, level=level).leaf_order
    place = np.full(len(label), -1, dtype=np.int32)
    place[alive[order]] = np.arange(len(order))
    write_arrays(about.work.path(_ORDER), place=place)
    # Files of whole groups, each as large as a task has room for.
    leaves = np.cumsum(np.bincount(place[label]))
    cuts = np.unique(np.searchsorted(leaves, np.arange(0.0, leaves[-1], max(job.room / _LEAF, 1.0))))
    cuts = np.append(cuts, len(order))
    with new_folder(folder) as draft:
        turned = [f"below-merges-{i:04d}" for i in range(len(about.done))]
        job.stage(turned, lambda i: (_turn, about, i, cuts))
        # The draft is a new folder, so the files of an earlier run do not count.
        files = [f"{draft.name}-{i:05d}" for i in range(len(cuts) - 1)]
        sums = job.stage(files, lambda i: (_make, about, turned, i, cuts, str(draft / below_name(i))))
        made = [read_arrays(about.work.path(name)) for name in files]
        groups = Groups(*(np.concatenate([one[name] for one in made]) for name in Groups._fields))
        least = np.array(similarity)
        least[order] = np.concatenate([one["least"] for one in made])
        least = _least_below(parent, level, least)
        least[: len(alive)] = 0.0
        heights = about.heights(level, least)
        heights[: len(alive)] = 0.0
        write_folder(
            draft, Tree(parent, heights, level=level, info=info), groups, [each["file"] for each in sums], info
        )
    return TreeFolder(folder)


def _least_below(parent: np.ndarray, level: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The least similarity in each node or below; children come before parents, and lower rounds before higher."""
    above = level[parent[:-1]]
    for one in np.unique(above):
        children = np.flatnonzero(above == one)
        np.minimum.at(least, parent[children], least[children])
    return least


def _turn(path: str, about: Below, i: int, cuts: np.ndarray) -> Receipt:
    """The merges of a step, by the file that their group is in."""
    left, right, similarity = read_merges(about.work, about.done[i])
    label = read_arrays(about.work.path(about.names))["label"]
    place = read_arrays(about.work.path(_ORDER))["place"]
    to = np.searchsorted(cuts, place[label[left]], side="right") - 1
    rounds = np.full(len(left), i + 1, dtype=np.int32)
    arrays = {"left": left, "right": right, "similarity": similarity, "round": rounds}
    return {"bytes": write_split(path, to, len(cuts) - 1, **arrays)}


def _make(path: str, about: Below, turned: list[str], i: int, cuts: np.ndarray, parquet: str) -> Receipt:
    """The trees of the groups of one file."""
    first, stop = int(cuts[i]), int(cuts[i + 1])
    label = read_arrays(about.work.path(about.names))["label"]
    place = read_arrays(about.work.path(_ORDER))["place"]
    group = place[label]
    points = np.flatnonzero((group >= first) & (group < stop))
    group = group[points]
    root = np.empty(stop - first, dtype=np.int32)  # the point that names each group
    own = np.flatnonzero(label[points] == points)
    root[group[own] - first] = own
    files = [about.work.path(name) for name in turned]
    left, right, similarity, rounds = read_split(files, i, "left", "right", "similarity", "round")
    # One more round joins the groups, and goes again.
    others = np.sort(root)[1:]
    left = np.append(np.searchsorted(points, left), np.zeros(len(others))).astype(np.int32)
    right = np.append(np.searchsorted(points, right), others).astype(np.int32)
    similarity = np.append(similarity, np.full(len(others), about.scale.floor))
    last = np.full(len(others), len(turned) + 1, dtype=np.int32)
    nodes = root.astype(np.int64)
    if len(left):
        parent, level, least = _core.round_tree(left, right, similarity, np.append(rounds, last))
        heights = about.heights(np.minimum(level, len(turned)), least)
        heights[: len(points)] = 0.0
        heights[-1] = heights.max()
        nodes = _highest(parent, nodes, joined=len(others) > 0)
        tree = Tree(parent, heights, level=level)
    else:
        tree, least = Tree([-1], level=[0]), np.zeros(1)
    rows, groups = group_rows(tree, nodes)
    inner = rows.leaf >= 0
    file = write_below(parquet, rows._replace(leaf=np.where(inner, points[rows.leaf], -1)))
    single = nodes < len(points)
    least = np.where(single, np.inf, least[nodes])
    write_arrays(path, leaf=points[groups.leaf], size=groups.size, nodes=groups.nodes, least=least)
    return {"file": file}


def _highest(parent: np.ndarray, nodes: np.ndarray, joined: bool) -> np.ndarray:
    """The highest node above each of some, below the root where that only joins groups."""
    last = len(parent) - 1
    up = np.where(parent < 0, last, parent)
    if joined:
        top = np.flatnonzero(parent == last)
        up[top] = top
    while not np.array_equal(higher := up[up], up):
        up = higher
    return up[nodes]
