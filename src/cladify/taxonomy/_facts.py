"""What is known of a taxonomy as it was built. Edits never change it; see :mod:`cladify.taxonomy._edits`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify._kit.container import narrow
from cladify.taxonomy._kept import Kept
from cladify.taxonomy._names.names import Keyword
from cladify.taxonomy._names.words import WordIndex, index_words
from cladify.taxonomy._read.also import AlsoIn
from cladify.taxonomy._read.geometry import Geometry
from cladify.taxonomy._update.past import Past
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Facts", "Packed"]


class Packed(NamedTuple):
    """A tree in as few bytes as it needs, which nobody has asked for yet: its parents, and heights of inner nodes."""

    parent: np.ndarray
    height: np.ndarray

    @classmethod
    def of(cls, tree: Tree) -> Packed:
        """Keep nothing of a tree but these two."""
        return cls(narrow(tree.parent), tree.height[tree.n_leaves :].copy())

    def heights(self) -> np.ndarray:
        """Those of all nodes."""
        return np.concatenate([np.zeros(len(self.parent) - len(self.height)), self.height])

    def tree(self) -> Tree:
        """The tree again."""
        return Tree(self.parent, self.heights())


@dataclass(frozen=True, eq=False)
class Facts:
    """The tree as built, its items, and names, keywords, examples and confidences of its groups.

    Attributes
    ----------
    base : Tree
        The condensed tree; group i of the lists below is its node n + i.
    items : Arrow array, one entry a leaf
    has_items : bool
        False where the items are only numbers.
    kept : Kept
        Ids and columns that came with the items.
    names, keywords : lists, one entry a group
    geometry : Geometry
    confidence : uint8 array of shape (n, depth), optional
        How firmly each leaf sits in the group of each depth above it, in 255ths.
    also : AlsoIn, optional
        Other groups that items belong to.
    sizes : list of (int, float or None)
        Suggested numbers of clusters, with their stability.
    full_tree : Tree, optional
        The binary tree that ``base`` was condensed from; None if it is still in ``full_arrays``.
    full_arrays : Packed, optional
        That tree, in a quarter of the room.
    points : float32 array of shape (n, 2), optional
        Where each item lies on the map.
    ranks : int8 array of shape (groups,), optional
        The finest level that each group is of, -1 for none, where levels were asked for; the first ones are those of
        ``sizes``.
    far : float32 array of shape (2, k), optional
        How far own items lie from the rest; see :mod:`cladify.taxonomy._read.nowhere`.
    keys : int64 array, one entry a node of ``base``, optional
        What edits call the nodes, which no update changes; their numbers, if None.
    next_key : int
        From here on keys are free.
    past : Past
        What is remembered of updates.
    """

    base: Tree
    items: pa.Array
    has_items: bool
    kept: Kept
    names: list[str]
    keywords: list[list[Keyword]]
    geometry: Geometry
    confidence: np.ndarray | None
    also: AlsoIn | None
    sizes: list[tuple[int, float | None]]
    full_tree: Tree | None
    full_arrays: Packed | None = None
    points: np.ndarray | None = None
    ranks: np.ndarray | None = None
    far: np.ndarray | None = None
    keys: np.ndarray | None = None
    next_key: int = 0
    past: Past = field(default_factory=Past)

    @cached_property
    def full(self) -> Tree:
        """The binary tree; a large one from a file is made when it is first asked for."""
        if self.full_tree is not None or self.full_arrays is None:
            return self.full_tree or self.base
        return self.full_arrays.tree()

    @cached_property
    def item_list(self) -> list[Any]:
        """The items as Python values."""
        return self.items.to_pylist()

    @cached_property
    def words(self) -> WordIndex:
        """The index of the words of the items."""
        return index_words(self.items)

    @cached_property
    def position(self) -> np.ndarray:
        """Position of each leaf in the leaf order of ``base``."""
        position = np.empty(self.base.n_leaves, np.int64)
        position[self.base.leaf_order] = np.arange(self.base.n_leaves)
        return position

    def named(self, names: list[str], keywords: list[list[Keyword]] | None = None) -> Facts:
        """The same facts with other names; what was computed already is kept."""
        changed = replace(self, names=names, keywords=self.keywords if keywords is None else keywords)
        for key in ("full", "item_list", "words", "position"):
            if key in self.__dict__:
                changed.__dict__[key] = self.__dict__[key]
        return changed
