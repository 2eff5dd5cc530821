"""`Taxonomy`: what a person opens. A tree with its items, names, levels and edits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ramify.errors import FileError, InvalidInput, InvalidType, RamifyError
from ramify.progress import Progress, ProgressLike, reporting
from ramify.taxonomy.also import Also, Beside, after_edits, find_beside, group_also, item_also
from ramify.taxonomy.edits import Edit, Edited, Edits, apply_edits
from ramify.taxonomy.file import not_a_taxonomy, read_archive, release, write_archive
from ramify.taxonomy.geometry import firmness, measure, n_neighbors_for, spread_examples
from ramify.taxonomy.items import as_items, as_texts
from ramify.taxonomy.levels import Level, suggest_levels
from ramify.taxonomy.names import Keyword, choose_names, node_keywords
from ramify.taxonomy.store import from_parts, parts_of
from ramify.taxonomy.terms import Terms, count_terms
from ramify.taxonomy.wording import printable
from ramify.taxonomy.words import WordIndex, index_words
from ramify.tree import Tree
from ramify.validate import check_choice, check_int

if TYPE_CHECKING:
    import pyarrow as pa

    from ramify.taxonomy.embed import TextEmbedder
    from ramify.taxonomy.namer import Namer

__all__ = ["Also", "Examples", "Match", "Taxonomy"]


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


class Taxonomy:
    """A tree for reading with items, names, suggested levels and edits; one file holds all of it.

    Made by :meth:`fit` from vectors or :meth:`from_texts` from texts. Nodes are those of :attr:`tree`: leaf i is item
    i, inner nodes are the groups.

    Attributes
    ----------
    tree : Tree
        The condensed tree with all edits done: 2 to 15 groups a node, outliers with their siblings.
    edits : Edits
        What was changed by hand; see :meth:`rename`, :meth:`merge`, :meth:`move`, :meth:`collapse`, :meth:`hide`,
        :meth:`undo` and :meth:`redo`.
    vectors_at : dict or None
        Where the vectors are: ``path`` and ``column``.

    Examples
    --------
    >>> import ramify
    >>> texts = ["red apple", "green apple", "ripe red apple", "steam engine", "diesel engine", "old steam engine"]
    >>> taxonomy = ramify.Taxonomy.from_texts(texts, min_size=2)
    >>> print(taxonomy.summary(n_examples=0))
    6 items
    ├─ apple  3
    └─ engine  3
    >>> taxonomy.rename(taxonomy.find("engine")[0].node, "machines")
    >>> sorted(taxonomy.names.values())
    ['all items', 'apple', 'machines']
    """

    def __init__(
        self,
        tree: Tree,
        items: Any = None,
        *,
        texts: Any = None,
        full: Tree | None = None,
        X: Any = None,
        graph: Any = None,
        metric: str = "cosine",
        vectors_at: Mapping[str, Any] | None = None,
        info: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
        progress: ProgressLike | Progress = None,
    ) -> None:
        n = tree.n_leaves
        self._base = tree
        self._full: Tree | None = tree if full is None else full
        self._full_arrays: tuple[Any, Any] = (None, None)  # of a file, until it is asked for
        self._items: pa.Array = as_items(range(n) if items is None else items, n)
        self._has_items = items is not None
        self.edits = Edits()
        self.vectors_at: dict[str, Any] | None = None if vectors_at is None else dict(vectors_at)
        self.info: dict[str, Any] = {"metric": str(metric), **(info or {})}
        self._X = X
        self._embedder: TextEmbedder | None = None
        self._sizes = _level_sizes(self.full)
        named: Terms | list[str] | None = texts if isinstance(texts, Terms) else None
        if named is None and not (texts is None and items is None):
            named = as_texts(self._items if texts is None else texts, n)
        with reporting(progress) as report:
            dense = isinstance(X, np.ndarray) and n > 1
            angular = str(metric) in ("cosine", "dot")
            self._geometry = measure(tree, X, angular, report) if dense else spread_examples(tree)
            self._firm = None if graph is None or n == 1 else firmness(tree, graph, n_jobs)
            self._beside = None if graph is None or n == 1 else find_beside(tree, graph, n_jobs)
            self._name(named, report)

    # --- making -------------------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        X: Any,
        items: Any = None,
        *,
        texts: Any = None,
        method: str = "auto",
        metric: str = "cosine",
        min_size: int | None = None,
        max_children: int = 15,
        vectors_at: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = -1,
        progress: ProgressLike | Progress = None,
        **params: Any,
    ) -> Self:
        """The taxonomy of the rows of ``X``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or NeighborGraph
        items : list, array, Series or frame of one column, optional
            What each row is; matched by position, never by index.
        texts : the same, optional
            What names are made from, if not the items.
        method, metric, random_state, n_jobs, **params
            How the tree is built; see :func:`ramify.fit`.
        min_size, max_children : int, optional
            The smallest group and the most groups a node is split into; see :meth:`ramify.Tree.condense`.
        vectors_at : path, or mapping with path and column, optional
            Where the vectors are kept; remembered in the file.
        progress : bool or callable ``(stage, done, total)``, optional

        Examples
        --------
        >>> import numpy as np, ramify
        >>> X = np.array([[0, 1], [0.1, 1], [0, 1.1], [1, 0], [1, 0.1], [1.1, 0]])
        >>> taxonomy = ramify.Taxonomy.fit(X, ["oak", "elm", "ash", "car", "bus", "van"], min_size=2)
        >>> [taxonomy.examples(v).central for v in taxonomy.levels[0].nodes]
        [['oak', 'ash', 'elm'], ['car', 'van', 'bus']]
        """
        from ramify.neighbors import NeighborGraph

        X = _as_rows(X)
        n = X.shape[0]
        items = None if items is None else as_items(items, n)
        texts = texts if texts is None or isinstance(texts, Terms) else as_texts(texts, n)
        with reporting(progress) as report:
            given = X if isinstance(X, NeighborGraph) else None
            options = {"random_state": random_state, "n_jobs": n_jobs, **params}
            full, graph = _build(X, method, metric, report, options)
            tree = full.condense(min_size=None if min_size is None else min(min_size, n), max_children=max_children)
            at = {"path": os.fspath(vectors_at)} if isinstance(vectors_at, str | os.PathLike) else vectors_at
            return cls(
                tree,
                items,
                texts=texts,
                full=full,
                X=None if given is not None else X,
                graph=graph,
                metric=metric,
                vectors_at=at,
                info={"method": full.info.get("method", method)},
                n_jobs=n_jobs,
                progress=report,
            )

    @classmethod
    def from_texts(
        cls,
        texts: Any,
        *,
        items: Any = None,
        embedder: str | Callable[[list[str]], Any] = "tfidf",
        random_state: Any = 0,
        n_jobs: int | None = -1,
        progress: ProgressLike | Progress = None,
        **options: Any,
    ) -> Self:
        """The taxonomy of texts: embedded, built, and named.

        Parameters
        ----------
        texts : list, array, Series or frame of one column
            One text a row; a missing one is empty.
        items : the same, optional
            What each row is shown as, if not its text (a title, an id).
        embedder : "tfidf", "sentence-transformers:NAME", "module:function" or callable
            ``"tfidf"`` is TF-IDF and truncated SVD, which needs no download; a callable takes a list of texts and
            returns an array of one row a text.
        **options
            As for :meth:`fit`.

        Examples
        --------
        >>> import ramify
        >>> taxonomy = ramify.Taxonomy.from_texts(["cat food", "dog food", "car wash", "car park"], min_size=2)
        >>> taxonomy.n_items, taxonomy.items[0]
        (4, 'cat food')
        """
        from ramify.taxonomy.embed import embed_texts

        texts = as_texts(texts)
        if not texts:
            raise InvalidInput("there are no texts.")
        shown = texts if items is None else as_items(items, len(texts))
        with reporting(progress) as report:
            X, fitted, terms = embed_texts(texts, embedder, random_state=random_state, report=report)
            options = {"metric": "cosine", **options}
            taxonomy = cls.fit(
                X,
                shown,
                texts=texts if terms is None else terms,
                random_state=random_state,
                n_jobs=n_jobs,
                progress=report,
                **options,
            )
        taxonomy._embedder = fitted
        taxonomy.info["embedder"] = embedder if isinstance(embedder, str) else repr(embedder)
        return taxonomy

    def _name(self, texts: list[str] | Terms | None, report: Progress) -> None:
        """Keywords and names of the groups of the tree as built."""
        tree = self._base
        n = tree.n_leaves
        self._keywords: list[list[Keyword]] = [[] for _ in range(tree.n_nodes - n)]
        if texts is None:
            self._names = _numbered(tree)
            return
        terms = texts if isinstance(texts, Terms) else count_terms(texts, report=report)
        if len(terms) and n > 1:
            self._keywords = node_keywords(tree, terms, report)
        central = [self._item_texts(rows) for rows in self._geometry.central]
        self._names = choose_names(tree, self._keywords, central)

    def _item_texts(self, rows: np.ndarray) -> list[str]:
        """Different items of some rows, as text to show; -1 is no row."""
        texts = (printable(self._items[int(i)].as_py()) for i in rows if i >= 0)
        return [text for text in dict.fromkeys(texts) if text]

    # --- reading ------------------------------------------------------------------------------------------------------

    @cached_property
    def _edited(self) -> Edited:
        return apply_edits(self._base, self.edits)

    @property
    def tree(self) -> Tree:
        """The tree for reading, with all edits done."""
        return self._edited.tree

    @property
    def full(self) -> Tree:
        """The binary tree that the tree for reading was condensed from; from a file it is read when asked for."""
        if self._full is None:
            self._full = Tree(*self._full_arrays)
        return self._full

    @property
    def keys(self) -> np.ndarray:
        """Key of each node, which stays the same whatever is edited; see :mod:`ramify.taxonomy.edits`."""
        return self._edited.keys

    def node(self, key: int) -> int:
        """The node with a key."""
        found = np.flatnonzero(self._edited.keys == key)
        if not len(found):
            raise InvalidInput(f"there is no node with key {key} any more.")
        return int(found[0])

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
    def n_items(self) -> int:
        """How many items there are."""
        return self._base.n_leaves

    @property
    def hidden(self) -> frozenset[int]:
        """Nodes that were hidden by hand."""
        keys = self._edited.hidden
        return frozenset(self.node(key) for key in keys) if keys else frozenset()

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
        """How firmly each item sits in ``nodes[i]``, a group above it; see :func:`ramify.graph.confidence`.

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
        weight (:func:`ramify.overlap.soft_membership`); the lowest such groups are given, with the share of the
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
        >>> import numpy as np, ramify
        >>> angle = np.radians([0, 2, 4, 6, 41, 78, 80, 82, 84, 86])
        >>> items = ["oak", "elm", "ash", "yew", "tree house", "hut", "shed", "barn", "shack", "cabin"]
        >>> X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        >>> taxonomy = ramify.Taxonomy.fit(X, items, min_size=4, n_neighbors=4)
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
        from ramify.taxonomy.outline import outline

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
        from ramify.taxonomy.table import as_form, table

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
        from ramify.taxonomy.table import flat_dict, nested_dict

        return nested_dict(self, items) if nested else flat_dict(self, items)

    def find(self, text: str, *, limit: int = 20) -> list[Match]:
        """Groups whose name or keywords have ``text`` in them, the largest first, then items that do."""
        from ramify.taxonomy.table import find

        return find(self, text, check_int("limit", limit, low=1))

    def place(self, X_new: Any, *, levels: Any = None, form: str = "auto") -> Any:
        """Where new items belong: their path from the top down, with the confidence at every level.

        A new item goes where most of its nearest neighbours among the old ones are, one level after the other; a row
        that is there already goes to its own place. Where the vectors are not at hand (a taxonomy from a file, whose
        ``vectors_at`` is not there any more), the nearest centre decides.

        Parameters
        ----------
        X_new : array of shape (m, d), or list of texts for a taxonomy made by :meth:`from_texts`
        levels, form
            As for :meth:`table`.

        Returns
        -------
        pandas.DataFrame or pyarrow.Table
            As :meth:`table`, without ``item`` and ``also_i``; ``path_confidence`` is the confidence in each step of the
            path.
        """
        from ramify.taxonomy.place import place
        from ramify.taxonomy.table import as_form

        check_choice("form", form, ["auto", "pandas", "arrow"])
        return as_form(place(self, X_new, levels), form)

    def explore(self, **options: Any) -> Any:
        """Open the taxonomy in the browser; see ``ramify.explore``."""
        from importlib import import_module

        try:
            module = import_module("ramify.explore")
        except ModuleNotFoundError:
            raise InvalidInput("this version of ramify has no explorer; print(taxonomy.summary()) shows it.") from None
        return module.explore(self, **options)

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

    def name(
        self,
        namer: Namer | None = None,
        *,
        texts: Any = None,
        batch_size: int = 20,
        retries: int = 3,
        cache: str | os.PathLike[str] | None = None,
        progress: ProgressLike = None,
    ) -> None:
        """Name the groups again: by ``namer``, or from other texts.

        Names given by :meth:`rename` stay.

        Parameters
        ----------
        namer : callable, optional
            Takes a list of :class:`ClusterView` and returns a name for each, such as a call to a language model.
            Nothing leaves the machine but what it sends.
        texts : list, array or column, optional
            What names are made from; by default the items.
        batch_size, retries : int
            Views a call; how often a failing call is tried again.
        cache : path, optional
            A file that keeps every answer, so that a run that stopped goes on where it was, and a second run asks
            nothing twice.
        progress : bool or callable, optional
        """
        from ramify.taxonomy.namer import ask

        with reporting(progress) as report:
            if namer is None or texts is not None:
                self._name(as_texts(self._items if texts is None else texts, self.n_items), report)
            if namer is not None:
                ask(self, namer, batch_size=batch_size, retries=retries, cache=cache, report=report)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the vectors to one file; an existing one stays until the new one is complete."""
        write_archive(path, *parts_of(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The taxonomy in a file that :meth:`save` wrote; anything else is a one-line error."""
        meta, items, arrays = read_archive(path)
        try:
            return from_parts(cls, meta, items, arrays)
        except (RamifyError, KeyError, TypeError, ValueError, IndexError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error).splitlines()[0][:200]
            raise FileError(not_a_taxonomy(path, reason)) from None

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        levels = ", ".join(str(level.n_clusters) for level in self.levels)
        return f"Taxonomy(n_items={self.n_items}, n_groups={self.tree.n_nodes - self.n_items}, levels=[{levels}])"


