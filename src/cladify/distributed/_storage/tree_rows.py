"""The files of a :class:`~cladify.distributed.tree_folder.TreeFolder`: how a tree becomes rows, and their checks.

The manifest ``tree.json`` has the size and the CRC-32 of every other file: of the values of the top and of the table of
groups, and of each row group of the files below, so that a part can be read and checked without the rest. The rules
that files must keep are three tables: :data:`_MANIFEST`, :data:`_GROUPS` and :data:`_ROWS`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cladify._kit.atomic import PathLike, atomic_path, atomic_write, unwritable
from cladify._kit.container import first_line, plain
from cladify.errors import FileError
from cladify.tree import Tree

__all__ = [
    "VERSION",
    "Groups",
    "Rows",
    "below_name",
    "check_new",
    "check_rows",
    "check_size",
    "checksum",
    "damaged",
    "group_rows",
    "intact",
    "is_tree_folder",
    "new_folder",
    "parquet",
    "read_about",
    "read_groups",
    "read_top",
    "top_of",
    "write_about",
    "write_below",
    "write_folder",
]

_FORMAT, VERSION = "cladify-tree-folder", 2
_ABOUT, TOP, GROUPS = "tree.json", "top.tree", "groups.parquet"
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
    draft = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
    try:
        draft.mkdir(parents=True)
        yield draft
        draft.replace(target)
    except OSError as error:
        raise unwritable(target, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def below_name(i: int) -> str:
    """The name of the i-th file of groups."""
    return f"below-{i:05d}.parquet"


def write_below(path: PathLike, rows: Rows) -> dict[str, Any]:
    """Write one file of groups; gives its entry in the manifest."""
    import pyarrow as pa

    columns = [column for column in rows if column is not None]
    with atomic_path(path) as draft:
        parquet().write_table(pa.table(columns, names=Rows._fields[: len(columns)]), draft, row_group_size=_ROW_GROUP)
    counts, sums = [], []
    for low in range(0, len(rows.leaf), _ROW_GROUP):
        some = [column[low : low + _ROW_GROUP] for column in columns]
        counts.append(len(some[0]))
        sums.append(checksum(some))
    return {"bytes": os.path.getsize(path), "rows": counts, "crc32": sums}


def write_folder(folder: Path, top: Tree, groups: Groups, below: list[dict[str, Any]], info: dict[str, Any]) -> None:
    """Write the top, the table of groups, which come in its depth-first order, and the manifest."""
    import pyarrow as pa

    top.save(folder / TOP)
    number = np.argsort(top.leaf_order)
    columns = [column[number].astype(np.int64) for column in groups]
    with atomic_path(folder / GROUPS) as draft:
        parquet().write_table(pa.table(columns, names=Groups._fields), draft)
    figures = {
        "n_leaves": int(groups.size.sum()),
        "n_nodes": int(groups.nodes.sum()) + top.n_nodes - top.n_leaves,
        "n_groups": top.n_leaves,
        "top": {"bytes": os.path.getsize(folder / TOP), "crc32": top_checksum(top)},
        "groups": {"bytes": os.path.getsize(folder / GROUPS), "crc32": checksum(columns)},
        "below": below,
        "info": plain(info),
    }
    write_about(folder, figures)


def write_about(folder: Path, figures: dict[str, Any]) -> None:
    """Write the manifest."""
    about = {"format": _FORMAT, "version": VERSION, **figures}
    with atomic_write(folder / _ABOUT, "w") as file:
        json.dump({**about, "crc32": _json_checksum(about)}, file)


def checksum(columns: Iterable[np.ndarray]) -> int:
    """The CRC-32 of the values of some columns."""
    crc = 0
    for column in columns:
        crc = zlib.crc32(np.ascontiguousarray(column).view(np.uint8).data, crc) if len(column) else crc
    return crc


def top_checksum(top: Tree) -> int:
    return checksum([top.parent, top.height, *([] if top.level is None else [top.level])])


def _json_checksum(about: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(about, sort_keys=True).encode())


# --- reading ----------------------------------------------------------------------------------------------------------


def is_tree_folder(path: PathLike) -> bool:
    """Whether a path is a folder with a tree in it."""
    return os.path.isfile(os.path.join(path, _ABOUT))


def damaged(path: PathLike, why: str) -> FileError:
    return FileError(f"{path} is damaged: {why}. Write the tree again, or use a copy.")


@contextmanager
def intact(path: PathLike) -> Iterator[None]:
    """Errors while a file is read and parsed, as one line that names it."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:  # Arrow fails in many ways on a damaged file; all mean the same here
        raise damaged(path, f"{type(error).__name__}: {first_line(error)}".rstrip(".")) from None


