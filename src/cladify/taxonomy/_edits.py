"""Edits of a taxonomy: a list that can be undone and done again, and the tree that it leads to.

An edit names nodes by their **key**, which never changes, whatever is edited or updated. A taxonomy that was just built
numbers its nodes; every later node, made by an edit or an update, gets a number that was never used. Ids of the edited
tree follow the rules of :class:`cladify.Tree` and may change with every edit; ``keys`` translates. The edited tree is
always made from the tree as built by doing the edits in order, so undoing is leaving the last one out, and a file needs
to hold nothing but the list.

Inside this module a node has a **place**: its id in the tree as built, or a number beyond those for one that an edit
made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["KINDS", "Edit", "Edited", "Edits", "apply_edits"]

KINDS = ("rename", "merge", "move", "collapse", "hide", "split", "note")
_GONE = -2


@dataclass(frozen=True)
class Edit:
    """One step: what was done to which nodes (by key), with which name or place."""

    kind: str
    nodes: tuple[int, ...]
    name: str | None = None
    to: int | None = None
    made: tuple[int, ...] = ()  #: keys of the nodes that it makes, once an update has fixed them
    parts: tuple[tuple[int, ...], ...] = ()  #: of a split: keys of the items of each part
    names: tuple[str, ...] = ()  #: of a split: what the parts are called

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        found: dict[str, Any] = {"kind": self.kind, "nodes": list(self.nodes), "name": self.name, "to": self.to}
        found |= {"made": list(self.made)} if self.made else {}
        if self.parts:
            found |= {"parts": [list(part) for part in self.parts], "names": list(self.names)}
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Edit:
        """The edit that :meth:`to_dict` described."""
        if not isinstance(data, Mapping) or data.get("kind") not in KINDS:
            raise InvalidInput(f"an edit must be one of {', '.join(KINDS)}, got {str(data)[:60]!r}.")
        nodes, name, to, made = data.get("nodes"), data.get("name"), data.get("to"), data.get("made", [])
        whole = _are_whole(nodes) and _are_whole(made)
        if not whole or not isinstance(name, str | None) or not isinstance(to, int | None) or isinstance(to, bool):
            raise InvalidInput(f"the edit {data.get('kind')!r} has fields of the wrong type.")
        parts, names = data.get("parts", []), data.get("names", [])
        if not all(isinstance(field, list) for field in (parts, names)) or not all(map(_are_whole, parts)):
            raise InvalidInput(f"the edit {data.get('kind')!r} has fields of the wrong type.")
        if len(names) != len(parts) or not all(isinstance(one, str) for one in names):
            raise InvalidInput(f"the edit {data.get('kind')!r} has {len(names)} names for {len(parts)} parts.")
        return cls(data["kind"], tuple(nodes or ()), name, to, tuple(made), tuple(map(tuple, parts)), tuple(names))


def _are_whole(values: Any) -> bool:
    return isinstance(values, Sequence) and all(isinstance(v, int) and not isinstance(v, bool) for v in values)


@dataclass(frozen=True)
class Edits:
    """The edits done, and those undone that can be done again. A value: every change gives another one."""

    done: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()

    def __len__(self) -> int:
        return len(self.done)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.done)

    def add(self, edit: Edit) -> Edits:
        """With one more edit; those undone before are dropped, as in every editor."""
        return Edits((*self.done, edit))

    def undo(self) -> Edits:
        """Without the last edit."""
        if not self.done:
            raise InvalidInput("there is no edit to undo.")
        return Edits(self.done[:-1], (*self.undone, self.done[-1]))

    def redo(self) -> Edits:
        """With the last undone edit."""
        if not self.undone:
            raise InvalidInput("there is no undone edit to do again.")
        return Edits((*self.done, self.undone[-1]), self.undone[:-1])

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        return {"edits": [edit.to_dict() for edit in self.done], "undone": [edit.to_dict() for edit in self.undone]}

    @classmethod
    def from_dict(cls, data: Any) -> Edits:
        """The edits that :meth:`to_dict` described."""
        if not isinstance(data, Mapping) or set(data) != {"edits", "undone"}:
            raise InvalidInput("the edits are not two lists, edits and undone")
        if not all(isinstance(part, list) for part in data.values()):
            raise InvalidInput("edits and undone are not lists")
        return cls(*(tuple(Edit.from_dict(edit) for edit in data[name]) for name in ("edits", "undone")))


@dataclass(frozen=True)
class Edited:
    """A tree with edits done: its nodes' keys, names given by hand, what is hidden, what merged nodes are of."""

    tree: Tree
    keys: np.ndarray  # key of each node of the tree
    places: np.ndarray  # place of each node of the tree
    names: dict[int, str]  # by key
    hidden: frozenset[int]  # keys
    parts: dict[int, tuple[int, ...]]  # place of a node that an edit made -> places it was made of
    notes: dict[int, str]  # by key
    key_of: np.ndarray  # key of each place; those that edits made are behind those of the tree as built
    done: tuple[Edit, ...]  # the edits, with the keys of the nodes that they made
    next_key: int  # from here on keys are free


