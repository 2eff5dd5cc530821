"""`Taxonomy`: what a person opens. A tree with its items, names, levels and edits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cladify._kit.params import check_choice
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify._kit.text import printable
from cladify.errors import CladifyError, FileError, InvalidInput
from cladify.taxonomy._also import Also, find_beside
from cladify.taxonomy._append import Stamp, append_edits
from cladify.taxonomy._building import as_rows, build, level_sizes
from cladify.taxonomy._edits import Edits
from cladify.taxonomy._file import not_a_taxonomy, read_archive, write_archive
from cladify.taxonomy._geometry import firmness, measure, spread_examples
from cladify.taxonomy._items import as_items, as_texts
from cladify.taxonomy._names import choose_names, node_keywords, numbered_names
from cladify.taxonomy._reading import Examples, Match, Readable
from cladify.taxonomy._store import edit_lists, from_parts, parts_of
from cladify.taxonomy._terms import Terms, count_terms
from cladify.tree import Tree

if TYPE_CHECKING:
    from cladify.taxonomy._embed import TextEmbedder
    from cladify.taxonomy._namer import Namer

__all__ = ["Also", "Examples", "Match", "Taxonomy"]


class Taxonomy(Readable):
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
    >>> import cladify
    >>> texts = ["red apple", "green apple", "ripe red apple", "steam engine", "diesel engine", "old steam engine"]
    >>> taxonomy = cladify.Taxonomy.from_texts(texts, min_size=2)
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
        self._full = tree if full is None else full
        self._full_arrays = (None, None)
        self._items = as_items(range(n) if items is None else items, n)
        self._has_items = items is not None
        self.edits = Edits()
        self.vectors_at: dict[str, Any] | None = None if vectors_at is None else dict(vectors_at)
        self.info: dict[str, Any] = {"metric": str(metric), **(info or {})}
        self._X = X
        self._embedder: TextEmbedder | None = None
        self._stamp: Stamp | None = None  # of the file that holds all but the edits
        self._sizes = level_sizes(self.full)
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
            How the tree is built; see :func:`cladify.fit`.
        min_size, max_children : int, optional
            The smallest group and the most groups a node is split into; see :meth:`cladify.Tree.condense`.
        vectors_at : path, or mapping with path and column, optional
            Where the vectors are kept; remembered in the file.
        progress : bool or callable ``(stage, done, total)``, optional

        Examples
        --------
        >>> import numpy as np, cladify
        >>> X = np.array([[0, 1], [0.1, 1], [0, 1.1], [1, 0], [1, 0.1], [1.1, 0]])
        >>> taxonomy = cladify.Taxonomy.fit(X, ["oak", "elm", "ash", "car", "bus", "van"], min_size=2)
        >>> [taxonomy.examples(v).central for v in taxonomy.levels[0].nodes]
        [['oak', 'ash', 'elm'], ['car', 'van', 'bus']]
        """
        from cladify.neighbors import NeighborGraph

        X = as_rows(X)
        n = X.shape[0]
        items = None if items is None else as_items(items, n)
        texts = texts if texts is None or isinstance(texts, Terms) else as_texts(texts, n)
        with reporting(progress) as report:
            given = X if isinstance(X, NeighborGraph) else None
            options = {"random_state": random_state, "n_jobs": n_jobs, **params}
            full, graph = build(X, method, metric, report, options)
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
        >>> import cladify
        >>> taxonomy = cladify.Taxonomy.from_texts(["cat food", "dog food", "car wash", "car park"], min_size=2)
        >>> taxonomy.n_items, taxonomy.items[0]
        (4, 'cat food')
        """
        from cladify.taxonomy._embed import embed_texts

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
        self._stamp = None
        self._keywords = [[] for _ in range(tree.n_nodes - n)]
        if texts is None:
            self._names = numbered_names(tree)
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
        from cladify.taxonomy._namer import ask

        with reporting(progress) as report:
            if namer is None or texts is not None:
                self._name(as_texts(self._items if texts is None else texts, self.n_items), report)
            if namer is not None:
                self._stamp = None
                ask(self, namer, batch_size=batch_size, retries=retries, cache=cache, report=report)

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
        from cladify.taxonomy._place import place
        from cladify.taxonomy._table import as_form

        check_choice("form", form, ["auto", "pandas", "arrow"])
        return as_form(place(self, X_new, levels), form)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the vectors to one file; an existing one stays until the new one is complete."""
        self._stamp = write_archive(path, *parts_of(self))

    def save_edits(self, path: str | os.PathLike[str]) -> None:
        """Write the edits to the file that this taxonomy was loaded from or saved to, in milliseconds at any size.

        A crash at any time leaves a readable file. Where ``path`` holds something else, it is written by :meth:`save`.
        """
        if not append_edits(path, self._stamp, edit_lists(self)):
            self.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The taxonomy in a file that :meth:`save` wrote; anything else is a one-line error."""
        meta, items, arrays, stamp = read_archive(path)
        try:
            made = from_parts(cls, meta, items, arrays)
            made._stamp = stamp
            return made
        except (CladifyError, KeyError, TypeError, ValueError, IndexError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error).splitlines()[0][:200]
            raise FileError(not_a_taxonomy(path, reason)) from None
