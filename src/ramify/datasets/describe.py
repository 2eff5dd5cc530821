"""Words for the branches of a tree over texts: what they are about, where they come from, what is typical of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ramify.errors import RamifyWarning

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


def describe_groups(tree: Tree, corpus: Docstrings, *, n_groups: int, n_branches: int) -> list[Group]:
    """Two nested cuts of the tree in words, the largest first.

    Parameters
    ----------
    tree : Tree over the rows of ``corpus``
    corpus : Docstrings
    n_groups, n_branches : int
        Clusters of the coarse and of the fine cut; outliers stay with the branch they joined.
    """
    n = tree.n_leaves
    crumb = max(1, n // (20 * n_branches))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RamifyWarning)
        coarse = tree.cut(min(n_groups, n), min_size=crumb)
        fine = tree.cut(min(n_branches, n), min_size=crumb)
    groups = []
    for members in _clusters(coarse):
        inside = [members[part] for part in _clusters(fine[members])]
        mean = np.asarray(corpus.tfidf[members].mean(axis=0)).ravel()
        group = describe_cluster(corpus, members)
        parts = [describe_cluster(corpus, part, mean, group.terms) for part in inside] if len(inside) > 1 else []
        groups.append(Group(members, group.terms, group.home, group.share, group.examples, parts))
    return groups


def _clusters(labels: np.ndarray) -> list[np.ndarray]:
    """Positions of each label, the largest cluster first."""
    by_label = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return sorted((rows for rows in by_label if len(rows)), key=lambda rows: (-len(rows), rows[0]))


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
