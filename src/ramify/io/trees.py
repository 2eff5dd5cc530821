"""Trees in files of several formats: read by what is in them, written by the ending of their name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ramify.errors import FileError, InvalidInput
from ramify.io._common import PathLike, find_file, reading
from ramify.io._numpy import read_npy
from ramify.io.atomic import atomic_write

if TYPE_CHECKING:
    from ramify.tree import Tree

__all__ = ["read_tree", "write_tree"]

TREE = (".tree", ".ramify")
NEWICK = (".nwk", ".newick", ".tre")


def read_tree(path: PathLike, items: Sequence[str] | None = None) -> Tree:
    """The tree in a file: ramify's own format, Newick, a SciPy linkage matrix (``.npy``) or JSON.

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
    from ramify.tree import Tree

    find_file(path)
    with reading(path, "tree"):
        with open(path, "rb") as file:
            start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"PK"):
            return Tree.load(path)
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
    raise FileError(f"{path} is not a tree: expected a ramify tree, Newick, a SciPy linkage (.npy) or JSON.")


def write_tree(tree: Tree, path: PathLike, items: Sequence[str] | None = None) -> None:
    """Write a tree, whole or not at all.

    ``.tree`` is ramify's own format (everything is kept), ``.nwk`` Newick (with ``items`` as the names of the leaves),
    ``.npy`` a SciPy linkage matrix (binary trees), ``.json`` plain JSON.
    """
    kind = check_tree_name(path)
    if kind in TREE:
        tree.save(path)
    elif kind in NEWICK:
        text = tree.to_newick(items)
        with atomic_write(path, "w") as file:
            file.write(text + "\n")
    elif kind == ".npy":
        linkage = tree.to_linkage()
        with atomic_write(path) as file:
            np.save(file, linkage, allow_pickle=False)
    else:
        data = tree.to_dict()
        with atomic_write(path, "w") as file:
            json.dump(data, file)


def check_tree_name(path: PathLike) -> str:
    """The ending of a tree file's name, if it says how to write it."""
    kind = Path(path).suffix.lower()
    known = (*TREE, *NEWICK, ".npy", ".json")
    if kind not in known:
        raise FileError(f"cannot write a tree to {path}: the ending says the format. Known: {', '.join(known)}.")
    return kind
