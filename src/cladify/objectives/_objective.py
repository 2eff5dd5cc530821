"""The objectives, and their values from the sums over pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cladify._kit.params import check_choice
from cladify._kit.progress import ProgressLike, reporting
from cladify.data._pairs import Method, PairSums, PairWeights, pair_weights
from cladify.data.points import Points, as_points
from cladify.data.similarity import Kind
from cladify.tree import Tree
from cladify.tree._either import check_tree

__all__ = ["OBJECTIVES", "Objective", "ckmm", "dasgupta", "get_objective", "mw"]


@dataclass(frozen=True)
class Objective:
    """One of the objectives.

    Attributes
    ----------
    name : str
    kind : "similarity" or "distance"
        Kind of the weights.
    maximize : bool
        Whether a larger value is better.
    inner : bool
        True where a triple earns the weight of the pair that stays together longest (MW), False where it earns the
        other two (Dasgupta, CKMM).
    default_metric : str
    """

    name: str
    kind: Kind
    maximize: bool
    inner: bool
    default_metric: str

    def value(self, sums: PairSums, mass: float) -> float:
        """The objective of a tree from its sums over pairs; ``mass`` is the number of leaves."""
        return self.flip(sums.spread, sums.total, mass) if self.inner else sums.spread

    @staticmethod
    def flip(value: float, total: float, mass: float) -> float:
        """From Σ w·|LCA| to Σ w·(n − |LCA|) and back."""
        return mass * total - value

    def points(self, X: Any, metric: Any = None, sample_weight: Any = None) -> Points:
        """The data under the metric, by default this objective's own."""
        return as_points(X, self.default_metric if metric is None else metric, sample_weight, kind=self.kind)

    def weights(self, points: Points, **options: Any) -> PairWeights:
        """The source of weights for this objective; an error if the metric is of the wrong kind."""
        others = [o.name for o in OBJECTIVES.values() if o.kind != self.kind]
        given = "precomputed" if self.kind == "distance" else "precomputed-similarity"
        better = given if points.form == "matrix" else self.default_metric
        instead = (
            f"Use metric={better!r}, or objective {' or '.join(map(repr, others))}, which "
            f"take{'s' * (len(others) == 1)} {'distances' if self.kind == 'similarity' else 'similarities'}."
        )
        return pair_weights(points, self.kind, what=f"objective {self.name!r}", instead=instead, **options)


OBJECTIVES: dict[str, Objective] = {
    o.name: o
    for o in (
        Objective("dasgupta", "similarity", maximize=False, inner=False, default_metric="cosine"),
        Objective("mw", "similarity", maximize=True, inner=True, default_metric="cosine"),
        Objective("ckmm", "distance", maximize=True, inner=False, default_metric="sqeuclidean"),
    )
}


def get_objective(objective: str | Objective) -> Objective:
    """The objective of that name."""
    if isinstance(objective, Objective):
        return objective
    return OBJECTIVES[check_choice("objective", objective, list(OBJECTIVES))]


def dasgupta(
    tree: Tree,
    X: Any,
    metric: Any = "cosine",
    *,
    sample_weight: Any = None,
    method: Method = "auto",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressLike = None,
) -> float:
    r"""Dasgupta's cost of a tree, to be minimised: similar points should part late.

    .. math:: Q_D(T) = \sum_{i<j} w_{ij}\,|\mathrm{LCA}(i, j)|

    where :math:`w_{ij} \ge 0` is the similarity of points i and j and :math:`|\mathrm{LCA}(i, j)|` counts the leaves
    below their lowest common ancestor. Every pair counts once; tables that count both (i, j) and (j, i), as those of
    [3]_, show twice this value.

    On a tree with larger nodes the cost is the expected one after every such node is split into a random binary tree,
    which is ⅔|v| + ⅓(|a| + |b|) in place of |v| for points in the children a and b of v: so that
    :math:`Q_D + Q_M = n\sum_{i<j} w_{ij}` for every tree, and every tree of a clique with unit weights costs n(n²−1)/3.

    O(nk) time through a feature map of k columns, in memory far below X's own; one LCA an edge on a sparse graph;
    all pairs, in blocks, for a matrix or a metric without a feature map.

    Parameters
    ----------
    tree : Tree
    X : array of shape (n, d), sparse rows, a graph, or given values
        Row i is leaf i; :mod:`cladify.data.points` has them all.
    metric : str, Similarity or callable
        A similarity; see :mod:`cladify.similarity`.
    sample_weight : array of shape (n,), optional
        How many leaves each row stands for. Pairs within one row do not count.
    method : "auto", "features" or "pairs"
        How to sum: through the feature map, or over all pairs. ``"auto"`` takes exact feature maps, all pairs up to
        10 000 points, and random features above that.
    n_jobs : int
    random_state : int or Generator
        For random features.
    progress : bool or callable, optional

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from cladify import Tree
    >>> W = np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    >>> dasgupta(Tree([3, 3, 4, 4, -1]), W, "precomputed-similarity")       # 3·2 + 1·3 + 1·3
    12.0

    References
    ----------
    .. [1] Dasgupta. A cost function for similarity-based hierarchical clustering. STOC 2016.
    .. [2] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors.
       AAAI 2021.
    .. [3] Chami, Gu, Chatziafratis, Ré. From trees to continuous embeddings and back. NeurIPS 2020.
    """
    return _value("dasgupta", tree, X, metric, sample_weight, n_jobs, progress, method, random_state)


