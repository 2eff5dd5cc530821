"""The arrays of `ClusterDag` and its numbered rules: each check names the rule that the arrays break, and where."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from cladify import _core
from cladify.errors import InvalidInput
from cladify.tree._nodes import Nodes
from cladify.tree._rules import FloatArray, IntArray, own, read_only

__all__ = ["DagArrays"]

_RULES = {
    2: "every node but the last has a parent",
    3: "parents come after their children, and are nodes",
    4: "the parents of a node ascend, each once",
    5: "the leaves are 0 .. n-1: every later node has children",
    6: "an inner node has at least two children",
}


class DagArrays(Nodes):
    """The part of :class:`cladify.ClusterDag` that holds its arrays."""

    def __init__(
        self,
        parent_start: Any,
        parent_ids: Any,
        height: Any = None,
        *,
        spans: Any = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        self._start = _integers("parent_start", parent_start, 1)
        self._ids = _integers("parent_ids", parent_ids, 1)
        self._height: FloatArray | None = None if height is None else _heights(height)
        self._spans = None if spans is None else _triples(spans)
        self._info: dict[str, Any] = dict(info or {})
        self.validate()

    def validate(self) -> None:
        """Raise :class:`~cladify.errors.InvalidInput` with the first rule that the arrays break, if they break one."""
        start, ids = self._start, self._ids
        if len(start) < 2 or start[0] != 0 or start[-1] != len(ids) or (np.diff(start) < 0).any():
            raise _broken(1, "parent_start rises from 0 to the length of parent_ids", f"{len(start)} starts")
        rule, node, n_leaves = _core.dag_check(start, ids)
        if rule:
            raise _broken(rule, _RULES[rule], f"node {node} does not")
        self._n_leaves: int = n_leaves
        if self._height is None:
            self._height = self._levels_up()
        self._check_height(self._height)
        if self._spans is not None:
            self._check_spans(self._spans)

    def _check_height(self, height: FloatArray) -> None:
        what = "height has one finite number a node, 0 at the leaves and never decreasing towards the root"
        if len(height) != self.n_nodes:
            raise _broken(7, what, f"{len(height)} heights for {self.n_nodes} nodes")
        if not np.isfinite(height).all() or height[: self._n_leaves].any():
            raise _broken(7, what, "a height is not finite, or a leaf has one")
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self._start))
        falls = np.flatnonzero(height[self._ids] < height[owner])
        if len(falls):
            v = int(owner[falls[0]])
            raise _broken(7, what, f"node {v} is above its parent {self._ids[falls[0]]}")

    def _check_spans(self, spans: IntArray) -> None:
        wrong = (spans[:, 0] < 0) | (spans[:, 0] >= self.n_nodes) | (spans[:, 1] < 0) | (spans[:, 2] < spans[:, 1])
        if wrong.any():
            triple = tuple(spans[int(np.flatnonzero(wrong)[0])].tolist())
            raise _broken(8, "spans are triples (node, first round, last round)", f"got {triple}")

    def _levels_up(self) -> FloatArray:
        level = np.zeros(self.n_nodes)
        start, ids = self.child_start.tolist(), self.child_ids
        for i in range(self.n_nodes - self._n_leaves):
            level[self._n_leaves + i] = level[ids[start[i] : start[i + 1]]].max() + 1
        return read_only(level)

    @property
    def parent_start(self) -> IntArray:
        """Where the parents of each node begin in :attr:`parent_ids`, int64[m + 1]."""
        return self._start

    @property
    def parent_ids(self) -> IntArray:
        """Parents of all nodes, node after node, int64."""
        return self._ids

    @property
    def spans(self) -> IntArray | None:
        """Triples (node, first round, last round) of the covers, int64[k, 3], or None."""
        return self._spans

    @property
    def n_nodes(self) -> int:
        """Number of nodes, m."""
        return len(self._start) - 1

    @cached_property
    def _children(self) -> tuple[IntArray, IntArray]:
        start, child = _core.dag_children(self._start, self._ids, self._n_leaves)
        return read_only(start), read_only(child)

    @cached_property
    def size(self) -> IntArray:
        """Leaves below each node, int64[m]; 1 at the leaves."""
        return read_only(_core.dag_sizes(self.child_start, self.child_ids, self._n_leaves))

    def _check_nodes(self, nodes: Any) -> IntArray:
        nodes = np.asarray(nodes)
        if nodes.ndim != 1:
            raise InvalidInput(f"nodes must be a list of node ids, got shape {nodes.shape}.")
        return super()._check_nodes(nodes)


def _broken(rule: int, what: str, where: str) -> InvalidInput:
    return InvalidInput(f"the graph of clusters breaks rule {rule} ({what}): {where}.")


def _integers(name: str, values: Any, ndim: int) -> IntArray:
    array = np.asarray(values)
    if array.ndim != ndim or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInput(
            f"{name} must be a {ndim}-D array of integers, got dtype {array.dtype}, shape {array.shape}."
        )
    return own(array, np.int64)


def _heights(values: Any) -> FloatArray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidInput(f"height must be a 1-D array of numbers, got dtype {array.dtype}, shape {array.shape}.")
    return own(array, np.float64)


def _triples(values: Any) -> IntArray:
    spans = _integers("spans", values, 2)
    if spans.shape[1] != 3:
        raise InvalidInput(f"spans must have shape (k, 3), got {spans.shape}.")
    return spans
