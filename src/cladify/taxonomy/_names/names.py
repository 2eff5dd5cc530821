"""Names: the terms that most items of a node have and its siblings have not.

A term t of a node v with parent p is weighed by

    w(t) = s · log(s / r) · √e · exp(3 c)

where s is the share of v's texts that have t (coverage), r the share of the texts of p outside v (so that the logarithm
is the contrast), e how evenly the parts of v have it (so that a name is about all of v), and c the cosine of t with the
direction in which v differs from p, by vectors of words where there are some. A name is up to three terms, chosen one
after the other by w over the texts that no term before them has: together they cover the node. Where three reach too
few of its texts there is a fourth, and a name of words of names above alone gets one more that is new.

A term counts as a keyword where its log-likelihood ratio (G²) against the parent is more than chance: with k of the
node's texts where e were expected from the parent, G² = 2 (k log(k / e) - (k - e)) for k > e.

References
----------
Dunning, Accurate methods for the statistics of surprise and coincidence, Computational Linguistics 19 (1993).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.progress import Progress
from cladify._kit.text import shorten
from cladify.text._terms import Terms, near_duplicates, telling_words

if TYPE_CHECKING:
    from cladify.tree import Tree

__all__ = ["ITEM_MARK", "Keyword", "choose_names", "distinct", "node_keywords", "node_sums", "numbered_names"]

#: Between the items that a group without telling terms is called by.
ITEM_MARK = " · "
#: Candidates looked at for each node, keywords kept, terms in a name.
_CANDIDATES = 80
N_KEYWORDS = 24
#: Of these, terms that most texts have, whatever their weight: where others reach few texts, a name needs them.
_COMMON = 4
_N_TERMS = 3
#: A term of less contrast than this may be chance (the 5 % point of χ² with one degree of freedom).
_SIGNIFICANT = 3.84
#: A phrase takes the place of its word if at least this share of the node's texts with the word have the phrase.
_PHRASE = 0.7
#: A name should reach this share of a node's texts.
COVERED = 0.3
#: The power of evenness, and how much nearness in meaning counts.
_EVENNESS, _MEANING = 0.5, 3.0
#: What a term counts that has a word of a name above: it says less that is new.
_REPEATED = 0.3
#: What a term counts for texts that another term of the name reaches already; a name that reaches so many needs no
#: term that is so rare.
_OVERLAP = 0.4
_ENOUGH = 0.8
_RARE = 0.1
#: Texts of a node that its name is chosen on; of more, these are spread evenly over it.
_TEXTS = 2000


@dataclass(frozen=True)
class Keyword:
    """A term of a node: as shown, its contrast G², and the share of the node's texts that have it."""

    term: str
    contrast: float
    share: float
    words: tuple[str, ...] = ()
    weight: float = field(default=0.0, repr=False, compare=False)  # by which keywords are ordered
    column: int = field(default=-1, repr=False, compare=False)  # among the terms of the texts


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


def node_keywords(
    tree: Tree,
    terms: Terms,
    report: Progress | None = None,
    *,
    vectors: Callable[[list[str]], np.ndarray | None] | None = None,
    groups: Collection[int] | None = None,
) -> list[list[Keyword]]:
    """Keywords of each inner node, the most telling first; those of the root are its most common terms.

    Parameters
    ----------
    tree : Tree
    terms : Terms of the texts of the leaves
    vectors : function from words to unit vectors or None, optional
        With it, terms near to the centre of their node are preferred.
    groups : nodes, optional
        The nodes to find keywords of; by default all. The others get none.
    """
    n = tree.n_leaves
    asked = None if groups is None else frozenset(map(int, groups))
    sums = node_sums(tree, terms.counts)
    sums.sort_indices()
    of_term = None if vectors is None else vectors(terms.shown)
    meaning = None if of_term is None else _Meaning.of(terms, sums, of_term)
    dense = np.zeros(len(terms))
    found: list[list[Keyword]] = [[] for _ in range(tree.n_nodes - n)]
    with (report or Progress()).stage("names", tree.n_nodes - n) as advance:
        for p in range(tree.root, n - 1, -1):
            advance()
            inner = [child for child in tree.children(p).tolist() if child >= n and (asked is None or child in asked)]
            if not inner:
                continue
            columns, values = _row(sums, p - n)
            dense[columns] = values
            for child in inner:
                found[child - n] = _keywords_of(terms, sums, dense, child, p, tree, meaning)
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


