"""Where the weights of pairs come from: feature maps, a matrix, a sparse graph, or any metric block by block.

Every source answers the same two questions. :meth:`PairWeights.pair_sums` gives the sums over all pairs of leaves of a
tree from which all objectives follow; :meth:`PairWeights.triples` gives, exactly or by sampling, the sums over all
triples of points from which all bounds follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cladify import _core
from cladify._kit.memory import check_memory
from cladify._kit.parallel import map_blocks, resolve_jobs, row_blocks
from cladify._kit.progress import Progress
from cladify.data._heights import HeightRule
from cladify.data._vectors import is_sparse
from cladify.data.features import FeatureMap
from cladify.data.points import Points
from cladify.data.similarity import Kind, Similarity
from cladify.errors import InvalidInput

__all__ = ["Method", "PairSums", "PairWeights", "pair_features", "pair_matrix", "pair_weights"]

Method = Literal["auto", "features", "pairs"]

if TYPE_CHECKING:
    from cladify.tree import Tree

#: Up to this many points a kernel with random features is summed pair by pair, which is exact.
_PAIRS_LIMIT = 10_000


@dataclass(frozen=True)
class PairSums:
    """Sums over the pairs i < j of leaves that meet in node v, in its children a and b; sizes and pairs are weighted.

    ``total`` is Σ w, ``lca`` is Σ w·|v| and ``sides`` is Σ w·(|a| + |b|), which equals ``lca`` on a binary tree.
    """

    total: float
    lca: float
    sides: float

    @property
    def spread(self) -> float:
        """Σ w·(⅔|v| + ⅓(|a| + |b|)): the expected Σ w·|v| once every node is split into a random binary tree."""
        return (2.0 * self.lca + self.sides) / 3.0

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(self.total + other.total, self.lca + other.lca, self.sides + other.sides)


class PairWeights:
    """Weights w_ij of all pairs of n points that stand for ``weight[i]`` leaves each."""

    #: False when the weights are those of random features.
    exact = True

    def __init__(self, n: int, weight: np.ndarray | None) -> None:
        self.n = n
        self.weighted = weight is not None
        self.weight: np.ndarray = np.ones(n) if weight is None else weight
        self.mass = float(self.weight.sum())

    def pair_sums(self, tree: Tree, n_jobs: int | None, report: Progress) -> PairSums:
        """The sums over all pairs of leaves of ``tree``."""
        raise NotImplementedError

    def block(self, points: np.ndarray) -> np.ndarray:
        """Weights between some points, float64 of shape (len(points), len(points)), in C order."""
        raise NotImplementedError

    def triples(self, n_jobs: int | None) -> tuple[float, float]:
        """Sums over all triples of their largest and of their smallest weight, from the matrix of all pairs."""
        check_memory(24 * self.n**2, f"The exact bound of {self.n} points", "use bound='sampled'.")
        matrix = self.block(np.arange(self.n))
        if self.weighted:
            return _core.triple_sums(matrix, self.weight, self._threads(n_jobs))
        return _core.counted_triple_sums(matrix, self._threads(n_jobs))

    def _threads(self, n_jobs: int | None) -> int:
        return min(resolve_jobs(n_jobs), 1 + self.n // 1000)  # a few points are done before a thread has started

    def _check_positive(self, values: np.ndarray, place: str) -> None:
        smallest = float(values.min()) if values.size else 0.0
        if smallest < 0:
            raise _negative(smallest, place)


class FeatureWeights(PairWeights):
    """Through a feature map: O(nk) for a whole tree."""

    def __init__(self, features: FeatureMap, name: str, weight: np.ndarray | None) -> None:
        super().__init__(features.shape[0], weight)
        self.features = features
        self.exact = features.exact
        self.name = name

    def pair_sums(self, tree: Tree, n_jobs: int | None, report: Progress) -> PairSums:
        return self._sums(tree, n_jobs, np.empty(0))

    def cross(self, tree: Tree, n_jobs: int | None) -> np.ndarray:
        """The weight between the children of every inner node: Σ w over the pairs of leaves that meet there."""
        cross = np.zeros(tree.n_nodes - tree.n_leaves)
        self._sums(tree, n_jobs, cross)
        return cross

    def spreads(self, tree: Tree, n_jobs: int | None) -> np.ndarray:
        """Of weights that are squared distances: those to the mean of every node's leaves, summed up."""
        pairs = np.concatenate([np.zeros(tree.n_leaves), self.cross(tree, n_jobs)])
        np.maximum(pairs, 0.0, out=pairs)  # rounding
        mass = _core.node_sums(tree.parent, self.weight)
        return np.asarray(_core.node_sums(tree.parent, pairs) / mass)

    def _sums(self, tree: Tree, n_jobs: int | None, cross: np.ndarray) -> PairSums:
        f = self.features
        factor = self.weight if f.row_scale is None else self.weight * f.row_scale
        mass = _core.node_sums(tree.parent, self.weight)
        offset = _core.node_sums(tree.parent, self.weight * f.offset)
        affine: dict[str, Any] = {"factor": factor, "mass": mass, "offset": offset, "scale": f.scale, "shift": f.shift}
        affine |= {"threads": self._threads(n_jobs), "cross": cross}
        if is_sparse(f.rows):
            rows = f.rows
            return PairSums(
                *_core.sparse_pair_sums(
                    *tree_arrays(tree),
                    tree.leaf_order,
                    tree.first,
                    rows.indptr,
                    rows.indices,
                    rows.data,
                    rows.shape[1],
                    **affine,
                )
            )
        centre = np.zeros(f.shape[1]) if f.centre is None else f.centre
        return PairSums(*_core.dense_pair_sums(*tree_arrays(tree), np.ascontiguousarray(f.rows), centre, **affine))

    def block(self, points: np.ndarray) -> np.ndarray:
        values = self.features.block(points, points)
        if not self.exact:  # random features scatter around 0
            return values
        smallest = float(values.min())
        if smallest < -1e-9 * float(np.abs(values).max()):
            i, j = np.unravel_index(values.argmin(), values.shape)
            raise _negative(smallest, f"metric {self.name!r} for points {points[i]} and {points[j]}")
        return np.maximum(values, 0.0, out=values)


