"""Measures of all groups of a taxonomy at once, each NaN where it cannot be told.

Large taxonomies are measured on a sample of their items, spread evenly over the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify import _fit
from cladify.errors import CladifyError
from cladify.taxonomy._names.names import ITEM_MARK
from cladify.taxonomy._read.geometry import groups_by_depth
from cladify.text import StaticModel, TextEmbedder
from cladify.text._terms import Terms
from cladify.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "EmbeddedRows",
    "Neighbors",
    "coherence",
    "duplicates",
    "name_to_items",
    "neighbors_inside",
    "ranked_agreement",
    "spread_rows",
    "stability",
]

#: Neighbours looked at for each item.
_K = 10
#: Rows that neighbours are looked for among, at most.
_AMONG = 50_000
#: Items whose order by nearness is looked at, at most.
_RANKED = 2000
#: A group with fewer sampled items is not measured.
FEWEST = 3


def spread_rows(tree: Tree, most: int) -> np.ndarray:
    """At most so many leaves, spread evenly over the tree; ascending."""
    n = tree.n_leaves
    order = tree.leaf_order
    return np.sort(order if n <= most else order[np.linspace(0, n - 1, most).astype(np.int64)])


class EmbeddedRows:
    """Vectors of texts, made when rows are asked for: those of a taxonomy from a file are not at hand."""

    def __init__(self, texts: pa.Array, embedder: TextEmbedder) -> None:
        self._texts, self._embedder = texts, embedder

    @classmethod
    def of(cls, texts: pa.Array, embedder: TextEmbedder | None) -> EmbeddedRows | None:
        """None where the vectors cannot be made: without an embedder, or without the model that it used."""
        if embedder is None or not len(texts):
            return None
        made = cls(texts, embedder)
        try:
            made[np.zeros(1, np.int64)]
        except CladifyError:
            return None
        return made

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self._embedder.transform(self._texts.take(rows).to_pylist())


class Neighbors:
    """Nearest neighbours of sampled items.

    Attributes
    ----------
    rows : int array of shape (m,)
    near : int array of shape (m, k)
        Items nearest to each, itself left out.
    """

    def __init__(self, X: np.ndarray | EmbeddedRows, rows: np.ndarray, tree: Tree, metric: str) -> None:
        among = spread_rows(tree, _AMONG)
        targets, half = _nearness(X, among, metric)
        place = np.searchsorted(among, rows)  # both are spread over the same tree: a sampled row may be left out
        inside = (place < len(among)) & (among[np.minimum(place, len(among) - 1)] == rows)
        self.rows, place = rows[inside], place[inside]
        k = min(_K, len(among) - 1)
        near = np.empty((len(self.rows), k), np.int64)
        for start in range(0, len(self.rows), 512):
            at = place[start : start + 512]
            values = targets[at] @ targets.T - half
            values[np.arange(len(at)), at] = -np.inf
            near[start : start + len(at)] = among[np.argpartition(-values, k - 1, axis=1)[:, :k]]
        self.near = near


def _nearness(X: np.ndarray | EmbeddedRows, rows: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows T and numbers h: those nearest to row i have the largest T[i] @ T.T - h."""
    targets = np.asarray(X[rows], np.float32)
    if metric in ("cosine", "dot"):
        return targets / np.maximum(np.linalg.norm(targets, axis=1, keepdims=True), 1e-12), np.zeros(len(targets))
    targets = targets - targets.mean(axis=0)
    return targets, 0.5 * np.einsum("ij,ij->i", targets, targets)


def ranked_agreement(
    X: np.ndarray | EmbeddedRows, tree: Tree, metric: str, labels: Sequence[np.ndarray]
) -> list[float]:
    """For each labelling: of as many nearest items as the own group has others, the share in it, beyond chance.

    Labels below 0 are in no group. Measured on items spread over the tree; NaN where there is only one group.
    """
    rows = spread_rows(tree, _RANKED)
    targets, half = _nearness(X, rows, metric)
    m = len(rows)
    total, count = np.zeros(len(labels)), np.zeros(len(labels))
    for start in range(0, m, 512):
        at = np.arange(start, min(start + 512, m))
        values = targets[at] @ targets.T - half
        values[np.arange(len(at)), at] = np.inf  # an item is the first in its own row
        order = np.argsort(-values, axis=1, kind="stable")
        for i, every in enumerate(labels):
            label = every[rows]
            size = np.bincount(label[label >= 0], minlength=1)
            own = label[at]
            others = np.where(own >= 0, size[own], 0) - 1
            known = (others > 0) & (others < m - 1)
            same = np.cumsum(label[order[known]] == own[known, None], axis=1) - 1
            hits = same[np.arange(len(same)), others[known]] / others[known]
            chance = others[known] / (m - 1)
            total[i] += ((hits - chance) / (1.0 - chance)).sum()
            count[i] += known.sum()
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).tolist()


