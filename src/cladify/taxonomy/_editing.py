"""Edits of a taxonomy by hand."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any

import numpy as np

from cladify._kit.text import printable
from cladify.errors import InvalidType
from cladify.taxonomy._edits import Edit, Edits
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.tree import Tree

__all__ = ["Editable"]


class Editable:
    """A state of a taxonomy that edits replace as a whole.

    Threads may share one: a reader takes the state once and works on that, a writer holds the lock.
    """

    _now: Snapshot
    _lock: RLock

    @property
    def edits(self) -> Edits:
        """The edits done and undone."""
        return self._now.edits

    @property
    def tree(self) -> Tree:
        """The tree for reading, with all edits done."""
        return self._now.tree

    @property
    def keys(self) -> np.ndarray:
        """Key of each node, which stays the same whatever is edited or updated; see :mod:`cladify.taxonomy._edits`."""
        return self._now.edited.keys

    def node(self, key: int) -> int:
        """The node with a key."""
        return self._now.node(key)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self._now.n_items

    @property
    def hidden(self) -> frozenset[int]:
        """Nodes that were hidden by hand."""
        return self._now.hidden

    # --- editing ------------------------------------------------------------------------------------------------------

    def rename(self, v: int, name: str) -> None:
        """Give group ``v`` a name; an empty one brings the automatic name back."""
        if not isinstance(name, str):
            raise InvalidType(f"name must be text, got {type(name).__name__}.")
        self._edit("rename", [v], printable(name))

    def merge(self, nodes: Sequence[int], name: str | None = None) -> int:
        """Make one group of several, in the place of the first; returns its node."""
        now = self._edit("merge", nodes, None if name is None else printable(name))
        return now.node(int(now.edited.key_of[-1]))

    def move(self, v: int | Sequence[int], to: int) -> None:
        """Put a group or an item (or several) into group ``to``."""
        nodes = [v] if isinstance(v, int | np.integer) else list(v)
        self._edit("move", nodes, to=to)

    def collapse(self, v: int) -> None:
        """Take out all groups below group ``v``: its items are directly in it."""
        self._edit("collapse", [v])

    def hide(self, v: int) -> None:
        """Leave a group (or an item) out of outlines and of the explorer; hiding it again shows it."""
        self._edit("hide", [v])

    def note(self, v: int, text: str) -> None:
        """Write a note to a group or an item, which stays with it; an empty one takes it away. See :attr:`notes`."""
        if not isinstance(text, str):
            raise InvalidType(f"text must be text, got {type(text).__name__}.")
        self._edit("note", [v], printable(text))

    @property
    def notes(self) -> dict[int, str]:
        """Notes, by node."""
        keys = self._now.edited.keys
        return {
            int(np.flatnonzero(keys == key)[0]): text for key, text in self._now.edited.notes.items() if key in keys
        }

    def undo(self) -> Edit:
        """Take the last edit back."""
        with self._lock:
            return self._set(self._now.edits.undo()).edits.undone[-1]

    def redo(self) -> Edit:
        """Do the last undone edit again."""
        with self._lock:
            return self._set(self._now.edits.redo()).edits.done[-1]

    def _edit(self, kind: str, nodes: Sequence[Any], name: str | None = None, to: Any = None) -> Snapshot:
        with self._lock:
            now = self._now
            keys = tuple(now.key(v) for v in nodes)
            return self._set(now.edits.add(Edit(kind, keys, name, None if to is None else now.key(to))))

    def _set(self, edits: Edits) -> Snapshot:
        """Replace the edits; one that cannot be done raises and changes nothing."""
        self._now = Snapshot.of(self._now.facts, edits)
        return self._now
