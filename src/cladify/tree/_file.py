"""The tree file, and the same content as JSON.

A tree file is an archive as :mod:`cladify._kit.container` describes it, with the members:

``cladify-tree.json``
    ``format`` ("cladify-tree"), ``version`` (1), ``cladify`` (the version that wrote it), ``n_leaves``, ``n_nodes``,
    ``info`` (method, parameters, metric and whatever else the tree's ``info`` holds) and ``sha256``, the checksum of
    the arrays' bytes in the order below.
``parent.npy``
    Parent of each node, int32 or int64; -1 at the root.
``height.npy``
    Heights of the inner nodes, float64 (leaves have height 0).
``level.npy``
    Rounds of the inner nodes, int32 or int64; absent for trees without levels.
``order.npy``
    Leaves in depth-first order, int32 or int64; absent where children come in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.atomic import PathLike
from cladify._kit.container import Format, first_line, narrow, plain
from cladify._version import __version__
from cladify.errors import FileError, InvalidInput

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = ["from_dict", "load", "save", "to_dict"]

FORMAT = "cladify-tree"
VERSION = 1
_FILE = Format(
    name=FORMAT,
    version=VERSION,
    what="tree",
    writer="Tree.save(path)",
    dtypes={"parent": ("<i4", "<i8"), "height": ("<f8",), "level": ("<i4", "<i8"), "order": ("<i4", "<i8")},
    required=("parent", "height"),
)


def save(tree: Tree, path: PathLike) -> None:
    """Write ``tree`` to ``path``; an existing file stays as it was until the new one is complete."""
    n = tree.n_leaves
    arrays = {"parent": narrow(tree.parent), "height": tree.height[n:].astype("<f8", copy=False)}
    if tree.level is not None:
        arrays["level"] = narrow(tree.level[n:])
    if tree._order is not None:
        arrays["order"] = narrow(tree._order)
    _FILE.write(path, {"n_leaves": n, "n_nodes": tree.n_nodes, "info": plain(tree.info)}, arrays)


def load(cls: type[Tree], path: PathLike) -> Tree:
    """The tree in the file ``path``; anything else than a whole tree file is a FileError."""
    return _FILE.read(path, partial(_build, cls))


def _build(cls: type[Tree], figures: dict[str, Any], arrays: dict[str, np.ndarray]) -> Tree:
    n = len(arrays["parent"]) - len(arrays["height"])
    if n < 1 or figures.get("n_leaves") != n:
        raise InvalidInput("its arrays have the wrong lengths")
    level = arrays.get("level")
    return cls(
        arrays["parent"],
        np.concatenate([np.zeros(n), arrays["height"]]),
        level=None if level is None else np.concatenate([np.zeros(n, dtype=np.int64), level]),
        info=figures["info"],
        order=arrays.get("order"),
    )


# --- JSON -------------------------------------------------------------------------------------------------------------


def to_dict(tree: Tree) -> dict[str, Any]:
    """The tree in plain Python values."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "cladify": __version__,
        "n_leaves": tree.n_leaves,
        "parent": tree.parent.tolist(),
        "height": tree.height.tolist(),
    }
    if tree.level is not None:
        data["level"] = tree.level.tolist()
    if tree._order is not None:
        data["order"] = tree._order.tolist()
    data["info"] = plain(tree.info)
    return data


def from_dict(cls: type[Tree], data: Any) -> Tree:
    """The tree that :func:`to_dict` described."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT or "parent" not in data:
        raise FileError("This is not a tree as Tree.to_dict() writes it: a dict with format='cladify-tree' and parent.")
    _FILE.check_version(data.get("version"), "The data")
    info = data.get("info", {})
    if not isinstance(info, Mapping):
        raise FileError(f"info of a tree must be a dict, got {type(info).__name__}.")
    try:
        tree = cls(data["parent"], data.get("height"), level=data.get("level"), info=info, order=data.get("order"))
    except InvalidInput:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise FileError(f"The arrays of the tree cannot be read: {first_line(error)}.") from None
    if data.get("n_leaves", tree.n_leaves) != tree.n_leaves:
        raise FileError(f"The data says {data['n_leaves']} leaves, and its parents have {tree.n_leaves}.")
    return tree
