"""Names from a function of the user's: in batches, with a cache and retries.

Nothing is sent anywhere by cladify: the function gets views of groups and returns names.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cladify._kit.params import check_int
from cladify._kit.progress import Progress
from cladify._kit.text import printable, shorten
from cladify.errors import InvalidInput
from cladify.taxonomy._names.answers import Answers
from cladify.taxonomy._read.snapshot import Snapshot

__all__ = ["ClusterView", "Namer", "ask"]

#: Seconds before the first repetition of a failing call; each next one waits twice as long.
PAUSE = 1.0
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class ClusterView:
    """A group as a namer sees it.

    Examples
    --------
    >>> def my_namer(views: list[ClusterView]) -> list[str]:
    ...     return [f"{view.keywords[0]} ({view.size})" if view.keywords else view.name for view in views]
    >>> my_namer([ClusterView("a", 3, ("fruit",), ("apple",), ("red apple",), (), ("b",))])
    ['apple (3)']
    """

    name: str  # the automatic one
    size: int
    path: tuple[str, ...]  # names of the groups above it, the largest first
    keywords: tuple[str, ...]
    examples: tuple[str, ...]  # central items
    boundary: tuple[str, ...]  # items that might belong to a sibling
    siblings: tuple[str, ...]  # automatic names of the groups beside it

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        return asdict(self)

    @property
    def fingerprint(self) -> str:
        """The same for the same content, whatever it and the groups around it are called: the key of a cache."""
        text = json.dumps([self.size, self.keywords, self.examples, self.boundary])
        return hashlib.sha256(text.encode()).hexdigest()


Namer = Callable[[list[ClusterView]], Sequence[str]]


def view(now: Snapshot, v: int, automatic: dict[int, str]) -> ClusterView:
    """The view of a group; all texts in it are short and printable."""
    tree, n = now.tree, now.n_items
    siblings = tree.children(tree.parent[v])
    examples = now.examples(v, 8)
    return ClusterView(
        name=automatic[v],
        size=int(tree.size[v]),
        path=tuple(automatic[u] for u in now.path(v)[:-1]),
        keywords=tuple(now.keywords(v)),
        examples=tuple(shorten(item, _MOST_CHARACTERS) for item in examples.central),
        boundary=tuple(shorten(item, _MOST_CHARACTERS) for item in examples.boundary[:3]),
        siblings=tuple(automatic[int(u)] for u in siblings if u >= n and u != v),
    )


def ask(
    now: Snapshot,
    namer: Namer,
    *,
    batch_size: int,
    retries: int,
    cache: str | os.PathLike[str] | None,
    report: Progress,
    only: Collection[int] | None = None,
) -> Iterator[tuple[int, str]]:
    """Nodes and the names that ``namer`` gives them, top down; groups named by hand are left out, and all but ``only``,
    if given."""
    if not callable(namer):
        raise InvalidInput(
            "namer must be a function that takes a list of ClusterView and returns a name for each, or the name of a "
            "model, such as ollama:MODEL."
        )
    batch_size = check_int("batch_size", batch_size, low=1)
    retries = check_int("retries", retries, low=0)
    automatic = now.names
    by_hand = now.edited.names
    nodes = [v for v in range(now.tree.root - 1, now.n_items - 1, -1) if int(now.edited.keys[v]) not in by_hand]
    nodes = nodes if only is None else [v for v in nodes if v in set(only)]
    views = {v: view(now, v, automatic) for v in nodes}
    with Answers(cache) as known, report.stage("naming", len(nodes)) as advance:
        waiting = []
        for v in nodes:
            answer = known.get(views[v].fingerprint)
            if answer is None:
                waiting.append(v)
            else:
                yield v, answer
                advance()
        for start in range(0, len(waiting), batch_size):
            batch = waiting[start : start + batch_size]
            names = _answers(namer, [views[v] for v in batch], retries)
            for v, name in zip(batch, names, strict=True):
                known.put(views[v].fingerprint, name)
            yield from zip(batch, names, strict=True)
            advance(len(batch))


def _answers(namer: Namer, views: list[ClusterView], retries: int) -> list[str]:
    """The names of one batch; a call that fails is repeated after a pause."""
    for attempt in range(retries + 1):
        try:
            names = namer(views)
            if isinstance(names, str) or len(names) != len(views) or not all(isinstance(name, str) for name in names):
                what = f"{len(names)} names" if not isinstance(names, str) else "one text"
                raise InvalidInput(f"it gave {what} for {len(views)} groups; it must give a text for each.")
            cleaned = [shorten(name, 120) for name in names]
            return [name or view.name for name, view in zip(cleaned, views, strict=True)]
        except Exception as error:
            if attempt == retries:
                raise InvalidInput(
                    f"the namer failed {retries + 1} times: {printable(f'{type(error).__name__}: {error}')[:200]} "
                    "Names given so far are kept; call it again to go on."
                ) from error
            time.sleep(PAUSE * 2**attempt)
    raise AssertionError
