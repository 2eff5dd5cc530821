"""What a caller wants a taxonomy to be like, as rows and numbers: levels, named groups, labels and links."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cladify._kit.text import printable
from cladify.errors import CladifyWarning, InvalidInput, InvalidType
from cladify.graphtree import Guide
from cladify.taxonomy._items import as_items
from cladify.taxonomy._kept import Kept
from cladify.taxonomy._steer.shape import check_counts

__all__ = ["Wishes", "as_wishes", "seed_rows"]

_NO_PAIRS = np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class Wishes:
    """Levels and, by row, named groups, known labels, and pairs that belong together or apart.

    Attributes
    ----------
    levels : list of int, optional
    paths : list of tuples of names
        The named groups, those within others as ``("A", "B")``.
    seeds : int64 array of shape (n,), optional
        The entry of ``paths`` of each row; -1 where it is not known.
    labels : int64 array of shape (n,), optional
        Known labels, which have no groups of their own; -1 where they are not known.
    together, apart : int64 arrays of shape (m, 2)
    """

    levels: list[int] | None
    paths: list[tuple[str, ...]]
    seeds: np.ndarray | None
    labels: np.ndarray | None
    together: np.ndarray
    apart: np.ndarray

    @property
    def guide(self) -> Guide | None:
        """What the graph of neighbours is to know of them."""
        labels = self.labels if self.seeds is None else self.seeds
        links = len(self.together) + len(self.apart)
        return None if labels is None and not links else Guide(labels, self.together, self.apart)

    @property
    def is_shaped(self) -> bool:
        """Whether groups depend on them, and not only the weights of the graph."""
        return self.levels is not None or self.seeds is not None or len(self.together) + len(self.apart) > 0

    @cached_property
    def blocks(self) -> np.ndarray | None:
        """The rows that are always together, by a number; None where no two are."""
        if not len(self.together):
            return None
        n = self._n
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        a, b = self.together.T
        _, found = connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)
        return np.asarray(found, np.int64)

    _n: int = 0


def as_wishes(
    n: int,
    kept: Kept,
    items: Any,
    *,
    levels: Any = None,
    seeds: Any = None,
    labels: Any = None,
    must_link: Any = None,
    cannot_link: Any = None,
) -> Wishes | None:
    """Checked wishes; None where there are none."""
    if all(wish is None for wish in (levels, seeds, labels, must_link, cannot_link)):
        return None
    if seeds is not None and labels is not None:
        raise InvalidInput("give seeds, whose groups are named, or labels, which only guide the tree, not both.")
    rows = _Rows(n, kept)
    paths, known = ([], None) if seeds is None else _seeds(seeds, n, rows, items)
    wishes = Wishes(
        None if levels is None else check_counts(levels, n),
        paths,
        known,
        None if labels is None else _codes(_column(labels, n, "labels"))[1],
        _links(must_link, rows, "must_link"),
        _links(cannot_link, rows, "cannot_link"),
        n,
    )
    _check_seeds(wishes)
    return wishes


def _check_seeds(wishes: Wishes) -> None:
    """Items that must be together cannot have two names."""
    seeds, blocks = wishes.seeds, wishes.blocks
    if seeds is None or blocks is None:
        return
    rows = np.flatnonzero(seeds >= 0)
    rows = rows[np.lexsort((seeds[rows], blocks[rows]))]
    one, other = rows[:-1], rows[1:]
    wrong = np.flatnonzero((blocks[one] == blocks[other]) & (seeds[one] != seeds[other]))
    if len(wrong):
        names = ["/".join(wishes.paths[seeds[row]]) for row in (one[wrong[0]], other[wrong[0]])]
        raise InvalidInput(f"must_link joins seeds of {names[0]!r} and of {names[1]!r}.")


class _Rows:
    """Rows by their ids."""

    def __init__(self, n: int, kept: Kept) -> None:
        self.n, self.kept = n, kept

    @cached_property
    def by_id(self) -> dict[Any, int]:
        return {value: row for row, value in enumerate(self.kept.id_list(self.n))}

    def get(self, value: Any) -> int | None:
        if isinstance(value, np.generic):
            value = value.item()
        try:
            return self.by_id.get(value)
        except TypeError:  # not hashable
            return None


def _links(pairs: Any, rows: _Rows, what: str) -> np.ndarray:
    if pairs is None:
        return _NO_PAIRS
    found = []
    for pair in pairs:
        two = [] if isinstance(pair, str) or not isinstance(pair, Iterable) else list(pair)
        if len(two) != 2:
            raise InvalidInput(f"{what} must be pairs of ids, got {str(pair)[:60]!r}.")
        places = [rows.get(value) for value in two]
        for value, row in zip(two, places, strict=True):
            if row is None:
                raise InvalidInput(f"{what} has {value!r}, which is not the id of an item.")
        if places[0] == places[1]:
            raise InvalidInput(f"{what} has {two[0]!r} with itself.")
        found.append(places)
    return np.array(found, np.int64).reshape(-1, 2)


def _column(values: Any, n: int, what: str) -> list[Any]:
    """One value a row, None where there is none: missing, empty and -1."""
    plain = as_items(values, n, what=what).to_pylist()
    return [None if value is None or value != value or value in ("", -1) else value for value in plain]


def _codes(values: list[Any]) -> tuple[list[Any], np.ndarray]:
    """Different values, and the number of that of each row; -1 for None."""
    numbers: dict[Any, int] = {}
    codes = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    if not numbers:
        raise InvalidInput("no row has a label.")
    return list(numbers), np.array(codes, np.int64)


def _seeds(seeds: Any, n: int, rows: _Rows, items: Any) -> tuple[list[tuple[str, ...]], np.ndarray]:
    if isinstance(seeds, Mapping):
        return _examples(seeds, n, rows, items)
    if hasattr(seeds, "path") and hasattr(seeds, "names_of"):  # another taxonomy: its groups, for items with its ids
        column: list[Any] = [None] * n
        for i, value in enumerate(seeds.ids):
            row = rows.get(value)
            if row is not None:
                column[row] = "/".join(name.replace("/", "∕") for name in seeds.names_of(seeds.path(i))) or None
    else:
        column = _column(seeds, n, "seeds")
    found, codes = _codes([None if value is None else str(value) for value in column])
    return [_path(name) for name in found], codes


def _path(name: str) -> tuple[str, ...]:
    parts = tuple(printable(part).strip() for part in name.split("/"))
    return tuple(part for part in parts if part) or (name,)


def _examples(seeds: Mapping[Any, Any], n: int, rows: _Rows, items: Any) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Ids of examples, or items as they are."""
    if not seeds:
        raise InvalidInput("seeds has no names.")
    by_item: dict[Any, int] = {}
    if items is not None:
        for place, value in enumerate(items.to_pylist()):
            by_item.setdefault(value, place)
    codes = np.full(n, -1, np.int64)
    paths = [_path(str(name)) for name in seeds]
    row: int | None
    for code, (name, examples) in enumerate(seeds.items()):
        if isinstance(examples, str | bytes) or not isinstance(examples, Iterable):
            raise InvalidType(f"seeds[{name!r}] must be a list of examples, got {str(examples)[:60]!r}.")
        for example in examples:
            row = rows.get(example)
            row = by_item.get(example) if row is None and isinstance(example, str) else row
            if row is None:
                raise InvalidInput(f"seeds[{name!r}] has {example!r}, which is neither the id of an item nor an item.")
            if codes[row] not in (-1, code):
                raise InvalidInput(f"seeds has {example!r} for both {'/'.join(paths[codes[row]])!r} and {name!r}.")
            codes[row] = code
        if not (codes == code).any():
            raise InvalidInput(f"seeds[{name!r}] has no examples.")
    return paths, codes


