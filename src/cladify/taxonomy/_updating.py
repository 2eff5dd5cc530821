"""A taxonomy that is kept up to date while items arrive and leave."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cladify._kit.params import check_float
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.errors import InvalidInput
from cladify.online import LiveTree
from cladify.taxonomy._edits import Edits, apply_edits
from cladify.taxonomy._facts import Facts
from cladify.taxonomy._items import as_items, as_texts
from cladify.taxonomy._kept import keep
from cladify.taxonomy._names.model import ModelNamer
from cladify.taxonomy._names.namer import Namer
from cladify.taxonomy._read.place import is_text, new_rows, read_vectors_at
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.taxonomy._reading import Readable
from cladify.taxonomy._update.beside import fresh_tree, live_metric, open_beside, synced
from cladify.taxonomy._update.past import Change, Changes, Event, LostEdit, changes_since, now
from cladify.taxonomy._update.renew import LiveState, events_of, renew, replayed
from cladify.taxonomy._update.rows import Rows, find_ids, like_ids, numbered, with_rows, without_rows
from cladify.taxonomy._update.texts import own_texts
from cladify.taxonomy._update.words import carry_words
from cladify.text._embed import TextEmbedder

__all__ = ["Updatable", "Update"]

#: The rank of the neighbour whose distance says whether an item fits; the share of ordinary items that do not by
#: chance; and old items that this is found from.
_RANK, _CHANCE, _SAMPLE = 3, 0.01, 5000

#: Once so large a share of the items has come or gone, an update searches the whole tree again: about when their number
#: has doubled, so that all these searches together take no longer than the last one takes twice.
_MUCH = 0.5
#: A group that was born is a topic that was not there before if more than this share of its items are new.
_MOSTLY = 2 / 3
_NO_LIMIT = 1e9  # seconds


@dataclass(frozen=True)
class Update:
    """What an update did.

    Attributes
    ----------
    added, replaced, removed : lists of ids
    born, gone, split, merged : lists of Event
        Groups.
    named : list of int
        Groups (nodes) that have new automatic names.
    lost : list of LostEdit
        Edits that could not be carried over; also in ``taxonomy.lost_edits``.
    fits_nowhere : list of ids
        New items that are farther from all old ones than 99 of 100 old ones are from each other.
    expected : float
        How many of them there would be by chance.
    fresh : dict from the key of a group that was born to int
        How many of its items are new.
    searched : bool
        Whether the whole tree was searched again.
    """

    added: list[Any] = field(default_factory=list)
    replaced: list[Any] = field(default_factory=list)
    removed: list[Any] = field(default_factory=list)
    born: list[Event] = field(default_factory=list)
    gone: list[Event] = field(default_factory=list)
    split: list[Event] = field(default_factory=list)
    merged: list[Event] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    lost: list[LostEdit] = field(default_factory=list)
    fits_nowhere: list[Any] = field(default_factory=list)
    expected: float = 0.0
    fresh: dict[int, int] = field(default_factory=dict)
    searched: bool = False

    @property
    def has_new_topic(self) -> bool:
        """Whether more items fit nowhere than chance explains."""
        return len(self.fits_nowhere) > self.expected + 3 * max(self.expected, 1.0) ** 0.5

    def __str__(self) -> str:
        counts = {"added": self.added, "replaced": self.replaced, "removed": self.removed}
        items = [f"{len(found)} {what}" for what, found in counts.items() if found]
        groups = {"born": self.born, "split": self.split, "merged": self.merged, "gone": self.gone}
        found = [f"{len(events)} {what}" for what, events in groups.items() if events]
        lines = [f"items: {', '.join(items) or 'none changed'}", f"groups: {', '.join(found) or 'all as before'}"]
        if self.searched:
            lines.append("much has changed by now: the whole tree was searched again")
        for event in sorted(self.born, key=lambda event: -self.fresh.get(event.key, 0))[:10]:
            new = self.fresh.get(event.key, 0)
            topic = ": new topic?" if new > _MOSTLY * event.after else ""
            lines.append(f"born: {event.name}  {event.after}, {new} of them new{topic}")
        if len(self.born) > 10:
            lines.append(f"born: {len(self.born) - 10} more")
        if self.has_new_topic:
            lines.append(
                f"{len(self.fits_nowhere)} of {len(self.added) + len(self.replaced)} new items fit nowhere "
                f"({self.expected:.0f} by chance): new topic?"
            )
        lines += [f"edit lost: {lost.edit.kind} {lost.name}: {lost.why}" for lost in self.lost]
        return "\n".join(lines)


class Updatable(Readable):
    """A taxonomy whose items change."""

    _X: Any
    _embedder: TextEmbedder | None
    _live: tuple[LiveTree, LiveState] | None
    _previous: Snapshot | None
    info: dict[str, Any]
    vectors_at: dict[str, Any] | None
    name: Callable[..., None]

    def _origin_path(self) -> str | None:
        raise NotImplementedError

    # --- what is new --------------------------------------------------------------------------------------------------

    def update(
        self,
        new: Any,
        *,
        ids: Any = None,
        items: Any = None,
        columns: Any = None,
        remove: Any = None,
        vectors: Any = None,
        embedder: str | None = None,
        namer: Namer | ModelNamer | str | None = None,
        cache: str | os.PathLike[str] | None = None,
        progress: ProgressLike | Progress = None,
    ) -> Update:
        """Take new items; groups that stay keep their keys, names and edits.

        Each item goes where it belongs, and the tree is improved around it (:class:`cladify.LiveTree`). Groups are
        matched to their successors by the items that they share, edits are done again, and only groups that were born
        or have become others are named. Nothing old moves on the map.

        Parameters
        ----------
        new : list of texts for a taxonomy made by :meth:`from_texts`, or array of shape (m, d)
        ids : list, array or column, optional
            Of the new items; one that is there already replaces that item. Needed where the taxonomy has ids.
        items : list, array or column, optional
            What each row is shown as; by default its text.
        columns : frame, table or mapping, optional
            More about each row. Columns that are missing are null; new ones are kept.
        remove : ids, optional
            Items that leave at the same time.
        vectors : array of shape (n, d), optional
            Of the items that are there, in their order, where they are not at hand any more; needed once.
        embedder : str, optional
            As for :meth:`place`.
        namer, cache
            As for :meth:`name`; asked only about groups that need a name.
        progress : bool or callable, optional

        Returns
        -------
        Update

        Examples
        --------
        >>> import cladify
        >>> texts = ["red apple", "green apple", "ripe red apple", "steam engine", "diesel engine", "old steam engine"]
        >>> taxonomy = cladify.Taxonomy.from_texts(texts, min_size=2)
        >>> result = taxonomy.update(["sour green apple"])
        >>> result.added, taxonomy.n_items
        ([6], 7)
        """
        shown = as_texts(new) if items is None and is_text(new) else items
        with reporting(progress) as report, self._lock:
            rows = new_rows(new, self._embedder, embedder)
            m = len(rows)
            live, state = self._live_tree(vectors)
            facts = self._now.facts
            assert facts.past.rows is not None
            kept = numbered(facts, facts.past.rows)
            more = keep(m, ids, columns, (new, items))
            first = facts.past.next_row
            if not more.ids:
                if facts.kept.ids and not self._counts_ids(kept):
                    raise InvalidInput(
                        f"this taxonomy knows its items by {self._id_text()}; give ids= for the new ones."
                    )
                more = replace(more, ids=(as_items(range(first, first + m)),), id_names=(None,))
            at = find_ids(kept, like_ids(kept, more.ids))
            leaving = self._rows_of(kept, remove) if remove is not None else np.empty(0, np.int64)
            if np.isin(at[at >= 0], leaving).any():
                raise InvalidInput("an id is both to be removed and among the new ones.")
            told = as_items([None] * m if shown is None else shown, m)
            if not facts.has_items and shown is None:
                told = as_items(range(first, first + m))
            found = with_rows(facts, kept, told, more, at)
            old_rows = facts.past.rows
            numbers = np.concatenate([old_rows, first + np.arange(int((at < 0).sum()))])
            fresh = np.where(at >= 0, old_rows[np.maximum(at, 0)], 0)
            fresh[at < 0] = numbers[len(old_rows) :]
            gone_rows = np.concatenate([old_rows[leaving], old_rows[at[at >= 0]]])
            gone = gone_rows, live.rows(gone_rows) if len(gone_rows) else np.empty((0, rows.shape[1]), np.float32)
            near = _usual(live, old_rows)
            try:
                if (at >= 0).any():
                    live.update(old_rows[at[at >= 0]], rows[at >= 0])
                if (at < 0).any():
                    live.partial_fit(rows[at < 0], ids=fresh[at < 0])
                if len(leaving):
                    live.remove(old_rows[leaving])
                ids_new = _as_ids(more.ids)
                ids_removed = [kept.id_list(len(old_rows))[i] for i in leaving.tolist()] if len(leaving) else []
                if len(leaving):
                    stays = np.setdiff1d(np.arange(len(numbers)), leaving)
                    found = Rows(
                        found.items.take(stays),
                        replace(
                            found.kept,
                            ids=tuple(level.take(stays) for level in found.kept.ids),
                            columns=found.kept.columns.take(stays),
                        ),
                        found.came[stays],
                    )
                    numbers = numbers[stays]
                nowhere = [ids_new[i] for i in _strangers(live, fresh, near)]
                searched = self._search_again(live)
                past = replace(
                    facts.past,
                    rows=numbers,
                    next_row=first + int((at < 0).sum()),
                    new=(fresh, np.ascontiguousarray(rows, np.float32)),
                    gone=gone,
                )
                result = Update(
                    added=[ids_new[i] for i in np.flatnonzero(at < 0).tolist()],
                    replaced=[ids_new[i] for i in np.flatnonzero(at >= 0).tolist()],
                    removed=ids_removed,
                    fits_nowhere=nowhere,
                    expected=_CHANCE * m,
                    searched=searched,
                )
                result = self._settle("update", replace(facts, past=past), live, state, found, result, report)
            except BaseException:
                self._live = None
                raise
            if namer is not None and result.named:
                self.name(namer, nodes=result.named, cache=cache, progress=report)
            return result

    def remove(self, ids: Any, *, vectors: Any = None, progress: ProgressLike | Progress = None) -> Update:
        """Take items out; an id that is not there is an error, and nothing changes."""
        with reporting(progress) as report, self._lock:
            live, state = self._live_tree(vectors)
            facts = self._now.facts
            assert facts.past.rows is not None
            kept = numbered(facts, facts.past.rows)
            leaving = self._rows_of(kept, ids)
            if len(leaving) > len(facts.past.rows) - 3:
                raise InvalidInput(f"{len(facts.past.rows) - len(leaving)} items would be left; 3 must stay.")
            removed = [kept.id_list(len(facts.past.rows))[i] for i in leaving.tolist()]
            numbers = facts.past.rows[leaving]
            gone = numbers, live.rows(numbers)
            try:
                if len(leaving):
                    live.remove(numbers)
                found = without_rows(facts, kept, leaving)
                past = replace(facts.past, rows=facts.past.rows[found.came], new=None, gone=gone)
                result = Update(removed=removed, searched=self._search_again(live))
                return self._settle("remove", replace(facts, past=past), live, state, found, result, report)
            except BaseException:
                self._live = None
                raise

    def refresh(
        self, budget_seconds: float = 10.0, *, vectors: Any = None, progress: ProgressLike | Progress = None
    ) -> Update:
        """Search the tree again where it can be better, and work out confidences, examples and levels anew.

        After many updates; about ``budget_seconds`` for the tree, and what the rest takes. Groups that stay keep their
        keys and names, and the map stays.
        """
        budget_seconds = check_float("budget_seconds", budget_seconds, low=0.0)
        with reporting(progress) as report, self._lock:
            live, state = self._live_tree(vectors)
            facts = self._now.facts
            assert facts.past.rows is not None
            try:
                before = live.changed_
                live.refresh(budget_seconds)
                found = Rows(facts.items, facts.kept, np.arange(len(facts.items)))
                facts = replace(facts, past=replace(facts.past, new=None, gone=None))
                result = Update(searched=live.changed_ < before)
                return self._settle("refresh", facts, live, state, found, result, report)
            except BaseException:
                self._live = None
                raise

    def _search_again(self, live: LiveTree) -> bool:
        """Search the whole tree again if much has changed; a tree of another method, or one that was steered, stays."""
        if self.info.get("method") != "graph" or self.info.get("steered") or live.changed_ <= _MUCH:
            return False
        live.refresh(_NO_LIMIT)
        return True

    def _settle(
        self, kind: str, facts: Facts, live: LiveTree, state: LiveState, rows: Rows, result: Update, report: Progress
    ) -> Update:
        """Facts, edits and history after the live tree has changed."""
        before = self._now
        old = replace(before.facts, past=facts.past, next_key=before.edited.next_key)

        def texts(some: np.ndarray) -> list[str]:
            said = own_texts(self.info, rows.items, rows.kept, some)
            return as_texts(rows.items.take(some)) if said is None else said

        asked, whole = self.info.get("levels"), result.searched or kind == "refresh"
        found = renew(
            old, live, state, rows.came, rows.items, rows.kept, texts, levels=asked, whole=whole, report=report
        )
        made, edits, lost = replayed(found.facts, before.edits, before.edited)
        when = now()
        names = dict(zip(before.edited.keys[before.n_items :].tolist(), before.names.values(), strict=True))
        told = [LostEdit(edit, names.get(edit.nodes[0], "") if edit.nodes else "", why, when) for edit, why in lost]
        events, sizes = events_of(before.facts, made, found.match)
        counts = len(result.added), len(result.replaced), len(result.removed)
        change = Change(when, kind, *counts, before.n_items, made.base.n_leaves, events, sizes)
        made = replace(made, past=made.past.noted(change, told, carried=len(edits.done)))
        if "words" in before.facts.__dict__:
            made.__dict__["words"] = carry_words(before.facts.words, rows.came, made.items)
        self._now = Snapshot.of(made, edits)
        self._previous, self._live, self._X = before, (live, found.state), None
        n = self._now.n_items
        nodes = {key: v for v, key in enumerate(self._now.edited.keys[n:].tolist(), n)}
        assert made.keys is not None
        named = [nodes[key] for v in found.named if (key := int(made.keys[v])) in nodes]
        found_events: dict[str, Any] = events
        born = {event.key for event in events["born"]}
        fresh = {
            key: int((rows.came[made.base.members(v)] < 0).sum())
            for v, key in enumerate(made.keys[n:].tolist(), n)
            if key in born
        }
        return replace(result, named=named, lost=told, fresh=fresh, **found_events)

    # --- what was -----------------------------------------------------------------------------------------------------

    @property
    def history(self) -> tuple[Change, ...]:
        """Updates so far, the oldest first; of a long history the oldest are dropped."""
        return self._now.facts.past.history

    @property
    def lost_edits(self) -> tuple[LostEdit, ...]:
        """Edits that updates could not carry over, with the reason."""
        return self._now.facts.past.lost

    def changes(self, since: Any = None) -> Changes:
        """What became of the groups: born, split, merged, grown, faded and gone.

        Parameters
        ----------
        since : date, datetime or str, optional
            Such as "2026-01-31"; by default since the taxonomy was made. A group has grown or faded if its size
            differs by more than three standard deviations from what the number of all items leads to expect.
        """
        current = self._now
        named = zip(current.edited.keys[current.n_items :].tolist(), current.names.values(), strict=True)
        return changes_since(self.history, since, dict(named), current.n_items)

    def undo_update(self) -> list[LostEdit]:
        """Go back to the taxonomy before the last update, removal or refresh; it can be done once.

        Edits made since are done again where they can be; the others are returned.
        """
        with self._lock:
            before, after = self._previous or self._read_previous(), self._now
            if before is None:
                raise InvalidInput("there is no update to undo; the one before the last cannot be undone.")
            left, was = after.facts.past, before.facts.past
            rows = np.arange(before.n_items) if was.rows is None else was.rows
            past = replace(was, series=left.series, rows=rows, next_row=left.next_row, new=left.gone, gone=None)
            facts = replace(before.facts, past=past)
            skipped: list[Any] = []
            every = [*before.edited.done, *after.edits.done[after.facts.past.carried :]]
            edited = apply_edits(facts.base, every, facts.keys, facts.next_key, skipped=skipped)
            self._now = Snapshot.of(facts, Edits(edited.done))
            live = None if self._live is None else synced(self._live[0], facts.past)
            self._X = None if live is None else live.rows(facts.past.rows)
            self._previous = self._live = None
            return [LostEdit(edit, "", why, now()) for edit, why in skipped]

    def _read_previous(self) -> Snapshot | None:
        raise NotImplementedError

    # --- the live tree ------------------------------------------------------------------------------------------------

    def _vectors(self) -> Any:
        """The vectors of the items, where they are at hand."""
        if self._X is None and self._live is not None:
            return self._live[0].rows()
        if self._X is None and not self._now.facts.past.history:
            self._X = read_vectors_at(self.vectors_at, self._now.n_items)
        if self._X is None and (live := self._beside()) is not None:
            self._X = live.rows(self._now.facts.past.rows)
        return self._X

    def _beside(self) -> LiveTree | None:
        path, past = self._origin_path(), self._now.facts.past
        if path is None or past.rows is None:
            return None
        live = open_beside(path, past.series)
        return None if live is None else synced(live, past)

    def _live_tree(self, vectors: Any) -> tuple[LiveTree, LiveState]:
        if self._live is not None:
            return self._live
        facts = self._now.facts
        past = facts.past
        live = self._beside() if vectors is None else None
        if live is not None and past.rows is not None:
            whole = facts.full if facts.full.is_binary else facts.full.binarize(0)
            tree = live.tree_
            if np.array_equal(live.ids_, past.rows) and np.array_equal(tree.parent, whole.parent):
                self._live = live, LiveState(live.node_ids_, live.version_)
                return self._live
            X: Any = live.rows(past.rows)
        else:
            X = self._vectors() if vectors is None else np.asarray(vectors)
            if X is None and self._embedder is not None:
                texts = own_texts(self.info, facts.items, facts.kept)
                X = None if texts is None else self._embedder.transform(texts)
        if past.rows is None:
            n = self._now.n_items
            past = replace(past, series=secrets.token_hex(8), rows=np.arange(n), next_row=n)
        assert past.rows is not None
        full, live = fresh_tree(facts, X, live_metric(str(self.info.get("metric", "cosine"))), past.rows)
        facts = replace(facts, past=past, full_tree=full)
        self._now = Snapshot(facts, self._now.edits, self._now.edited)
        nodes = np.arange(full.n_nodes)
        self._live = live, LiveState(nodes, live.version_)
        return self._live

    def _rows_of(self, kept: Any, ids: Any) -> np.ndarray:
        given = as_items([ids] if isinstance(ids, str | int) else ids, what="ids")
        at = find_ids(kept, like_ids(kept, (given,) if len(kept.ids) == 1 else tuple(zip(*ids, strict=True))))
        if (at < 0).any():
            missing = [given[int(i)].as_py() for i in np.flatnonzero(at < 0)]
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InvalidInput(f"id {missing[0]!r}{more} is not in the taxonomy; nothing was changed.")
        if len(np.unique(at)) != len(at):
            raise InvalidInput("an id was given twice; nothing was changed.")
        return np.sort(at)

    def _counts_ids(self, kept: Any) -> bool:
        """Whether ids are the numbers of rows, that an update gave."""
        import pyarrow as pa

        return len(kept.ids) == 1 and kept.id_names == (None,) and pa.types.is_integer(kept.ids[0].type)

    def _id_text(self) -> str:
        names = [name for name in self._now.facts.kept.id_names if name]
        return f"ids ({', '.join(names)})" if names else "ids"


def _as_ids(levels: tuple[Any, ...]) -> list[Any]:
    lists = [level.to_pylist() for level in levels]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def _usual(live: LiveTree, rows: np.ndarray) -> float:
    """How far the third nearest is from 99 of 100 items."""
    step = max(1, len(rows) // _SAMPLE)
    at, _, distance = live.near(rows[::step])
    return float(np.quantile(_ranked(at, distance, len(rows[::step])), 1 - _CHANCE))


def _ranked(at: np.ndarray, distance: np.ndarray, n: int) -> np.ndarray:
    """The distance to the third nearest of each; to the farthest known where there are fewer."""
    start = np.searchsorted(at, np.arange(n))
    count = np.bincount(at, minlength=n)
    place = start + np.minimum(_RANK, np.maximum(count, 1)) - 1
    found = distance[np.minimum(place, len(distance) - 1)] if len(distance) else np.zeros(n)
    return np.where(count > 0, found, np.inf)


def _strangers(live: LiveTree, fresh: np.ndarray, usual: float) -> list[int]:
    """Which new rows are farther from the old ones than usual; neighbours that are new themselves do not count."""
    at, near, distance = live.near(fresh)
    is_old = ~np.isin(near, np.flatnonzero(np.isin(live.ids_, fresh)))
    # Where the list has too few old ones, they are farther than all in it.
    lists = np.full(len(fresh), -np.inf)
    np.maximum.at(lists, at, distance)
    count = np.bincount(at[is_old], minlength=len(fresh))
    third = np.where(count >= _RANK, _ranked(at[is_old], distance[is_old], len(fresh)), lists)
    return np.flatnonzero(third > usual).tolist()
