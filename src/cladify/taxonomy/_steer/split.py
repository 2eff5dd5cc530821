"""Parts of a group that is split by hand, and what they are called."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from cladify._kit.params import check_int
from cladify.errors import CladifyWarning, InvalidInput
from cladify.graphtree import GraphTree
from cladify.taxonomy._names.names import choose_names, node_keywords
from cladify.taxonomy._names.plain import is_id
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.text import static_vectors
from cladify.text._clean import own_words
from cladify.text._terms import count_terms
from cladify.tree import Tree

__all__ = ["name_parts", "split_rows"]


def split_rows(now: Snapshot, v: int, k: int, X: Any, metric: str) -> list[np.ndarray]:
    """The items of group ``v`` in k parts: by a tree of their own where the vectors are at hand, else by the whole one.

    Parts of less than a fifth of the average go with their siblings, as in every cut for reading.
    """
    rows = now.tree.members(now.group(v))
    k = check_int("k", k, low=2, high=len(rows) // 2, why=f"for a group of {len(rows)} items")
    if isinstance(X, np.ndarray) and len(X) == now.n_items:
        tree = GraphTree(metric=metric).fit(X[rows]).tree_
    else:
        tree = now.facts.full.prune(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CladifyWarning)  # a tree without as many splits: said below
        labels = tree.cut(n_clusters=k, by="spread", min_size=max(2, len(rows) // (5 * k)))
    parts = [rows[labels == c] for c in range(int(labels.max()) + 1)]
    if len(parts) < 2:
        raise InvalidInput(f"group {v} has no two parts of {max(2, len(rows) // (5 * k))} items or more.")
    return parts


def name_parts(now: Snapshot, v: int, parts: list[np.ndarray]) -> list[str]:
    """Names of the parts: words that tell them from each other; numbers where there are no texts."""
    (whole,) = now.names_of([v])
    numbered = [f"{whole} {i}" for i in range(1, len(parts) + 1)]
    if not now.facts.has_items:
        return numbered
    rows = np.concatenate(parts)
    texts = ["" if now.item(i) is None else str(now.item(i)) for i in rows.tolist()]
    n, k = len(rows), len(parts)
    parent = np.concatenate([n + np.repeat(np.arange(k), [len(part) for part in parts]), np.full(k, n + k), [-1]])
    tree = Tree(parent, np.concatenate([np.zeros(n), np.ones(k), [2.0]]))
    terms = count_terms(own_words(texts))
    if not len(terms):
        return numbered
    keywords = node_keywords(tree, terms, None, vectors=static_vectors)
    firsts = [[texts[i] for i in tree.members(n + g)[:3] if texts[i] and not is_id(texts[i])] for g in range(k + 1)]
    return choose_names(tree, keywords, firsts, terms)[:k]
