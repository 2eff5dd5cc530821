"""The files of a :class:`~cladify.distributed.tree_folder.TreeFolder`, and how a tree becomes rows of them."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cladify._kit.atomic import PathLike, atomic_path, atomic_write, unwritable
from cladify._kit.container import plain
from cladify.errors import FileError
from cladify.tree import Tree

__all__ = [
    "GROUPS",
    "Groups",
    "Rows",
    "check_new",
    "group_rows",
    "is_tree_folder",
    "new_folder",
    "parquet",
    "read_about",
    "top_of",
    "write_about",
    "write_below",
    "write_folder",
]

_FORMAT, _VERSION = "cladify-tree-folder", 1
_ABOUT, GROUPS = "tree.json", "groups.parquet"
_ROW_GROUP = 1 << 16  # rows that are read at least


class Rows(NamedTuple):
    """Nodes of some groups, as the files keep them; ``level`` is None for trees without."""

    leaf: np.ndarray
    parent: np.ndarray
    height: np.ndarray
    level: np.ndarray | None


class Groups(NamedTuple):
    """Of each group: its smallest leaf, how many leaves it has, and how many nodes."""

    leaf: np.ndarray
    size: np.ndarray
    nodes: np.ndarray


def group_rows(tree: Tree, nodes: np.ndarray) -> tuple[Rows, Groups]:
    """The nodes below each of some nodes, group by group in the order of these, which have all leaves below them."""
    n = tree.n_leaves
    of, inside = _group_of(tree, nodes)
    some = np.flatnonzero(inside)
    order = some[np.argsort(of[some], kind="stable")]  # ids ascend: leaves first, the root last
    count = np.bincount(of[some], minlength=len(nodes))
    first = np.cumsum(count) - count
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(first, count)
    parent = place[tree.parent[order]]
    parent[first + count - 1] = -1
    leaf = np.where(order < n, order, -1)
    level = None if tree.level is None else tree.level[order].astype(np.int32)
    return Rows(leaf, parent.astype(np.int32), tree.height[order], level), Groups(leaf[first], tree.size[nodes], count)


def _group_of(tree: Tree, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of every node: which of some nodes has its first leaf, and whether it is below that, or is it."""
    by_place = np.argsort(tree.first[nodes])
    group = np.repeat(by_place, tree.size[nodes[by_place]])  # of each leaf in the depth-first order
    of = group[tree.first]
    return of, tree.last <= tree.last[nodes[of]]


def top_of(tree: Tree, nodes: np.ndarray) -> Tree:
    """The tree above some nodes, whose leaves these are."""
    kept = np.concatenate([nodes, np.flatnonzero(~_group_of(tree, nodes)[1])])
    place = np.full(tree.n_nodes + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    height, level = tree.height[kept], None if tree.level is None else tree.level[kept]
    height[: len(nodes)] = 0.0
    if level is not None:
        level[: len(nodes)] = 0
    return Tree(place[tree.parent[kept]], height, level=level, info=tree.info)


def check_new(folder: PathLike) -> Path:
    """Raise now, before long work, if the folder has something in it."""
    target = Path(folder).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileError(f"{target} exists; give the tree a folder of its own.")
    return target


@contextmanager
def new_folder(folder: PathLike) -> Iterator[Path]:
    """A folder beside the given one that becomes it when the block ends without an error."""
    target = check_new(folder)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        draft.mkdir(parents=True)
        yield draft
        draft.replace(target)
    except OSError as error:
        raise unwritable(target, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_below(path: PathLike, rows: Rows) -> None:
    """One file of groups."""
    import pyarrow as pa

    columns = {name: column for name, column in rows._asdict().items() if column is not None}
    with atomic_path(path) as draft:
        parquet().write_table(pa.table(columns), draft, row_group_size=_ROW_GROUP)


def write_folder(folder: Path, top: Tree, groups: Groups, n_leaves: int, info: dict[str, Any]) -> None:
    """The top, and what tells of the groups, which come in its depth-first order."""
    import pyarrow as pa

    top.save(folder / "top.tree")
    number = np.argsort(top.leaf_order)
    parquet().write_table(
        pa.table({name: column[number] for name, column in groups._asdict().items()}), folder / GROUPS
    )
    write_about(folder, n_leaves, top.n_leaves, info)


def write_about(folder: Path, n_leaves: int, n_groups: int, info: dict[str, Any]) -> None:
    about = {"format": _FORMAT, "version": _VERSION, "n_leaves": n_leaves, "n_groups": n_groups, "info": plain(info)}
    with atomic_write(folder / _ABOUT, "w") as file:
        json.dump(about, file)


def is_tree_folder(path: PathLike) -> bool:
    """Whether a path is a folder with a tree in it."""
    return os.path.isfile(os.path.join(path, _ABOUT))


def read_about(folder: Path) -> dict[str, Any]:
    try:
        with open(folder / _ABOUT, encoding="utf-8") as file:
            about = json.load(file)
    except (OSError, ValueError):
        about = {}
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise FileError(
            f"{folder} is not a folder with a tree, as cladify.fit(..., engine='dask', out=FOLDER) leaves it."
        )
    if about.get("version") != _VERSION:
        raise FileError(f"{folder} has version {about.get('version')} of this format; this cladify reads {_VERSION}.")
    return about


def parquet() -> Any:
    import pyarrow.parquet as pq

    return pq
