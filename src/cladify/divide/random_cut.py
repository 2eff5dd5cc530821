"""Random cut: project on a random direction, then cut the line at uniformly random points.

The fastest method of all: one pass over the data, a sort, and a linear pass with a stack. It is the floor that every
slower method has to clear, and a start for :func:`cladify.refine` on data too large for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cladify import _core
from cladify._estimator import TreeEstimator
from cladify._kit.parallel import map_blocks, resolve_jobs, row_blocks
from cladify._kit.params import check_random_state, choice
from cladify._kit.progress import Progress
from cladify.data._vectors import check_vectors, is_sparse
from cladify.data.points import Points
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["RandomCut"]

_BLOCK = 1 << 24  # values a block: some ten milliseconds of work


@dataclass(kw_only=True, eq=False, repr=False)
class RandomCut(TreeEstimator):
    r"""Projected Random Cut [1]_; on data with one column, Random Cut.

    Every row is projected on one random Gaussian direction, :math:`p_i = \langle x_i, g\rangle`. The interval of all
    projections is cut at a uniformly random point, and so is each part, until every part is a single point. For
    similarities :math:`w_{ij}` that fall with the distance, the expected Moseley-Wang value is at least half of the
    one-dimensional upper bound on a line, and at least :math:`(1 + \delta)/3` of the optimum for a Gaussian kernel in
    any dimension, :math:`\delta` being the smallest similarity.

    The height of a node is its extent on the line: the length of the interval that is cut there.

    One pass over ``X``, which may be a memory map larger than memory, then O(n log n) time and O(n) memory.

    Parameters
    ----------
    metric : "sqeuclidean", "euclidean" or "cosine"
        "cosine" scales every row to unit length before the projection; the others take rows as they are.
    n_clusters : int, optional
        Cut the tree into this many clusters: ``labels_``.
    distance_threshold : float, optional
        Or cut it at this height.
    random_state : int, Generator or None
    n_jobs : int
        Threads; -1 is all of them. The tree does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.001], [1.0], [1.001]])
    >>> RandomCut(n_clusters=2, random_state=0).fit_predict(X).tolist()
    [0, 0, 1, 1]

    References
    ----------
    .. [1] Charikar, Chatziafratis, Niazadeh, Yaroslavtsev. Hierarchical clustering for Euclidean data. AISTATS 2019.
    """

    _checks: ClassVar = {"metric": choice("sqeuclidean", "euclidean", "cosine")}
    _finite: ClassVar = False

    metric: str = "sqeuclidean"
    distance_threshold: float | None = None
    random_state: Any = None
    n_jobs: int | None = -1

    def _fit(self, points: Points, report: Progress) -> Tree:
        X = points.rows
        random = check_random_state(self.random_state)
        direction = random.standard_normal(X.shape[1]) if X.shape[1] > 1 else np.ones(1)
        parent, height = np.empty(2 * X.shape[0] - 1, dtype=np.int64), np.empty(2 * X.shape[0] - 1)
        _project(X, direction.astype(X.dtype), self.metric == "cosine", self.n_jobs, report, height[: X.shape[0]])
        cut_line(parent, height, int(random.integers(2**63)), resolve_jobs(self.n_jobs))
        return Tree(parent, height, info={"method": "random-cut", "height": "projected extent"})


def cut_line(parent: np.ndarray, height: np.ndarray, seed: int, threads: int) -> None:
    """Parents and heights of the random cuts of points on a line, whose places are in the first n heights."""
    n = (len(parent) + 1) // 2
    threads = 1 if n < 50_000 else threads
    key = parent[n - 1 :].view(np.uint64)  # memory that is there is quicker than memory that is new
    _core.line_keys(height[:n], key, threads)
    key.sort()
    _core.random_cut(seed, threads, parent, height)
    parent.flags.writeable = height.flags.writeable = False  # ours to give away: Tree need not copy them


def _project(
    X: Any, direction: np.ndarray, normalize: bool, n_jobs: int | None, report: Progress, position: np.ndarray
) -> None:
    """The place of every row on the line; the one pass over ``X``, which also finds rows that cannot be used."""
    n, d = X.shape

    def work(rows: slice) -> None:
        part = X[rows]
        if is_sparse(part):
            position[rows] = part @ direction
            if normalize:
                with np.errstate(invalid="ignore", divide="ignore"):
                    position[rows] /= np.sqrt(part.multiply(part) @ np.ones(d))
        else:
            _core.project_rows(np.ascontiguousarray(part), direction, normalize, position[rows])

    blocks = row_blocks(n, max(1, _BLOCK // d))
    with report.stage("random cut", total=len(blocks)) as advance:
        map_blocks(work, blocks, n_jobs=n_jobs, advance=advance)
    if not np.isfinite(position).all():
        check_vectors(X, nonzero_rows=normalize, squares=False)
        raise InvalidInput("X has values too large to project; divide it by its largest absolute value.")
