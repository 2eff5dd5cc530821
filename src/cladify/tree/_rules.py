"""The numbered rules of `Tree`: each check names the rule that the arrays break, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput, InvalidTree

if TYPE_CHECKING:
    from cladify.tree.tree import Tree

__all__ = [
    "FloatArray",
    "IntArray",
    "broken_rule",
    "check_height",
    "check_level",
    "own",
    "own_heights",
    "own_integers",
    "read_only",
]

IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def own_integers(name: str, values: Any, *, rule: int) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidTree(
            f"tree breaks rule {rule} ({name} is a one-dimensional array of integers): "
            f"got dtype {array.dtype} and shape {array.shape}."
        )
    return own(array, np.int64)


def own_heights(values: Any) -> FloatArray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidTree(
            "tree breaks rule 6 (height has one finite number a node): "
            f"got dtype {array.dtype} and shape {array.shape}."
        )
    return own(array, np.float64)


def own(array: np.ndarray, dtype: type) -> np.ndarray:
    """A read-only copy, or the array itself where its memory is read-only already."""
    frozen = array.dtype == dtype and array.flags.c_contiguous and not array.flags.writeable and array.base is None
    return array if frozen else read_only(np.array(array, dtype=dtype, order="C"))


def check_height(height: FloatArray, parent: IntArray, n_leaves: int) -> None:
    rule = "tree breaks rule 6 (height has one finite number a node, 0 at the leaves): "
    if len(height) != len(parent):
        raise InvalidTree(f"{rule}{len(height)} heights for {len(parent)} nodes.")
    if not np.isfinite(height).all():
        where = int(np.flatnonzero(~np.isfinite(height))[0])
        raise InvalidTree(f"{rule}height[{where}] is {height[where]}.")
    if height[:n_leaves].any():
        where = int(np.flatnonzero(height[:n_leaves])[0])
        raise InvalidTree(f"{rule}height[{where}] is {height[where]}, and node {where} is a leaf.")


def check_level(level: IntArray, parent: IntArray, n_leaves: int) -> None:
    rule = "tree breaks rule 7 (level has one integer a node, 0 at the leaves, never decreasing towards the root): "
    if len(level) != len(parent):
        raise InvalidTree(f"{rule}{len(level)} levels for {len(parent)} nodes.")
    if level[:n_leaves].any():
        where = int(np.flatnonzero(level[:n_leaves])[0])
        raise InvalidTree(f"{rule}level[{where}] is {level[where]}, and node {where} is a leaf.")
    down = np.flatnonzero(level[parent[:-1]] < level[:-1])
    if len(down):
        v = int(down[0])
        raise InvalidTree(f"{rule}level[{v}] is {level[v]} and its parent {parent[v]} has {level[parent[v]]}.")


def broken_rule(rule: int, node: int, n_leaves: int, parent: IntArray) -> InvalidTree:
    m = len(parent)
    if rule == 1:
        what = "(parent has one entry a node, at least one): it is empty"
    elif rule == 2 and node == m - 1:
        what = f"(the last node is the root, with parent -1): parent[{node}] is {parent[node]}"
    elif rule == 2:
        what = f"(only the last node is a root, and parents are below {m}): parent[{node}] is {parent[node]}"
    elif rule == 3:
        what = f"(parent[i] > i): parent[{node}] is {parent[node]}"
    elif rule == 4:
        what = f"(the leaves are 0 .. n-1): node {node} has no children, and node {n_leaves} before it has"
    else:
        what = f"(an inner node has at least two children): node {node} has 1 child"
    return InvalidTree(f"tree breaks rule {rule} {what}. Tree.from_parents(parent, n_leaves) puts nodes in order.")


def check_leaves(tree: Tree, n: int, *, name: str = "tree") -> None:
    """Raise where a tree is not one over n leaves."""
    if tree.n_leaves != n:
        raise InvalidInput(
            f"{name} has {tree.n_leaves} leaves but X has {n} rows; leaf i must be row i (see Tree.prune)."
        )
