"""Pairwise precision, recall and F1 of a flat clustering, and the best that a tree can give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from cladify import _core
from cladify._kit.params import check_choice, check_labels
from cladify.errors import InvalidInput
from cladify.metrics._truth import Cover, threads_for
from cladify.tree import Tree
from cladify.tree._either import only_tree

__all__ = ["BestF1", "PairwiseF1", "best_f1", "pairwise_f1"]


class PairwiseF1(float):
    """F1 over pairs, a float, with its ``precision`` and ``recall``."""

    precision: float
    recall: float

    def __new__(cls, f1: float, precision: float = float("nan"), recall: float = float("nan")) -> Self:
        self = super().__new__(cls, f1)
        self.precision, self.recall = precision, recall
        return self

    @classmethod
    def of_counts(cls, both: int, predicted: int, true: int) -> Self:
        """From the numbers of pairs that are together in both clusterings, in the predicted and in the true one."""
        return cls(
            2 * both / (predicted + true) if predicted + true else 1.0,
            both / predicted if predicted else 1.0,
            both / true if true else 1.0,
        )

    @property
    def f1(self) -> float:
        """The value itself."""
        return float(self)

    def __repr__(self) -> str:
        return f"PairwiseF1({float(self):.6g}, precision={self.precision:.6g}, recall={self.recall:.6g})"

    def __str__(self) -> str:
        return float.__repr__(self)


def pairwise_f1(labels: Any, y: Any) -> PairwiseF1:
    r"""Precision, recall and F1 of the pairs that a flat clustering puts together.

    .. math:: \mathrm{Prec} = \frac{|P^\star \cap \hat P|}{|\hat P|}, \quad
              \mathrm{Rec} = \frac{|P^\star \cap \hat P|}{|P^\star|}, \quad
              F_1 = \frac{2\,|P^\star \cap \hat P|}{|\hat P| + |P^\star|}

    where P̂ holds the pairs of points with equal ``labels`` and P* those with equal ``y``.

    Parameters
    ----------
    labels : array of shape (n,)
        Predicted clusters, as from ``tree.cut``. A point with -1 (noise) is alone: it is in no pair.
    y : array of shape (n,)
        True classes; points with -1 are left out.

    Returns
    -------
    PairwiseF1
        F1 as a float, with ``precision`` and ``recall``; each is 1 where there is nothing to be wrong about (no pairs
        predicted, no true pairs).

    Examples
    --------
    >>> pairwise_f1([0, 0, 1, 1], ["a", "a", "a", "b"])
    PairwiseF1(0.4, precision=0.5, recall=0.333333)

    References
    ----------
    Monath, Incremental non-greedy clustering at scale, University of Massachusetts Amherst, 2022, eq. 2.1-2.3.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InvalidInput(f"labels must be one-dimensional, one cluster a point, got shape {labels.shape}.")
    clusters = check_labels(labels, len(labels), name="labels")
    codes = check_labels(y, len(labels))
    kept = codes >= 0
    together = kept & (clusters >= 0)
    cell = clusters[together] * (codes.max(initial=-1) + 1) + codes[together]
    _, both = np.unique(cell, return_counts=True)
    return PairwiseF1.of_counts(
        pairs_within(both), pairs_within(np.bincount(clusters[together])), pairs_within(np.bincount(codes[kept]))
    )


def pairs_within(counts: np.ndarray) -> int:
    counts = counts.astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


@dataclass(frozen=True)
class BestF1:
    """The cut of a tree with the best pairwise F1.

    ``labels`` are its clusters, numbered by smallest leaf, for all leaves of the tree; ``height`` or ``level`` says
    where it was cut when the choice was among heights or rounds.
    """

    f1: float
    precision: float
    recall: float
    n_clusters: int
    labels: np.ndarray = field(repr=False)
    height: float | None = None
    level: int | None = None


