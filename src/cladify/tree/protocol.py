"""The common interface of trees and graphs of clusters: leaves 0 .. n-1, children before parents, the root last.

Code that only asks these questions serves both :class:`cladify.Tree` and :class:`cladify.ClusterDag`.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from cladify.tree._rules import FloatArray, IntArray

__all__ = ["Hierarchy"]


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

    Examples
    --------
    What works for trees and for overlapping clusters says so:

    >>> from cladify import Tree
    >>> def n_clusters(clusters: Hierarchy) -> int:
    ...     return clusters.n_nodes - clusters.n_leaves
    >>> n_clusters(Tree([3, 3, 4, 4, -1]))
    2
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
