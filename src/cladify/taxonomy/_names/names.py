"""Names: the terms that set a node apart from its siblings.

The contrast of a term in a node is the log-likelihood ratio (G²) of the texts that have it, against its parent: with k
of the node's texts where e were expected from the parent,

    G² = 2 (k log(k / e) - (k - e))    for k > e,

which is large for a term that is both common here and rare among the siblings, and takes the size of the node into
account: a word of two texts out of three says less than one of two hundred out of three hundred. (c-TF-IDF ranks by
frequency first, so that words which every cluster has come out on top of small ones.) In a node with parts it counts
by how evenly they have the term, so that a name is about all of it.

References
----------
Dunning, Accurate methods for the statistics of surprise and coincidence, Computational Linguistics 19 (1993).
Grootendorst, BERTopic: neural topic modeling with a class-based TF-IDF procedure, arXiv:2203.05794 (2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.progress import Progress
from cladify._kit.text import shorten
from cladify.text._terms import Terms, near_duplicates

if TYPE_CHECKING:
    from cladify.tree import Tree

__all__ = ["ITEM_MARK", "Keyword", "choose_names", "distinct", "node_keywords", "node_sums", "numbered_names"]

#: Between the items that a group without telling terms is called by.
ITEM_MARK = " · "
#: Candidates looked at for each node, keywords kept, terms in a name.
_CANDIDATES = 80
N_KEYWORDS = 24
_N_TERMS = 3
#: A term of less contrast than this is chance (the 0.1 % point of χ² with one degree of freedom), and one of less than
#: this share of the best term's contrast adds nothing to a name.
_SIGNIFICANT = 10.8
_SHARE = 0.15
#: A phrase takes the place of its word if at least this share of the node's texts with the word have the phrase.
_PHRASE = 0.7


@dataclass(frozen=True)
class Keyword:
    """A term of a node: as shown, its contrast G², and the share of the node's texts that have it."""

    term: str
    contrast: float
    share: float
    words: tuple[str, ...] = ()


def node_sums(tree: Tree, counts: Any) -> Any:
    """For each inner node, how many of its texts have each term: CSR of shape (m - n, n_terms).

    Children are added to their parents one depth after the other, so that every text is added once and everything
    above is a sum of a few sums.
    """
    from scipy.sparse import csr_array, vstack

    n, m = tree.n_leaves, tree.n_nodes
    parent, depth = tree.parent, tree.node_depth
    inner_depth = depth[n:]
    rows: list[Any] = [None] * (m - n)
    below: tuple[np.ndarray, Any] | None = None  # nodes of the depth below, and their sums
    by_depth = np.argsort(depth[:n], kind="stable")
    bounds = np.searchsorted(depth[:n][by_depth], np.arange(tree.depth + 2))
    for d in range(tree.depth, 0, -1):
        nodes = n + np.flatnonzero(inner_depth == d - 1)
        position = np.full(m, -1, np.int64)
        position[nodes] = np.arange(len(nodes))
        leaves = by_depth[bounds[d] : bounds[d + 1]]
        total = _grouped(position[parent[leaves]], counts[leaves], len(nodes))
        if below is not None:
            total = total + _grouped(position[parent[below[0]]], below[1], len(nodes))
        below = nodes, csr_array(total)
        for i, v in enumerate(nodes.tolist()):
            rows[v - n] = (below[1], i)
    # Nodes of one depth lie together; put them in the order of their ids.
    blocks = list({id(matrix): matrix for matrix, _ in rows}.values())
    starts = dict(zip((id(matrix) for matrix in blocks), np.cumsum([0, *(b.shape[0] for b in blocks)]), strict=False))
    where = [starts[id(matrix)] + i for matrix, i in rows]
    return csr_array(vstack(blocks, format="csr"))[where] if blocks else csr_array((0, counts.shape[1]))


def _grouped(group: np.ndarray, rows: Any, n_groups: int) -> Any:
    from scipy.sparse import csr_array

    shape = (n_groups, len(group))
    return csr_array((np.ones(len(group), np.float32), (group, np.arange(len(group)))), shape=shape) @ csr_array(rows)


def node_keywords(tree: Tree, terms: Terms, report: Progress | None = None) -> list[list[Keyword]]:
    """Keywords of each inner node, the most telling first; those of the root are its most common terms."""
    n = tree.n_leaves
    sums = node_sums(tree, terms.counts)
    sums.sort_indices()
    dense = np.zeros(len(terms))
    found: list[list[Keyword]] = [[] for _ in range(tree.n_nodes - n)]
    with (report or Progress()).stage("names", tree.n_nodes - n) as advance:
        for p in range(tree.root, n - 1, -1):
            advance()
            columns, values = _row(sums, p - n)
            dense[columns] = values
            for child in tree.children(p).tolist():
                if child >= n:
                    found[child - n] = _keywords_of(terms, sums, dense, child, p, tree)
            dense[columns] = 0.0
        columns, values = _row(sums, tree.root - n)
        common = np.argsort(-values, kind="stable")[:_CANDIDATES]
        shares = values / tree.n_leaves
        every = [Keyword(terms.shown[columns[i]], 0.0, float(shares[i]), terms.words[columns[i]]) for i in common]
        found[tree.root - n] = list(islice(distinct(every, []), N_KEYWORDS))
    return found