def _keywords_of(
    terms: Terms, sums: Any, parent_sums: np.ndarray, v: int, p: int, tree: Tree, meaning: _Meaning | None
) -> list[Keyword]:
    columns, here = _row(sums, v - tree.n_leaves)
    if not len(columns):
        return []
    size, above = float(tree.size[v]), float(tree.size[p])
    share = here / size
    expected = size * parent_sums[columns] / above
    contrast = np.where(here > expected, 2.0 * (here * np.log(here / expected) - (here - expected)), 0.0)
    # A text is added outside: half of it has a term that is rare, all of it one that all of the parent's texts have.
    outside = (parent_sums[columns] - here + np.maximum(0.5, parent_sums[columns] / above)) / (above - size + 1.0)
    even = _evenness(sums, columns, share, v, tree)
    weight = share * np.log(np.maximum(share / outside, 1.0)) * even**_EVENNESS
    top = np.argsort(-weight, kind="stable")[: 4 * _CANDIDATES]
    top = top[weight[top] > 0]
    if meaning is not None and len(top):
        weight[top] *= np.exp(_MEANING * meaning.nearness(v - tree.n_leaves, p - tree.n_leaves, columns[top]))
    # Ties (a phrase and its words in the same texts) go to the longer term, then to the more common one.
    order = sorted(top.tolist(), key=lambda i: (-weight[i], -len(terms.words[columns[i]])))
    chosen = [
        Keyword(terms.shown[c], float(contrast[i]), float(share[i]), terms.words[c], float(weight[i]), int(c))
        for i in order[:_CANDIDATES]
        for c in (columns[i],)
    ]
    telling = list(islice(distinct(_phrases_first(chosen), []), N_KEYWORDS))
    common = sorted(chosen, key=lambda keyword: -keyword.share)[:_COMMON]
    return [*telling[: N_KEYWORDS - _COMMON], *(k for k in common if k not in telling[: N_KEYWORDS - _COMMON])]


@dataclass(frozen=True)
class _Meaning:
    """Vectors of terms, and of nodes as the mean over their words."""

    of_term: np.ndarray  # unit rows
    of_node: np.ndarray

    @classmethod
    def of(cls, terms: Terms, sums: Any, of_term: np.ndarray) -> _Meaning:
        """From vectors of the terms as shown; a word counts by its rarity, so that common ones do not rule."""
        total = np.asarray(sums[[sums.shape[0] - 1]].sum(axis=0)).ravel()
        rarity = np.log(1.0 + max(float(total.max(initial=1.0)), 1.0) / np.maximum(total, 1.0))
        single = np.array([len(words) == 1 for words in terms.words])
        of_node = np.asarray(sums @ (of_term * (rarity * single)[:, None].astype(np.float32)))
        length = np.linalg.norm(of_node, axis=1, keepdims=True)
        return cls(of_term, of_node / np.maximum(length, 1e-9))

    def nearness(self, v: int, p: int, columns: np.ndarray) -> np.ndarray:
        """Cosine of terms with the direction in which node v differs from node p."""
        away = self.of_node[v] - 0.7 * self.of_node[p]
        return self.of_term[columns] @ (away / max(float(np.linalg.norm(away)), 1e-9))


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
        words = telling_words(keyword.words)
        if not any(near_duplicates(word, old) or word == old for word in words for old in used):
            used.extend(words)
            yield keyword


def choose_names(
    tree: Tree,
    keywords: Sequence[Sequence[Keyword]],
    central: Sequence[Sequence[str]],
    terms: Terms | None = None,
    *,
    kept: Mapping[int, str] | None = None,
) -> list[str]:
    """A name for each inner node: the terms that cover it best, else its central items.

    Terms with words of names above count less.

    Parameters
    ----------
    tree : Tree
    keywords : keywords of each inner node
    central : a few items of each inner node, as text
    terms : Terms, optional
        Which texts have which terms: with them, terms that reach other texts than those before are preferred.
    kept : dict from nodes to names, optional
        Names that stay: no other is chosen for these nodes, and new names below and beside them differ from theirs.

    Returns
    -------
    list of str
        ``names[i]`` is that of node n + i; names of siblings differ.
    """
    n = tree.n_leaves
    names = [""] * (tree.n_nodes - n)
    names[-1:] = ["all items"] if names else []
    standing = kept or {}
    words: dict[int, list[str]] = {tree.root: []}  # words on the path to each node
    counts = None if terms is None else terms.counts
    for p in range(tree.root, n - 1, -1):
        path = words.pop(p, [])
        inner = [int(child) for child in tree.children(p) if child >= n]
        taken = {standing[v] for v in inner if v in standing}
        for rank, v in enumerate(sorted(inner, key=lambda child: -int(tree.size[child])), 1):
            if v in standing:
                names[v - n] = standing[v]
                words[v] = [
                    *path,
                    *(
                        word
                        for keyword in _named(standing[v], keywords[v - n])
                        for word in telling_words(keyword.words)
                    ),
                ]
                continue
            usable = [_without(keyword, path) for keyword in keywords[v - n]]
            has = _texts_with(tree, v, usable, counts)
            chosen = _choose(usable, has, path)
            name = ", ".join(k.term for k in chosen)
            name = name or ITEM_MARK.join(shorten(item, 40) for item in central[v - n][:2] if item.strip())
            names[v - n] = _apart(name or f"group {rank}", taken, usable, chosen, central[v - n])
            taken.add(names[v - n])
            words[v] = [*path, *(word for keyword in chosen for word in telling_words(keyword.words))]
    return names


