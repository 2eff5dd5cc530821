"""What the lists of neighbours of an online tree hold, beside the scores of all pairs."""

import numpy as np


def scored_lists(online, X):
    """Scores of all pairs of the rows X, of the items in their order, and who has whom in its list, row by row."""
    state = online._begin()
    X, name = X.astype(np.float64), state.rows.similarity.name
    if name == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ X.T
    if name == "sqeuclidean":
        score -= 0.5 * np.diag(score)
    np.fill_diagonal(score, -np.inf)
    leaves = state.items.leaves
    place = np.full(state.tree.capacity, -1)
    place[leaves] = np.arange(len(leaves))
    of, near, _ = state.graph.neighbors(leaves)
    return score, place[of], place[near]
