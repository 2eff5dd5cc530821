"""`Tree`: the one result type, a hierarchy over leaves 0 .. n-1 as plain arrays.

A tree is its parent array. Ids grow from the leaves to the root, so every pass up or down is a loop over an array and
nothing recurses: a path-shaped tree of a million leaves is as good as a balanced one. Sizes, the
depth-first layout and lowest common ancestors are computed on first use and kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, overload

import numpy as np

from cladify import _core
from cladify._kit.params import check_float, check_int, check_random_state
from cladify.errors import CladifyWarning, InvalidInput
from cladify.tree import _condense, _order
from cladify.tree._arrays import TreeArrays
from cladify.tree._convert import TreeForms
from cladify.tree._levels import Level, levels
from cladify.tree._rules import (
    FloatArray,
    IntArray,
    broken_rule,
    check_height,
    check_level,
    own_heights,
    own_integers,
    read_only,
)
from cladify.tree._text import Description, describe, summary

__all__ = ["Tree"]


class Tree(TreeArrays, TreeForms):
    """A rooted tree over leaves, binary or not; immutable.

    The rules, which :meth:`validate` checks and names:

    1. ``parent`` is a one-dimensional array of integers with one entry a node, at least one;
    2. the last node is the root, with parent -1, and no other node has a parent outside ``0 .. m-1``;
    3. ``parent[i] > i``: children come before parents;
    4. the leaves are ``0 .. n-1``: every later node has children;
    5. an inner node has at least two children;
    6. ``height`` has one finite number a node, 0 at the leaves;
    7. ``level`` has one integer a node, 0 at the leaves and never decreasing towards the root;
    8. ``order`` has each leaf once, and the leaves of every node side by side.

    Parameters
    ----------
    parent : array of shape (m,)
        Parent of each node; -1 at the root.
    height : array of shape (m,), optional
        Height of each node, growing towards the root (:attr:`is_monotone` says whether it does). By default the
        number of edges on the longest way down to a leaf.
    level : array of shape (m,), optional
        The round in which a level-wise method made each node; :meth:`partition` gives the rounds back.
    info : mapping, optional
        How the tree was made: method, parameters, metric, versions, approximations. Not part of equality.
    order : array of shape (n,), optional
        The leaves in depth-first order, which says the order of children everywhere; by default children come by id.
        Not part of equality.

    Notes
    -----
    Two trees are equal (``==``) when they hold the same clusters of leaves with the same heights and levels, whatever
    the numbering of their inner nodes.

    Examples
    --------
    >>> tree = Tree([3, 3, 4, 4, -1])           # ((0, 1), 2)
    >>> tree.n_leaves, tree.height.tolist(), tree.size.tolist()
    (3, [0.0, 0.0, 0.0, 1.0, 2.0], [1, 1, 1, 2, 3])
    >>> tree.cut(n_clusters=2).tolist()
    [0, 0, 1]
    >>> tree.lca(0, [1, 2]).tolist()
    [3, 4]
    >>> Tree([3, 3, 3, 4, -1])
    Traceback (most recent call last):
    ...
    cladify.errors.InvalidTree: tree breaks rule 5 (an inner node has at least two children): node 4 has 1 child. ...
    """

    def __init__(
        self,
        parent: Any,
        height: Any = None,
        *,
        level: Any = None,
        info: Mapping[str, Any] | None = None,
        order: Any = None,
    ) -> None:
        self._parent: IntArray = own_integers("parent", parent, rule=1)
        self._height: FloatArray | None = None if height is None else own_heights(height)
        self._level: IntArray | None = None if level is None else own_integers("level", level, rule=7)
        self._info: dict[str, Any] = dict(info or {})
        self._order = order
        self.validate()

    def validate(self) -> None:
        """Raise :class:`~cladify.errors.InvalidTree` with the first rule that the arrays break, if they break one."""
        rule, node, n_leaves = _core.tree_check(self._parent)
        if rule:
            raise broken_rule(rule, node, n_leaves, self._parent)
        self._n_leaves: int = n_leaves
        if self._height is None:
            self._height = read_only(_core.tree_levels_up(self._parent).astype(np.float64))
        check_height(self._height, self._parent, n_leaves)
        if self._level is not None:
            check_level(self._level, self._parent, n_leaves)
        if self._order is not None:
            self._order = self._layout[0]

    # --- cuts ---------------------------------------------------------------------------------------------------------

    @overload
    def cut(
        self,
        n_clusters: int | None = None,
        *,
        height: float | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        by: str = "height",
        return_nodes: Literal[False] = False,
    ) -> IntArray: ...
    @overload
    def cut(
        self,
        n_clusters: int | None = None,
        *,
        height: float | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        by: str = "height",
        return_nodes: Literal[True],
    ) -> tuple[IntArray, IntArray]: ...
    def cut(
        self,
        n_clusters: int | None = None,
        *,
        height: float | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        by: str = "height",
        return_nodes: bool = False,
    ) -> IntArray | tuple[IntArray, IntArray]:
        """Flat clusters of the leaves.

        * ``n_clusters=k`` makes splits from the highest node down until there are k clusters: exactly k on a binary
          tree, for every k. Nodes of equal height are split in reverse order of their ids. On other trees a split that
          would lead above k is left out for lower ones that fit; where no choice of splits gives k, the result is the
          closest number below, and a warning says so. (Where that is too much work, above some 10⁹ steps, splits from
          the highest down decide.) Where SciPy's ``fcluster(criterion="maxclust")`` gives k clusters, they are the
          same ones.
        * ``height=h`` keeps together what was joined at height h or below, as SciPy's
          ``fcluster(criterion="distance")``: a cluster is a largest node with no height above h in it.
        * ``max_size=s`` splits every cluster of more than s leaves; alone, it gives the coarsest such cut.
        * ``min_size=s`` leaves no cluster with fewer than s leaves: a node is split only where two or more of its
          children have s leaves, and a smaller child stays with its largest sibling, whichever cluster that ends up
          in. Alone, it gives the finest such clusters. So outliers that join late neither become clusters nor stop
          the rest from being split (the condensed tree of HDBSCAN, with outliers kept in place of noise).

        * ``n_clusters=k, by="spread"`` gives k clusters worth reading: it splits the cluster with the largest spread
          (leaves times height, or the height where that is a sum over the leaves) first, and parts of less than a
          fifth of an average cluster, ``n / (5 k)`` leaves, stay with their largest sibling, unless ``min_size`` says
          otherwise. So k clusters explain about the same each, where splits by height often give k - 1 outliers and a
          rest. (Where the tree has not as many parts of that size, smaller ones count.)

        Sizes combine with each other and with ``n_clusters`` or ``height``, and come first: the clusters are those of
        the condensed tree, and a cluster above ``max_size`` is split even below ``height`` or beyond ``n_clusters``.
        Where ``min_size`` forbids the split that ``max_size`` asks for, the cluster stays whole, with a warning.

        For heights that decrease towards the root, a node counts with the largest height in its subtree, as in SciPy.

        Parameters
        ----------
        n_clusters : int in [1, n], optional
        height : float, optional
        min_size : int in [1, n], optional
        max_size : int of at least 1, optional
        by : {"height", "spread"}
            Which splits lead to ``n_clusters``.
        return_nodes : bool
            Also return the node of each cluster.

        Returns
        -------
        labels : int64 array of shape (n,)
            Clusters 0, 1, … in order of their smallest leaf.
        nodes : int64 array, with ``return_nodes``
            The node of each cluster: the highest one whose leaves are all in it. The cluster has its leaves, and the
            outliers that stay with them.

        Examples
        --------
        >>> tree = Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [5, 6, 5.0, 4], [4, 7, 9.0, 5]])
        >>> tree.cut(n_clusters=2).tolist(), tree.cut(height=2.0).tolist()
        ([0, 0, 0, 0, 1], [0, 0, 1, 1, 2])
        >>> tree.cut(min_size=2).tolist(), tree.cut(max_size=2).tolist()
        ([0, 0, 1, 1, 0], [0, 0, 1, 1, 2])
        >>> labels, nodes = tree.cut(n_clusters=2, min_size=2, return_nodes=True)
        >>> labels.tolist(), nodes.tolist()
        ([0, 0, 1, 1, 0], [5, 6])
        """
        n = self._n_leaves
        if n_clusters is None and height is None and min_size is None and max_size is None:
            raise InvalidInput("Say where to cut: n_clusters=, height=, min_size= or max_size=.")
        if n_clusters is not None and height is not None:
            raise InvalidInput("Give n_clusters or height, not both; either combines with min_size and max_size.")
        _condense.check_order(by, n_clusters, height)
        why = f"for {n} leaves"
        k = 0 if n_clusters is None else check_int("n_clusters", n_clusters, low=1, high=n, why=why)
        order = self.split_order if by == "height" else self._widest_first
        if min_size is None:
            small = 1 if by == "height" else _condense.min_size_for(self, k)
        else:
            small = check_int("min_size", min_size, low=1, high=n, why=why)
        large = np.iinfo(np.int64).max if max_size is None else check_int("max_size", max_size, low=1)
        small = small if min_size is not None else min(small, large)
        if small > large:
            raise InvalidInput(f"min_size must not be above max_size, got {small} and {large}.")
        by_height = height is not None
        threshold = _check_threshold(height) if by_height else 0.0
        labels, nodes, count, oversized = _core.tree_cut(
            self._parent,
            self.size,
            self._largest_height,
            order,
            n,
            k,
            by_height,
            threshold,
            small,
            large,
            by == "spread",
        )
        if oversized:
            warnings.warn(
                f"A cluster of more than max_size={max_size} leaves remains: its parts are below min_size={min_size}.",
                CladifyWarning,
                stacklevel=2,
            )
        if k and count != k:
            why = "max_size asks for more" if count > k else "no split that fits is left"
            if count < k and small > 1 and min_size is not None:
                why = f"no split is left with min_size={small} leaves on two sides"
            warnings.warn(f"The cut has {count} clusters, not {k}: {why}.", CladifyWarning, stacklevel=2)
        return (labels, nodes) if return_nodes else labels

    def partition(self, level: int) -> IntArray:
        """Clusters as they stood after round ``level`` of a level-wise method, numbered as in :meth:`cut`.

        Examples
        --------
        >>> tree = Tree([4, 4, 5, 5, 6, 6, -1], level=[0, 0, 0, 0, 1, 2, 3])
        >>> [tree.partition(round).tolist() for round in range(4)]
        [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 1, 1], [0, 0, 0, 0]]
        """
        if self._level is None:
            raise InvalidInput("This tree has no levels, because it was not made in rounds; use cut(height=...).")
        level = check_int("level", level, low=0)
        return _core.tree_top_labels(self._parent, (self._level <= level).view(np.uint8), self._n_leaves)

    def levels(
        self, X: Any = None, *, metric: Any = None, min_size: int | None = None, max_levels: int = 6
    ) -> list[Level]:
        """Granularities at which the tree has clusters that last: three to six suggestions, coarse to fine.

        The cuts are those for reading, ``cut(n_clusters=k, by="spread")``, and each level is nested in the one before.
        A cut is firm when its clusters last: when they fall apart, or their leaves leave them as outliers, far below
        the height at which they were parted from their siblings. Suggested are the cuts at which this has its most
        prominent peaks, with at least 1.5 times as many clusters from one level to the next; where there are fewer
        than three peaks, cuts between them too. O(n log n), and O(nd) for ``X``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), optional
            The rows that the leaves stand for. Then mean distances between the parts of each split, computed from X,
            take the place of the tree's heights, which say little of distances after ``refine`` or a method on graphs.
        metric : {"sqeuclidean", "cosine"}, optional
            With ``X``: by default cosine where the tree was made with it, else sqeuclidean.
        min_size : int in [1, n], optional
            The smallest part that counts on the finest level. By default a quarter of the cube root of n, at least 2;
            on coarser levels it is a fifth of an average cluster.
        max_levels : int of at least 1

        Returns
        -------
        list of Level
            Each with ``n_clusters``, ``stability`` (0 to 1), ``labels``, ``nodes`` and ``min_size``. Fewer than three
            only where the tree has not as many splits.

        Examples
        --------
        >>> import numpy as np, cladify
        >>> X = np.add.outer([0.0, 100.0], np.add.outer([0.0, 10.0, 20.0], [0.0, 1.0, 2.0])).reshape(-1, 1)
        >>> [(level.n_clusters, round(level.stability, 2)) for level in cladify.fit(X, "hac").levels()]
        [(2, 0.73), (4, 0.57), (6, 0.81)]
        """
        return levels(self, X, metric=metric, min_size=min_size, max_levels=max_levels)

    @cached_property
    def _largest_height(self) -> FloatArray:
        """Largest height of an inner node in each subtree."""
        if self.is_monotone:
            return self.height
        return _core.tree_largest_heights(self._parent, self.height, self._n_leaves)

    @cached_property
    def split_order(self) -> IntArray:
        """Inner nodes from the highest to the lowest, parents before children."""
        largest = self._largest_height[self._n_leaves :]
        return self._n_leaves + np.argsort(largest, kind="stable")[::-1]

    @cached_property
    def _widest_first(self) -> IntArray:
        """Inner nodes from the largest spread to the smallest, parents before children."""
        spread = _condense.spreads(self)[self._n_leaves :]
        return self._n_leaves + np.argsort(spread, kind="stable")[::-1]

    # --- other trees --------------------------------------------------------------------------------------------------

    def _derive(self, parent: IntArray, source: IntArray, *, order: IntArray | None = None) -> Tree:
        """The tree of ``parent`` whose node i takes height and level from node ``source[i]`` of this one."""
        level = None if self._level is None else self._level[source]
        return Tree(parent, self.height[source], level=level, info=self._info, order=order)

    def _pruned(self, keep: IntArray) -> Tree:
        order = None
        if self._order is not None:
            place = np.full(self._n_leaves, -1)
            place[keep] = np.arange(len(keep))
            order = place[self._order]
            order = order[order >= 0]
        return self._derive(*_core.tree_prune(self._parent, self._n_leaves, keep), order=order)

    def subtree(self, v: int) -> Tree:
        """The tree below node ``v``; its leaf i is ``members(v)[i]``.

        >>> Tree([4, 4, 5, 5, 6, 6, -1]).subtree(5)
        Tree(n_leaves=2, n_nodes=3, depth=1)
        """
        return self._pruned(self.members(v))

    def prune(self, keep: Any) -> Tree:
        """The tree of some of the leaves; inner nodes left with one child vanish.

        Parameters
        ----------
        keep : array of leaf ids, or a boolean mask of shape (n,)
            Leaf i of the result is ``keep[i]`` (for a mask: its i-th true entry), as in ``X[keep]``.

        Examples
        --------
        >>> tree = Tree([4, 4, 5, 5, 6, 6, -1])
        >>> tree.prune([3, 0, 1]).cut(n_clusters=2).tolist()
        [0, 1, 1]
        """
        keep = np.asarray(keep)
        if keep.dtype == bool:
            if keep.shape != (self._n_leaves,):
                raise InvalidInput(f"A mask of leaves must have shape ({self._n_leaves},), got {keep.shape}.")
            keep = np.flatnonzero(keep)
        if keep.ndim != 1 or len(keep) == 0:
            raise InvalidInput("keep must name at least one leaf: a list of leaf ids, or a boolean mask.")
        return self._pruned(self._check_leaves("keep", keep))

    def relabel(self, perm: Any) -> Tree:
        """The same tree with leaf i called ``perm[i]``; inner nodes keep their ids.

        So the tree of ``X[perm]``, relabelled by ``perm``, is the tree of ``X``. (``prune(perm)`` goes the other way.)

        >>> Tree([3, 3, 4, 4, -1]).relabel([2, 0, 1]).cut(n_clusters=2).tolist()
        [0, 1, 0]
        """
        perm = np.asarray(perm)
        if perm.shape != (self._n_leaves,):
            raise InvalidInput(f"perm must have shape ({self._n_leaves},), one new id a leaf, got {perm.shape}.")
        perm = self._check_leaves("perm", perm)
        parent = self._parent.copy()
        parent[perm] = self._parent[: self._n_leaves]
        order = None if self._order is None else perm[self._order]
        return Tree(parent, self.height, level=self._level, info=self._info, order=order)

    def _check_leaves(self, name: str, leaves: np.ndarray) -> IntArray:
        n = self._n_leaves
        if leaves.dtype.kind not in "iu":
            raise InvalidInput(f"{name} must hold leaf ids (integers), got dtype {leaves.dtype}.")
        if leaves.min() < 0 or leaves.max() >= n:
            wrong = leaves[(leaves < 0) | (leaves >= n)][0]
            raise InvalidInput(f"{name} has {wrong}, which is not a leaf: leaves are 0 .. {n - 1}.")
        leaves = np.ascontiguousarray(leaves, dtype=np.int64)
        seen = np.bincount(leaves, minlength=n)
        if seen.max() > 1:
            raise InvalidInput(f"{name} has leaf {int(seen.argmax())} more than once.")
        return leaves

    def binarize(self, random_state: Any = None) -> Tree:
        """A binary tree: each node of more than two children becomes a random binary tree over them, at its height.

        Two random parts are joined until one is left, so that of three children each pair is equally likely to be the
        closest.

        >>> Tree([4, 4, 4, 4, -1]).binarize(random_state=0).is_binary
        True
        """
        if self.is_binary:
            return self
        seed = int(check_random_state(random_state).integers(2**63))
        return self._derive(*_core.tree_binarize(self._parent, self.child_start, self.child_ids, self._n_leaves, seed))

    def condense(self, *, min_size: int | None = None, max_children: int = 15) -> Tree:
        """The tree that a person reads: 2 to ``max_children`` branches a node, outliers with their siblings.

        Only parts of ``min_size`` leaves or more count. A node with one such child merely loses outliers, and is the
        same cluster as that child; an outlier goes where its largest sibling goes, as in :meth:`cut`. Where two or
        more such parts meet, there is a split, and chains of them become one node: from each node down, splits are
        taken in order of their spread (leaves times height) up to the widest gap between one and the next. A child of
        the root has more than a third of all leaves only where the next split would have less than a third of the last
        one's spread, or no wider fan is without one. A cluster without a further split has its leaves as children.

        O(n log n), for every shape of tree.

        Parameters
        ----------
        min_size : int in [1, n], optional
            The smallest cluster. By default √n / 3 and at least 2: 2 for 10 leaves, 33 for 10 000, 333 for a million.
        max_children : int of at least 2
            The most clusters that a node is split into. Leaves are not counted, nor are the children that a node of
            a tree that is not binary has itself.

        Returns
        -------
        Tree
            Over the same leaves. ``info["condense"]`` has ``min_size``, ``max_children`` and ``nodes``: inner node
            ``n + i`` of the result stands for node ``nodes[i]`` of this tree and has its height. It holds the leaves
            of that node, and the outliers that joined it further up.

        Examples
        --------
        >>> tree = Tree.from_linkage(
        ...     [[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 2], [7, 8, 4.0, 4], [9, 10, 4.2, 6], [6, 11, 9.0, 7]]
        ... )
        >>> condensed = tree.condense(min_size=2)
        >>> condensed.to_newick()
        '((0:1,1:1,6:1):8,(2:1,3:1):8,(4:1,5:1):8);'
        >>> condensed.info["condense"]["nodes"].tolist()
        [7, 8, 9, 12]
        """
        return _condense.condense(self, min_size, max_children)

    def with_info(self, **info: Any) -> Tree:
        """The same tree with more entries in :attr:`info`."""
        return Tree(self._parent, self.height, level=self._level, info={**self._info, **info}, order=self._order)

    def order_leaves(self, X: Any, *, metric: str | None = None) -> Tree:
        """The same tree with its children ordered so that neighbouring leaves are similar.

        Among all orders that the tree allows, one with nearly the least sum of distances between neighbours in
        :attr:`leaf_order`: from the leaves up, every node keeps the eight best pairs of first and last leaf, where
        SciPy's ``optimal_leaf_ordering`` keeps all n²/4 of them. About 1 % from the best, in O(nd). The children of a
        node of more than two are first joined by the distances between their means. Leaves and nodes keep their ids.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows that the leaves stand for.
        metric : {"sqeuclidean", "cosine"}, optional
            Distances between rows, or between rows at length 1. By default cosine where the tree was made with it.

        Examples
        --------
        >>> import numpy as np
        >>> Tree([5, 4, 4, 5, 6, 6, -1]).order_leaves(np.array([[9.0], [0.0], [4.0], [5.0]])).leaf_order.tolist()
        [1, 2, 3, 0]
        """
        order = _order.order_leaves(self, X, metric)
        return Tree(self._parent, self.height, level=self._level, info=self._info, order=order)

    # --- reading ------------------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Sizes, depth and balance of the tree, as a dict that prints well."""
        return describe(self)

    def summary(self, items: Sequence[Any] | None = None, *, n_clusters: int = 12, n_examples: int = 3) -> str:
        """A text outline of the top of the tree with example items.

        Parameters
        ----------
        items : sequence of n strings, optional
            Text of each leaf; by default its number.
        n_clusters : int
            How many branches the outline ends in: those of ``cut(n_clusters=..., by="spread")``. The rest is
            counted in a line of its own: "… and 12 smaller branches, 403 items".
        n_examples : int
            Items shown for each of them, spread over the branch.

        Examples
        --------
        >>> tree = Tree.from_linkage([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 5.0, 4]])
        >>> print(tree.summary(["cat", "dog", "car", "bus"], n_clusters=2))
        4 leaves, height 5
        ├─ 2 leaves, height 1: cat · dog
        └─ 2 leaves, height 2: car · bus
        """
        return summary(self, items, n_clusters=n_clusters, n_examples=n_examples)

    # --- being a value ------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        same_kind = (self.n_nodes, self.n_leaves, self._level is None) == (
            other.n_nodes,
            other.n_leaves,
            other._level is None,
        )
        if not same_kind or self.height[-1] != other.height[-1]:
            return False
        return self._same_arrays(other) or self._canonical._same_arrays(other._canonical)

    def _same_arrays(self, other: Tree) -> bool:
        pairs = ((self._parent, other._parent), (self.height, other.height), (self._level, other._level))
        return all(np.array_equal(a, b) for a, b in pairs if a is not None and b is not None)

    @cached_property
    def _canonical(self) -> Tree:
        """The same tree with its inner nodes numbered in the one order that depends on the hierarchy alone."""
        return self._derive(*_core.tree_canonical(self._parent, self.height, self._n_leaves))

    def __hash__(self) -> int:
        return hash((self.n_nodes, self.n_leaves, float(self.height[-1])))

    def __repr__(self) -> str:
        method = f", method={self._info['method']!r}" if "method" in self._info else ""
        return f"Tree(n_leaves={self.n_leaves}, n_nodes={self.n_nodes}, depth={self.depth}{method})"

    def _repr_html_(self) -> str:
        """Shown by a notebook: the top of the tree."""
        html: str = import_module("cladify.plot").tree_html(self)
        return html

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._parent, self.height, self._level, self._info, self._order)


def _unpickle(
    parent: IntArray, height: FloatArray, level: IntArray | None, info: dict[str, Any], order: IntArray | None = None
) -> Tree:
    return Tree(parent, height, level=level, info=info, order=order)


def _check_threshold(height: Any) -> float:
    """A height to cut at; infinity is one cluster."""
    if isinstance(height, float | np.floating) and np.isinf(height):
        return float(height)
    return check_float("height", height)
