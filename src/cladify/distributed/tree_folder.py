"""`TreeFolder`: a tree on disk that need not fit in memory, a top and what is below it.

The *top* is a :class:`Tree` over groups of leaves. Below it every group has a tree of its own, and these lie in Parquet
files one after another in the top's depth-first order: the leaves below any node of the top are one range of rows, and
nothing else is read for it.

``tree.json``
    ``format`` ("cladify-tree-folder"), ``version`` (2), ``n_leaves``, ``n_nodes``, ``n_groups``, ``info``, sizes and
    checksums of the other files (``top``, ``groups``, ``below``), and ``crc32`` of all this.
``top.tree``
    The top; its leaf g is group g. Groups are numbered by their smallest leaf.
``groups.parquet``
    Of each group: ``leaf``, its smallest; ``size``, its leaves; ``nodes``, the rows that it has below.
``below-00000.parquet``, …
    A row a node: ``leaf`` (-1 for an inner node), ``parent`` (a place among the rows of its group; -1 for its root),
    ``height`` and, for trees made in rounds, ``level``. Leaves of a group come first, ascending.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.atomic import PathLike, atomic_path
from cladify._kit.params import check_int
from cladify.distributed._storage.tree_rows import (
    VERSION,
    Groups,
    Rows,
    below_name,
    check_rows,
    check_size,
    checksum,
    damaged,
    group_rows,
    intact,
    is_tree_folder,
    new_folder,
    parquet,
    read_about,
    read_groups,
    read_top,
    top_of,
    write_about,
    write_below,
    write_folder,
)
from cladify.errors import CladifyWarning, FileError, InvalidInput
from cladify.tree import Tree

__all__ = ["TreeFolder", "check", "is_tree_folder"]

_FILE_LEAVES = 1 << 22


class TreeFolder:
    """A tree in a folder, of which only the top is in memory.

    Parameters
    ----------
    folder : path
        As :meth:`write`, or ``cladify.fit(..., engine="dask", out=folder)``, left it.

    Attributes
    ----------
    top : Tree
        Over the groups.
    size : int64 array
        Leaves below each node of the top.
    n_leaves : int
    info : dict

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> tree = Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [5, 6, 5.0, 4], [4, 7, 9.0, 5]])
    >>> folder = TreeFolder.write(tree, mkdtemp() + "/tree", n_groups=3)
    >>> folder
    TreeFolder(n_leaves=5, n_groups=3)
    >>> [part.tolist() for part in folder.cut(n_clusters=2)]
    [[0, 0, 0, 0, 1]]
    >>> folder.subtree(3).parent.tolist()
    [4, 4, 5, 5, 6, 6, -1]
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self._about = read_about(self.folder)
        self.n_leaves, self.info = self._about["n_leaves"], self._about["info"]
        self.top = read_top(self.folder, self._about)
        self._groups = read_groups(self.folder, self._about)
        for i, entry in enumerate(self._about["below"]):
            check_size(self.folder / below_name(i), entry["bytes"])

    def __repr__(self) -> str:
        return f"TreeFolder(n_leaves={self.n_leaves}, n_groups={self.top.n_leaves})"

    @classmethod
    def write(cls, tree: Tree, folder: PathLike, *, n_groups: int | None = None) -> TreeFolder:
        """Write a tree in memory, with a top of at most ``n_groups`` groups (a tenth of the leaves by default)."""
        if not tree.is_monotone:
            raise InvalidInput("heights of this tree decrease towards the root; only trees that grow go in parts.")
        n = tree.n_leaves
        most = check_int("n_groups", max(1, n // 10) if n_groups is None else n_groups, low=1, high=n)
        # All splits from the highest down that lead to few enough groups, and none of equal height apart.
        children = np.bincount(tree.parent[:-1], minlength=tree.n_nodes)[tree.split_order]
        fits = int(np.searchsorted(1 + np.cumsum(children - 1), most, side="right"))
        nodes = np.arange(n)
        if fits < len(children):
            nodes = tree.cut(height=float(tree.height[tree.split_order[fits]]), return_nodes=True)[1]
        top = top_of(tree, nodes)
        with new_folder(folder) as draft:
            rows, groups = group_rows(tree, nodes[top.leaf_order])
            below = write_below(draft / below_name(0), rows)
            write_folder(draft, top, groups, [below], tree.info)
        return cls(folder)

    def save_info(self) -> None:
        """Write the current ``info`` to the folder."""
        self._about["info"] = self.info
        write_about(self.folder, self._about)

    # --- reading ------------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> np.ndarray:
        """Leaves below each node of the top."""
        top = self.top
        sums = np.concatenate([[0], np.cumsum(self._groups.size[top.leaf_order])])
        return np.asarray(sums[top.last] - sums[top.first])

    def members(self, v: int) -> np.ndarray:
        """The leaves below a node of the top, ascending."""
        return self._below(v)[1]

    def subtree(self, v: int) -> Tree:
        """The tree below a node of the top; its leaf i is ``members(v)[i]``."""
        return self._below(v)[0]

    def tree(self) -> Tree:
        """All of it, in memory."""
        return self.subtree(self.top.root).with_info(**self.info)

    def view(self, v: int | None = None, items: Sequence[Any] | None = None) -> tuple[Tree, list[str]]:
        """A tree to look at, and a name for each of its leaves: the top, or the tree below one of its nodes.

        ``items`` has a name for every leaf of the whole tree; a group goes by that of its smallest leaf.
        """
        if items is not None and len(items) != self.n_leaves:
            raise InvalidInput(f"items must have one entry a leaf ({self.n_leaves}), got {len(items)}.")
        if v is None:
            leaf, size = self._groups.leaf.tolist(), self._groups.size.tolist()
            first = [f"leaf {i}" if items is None else str(items[i]) for i in leaf]
            return self.top, [
                f"{name} (group {g}, {n} {'leaf' if n == 1 else 'leaves'})"
                for g, (n, name) in enumerate(zip(size, first, strict=True))
            ]
        tree, members = self._below(v)
        return tree, [str(i) if items is None else str(items[i]) for i in members.tolist()]

    def write_labels(self, path: PathLike, n_clusters: int | None = None, *, height: float | None = None) -> np.ndarray:
        """The labels of :meth:`cut` in a ``.parquet``, ``.npy`` or ``.txt`` file, part by part; gives cluster sizes."""
        kind = Path(path).suffix.lower()
        if kind not in (".npy", ".parquet", ".txt"):
            raise FileError(f"cannot write labels to {path} part by part: known endings are .npy, .parquet and .txt.")
        sizes = np.zeros(0, dtype=np.int64)
        parts = self.cut(n_clusters, height=height)
        first = next(parts)  # a cut that is wrong leaves no file
        with atomic_path(path) as draft, _label_writer(draft, kind, self.n_leaves) as write:
            for labels in itertools.chain([first], parts):
                write(labels)
                more = np.bincount(labels, minlength=len(sizes))
                more[: len(sizes)] += sizes
                sizes = more
        return sizes

    def _below(self, v: int) -> tuple[Tree, np.ndarray]:
        top = self.top
        v = check_int("node", v, low=0, high=top.root, why=f"for a top of {top.n_nodes} nodes")
        groups = top.leaf_order[top.first[v] : top.last[v]]
        nodes = self._groups.nodes[groups]
        rows = self._rows(slice(int(top.first[v]), int(top.last[v])))
        start = np.repeat(np.cumsum(nodes) - nodes, nodes)
        is_leaf = rows.leaf >= 0
        leaves = np.sort(rows.leaf[is_leaf])
        name = np.empty(len(is_leaf), dtype=np.int64)
        name[is_leaf] = np.searchsorted(leaves, rows.leaf[is_leaf])
        name[~is_leaf] = len(leaves) + np.arange(np.count_nonzero(~is_leaf))
        # The nodes of the top that are below v come after those of the groups, and keep their order.
        inner = np.flatnonzero((top.first >= top.first[v]) & (top.last <= top.last[v]))
        inner = inner[inner >= top.n_leaves]
        place = np.full(top.n_nodes + 1, -1, dtype=np.int64)
        place[inner] = len(name) + np.arange(len(inner))
        roots = np.cumsum(nodes) - 1  # a group's root is its last row
        place[groups] = name[roots]
        parent = np.full(len(name) + len(inner), -1, dtype=np.int64)
        own = rows.parent >= 0
        parent[name[own]] = name[(start + rows.parent)[own]]
        parent[name[roots]] = place[top.parent[groups]]
        parent[place[inner]] = place[top.parent[inner]]
        parent[place[v]] = -1
        height, level = np.empty(len(parent)), None
        height[name], height[place[inner]] = rows.height, top.height[inner]
        if rows.level is not None and top.level is not None:
            level = np.empty(len(parent), dtype=np.int64)
            level[name], level[place[inner]] = rows.level, top.level[inner]
        with intact(self.folder):
            return Tree(parent, height, level=level, info=self.info), leaves

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where each group's rows start, in the order of the files."""
        return np.concatenate([[0], np.cumsum(self._groups.nodes[self.top.leaf_order])])

    @cached_property
    def _files(self) -> list[tuple[Any, np.ndarray]]:
        """Every file, and where its row groups start among all rows."""
        files, before = [], 0
        names = list(Rows._fields[: 3 + (self.top.level is not None)])
        for i, entry in enumerate(self._about["below"]):
            path = self.folder / below_name(i)
            with intact(path):
                file = parquet().ParquetFile(path)
                sizes = [file.metadata.row_group(j).num_rows for j in range(file.metadata.num_row_groups)]
            if sizes != entry["rows"] or file.schema_arrow.names != names:
                raise damaged(path, "its rows are not those that tree.json says")
            starts = before + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
            before = int(starts[-1])
            files.append((file, starts))
        return files

    def _rows(self, some: slice) -> Rows:
        """The nodes of some groups, in the order of the files; reads only the row groups that have them."""
        first, last = int(self._starts[some.start]), int(self._starts[some.stop])
        found = []
        for i, (file, starts) in enumerate(self._files):
            wanted = np.flatnonzero((starts[:-1] < last) & (starts[1:] > first)).tolist()
            if wanted:
                path, begin = self.folder / below_name(i), int(starts[wanted[0]])
                with intact(path):
                    table = file.read_row_groups(wanted)
                    columns = [table[name].to_numpy() for name in table.column_names]
                for j in wanted:
                    span = slice(int(starts[j]) - begin, int(starts[j + 1]) - begin)
                    if checksum(column[span] for column in columns) != self._about["below"][i]["crc32"][j]:
                        raise damaged(path, f"the checksum of row group {j} is not the one in tree.json")
                low, high = max(first - begin, 0), min(last, int(starts[wanted[-1] + 1])) - begin
                found.append([column[low:high] for column in columns])
        whole = [np.concatenate(column) for column in zip(*found, strict=True)]
        rows = Rows(*whole, *[None] * (4 - len(whole)))
        groups = Groups(*(column[self.top.leaf_order[some]] for column in self._groups))
        if (rule := check_rows(rows, groups, self.n_leaves)) is not None:
            raise damaged(self.folder, f"rule broken: {rule}")
        return rows

    # --- cuts ---------------------------------------------------------------------------------------------------------

    def cut(
        self, n_clusters: int | None = None, *, height: float | None = None, part_leaves: int = _FILE_LEAVES
    ) -> Iterator[np.ndarray]:
        """The labels of :meth:`Tree.cut`, ``part_leaves`` leaves at a time, in the order of the leaves.

        ``n_clusters`` splits the nodes of the top only, and must be at most the number of groups; ``height`` may lie
        below the top. A part takes 8 bytes a leaf and one pass over the files.
        """
        cluster, smallest = self._clusters(n_clusters, height)
        for low in range(0, self.n_leaves, part_leaves):
            high = min(low + part_leaves, self.n_leaves)
            labels = np.empty(high - low, dtype=np.int64)
            for leaf, own in cluster():
                some = (leaf >= low) & (leaf < high)
                labels[leaf[some] - low] = np.searchsorted(smallest, own[some])
            yield labels

    def _clusters(self, n_clusters: int | None, height: float | None) -> tuple[Any, np.ndarray]:
        """A function: leaves and the smallest leaf of the cluster of each, some groups at a time; and all of these."""
        top, groups = self.top, self._groups
        if (n_clusters is None) == (height is None):
            raise InvalidInput("Say where to cut: n_clusters= or height=.")
        if n_clusters is not None:
            k = check_int("n_clusters", n_clusters, low=1, high=self.n_leaves, why=f"for {self.n_leaves} leaves")
            if k > top.n_leaves:
                raise InvalidInput(
                    f"the top of this tree has {top.n_leaves} groups, got n_clusters={k}; use height=, which may lie "
                    "below it."
                )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CladifyWarning)
                label = top.cut(k)
            if (count := int(label.max()) + 1) != k:
                warnings.warn(
                    f"The cut has {count} clusters, not {k}: no split of the top that fits is left.",
                    CladifyWarning,
                    stacklevel=3,
                )
        else:
            label = top.cut(height=height)
        lowest = np.full(int(label.max()) + 1, self.n_leaves, dtype=np.int64)
        np.minimum.at(lowest, label, groups.leaf)
        whole = lowest[label]  # the smallest leaf of the cluster of each group that is not cut itself

        def clusters() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for some in self._runs():
                rows = self._rows(some)
                nodes = groups.nodes[top.leaf_order[some]]
                is_leaf = rows.leaf >= 0
                own = np.repeat(whole[top.leaf_order[some]], nodes)
                if height is not None:
                    own = _cut_rows(rows, nodes, own, float(height))
                yield rows.leaf[is_leaf], own[is_leaf]

        if height is None or not (self._highest > height).any():
            return clusters, np.unique(whole)
        return clusters, np.unique(np.concatenate([np.unique(own) for _, own in clusters()]))

    @cached_property
    def _highest(self) -> np.ndarray:
        """An upper bound of the heights inside each group: that of the node above it."""
        top = self.top
        return top.height[top.parent[: top.n_leaves]] if top.n_nodes > 1 else np.full(1, np.inf)

    def _runs(self) -> Iterator[slice]:
        """Groups in the order of the files, some at a time."""
        starts, at = self._starts, 0
        while at < len(starts) - 1:
            stop = int(np.searchsorted(starts, starts[at] + _FILE_LEAVES, side="right")) - 1
            stop = max(stop, at + 1)
            yield slice(at, stop)
            at = stop


def check(path: PathLike) -> dict[str, Any]:
    """Read all of a tree folder and compare it with its checksums and rules.

    Returns
    -------
    dict
        ``kind`` ("tree folder"), ``version``, ``n_leaves``, ``n_nodes``, and ``problems``: one line for each file that
        is damaged, empty for a whole folder. Figures that cannot be read are None.
    """
    found: dict[str, Any] = {"kind": "tree folder", "version": None, "n_leaves": None, "n_nodes": None, "problems": []}
    problems: list[str] = found["problems"]
    try:
        about = read_about(Path(path))
        found.update(version=VERSION, n_leaves=about["n_leaves"], n_nodes=about["n_nodes"])
        folder = TreeFolder(path)
        seen = np.zeros(folder.n_leaves, dtype=bool)
        for some in folder._runs():
            rows = folder._rows(some)
            leaves = rows.leaf[rows.leaf >= 0]
            if seen[leaves].any():
                problems.append(f"{path} is damaged: leaf {leaves[seen[leaves]][0]} is in two groups.")
            seen[leaves] = True
    except FileError as error:
        problems.append(str(error))
    return found


def _cut_rows(rows: Rows, nodes: np.ndarray, whole: np.ndarray, height: float) -> np.ndarray:
    """The smallest leaf of the cluster of each node, where the groups with more than ``height`` in them are cut."""
    start = np.repeat(np.cumsum(nodes) - nodes, nodes)
    above = np.where(rows.parent >= 0, start + rows.parent, -1)
    up = np.arange(len(start))
    joined = (above >= 0) & (rows.height[above] <= height)  # heights grow towards the root
    up[joined] = above[joined]
    while not np.array_equal(higher := up[up], up):
        up = higher
    lowest = np.full(len(start), np.iinfo(np.int64).max)
    is_leaf = rows.leaf >= 0
    np.minimum.at(lowest, up[is_leaf], rows.leaf[is_leaf])
    roots = np.cumsum(nodes) - 1
    return np.where(np.repeat(rows.height[roots] > height, nodes), lowest[up], whole)


@contextmanager
def _label_writer(path: Path, kind: str, n: int) -> Iterator[Any]:
    """A function that adds labels to a file."""
    if kind == ".parquet":
        import pyarrow as pa

        with parquet().ParquetWriter(path, pa.schema([("label", pa.int64())])) as writer:
            yield lambda labels: writer.write_table(pa.table({"label": labels}))
        return
    with open(path, "wb") as file:
        if kind == ".npy":
            header = {"descr": "<i8", "fortran_order": False, "shape": (n,)}
            np.lib.format.write_array_header_1_0(file, header)
            yield lambda labels: file.write(labels.astype("<i8").tobytes())
        else:
            yield lambda labels: file.write("".join(f"{label}\n" for label in labels.tolist()).encode())