def apply_edits(
    base: Tree,
    edits: Iterable[Edit],
    keys: np.ndarray | None = None,
    next_key: int = 0,
    *,
    skipped: list[tuple[Edit, str]] | None = None,
) -> Edited:
    """The tree after all edits; an edit that cannot be done raises and says why.

    Parameters
    ----------
    keys : int64 array, optional
        Keys of the nodes of ``base``; by default their numbers.
    next_key : int
        From here on keys are free.
    skipped : list, optional
        Takes the edits that cannot be done, with the reason, in place of an error.
    """
    numbers = np.arange(base.n_nodes)
    numbers.flags.writeable = False
    work = _Work(base, numbers if keys is None else keys, next_key)
    done: list[Edit] = []
    for edit in edits:
        before = (work.parent.copy(), work.height.copy()) if skipped is not None and work.changed else None
        try:
            made = work.do(edit)
        except InvalidInput as error:
            if skipped is None:
                raise
            work.parent, work.height = before or (work.base.parent.copy(), work.base.height.copy())
            work.changed = True
            skipped.append((edit, str(error)))
            continue
        done.append(replace(edit, made=tuple(made)) if made else edit)
    tree, places = (
        work.tree() if work.changed else (base, numbers)
    )  # one array may be keys and places of a million items
    key_of = np.concatenate([work.base_keys, np.array(list(work.made), np.int64)]) if work.made else work.base_keys
    here = key_of[places] if work.changed else work.base_keys
    hidden = work.hidden & set(here.tolist()) if work.hidden else work.hidden
    left = frozenset(hidden)
    return Edited(tree, here, places, work.names, left, work.parts, work.notes, key_of, tuple(done), work.next_key)


def _only(edit: Edit) -> None:
    if len(edit.nodes) != 1:
        raise InvalidInput(f"{edit.kind} takes one node, got {len(edit.nodes)}.")