def neighbors_inside(tree: Tree, found: Neighbors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each group: the share of its items' neighbours that are in it, in a sibling, and the sibling with most.

    Returns
    -------
    inside, beside : float arrays, one entry a group
    rival : int array
        The sibling (a node), -1 for none.
    """
    n, m = tree.n_leaves, tree.n_nodes
    inside, beside = np.full(m - n, np.nan), np.full(m - n, np.nan)
    rival = np.full(m - n, -1, np.int64)
    table = groups_by_depth(tree)
    for d in range(1, table.shape[1]):
        own = table[found.rows, d]
        at = np.flatnonzero(tree.node_depth[own] == d)
        if not len(at):
            continue
        own = own[at, None]
        other = table[found.near[at], d]
        count = np.bincount(own[:, 0] - n, minlength=m - n).astype(float)
        here = np.bincount(own[:, 0] - n, (other == own).mean(axis=1), m - n)
        sibling = (other != own) & (tree.parent[other] == tree.parent[own]) & (other >= n)
        there = np.bincount(own[:, 0] - n, sibling.mean(axis=1), m - n)
        enough = count >= FEWEST
        inside[enough], beside[enough] = here[enough] / count[enough], there[enough] / count[enough]
        pair, times = np.unique(np.broadcast_to(own, other.shape)[sibling] * m + other[sibling], return_counts=True)
        for key in np.argsort(times, kind="stable").tolist():  # the last one is the most common
            v, u = divmod(int(pair[key]), m)
            rival[v - n] = u
    return inside, beside, rival


def duplicates(tree: Tree, code: np.ndarray) -> np.ndarray:
    """Share of each group's items that repeat another of the group; ``code`` is the same for equal items."""
    n, m = tree.n_leaves, tree.n_nodes
    table = groups_by_depth(tree)
    different = np.zeros(m - n)
    for d in range(table.shape[1]):
        rows = np.flatnonzero(tree.node_depth[table[:, d]] == d)
        pairs = np.unique(table[rows, d] * (int(code.max(initial=0)) + 1) + code[rows])
        different += np.bincount(pairs // (int(code.max(initial=0)) + 1) - n, minlength=m - n)
    return 1.0 - different / tree.size[n:]


def coherence(terms: Terms, keywords: Sequence[Sequence[str]]) -> np.ndarray:
    """Mean NPMI of the pairs of each group's keywords over the texts; NaN for fewer than two known ones.

    NPMI of two terms is log(p(a, b) / p(a) p(b)) / -log p(a, b): 1 where they always occur together, 0 where they are
    independent, -1 where they never do.
    """
    n_texts = terms.times.shape[0]
    by_text = {text.lower(): i for i, text in reversed(list(enumerate(terms.shown)))}
    columns = terms.counts.tocsc()
    found = np.full(len(keywords), np.nan)
    for g, words in enumerate(keywords):
        known = [by_text[word.lower()] for word in words if word.lower() in by_text]
        texts = [set(columns.indices[columns.indptr[c] : columns.indptr[c + 1]].tolist()) for c in known]
        if len(texts) >= 2:
            found[g] = np.mean([_npmi(len(a & b), len(a), len(b), n_texts) for a, b in combinations(texts, 2)])
    return found


def _npmi(both: int, a: int, b: int, n: int) -> float:
    if not both:
        return -1.0
    return 1.0 if both == n else float(np.log(both * n / (a * b)) / -np.log(both / n))


def name_to_items(tree: Tree, names: dict[int, str], rows: np.ndarray, texts: list[str]) -> np.ndarray:
    """Share of each group's sampled items that are nearer to its name than to a sibling's, by static word vectors.

    NaN for groups without siblings, and for all where the vectors are not installed.
    """
    n, m = tree.n_leaves, tree.n_nodes
    right = np.full(m - n, np.nan)
    model = StaticModel.find()
    if model is None:
        return right
    items = model.encode(texts)
    of_name = model.terms([names[v].replace(ITEM_MARK, ", ") for v in range(n, m)])
    table = groups_by_depth(tree)
    for d in range(1, table.shape[1]):
        own = table[rows, d]
        at = np.flatnonzero(tree.node_depth[own] == d)
        for p in np.unique(tree.parent[own[at]]).tolist():
            inner = tree.children(p)[tree.children(p) >= n]
            mine = at[tree.parent[own[at]] == p]
            if len(inner) < 2:
                continue
            nearest = inner[np.argmax(items[mine] @ of_name[inner - n].T, axis=1)]
            for v in inner.tolist():
                here = own[mine] == v
                if here.sum() >= FEWEST:
                    right[v - n] = float((nearest[here] == v).mean())
    return right


def stability(
    tree: Tree, X: np.ndarray | EmbeddedRows, metric: str, *, resamples: int, most: int, random_state: int = 0
) -> np.ndarray:
    """How well each group is found again in trees of random halves of the items: mean over the best Jaccard index.

    Only groups with at least five items in a half are measured.
    """
    n, m = tree.n_leaves, tree.n_nodes
    total, count = np.zeros(m - n), np.zeros(m - n)
    random = np.random.default_rng(random_state)
    position = np.empty(n, np.int64)
    position[tree.leaf_order] = np.arange(n)
    for _ in range(resamples):
        rows = np.sort(random.choice(n, min(max(n // 2, 2), most), replace=False))
        new: Any = _fit.fit(np.asarray(X[rows], np.float32), metric=metric, random_state=random_state)
        place = position[rows][new.leaf_order]  # in the old tree, in the order of the new one
        start, end = new.first[new.n_leaves :], new.last[new.n_leaves :]
        for v in range(n, m):
            here = (tree.first[v] <= place) & (place < tree.last[v])
            size = int(here.sum())
            if size < 5:
                continue
            sums = np.concatenate([[0], np.cumsum(here)])
            both = sums[end] - sums[start]
            total[v - n] += float((both / (end - start + size - both)).max())
            count[v - n] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
