"""`ClusterDag`: clusters that may overlap, as a directed acyclic graph over leaves 0 .. n-1.

The overlapping sibling of :class:`cladify.Tree`, with the same conventions: ids grow from the leaves to the root, so
every pass is a loop over an array. A node may have several parents; its members are the leaves one can reach from it.
Members are not stored (they can be hundreds a point) but walked or streamed when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify import _core
from cladify._kit.atomic import PathLike
from cladify._kit.memory import check_memory
from cladify._kit.params import check_int
from cladify.errors import InvalidInput, MissingExtra
from cladify.tree import _dag_file
from cladify.tree._dag_partition import Partition, best_partition
from cladify.tree._dag_rules import DagArrays
from cladify.tree._dag_text import describe, senses, summary
from cladify.tree._rules import IntArray, read_only
from cladify.tree._text import Description
from cladify.tree.tree import Tree

if TYPE_CHECKING:
    import networkx
    from scipy.sparse import csr_array

__all__ = ["ClusterDag"]


class ClusterDag(DagArrays):
    """Nested clusters that may overlap; immutable.

    The rules, which :meth:`validate` checks and names:

    1. ``parent_start`` rises from 0 to the length of ``parent_ids`` and has one entry more than there are nodes;
    2. every node has a parent, except the last one, the root;
    3. parents come after their children, and are nodes;
    4. the parents of a node ascend, each once;
    5. the leaves are ``0 .. n-1``: every later node has children;
    6. an inner node has at least two children;
    7. ``height`` has one finite number a node, 0 at the leaves and never decreasing towards the root;
    8. ``spans`` are triples (node, first round, last round) of existing nodes and rounds from 0.

    Parameters
    ----------
    parent_start, parent_ids : int arrays
        The parents of node v are ``parent_ids[parent_start[v]:parent_start[v + 1]]``.
    height : array of shape (m,), optional
        By default the number of edges on the longest way down to a leaf.
    spans : int array of shape (k, 3), optional
        In which rounds a node was in the cover; :meth:`cover` gives the rounds back.
    info : mapping, optional
        How it was made. Not part of equality.

    Examples
    --------
    Three points, the one in the middle in two clusters:

    >>> dag = ClusterDag([0, 1, 3, 4, 5, 6, 6], [3, 3, 4, 4, 5, 5])
    >>> dag.n_leaves, [dag.members(v).tolist() for v in range(3, 6)]
    (3, [[0, 1], [1, 2], [0, 1, 2]])
    >>> dag.parents(1).tolist(), dag.is_tree
    ([3, 4], False)

    References
    ----------
    Monath, Incremental non-greedy clustering at scale, University of Massachusetts Amherst, 2022, chapter 5.
    """

    # --- questions ----------------------------------------------------------------------------------------------------

    def parents(self, v: int) -> IntArray:
        """Parents of node ``v``, ascending; empty for the root."""
        v = self._check_node(v)
        return self.parent_ids[self.parent_start[v] : self.parent_start[v + 1]]

    def members(self, v: int) -> IntArray:
        """Leaves below node ``v``, ascending; ``[v]`` for a leaf."""
        v = self._check_node(v)
        if v < self.n_leaves:
            return np.array([v])
        below = _core.dag_descendants(self.child_start, self.child_ids, self.n_leaves, v)
        return below[: np.searchsorted(below, self.n_leaves)]

    def ancestors(self, v: int) -> IntArray:
        """All nodes above node ``v``, ascending; empty for the root."""
        return _core.dag_ancestors(self.parent_start, self.parent_ids, self._check_node(v))

    def ancestors_of_leaf(self, leaf: int) -> IntArray:
        """All clusters that leaf ``leaf`` is in, by id, which is by size."""
        n = self.n_leaves
        return self.ancestors(check_int("leaf", leaf, low=0, high=n - 1, why=f"for {n} leaves"))

    @cached_property
    def is_tree(self) -> bool:
        """True when no node has two parents."""
        return len(self.parent_ids) == self.n_nodes - 1

    @property
    def n_rounds(self) -> int:
        """The last round that :meth:`cover` knows."""
        return int(self._need_spans()[:, 2].max(initial=0))

    def cover(self, round: int) -> IntArray:
        """Nodes of the cover after round ``round``, ascending; round 0 is every leaf on its own.

        Examples
        --------
        >>> import cladify, numpy as np
        >>> dag = cladify.Llama(n_neighbors=2).fit(np.array([[0.0], [1.0], [1.9], [9.0]])).dag_
        >>> [[dag.members(v).tolist() for v in dag.cover(r)] for r in (1, 2)]
        [[[0, 1], [1, 2], [2, 3]], [[0, 1, 2], [0, 1, 2, 3]]]
        """
        spans = self._need_spans()
        last = self.n_rounds
        round = check_int("round", round, low=0, high=last, why=f"for {last} rounds")
        return np.unique(spans[(spans[:, 1] <= round) & (spans[:, 2] >= round), 0])

    def _need_spans(self) -> IntArray:
        if self.spans is None:
            raise InvalidInput("This graph of clusters has no rounds, because it was not made in rounds.")
        return self.spans

    def memberships(self, nodes: Any = None) -> csr_array:
        """Which leaves are in which nodes, as a sparse matrix of shape (nodes, n) of ones.

        Parameters
        ----------
        nodes : array of ids, optional
            Which nodes, in this order; all of them where not given.
        """
        from scipy.sparse import csr_array

        wanted = np.arange(self.n_nodes) if nodes is None else self._check_nodes(nodes)
        mask = np.zeros(self.n_nodes, dtype=np.uint8)
        mask[wanted] = 1
        found = np.flatnonzero(mask)
        total = int(self.size[found].sum())
        check_memory(13 * total, f"All {total} memberships", "ask for some of the nodes, or for dag.members(v).")
        points = _core.dag_memberships(self.child_start, self.child_ids, self.n_leaves, mask, total)
        start = np.concatenate([[0], np.cumsum(self.size[found])])
        matrix = csr_array((np.ones(total, dtype=np.uint8), points, start), shape=(len(found), self.n_leaves))
        return matrix if np.array_equal(found, wanted) else matrix[np.searchsorted(found, wanted)]

    # --- other forms --------------------------------------------------------------------------------------------------

    def minimal(self) -> ClusterDag:
        """The same sets with as few nodes and edges as can be: equal sets are one node, shortcuts are left out.

        An edge is a shortcut where a longer way leads from the child to the parent.
        """
        first = _core.dag_equal_sets(self.child_start, self.child_ids, self.n_leaves)
        child = first[np.repeat(np.arange(self.n_nodes), np.diff(self.parent_start))]
        parent = first[self.parent_ids]
        kept = np.flatnonzero(first == np.arange(self.n_nodes))
        start, ids, order = numbered(child, parent, kept, self.size)
        direct = _core.dag_direct_edges(start, ids).view(bool)
        start = np.concatenate([[0], np.cumsum(direct)])[start]
        spans = self.spans
        if spans is not None:
            spans = spans.copy()
            spans[:, 0] = np.searchsorted(kept, first[spans[:, 0]])
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            spans[:, 0] = place[spans[:, 0]]
        height = self.height[kept][order]
        _core.dag_raise(start, ids[direct], height)  # another node of the same set may have lower parts
        return ClusterDag(start, ids[direct], height, spans=spans, info=self.info)

    def to_tree(self) -> Tree:
        """The tree in which every node keeps its best parent: the lowest, and of equals the smallest."""
        if self.n_nodes == 1:
            return Tree([-1], info=self.info)
        height = self.height[self.parent_ids]
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.parent_start))
        best = np.lexsort((self.parent_ids, height, owner))[self.parent_start[:-2]]
        parent = np.append(self.parent_ids[best], -1)
        return Tree.from_parents(parent, self.n_leaves, self.height, info=self.info)

    def best_partition(self, cost: Any, *, budget_seconds: float = 10.0) -> Partition:
        """The cheapest partition of the leaves into nodes of this graph.

        .. math:: \\min_{P \\subset \\mathcal{D}} \\sum_{v \\in P} cost_v, \\quad P \\text{ a partition of the leaves}

        Nodes that cheaper ones below replace are dropped first (on a tree that alone gives the answer), what is left
        falls into parts, and each part is solved by branch and bound (SciPy's HiGHS) within the time; ``gap`` says how
        far the result can be from the best, 0 where it is proven.

        Parameters
        ----------
        cost : array of shape (m,)
            Cost of each node as a cluster.
        budget_seconds : float
            About how long the search may take.

        Returns
        -------
        Partition
            With ``labels`` (n,), ``nodes``, ``cost``, ``bound`` and ``gap``.

        Examples
        --------
        >>> dag = ClusterDag([0, 1, 3, 4, 5, 6, 6], [3, 3, 4, 4, 5, 5])
        >>> dag.best_partition([2, 2, 2, 3, 1, 9]).nodes.tolist()
        [0, 4]
        """
        return best_partition(self, cost, budget_seconds=budget_seconds)

    def to_networkx(self) -> networkx.DiGraph:
        """A ``networkx.DiGraph`` with edges from parents to children and node attributes ``height`` and ``size``."""
        try:
            import networkx
        except ImportError:
            raise MissingExtra("ClusterDag.to_networkx", "test") from None
        graph = networkx.DiGraph()
        figures = zip(self.height.tolist(), self.size.tolist(), strict=True)
        graph.add_nodes_from((v, {"height": height, "size": size}) for v, (height, size) in enumerate(figures))
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.parent_start))
        graph.add_edges_from(zip(self.parent_ids.tolist(), owner.tolist(), strict=True))
        return graph

    def save(self, path: PathLike) -> None:
        """Write the graph to a file, whole or not at all; :meth:`load` reads it. See :mod:`cladify.tree._dag_file`."""
        _dag_file.save(self, path)

    @classmethod
    def load(cls, path: PathLike) -> ClusterDag:
        """The graph that :meth:`save` wrote; safe on files from strangers."""
        return _dag_file.load(cls, path)

    # --- reading ------------------------------------------------------------------------------------------------------

    def senses(self, leaf: int, *, n_senses: int = 3, max_size: int = 30, max_shared: float = 0.4) -> list[int]:
        """Clusters that show leaf ``leaf`` in different company: large ones that share little but the leaf itself.

        From a cluster of at most ``max_size`` members down, a cluster is a sense of its own if it has no more than the
        share ``max_shared`` of its other members in common with each sense before. Where the largest cluster holds all
        of them, a smaller one begins.

        >>> dag = ClusterDag([0, 1, 3, 4, 5, 6, 6], [3, 3, 4, 4, 5, 5])
        >>> dag.senses(1, max_size=2), dag.senses(0, max_size=2)
        ([4, 3], [3])
        """
        return senses(self, leaf, n_senses=n_senses, max_size=max_size, max_shared=max_shared)

    def describe(self) -> Description:
        """Sizes, depth and overlap, as a dict that prints well."""
        return describe(self)

    def summary(
        self,
        items: Sequence[Any] | None = None,
        *,
        leaves: Sequence[int] | None = None,
        n_items: int = 10,
        n_examples: int = 8,
    ) -> str:
        """Items with their senses: for each, the different clusters that it is in.

        Parameters
        ----------
        items : sequence of n strings, optional
            Text of each leaf; by default its number.
        leaves : sequence of leaf ids, optional
            Which items to show; by default those in most clusters.
        n_items, n_examples : int
            How many items, and how many members of each cluster beside the item itself.

        Examples
        --------
        >>> dag = ClusterDag([0, 1, 3, 4, 5, 6, 6], [3, 3, 4, 4, 5, 5])
        >>> print(dag.summary(["collie", "shepherd", "farmer"], leaves=[1]))
        3 leaves in 3 clusters, 2.33 a leaf
        shepherd
           1: 3 members, height 2: collie · farmer
        """
        return summary(self, items, leaves=leaves, n_items=n_items, n_examples=n_examples)

    # --- being a value ------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClusterDag):
            return NotImplemented
        mine, theirs = ((d.parent_start, d.parent_ids, d.height) for d in (self, other))
        if not all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True)):
            return False
        if self.spans is None or other.spans is None:
            return self.spans is other.spans
        return np.array_equal(self.spans, other.spans)

    def __hash__(self) -> int:
        return hash((self.n_nodes, self.n_leaves, len(self.parent_ids)))

    def __repr__(self) -> str:
        method = f", method={self.info['method']!r}" if "method" in self.info else ""
        return f"ClusterDag(n_leaves={self.n_leaves}, n_nodes={self.n_nodes}, n_edges={len(self.parent_ids)}{method})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.parent_start, self.parent_ids, self.height, self.spans, self.info)


def _unpickle(start: IntArray, ids: IntArray, height: Any, spans: Any, info: Mapping[str, Any]) -> ClusterDag:
    return ClusterDag(start, ids, height, spans=spans, info=info)


def numbered(child: IntArray, parent: IntArray, kept: IntArray, size: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Parents of the kept nodes, numbered by size, from edges between them; and the order of the kept nodes."""
    order = np.argsort(size[kept], kind="stable")
    place = np.empty(len(kept), dtype=np.int64)
    place[order] = np.arange(len(kept))
    edges = np.stack([place[np.searchsorted(kept, child)], place[np.searchsorted(kept, parent)]])
    edges = np.unique(edges[:, edges[0] != edges[1]], axis=1)
    start = np.concatenate([[0], np.cumsum(np.bincount(edges[0], minlength=len(kept)))])
    return read_only(start), read_only(np.ascontiguousarray(edges[1])), order
