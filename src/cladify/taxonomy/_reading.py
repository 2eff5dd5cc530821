"""What can be read off a taxonomy: names, keywords, examples, levels, tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify._kit.params import check_choice, check_int
from cladify._kit.text import printable
from cladify.errors import InvalidInput
from cladify.taxonomy._also import Also, Beside, after_edits, group_also, item_also
from cladify.taxonomy._editing import Editable
from cladify.taxonomy._file import release
from cladify.taxonomy._geometry import Geometry
from cladify.taxonomy._levels import Level, suggest_levels
from cladify.taxonomy._names import Keyword
from cladify.taxonomy._words import WordIndex, index_words
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Examples", "Match", "Readable"]


class Examples(NamedTuple):
    """Items of a node: the nearest to its centre, and those that lie nearly as near to a sibling's.

    ``boundary_also`` has, for each boundary item, the other groups that it belongs to.
    """

    central: list[Any]
    boundary: list[Any]
    central_rows: list[int]
    boundary_rows: list[int]
    boundary_also: list[list[Also]]


class Match(NamedTuple):
    """What :meth:`Taxonomy.find` found: a group or an item, its text, and the names of the groups above it."""

    kind: str
    node: int
    text: str
    path: tuple[str, ...]


class Readable(Editable):
    """A tree with items and what is known of its groups."""

    _full: Tree | None
    _full_arrays: tuple[Any, Any]  # of a file, until it is asked for
    _items: pa.Array
    _names: list[str]  # of the groups of the tree as built, as all that follow
    _keywords: list[list[Keyword]]
    _geometry: Geometry
    _firm: np.ndarray | None
    _beside: Beside | None
    _sizes: list[tuple[int, float | None]]  # suggested numbers of clusters, with their stability

    @property
    def full(self) -> Tree:
        """The binary tree that the tree for reading was condensed from; from a file it is read when asked for."""
        if self._full is None:
            self._full = Tree(*self._full_arrays)
        return self._full

    @cached_property
    def items(self) -> list[Any]:
        """The items, one a leaf."""
        return self._items.to_pylist()

    @property
    def arrow_items(self) -> pa.Array:
        """The items as an Arrow array, which takes less memory than the list."""
        return self._items

    @cached_property
    def words(self) -> WordIndex:
        """Which items have which words, for search; a large taxonomy keeps it in its file."""
        return index_words(self._items)

    def release(self) -> None:
        """Hand back memory that searches took: pages of the file that were read, and room that Arrow keeps."""
        import pyarrow as pa

        if "words" in self.__dict__:
            release([self.words.rows])
        pa.default_memory_pool().release_unused()

    @property
    def names(self) -> dict[int, str]:
        """Name of each group, by node."""
        n = self.n_items
        return {v: self._name_of(int(key)) for v, key in enumerate(self._edited.keys[n:].tolist(), n)}

    def names_of(self, nodes: Sequence[int]) -> list[str]:
        """Names of some nodes; those of items are the items."""
        n = self.n_items
        return [printable(self._item(v)) if v < n else self._name_of(int(self._edited.keys[v])) for v in nodes]

    def _name_of(self, key: int) -> str:
        """The name given by hand, else the one made when the taxonomy was built; a merged group has its parts'."""
        names = self._edited.names
        while key not in names and key >= self._base.n_nodes:
            key = self._edited.parts[key][0]
        return names.get(key) or self._names[key - self.n_items]

    def _group(self, v: Any) -> int:
        return check_int("node", v, low=self.n_items, high=self.tree.root, why="for a group; below are the items")

    @cached_property
    def levels(self) -> list[Level]:
        """Suggested granularities, from coarse to fine."""
        return suggest_levels(self.tree, self._sizes)

    def keywords(self, v: int, n: int = 10) -> list[str]:
        """Terms that set group ``v`` apart from its siblings, the most telling first."""
        return [keyword.term for keyword in self.keyword_table(v)[:n]]

    def keyword_table(self, v: int) -> list[Keyword]:
        """Keywords of group ``v`` with their contrast and the share of its items that have them."""
        lists = [self._keywords[key - self.n_items] for key in self._base_keys(self._group(v))]
        merged = sorted((keyword for found in lists for keyword in found), key=lambda k: -k.contrast)
        return list({keyword.term: keyword for keyword in reversed(merged)}.values())[::-1]

    def examples(self, v: int, n: int = 5) -> Examples:
        """Up to ``n`` central and ``n`` boundary items of group ``v``; items that read alike are shown once."""
        keys = np.array(self._base_keys(self._group(v))) - self.n_items
        central, boundary = (
            self._different(rows[keys].T.ravel(), n) for rows in (self._geometry.central, self._geometry.boundary)
        )
        also = [self.also_in(i) for i in boundary]
        return Examples([self._item(i) for i in central], [self._item(i) for i in boundary], central, boundary, also)

    def _item(self, i: int) -> Any:
        return self._items[i].as_py()

    def _different(self, rows: np.ndarray, n: int) -> list[int]:
        seen: dict[str, int] = {}
        for i in rows.tolist():
            if i >= 0:
                seen.setdefault(printable(self._item(i)), i)
        return list(seen.values())[:n]

    def cohesion(self, v: int) -> float | None:
        """How close the items of group ``v`` are: 1 - (mean squared distance to their mean) / (that of all items).

        0 for all items together, 1 where all items of the group are the same, below 0 for a group that is more spread
        out than the whole. None where it was not measured: without vectors, and in groups merged by hand.
        """
        keys = self._base_keys(self._group(v))
        if self._geometry.cohesion is None or len(keys) != 1:
            return None
        return float(self._geometry.cohesion[keys[0] - self.n_items])

    def path(self, v: int) -> list[int]:
        """Groups from the one below the root down to node ``v`` (which is left out if it is an item)."""
        above = [int(u) for u in self.tree.ancestors(v)[::-1]][1:]
        return [*above, int(v)] if self.n_items <= v < self.tree.root else above

    def confidence(self, nodes: Any) -> np.ndarray:
        """How firmly each item sits in ``nodes[i]``, a group above it; see :func:`cladify.graphtree.confidence`.

        1 means that no neighbour of the group's items is elsewhere; it is less for items whose neighbours, and theirs,
        are in other groups, and for all items of a group that is loose as a whole. NaN where that was not measured. In
        a group made by hand an item counts as in the part that it came from.
        """
        nodes = np.asarray(nodes, dtype=np.int64)
        if self._firm is None:
            return np.full(len(nodes), np.nan)
        keys = self._edited.keys[nodes]
        base, n = self._base, self.n_items
        depth = np.zeros(len(nodes), np.int64)
        known = keys < base.n_nodes
        inside = np.zeros(len(nodes), bool)
        rows = np.arange(n)
        inside[known] = (base.first[keys[known]] <= self._place[rows[known]]) & (
            self._place[rows[known]] < base.last[keys[known]]
        )
        depth[inside] = base.node_depth[keys[inside]]
        other = np.flatnonzero(~inside)
        for i in other.tolist():  # moved or merged by hand: the deepest group as built that both trees put it in
            here = set(self._edited.keys[self.tree.ancestors(i)].tolist())
            part = [int(u) for u in base.ancestors(i) if int(u) not in here]
            depth[i] = base.node_depth[part[-1]] if part else base.node_depth[i] - 1
        return self._firm[rows, np.minimum(depth, self._firm.shape[1] - 1)] / np.float32(255)

    def also_in(self, v: int, *, n: int = 3) -> list[Also]:
        """Other groups that an item or a group belongs to, by the neighbours of its items.

        An item also belongs to a group that it is not in where at least a fifth of its nearest neighbours are, by
        weight (:func:`cladify.overlap.soft_membership`); the lowest such groups are given, with the share of the
        neighbours there. For a group: the groups beside it, or beside one around it, that some of its items also
        belong to, with the share of its items that do.

        Parameters
        ----------
        v : int
            A node of :attr:`tree`: an item (0 .. n_items - 1) or a group.
        n : int
            At most so many.

        Returns
        -------
        list of Also
            ``node``, ``name`` and ``share`` of each group, the largest share first. Empty where there is none, or the
            taxonomy was made without a graph of neighbours.

        Examples
        --------
        >>> import numpy as np, cladify
        >>> angle = np.radians([0, 2, 4, 6, 41, 78, 80, 82, 84, 86])
        >>> items = ["oak", "elm", "ash", "yew", "tree house", "hut", "shed", "barn", "shack", "cabin"]
        >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        >>> taxonomy = cladify.Taxonomy.fit(X, items, min_size=4, n_neighbors=4)
        >>> taxonomy.path(4) == taxonomy.path(0), taxonomy.also_in(0), [a.name for a in taxonomy.also_in(4)]
        (True, [], ['barn · shack'])
        """
        n = check_int("n", n, low=1)
        v = check_int("node", v, low=0, high=self.tree.root, why=f"for a tree of {self.tree.n_nodes} nodes")
        return item_also(self, v, n) if v < self.n_items else group_also(self, v, n)

    @cached_property
    def _beside_now(self) -> Beside | None:
        return after_edits(self)

    @cached_property
    def _place(self) -> np.ndarray:
        """Where each leaf stands in the order of the tree as built."""
        place = np.empty(self.n_items, np.int64)
        place[self._base.leaf_order] = np.arange(self.n_items)
        return place

    def summary(
        self,
        *,
        depth: int = 2,
        max_children: int = 15,
        n_examples: int = 2,
        width: int | None = None,
        nodes: bool = False,
    ) -> str:
        """The named outline as text, larger groups first.

        Parameters
        ----------
        depth : int
            How many levels of groups are shown.
        max_children : int
            Groups shown below each; the rest is counted.
        n_examples : int
            Central items shown for the lowest groups.
        width : int, optional
            Longer lines are cut.
        nodes : bool
            Also the ids of the groups, which :meth:`rename` and the other edits take.
        """
        from cladify.taxonomy._outline import outline

        depth, most = check_int("depth", depth, low=1), check_int("max_children", max_children, low=1)
        n_examples = check_int("n_examples", n_examples, low=0)
        lines = outline(self, depth=depth, max_children=most, n_examples=n_examples, width=width, nodes=nodes)
        return "\n".join(lines)

    def table(self, levels: Any = None, *, form: str = "auto") -> Any:
        """One row an item: where it is at every level.

        Parameters
        ----------
        levels : list, optional
            Numbers of clusters, or entries of :attr:`levels`; by default the suggested ones.
        form : {"auto", "pandas", "arrow"}
            A pandas frame where pandas is installed, else an Arrow table.

        Returns
        -------
        pandas.DataFrame or pyarrow.Table
            ``row``, ``item``; for each level i = 1, 2, …: ``label_i`` (cluster, 0 .. k-1), ``name_i``, ``confidence_i``
            (how firmly the item sits there: ½ if another cluster would do as well, 1 at the most), ``also_i`` (names of
            other clusters of the level that it belongs to, see :meth:`also_in`; missing where there is none); ``node``
            (the lowest group) and ``path`` (all names down to it).
        """
        from cladify.taxonomy._table import as_form, table

        check_choice("form", form, ["auto", "pandas", "arrow"])
        return as_form(table(self, levels), form)

    def to_dict(self, *, nested: bool = True, items: bool = False) -> dict[str, Any]:
        """The taxonomy in plain values.

        Parameters
        ----------
        nested : bool
            ``{"name", "node", "size", "children": [...]}`` as d3 takes it; otherwise a flat list of nodes with parents.
        items : bool
            Also the items, as leaves.
        """
        from cladify.taxonomy._table import flat_dict, nested_dict

        return nested_dict(self, items) if nested else flat_dict(self, items)

    def find(self, text: str, *, limit: int = 20) -> list[Match]:
        """Groups whose name or keywords have ``text`` in them, the largest first, then items that do."""
        from cladify.taxonomy._table import find

        return find(self, text, check_int("limit", limit, low=1))

    def explore(self, **options: Any) -> Any:
        """Open the taxonomy in the browser; see ``cladify.explore``."""
        from importlib import import_module

        try:
            module = import_module("cladify.explore")
        except ModuleNotFoundError:
            raise InvalidInput("this version of cladify has no explorer; print(taxonomy.summary()) shows it.") from None
        return module.explore(self, **options)

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        levels = ", ".join(str(level.n_clusters) for level in self.levels)
        return f"Taxonomy(n_items={self.n_items}, n_groups={self.tree.n_nodes - self.n_items}, levels=[{levels}])"