def read_about(folder: Path) -> dict[str, Any]:
    """The manifest, checked against its checksum and :data:`_MANIFEST`."""
    path = folder / _ABOUT
    try:
        with open(path, encoding="utf-8") as file:
            about = json.load(file)
    except OSError:
        about = None
    except (ValueError, RecursionError):
        raise damaged(path, "it is not JSON") from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise FileError(
            f"{folder} is not a folder with a tree, as cladify.fit(..., engine='dask', out=FOLDER) leaves it."
        )
    if about.get("version") != VERSION:
        raise FileError(f"{folder} has version {about.get('version')!r} of this format; this cladify reads {VERSION}.")
    if about.pop("crc32", None) != _json_checksum(about):
        raise damaged(path, "its checksum does not match")
    for name, rule, holds in _MANIFEST:
        if not holds(about):
            raise damaged(path, f"{name} {rule}")
    return about


def _is_count(value: Any, low: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < 2**62


def _is_file(entry: Any) -> bool:
    return isinstance(entry, dict) and _is_count(entry.get("bytes")) and _is_count(entry.get("crc32"))


def _is_below(entry: Any) -> bool:
    if not isinstance(entry, dict) or not _is_count(entry.get("bytes")):
        return False
    rows, sums = entry.get("rows"), entry.get("crc32")
    if not isinstance(rows, list) or not isinstance(sums, list) or len(rows) != len(sums):
        return False
    return all(_is_count(count, 1) for count in rows) and all(map(_is_count, sums))


#: Rules of the manifest: a name, a rule, and a function that checks it.
_MANIFEST: tuple[tuple[str, str, Callable[[dict[str, Any]], bool]], ...] = (
    ("n_leaves", "must be a number above 0", lambda about: _is_count(about.get("n_leaves"), 1)),
    ("n_nodes", "must be at least n_leaves", lambda about: _is_count(about.get("n_nodes"), about["n_leaves"])),
    ("n_groups", "must be from 1 to n_leaves", lambda about: _is_count(about.get("n_groups"), 1)),
    ("n_groups", "must be from 1 to n_leaves", lambda about: about["n_groups"] <= about["n_leaves"]),
    ("top", "must have bytes and crc32", lambda about: _is_file(about.get("top"))),
    ("groups", "must have bytes and crc32", lambda about: _is_file(about.get("groups"))),
    (
        "below",
        "must be a list of files",
        lambda about: isinstance(about.get("below"), list) and len(about["below"]) > 0,
    ),
    ("below", "must have bytes, rows and crc32", lambda about: all(map(_is_below, about["below"]))),
    ("info", "must be an object", lambda about: isinstance(about.get("info"), dict)),
)


def check_size(path: Path, expected: int) -> None:
    """Raise for a file that is missing or has another size than the manifest says."""
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise damaged(path, error.strerror or "it cannot be read") from None
    if size != expected:
        raise damaged(path, f"it has {size} bytes, and tree.json says {expected}")


def read_top(folder: Path, about: dict[str, Any]) -> Tree:
    path = folder / TOP
    check_size(path, about["top"]["bytes"])
    with intact(path):
        top = Tree.load(path)
    if top_checksum(top) != about["top"]["crc32"]:
        raise damaged(path, "its checksum is not the one in tree.json")
    if top.n_leaves != about["n_groups"]:
        raise damaged(path, f"it has {top.n_leaves} groups, and tree.json says {about['n_groups']}")
    return top


def read_groups(folder: Path, about: dict[str, Any]) -> Groups:
    path = folder / GROUPS
    check_size(path, about["groups"]["bytes"])
    with intact(path):
        with parquet().ParquetFile(path) as file:
            if file.metadata.num_rows != about["n_groups"] or file.schema_arrow.names != list(Groups._fields):
                raise damaged(path, "it has not one row a group")
            table = file.read()
        columns = [table[name].to_numpy() for name in Groups._fields]
        groups = Groups(*columns)
        if any(column.dtype != np.int64 for column in columns) or checksum(columns) != about["groups"]["crc32"]:
            raise damaged(path, "its checksum is not the one in tree.json")
    for rule, holds in _GROUPS:
        if not holds(groups, about):
            raise damaged(path, f"rule broken: {rule}")
    return groups


#: Rules of the table of groups; entries are compared before they are added up, so that sums do not overflow.
_GROUPS: tuple[tuple[str, Callable[[Groups, dict[str, Any]], bool]], ...] = (
    ("a group has at least one leaf", lambda g, about: bool((g.size >= 1).all())),
    ("a group has at least as many nodes as leaves", lambda g, about: bool((g.nodes >= g.size).all())),
    ("a group has fewer than two nodes a leaf", lambda g, about: bool((g.nodes < 2 * g.size).all())),
    ("groups are numbered by their smallest leaf", lambda g, about: bool((np.diff(g.leaf) > 0).all())),
    (
        "leaves are numbered from 0 to n_leaves - 1",
        lambda g, about: bool(g.leaf[0] == 0 and g.leaf[-1] < about["n_leaves"]),
    ),
    (
        "all groups together have n_leaves leaves",
        lambda g, about: bool((g.size <= about["n_leaves"]).all()) and int(g.size.sum()) == about["n_leaves"],
    ),
    (
        "all groups together have as many nodes as there are rows below",
        lambda g, about: int(g.nodes.sum()) == sum(sum(entry["rows"]) for entry in about["below"]),
    ),
)


def check_rows(rows: Rows, groups: Groups, n_leaves: int) -> str | None:
    """The first rule that the rows of some whole groups break, None where they keep all; see :data:`_ROWS`."""
    count = groups.nodes
    start, nodes = np.repeat(np.cumsum(count) - count, count), np.repeat(count, count)
    place = np.arange(len(start)) - start
    is_leaf = place < np.repeat(groups.size, count)
    at = _Places(place, place == nodes - 1, is_leaf, start, nodes, groups, n_leaves)
    return next((rule for rule, holds in _ROWS if not holds(rows, at)), None)


class _Places(NamedTuple):
    """Of each row: its place in its group, whether it is the last there, or a leaf; the group's first row and count."""

    place: np.ndarray
    last: np.ndarray
    is_leaf: np.ndarray
    start: np.ndarray
    nodes: np.ndarray
    groups: Groups
    n_leaves: int


_ROWS: tuple[tuple[str, Callable[[Rows, _Places], bool]], ...] = (
    ("leaves of a group come first", lambda r, at: bool(((r.leaf >= 0) == at.is_leaf).all())),
    ("leaves are below n_leaves", lambda r, at: bool((r.leaf < at.n_leaves).all())),
    (
        "the first leaf of a group is its smallest",
        lambda r, at: bool((r.leaf[at.place == 0] == at.groups.leaf).all()),
    ),
    (
        "leaves of a group ascend",
        lambda r, at: bool((np.diff(r.leaf)[(at.is_leaf & (at.place > 0))[1:]] > 0).all()),
    ),
    ("the last row of a group is its root", lambda r, at: bool(((r.parent == -1) == at.last).all())),
    (
        "parents come after their children, in the same group",
        lambda r, at: bool((((r.parent > at.place) & (r.parent < at.nodes)) | at.last).all()),
    ),
    ("parents are no leaves", lambda r, at: bool((~at.is_leaf[(at.start + r.parent)[~at.last]]).all())),
    ("heights are finite, and 0 at leaves", lambda r, at: bool(np.isfinite(r.height).all())),
    ("heights are finite, and 0 at leaves", lambda r, at: not r.height[at.is_leaf].any()),
)


def parquet() -> Any:
    import pyarrow.parquet as pq

    return pq