def _named(name: str, keywords: Sequence[Keyword]) -> Iterator[Keyword]:
    """The keywords that a name is made of."""
    terms = frozenset(name.split(", "))
    return (keyword for keyword in keywords if keyword.term in terms)


def _without(keyword: Keyword, used: list[str]) -> Keyword:
    """A phrase without its first words where names above have these: "metal nickel" below "metal" is "nickel"."""
    shown, first = keyword.term.split(" "), 0
    while first < len(keyword.words) - 1 and keyword.words[first] in used:
        first += 1
    if not first or len(shown) != len(keyword.words):
        return keyword
    return replace(keyword, term=" ".join(shown[first:]), words=keyword.words[first:])


def _texts_with(tree: Tree, v: int, keywords: Sequence[Keyword], counts: Any) -> np.ndarray | None:
    """Which of a node's texts (a sample of a large one) have each keyword: bool (n_keywords, n_texts)."""
    if counts is None or not keywords:
        return None
    rows = tree.leaf_order[tree.first[v] : tree.last[v]]
    if len(rows) > _TEXTS:
        rows = rows[np.linspace(0, len(rows) - 1, _TEXTS).astype(np.int64)]
    columns = np.array([keyword.column for keyword in keywords], np.int64)
    order = np.argsort(columns)
    part = counts[rows]
    at = np.searchsorted(columns[order], part.indices).clip(max=len(columns) - 1)
    hit = columns[order][at] == part.indices
    has = np.zeros((len(columns), len(rows)), bool)
    text = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
    has[order[at[hit]], text[hit]] = True
    return has


def _choose(keywords: list[Keyword], has: np.ndarray | None, path: list[str]) -> list[Keyword]:
    """Three keywords or four: telling ones; all where these reach too few texts, and then those that reach most.

    One of them is not in a name above, where there is such a keyword of a fair share of the texts.
    """
    share = np.array([keyword.share for keyword in keywords])
    above = np.array([not any(True for _ in distinct([keyword], list(path))) for keyword in keywords], bool)
    weight = np.array([keyword.weight for keyword in keywords]) * np.where(above, _REPEATED, 1.0)
    telling = np.array([keyword.contrast >= _SIGNIFICANT for keyword in keywords], bool)
    best: list[Keyword] = []
    reach = -1.0
    for gain in (np.where(telling, weight, 0.0), weight, share):
        found, reached = _cover(keywords, gain, has)
        if reached > reach + (0.05 if best else 0.0):
            best, reach = found, reached
        if reach >= COVERED:
            break
    if best and all(above[keywords.index(keyword)] for keyword in best):
        gain = np.where(~above & (share >= _RARE), weight, 0.0)
        used = [word for keyword in best for word in telling_words(keyword.words)]
        more = [keywords[i] for i in np.argsort(-gain, kind="stable").tolist() if gain[i] > 0]
        best = [*best[: _N_TERMS - 1], *islice(distinct(more, used), 1)]
    return best


def _cover(keywords: list[Keyword], weight: np.ndarray, has: np.ndarray | None) -> tuple[list[Keyword], float]:
    """Keywords by weight over the texts not reached yet; and the share of texts that have one of them.

    Up to three, and a fourth where these reach too few.
    """
    chosen: list[Keyword] = []
    used: list[str] = []
    reached = np.zeros(0 if has is None else has.shape[1], bool)
    total = 0.0
    weight = weight.copy()
    while weight.max(initial=0.0) > 0:
        if len(chosen) >= _N_TERMS and (has is None or total >= COVERED or len(chosen) > _N_TERMS):
            break
        gain = weight
        if has is not None and chosen:
            new = (has & ~reached).sum(axis=1) / np.maximum(has.sum(axis=1), 1)
            gain = weight * (_OVERLAP + (1 - _OVERLAP) * new)
        i = int(np.argmax(gain))
        weight[i] = 0.0
        if not list(distinct([keywords[i]], used)):
            continue
        if chosen and keywords[i].share < _RARE and total >= _ENOUGH:
            break
        chosen.append(keywords[i])
        if has is None:
            total = max(total, keywords[i].share)
        else:
            reached |= has[i]
            total = float(reached.mean()) if len(reached) else 0.0
    return chosen, total


def _apart(name: str, taken: set[str], keywords: list[Keyword], chosen: list[Keyword], items: Sequence[str]) -> str:
    """The name, with something added where a sibling has it."""
    if name not in taken:
        return name
    more = [keyword.term for keyword in distinct(keywords, [word for old in chosen for word in old.words])]
    for text in [*more, *(shorten(item, 40) for item in items)]:
        if text.strip() and text not in name and f"{name}, {text}" not in taken:
            return f"{name}, {text}"
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
