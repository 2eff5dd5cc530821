"""Names that are no choice of terms: labels, groups without texts, items that are only ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cladify._kit.text import shorten
from cladify.tree import Tree

__all__ = ["NO_TEXT", "are_numbered", "is_id", "label_names", "mostly_empty"]

#: Name of a group most of whose texts are empty.
NO_TEXT = "no text"
#: A label names a group from this share of its items on.
_MAJORITY = 0.5
_FEWEST = 20  # items of which one can say that they differ by their numbers alone
_LOOKED_AT = 200
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def is_id(text: str) -> bool:
    """Whether a text is only a number or an identifier: no word of letters, or one long run with many digits.

    >>> [is_id(text) for text in ("79283", "a-17", "3fa85f64-5717-4562", "oak", "Boeing 747", "中文")]
    [True, True, True, False, False, False]
    """
    digits = sum(map(str.isdigit, text))
    return _LETTERS.search(text) is None or (" " not in text and digits >= 4 and 2 * digits >= len(text))


def are_numbered(items: Any) -> bool:
    """Whether all items are one text but for their numbers, such as those of a folder of pictures.

    Parameters
    ----------
    items : Arrow array

    Examples
    --------
    >>> import pyarrow as pa
    >>> are_numbered(pa.array([f"img_{i:04d}.png" for i in range(30)]))
    True
    >>> are_numbered(pa.array(["class 1", "class 2", "class 3"] * 10))  # of a few kinds: that says something
    False
    """
    if len(items) < _FEWEST:
        return False
    rows = np.unique(np.linspace(0, len(items) - 1, min(len(items), _LOOKED_AT)).astype(np.int64))
    texts = [items[int(i)].as_py() for i in rows]
    if not all(isinstance(text, str) for text in texts) or len(set(texts)) < len(texts):
        return False
    return len({_DIGITS.sub("", text) for text in texts}) == 1


def mostly_empty(tree: Tree, empty: np.ndarray | None, names: list[str]) -> list[str]:
    """The names, with groups that hold mostly empty texts called so."""
    if empty is None or not empty.any():
        return names
    n = tree.n_leaves
    total = np.concatenate([[0], np.cumsum(empty[tree.leaf_order])])
    names = list(names)
    for v in range(n, tree.root):
        if 2 * (total[tree.last[v]] - total[tree.first[v]]) > tree.size[v]:
            beside = [names[int(u) - n] for u in tree.children(tree.parent[v]) if n <= u < v]
            number = sum(name.startswith(NO_TEXT) for name in beside) + 1
            names[v - n] = NO_TEXT if number == 1 else f"{NO_TEXT} ({number})"
    return names


def label_names(tree: Tree, labels: Sequence[str], names: list[str]) -> list[str]:
    """The names, with a group that has a majority label called by it and its share; siblings keep different names."""
    n = tree.n_leaves
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(label, len(codes)) for label in labels], np.int64)
    known = list(codes)
    names = list(names)
    for p in range(tree.root, n - 1, -1):
        inner = [int(u) for u in tree.children(p) if u >= n]
        found = {}
        for v in inner:
            count = np.bincount(code[tree.members(v)], minlength=len(known))
            best = int(count.argmax())
            if known[best] and count[best] > _MAJORITY * tree.size[v]:
                found[v] = known[best], count[best] / tree.size[v]
        often = Counter(label for label, _ in found.values())
        for v, (label, share) in found.items():
            name = f"{shorten(label, 80)} ({share:.0%})"
            names[v - n] = name if often[label] == 1 else f"{name}: {names[v - n]}"
    return names
