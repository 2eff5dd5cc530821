"""How well flat clusters are entities: MUC, B³, CEAF-e and their mean, beside pairwise F1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cladify._kit.params import check_labels
from cladify.errors import InvalidInput

__all__ = ["EntityScore", "b_cubed", "ceaf_e", "conll", "muc"]


class EntityScore(NamedTuple):
    """Precision, recall, and F1, their harmonic mean."""

    precision: float
    recall: float
    f1: float


def b_cubed(labels: Any, y: Any) -> EntityScore:
    r"""B³: the precision and recall of the cluster of an item, averaged over items.

    .. math:: \mathrm{Prec} = \frac{1}{n} \sum_i \frac{|K_i \cap R_i|}{|K_i|}, \quad
              \mathrm{Rec} = \frac{1}{n} \sum_i \frac{|K_i \cap R_i|}{|R_i|}

    where :math:`K_i` is the predicted cluster of item i and :math:`R_i` its entity. O(n log n).

    Parameters
    ----------
    labels : array of shape (n,)
        Predicted clusters; an item with -1 is alone.
    y : array of shape (n,)
        True entities; items with -1 are left out.

    Examples
    --------
    >>> score = b_cubed([0, 0, 1, 1], [0, 0, 0, 1])
    >>> round(score.precision, 3), round(score.recall, 3), round(score.f1, 3)
    (0.75, 0.667, 0.706)

    References
    ----------
    Bagga, Baldwin. Algorithms for scoring coreference chains. 1998.
    """
    cluster, entity, common, predicted, true = _overlaps(labels, y)
    if not len(common):
        return EntityScore(0.0, 0.0, 0.0)
    n = common.sum()
    square = common.astype(np.float64) ** 2
    return _score((square / predicted[cluster]).sum() / n, (square / true[entity]).sum() / n)


def ceaf_e(labels: Any, y: Any) -> EntityScore:
    r"""CEAF-e: clusters and entities are paired one to one, as well as possible.

    .. math:: \Phi = \max_{\text{one to one}} \sum \frac{2\,|K \cap R|}{|K| + |R|}, \quad
              \mathrm{Prec} = \Phi / \#K, \quad \mathrm{Rec} = \Phi / \#R

    The best pairing is found exactly, over the pairs that have an item in common.

    Parameters
    ----------
    labels, y : arrays of shape (n,)
        As in :func:`b_cubed`.

    Examples
    --------
    >>> score = ceaf_e([0, 0, 1, 1], [0, 0, 0, 1])
    >>> round(score.f1, 3)
    0.733

    References
    ----------
    Luo. On coreference resolution performance metrics. 2005.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    cluster, entity, common, predicted, true = _overlaps(labels, y)
    if not len(common):
        return EntityScore(0.0, 0.0, 0.0)
    m, k = len(predicted), len(true)
    likeness = 2.0 * common / (predicted[cluster] + true[entity])
    # A partner of its own, worth nothing, for every cluster: then there is a matching of all.
    row = np.concatenate([cluster, np.arange(m)])
    column = np.concatenate([entity, k + np.arange(m)])
    price = np.concatenate([2.0 - likeness, np.full(m, 2.0)])
    rows, columns = min_weight_full_bipartite_matching(csr_array((price, (row, column)), shape=(m, k + m)))
    worth = csr_array((likeness, (cluster, entity)), shape=(m, k + m))
    total = float(np.asarray(worth[rows, columns]).sum())
    return _score(total / m, total / k)


def muc(labels: Any, y: Any) -> EntityScore:
    r"""MUC: how many links each entity needs, and how many of them the clusters have.

    .. math:: \mathrm{Rec} = \frac{\sum_R |R| - p(R)}{\sum_R |R| - 1}

    where p(R) is the number of clusters that entity R falls into; the precision is the same with clusters and entities
    changed over. Items that are alone count nowhere, and where nothing could be linked a score is 0.

    Parameters
    ----------
    labels, y : arrays of shape (n,)
        As in :func:`b_cubed`.

    Examples
    --------
    >>> score = muc([0, 0, 1, 1], [0, 0, 0, 1])
    >>> score.precision, score.recall, score.f1
    (0.5, 0.5, 0.5)

    References
    ----------
    Vilain, Burger, Aberdeen, Connolly, Hirschman. A model-theoretic coreference scoring scheme. 1995.
    """
    _, _, common, predicted, true = _overlaps(labels, y)
    linked = int(common.sum()) - len(common)
    possible = int(common.sum()) - len(predicted), int(common.sum()) - len(true)
    return _score(*(linked / links if links else 0.0 for links in possible))


def conll(labels: Any, y: Any) -> float:
    """The mean F1 of MUC, B³ and CEAF-e, by which shared tasks on coreference rank.

    Parameters
    ----------
    labels, y : arrays of shape (n,)
        As in :func:`b_cubed`.

    Examples
    --------
    >>> round(conll([0, 0, 1, 1], [0, 0, 0, 1]), 3)
    0.646

    References
    ----------
    Pradhan et al. CoNLL-2012 shared task: modeling multilingual unrestricted coreference in OntoNotes. 2012.
    """
    return (muc(labels, y).f1 + b_cubed(labels, y).f1 + ceaf_e(labels, y).f1) / 3.0


def _score(precision: float, recall: float) -> EntityScore:
    both = precision + recall
    return EntityScore(float(precision), float(recall), float(2.0 * precision * recall / both) if both > 0 else 0.0)


def _overlaps(labels: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Clusters and entities with items in common and how many, and the sizes of all clusters and entities."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InvalidInput(f"labels must be one-dimensional, one cluster an item, got shape {labels.shape}.")
    cluster, entity = check_labels(labels, len(labels), name="labels"), check_labels(y, len(labels))
    known = entity >= 0
    cluster = cluster[known].astype(np.int64)
    alone = np.flatnonzero(cluster < 0)
    cluster[alone] = cluster.max(initial=-1) + 1 + np.arange(len(alone))
    cluster = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    entity = np.unique(entity[known], return_inverse=True)[1].reshape(-1)
    pairs, common = np.unique(np.stack([cluster, entity]), axis=1, return_counts=True)
    return pairs[0], pairs[1], common, np.bincount(cluster), np.bincount(entity)
