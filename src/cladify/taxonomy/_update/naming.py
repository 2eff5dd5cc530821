"""Names of the groups that changed, from their items and those beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cladify._kit.text import printable
from cladify.taxonomy._names.names import Keyword, choose_names, node_keywords
from cladify.taxonomy._names.plain import are_numbered, is_id
from cladify.text import static_vectors
from cladify.text._clean import own_words
from cladify.text._terms import count_terms
from cladify.tree import Tree

__all__ = ["name_again"]

#: Texts of a group to be named, and of each beside it, that names are made from.
_TEXTS, _BESIDE = 200, 40
#: Central items of a group that may name it.
_SHOWN = 4
#: Texts, at most, that lines are compared with.
_OTHERS = 20_000


def name_again(
    tree: Tree,
    items: Any,
    texts: Callable[[np.ndarray], list[str]],
    groups: Sequence[int],
    names: list[str],
    keywords: list[list[Keyword]],
    central: np.ndarray,
) -> None:
    """Give ``groups`` (nodes) names and keywords in the lists; the other names stay, and new ones differ from them.

    ``texts`` are what some rows say. A small tree stands for the large one: the parents of these groups, and the
    groups in each, with some items.
    """
    n = tree.n_leaves
    asked = set(groups)
    parents = sorted({int(tree.parent[v]) for v in groups})
    rows: list[np.ndarray] = []
    within: list[np.ndarray] = []  # what each item is in: a group, or (counted from -1 down) a parent
    inner: list[tuple[int, int]] = []  # a group, and its parent's place among parents
    for at, p in enumerate(parents):
        children = tree.children(p)
        for child in children[children >= n].tolist():
            rows.append(_some(tree, child, _TEXTS if child in asked else _BESIDE))
            within.append(np.full(len(rows[-1]), len(inner)))
            inner.append((child, at))
        rows.append(children[children < n][:_BESIDE])
        within.append(np.full(len(rows[-1]), -1 - at))
    chosen, place = np.concatenate(rows), np.concatenate(within)
    k, g, top = len(chosen), len(inner), len(parents)
    place = np.where(place >= 0, k + place, k + g - 1 - place)
    parent = np.concatenate([place, [k + g + at for _, at in inner], [k + g + top] * top, [-1]])
    nodes = [v for v, _ in inner] + parents
    if top == 1:  # the only parent is the root
        parent = parent[:-1]
        parent[-1] = -1
    small = Tree(parent)
    shown_rows = np.setdiff1d(central[np.array(groups) - n][:, :_SHOWN], [*chosen, -1])
    said = texts(np.concatenate([chosen, shown_rows]))
    others: list[str] = []
    if any("\n" in text for text in said):  # lines that texts of other groups have, too, say nothing
        others = texts(np.setdiff1d(_some(tree, tree.root, _OTHERS), [*chosen, *shown_rows]))
    cleaned = own_words(said, others)
    own = dict(zip(said, cleaned, strict=True))
    terms = count_terms(cleaned[: len(chosen)], min_texts=2)
    at_small = {k + i: v for i, v in enumerate(nodes)}
    wanted = [u for u, v in at_small.items() if v in asked and u < k + g]
    found = node_keywords(small, terms, groups=wanted, vectors=static_vectors) if len(terms) else None
    known = [list(keywords[at_small[u] - n]) if u in at_small else [] for u in range(k, small.n_nodes)]
    for u in wanted:
        known[u - k] = found[u - k] if found is not None else []
    kept = {u: names[v - n] for u, v in at_small.items() if u not in wanted}
    says = not are_numbered(items)
    shown = [
        [text for text in _texts(items, central[at_small[u] - n], own) if not is_id(text)]
        if u in at_small and says
        else []
        for u in range(k, small.n_nodes)
    ]
    given = choose_names(small, known, shown, terms, kept=kept)
    for u in wanted:
        v = at_small[u]
        names[v - n], keywords[v - n] = given[u - k], known[u - k]


def _some(tree: Tree, v: int, most: int) -> np.ndarray:
    first, size = int(tree.first[v]), int(tree.size[v])
    k = min(most, size)
    return tree.leaf_order[first + (2 * np.arange(k) + 1) * size // (2 * k)]


def _texts(items: Any, rows: np.ndarray, own: dict[str, str]) -> list[str]:
    shown = [items[int(i)].as_py() for i in rows[:_SHOWN] if i >= 0]
    return [printable(own.get(item, item) if isinstance(item, str) else item) for item in shown]
