"""The arrays of `Tree`, the layout of its leaves, and questions about its nodes; computed on first use and kept."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify.errors import InvalidInput
from cladify.tree import _order
from cladify.tree._nodes import Nodes
from cladify.tree._rules import IntArray, read_only

__all__ = ["TreeArrays"]


class TreeArrays(Nodes):
    """The part of :class:`cladify.Tree` that holds its arrays and answers questions about nodes."""

    _of = "a tree of "

    _parent: IntArray
    _level: IntArray | None
    _order: Any

    @property
    def parent(self) -> IntArray:
        """Parent of each node, int64[m]; -1 at the root, which is the last node."""
        return self._parent

    @property
    def level(self) -> IntArray | None:
        """Round in which each node was made, int64[m], or None; 0 at the leaves."""
        return self._level

    @property
    def n_nodes(self) -> int:
        """Number of nodes, m."""
        return len(self._parent)

    @cached_property
    def size(self) -> IntArray:
        """Leaves below each node, int64[m]; 1 at the leaves."""
        return read_only(_core.tree_sizes(self._parent, self._n_leaves))

    @cached_property
    def _layout(self) -> tuple[IntArray, IntArray, IntArray]:
        if self._order is not None:
            return _order.own_order(self._order, self._parent, self.size, self._n_leaves)
        order, first, last = _core.tree_layout(self._parent, self.size, self._n_leaves)
        return read_only(order), read_only(first), read_only(last)

    @property
    def leaf_order(self) -> IntArray:
        """Leaves in depth-first order, int64[n]: as SciPy's ``leaves_list`` gives them.

        Children come by id, unless the tree was given an order or :meth:`order_leaves` made one. The leaves below
        node v are ``leaf_order[first[v]:last[v]]``.
        """
        return self._layout[0]

    @property
    def first(self) -> IntArray:
        """Where each node's leaves begin in :attr:`leaf_order`, int64[m]."""
        return self._layout[1]

    @property
    def last(self) -> IntArray:
        """Where each node's leaves end in :attr:`leaf_order` (exclusive), int64[m]."""
        return self._layout[2]

    @cached_property
    def node_depth(self) -> IntArray:
        """Edges between each node and the root, int64[m]."""
        return read_only(_core.tree_levels_down(self._parent))

    @cached_property
    def _children(self) -> tuple[IntArray, IntArray]:
        start, child = _core.tree_children(self._parent, self._n_leaves)
        if self._order is not None:
            # Leaves first[v] of two children of a node differ, so this sorts them node by node.
            child = child[np.lexsort((self.first[child], self._parent[child]))]
        return read_only(start), read_only(child)

    # --- questions ----------------------------------------------------------------------------------------------------

    @cached_property
    def depth(self) -> int:
        """Edges on the longest way from the root to a leaf."""
        depth = self.__dict__.get("node_depth")  # kept only where somebody asked for those of all nodes
        return int((_core.tree_levels_down(self._parent) if depth is None else depth).max())

    @cached_property
    def is_binary(self) -> bool:
        """True when every inner node has two children."""
        return self.n_nodes == 2 * self._n_leaves - 1

    @cached_property
    def is_monotone(self) -> bool:
        """True when heights never decrease towards the root; centroid and median linkage may break it."""
        height = self.height
        return bool((height[self._parent[:-1]] >= height[:-1]).all())

    def parents(self, v: int) -> IntArray:
        """Parents of node ``v``: one, or none for the root. :class:`cladify.ClusterDag` may have more."""
        parent = self._parent[self._check_node(v)]
        return np.array([] if parent < 0 else [parent], dtype=np.int64)

    def members(self, v: int) -> IntArray:
        """Leaves below node ``v``, sorted; ``[v]`` for a leaf."""
        v = self._check_node(v)
        return np.sort(self.leaf_order[self.first[v] : self.last[v]])

    def ancestors(self, v: int) -> IntArray:
        """Nodes above node ``v``, from its parent to the root; empty for the root."""
        return _core.tree_ancestors(self._parent, self._check_node(v))

    def lca(self, i: Any, j: Any) -> Any:
        """Lowest common ancestor of nodes ``i`` and ``j``; arrays broadcast.

        O(1) a pair after one linear preparation. A node counts as its own ancestor.

        Parameters
        ----------
        i, j : int or array of ints
            Nodes, leaves or inner.

        Returns
        -------
        int for two ints, otherwise an int64 array

        Examples
        --------
        >>> from cladify import Tree
        >>> Tree([4, 4, 5, 5, 6, 6, -1]).lca([0, 0, 4], [1, 2, 1]).tolist()
        [4, 6, 4]
        """
        u, v = (self._check_nodes(nodes) for nodes in (i, j))
        try:
            u, v = np.broadcast_arrays(u, v)
        except ValueError:
            raise InvalidInput(f"i and j of lca do not broadcast: shapes {u.shape} and {v.shape}.") from None
        shape = u.shape
        flat = [np.ascontiguousarray(nodes).reshape(-1) for nodes in (u, v)]
        found = self._lca(*flat, min(resolve_jobs(-1), 1 + len(flat[0]) // 10_000)).reshape(shape)
        return int(found) if shape == () else found

    @cached_property
    def _lca(self) -> Any:
        if self.n_nodes >= 2**31:
            raise InvalidInput(f"lca takes trees of fewer than 2**31 nodes, this one has {self.n_nodes}.")
        return _core.Lca(self._parent, self.first, self.last, self._n_leaves)