def _row(matrix: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return matrix.indices[part], matrix.data[part].astype(np.float64)


def _keywords_of(terms: Terms, sums: Any, parent_sums: np.ndarray, v: int, p: int, tree: Tree) -> list[Keyword]:
    columns, here = _row(sums, v - tree.n_leaves)
    if not len(columns):
        return []
    size = float(tree.size[v])
    rate = parent_sums / float(tree.size[p])
    expected = size * rate[columns]
    contrast = np.where(here > expected, 2.0 * (here * np.log(here / expected) - (here - expected)), 0.0)
    weight = contrast * _evenness(sums, columns, here / size, v, tree)
    # Ties (a phrase and its words in the same texts) go to the longer term, then to the more common one.
    top = np.argsort(-weight, kind="stable")[: 4 * _CANDIDATES].tolist()
    top = sorted((i for i in top if weight[i] > 0), key=lambda i: (-weight[i], -len(terms.words[columns[i]])))
    chosen = [
        Keyword(terms.shown[c], float(weight[i]), float(here[i] / size), terms.words[c])
        for i in top[:_CANDIDATES]
        for c in (columns[i],)
    ]
    return list(islice(distinct(_phrases_first(chosen), []), N_KEYWORDS))


def _evenness(sums: Any, columns: np.ndarray, rate: np.ndarray, v: int, tree: Tree) -> np.ndarray:
    """How evenly the parts of a node have each of its terms: 1 if all have the node's own rate of it or more.

    So a name is about the whole of a node, and a word of one part is left for the name of that part.
    """
    n = tree.n_leaves
    children = tree.children(v)
    inner = children[children >= n]
    if not len(inner):
        return np.ones(len(columns))
    even = np.zeros(len(columns))
    for child in inner.tolist():
        own, here = _row(sums, child - n)
        at = np.searchsorted(columns, own)  # what a part has, the node has
        even[at] += np.minimum(here, tree.size[child] * rate[at])
    return even / (rate * float(tree.size[inner].sum()))


def _phrases_first(keywords: list[Keyword]) -> list[Keyword]:
    """Where most texts with a word have it in one phrase, the phrase takes the word's place."""
    result = []
    for keyword in keywords:
        phrases = [
            other
            for other in keywords
            if len(other.words) > len(keyword.words)
            and set(keyword.words) < set(other.words)
            and other.share >= _PHRASE * keyword.share
        ]
        best = max(phrases, key=lambda other: (other.share, len(other.words)), default=keyword)
        result.append(best)
    return result


def distinct(keywords: Sequence[Keyword], used: list[str]) -> Iterator[Keyword]:
    """Keywords none of whose words says the same as one used before; adds theirs to ``used``."""
    for keyword in keywords:
        if not any(near_duplicates(word, old) or word == old for word in keyword.words for old in used):
            used.extend(keyword.words)
            yield keyword


def choose_names(tree: Tree, keywords: Sequence[Sequence[Keyword]], central: Sequence[Sequence[str]]) -> list[str]:
    """A name for each inner node: its best terms that no name above it has, else its central items.

    Parameters
    ----------
    tree : Tree
    keywords : keywords of each inner node
    central : a few items of each inner node, as text

    Returns
    -------
    list of str
        ``names[i]`` is that of node n + i; names of siblings differ.
    """
    n = tree.n_leaves
    names = [""] * (tree.n_nodes - n)
    names[-1:] = ["all items"] if names else []
    words: dict[int, list[str]] = {tree.root: []}  # words on the path to each node
    for p in range(tree.root, n - 1, -1):
        taken: set[str] = set()
        path = words.pop(p, [])
        inner = [int(child) for child in tree.children(p) if child >= n]
        for v in sorted(inner, key=lambda child: -int(tree.size[child])):
            used = list(path)
            telling = [k for k in keywords[v - n] if k.contrast >= _SIGNIFICANT or k.share >= 0.5]
            best = telling[0].contrast if telling else 0.0
            strong = [k for k in telling if k.contrast >= _SHARE * best]
            chosen = [k.term for k in islice(distinct(strong, used), _N_TERMS)]
            name = ", ".join(chosen) or ITEM_MARK.join(shorten(item, 40) for item in central[v - n][:2] if item.strip())
            names[v - n] = _apart(name or "other", taken, [k.term for k in telling], central[v - n])
            taken.add(names[v - n])
            words[v] = used
    return names


def _apart(name: str, taken: set[str], more_terms: list[str], items: Sequence[str]) -> str:
    """The name, with something added where a sibling has it."""
    if name not in taken:
        return name
    for more in [*more_terms, *(shorten(item, 40) for item in items)]:
        if more.strip() and more not in name and f"{name}, {more}" not in taken:
            return f"{name}, {more}"
    number = 2
    while f"{name} ({number})" in taken:
        number += 1
    return f"{name} ({number})"


def numbered_names(tree: Tree) -> list[str]:
    """Names where nothing is known about the items: numbers that follow the tree."""
    n = tree.n_leaves
    names = [""] * (tree.n_nodes - n)
    names[-1:] = ["all items"] if names else []
    for p in range(tree.root, n - 1, -1):
        inner = sorted((int(c) for c in tree.children(p) if c >= n), key=lambda child: (-int(tree.size[child]), child))
        for i, child in enumerate(inner, 1):
            names[child - n] = f"group {i}" if p == tree.root else f"{names[p - n]}.{i}"
    return names
