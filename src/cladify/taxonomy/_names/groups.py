"""Names and keywords of all groups of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify._kit.text import printable
from cladify.taxonomy._names.names import Keyword, choose_names, node_keywords, numbered_names
from cladify.taxonomy._names.plain import are_numbered, is_id, mostly_empty
from cladify.taxonomy._read.geometry import Geometry
from cladify.text import static_vectors
from cladify.text._clean import own_words
from cladify.text._terms import Terms, count_terms
from cladify.tree import Tree

__all__ = ["name_groups"]


def name_groups(
    tree: Tree, items: Any, geometry: Geometry, texts: list[str] | Terms | None, report: Progress
) -> tuple[list[str], list[list[Keyword]]]:
    """Names and keywords of the groups of the tree as built; numbers where no texts say more than numbers."""
    n = tree.n_leaves
    keywords: list[list[Keyword]] = [[] for _ in range(tree.n_nodes - n)]
    if texts is None:
        return numbered_names(tree), keywords
    terms = texts if isinstance(texts, Terms) else count_terms(own_words(texts), report=report)
    if len(terms) and n > 1:
        keywords = node_keywords(tree, terms, report, vectors=static_vectors)
    if not any(keywords[:-1]) and are_numbered(items):  # central items would say nothing
        return numbered_names(tree), keywords
    central = [_item_texts(items, rows) for rows in geometry.central]
    names = choose_names(tree, keywords, central, terms)
    return mostly_empty(tree, terms.empty, names), keywords


def _item_texts(items: Any, rows: np.ndarray) -> list[str]:
    """Different items of some rows, as text to show, without ids; -1 is no row."""
    texts = (printable(items[int(i)].as_py()) for i in rows if i >= 0)
    return [text for text in dict.fromkeys(texts) if text and not is_id(text)]
