"""How firmly every item sits in its cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_int, check_labels
from cladify._kit.progress import Progress, ProgressLike
from cladify.data.points import as_points
from cladify.graphtree._edges import default_neighbors, given_edges, neighbor_edges
from cladify.neighbors.build import neighbors

__all__ = ["confidence"]

_STEPS = 4


def confidence(
    X: Any,
    labels: Any,
    *,
    metric: Any = "sqeuclidean",
    n_neighbors: int | None = None,
    n_jobs: int | None = -1,
    progress: ProgressLike | Progress = None,
) -> np.ndarray:
    r"""How firmly each item sits in its cluster, from 0 to 1.

    The chance that a short walk over the graph of neighbours, started at item i, is in the item's own cluster C,

    .. math:: s_i = \frac{1}{4} \sum_{t=1}^{4} \sum_{j \in C} (P^t)_{ij}

    where P steps to a neighbour in proportion to the weight of the edge, is 1 where neighbours and their neighbours
    are all in C, 0 where none is or there are no neighbours. In a loose cluster no point has a high value:
    the confidence is the geometric mean of the item's chance and the mean chance of its cluster,
    :math:`c_i = \sqrt{s_i \bar s_C}`. On texts those that sit firmly by this agree better with known classes than
    by the item's chance alone, on images about as well.

    Parameters
    ----------
    X : array or CSR of shape (n, d), or a graph of neighbours
        ``model.graph_`` of a :class:`~cladify.GraphTree` saves the search for neighbours.
    labels : array of shape (n,)
        The cluster of each item, such as ``tree.cut(n_clusters=30)``.
    metric, n_neighbors
        For the neighbours of rows, as in :class:`~cladify.GraphTree`.
    n_jobs : int, optional
    progress : bool or callable ``(stage, done, total)``, optional

    Returns
    -------
    float64 array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [6.4], [11.0], [12.0], [13.0]])
    >>> firm = confidence(X, [0, 0, 0, 0, 1, 1, 1], n_neighbors=2)
    >>> int(firm.argmin())
    3
    """
    points = as_points(X, metric)
    graph = points.data
    if not points.is_graph:
        if points.n == 1:
            return np.zeros(1)
        k = default_neighbors(points.n) if n_neighbors is None else check_int("n_neighbors", n_neighbors, low=1)
        graph = neighbors(points, min(k, points.n - 1), n_jobs=n_jobs, progress=progress)
    n = graph.n_points
    _, label = np.unique(check_labels(labels, n, name="labels"), return_inverse=True)
    is_search = graph.info.get("method") in ("exact", "shards", "ann")
    edges = (neighbor_edges if is_search else given_edges)(graph, np.ones(n), n_jobs)
    stays = _walk(edges.to_scipy().astype(np.float64), label)
    cluster = np.bincount(label, weights=stays) / np.bincount(label)
    return np.sqrt(stays * cluster[label])


def _walk(weight: Any, label: np.ndarray) -> np.ndarray:
    """Mean share of walks of 1 to `_STEPS` steps that end in the cluster of their start."""
    from scipy.sparse import csr_array, diags_array

    n = len(label)
    total = np.asarray(weight.sum(axis=1)).ravel()
    step = (diags_array(1.0 / np.where(total > 0, total, 1.0)) @ weight).tocsr()
    reached = csr_array((np.ones(n), label, np.arange(n + 1)), shape=(n, int(label.max()) + 1))
    own = np.zeros(n)
    for _ in range(_STEPS):
        reached = (step @ reached).tocsr()
        row = np.repeat(np.arange(n), np.diff(reached.indptr))
        is_own = reached.indices == label[row]
        own[row[is_own]] += reached.data[is_own]
    return np.clip(own / _STEPS, 0.0, 1.0)
