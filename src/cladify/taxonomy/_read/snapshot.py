"""One state of a taxonomy: the facts and the edits done to them. It never changes, so readers need no lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cladify._kit.params import check_int
from cladify._kit.text import printable
from cladify.errors import InvalidInput
from cladify.taxonomy._edits import Edited, Edits, apply_edits
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._names.names import Keyword
from cladify.taxonomy._read.also import Also, AlsoIn, after_edits, group_also, item_also
from cladify.taxonomy._read.levels import Level, rank_levels, suggest_levels
from cladify.tree import Tree

__all__ = ["Examples", "Snapshot"]


class Examples(NamedTuple):
    """Items of a node: the nearest to its centre, and those that lie nearly as near to a sibling's.

    ``boundary_also`` has, for each boundary item, the other groups that it belongs to.
    """

    central: list[Any]
    boundary: list[Any]
    central_rows: list[int]
    boundary_rows: list[int]
    boundary_also: list[list[Also]]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Facts with edits done. Nodes are those of the edited tree; keys stay the same whatever is edited."""

    facts: Facts
    edits: Edits
    edited: Edited

    @classmethod
    def of(cls, facts: Facts, edits: Edits) -> Snapshot:
        """The state after all edits; an edit that cannot be done raises."""
        return cls(facts, edits, apply_edits(facts.base, edits, facts.keys, facts.next_key))

    @property
    def tree(self) -> Tree:
        return self.edited.tree

    @property
    def n_items(self) -> int:
        return self.facts.base.n_leaves

    # --- nodes and keys -----------------------------------------------------------------------------------------------

    def node(self, key: int) -> int:
        """The node with a key."""
        found = np.flatnonzero(self.edited.keys == key)
        if not len(found):
            raise InvalidInput(f"there is no node with key {key} any more.")
        return int(found[0])

    def key(self, v: Any) -> int:
        """The key of a node that a caller named."""
        v = check_int("node", v, low=0, high=self.tree.root, why=f"for a tree of {self.tree.n_nodes} nodes")
        return int(self.edited.keys[v])

    def group(self, v: Any) -> int:
        """A node that a caller named, which must be a group."""
        return check_int("node", v, low=self.n_items, high=self.tree.root, why="for a group; below are the items")

    def base_nodes(self, v: int) -> list[int]:
        """Groups of the tree as built that a node stands for: itself, or the parts it was merged from."""
        waiting, found = [int(self.edited.places[v])], []
        while waiting:
            place = waiting.pop(0)
            if place < self.facts.base.n_nodes:
                found.append(place)
            else:
                waiting = [*self.edited.parts[place], *waiting]
        return found

    def is_part(self, v: int) -> bool:
        """Whether a split by hand made a node."""
        return len(self.edited.parts.get(int(self.edited.places[v]), ())) == 1

    @cached_property
    def hidden(self) -> frozenset[int]:
        """Nodes that were hidden by hand."""
        keys = self.edited.hidden
        return frozenset(np.flatnonzero(np.isin(self.edited.keys, list(keys))).tolist()) if keys else frozenset()

    # --- names and items ----------------------------------------------------------------------------------------------

    def item(self, i: int) -> Any:
        return self.facts.items[i].as_py()

    @property
    def names(self) -> dict[int, str]:
        """Name of each group, by node."""
        n = self.n_items
        return {v: self._name_of(place) for v, place in enumerate(self.edited.places[n:].tolist(), n)}

    def names_of_all(self) -> list[str]:
        """Names of all nodes; items have none."""
        n = self.n_items
        return [""] * n + [self._name_of(place) for place in self.edited.places[n:].tolist()]

    def names_of(self, nodes: Sequence[int]) -> list[str]:
        """Names of some nodes; those of items are the items."""
        n = self.n_items
        return [printable(self.item(v)) if v < n else self._name_of(int(self.edited.places[v])) for v in nodes]

    def _name_of(self, place: int) -> str:
        """The name given by hand, else the automatic one; a merged group has that of its first part."""
        names, key_of = self.edited.names, self.edited.key_of
        while int(key_of[place]) not in names and place >= self.facts.base.n_nodes:
            place = self.edited.parts[place][0]
        return names.get(int(key_of[place])) or self.facts.names[place - self.n_items]

    def keyword_table(self, v: int) -> list[Keyword]:
        lists = [self.facts.keywords[u - self.n_items] for u in self.base_nodes(self.group(v))]
        if len(lists) == 1:
            return list(lists[0])
        merged = sorted((keyword for found in lists for keyword in found), key=lambda k: -k.contrast)
        return list({keyword.term: keyword for keyword in reversed(merged)}.values())[::-1]

    def keywords(self, v: int, n: int = 10) -> list[str]:
        return [keyword.term for keyword in self.keyword_table(v)[:n]]

    def examples(self, v: int, n: int = 5) -> Examples:
        """Up to ``n`` central and ``n`` boundary items of group ``v``."""
        groups = np.array(self.base_nodes(self.group(v))) - self.n_items
        geometry = self.facts.geometry
        central, boundary = (
            self._different(rows[groups].T.ravel(), n) for rows in (geometry.central, geometry.boundary)
        )
        also = [self.also_in(i, 3) for i in boundary]
        return Examples([self.item(i) for i in central], [self.item(i) for i in boundary], central, boundary, also)

    def _different(self, rows: np.ndarray, n: int) -> list[int]:
        """The first rows whose items read differently; -1 is no row."""
        seen: dict[str, int] = {}
        for i in rows.tolist():
            if i >= 0:
                seen.setdefault(printable(self.item(i)), i)
        return list(seen.values())[:n]

    # --- places in the tree -------------------------------------------------------------------------------------------

    @cached_property
    def ranks(self) -> dict[int, int]:
        """The finest level that each group is of, -1 for none; nothing where levels are not kept with the groups."""
        ranks, n = self.facts.ranks, self.n_items
        if ranks is None:
            return {}
        return {v: max(int(ranks[key - n]) for key in self.base_nodes(v)) for v in range(n, self.tree.n_nodes)}

    @cached_property
    def levels(self) -> list[Level]:
        sizes = self.facts.sizes
        if self.facts.ranks is None:
            return suggest_levels(self.tree, sizes)
        groups = rank_levels(self.tree, self.ranks, len(sizes))
        return [Level(nodes, stability) for nodes, (_, stability) in zip(groups, sizes, strict=True)]

    def path(self, v: int) -> list[int]:
        """Groups from the one below the root down to node ``v`` (which is left out if it is an item)."""
        above = [int(u) for u in self.tree.ancestors(v)[::-1]][1:]
        return [*above, int(v)] if self.n_items <= v < self.tree.root else above

    def cohesion(self, v: int) -> float | None:
        nodes = self.base_nodes(self.group(v))
        cohesion = self.facts.geometry.cohesion
        return None if cohesion is None or len(nodes) != 1 else float(cohesion[nodes[0] - self.n_items])

    def confidence(self, nodes: Any) -> np.ndarray:
        """How firmly each item i sits in ``nodes[i]``, a group above it; NaN where that was not measured."""
        nodes = np.asarray(nodes, dtype=np.int64)
        table, base, n = self.facts.confidence, self.facts.base, self.n_items
        if table is None:
            return np.full(len(nodes), np.nan)
        place = self.edited.places[nodes]
        depth = np.zeros(len(nodes), np.int64)
        known = place < base.n_nodes
        inside = np.zeros(len(nodes), bool)
        rows = np.arange(n)
        position = self.facts.position[rows[known]]
        inside[known] = (base.first[place[known]] <= position) & (position < base.last[place[known]])
        depth[inside] = base.node_depth[place[inside]]
        for i in np.flatnonzero(~inside).tolist():
            # Moved or merged by hand: the deepest group as built that both trees put the item in.
            here = set(self.edited.places[self.tree.ancestors(i)].tolist())
            part = [int(u) for u in base.ancestors(i) if int(u) not in here]
            depth[i] = base.node_depth[part[-1]] if part else base.node_depth[i] - 1
        return table[rows, np.minimum(depth, table.shape[1] - 1)] / np.float32(255)

    @cached_property
    def also(self) -> AlsoIn | None:
        """Other groups that items belong to, as nodes of the edited tree."""
        also, base = self.facts.also, self.facts.base
        if also is None or self.tree is base:
            return also
        now = np.full(base.n_nodes, -1, np.int64)
        for v in range(self.n_items, self.tree.n_nodes):
            now[self.base_nodes(v)] = v
        return after_edits(also, now, self.tree)

    def also_in(self, v: int, n: int) -> list[Also]:
        """Other groups that an item or a group belongs to, the largest share first."""
        if self.also is None:
            return []
        node, share = (item_also if v < self.n_items else group_also)(self.also, self.tree, v)
        best = np.lexsort((node, -share))[:n]
        names = self.names_of(node[best].tolist())
        return [Also(int(u), name, float(s)) for u, name, s in zip(node[best], names, share[best], strict=True)]