class _Work:
    """Parents by place while edits are done: -1 at the root, -2 for nodes that are no more."""

    def __init__(self, base: Tree, keys: np.ndarray, next_key: int) -> None:
        self.base = base
        self.n = base.n_leaves
        self.parent = base.parent
        self.height = base.height
        self.changed = False
        self.base_keys = keys
        self.next_key = next_key or base.n_nodes
        self.made: dict[int, int] = {}  # place of each key that an edit made
        self.names: dict[int, str] = {}  # by key
        self.hidden: set[int] = set()  # keys
        self.notes: dict[int, str] = {}  # by key
        self.parts: dict[int, tuple[int, ...]] = {}  # by place

    def do(self, edit: Edit) -> list[int]:
        """Do an edit, or raise and change nothing; the keys of the nodes that it made."""
        nodes = [self.place(key, edit.kind) for key in edit.nodes]
        to = None if edit.to is None else self.place(edit.to, edit.kind)
        if any(key < 0 or key in self.made for key in edit.made) or np.isin(self.base_keys, edit.made).any():
            raise InvalidInput(f"cannot {edit.kind}: a node that it makes is there already.")
        if edit.kind == "rename":
            _only(edit)
            self.names[edit.nodes[0]] = edit.name or ""
            if not edit.name:
                self.names.pop(edit.nodes[0])
        elif edit.kind == "note":
            _only(edit)
            self.notes[edit.nodes[0]] = edit.name or ""
            if not edit.name:
                self.notes.pop(edit.nodes[0])
        elif edit.kind == "split":
            _only(edit)
            self.parts |= dict.fromkeys(self.split(nodes[0], edit.parts), (nodes[0],))
            made_keys = self.number(edit)
            self.names |= dict(zip(made_keys, edit.names, strict=True))
            return made_keys
        elif edit.kind == "hide":
            self.hidden ^= set(edit.nodes)
        elif edit.kind == "collapse":
            _only(edit)
            self.collapse(nodes[0])
        elif edit.kind == "move":
            if to is None:
                raise InvalidInput("move needs the node to move to.")
            self.move(nodes, to)
        else:
            made = self.merge(nodes)
            self.parts[made] = tuple(nodes)
            (key,) = keys = self.number(edit)
            given = next((self.names[old] for old in edit.nodes if old in self.names), None)
            if edit.name or given:
                self.names[key] = edit.name or given or ""
            return keys
        return []

    def place(self, key: int, kind: str) -> int:
        """The place of a node that an edit names."""
        place = self.made.get(key, -1)
        if place < 0:
            same = 0 <= key < len(self.base_keys) and self.base_keys[key] == key
            place = key if same else int(next(iter(np.flatnonzero(self.base_keys == key)), -1))
        if place < 0 or self.parent[place] == _GONE:
            raise InvalidInput(f"cannot {kind} node {key}: there is no such node any more.")
        return place

    def number(self, edit: Edit) -> list[int]:
        """Give the places that an edit has made their keys: those that are fixed already, or the next ones."""
        first = len(self.base_keys) + len(self.made)
        count = len(self.parent) - first
        keys = list(edit.made) if len(edit.made) == count else list(range(self.next_key, self.next_key + count))
        self.made.update(zip(keys, range(first, first + count), strict=True))
        self.next_key = max([self.next_key, *(key + 1 for key in keys)])
        return keys

    def children(self, key: int) -> np.ndarray:
        return np.flatnonzero(self.parent == key)

    def above(self, key: int) -> Iterable[int]:
        while key >= 0:
            yield key
            key = int(self.parent[key])

    def begin(self) -> None:
        """Arrays of our own, before the first change."""
        if not self.changed:
            self.parent, self.height, self.changed = self.parent.copy(), self.height.copy(), True

    def collapse(self, key: int) -> None:
        if key < self.n:
            raise InvalidInput(f"cannot collapse {key}: it is an item, not a group.")
        self.begin()
        below, found = [key], []
        while below:
            below = (self.n + np.flatnonzero(np.isin(self.parent[self.n :], below))).tolist()
            found += below
        self.parent[np.isin(self.parent, found)] = key
        self.parent[found] = _GONE

    def move(self, keys: Sequence[int], to: int) -> None:
        if to < self.n:
            raise InvalidInput(f"cannot move into {to}: it is an item, not a group.")
        for key in keys:
            if key in self.above(to):
                raise InvalidInput(f"cannot move node {key} into {to}: that is part of it.")
        self.begin()
        for key in keys:
            old = int(self.parent[key])
            self.parent[key] = to
            self.tidy(old)
        self.raise_heights(to)

    def merge(self, keys: Sequence[int]) -> int:
        if len(set(keys)) < 2 or len(set(keys)) != len(keys):
            raise InvalidInput("merge takes two or more different nodes.")
        for key in keys:
            if key < self.n:
                raise InvalidInput(f"cannot merge {key}: it is an item, not a group; move it into a group.")
            if any(other in self.above(int(self.parent[key])) for other in keys):
                raise InvalidInput(f"cannot merge node {key} with a node that it is part of.")
        self.begin()
        made = len(self.parent)
        old = [int(self.parent[key]) for key in keys]
        self.parent = np.append(self.parent, old[0])
        self.height = np.append(self.height, self.height[list(keys)].max())
        for key in keys:
            self.parent[self.parent == key] = made
            self.parent[key] = _GONE
        for parent in dict.fromkeys(old):
            if self.parent[parent] != _GONE:
                self.tidy(parent)
        if self.parent[made] != _GONE:
            self.raise_heights(made)
        return made

    def split(self, key: int, parts: Sequence[Sequence[int]]) -> list[int]:
        """Put new groups in place of all groups below one; returns their places.

        Items that are not of any part came later: each goes with the item next to it in the tree as built. Of items
        that are in the group no more, nothing is done.
        """
        self.collapse(key)
        n, inside = self.n, self.parent[: self.n] == key
        leaf = {int(k): i for i, k in enumerate(self.base_keys[:n].tolist())}
        part = np.full(n, -1, np.int64)
        for number, keys in enumerate(parts):
            rows = np.array([leaf[k] for k in keys if k in leaf], np.int64)
            part[rows[inside[rows]]] = number
        order = self.base.leaf_order[inside[self.base.leaf_order]]
        known = np.flatnonzero(part[order] >= 0)
        if len(known):
            after = np.searchsorted(known, np.arange(len(order))).clip(max=len(known) - 1)
            before = np.maximum(after - 1, 0)
            here = np.arange(len(order))
            nearer = np.where(np.abs(known[before] - here) < np.abs(known[after] - here), before, after)
            part[order] = part[order][known[nearer]]
        sizes = np.bincount(part[order][part[order] >= 0], minlength=len(parts))
        if len(parts) < 2 or sizes.min() < 2:
            raise InvalidInput(f"cannot split {key}: a part has fewer than two of its items.")
        made = list(range(len(self.parent), len(self.parent) + len(parts)))
        self.parent[order] = len(self.parent) + part[order]
        self.parent = np.append(self.parent, np.full(len(parts), key))
        self.height = np.append(self.height, np.full(len(parts), self.height[key]))
        return made

    def tidy(self, key: int) -> None:
        """Take out groups that are left with fewer than two children."""
        while key >= 0:
            children = self.children(key)
            if len(children) >= 2:
                return
            above = int(self.parent[key])
            if above < 0:  # the root stays: its only group gives it its children
                if len(children) == 1 and children[0] >= self.n:
                    only = int(children[0])
                    self.parent[self.parent == only] = key
                    self.parent[only] = _GONE
                return
            self.parent[children] = above
            self.parent[key] = _GONE
            key = above

    def raise_heights(self, key: int) -> None:
        """Heights never decrease towards the root."""
        most = max([self.height[v] for v in self.children(key)], default=0.0)
        for v in self.above(key):
            self.height[v] = most = max(most, self.height[v])

    def tree(self) -> tuple[Tree, np.ndarray]:
        n = self.n
        alive = n + np.flatnonzero(self.parent[n:] != _GONE)
        depth = np.zeros(len(self.parent), np.int64)
        level = np.flatnonzero(self.parent == -1)
        while len(level):
            inner = level[level >= n]
            level = np.flatnonzero(np.isin(self.parent, inner)) if len(inner) else inner
            depth[level] = depth[self.parent[level]] + 1
        keys = np.concatenate([np.arange(n), alive[np.lexsort((alive, -depth[alive]))]])
        position = np.full(len(self.parent), -1, np.int64)
        position[keys] = np.arange(len(keys))
        above = self.parent[keys]
        parent = np.where(above >= 0, position[above], -1)
        info = {name: value for name, value in self.base.info.items() if name != "condense"}
        return Tree(parent, self.height[keys], info=info), keys
