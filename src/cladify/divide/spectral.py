"""Recursive spectral cuts: split where an eigenvector of the normalised Laplacian says, then split the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.parallel import one_blas_thread
from cladify._kit.params import check_random_state, integer, optional
from cladify._kit.progress import Progress
from cladify.data.points import Points, as_points
from cladify.divide._parts import Part, find_part
from cladify.errors import InvalidInput
from cladify.neighbors.build import neighbors
from cladify.tree import Tree

__all__ = ["SpectralCut"]


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralCut(TreeEstimator):
    r"""Recursive spectral partitioning by normalised cuts ([1]_; a baseline of [2]_).

    A part with similarities W and degrees :math:`D = \operatorname{diag}(W 1)` is ordered by :math:`D^{-1/2} v`, where
    v is the eigenvector of the second smallest eigenvalue of :math:`I - D^{-1/2} W D^{-1/2}`, and cut in two where

    .. math:: \mathrm{Ncut}(A, B) = \frac{W(A, B)}{\operatorname{vol} A} + \frac{W(A, B)}{\operatorname{vol} B},
       \qquad \operatorname{vol} S = \sum_{i \in S} D_{ii},

    is smallest. Each side is split in the same way, down to the points. Eigenvectors come from Lanczos' method, where a
    product with W costs one pass over the edges or over the features of the part; small parts are solved densely. A
    part that falls into components is split between them, into sides of about the same size.

    The height of a node is how far the mean similarity between its two sides lies below that of the node where it is
    largest, or the height of a node below it where that is larger.

    Parameters
    ----------
    metric : str, Similarity or callable
        See :mod:`cladify.similarity`, and :mod:`cladify.data.points` for graphs and given values.
    n_neighbors : int or None
        Vectors become the graph of this many nearest neighbours (at most n − 1), with its weights. None: all pairs,
        through the feature map of a similarity that is not negative: ``"cosine"``, ``"rbf"`` or ``"laplacian"``.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    random_state : int, Generator or None
        For Lanczos' first vectors, and for random features.
    n_jobs : int
        Threads of the neighbour search; -1 is all of them. The tree does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [20.0], [21.0], [22.0]])
    >>> SpectralCut(n_neighbors=3, n_clusters=2, random_state=0).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]

    References
    ----------
    .. [1] Shi, Malik. Normalized cuts and image segmentation. IEEE Transactions on Pattern Analysis and Machine
       Intelligence, 2000.
    .. [2] Charikar, Chatziafratis, Niazadeh, Yaroslavtsev. Hierarchical clustering for Euclidean data. AISTATS 2019.
    """

    _checks: ClassVar = {"n_neighbors": optional(integer(low=1))}

    metric: Any = "sqeuclidean"
    n_neighbors: int | None = 25
    distance_threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        random = check_random_state(self.random_state)
        source, info = self._source(points, report)
        part, _, unit = find_part(source, random, n_jobs=self.n_jobs)
        if part.smallest() < 0:
            raise InvalidInput(
                f"SpectralCut needs similarities that are not negative; the smallest one is {part.smallest():.4g}. Use "
                "metric='cosine' or 'rbf', or shift the similarities."
            )
        n = part.size
        with one_blas_thread():  # most parts are small, and the tree must not depend on the number of threads
            parent, mean = split_all(part.small(), random, report)
        height = np.concatenate([np.zeros(n), unit * (mean.max(initial=0.0) - mean)])
        tree = Tree.from_parents(parent, n, height=height)
        height = np.asarray(_core.tree_largest_heights(tree.parent, tree.height, n))
        return Tree(tree.parent, height, info={"method": "spectral", **info})

    def _source(self, points: Points, report: Progress) -> tuple[Points, dict[str, Any]]:
        """Where the weights come from: the graph given, the neighbours of vectors, or the vectors; and the info."""
        n = points.n
        if points.is_graph or n == 1:
            return points, {}
        if self.n_neighbors is not None and points.form == "rows":
            graph = neighbors(points, min(self.n_neighbors, n - 1), n_jobs=self.n_jobs, progress=report)
            return as_points(graph, sample_weight=points.weight), {"neighbors": graph.info}
        if points.kind == "distance":
            raise InvalidInput(
                f"SpectralCut on all pairs needs a similarity, and metric {points.metric!r} is a distance; use "
                "metric='rbf', or a graph with n_neighbors=25."
            )
        return points, {}


def split_all(part: Part, random: np.random.Generator, report: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Parents of all nodes, inner ones in the order they were made, and the mean similarity between a node's sides."""
    n = part.size
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    mean = np.zeros(n - 1)
    made = n
    waiting: list[tuple[Part, np.ndarray, int]] = []

    def place(piece: Part, rows: np.ndarray, above: int) -> None:
        nonlocal made
        if len(rows) == 1:
            parent[rows[0]] = above
            return
        parent[made] = above
        waiting.append((piece, rows, made))
        made += 1

    place(part, np.arange(n), -1)
    with report.stage("spectral cuts", total=n - 1) as advance:
        while waiting:
            piece, rows, node = waiting.pop()
            left, mean[node - n] = piece.cut(random)
            for side in (left, ~left):
                place(piece.take(side), rows[side], node)
            advance(1)
    return parent, mean
