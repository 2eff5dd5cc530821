"""`Taxonomy`: a tree with its items, names, levels and edits."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np

from cladify._kit.params import check_choice, check_int
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.errors import CladifyWarning, InvalidInput
from cladify.neighbors import NeighborGraph
from cladify.taxonomy._building import as_rows, build, level_sizes, map_of, rank_sizes
from cladify.taxonomy._edits import Edit, Edits
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._file.archive import read_archive, refusing, write_archive
from cladify.taxonomy._file.journal import Stamp, append_edits
from cladify.taxonomy._file.store import Parts, from_archive, header_and_arrays
from cladify.taxonomy._items import as_items, as_texts
from cladify.taxonomy._kept import Kept, keep
from cladify.taxonomy._names.groups import name_groups
from cladify.taxonomy._names.model import ModelNamer, NamingCost, Outcome, as_namer
from cladify.taxonomy._names.namer import Namer, ask
from cladify.taxonomy._names.plain import label_names
from cladify.taxonomy._names.words import as_strings
from cladify.taxonomy._read.also import find_also
from cladify.taxonomy._read.geometry import confidence_table, measure, spread_examples
from cladify.taxonomy._read.nowhere import calibrate
from cladify.taxonomy._read.place import new_rows, place
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.taxonomy._read.table import as_form
from cladify.taxonomy._report.measures import EmbeddedRows
from cladify.taxonomy._report.report import Report, make_report
from cladify.taxonomy._sharing import Shareable
from cladify.taxonomy._steer.plan import Plan, plan
from cladify.taxonomy._steer.split import name_parts, split_rows
from cladify.taxonomy._steer.wishes import as_wishes, seed_rows
from cladify.taxonomy._update.beside import before_file, keep_beside
from cladify.taxonomy._updating import Updatable
from cladify.text._clean import own_words
from cladify.text._embed import embed_texts
from cladify.text._terms import Terms, count_terms
from cladify.tree import Tree

__all__ = ["Taxonomy"]

#: From this share of at least so many texts on, a top group is too large to be of use.
_LARGE, _MANY = 0.4, 100


class _Origin(NamedTuple):
    """The file that holds a taxonomy: its address, its stamp when it was read or written, and the facts in it."""

    path: str
    stamp: Stamp
    facts: Facts


class Taxonomy(Updatable, Shareable):
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
    ├─ apple, red  3
    └─ engine, steam  3
    >>> taxonomy.rename(taxonomy.find("engine")[0].node, "machines")
    >>> sorted(taxonomy.names.values())
    ['all items', 'apple, red', 'machines']
    """

    def __init__(
        self,
        tree: Tree,
        items: Any = None,
        *,
        texts: Any = None,
        ids: Any = None,
        columns: Any = None,
        full: Tree | None = None,
        X: Any = None,
        graph: Any = None,
        metric: str = "cosine",
        ranks: np.ndarray | None = None,
        vectors_at: Mapping[str, Any] | None = None,
        info: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
        progress: ProgressLike | Progress = None,
    ) -> None:
        n = tree.n_leaves
        column = as_items(range(n) if items is None else items, n)
        kept = ids if isinstance(ids, Kept) else keep(n, ids, columns, (items, texts, X))
        full = tree if full is None else full
        named: Terms | list[str] | None = texts if isinstance(texts, Terms) else None
        if named is None and not (texts is None and items is None):
            named = as_texts(column if texts is None else texts, n)
        with reporting(progress) as report:
            dense = isinstance(X, np.ndarray) and n > 1
            angular = str(metric) in ("cosine", "dot")
            has_graph = graph is not None and n > 1
            geometry = measure(tree, X, angular, report) if dense else spread_examples(tree)
            far = calibrate(tree, X, geometry, str(metric)) if dense and has_graph else None
            confidence = confidence_table(tree, graph, n_jobs) if has_graph else None
            also = find_also(tree, graph, n_jobs) if has_graph else None
            points = map_of(X, full, graph, metric, n_jobs, report) if has_graph else None
            names, keywords = name_groups(tree, column, geometry, named, report)
        facts = Facts(
            base=tree,
            items=column,
            has_items=items is not None,
            kept=kept,
            names=names,
            keywords=keywords,
            geometry=geometry,
            confidence=confidence,
            also=also,
            sizes=level_sizes(full) if ranks is None else rank_sizes(tree, ranks, full),
            full_tree=full,
            points=points,
            ranks=ranks,
            far=far,
        )
        information = {"metric": str(metric), **(info or {})}
        self._begin(
            Parts(Snapshot.of(facts, Edits()), information, None if vectors_at is None else dict(vectors_at), None)
        )
        self._X = X

    def _begin(self, parts: Parts, origin: _Origin | None = None) -> None:
        self._lock = RLock()
        self._now, self.info, self.vectors_at, self._embedder = parts
        self._X = None
        self._live = self._previous = None
        self._origin = origin

    def _origin_path(self) -> str | None:
        return None if self._origin is None else self._origin.path

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    # --- making -------------------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        X: Any,
        items: Any = None,
        *,
        texts: Any = None,
        ids: Any = None,
        columns: Any = None,
        method: str = "auto",
        metric: str = "cosine",
        min_size: int | None = None,
        max_children: int = 15,
        levels: Sequence[int] | None = None,
        seeds: Any = None,
        labels: Any = None,
        must_link: Iterable[tuple[Any, Any]] | None = None,
        cannot_link: Iterable[tuple[Any, Any]] | None = None,
        language: str = "auto",
        stop_words: Iterable[str] | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
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
        ids : the same, optional
            A different value for each row, such as the key of a database. By default the index of the frame or Series
            that the items, the texts or ``X`` came in; :meth:`table` has it.
        columns : frame, table or mapping of columns, optional
            More about each row; kept in the file, see :attr:`columns`.
        method, metric, random_state, n_jobs, **params
            How the tree is built; see :func:`cladify.fit`.
        min_size, max_children : int, optional
            The smallest group and the most groups a node is split into; see :meth:`cladify.Tree.condense`.
        levels : growing numbers of groups, optional
            As many groups as there are to be, such as ``[8, 40, 200]``: each within one of the level before, of a
            fifth of the average size to five times it where the tree has such parts. See ``docs/steer.md`` for these.
        seeds : mapping of a name to examples, one value a row, or a Taxonomy, optional
            Named groups at the top, grown around their examples: ids, or items as they are. Or one name a row,
            ``"A/B"`` for B within A, None where it is not known. Or the groups of another taxonomy, for rows with
            its ids.
        labels : one value a row, optional
            Known labels, None elsewhere: they guide the tree, and have no groups of their own.
        must_link, cannot_link : pairs of ids, optional
            Items that no group parts, and items that are in different groups at every level.
        language : str
            Of the texts: "auto", an ISO 639-1 code ("de") or an English name ("German"); for stop words, base forms
            and where words begin.
        stop_words : words, optional
            Words that no name may have, in place of those of the language.
        tokenizer : function from a text to its words, optional
            In place of cladify's own.
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
        sources = (items, texts, X)
        X = as_rows(X)
        n = X.shape[0]
        kept = ids if isinstance(ids, Kept) else keep(n, ids, columns, sources)
        items = None if items is None else as_items(items, n)
        with reporting(progress) as report:
            if not isinstance(texts, Terms) and not (texts is None and items is None):
                spoken: Any = {"language": language, "stop_words": stop_words, "tokenizer": tokenizer}
                texts = count_terms(own_words(as_texts(items if texts is None else texts, n)), **spoken, report=report)
            given = X if isinstance(X, NeighborGraph) else None
            options = {"random_state": random_state, "n_jobs": n_jobs, **params}
            wanted = {"levels": levels, "seeds": seeds, "labels": labels}
            wishes = as_wishes(n, kept, items, **wanted, must_link=must_link, cannot_link=cannot_link)
            least = None if min_size is None else min(min_size, n)
            full, graph = build(X, method, metric, report, options, None if wishes is None else wishes.guide)
            planned = Plan.of(full, min_size=least, max_children=max_children)
            if wishes is not None and wishes.is_shaped and n > 2:
                planned = plan(full, graph, wishes, min_size=least, max_children=max_children)
            full, tree, ranks = planned.full, planned.tree, planned.ranks
            steered = {} if wishes is None else {"steered": True}
            at = {"path": os.fspath(vectors_at)} if isinstance(vectors_at, str | os.PathLike) else vectors_at
            made = cls(
                tree,
                items,
                texts=texts,
                ids=kept,
                full=full,
                ranks=ranks,
                X=None if given is not None else X,
                graph=graph,
                metric=metric,
                vectors_at=at,
                info={"method": full.info.get("method", method), **steered, **planned.info},
                n_jobs=n_jobs,
                progress=report,
            )
        for v, name in planned.names.items():
            made.rename(v, name)
        return made

    @classmethod
    def from_texts(
        cls,
        texts: Any,
        *,
        items: Any = None,
        ids: Any = None,
        columns: Any = None,
        embedder: str | Callable[[list[str]], Any] = "auto",
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
        ids, columns
            As for :meth:`fit`.
        embedder : str or callable
            ``"auto"`` is TF-IDF and truncated SVD beside static word vectors, which needs no download; ``"tfidf"`` is
            the first alone. A named model
            (``"sentence-transformers:NAME"``, ``"model2vec:NAME"``, ``"fastembed:NAME"``, ``"openai:MODEL@URL"``)
            takes the place of the static vectors. A function (``"module:function"`` or a callable) takes a list of
            texts and returns an array of one row a text, which is used as it is. What the vectors are made of is kept
            in ``info["embedder"]``.
        **options
            As for :meth:`fit`.

        Examples
        --------
        >>> import cladify
        >>> taxonomy = cladify.Taxonomy.from_texts(["cat food", "dog food", "car wash", "car park"], min_size=2)
        >>> taxonomy.n_items, taxonomy.items[0]
        (4, 'cat food')
        """
        sources = (texts, items)
        texts = as_texts(texts)
        if not texts:
            raise InvalidInput("there are no texts.")
        kept = keep(len(texts), ids, columns, sources)
        shown = texts if items is None else as_items(items, len(texts))
        with reporting(progress) as report:
            X, fitted, terms, kind = embed_texts(texts, embedder, random_state=random_state, report=report)
            options = {"metric": "cosine", **options}
            if isinstance(options.get("seeds"), Mapping):
                embed = embedder if fitted is None else fitted.transform
                options["seeds"] = seed_rows(options["seeds"], texts, kept.id_list(len(texts)), X, embed)
            # Names rest on the same terms, unless these are to be read otherwise, or texts quote each other.
            others = {"language", "stop_words", "tokenizer"} & set(options) or any("\n" in text for text in texts)
            taxonomy = cls.fit(
                X,
                shown,
                texts=texts if terms is None or others else terms,
                ids=kept,
                random_state=random_state,
                n_jobs=n_jobs,
                progress=report,
                **options,
            )
        taxonomy._embedder = fitted
        taxonomy.info["embedder"] = kind
        empty = sum(not text.strip() for text in texts)
        are_items = items is None or as_texts(shown) == texts
        taxonomy.info["texts"] = {"empty": empty, "different": len(set(texts)), "items": are_items}
        _check_top(taxonomy)
        return taxonomy

    def name(
        self,
        namer: Namer | ModelNamer | str | None = None,
        *,
        texts: Any = None,
        labels: Any = None,
        language: str = "auto",
        stop_words: Iterable[str] | None = None,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        batch_size: int = 20,
        retries: int = 5,
        cache: str | os.PathLike[str] | None = None,
        nodes: Collection[int] | None = None,
        progress: ProgressLike | Progress = None,
    ) -> None:
        """Name the groups again: by ``namer``, from other texts, or by labels.

        Names given by :meth:`rename` stay.

        Parameters
        ----------
        namer : str, ModelNamer or callable, optional
            A language model on a server, ``openai:MODEL@URL`` or ``ollama:MODEL``, with more options as a
            :class:`ModelNamer`, whose text says what is sent. Or a function (``module:function``) that takes a list of
            :class:`ClusterView` and returns a name for each. Without one of them, nothing leaves the machine.
        texts : list, array or column, optional
            What names are made from; by default the items.
        labels : list, array or column, optional
            One a row; a group most of whose items have the same one is called by it, with its share.
        language, stop_words, tokenizer
            As for :meth:`fit`.
        batch_size, retries : int
            Views a call of a function; how often a failing call is tried again.
        cache : path, optional
            A file that keeps every answer, so that a run that stopped goes on where it was, and a second run asks
            nothing twice.
        nodes : groups, optional
            With a namer: the only groups that get another name.
        progress : bool or callable, optional
        """
        with reporting(progress) as report, self._lock:
            facts = self._now.facts
            if namer is None or texts is not None or labels is not None:
                spoken: Any = {"language": language, "stop_words": stop_words, "tokenizer": tokenizer}
                plain = as_texts(facts.items if texts is None else texts, self.n_items)
                found = count_terms(own_words(plain), **spoken, report=report)
                names, keywords = name_groups(facts.base, facts.items, facts.geometry, found, report)
                if labels is not None:
                    names = label_names(facts.base, as_texts(labels, self.n_items, what="labels"), names)
                facts = facts.named(names, keywords)
                self._now = Snapshot(facts, self._now.edits, self._now.edited)
            if namer is not None:
                now, names = self._now, list(facts.names)
                chosen, outcome = as_namer(namer), Outcome()
                options: dict[str, Any] = {"retries": retries, "cache": cache, "report": report, "only": nodes}
                try:
                    if isinstance(chosen, ModelNamer):
                        given = chosen.run(now, outcome=outcome, **options)
                    else:
                        given = ask(now, chosen, batch_size=batch_size, **options)
                    for v, name in given:
                        if not now.is_part(v):  # a part of a split has its own name, and that of the whole is another
                            names[now.base_nodes(v)[0] - now.n_items] = name
                finally:  # names given so far stay, whatever fails later
                    self._now = Snapshot(facts.named(names), now.edits, now.edited)
                if isinstance(chosen, ModelNamer):
                    self.info["namer"] = chosen.model
                outcome.warn()

    def naming_cost(self, namer: ModelNamer | str, *, cache: str | os.PathLike[str] | None = None) -> NamingCost:
        """Calls and tokens that :meth:`name` will take with a model, about; nothing is sent.

        Repetitions of calls that fail are not counted, nor groups whose answers are in the cache.
        """
        chosen = as_namer(namer)
        if not isinstance(chosen, ModelNamer):
            raise InvalidInput("only names by a model on a server have a cost: openai:MODEL@URL or ollama:MODEL.")
        return chosen.cost(self._now, cache)

    def place(self, X_new: Any, *, levels: Any = None, form: str = "auto", embedder: str | None = None) -> Any:
        """Where new items belong: their path from the top down, with the confidence at every level.

        A new item goes where most of its nearest neighbours among the old ones are, one level after the other; a row
        that is there already goes to its own place. Where the vectors are not at hand (a taxonomy from a file, whose
        ``vectors_at`` is not there any more), the nearest centre decides.

        Parameters
        ----------
        X_new : array of shape (m, d), or one text or a list of them for a taxonomy made by :meth:`from_texts`
        levels, form
            As for :meth:`table`.
        embedder : str, optional
            For texts and a taxonomy from a file whose vectors a named model made: its name again. A file alone never
            opens a model, or sends texts to a server.

        Returns
        -------
        pandas.DataFrame or pyarrow.Table
            As :meth:`table`, without ``item`` and ``also_i``; ``path_confidence`` is the confidence in each step of the
            path. ``fit`` is the share of the taxonomy's own items that lie as far from the rest as the new one, or
            farther, and ``nowhere`` whether that is below .01: of new items like the old ones, one in a hundred is
            called so. With fewer than 100 items none is; both are missing where distances are not known.
        """
        check_choice("form", form, ["auto", "pandas", "arrow"])
        rows = new_rows(X_new, self._embedder, embedder)
        now = self._now
        metric = str(self.info.get("metric", "cosine"))
        return as_form(place(now, self._vectors(), rows, levels, metric), form)

    def split(self, v: int, k: int) -> list[int]:
        """Split group ``v`` into ``k`` groups, in place of those that are in it; returns their nodes.

        By a tree of its items' vectors (:class:`cladify.GraphTree`), or by the whole tree where there are none.
        """
        with self._lock:
            now = self._now
            parts = split_rows(now, v, k, self._X, str(self.info.get("metric", "cosine")))
            keys = tuple(tuple(now.edited.keys[rows].tolist()) for rows in parts)
            edit = Edit("split", (now.key(v),), parts=keys, names=tuple(name_parts(now, v, parts)))
            now = self._set(now.edits.add(edit))
            return [now.node(int(key)) for key in now.edited.key_of[-len(parts) :]]

    def report(self, *, labels: Any = None, texts: Any = None, resamples: int = 2) -> Report:
        """How good the taxonomy is, group by group and in all; a large one is measured on a sample.

        Parameters
        ----------
        labels : list, array or column, optional
            One a row, to compare with: purity, ARI and AMI of each level, and a crosstab. Missing, empty and -1 are no
            label. By default the column that :meth:`from_table` was given as ``label``.
        texts : the same, optional
            What the items say, if they are only ids.
        resamples : int
            Trees that are built of random halves of the items, to see which groups are found again; 0 for none.

        Returns
        -------
        Report
            ``overall``, ``groups``, ``look_first``, ``to_json()``, ``save_html(path)``. Measures are, for each group:
            ``cohesion`` (see :meth:`cohesion`), ``neighbors`` (share of its items' nearest neighbours that are in it),
            ``confusion`` (share in siblings), ``stability`` (best Jaccard index with a node of a tree of half the
            items), ``coherence`` (NPMI of its keywords), ``name_items`` (share of its items that are nearer to its
            name than to a sibling's, by static word vectors), ``duplicates`` (share of items that repeat another).

        Examples
        --------
        >>> import cladify
        >>> texts = ["red apple", "green apple", "ripe red apple", "steam engine", "diesel engine", "old steam engine"]
        >>> report = cladify.Taxonomy.from_texts(texts, min_size=2).report(labels=["fruit"] * 3 + ["machine"] * 3)
        >>> report.agreement.levels[0].purity
        1.0
        """
        now = self._now
        resamples = check_int("resamples", resamples, low=0)
        if labels is None and self.info.get("label") in self.columns.column_names:
            labels = self.columns.column(self.info["label"])
        given = None if labels is None else as_items(labels, now.n_items, what="labels").to_pylist()
        plain = None if texts is None else as_texts(texts, now.n_items)
        at_hand = self._vectors()
        X: np.ndarray | EmbeddedRows | None = at_hand if isinstance(at_hand, np.ndarray) else None
        if X is None and (plain is not None or self.info.get("texts", {}).get("items")):
            X = EmbeddedRows.of(as_strings(now.facts.items) if plain is None else as_strings(plain), self._embedder)
        metric = str(self.info.get("metric", "cosine"))
        return make_report(now, X, metric, texts=plain, labels=given, resamples=resamples)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the vectors to one file; an existing one stays until the new one is complete.

        If this taxonomy was read from or saved to ``path`` before, and another has changed the file since, that is
        :class:`cladify.errors.Stale` and nothing is written.
        """
        with self._lock:
            origin, now = self._origin, self._now
            target = os.path.realpath(path)
            was_updated = self._live is None and self._X is not None and now.facts.past.rows is not None
            if was_updated and not os.path.isdir(f"{target}.live"):  # an update was undone before the first save
                self._live_tree(None)
            expected = origin.stamp if origin is not None and origin.path == target else None
            parts = Parts(now, self.info, self.vectors_at, self._embedder)
            # The file of before the update is kept to undo it: its name costs nothing.
            before = _second_name(target) if self._previous is not None and expected is not None else None
            stamp = write_archive(path, *header_and_arrays(parts), now.edits, expected)
            self._origin = _Origin(target, stamp, now.facts)
            if self._live is not None:
                keep_beside(target, self._live[0], now.facts.past.series, before)
                self._previous = None

    def _read_previous(self) -> Snapshot | None:
        path = self._origin_path()
        found = None if path is None else before_file(path)
        before = None if found is None else Taxonomy.load(found)._now
        is_last = before is not None and before.facts.past.history == self.history[:-1] and len(self.history) > 0
        return before if is_last else None

    def save_edits(self, path: str | os.PathLike[str]) -> None:
        """Write the edits to the file that this taxonomy was loaded from or saved to, in milliseconds at any size.

        A crash at any time leaves a readable file. If another has changed the file since, or put something else in its
        place, that is :class:`cladify.errors.Stale` and nothing is written. Any other ``path`` is written by
        :meth:`save`.
        """
        with self._lock:
            origin, now = self._origin, self._now
            if origin is None or origin.path != os.path.realpath(path) or origin.facts is not now.facts:
                return self.save(path)
            stamp = append_edits(path, origin.stamp, now.edits)
            if stamp is None:
                return self.save(path)
            self._origin = origin._replace(stamp=stamp)

    @contextmanager
    def editing(self, path: str | os.PathLike[str] | None) -> Iterator[Self]:
        """Edits that are saved in ``path`` at the end of the block, or not done at all.

        Where one cannot be done or saved, the taxonomy is as it was before the block. Other threads wait meanwhile.

        >>> import cladify
        >>> taxonomy = cladify.Taxonomy.from_texts(["red apple", "green apple", "old engine", "new engine"], min_size=2)
        >>> with taxonomy.editing(None):
        ...     taxonomy.rename(taxonomy.levels[0].nodes[0], "fruit")
        """
        with self._lock:
            before = self._now
            try:
                yield self
                if path is not None:
                    self.save_edits(path)
            except BaseException:
                self._now = before
                raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The taxonomy in a file that :meth:`save` wrote; anything else is a one-line error."""
        with refusing(path):
            archive = read_archive(path)
            parts = from_archive(archive)
        made = cls.__new__(cls)
        made._begin(parts, _Origin(os.path.realpath(path), archive.stamp, parts.now.facts))
        return made


def _second_name(path: str) -> str | None:
    """Another name for a file that is about to be replaced; None where the disk has no such names."""
    name = f"{path}.before"
    with suppress(OSError):
        with suppress(FileNotFoundError):
            os.unlink(name)
        os.link(path, name)
        return name
    return None


def _check_top(taxonomy: Taxonomy) -> None:
    """Warn where one of the top groups holds a great part of all texts."""
    tree, n = taxonomy.tree, taxonomy.n_items
    top = [int(v) for v in tree.children(tree.root) if v >= n]
    largest = max(top, key=lambda v: tree.size[v], default=tree.root)
    if n >= _MANY and largest != tree.root and tree.size[largest] > _LARGE * n:
        warnings.warn(
            f"{100 * tree.size[largest] / n:.0f} % of the texts are in one group at the top. Look into it at a finer "
            "level, or try a model: embedder='sentence-transformers:NAME', or one of your own.",
            CladifyWarning,
            stacklevel=3,
        )
