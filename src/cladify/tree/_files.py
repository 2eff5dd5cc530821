"""Trees in files of several formats: read by what is in them, written by the ending of their name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cladify._kit.arrays import read_npy
from cladify._kit.atomic import atomic_write
from cladify._kit.files import PathLike, find_file, reading
from cladify.errors import FileError, InvalidInput

if TYPE_CHECKING:
    from cladify.tree.dag import ClusterDag
    from cladify.tree.tree import Tree

__all__ = ["read_hierarchy", "read_tree", "write_tree"]

TREE = (".tree", ".cladify")
NEWICK = (".nwk", ".newick", ".tre")


def read_tree(path: PathLike, items: Sequence[str] | None = None) -> Tree:
    """The tree in a file: cladify's own format, Newick, a SciPy linkage matrix (``.npy``) or JSON.

    The format is told by the content, so the name of the file does not matter.

    Parameters
    ----------
    path : str or path
    items : sequence of str, optional
        For Newick: leaf i is the one with the name ``items[i]``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.nwk"
    >>> _ = path.write_text("((0:1,1:1):2,2:3);")
    >>> read_tree(path).height.tolist()
    [0.0, 0.0, 0.0, 1.0, 3.0]
    """
    from cladify.tree import _file
    from cladify.tree.tree import Tree

    find_file(path)
    with reading(path, "tree"):
        with open(path, "rb") as file:
            start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"PK"):
            return _file.load(path)
        try:
            if start.startswith(b"\x93NUMPY"):
                return Tree.from_linkage(np.asarray(read_npy(path)))
            if start.startswith(b"{"):
                return Tree.from_dict(json.loads(Path(path).read_text(encoding="utf-8-sig")))
            if start.startswith((b"(", b"[", b"'")):
                return Tree.from_newick(Path(path).read_text(encoding="utf-8-sig"), items)
        except InvalidInput as error:
            if str(path) in str(error):
                raise
            raise FileError(f"{path} is not a tree: {error}") from None
    raise FileError(f"{path} is not a tree: expected a cladify tree, Newick, a SciPy linkage (.npy) or JSON.")


def read_hierarchy(path: PathLike, items: Sequence[str] | None = None) -> Tree | ClusterDag:
    """The tree in a file, as :func:`read_tree`, or the graph of overlapping clusters that ``ClusterDag.save`` wrote."""
    from cladify._kit.container import formats_in
    from cladify.tree._dag_file import FORMAT
    from cladify.tree.dag import ClusterDag

    find_file(path)
    return ClusterDag.load(path) if FORMAT in formats_in(path) else read_tree(path, items)


def write_tree(tree: Tree, path: PathLike, items: Sequence[str] | None = None) -> None:
    """Write a tree, whole or not at all.

    ``.tree`` is cladify's own format (everything is kept), ``.nwk`` Newick (with ``items`` as the names of the leaves),
    ``.npy`` a SciPy linkage matrix (binary trees), ``.json`` plain JSON (``items`` become ``info["names"]``).
    """
    from cladify.tree import _file

    kind = check_tree_name(path)
    if items is not None and len(items) != tree.n_leaves:
        raise InvalidInput(f"items must have one entry a leaf ({tree.n_leaves}), got {len(items)}.")
    if kind in TREE:
        _file.save(tree, path)
    elif kind in NEWICK:
        text = tree.to_newick(items)
        with atomic_write(path, "w") as file:
            file.write(text + "\n")
    elif kind == ".npy":
        linkage = tree.to_linkage()
        with atomic_write(path) as file:
            np.save(file, linkage, allow_pickle=False)
    else:
        data = (tree if items is None else tree.with_info(names=[str(item) for item in items])).to_dict()
        with atomic_write(path, "w") as file:
            json.dump(data, file)


def save(tree: Tree, path: PathLike) -> None:
    """Write a tree in the format that the ending says, and in cladify's own where it says none."""
    from cladify.tree import _file

    if Path(path).suffix.lower() in (*NEWICK, ".npy", ".json"):
        write_tree(tree, path, tree.info.get("names"))
    else:
        _file.save(tree, path)


def load(path: PathLike) -> Tree:
    """The tree that :func:`save` wrote."""
    from cladify.tree import _file

    if Path(path).suffix.lower() in (*NEWICK, ".npy", ".json"):
        return read_tree(path)
    return _file.load(path)


def check_tree_name(path: PathLike) -> str:
    """The ending of a tree file's name, if it says how to write it."""
    kind = Path(path).suffix.lower()
    known = (*TREE, *NEWICK, ".npy", ".json")
    if kind not in known:
        raise FileError(f"cannot write a tree to {path}: the ending says the format. Known: {', '.join(known)}.")
    return kind
