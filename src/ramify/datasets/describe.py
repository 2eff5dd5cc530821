"""Words for the branches of a tree over texts: what they are about, where they come from, what is typical of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ramify.datasets.docstrings import Docstrings
    from ramify.tree import Tree

__all__ = ["Group", "describe_cluster", "describe_groups"]


@dataclass(frozen=True)
class Group:
    """A cluster of docstrings in words."""

    members: np.ndarray
    terms: list[str]  # words commoner here than around it
    home: str  # the module most of it comes from
    share: float  # how much of it
    examples: list[str]  # the members nearest to its centre
    parts: list[Group]  # the finer clusters in it, if there are several

    @property
    def size(self) -> int:
        return len(self.members)


def describe_groups(
    tree: Tree, corpus: Docstrings, *, n_groups: int, n_branches: int
) -> tuple[list[Group], list[Group]]:
    """Two levels of the tree in words, the largest first; and the small branches that leave its trunk beside them.

    Always splitting the largest node gives groups of sizes that a person can take in at a glance, also where a tree
    peels off one small branch after the other or where the heights of its top hardly differ.

    Parameters
    ----------
    tree : Tree over the rows of ``corpus``
    corpus : Docstrings
    n_groups, n_branches : int
        Nodes of the coarse level and of the fine level below it.

    Returns
    -------
    groups, beside : lists of Group
    """
    n = tree.n_leaves
    coarse, beside = _largest_first(tree, [tree.root], n_groups, n // (4 * n_groups))
    fine, _ = _largest_first(tree, coarse, n_branches, n // (20 * n_branches))
    groups = []
    for v in coarse:
        members = tree.members(v)
        mean = np.asarray(corpus.tfidf[members].mean(axis=0)).ravel()
        group = describe_cluster(corpus, members)
        inside = [u for u in fine if u != v and tree.first[v] <= tree.first[u] < tree.last[v]]
        parts = [describe_cluster(corpus, tree.members(u), mean, group.terms) for u in inside]
        groups.append(Group(members, group.terms, group.home, group.share, group.examples, parts))
    shown = [v for v in beside if tree.size[v] > n // (20 * n_branches)]
    return groups, [describe_cluster(corpus, tree.members(v)) for v in shown]


def _largest_first(tree: Tree, nodes: list[int], k: int, crumb: int) -> tuple[list[int], list[int]]:
    """k nodes below ``nodes``, or as many as have more than ``crumb`` leaves, and what leaves the trunk above them."""
    heap = [(-int(tree.size[v]), v) for v in nodes]
    heapify(heap)
    whole: list[tuple[int, int]] = []
    beside: list[tuple[int, int]] = []
    while heap and len(heap) + len(whole) < k:
        size, v = heappop(heap)
        parts, passed = [v], []
        while len(parts) == 1 and parts[0] >= tree.n_leaves:  # the trunk goes on in the one large child
            children = [int(child) for child in tree.children(parts[0])]
            parts = [child for child in children if tree.size[child] > crumb]
            passed += [(-int(tree.size[child]), child) for child in children if tree.size[child] <= crumb]
        if len(parts) < 2:
            whole.append((size, v))
            continue
        beside += passed
        for part in parts:
            heappush(heap, (-int(tree.size[part]), part))
    return [v for _, v in sorted(heap + whole)], [v for _, v in sorted(beside)]


def describe_cluster(
    corpus: Docstrings, members: np.ndarray, around: np.ndarray | None = None, avoid: Sequence[str] = ()
) -> Group:
    """Some rows of the corpus in words.

    Parameters
    ----------
    corpus : Docstrings
    members : rows of the corpus
    around : array of shape (n_terms,), optional
        Mean TF-IDF of what the words should set the rows apart from; by default of the whole corpus.
    avoid : sequence of str
        Words that have been used already.
    """
    if around is None:
        around = np.asarray(corpus.tfidf.mean(axis=0)).ravel()
    modules, counts = np.unique(corpus.module[members], return_counts=True)
    mean = np.asarray(corpus.tfidf[members].mean(axis=0)).ravel()
    centre = corpus.X[members].mean(axis=0)
    nearest = members[np.argsort(-(corpus.X[members] @ centre), kind="stable")]
    return Group(
        members=members,
        terms=_terms(corpus.terms, mean - around, avoid),
        home=str(modules[counts.argmax()]),
        share=float(counts.max() / len(members)),
        examples=[corpus.names[i] for i in nearest[:3]],
        parts=[],
    )


def _terms(terms: np.ndarray, contrast: np.ndarray, avoid: Sequence[str], n: int = 3) -> list[str]:
    """The plain words and pairs of words with the largest contrast, no word twice."""
    used = {_stem(word) for term in avoid for word in term.split()}
    chosen: list[str] = []
    for index in np.argsort(-contrast, kind="stable")[:200]:
        term = str(terms[index])
        stems = {_stem(word) for word in term.split()}
        if contrast[index] > 0 and not stems & used and term.replace(" ", "").isalpha():
            chosen.append(term)
            used |= stems
        if len(chosen) == n:
            break
    return chosen


def _stem(word: str) -> str:
    """Enough of a word to tell "matrix" from "matrices" and "polynomial" from "polynomials" as the same."""
    return word[:5]