def mw(
    tree: Tree,
    X: Any,
    metric: Any = "cosine",
    *,
    sample_weight: Any = None,
    method: Method = "auto",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressLike = None,
) -> float:
    r"""The Moseley–Wang objective of a tree, to be maximised: similar points should part late.

    .. math:: Q_M(T) = \sum_{i<j} w_{ij}\,(n - |\mathrm{LCA}(i, j)|)

    where :math:`w_{ij} \ge 0` is the similarity of points i and j. A pair whose ancestor v has more than two children
    earns (n − |v|) + ⅓(|v| − |a| − |b|), with a and b the children that hold the two points: what a random binary split
    of v would give on average (App. B.1 of [2]_). Parameters as in :func:`dasgupta`.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify import Tree
    >>> W = np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    >>> mw(Tree([3, 3, 4, 4, -1]), W, "precomputed-similarity")       # only the pair 0, 1 has a leaf outside: 3·1
    3.0

    References
    ----------
    .. [1] Moseley, Wang. Approximation bounds for hierarchical clustering. NeurIPS 2017.
    .. [2] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors.
       AAAI 2021.
    """
    return _value("mw", tree, X, metric, sample_weight, n_jobs, progress, method, random_state)


def ckmm(
    tree: Tree,
    X: Any,
    metric: Any = "sqeuclidean",
    *,
    sample_weight: Any = None,
    method: Method = "auto",
    n_jobs: int | None = -1,
    random_state: Any = 0,
    progress: ProgressLike = None,
) -> float:
    r"""The objective of Cohen-Addad and others, to be maximised: distant points should part early.

    .. math:: Q_C(T) = \sum_{i<j} d_{ij}\,|\mathrm{LCA}(i, j)|

    where :math:`d_{ij} \ge 0` is the distance of points i and j. A pair whose ancestor v has more than two children
    earns 2 + (|a| + |b| − 2) + ⅔(|v| − |a| − |b|), with a and b the children that hold the two points: what a random
    binary split of v would give on average (App. B.1 of [2]_). Parameters as in :func:`dasgupta`, with distances.

    Examples
    --------
    >>> import numpy as np
    >>> from cladify import Tree
    >>> ckmm(Tree([3, 3, 4, 4, -1]), np.array([[0.0], [1.0], [5.0]]))       # 1·2 + 25·3 + 16·3
    125.0

    References
    ----------
    .. [1] Cohen-Addad, Kanade, Mallmann-Trenn, Mathieu. Hierarchical clustering: objective functions and algorithms.
       J. ACM 2019.
    .. [2] Naumov, Yaroslavtsev, Avdiukhin. Objective-based hierarchical clustering of deep embedding vectors.
       AAAI 2021.
    """
    return _value("ckmm", tree, X, metric, sample_weight, n_jobs, progress, method, random_state)


def _value(
    name: str,
    tree: Tree,
    X: Any,
    metric: Any,
    sample_weight: Any,
    n_jobs: int | None,
    progress: ProgressLike,
    method: Method,
    random_state: Any,
) -> float:
    objective = OBJECTIVES[name]
    check_choice("method", method, ["auto", "features", "pairs"])
    points = objective.points(X, metric, sample_weight)
    weights = objective.weights(points, method=method, random_state=random_state)
    check_tree(tree, weights.n)
    with reporting(progress) as report:
        return objective.value(weights.pair_sums(tree, n_jobs, report), weights.mass)
