"""A taxonomy in parts, as its file holds them, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from cladify._kit.container import first_line, narrow
from cladify._kit.text import printable
from cladify.errors import InvalidInput
from cladify.taxonomy._edits import Edits, apply_edits
from cladify.taxonomy._facts import Facts, Packed
from cladify.taxonomy._file.archive import Archive
from cladify.taxonomy._items import as_items
from cladify.taxonomy._kept import Kept, keep
from cladify.taxonomy._names.names import Keyword, numbered_names
from cladify.taxonomy._names.words import WordIndex
from cladify.taxonomy._read.also import AlsoIn, checked_also
from cladify.taxonomy._read.geometry import Geometry, spread_examples
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.taxonomy._update.past import Past
from cladify.text._embed import TextEmbedder
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["INDEXED", "RULES", "Parts", "from_archive", "header_and_arrays"]

#: From so many items on, the index of words is kept in the file, and the binary tree is made only when asked for.
INDEXED = 20_000
_MOST_KEYS = 2**62
_META_KEYS = {"names": list, "keywords": list, "levels": list, "info": dict}
_T = TypeVar("_T")


class Rule(NamedTuple):
    """What an array of a file must be: its dtypes, the length of each axis, and its range (the end is excluded).

    Lengths and ends are names: ``n`` items, ``m`` nodes, ``g`` groups, ``depth`` of the tree; any other name stands for
    the same number wherever it is used.
    """

    dtypes: tuple[str, ...]
    shape: tuple[str, ...]
    low: str | None = None
    end: str | None = None


_INTS, _FLOATS, _BYTES = ("<i4", "<i8"), ("<f2", "<f4", "<f8"), ("|u1",)

#: Every array that a file may have.
RULES = {
    "parent": Rule(_INTS, ("m",), "-1", "m"),
    "height": Rule(_FLOATS, ("m",)),
    "full_parent": Rule(_INTS, ("full",), "-1", "full"),
    "full_height": Rule(_FLOATS, ("full",)),
    "central": Rule(_INTS, ("g", "central"), "-1", "n"),
    "boundary": Rule(_INTS, ("g", "boundary"), "-1", "n"),
    "centres": Rule(_FLOATS, ("g", "d")),
    "cohesion": Rule(_FLOATS, ("g",)),
    "confidence": Rule(_BYTES, ("n", "depth")),
    "also_start": Rule(("<i8",), ("n+1",), "0", "also+1"),
    "also_node": Rule(("<i4",), ("also",), "n", "m"),
    "also_share": Rule(_BYTES, ("also",)),
    "points": Rule(("<f4",), ("n", "plane")),
    "ranks": Rule(("|i1",), ("g",), "-1"),
    "far": Rule(("<f4",), ("two", "far")),
    "keys": Rule(("<i8",), ("m",), "0"),
    "rows": Rule(("<i8",), ("n",), "0"),
    "drift": Rule(("<f4",), ("g",)),
    "new_rows": Rule(("<i8",), ("came",), "0"),
    "new_vectors": Rule(("<f4",), ("came", "row")),
    "gone_rows": Rule(("<i8",), ("left",), "0"),
    "gone_vectors": Rule(("<f4",), ("left", "row")),
    "words_utf8": Rule(_BYTES, ("bytes",)),
    "words_offset": Rule(("<i8",), ("words+1",), "0", "bytes+1"),
    "words_start": Rule(("<i4",), ("words+1",), "0", "entries+1"),
    "words_rows": Rule(("<i4",), ("entries",), "0", "n"),
    "words_order": Rule(("<i4",), ("n",), "0", "n"),
    "embed_components": Rule(("<f2",), ("rank", "terms")),
    "embed_idf": Rule(("<f4",), ("terms",)),
    "other_mean": Rule(("<f4",), ("other",)),
}
#: Arrays that only have a meaning together.
_TOGETHER = ("full_", "also_", "words_", "embed_", "new_", "gone_")


class Parts(NamedTuple):
    """What a file says about a taxonomy."""

    now: Snapshot
    info: dict[str, Any]
    vectors_at: dict[str, Any] | None
    embedder: TextEmbedder | None


def header_and_arrays(parts: Parts) -> tuple[dict[str, Any], pa.Table, dict[str, np.ndarray]]:
    """Header, items and arrays of a taxonomy."""
    facts = parts.now.facts
    base, geometry, also = facts.base, facts.geometry, facts.also
    arrays = {
        "parent": base.parent,
        "height": base.height,
        "central": geometry.central,
        "boundary": geometry.boundary,
        "centres": geometry.centres,
        "cohesion": geometry.cohesion,
        "confidence": facts.confidence,
        "points": facts.points,
        "ranks": facts.ranks,
        "far": facts.far,
        "keys": facts.keys,
        "rows": facts.past.rows,
        "drift": facts.past.drift,
    }
    for name, rows in (("new", facts.past.new), ("gone", facts.past.gone)):
        if rows is not None:
            arrays[f"{name}_rows"], arrays[f"{name}_vectors"] = rows
    if facts.full_tree is None and facts.full_arrays is not None:
        arrays |= {"full_parent": facts.full_arrays.parent, "full_height": facts.full_arrays.heights()}
    elif facts.full is not base:
        arrays |= {"full_parent": narrow(facts.full.parent), "full_height": facts.full.height}
    if facts.has_items and base.n_leaves >= INDEXED:
        arrays |= facts.words.to_arrays()
    if also is not None:
        arrays |= {"also_start": also.start, "also_node": also.node, "also_share": also.share}
    words: dict[str, Any] = {}
    if parts.embedder is not None:
        more, words = parts.embedder.to_arrays()
        arrays |= more
    meta = {
        "n_items": base.n_leaves,
        "has_items": facts.has_items,
        "names": facts.names,
        "keywords": [[[k.term, k.contrast, k.share, list(k.words)] for k in found] for found in facts.keywords],
        "levels": [list(entry) for entry in facts.sizes],
        "vectors": parts.vectors_at,
        "info": parts.info,
        "tree_info": base.info,
        "embedder": words,
        "id_names": list(facts.kept.id_names),
        "column_names": facts.kept.columns.column_names,
        "next_key": facts.next_key,
        "past": facts.past.to_dict(),
    }
    return meta, _item_table(facts), {name: array for name, array in arrays.items() if array is not None}


def from_archive(archive: Archive, lost: list[str] | None = None) -> Parts:
    """The taxonomy that a file holds, with everything checked against everything else.

    With ``lost``, a part that is damaged is left out, or replaced by what a taxonomy without it has, and named there.
    """

    def part(name: str, read: Callable[[], _T], default: Callable[[], _T]) -> _T:
        try:
            return read()
        except Exception as error:
            if lost is None:
                raise
            lost.append(f"{name}: {first_line(error)}")
            return default()

    meta = archive.meta
    for key, kind in _META_KEYS.items() if lost is None else ():
        if not isinstance(meta[key], kind):
            raise InvalidInput(f"{key} of its header is not a {kind.__name__}")
    arrays = dict(archive.arrays)
    tree_info = meta.get("tree_info")
    sizes = {"m": len(arrays["parent"])}
    for name in ("parent", "height"):
        _check_array(name, arrays[name], sizes)
    base = Tree(arrays["parent"], arrays["height"], info=tree_info if isinstance(tree_info, dict) else {})
    n, g = base.n_leaves, base.n_nodes - base.n_leaves
    sizes |= {"n": n, "g": g, "depth": max(base.depth, 1), "plane": 2, "two": 2}
    for name in sorted(arrays):
        if not part(name, partial(_check_array, name, arrays[name], sizes), bool):
            del arrays[name]
    for prefix in _TOGETHER:
        part(prefix.rstrip("_"), partial(_check_together, prefix, arrays), partial(_drop, prefix, arrays))
    items = part("items", lambda: _items(archive, n), _none)
    kept = part("columns", lambda: _kept(archive, n), lambda: keep(n))
    full = part("full", lambda: _full(arrays, n), _none)
    keys = part("keys", lambda: _keys(arrays), _none)
    facts = Facts(
        base=base,
        items=as_items(range(n)) if items is None else items,
        has_items=bool(meta.get("has_items", True)) and items is not None,
        kept=kept,
        names=part("names", lambda: _names(meta["names"], g), lambda: numbered_names(base)),
        keywords=part("keywords", lambda: _keywords(meta["keywords"], g), lambda: [[] for _ in range(g)]),
        geometry=part("examples", lambda: _geometry(arrays), lambda: spread_examples(base)),
        confidence=arrays.get("confidence"),
        also=part("also", lambda: _also(arrays, base), _none),
        sizes=part("levels", lambda: _levels(meta["levels"], n), list),
        full_tree=base if full is None else None if n >= INDEXED else full,
        full_arrays=None if full is None or n < INDEXED else Packed.of(full),
        points=arrays.get("points"),
        ranks=arrays.get("ranks"),
        far=None if "far" not in arrays else np.sort(arrays["far"], axis=1),
        keys=keys,
        next_key=base.n_nodes if keys is None else max(int(keys.max()) + 1, _whole(meta.get("next_key", 0))),
        past=part("past", lambda: Past.from_dict(meta["past"], arrays, n) if "past" in meta else Past(), Past),
    )
    if "words_rows" in arrays:
        words = part("words", lambda: WordIndex.from_arrays(arrays, n), _none)
        if words is not None:
            facts.__dict__["words"] = words
    said = meta.get("embedder")
    embedder = part("embedder", lambda: TextEmbedder.from_arrays(arrays, said) if said else None, _none)
    edits = part("edits", lambda: _possible(facts, archive.edits), lambda: _longest(facts, archive.edits))
    info, vectors = meta.get("info"), meta.get("vectors")
    vectors_at = dict(vectors) if isinstance(vectors, dict) and isinstance(vectors.get("path"), str) else None
    return Parts(Snapshot.of(facts, edits), dict(info) if isinstance(info, dict) else {}, vectors_at, embedder)


def _none() -> None:
    return None


def _check_array(name: str, array: np.ndarray, sizes: dict[str, int]) -> bool:
    """True for an array that follows its rule; lengths seen for the first time are noted in ``sizes``."""
    rule = RULES.get(name)
    if rule is None:
        raise InvalidInput(f"{name} is not an array of a taxonomy")
    fits = array.dtype.str in rule.dtypes and array.ndim == len(rule.shape)
    for axis, length in enumerate(rule.shape if fits else ()):
        base, plus, _ = length.partition("+")
        fits = fits and sizes.setdefault(base, array.shape[axis] - bool(plus)) + bool(plus) == array.shape[axis]
    if not fits:
        raise InvalidInput(f"{name} has shape {array.shape} and dtype {array.dtype.str}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput(f"{name} has values that are not finite")
    low, end = (None if bound is None else _bound(bound, sizes) for bound in (rule.low, rule.end))
    if array.size and ((low is not None and array.min() < low) or (end is not None and array.max() >= end)):
        raise InvalidInput(f"{name} has values out of range")
    return True


def _bound(bound: str, sizes: Mapping[str, int]) -> int | None:
    base, plus, _ = bound.partition("+")
    if base in sizes:
        return sizes[base] + bool(plus)
    return int(bound) if base.lstrip("-").isdigit() else None


def _check_together(prefix: str, arrays: Mapping[str, np.ndarray]) -> None:
    missing = [name for name in RULES if name.startswith(prefix) and name not in arrays]
    if missing and any(name.startswith(prefix) for name in arrays):
        raise InvalidInput(f"it lacks {', '.join(missing)}")


def _drop(prefix: str, arrays: dict[str, np.ndarray]) -> None:
    for name in [name for name in arrays if name.startswith(prefix)]:
        del arrays[name]


def _item_table(facts: Facts) -> pa.Table:
    """Items, ids and columns, under names that do not depend on what they are called."""
    import pyarrow as pa

    ids = {f"id.{i}": values for i, values in enumerate(facts.kept.ids)}
    columns = {f"column.{i}": values for i, values in enumerate(facts.kept.columns.columns)}
    return pa.table({"item": facts.items, **ids, **columns})


def _items(archive: Archive, n: int) -> pa.Array:
    table = archive.items
    if table is None or not n == len(table) == archive.meta.get("n_items", n):
        raise InvalidInput(f"it has {0 if table is None else len(table)} items for {n} leaves")
    return _one(table.column("item"))


def _one(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column in one piece; those that are in one are not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _kept(archive: Archive, n: int) -> Kept:
    import pyarrow as pa

    table, meta = archive.items, archive.meta
    ids, columns = meta.get("id_names", []), meta.get("column_names", [])
    if table is None or len(table) != n:
        return keep(n)
    stored = ["item", *(f"id.{i}" for i in range(len(ids))), *(f"column.{i}" for i in range(len(columns)))]
    named = all(isinstance(name, str) for name in columns) and all(isinstance(name, str | None) for name in ids)
    if not named or table.column_names != stored or len(set(columns)) != len(columns):
        raise InvalidInput("the columns of its items are not those of its header")
    return Kept(
        tuple(_one(table.column(f"id.{i}")) for i in range(len(ids))),
        tuple(ids),
        pa.table({name: table.column(f"column.{i}") for i, name in enumerate(columns)}),
    )


def _full(arrays: Mapping[str, np.ndarray], n: int) -> Tree | None:
    if "full_parent" not in arrays:
        return None
    full = Tree(arrays["full_parent"], arrays["full_height"])
    if full.n_leaves != n:
        raise InvalidInput(f"the binary tree has {full.n_leaves} leaves for {n} items")
    return full


def _names(names: list[Any], g: int) -> list[str]:
    if len(names) != g or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"it has {len(names)} names for {g} groups")
    return [printable(name) for name in names]


def _keywords(found: list[Any], g: int) -> list[list[Keyword]]:
    if len(found) != g:
        raise InvalidInput(f"it has keywords of {len(found)} for {g} groups")
    return [[_keyword(*entry) for entry in entries] for entries in found]


def _keyword(term: Any, contrast: Any, share: Any, words: Any) -> Keyword:
    if not (math.isfinite(contrast) and math.isfinite(share) and isinstance(words, list)):
        raise InvalidInput("a keyword has values that are not finite")
    return Keyword(printable(term), float(contrast), float(share), tuple(str(word) for word in words))


def _levels(levels: list[Any], n: int) -> list[tuple[int, float | None]]:
    found = []
    for k, stability in levels:
        if not isinstance(k, int) or not 1 <= k <= n or (stability is not None and not math.isfinite(stability)):
            raise InvalidInput("a level has an impossible number of clusters")
        found.append((k, None if stability is None else float(stability)))
    return found


def _geometry(arrays: Mapping[str, np.ndarray]) -> Geometry:
    central, boundary = (arrays[name].astype(np.int64) for name in ("central", "boundary"))
    return Geometry(arrays.get("centres"), central, boundary, arrays.get("cohesion"))


def _also(arrays: Mapping[str, np.ndarray], tree: Tree) -> AlsoIn | None:
    if "also_start" not in arrays:
        return None
    return checked_also(arrays["also_start"], arrays["also_node"], arrays["also_share"], tree)


def _keys(arrays: Mapping[str, np.ndarray]) -> np.ndarray | None:
    keys = arrays.get("keys")
    if keys is not None and ((np.diff(np.sort(keys)) == 0).any() or keys.max() >= _MOST_KEYS):
        raise InvalidInput("its keys are not all different")
    return keys


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_KEYS:
        raise InvalidInput(f"its next key is {str(value)[:20]!r}")
    return value


def _possible(facts: Facts, edits: Edits) -> Edits:
    apply_edits(facts.base, edits, facts.keys, facts.next_key)
    return edits


def _longest(facts: Facts, edits: Edits) -> Edits:
    """The edits up to the first that cannot be done."""
    for k in range(len(edits), -1, -1):
        try:
            return _possible(facts, Edits(edits.done[:k]))
        except InvalidInput:
            continue
    return Edits()
