"""`MutableTree`: a tree whose leaves come and go and whose subtrees move, while every node keeps its id.

The online methods, their journal and live views stand on it. It lives in the native core; this module adds the two
things that Python code asks of it: a :class:`~cladify.Tree` of the present state, and what changed since another one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladify import _core
from cladify._kit.params import check_int
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["Changes", "Frozen", "MutableTree"]


class Changes(NamedTuple):
    """Nodes by what became of them between a version and now.

    Ids of nodes that are gone are used again, as late as possible: one that is both in ``removed`` and in ``made`` is
    another node now.
    """

    made: np.ndarray
    removed: np.ndarray
    moved: np.ndarray  #: there before and now, under another parent
    touched: np.ndarray  #: there before and now, with something below that was made, removed or moved


class Frozen(NamedTuple):
    """A tree as it stood, and which node of the changing tree each of its nodes is."""

    tree: Tree
    node: np.ndarray


class MutableTree:
    """A rooted tree that changes; inner nodes have two children or more.

    A node has the sum of its leaves' weights (``size``), a weight of its own (``cross``) and, with ``width``, the sum
    of its leaves' rows. Each change costs the way up to the lowest node that holds all of it, and is written to a log
    of the latest events.

    Parameters
    ----------
    width : int
        Numbers in the row of a leaf.
    log_limit : int
        Events that the log holds (12 bytes each); an insertion or a move is about four.

    Examples
    --------
    >>> tree = MutableTree()
    >>> a, b, c = (tree.make_leaf() for _ in range(3))
    >>> _ = tree.join(a, b), tree.join(b, c)                # (a, (b, c))
    >>> before = tree.version
    >>> _ = tree.move(b, a)                                 # ((a, b), c)
    >>> tree.freeze().tree.to_newick()
    '(2:2,(0:1,1:1):1);'
    >>> sorted(tree.changes(before).moved.tolist())
    [0, 1, 2]
    """

    def __init__(self, width: int = 0, *, log_limit: int = 4_000_000) -> None:
        self._core = _core.MutableTree(check_int("width", width, low=0), check_int("log_limit", log_limit, low=2))

    def make_leaf(self, weight: float = 1.0, row: Any = ()) -> int:
        """A new leaf. The first is the tree; others hang nowhere until they are joined or appended."""
        return int(self._core.make_leaf(weight, np.ascontiguousarray(row, dtype=np.float64)))

    def update(self, leaf: int, weight: float, row: Any = ()) -> None:
        """Gives a leaf another weight and row."""
        self._core.update(leaf, weight, np.ascontiguousarray(row, dtype=np.float64))

    def freeze(self, order: Any = None) -> Frozen:
        """The present state as a :class:`~cladify.Tree`, in O(n).

        Parameters
        ----------
        order : array of leaf ids, optional
            Leaf ``order[i]`` becomes leaf i; by default leaves come by id.
        """
        leaves = self._core.leaves() if order is None else np.ascontiguousarray(order, dtype=np.int32)
        if len(leaves) == 0:
            raise InvalidInput("The tree has no leaves; add some before taking its state.")
        parent, node = self._core.freeze(leaves)
        return Frozen(Tree(parent), node)

    def changes(self, since: int) -> Changes:
        """What became of the nodes since version ``since`` (an earlier :attr:`version`)."""
        if not self.oldest_version <= since <= self.version:
            raise InvalidInput(
                f"Changes are known since version {self.oldest_version}, up to {self.version}; got {since}. "
                "Take the whole tree with freeze()."
            )
        return Changes(*self._core.changes(since))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._core, name)
