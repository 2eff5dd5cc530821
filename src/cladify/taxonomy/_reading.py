"""Public methods that read a taxonomy; the work is done by functions of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.params import check_choice, check_int
from cladify.errors import InvalidInput
from cladify.taxonomy._editing import Editable
from cladify.taxonomy._names.names import Keyword
from cladify.taxonomy._names.words import WordIndex
from cladify.taxonomy._read.also import Also
from cladify.taxonomy._read.levels import Level
from cladify.taxonomy._read.outline import outline
from cladify.taxonomy._read.snapshot import Examples
from cladify.taxonomy._read.table import (
    Match,
    as_form,
    chosen_levels,
    cluster_names,
    find,
    flat_dict,
    nested_dict,
    table,
)
from cladify.taxonomy._read.trend import Trend, trend
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Readable"]


class Readable(Editable):
    """A taxonomy to read."""

    @property
    def full(self) -> Tree:
        """The binary tree that the tree for reading was condensed from; from a file it is read when asked for."""
        return self._now.facts.full

    @property
    def items(self) -> list[Any]:
        """The items, one a leaf."""
        return self._now.facts.item_list

    @property
    def arrow_items(self) -> pa.Array:
        """The items as an Arrow array, which takes less memory than the list."""
        return self._now.facts.items

    @property
    def ids(self) -> list[Any]:
        """The id of each item: as given, from the index of a frame, or the number of the row."""
        return self._now.facts.kept.id_list(self._now.n_items)

    @property
    def id_names(self) -> tuple[str | None, ...]:
        """What the ids are called: nothing, one name, or one for each level of a pandas index."""
        return self._now.facts.kept.id_names

    @property
    def columns(self) -> pa.Table:
        """All columns that came with the items, as an Arrow table in the order of the items."""
        return self._now.facts.kept.columns

    @property
    def column_kinds(self) -> dict[str, str]:
        """What each of :attr:`columns` is: "number", "category", "time", "text", "link" or "image".

        By its type; for texts by a sample of them: few short ones are categories, and paths or addresses that end as
        pictures do are images.

        >>> import cladify
        >>> columns = {"year": [1999, 2004, 2010, 2026], "tone": ["red", "blue", "red", "blue"]}
        >>> texts = ["red apple", "blue plum", "red car", "blue car"]
        >>> cladify.Taxonomy.from_texts(texts, columns=columns).column_kinds
        {'year': 'number', 'tone': 'category'}
        """
        return self._now.facts.kept.kinds

    @property
    def points(self) -> np.ndarray | None:
        """Where each item lies on the map, a float32 array of shape (n, 2); None without vectors or a graph."""
        return self._now.facts.points

    @property
    def words(self) -> WordIndex:
        """Which items have which words, for search; a large taxonomy keeps it in its file."""
        return self._now.facts.words

    def release(self) -> None:
        """Hand back memory that searches took and Arrow keeps."""
        import pyarrow as pa

        pa.default_memory_pool().release_unused()

    @property
    def names(self) -> dict[int, str]:
        """Name of each group, by node."""
        return self._now.names

    def names_of(self, nodes: Sequence[int]) -> list[str]:
        """Names of some nodes; those of items are the items."""
        return self._now.names_of(nodes)

    @property
    def levels(self) -> list[Level]:
        """Suggested granularities, from coarse to fine."""
        return self._now.levels

    def keywords(self, v: int, n: int = 10) -> list[str]:
        """Terms that set group ``v`` apart from its siblings, the most telling first."""
        return self._now.keywords(v, n)

    def keyword_table(self, v: int) -> list[Keyword]:
        """Keywords of group ``v`` with their contrast and the share of its items that have them."""
        return self._now.keyword_table(v)

    def examples(self, v: int, n: int = 5) -> Examples:
        """Up to ``n`` central and ``n`` boundary items of group ``v``; items that read alike are shown once."""
        return self._now.examples(v, n)

    def cohesion(self, v: int) -> float | None:
        """How close the items of group ``v`` are: 1 - (mean squared distance to their mean) / (that of all items).

        0 for all items together, 1 where all items of the group are the same, below 0 for a group that is more spread
        out than the whole. None where it was not measured: without vectors, and in groups merged by hand.
        """
        return self._now.cohesion(v)

    def path(self, v: int) -> list[int]:
        """Groups from the one below the root down to node ``v`` (which is left out if it is an item)."""
        return self._now.path(v)

    def confidence(self, nodes: Any) -> np.ndarray:
        """How firmly each item sits in ``nodes[i]``, a group above it; see :func:`cladify.graphtree.confidence`.

        1 means that no neighbour of the group's items is elsewhere; it is less for items whose neighbours, and theirs,
        are in other groups, and for all items of a group that is loose as a whole. NaN where that was not measured. In
        a group made by hand an item counts as in the part that it came from.
        """
        return self._now.confidence(nodes)

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
        >>> taxonomy = cladify.Taxonomy.fit(X, items, min_size=4, method="graph", n_neighbors=4)
        >>> taxonomy.path(4) == taxonomy.path(0), taxonomy.also_in(0), [a.name for a in taxonomy.also_in(4)]
        (True, [], ['barn · shack'])
        """
        n, tree = check_int("n", n, low=1), self._now.tree
        v = check_int("node", v, low=0, high=tree.root, why=f"for a tree of {tree.n_nodes} nodes")
        return self._now.also_in(v, n)

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
        depth, most = check_int("depth", depth, low=1), check_int("max_children", max_children, low=1)
        n_examples = check_int("n_examples", n_examples, low=0)
        lines = outline(self._now, depth=depth, max_children=most, n_examples=n_examples, width=width, nodes=nodes)
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
            (the lowest group) and ``path`` (all names down to it). A frame has the index that the items came with, or
            their ids, so that ``df.join(taxonomy.table())`` joins the right rows; an Arrow table has the ids as its
            first column. If an index has duplicates, use ``pandas.concat([df, taxonomy.table()], axis=1)``.
        """
        check_choice("form", form, ["auto", "pandas", "arrow"])
        return as_form(table(self._now, levels), form, self._now.facts.kept)

    def trend(self, by: Any, *, level: Any = None, every: str = "auto") -> Trend:
        """Counts of groups over time, or by the values of any column, and which of them are surprising.

        Parameters
        ----------
        by : str, or one value an item
            A name of :attr:`columns`, or the values themselves. Times fall into bins of the calendar, numbers into bins
            of about the same size, and every other value is a bin of its own.
        level : int or Level, optional
            A number of clusters, or one of :attr:`levels`; by default the coarsest suggested one.
        every : {"auto", "day", "week", "month", "quarter", "year"}
            The length of a bin of times.

        Returns
        -------
        Trend
            ``counts`` (groups × bins), ``surprise``, ``change`` (who is rising), ``bursts()`` and ``table()``.

        Examples
        --------
        >>> import numpy as np, cladify
        >>> texts = ["red apple", "green apple", "ripe apple", "steam engine", "diesel engine", "old engine"]
        >>> days = np.array(["2026-01-05"] * 3 + ["2026-02-03"] * 3, "M8[D]")
        >>> taxonomy = cladify.Taxonomy.from_texts(texts, columns={"day": days}, min_size=2)
        >>> trend = taxonomy.trend("day", every="month")
        >>> trend.bins, trend.counts.tolist()
        (['2026-01', '2026-02'], [[3, 0], [0, 3]])
        """
        (chosen,) = chosen_levels(self._now, self.levels[0] if level is None else level)
        return trend(self._now, by, chosen, cluster_names(self._now, chosen), every)

    def to_dict(self, *, nested: bool = True, items: bool = False) -> dict[str, Any]:
        """The taxonomy in plain values.

        Parameters
        ----------
        nested : bool
            ``{"name", "node", "size", "children": [...]}`` as d3 takes it; otherwise a flat list of nodes with parents.
        items : bool
            Also the items, as leaves; a flat list with them can be read back by :meth:`from_dict`.
        """
        return nested_dict(self._now, items) if nested else flat_dict(self._now, items)

    def find(self, text: str, *, limit: int = 20) -> list[Match]:
        """Groups whose name or keywords have ``text`` in them, the largest first, then items that do."""
        return find(self._now, text, check_int("limit", limit, low=1))

    def plot(self, kind: str = "map", **options: Any) -> Any:
        """Draw the map of the items with the names of groups, or the tree; see :func:`cladify.plot.draw_taxonomy`."""
        return import_module("cladify.plot").draw_taxonomy(self, kind, **options)

    def explore(self, **options: Any) -> Any:
        """Open the taxonomy in the browser; see ``cladify.explore``."""
        try:
            module = import_module("cladify.explore")
        except ModuleNotFoundError:
            raise InvalidInput("this version of cladify has no explorer; print(taxonomy.summary()) shows it.") from None
        return module.explore(self, **options)

    def widget(self, **options: Any) -> Any:
        """The page of the taxonomy inside a notebook, wherever its kernel runs; see :func:`cladify.explore.widget`."""
        return import_module("cladify.explore").widget(self, **options)

    def _repr_html_(self) -> str:
        """Shown by a notebook: the map and the outline."""
        html: str = import_module("cladify.plot").taxonomy_html(self)
        return html

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        levels = ", ".join(str(level.n_clusters) for level in self.levels)
        return f"Taxonomy(n_items={self.n_items}, n_groups={self.tree.n_nodes - self.n_items}, levels=[{levels}])"
