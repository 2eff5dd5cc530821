"""The base of `Tree` and `ClusterDag`: leaves 0 .. n-1, inner nodes after them, the root last, and their children."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cladify._kit.params import check_int
from cladify.errors import InvalidInput
from cladify.tree._rules import FloatArray, IntArray

__all__ = ["Nodes"]


class Nodes:
    """Heights and children of nodes. A subclass has ``n_nodes`` and ``_children``."""

    #: How messages call a structure of some nodes.
    _of: ClassVar[str] = ""

    _n_leaves: int
    _height: FloatArray | None
    _info: dict[str, Any]

    @property
    def height(self) -> FloatArray:
        """Height of each node, float64[m]; 0 at the leaves."""
        assert self._height is not None
        return self._height

    @property
    def info(self) -> dict[str, Any]:
        """How it was made; yours to add to."""
        return self._info

    @property
    def n_leaves(self) -> int:
        """Number of leaves, n."""
        return self._n_leaves

    @property
    def n_nodes(self) -> int:
        """Number of nodes, m."""
        raise NotImplementedError

    @property
    def root(self) -> int:
        """Id of the root, m - 1."""
        return self.n_nodes - 1

    @property
    def _children(self) -> tuple[IntArray, IntArray]:
        raise NotImplementedError

    @property
    def child_start(self) -> IntArray:
        """Where the children of inner node n + i begin in :attr:`child_ids`, int64[m - n + 1]."""
        return self._children[0]

    @property
    def child_ids(self) -> IntArray:
        """Children of all inner nodes, node after node, int64; see :attr:`child_start`."""
        return self._children[1]

    def children(self, v: int) -> IntArray:
        """Children of node ``v``: by id, unless a tree has an order of leaves; empty for a leaf."""
        v = self._check_node(v)
        if v < self._n_leaves:
            return np.empty(0, dtype=np.int64)
        start, child = self._children
        i = v - self._n_leaves
        return child[start[i] : start[i + 1]]

    def _check_node(self, v: Any) -> int:
        return check_int("node", v, low=0, high=self.root, why=f"for {self._of}{self.n_nodes} nodes")

    def _check_nodes(self, nodes: Any) -> IntArray:
        nodes = np.asarray(nodes)
        if nodes.dtype.kind not in "iu":
            if nodes.size:
                raise InvalidInput(f"nodes must be integers, got dtype {nodes.dtype}.")
            nodes = nodes.astype(np.int64)
        if nodes.size and not (nodes.min() >= 0 and nodes.max() <= self.root):
            wrong = nodes[(nodes < 0) | (nodes > self.root)].flat[0]
            raise InvalidInput(f"node must be in [0, {self.root}] for {self._of}{self.n_nodes} nodes, got {wrong}.")
        return nodes.astype(np.int64, copy=False)
