"""The rows most similar to one of them, in one pass over the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.parallel import row_blocks
from cladify.data._vectors import is_sparse, squared_norms

__all__ = ["most_similar"]


def most_similar(X: Any, row: int, k: int) -> list[int]:
    """The k rows of the largest cosine with a row, itself left out.

    >>> most_similar(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.1]]), 0, 1)
    [2]
    """
    one = X[[row]]
    query = (one.toarray() if is_sparse(one) else np.asarray(one)).reshape(-1)
    score = np.empty(X.shape[0])
    for rows in row_blocks(X.shape[0], max(1, 2**22 // X.shape[1])):
        block = X[rows]
        product = block @ query
        score[rows] = product / np.sqrt(np.maximum(squared_norms(block), 1e-300))
    score[row] = -np.inf
    k = min(k, X.shape[0] - 1)
    best = np.argpartition(-score, k - 1)[:k] if k > 0 else np.empty(0, dtype=np.int64)
    return best[np.argsort(-score[best], kind="stable")].tolist()