class BlockWeights(PairWeights):
    """Any metric, all n² / 2 pairs, in blocks of rows."""

    def __init__(self, points: Points) -> None:
        super().__init__(points.n, points.weight)
        self.points = points
        self.X = points.data
        self.metric: Similarity = points.similarity

    def pair_sums(self, tree: Tree, n_jobs: int | None, report: Progress) -> PairSums:
        order, weight = tree.leaf_order, self.weight[tree.leaf_order]
        gaps = _core.Gaps(*tree_arrays(tree), tree.first, _core.node_sums(tree.parent, self.weight))
        rows_in_order = self._in_order(order)

        def work(rows: slice) -> PairSums:
            values = np.ascontiguousarray(rows_in_order(rows))
            self._check_positive(values, f"metric {str(self.metric)!r}")
            return PairSums(*gaps.add_rows(rows.start, values, weight))

        blocks = row_blocks(self.n, max(1, 2**22 // self.n))
        with report.stage("pairs", len(blocks)) as advance:
            return sum(map_blocks(work, blocks, n_jobs=n_jobs, advance=advance), PairSums(0.0, 0.0, 0.0))

    def matrix(self, n_jobs: int | None, report: Progress) -> np.ndarray:
        """All values, of shape (n, n); the diagonal has the metric's own values."""
        return pair_matrix(
            self.points,
            f"Metric {str(self.metric)!r} has no feature map, and the matrix of all pairs of {self.n} points",
            "pass a graph, cladify.neighbors(X, k, metric), or use a metric with one (cosine, dot, sqeuclidean).",
            n_jobs=n_jobs,
            report=report,
        )

    def _in_order(self, order: np.ndarray) -> Any:
        """A function from a slice of places to the values between the leaves there and all leaves from there on."""
        X, metric = self.X[order], self.metric
        return lambda rows: metric.block_of(X, rows, slice(rows.start, None))

    def block(self, points: np.ndarray) -> np.ndarray:
        values = self.metric.block_of(self.X, points, points).astype(np.float64, order="C")
        np.fill_diagonal(values, 0.0)
        self._check_positive(values, f"metric {str(self.metric)!r}")
        return values


class MatrixWeights(BlockWeights):
    """A given n × n matrix."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        matrix = self.X
        if matrix.min() < 0:
            off_diagonal = np.where(np.eye(self.n, dtype=bool), 0.0, matrix)
            i, j = np.unravel_index(off_diagonal.argmin(), matrix.shape)
            self._check_positive(off_diagonal, f"the matrix at [{i}, {j}]")

    def matrix(self, n_jobs: int | None, report: Progress) -> np.ndarray:
        return self.X

    def _in_order(self, order: np.ndarray) -> Any:
        matrix = self.X
        return lambda rows: matrix[order[rows][:, None], order[None, rows.start :]]


class GraphWeights(PairWeights):
    """A sparse symmetric graph; pairs without an edge have weight 0."""

    def __init__(self, points: Points) -> None:
        from scipy.sparse import triu

        super().__init__(points.n, points.weight)
        graph = points.data.symmetrize().to_scipy()
        graph.eliminate_zeros()
        self.graph = graph
        self._check_positive(graph.data, "the graph")
        upper = triu(graph, k=1, format="coo")
        self.edges = tuple(np.ascontiguousarray(ends, dtype=np.int64) for ends in (upper.row, upper.col))
        self.values = np.ascontiguousarray(upper.data)

    def pair_sums(self, tree: Tree, n_jobs: int | None, report: Progress) -> PairSums:
        mass = _core.node_sums(tree.parent, self.weight)
        u, v = self.edges
        sums = PairSums(0.0, 0.0, 0.0)
        blocks = row_blocks(len(u), 1 << 20)
        with report.stage("edges", len(blocks)) as advance:
            for part in blocks:
                found = tree.lca(u[part], v[part])
                sums += PairSums(
                    *_core.edge_pair_sums(
                        *tree_arrays(tree), tree.first, mass, u[part], v[part], found, self.values[part]
                    )
                )
                advance()
        return sums

    def block(self, points: np.ndarray) -> np.ndarray:
        return self.graph[points][:, points].toarray().astype(np.float64, order="C")

    def triples(self, n_jobs: int | None) -> tuple[float, float]:
        graph = self.graph
        values = graph.data.astype(np.float64)
        return _core.graph_triple_sums(graph.indptr, graph.indices, values, self.weight, self._threads(n_jobs))


def pair_weights(
    points: Points, kind: Kind, *, what: str, instead: str, method: Method = "auto", random_state: Any = 0
) -> PairWeights:
    """The source of weights for points, whose metric must be of the given kind.

    ``what`` and ``instead`` complete the error for a metric of the other kind.
    """
    if points.is_graph:
        check_kind("the weights of a neighbour graph", "similarity", kind, what, instead)
        return GraphWeights(points)
    similarity = points.similarity
    check_kind(f"metric {points.metric!r}", points.kind, kind, what, instead)
    if points.form == "matrix":
        return MatrixWeights(points)
    few = points.n <= _PAIRS_LIMIT
    by_features = similarity.exact_features or (similarity.has_features and not few)
    if method == "features" or (method == "auto" and by_features):
        features = similarity.features(points.rows, random_state)  # where it has none, the error says so
        weights = FeatureWeights(features, points.metric, points.weight)
        if similarity.may_be_negative:
            weights.block(np.linspace(0, weights.n - 1, min(weights.n, 1024)).astype(np.int64))
        return weights
    return BlockWeights(points)


def pair_features(points: Points, random_state: Any) -> tuple[FeatureMap, HeightRule, float]:
    """Features of vectors, in a unit in which float32 holds their products; the heights of such weights; the unit."""
    features, unit = points.similarity.features(points.rows, random_state).in_units()
    rule = points.heights
    return features, HeightRule(rule.shift, rule.slope * unit), unit


def pair_matrix(
    points: Points,
    what: str,
    instead: str,
    *,
    order: np.ndarray | None = None,
    dtype: Any = np.float32,
    bytes_a_pair: int = 4,
    n_jobs: int | None = -1,
    report: Progress | None = None,
) -> np.ndarray:
    """The values of all pairs, of shape (n, n), in some order of the points.

    The diagonal has the metric's own values. ``what`` and ``instead`` are for the error where memory is short.
    """
    check_memory(bytes_a_pair * points.n**2, what, instead)
    return points.similarity.matrix(points.data, order, dtype=dtype, n_jobs=n_jobs, report=report)


def check_kind(source: str, given: Kind, needed: Kind, what: str, instead: str) -> None:
    if given != needed:
        other = {"similarity": "similarities", "distance": "distances"}
        raise InvalidInput(f"{what} takes {other[needed]}, but {source} {_are(source)} {other[given]}. {instead}")


def _are(source: str) -> str:
    return "gives" if source.startswith("metric") else "are"


def _negative(value: float, place: str) -> InvalidInput:
    return InvalidInput(
        f"Weights must not be negative, got {value:.6g} ({place}). Use metric='cosine' or 'rbf', whose weights never "
        "are, or shift the weights first."
    )


def tree_arrays(tree: Tree) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return (tree.parent, tree.size, tree.child_start, tree.child_ids)