def best_f1(tree: Tree, y: Any, *, over: str = "cuts", n_jobs: int | None = -1) -> BestF1:
    r"""The best pairwise F1 that the tree can give as a flat clustering.

    Over all cuts (every way to choose nodes that hold each leaf once) the best is found exactly: F1 is
    :math:`2 \sum_v t_v / (\sum_v p_v + |P^\star|)` over the chosen nodes, with :math:`p_v` pairs and :math:`t_v` pairs
    of equal label in node v. For a given ratio λ the best cut for :math:`\sum_v 2 t_v - \lambda p_v` is a pass up the
    tree, and raising λ to the ratio just found (Dinkelbach) ends at the best one after a few passes, each O(n).

    Parameters
    ----------
    tree : Tree
    y : array of shape (n,)
        Class of each leaf; leaves with -1 do not count.
    over : {"cuts", "heights", "rounds"}
        Choose among all cuts, among ``tree.cut(height=...)``, or among ``tree.partition(level)``.
    n_jobs : int
        Threads.

    Returns
    -------
    BestF1

    Examples
    --------
    >>> from cladify import Tree
    >>> tree = Tree([5, 5, 6, 7, 7, 6, 8, 8, -1], [0, 0, 0, 0, 0, 1, 2, 3, 4])      # (((0, 1), 2), (3, 4))
    >>> best = best_f1(tree, [0, 0, 0, 1, 2])
    >>> best.labels.tolist(), best.f1
    ([0, 0, 0, 1, 2], 1.0)
    >>> best_f1(tree, [0, 0, 0, 1, 2], over="heights").height
    2.0

    References
    ----------
    Monath (see `pairwise_f1`), table 4.6, for the best over rounds. Dinkelbach, On nonlinear fractional programming,
    1967.
    """
    tree = only_tree(tree, "the best F1 over cuts", "jaccard_per_label")
    check_choice("over", over, ["cuts", "heights", "rounds"])
    if over == "rounds" and tree.level is None:
        raise InvalidInput("This tree has no rounds, because it was not made in rounds; use over='heights'.")
    codes = check_labels(y, tree.n_leaves)
    counts = _counts(tree, codes, n_jobs)
    true = pairs_within(np.bincount(codes[codes >= 0]))
    if over == "cuts":
        marked = _best_cut(tree, counts, true)
        labels = _core.tree_top_labels(tree.parent, marked, tree.n_leaves)
        return _outcome(labels, codes)
    largest = tree._largest_height if over == "heights" else tree.level
    assert largest is not None
    where = _best_threshold(largest[tree.n_leaves :], counts[:, tree.n_leaves :], true)
    if over == "heights":
        # Below all heights, every leaf is a cluster of its own.
        height = float(np.nextafter(largest[tree.n_leaves :].min(initial=0.0), -np.inf) if where is None else where)
        return _outcome(tree.cut(height=height), codes, height=height)
    level = 0 if where is None else int(where)
    return _outcome(tree.partition(level), codes, level=level)


def _outcome(labels: np.ndarray, codes: np.ndarray, **where: Any) -> BestF1:
    score = pairwise_f1(labels, codes)
    return BestF1(score.f1, score.precision, score.recall, int(labels.max()) + 1, labels, **where)


def _counts(tree: Tree, codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Pairs, and pairs of equal label, that each node joins; int64[2, m]."""
    cover = Cover.of_codes(codes)
    same = cover.on(tree).joined_pairs(tree._lca, tree.n_nodes, threads_for(n_jobs, tree.n_leaves))
    # Leaves without a label are in no pair: sizes count the others.
    counted = np.zeros(tree.n_nodes, dtype=np.int64)
    counted[: tree.n_leaves] = codes >= 0
    size = _core.tree_sums(tree.parent, counted)
    inside = size * (size - 1) // 2
    joined = inside.copy()
    np.subtract.at(joined, tree.parent[:-1], inside[:-1])
    return np.stack([joined, same])


def _best_cut(tree: Tree, counts: np.ndarray, true: int) -> np.ndarray:
    """Mask of the nodes that are clusters of the best cut; nodes below one may have any value."""
    pairs, same = (_core.tree_sums(tree.parent, joined) for joined in counts)
    best, ratio = np.zeros(tree.n_nodes, dtype=np.uint8), 0.0
    while true:
        marked, both, predicted = _core.best_cut(tree.parent, pairs, same, ratio, tree.n_leaves)
        found = 2 * both / (predicted + true)
        if found <= ratio:
            break
        best, ratio = marked, found
    return best


def _best_threshold(key: np.ndarray, counts: np.ndarray, true: int) -> Any:
    """The key up to which joining nodes gives the best F1; None to join none."""
    order = np.argsort(key, kind="stable")
    predicted, both = np.cumsum(counts[:, order], axis=1)
    last = np.append(key[order][1:] != key[order][:-1], True)[: len(key)]
    f1 = 2 * both[last] / np.maximum(predicted[last] + true, 1)
    if not len(f1) or f1.max() <= 0:
        return None
    return key[order][last][f1.argmax()]
