"""What trees and graphs of clusters have in common: nodes over leaves 0 .. n-1, children before parents, the root last.

Code that only asks these questions serves both :class:`cladify.Tree` and :class:`cladify.ClusterDag`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from cladify.errors import InvalidType

if TYPE_CHECKING:
    from cladify.tree import Tree

__all__ = ["Hierarchy", "as_tree", "only_tree"]

IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@runtime_checkable
class Hierarchy(Protocol):
    """Clusters of leaves, each inside others.

    Attributes
    ----------
    n_leaves, n_nodes, root : int
        The leaves are nodes 0 .. n-1, the root is the last node.
    size : int64 array of shape (m,)
        Leaves below each node.
    height : float64 array of shape (m,)
        0 at the leaves.
    child_start, child_ids : int64 arrays
        The children of inner node n + i are ``child_ids[child_start[i]:child_start[i + 1]]``.
    info : dict
        How it was made.
    """

    @property
    def n_leaves(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def root(self) -> int: ...
    @property
    def size(self) -> IntArray: ...
    @property
    def height(self) -> FloatArray: ...
    @property
    def child_start(self) -> IntArray: ...
    @property
    def child_ids(self) -> IntArray: ...
    @property
    def info(self) -> dict[str, Any]: ...

    def children(self, v: int) -> IntArray:
        """Children of node ``v``, ascending; empty for a leaf."""

    def parents(self, v: int) -> IntArray:
        """Parents of node ``v``, ascending; empty for the root."""

    def members(self, v: int) -> IntArray:
        """Leaves below node ``v``, ascending; ``[v]`` for a leaf."""


def as_tree(structure: Any) -> Tree:
    """A tree to draw: the tree itself, or the one in which every cluster of a graph keeps its best parent."""
    from cladify.dag import ClusterDag
    from cladify.tree import Tree

    if isinstance(structure, ClusterDag):
        return structure.to_tree()
    if not isinstance(structure, Tree):
        raise InvalidType(f"a Tree or a ClusterDag is drawn, got {type(structure).__name__}.")
    return structure


def only_tree(structure: Any, what: str, instead: str) -> Tree:
    """The tree itself; a graph of clusters is refused, with what to use in its place."""
    from cladify.dag import ClusterDag

    if isinstance(structure, ClusterDag):
        raise InvalidType(f"{what} is of trees, and in a ClusterDag clusters overlap; use {instead}, or dag.to_tree().")
    tree: Tree = structure
    return tree