#: Texts that stand for an example or a term that is not one of the texts.
_NEAREST = 10


def seed_rows(
    seeds: Mapping[Any, Any], texts: list[str], ids: Sequence[Any], X: Any, embed: Any
) -> dict[str, list[Any]]:
    """Seeds with ids alone: each example or term that is no id and no text becomes the texts that are most like it.

    Texts that have all words of it come first, then the nearest by ``embed``, which makes vectors of new texts as
    those in ``X`` were made. A text that two names claim goes to the one it is nearer to.
    """
    by_id = {value: row for row, value in enumerate(ids)}
    by_text = {text: row for row, text in reversed(list(enumerate(texts)))}
    claims: dict[int, tuple[float, str]] = {}
    queries: list[tuple[str, str]] = []
    for name, examples in seeds.items():
        if isinstance(examples, str | bytes) or not isinstance(examples, Iterable):
            raise InvalidType(f"seeds[{name!r}] must be a list of examples, got {str(examples)[:60]!r}.")
        for example in examples:
            row = by_text.get(example) if isinstance(example, str) else None
            if row is None and isinstance(example, Hashable):
                row = by_id.get(example)
            if row is not None:
                claims[row] = (np.inf, str(name))
            elif isinstance(example, str):
                queries.append((str(name), example))
            else:
                raise InvalidInput(f"seeds[{name!r}] has {example!r}, which is neither a text nor the id of one.")
    if queries:
        Q = np.asarray(embed([text for _, text in queries]), np.float32)
        unit = [rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12) for rows in (Q, np.asarray(X))]
        lower = [text.lower() for text in texts]
        for (name, query), near in zip(queries, unit[0] @ unit[1].T, strict=True):
            words = query.lower().split()
            has = np.array([all(word in text for word in words) for text in lower])
            if not any(word in text for word in words for text in lower):
                said = f"seeds[{name!r}] has {query[:60]!r}, of which no text has a word; the nearest count."
                warnings.warn(CladifyWarning(said), stacklevel=3)
            order = np.lexsort((-near, ~has))[:_NEAREST]
            for row in order[has[order] | (near[order] > 0)].tolist():
                claims[row] = max(claims.get(row, (-np.inf, "")), (float(near[row]) + bool(has[row]), name))
    found: dict[str, list[Any]] = {str(name): [] for name in seeds}
    for row, (_, name) in sorted(claims.items()):
        found[name].append(ids[row])
    return found
