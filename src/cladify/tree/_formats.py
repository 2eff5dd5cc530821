"""Formats of tree files: read by their content, written by the ending of their name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cladify._kit.arrays import read_npy
from cladify._kit.atomic import atomic_write
from cladify._kit.files import PathLike, find_file, instead, reading
from cladify.errors import FileError, InvalidInput
from cladify.tree import _file

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["check_tree_name", "load", "read", "save", "write_tree"]

TREE = (".tree", ".cladify")
NEWICK = (".nwk", ".newick", ".tre")


def read(cls: type[Tree], path: PathLike, items: Sequence[str] | None = None) -> Tree:
    """The tree in a file; see :func:`cladify.io.read_tree`."""
    find_file(path)
    with reading(path, "tree"):
        with open(path, "rb") as file:
            start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"PK"):
            return _file.load(cls, path)
        try:
            if start.startswith(b"\x93NUMPY"):
                return cls.from_linkage(np.asarray(read_npy(path)))
            if start.startswith(b"{"):
                return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8-sig")))
            if start.startswith((b"(", b"[", b"'")):
                return cls.from_newick(Path(path).read_text(encoding="utf-8-sig"), items)
        except InvalidInput as error:
            if str(path) in str(error):
                raise
            raise FileError(f"{path} is not a tree: {error}") from None
    known = "a cladify tree, Newick, a SciPy linkage (.npy) or JSON"
    raise FileError(f"{path} is not a tree: expected {known}.{instead(path)}")


def write_tree(tree: Tree, path: PathLike, items: Sequence[str] | None = None) -> None:
    """Write a tree, whole or not at all.

    ``.tree`` is cladify's own format (everything is kept), ``.nwk`` Newick (with ``items`` as the names of the leaves),
    ``.npy`` a SciPy linkage matrix (binary trees), ``.json`` plain JSON (``items`` become ``info["names"]``).
    """
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
    if Path(path).suffix.lower() in (*NEWICK, ".npy", ".json"):
        write_tree(tree, path, tree.info.get("names"))
    else:
        _file.save(tree, path)


def load(cls: type[Tree], path: PathLike) -> Tree:
    """The tree that :func:`save` wrote."""
    if Path(path).suffix.lower() in (*NEWICK, ".npy", ".json"):
        return read(cls, path)
    return _file.load(cls, path)


def check_tree_name(path: PathLike) -> str:
    """The ending of a tree file's name, if it says how to write it."""
    kind = Path(path).suffix.lower()
    known = (*TREE, *NEWICK, ".npy", ".json")
    if kind not in known:
        raise FileError(f"cannot write a tree to {path}: the ending says the format. Known: {', '.join(known)}.")
    return kind
