"""Newick, the text form of trees that biology's tools share.

Heights go into branch lengths (height of the parent less height of the node). Where adding them up again would not
give the height to the last bit, a note ``[&cladify_height=...]`` follows the node, which other readers skip as a
comment; rounds of level-wise methods become ``[&cladify_level=...]``. So a tree comes back equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify import _core
from cladify.errors import FileError, InvalidInput

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["from_newick", "to_newick"]


def to_newick(tree: Tree, names: Sequence[Any] | None = None, *, exact: bool = True) -> str:
    """Newick text of a tree; see :meth:`cladify.Tree.to_newick`."""
    empty = np.empty(0, dtype=np.int64)
    blob, start = b"", empty
    if names is not None:
        if len(names) != tree.n_leaves:
            raise InvalidInput(f"names must have one entry a leaf ({tree.n_leaves}), got {len(names)}.")
        encoded = [str(name).encode("utf-8", "replace") for name in names]
        start = np.zeros(tree.n_leaves + 1, dtype=np.int64)
        np.cumsum([len(name) for name in encoded], out=start[1:])
        blob = b"".join(encoded)
    level = empty if tree.level is None or not exact else tree.level
    text: bytes = _core.newick_write(
        tree.parent, tree.child_start, tree.child_ids, tree.height, level, blob, start, exact
    )
    return text.decode()


def from_newick(cls: type[Tree], text: str | bytes, names: Sequence[Any] | None = None) -> Tree:
    """The tree of Newick text; see :meth:`cladify.Tree.from_newick`."""
    if not isinstance(text, str | bytes):
        raise InvalidInput(f"Newick must be text, got {type(text).__name__}. Read the file first.")
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    data = data.removeprefix(b"\xef\xbb\xbf")  # some editors begin UTF-8 files with a byte order mark
    nodes = _core.newick_read(data)
    if nodes["fault"]:
        raise FileError(_fault(data, nodes["fault"], nodes["position"]))
    parent = nodes["parent"]
    is_leaf = np.ones(len(parent), dtype=bool)
    is_leaf[parent[1:]] = False
    leaves = np.flatnonzero(is_leaf)
    n = len(leaves)
    found: list[str] | None = None
    ids = _numbered(nodes["number"][leaves])
    if names is not None or ids is None:
        found = _names(data, nodes["name_start"][leaves], nodes["name_end"][leaves])
        ids = np.arange(n) if names is None else _matched(found, names)

    # Leaves to the front in the order of their ids, inner nodes behind; from_parents does the rest.
    now = np.empty(len(parent), dtype=np.int64)
    now[leaves] = ids
    now[~is_leaf] = np.arange(n, len(parent))
    before = np.argsort(now)
    height = nodes["height"][before] if nodes["has_heights"] else None
    level = nodes["level"][before] if nodes["has_levels"] else None
    if level is not None and (level[n:] < 0).any():
        level = None  # rounds of some nodes only are no rounds
    info: dict[str, Any] = {"source": "newick"}
    if names is None and found is not None and any(found):
        info["names"] = found
    return cls.from_parents(np.where(parent < 0, -1, now[parent])[before], n, height, level, info)


def _names(data: bytes, start: np.ndarray, end: np.ndarray) -> list[str]:
    spans = zip(start.tolist(), end.tolist(), strict=True)
    if data.isascii() and b'"' not in data and b"''" not in data:
        text = data.decode()
        return [text[a:b].strip("'") for a, b in spans]
    return [_unquote(data[a:b]) for a, b in spans]


def _unquote(name: bytes) -> str:
    if name[:1] in (b"'", b'"'):
        quote = name[:1]
        name = name[1:-1].replace(quote * 2, quote)
    return name.decode("utf-8", "replace")


def _numbered(numbers: np.ndarray) -> np.ndarray | None:
    """Leaf ids, when the names are just the numbers 0 .. n-1."""
    n = len(numbers)
    if numbers.min() < 0 or numbers.max() >= n or np.bincount(numbers, minlength=n).max() > 1:
        return None
    return numbers


def _matched(found: list[str], names: Sequence[Any]) -> np.ndarray:
    place = {str(name): i for i, name in enumerate(names)}
    ids = np.array([place.get(name, -1) for name in found], dtype=np.int64)
    if (ids < 0).any():
        raise InvalidInput(f"The leaf {found[int(ids.argmin())]!r} of the Newick text is not among the names.")
    if not len(names) == len(place) == len(found) or np.bincount(ids).max() > 1:
        raise InvalidInput(
            f"names must name each leaf of the text once: {len(names)} names ({len(place)} different) for "
            f"{len(found)} leaves ({len(set(found))} different)."
        )
    return ids


def _fault(data: bytes, expected: str, position: int) -> str:
    got = data[position : position + 1].decode("utf-8", "replace")
    seen = repr(got) if position < len(data) else "the end of the text"
    character = len(data[:position].decode("utf-8", "replace"))
    return f"Newick text expects {expected} at character {character}, got {seen}. Is the file whole, and is it Newick?"
