"""The DP-means cost of a flat clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.parallel import row_blocks
from cladify._kit.params import check_float, check_labels
from cladify.data._vectors import check_vectors, is_sparse

__all__ = ["dp_means_cost"]


def dp_means_cost(X: Any, labels: Any, lam: float) -> float:
    r"""Squared distances to the cluster means, and a price for each cluster.

    .. math:: \mathrm{DP}(X, \lambda, \mathcal{C}) = \sum_{C \in \mathcal{C}} \sum_{x \in C} \|x - \mu_C\|^2
              + \lambda\,|\mathcal{C}|

    where :math:`\mu_C` is the mean of cluster C. O(nd) time; sums are float64, X is read in blocks of rows. Sparse rows
    are not centred: there :math:`\|x\|^2 - \|\mu_C\|^2` is summed, which loses digits only where clusters are tiny
    compared with their distance from the origin.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    labels : array of shape (n,)
        Cluster of each row; rows with -1 (noise) are left out.
    lam : float
        Price of a cluster, λ ≥ 0.

    Examples
    --------
    >>> dp_means_cost([[0.0], [2.0], [9.0]], [0, 0, 1], lam=3.0)
    8.0

    References
    ----------
    Kulis and Jordan, Revisiting k-means: new algorithms via Bayesian nonparametrics, ICML 2012. Monath,
    Incremental non-greedy clustering at scale, 2022, §4.3.2.
    """
    X = check_vectors(X)
    codes = check_labels(labels, X.shape[0], name="labels")
    lam = check_float("lam", lam, low=0)
    rows = np.argsort(codes, kind="stable")
    rows = rows[np.searchsorted(codes[rows], 0) :]
    size = np.bincount(codes[rows])
    squares = _sparse_squares(X, codes, rows, size) if is_sparse(X) else _dense_squares(X, codes, rows, size)
    return float(squares + lam * len(size))


def _dense_squares(X: np.ndarray, codes: np.ndarray, rows: np.ndarray, size: np.ndarray) -> float:
    """Rows come sorted by cluster, so a block holds runs of equal clusters; two passes, for the digits."""
    mean = np.zeros((len(size), X.shape[1]))
    blocks = row_blocks(len(rows), max(1, 2**21 // X.shape[1]))
    for block in blocks:
        cluster = codes[rows[block]]
        begin = np.flatnonzero(np.append(True, cluster[1:] != cluster[:-1]))
        mean[cluster[begin]] += np.add.reduceat(X[rows[block]], begin, axis=0, dtype=np.float64)
    mean /= size[:, None]
    total = 0.0
    for block in blocks:
        off = X[rows[block]] - mean[codes[rows[block]]]
        total += float(np.einsum("ij,ij->", off, off))
    return total


def _sparse_squares(X: Any, codes: np.ndarray, rows: np.ndarray, size: np.ndarray) -> float:
    from scipy.sparse import csr_array

    pick = csr_array((np.ones(len(rows)), rows, np.concatenate([[0], np.cumsum(size)])), shape=(len(size), X.shape[0]))
    sums = pick @ X.astype(np.float64)
    kept = X[rows]
    lengths = np.add.reduceat(np.append(sums.data**2, 0.0), sums.indptr[:-1]) * (np.diff(sums.indptr) > 0)
    return float(np.square(kept.data, dtype=np.float64).sum() - (lengths / size).sum())
