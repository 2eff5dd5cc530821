"""A taxonomy in parts, as its file holds them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cladify._kit.text import printable
from cladify.errors import InvalidInput
from cladify.taxonomy._also import Beside, checked_beside
from cladify.taxonomy._edits import Edit, Edits
from cladify.taxonomy._file import release
from cladify.taxonomy._geometry import Geometry
from cladify.taxonomy._names import Keyword
from cladify.taxonomy._words import WordIndex
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

    from cladify.taxonomy.taxonomy import Taxonomy

__all__ = ["edit_lists", "from_parts", "parts_of"]

T = TypeVar("T", bound="Taxonomy")
#: From so many items on, the index of words is kept in the file, and the binary tree is made only when asked for.
INDEXED = 20_000
_META_KEYS = {"names": list, "keywords": list, "levels": list, "edits": list, "undone": list, "info": dict}


def parts_of(taxonomy: Taxonomy) -> tuple[dict[str, Any], pa.Array, dict[str, np.ndarray]]:
    """Header, items and arrays."""
    geometry = taxonomy._geometry
    arrays = {
        "parent": taxonomy._base.parent,
        "height": taxonomy._base.height,
        "central": geometry.central,
        "boundary": geometry.boundary,
    }
    if taxonomy._full is None:
        parent, height = taxonomy._full_arrays
        arrays |= {"full_parent": parent, "full_height": height}
    elif taxonomy._full is not taxonomy._base:
        arrays |= {"full_parent": taxonomy._full.parent, "full_height": taxonomy._full.height}
    if taxonomy._has_items and taxonomy.n_items >= INDEXED:
        arrays |= taxonomy.words.to_arrays()
    if geometry.centres is not None:
        arrays["centres"] = geometry.centres
    if geometry.cohesion is not None:
        arrays["cohesion"] = geometry.cohesion
    if taxonomy._firm is not None:
        arrays["firmness"] = taxonomy._firm
    if taxonomy._beside is not None:
        beside = taxonomy._beside
        arrays |= {"also_start": beside.start, "also_node": beside.node, "also_share": beside.share}
    words: dict[str, Any] = {}
    if taxonomy._embedder is not None:
        more, words = taxonomy._embedder.to_arrays()
        arrays |= more
    meta = {
        "n_items": taxonomy.n_items,
        "has_items": taxonomy._has_items,
        "names": taxonomy._names,
        "keywords": [[[k.term, k.contrast, k.share, list(k.words)] for k in found] for found in taxonomy._keywords],
        "levels": [list(entry) for entry in taxonomy._sizes],
        **edit_lists(taxonomy),
        "vectors": taxonomy.vectors_at,
        "info": taxonomy.info,
        "tree_info": taxonomy._base.info,
        "embedder": words,
    }
    return meta, taxonomy._items, arrays


def edit_lists(taxonomy: Taxonomy) -> dict[str, Any]:
    """The edits done and undone in plain values."""
    edits = taxonomy.edits
    return {"edits": [edit.to_dict() for edit in edits.done], "undone": [edit.to_dict() for edit in edits.undone]}


def from_parts(cls: type[T], meta: dict[str, Any], items: pa.Array, arrays: dict[str, np.ndarray]) -> T:
    """The taxonomy that :func:`parts_of` took apart, with everything checked against everything else."""
    from cladify.taxonomy._embed import TextEmbedder

    for key, kind in _META_KEYS.items():
        if not isinstance(meta[key], kind):
            raise InvalidInput(f"{key} of its header is not a {kind.__name__}")
    made = cls.__new__(cls)
    made._base = Tree(arrays["parent"], arrays["height"], info=meta.get("tree_info") or {})
    full = Tree(arrays["full_parent"], arrays["full_height"]) if "full_parent" in arrays else made._base
    made._full = None if full.n_leaves >= INDEXED and full is not made._base else full  # few need it; it is large
    made._full_arrays = (arrays.get("full_parent"), arrays.get("full_height"))
    n, n_inner = made._base.n_leaves, made._base.n_nodes - made._base.n_leaves
    if not n == full.n_leaves == len(items) == meta["n_items"]:
        raise InvalidInput(f"it has {len(items)} items for {n} leaves")
    made._items = items
    made._has_items = bool(meta.get("has_items", True))
    made._names = [printable(name) for name in meta["names"]]
    made._keywords = [[_keyword(entry) for entry in found] for found in meta["keywords"]]
    if len(made._names) != n_inner or len(made._keywords) != n_inner:
        raise InvalidInput(f"it has {len(made._names)} names for {n_inner} groups")
    made._sizes = [(int(k), None if s is None else float(s)) for k, s in meta["levels"]]
    if any(not 1 <= k <= n for k, _ in made._sizes):
        raise InvalidInput("a level has an impossible number of clusters")
    made.edits = Edits([Edit.from_dict(e) for e in meta["edits"]], [Edit.from_dict(e) for e in meta["undone"]])
    vectors = meta.get("vectors")
    made.vectors_at = vectors if isinstance(vectors, dict) else None
    made.info = meta["info"]
    made._X = None
    made._geometry = Geometry(
        _checked(arrays, "centres", (n_inner, None), "f"),
        _rows(arrays, "central", n_inner, n),
        _rows(arrays, "boundary", n_inner, n),
        _checked(arrays, "cohesion", (n_inner,), "f"),
    )
    made._firm = None
    if "firmness" in arrays:
        made._firm = _checked(arrays, "firmness", (n, max(made._base.depth, 1)), "u")
    made._beside = _beside(arrays, made._base)
    if "words_rows" in arrays:
        made.__dict__["words"] = WordIndex.from_arrays(arrays, n)
    words = meta.get("embedder")
    made._embedder = TextEmbedder.from_arrays(arrays, words) if words else None
    _ = made._edited  # edits that cannot be done are found now
    release(arrays.values())
    return made


def _keyword(entry: Any) -> Keyword:
    term, contrast, share, words = entry
    return Keyword(printable(term), float(contrast), float(share), tuple(str(word) for word in words))


def _checked(
    arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int | None, ...], kind: str
) -> np.ndarray | None:
    array = arrays.get(name)
    if array is None:
        return None
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind != kind or not np.isfinite(array).all():
        raise InvalidInput(f"{name} has shape {array.shape} and dtype {array.dtype.str}")
    return array


def _beside(arrays: Mapping[str, np.ndarray], tree: Tree) -> Beside | None:
    start = _checked(arrays, "also_start", (tree.n_leaves + 1,), "i")
    if start is None:
        return None
    node, share = _checked(arrays, "also_node", (None,), "i"), _checked(arrays, "also_share", (None,), "u")
    if node is None or share is None:
        raise InvalidInput("also_node and also_share are missing")
    return checked_beside(start, node, share, tree)


def _rows(arrays: Mapping[str, np.ndarray], name: str, n_inner: int, n: int) -> np.ndarray:
    array = _checked(arrays, name, (n_inner, None), "i")
    if array is None or (array.size and not -1 <= array.min() <= array.max() < n):
        raise InvalidInput(f"{name} names rows that are not there")
    return array.astype(np.int64)