def _build(X: Any, method: str, metric: str, report: Progress, options: dict[str, Any]) -> tuple[Tree, Any]:
    """The tree, and the graph of neighbours that says how firmly items sit in it."""
    import ramify
    from ramify.neighbors import NeighborGraph, neighbors

    is_graph = isinstance(X, NeighborGraph)
    if method in ("auto", "graph"):
        model = ramify.GraphTree(metric=metric, **options).fit(X, progress=report)
        return model.tree_, model.graph_
    on_rows = {} if is_graph else {"metric": metric}
    full = ramify.fit(X, method, progress=report, **on_rows, **options)
    if is_graph or X.shape[0] == 1:
        return full, X if is_graph else None
    k = n_neighbors_for(X.shape[0])
    seed, n_jobs = options["random_state"], options["n_jobs"]
    return full, neighbors(X, k, metric, random_state=seed, n_jobs=n_jobs, progress=report)


def _as_rows(X: Any) -> Any:
    """Rows as methods take them; a frame becomes its values."""
    from ramify.neighbors import NeighborGraph
    from ramify.validate import is_sparse

    if isinstance(X, NeighborGraph) or is_sparse(X):
        return X
    if isinstance(X, Sequence) and X and isinstance(X[0], str):
        raise InvalidType("X holds texts, not vectors; use Taxonomy.from_texts(texts).")
    X = np.asarray(X)
    if X.ndim != 2:
        raise InvalidInput(f"X must have two dimensions, one row an item, got shape {X.shape}.")
    return X


def _level_sizes(full: Tree) -> list[tuple[int, float | None]]:
    """Suggested numbers of clusters, with their stability."""
    return [(int(level.n_clusters), float(level.stability)) for level in full.levels()]


def _numbered(tree: Tree) -> list[str]:
    """Names where nothing is known about the items: numbers that follow the tree."""
    n = tree.n_leaves
    names = [""] * (tree.n_nodes - n)
    names[-1:] = ["all items"] if names else []
    for p in range(tree.root, n - 1, -1):
        inner = sorted((int(c) for c in tree.children(p) if c >= n), key=lambda child: (-int(tree.size[child]), child))
        for i, child in enumerate(inner, 1):
            names[child - n] = f"group {i}" if p == tree.root else f"{names[p - n]}.{i}"
    return names
