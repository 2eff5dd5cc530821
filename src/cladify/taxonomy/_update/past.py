"""What a taxonomy remembers of its updates: a dated history of groups, edits that were lost, numbers of rows.

All of it is bounded: the oldest entries of a long history are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from cladify._kit.params import check_int
from cladify._kit.text import printable
from cladify.errors import InvalidInput
from cladify.taxonomy._edits import Edit

__all__ = ["Change", "Changes", "Event", "LostEdit", "Past", "changes_since"]

#: Entries of the history, sizes and lost edits that a file keeps at most.
_ENTRIES, _SIZES, _LOST = 200, 100_000, 1000
#: A group has grown or faded if its size differs by so many standard deviations from what all items lead to expect.
_SURPRISE = 3.0


class LostEdit(NamedTuple):
    """An edit that an update could not carry over, why, and when."""

    edit: Edit
    name: str  # of the group that it was about
    why: str
    when: str


class Event(NamedTuple):
    """What became of a group: its key, name and sizes before and after, and the key of the group it came from or went
    to, -1 for none."""

    key: int
    name: str
    before: int
    after: int
    other: int = -1


@dataclass(frozen=True)
class Change:
    """An entry of the history of a taxonomy.

    Attributes
    ----------
    when : str
        UTC, ISO 8601.
    kind : str
        "update", "remove" or "refresh".
    added, replaced, removed : int
        Items.
    before, after : int
        Items in all.
    events : dict from "born", "gone", "split", "merged" to lists of Event
    sizes : dict from the key of a group to its size before and after
        For all groups that changed.
    """

    when: str
    kind: str
    added: int
    replaced: int
    removed: int
    before: int
    after: int
    events: dict[str, list[Event]]
    sizes: dict[int, tuple[int, int]]

    def __str__(self) -> str:
        said = [
            f"{count} {what.replace('s ', ' ', 1) if count == 1 else what}" for what, count in self._counts() if count
        ]
        return f"{self.when[:16].replace('T', ' ')}  {self.kind}: {', '.join(said) or 'nothing changed'}"

    def _counts(self) -> list[tuple[str, int]]:
        items = [("items added", self.added), ("replaced", self.replaced), ("removed", self.removed)]
        return items + [(f"groups {kind}", len(found)) for kind, found in self.events.items()]


@dataclass(frozen=True)
class Changes:
    """What became of the groups of a taxonomy since a date; each a list of :class:`Event`, the largest first."""

    since: str
    n_updates: int
    before: int
    after: int
    born: list[Event]
    split: list[Event]
    merged: list[Event]
    grown: list[Event]
    faded: list[Event]
    gone: list[Event]

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        kinds = ("born", "split", "merged", "grown", "faded", "gone")
        events = {kind: [event._asdict() for event in getattr(self, kind)] for kind in kinds}
        return {"since": self.since, "n_updates": self.n_updates, "before": self.before, "after": self.after, **events}

    def _said(self, event: Event, share: bool) -> str:
        sizes = f"{event.name}  {event.before} → {event.after}"
        if not share:
            return sizes
        before, after = (_percent(*pair) for pair in ((event.before, self.before), (event.after, self.after)))
        return f"{sizes}, from {before} of all items to {after}"

    def __str__(self) -> str:
        updates = "1 update" if self.n_updates == 1 else f"{self.n_updates} updates"
        lines = [f"since {self.since or 'the beginning'}: {updates}, {self.before} items before, {self.after} now"]
        for kind in ("born", "split", "merged", "grown", "faded", "gone"):
            share = kind in ("grown", "faded")  # a group that faded may well have more items than before
            lines += [f"{kind}: {self._said(event, share)}" for event in getattr(self, kind)[:10]]
            more = len(getattr(self, kind)) - 10
            lines += [f"{kind}: {more} more"] if more > 0 else []
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Past:
    """What a taxonomy remembers.

    Attributes
    ----------
    series : str
        Names the rows beside the file that belong to this taxonomy; empty before the first update.
    rows : int64 array of shape (n,), optional
        The number of each item's row there; a row that is replaced gets another number.
    next_row : int
    new, gone : (int64 array, float32 array)
        Numbers and vectors of rows that the last update brought and took, for the rows beside the file, whose writing
        may be interrupted, and to undo the update.
    drift : float32 array, one entry a group, optional
        Share of the items that a group has in common with itself when it was named.
    carried : int
        Edits that the last update carried over; those behind them were made since.
    history : tuple of Change, the oldest first
    lost : tuple of LostEdit
    """

    series: str = ""
    rows: np.ndarray | None = None
    next_row: int = 0
    new: tuple[np.ndarray, np.ndarray] | None = None
    gone: tuple[np.ndarray, np.ndarray] | None = None
    drift: np.ndarray | None = None
    carried: int = 0
    history: tuple[Change, ...] = ()
    lost: tuple[LostEdit, ...] = ()

    def noted(self, change: Change, lost: list[LostEdit], **values: Any) -> Past:
        """With one more entry."""
        history = [*self.history, change][-_ENTRIES:]
        while len(history) > 1 and sum(len(entry.sizes) for entry in history) > _SIZES:
            history.pop(0)
        return replace(self, history=tuple(history), lost=(*self.lost, *lost)[-_LOST:], **values)

    def to_dict(self) -> dict[str, Any]:
        """In plain values; arrays are left out."""
        return {
            "series": self.series,
            "next_row": self.next_row,
            "carried": self.carried,
            "history": [
                {**vars(entry), "sizes": [[key, *sizes] for key, sizes in entry.sizes.items()]}
                for entry in self.history
            ],
            "lost": [[lost.edit.to_dict(), lost.name, lost.why, lost.when] for lost in self.lost],
        }

    @classmethod
    def from_dict(cls, data: Any, arrays: Mapping[str, np.ndarray], n: int) -> Past:
        """What :meth:`to_dict` described, and the arrays of a file; anything odd raises."""
        if not isinstance(data, Mapping):
            raise InvalidInput("its history is not a table")
        series = str(data["series"])[:64]
        if not series.isalnum() and series:
            raise InvalidInput("the series of its rows is not a name")
        new, gone = (
            (arrays[f"{name}_rows"], arrays[f"{name}_vectors"]) if f"{name}_rows" in arrays else None
            for name in ("new", "gone")
        )
        return cls(
            series,
            arrays.get("rows"),
            check_int("next_row", data["next_row"], low=0),
            new,
            gone,
            arrays.get("drift"),
            check_int("carried", data["carried"], low=0),
            tuple(_change(entry) for entry in data["history"][-_ENTRIES:]),
            tuple(
                LostEdit(Edit.from_dict(edit), printable(name), printable(why), str(when)[:40])
                for edit, name, why, when in data["lost"][-_LOST:]
            ),
        )


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(whole, 1)
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"


def _change(entry: Any) -> Change:
    counts = {name: int(entry[name]) for name in ("added", "replaced", "removed", "before", "after")}
    events = {
        kind: [Event(int(k), printable(name), int(a), int(b), int(o)) for k, name, a, b, o in entry["events"][kind]]
        for kind in ("born", "gone", "split", "merged")
    }
    sizes = {int(key): (int(a), int(b)) for key, a, b in entry["sizes"]}
    return Change(str(entry["when"])[:40], printable(entry["kind"]), **counts, events=events, sizes=sizes)


def now() -> str:
    """The time, for people and for :func:`changes_since`."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def changes_since(history: tuple[Change, ...], since: Any, names: dict[int, str], n_items: int) -> Changes:
    """The events of the history after a date; ``names`` are those of the present groups, by key."""
    start = _as_time(since)
    entries = [entry for entry in history if entry.when >= start]
    sizes: dict[int, tuple[int, int]] = {}
    for entry in entries:
        for key, (before, after) in entry.sizes.items():
            sizes[key] = sizes.get(key, (before, before))[0], after
    called = {event.key: event.name for entry in entries for found in entry.events.values() for event in found} | names
    was = entries[0].before if entries else n_items
    found: dict[str, list[Event]] = {kind: [] for kind in ("born", "split", "merged", "grown", "faded", "gone")}
    from_to = {event.key: event.other for entry in entries for kind in entry.events for event in entry.events[kind]}
    merged = {event.key for entry in entries for event in entry.events["merged"]}
    for key, (before, after) in sizes.items():
        event = Event(key, called.get(key, f"group {key}"), before, after, from_to.get(key, -1))
        expected = before * n_items / max(was, 1)
        surprise = (after - expected) / max(expected, 1.0) ** 0.5
        if not before and after:
            found["born"].append(event)
        elif before and not after and key in merged:
            continue
        elif before and not after:
            found["gone"].append(event)
        elif before and abs(surprise) > _SURPRISE:
            found["grown" if surprise > 0 else "faded"].append(event)
    for kind in ("split", "merged"):
        found[kind] = [event for entry in entries for event in entry.events[kind]]
    for events in found.values():
        events.sort(key=lambda event: (-max(event.before, event.after), event.key))
    return Changes(start, len(entries), was, n_items, **found)


def _as_time(since: Any) -> str:
    if since is None:
        return ""
    if isinstance(since, datetime):
        return (since if since.tzinfo else since.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
    if isinstance(since, date):
        return since.isoformat()
    try:
        found = datetime.fromisoformat(str(since))
    except ValueError:
        raise InvalidInput(f"since must be a date, such as 2026-01-31, got {str(since)[:40]!r}.") from None
    return str(since) if len(str(since)) == 10 else _as_time(found)
