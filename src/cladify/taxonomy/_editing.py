"""What can be changed by hand: the part of a taxonomy that keeps the tree as built, and the edits on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cladify._kit.params import check_int
from cladify._kit.text import printable
from cladify.errors import InvalidInput, InvalidType
from cladify.taxonomy._edits import Edit, Edited, Edits, apply_edits
from cladify.tree import Tree

__all__ = ["Editable"]


class Editable:
    """A tree and the edits done to it. Nodes are those of the edited tree; keys stay whatever is edited."""

    _base: Tree  # as built
    edits: Edits

    @cached_property
    def _edited(self) -> Edited:
        return apply_edits(self._base, self.edits)

    @property
    def tree(self) -> Tree:
        """The tree for reading, with all edits done."""
        return self._edited.tree

    @property
    def keys(self) -> np.ndarray:
        """Key of each node, which stays the same whatever is edited; see :mod:`cladify.taxonomy._edits`."""
        return self._edited.keys

    def node(self, key: int) -> int:
        """The node with a key."""
        found = np.flatnonzero(self._edited.keys == key)
        if not len(found):
            raise InvalidInput(f"there is no node with key {key} any more.")
        return int(found[0])

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self._base.n_leaves

    @property
    def hidden(self) -> frozenset[int]:
        """Nodes that were hidden by hand."""
        keys = self._edited.hidden
        return frozenset(np.flatnonzero(np.isin(self._edited.keys, list(keys))).tolist()) if keys else frozenset()

    def _base_keys(self, v: int) -> list[int]:
        """Inner nodes of the tree as built that a node stands for: itself, or the parts it was merged from."""
        waiting, found = [int(self._edited.keys[v])], []
        while waiting:
            key = waiting.pop(0)
            if key < self._base.n_nodes:
                found.append(key)
            else:
                waiting = [*self._edited.parts[key], *waiting]
        return found

    # --- editing ------------------------------------------------------------------------------------------------------

    def rename(self, v: int, name: str) -> None:
        """Give group ``v`` a name; an empty one brings the automatic name back."""
        if not isinstance(name, str):
            raise InvalidType(f"name must be text, got {type(name).__name__}.")
        self._edit(Edit("rename", (self._key(v),), printable(name)))

    def merge(self, nodes: Sequence[int], name: str | None = None) -> int:
        """Make one group of several, in the place of the first; returns its node."""
        self._edit(Edit("merge", tuple(self._key(v) for v in nodes), None if name is None else printable(name)))
        return self.node(max(self._edited.parts))

    def move(self, v: int | Sequence[int], to: int) -> None:
        """Put a group or an item (or several) into group ``to``."""
        nodes = [v] if isinstance(v, int | np.integer) else list(v)
        self._edit(Edit("move", tuple(self._key(u) for u in nodes), to=self._key(to)))

    def collapse(self, v: int) -> None:
        """Take out all groups below group ``v``: its items are directly in it."""
        self._edit(Edit("collapse", (self._key(v),)))

    def hide(self, v: int) -> None:
        """Leave a group (or an item) out of outlines and of the explorer; hiding it again shows it."""
        self._edit(Edit("hide", (self._key(v),)))

    def undo(self) -> Edit:
        """Take the last edit back."""
        edit = self.edits.undo()
        self._forget()
        return edit

    def redo(self) -> Edit:
        """Do the last undone edit again."""
        edit = self.edits.redo()
        self._forget()
        return edit

    def _key(self, v: Any) -> int:
        v = check_int("node", v, low=0, high=self.tree.root, why=f"for a tree of {self.tree.n_nodes} nodes")
        return int(self._edited.keys[v])

    def _edit(self, edit: Edit) -> None:
        edited = apply_edits(self._base, [*self.edits, edit])  # raises before anything is changed
        self.edits.add(edit)
        self._forget()
        self.__dict__["_edited"] = edited

    def _forget(self) -> None:
        for name in ("_edited", "levels", "_beside_now"):
            self.__dict__.pop(name, None)
