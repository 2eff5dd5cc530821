"""Where the similarities of triplets come from: features, a matrix, any metric block by block, or the edges of a graph.

Distances count as similarities with their sign turned: a constant added to all weights changes the cost of no tree
against another's, and so neither does the choice of the distance that counts as similarity 0.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.memory import check_memory
from cladify._kit.parallel import map_blocks
from cladify._kit.progress import Progress
from cladify.data._pairs import FeatureWeights, GraphWeights, MatrixWeights, PairWeights
from cladify.data.points import Points
from cladify.data.similarity import Similarity
from cladify.errors import InvalidInput
from cladify.hyperbolic.geometry import on_circle
from cladify.objectives._objective import get_objective
from cladify.tree import Tree

__all__ = ["PairSource", "Source", "find_pairs", "find_source", "find_unit"]

_LARGE = 1e12  # values up to here, and down to one in so many, are taken as they are
_FEW = 1000  # points whose values are worked out once
_LARGEST = 1e20  # in units: sums of such values fit in float32
_EPOCHS = 50  # of all pairs, as the paper trains
_BATCH, _STEPS = 256, 10_000  # triplets a step at least; steps at most, unless asked otherwise


class Source:
    """Similarities of n points.

    Attributes
    ----------
    n_points : int
    kind : "similarity" or "distance"
    """

    n_points: int
    kind: str

    def __init__(self, weights: PairWeights, kind: str) -> None:
        self.n_points = weights.n
        self.kind = kind
        self._weights = weights
        self._objective = get_objective("dasgupta" if kind == "similarity" else "ckmm")

    def cost(self, tree: Tree, n_jobs: int | None) -> float:
        """Dasgupta's cost of a tree; for distances the CKMM objective with its sign turned. Smaller is better."""
        value = self._objective.value(self._weights.pair_sums(tree, n_jobs, Progress()), self._weights.mass)
        return -value if self._objective.maximize else value

    @property
    def objective(self) -> str:
        """The objective that :meth:`cost` stands for."""
        return self._objective.name

    def use_blocks(self, size: int) -> None:
        """Draw blocks of about so many points from now on, where there are blocks."""

    def gradient(
        self, angle: np.ndarray, radius: np.ndarray, temperature: float, random: np.random.Generator, threads: int
    ) -> tuple[float, np.ndarray]:
        """Mean loss of a draw of triplets of points on circles, and its derivatives by their angles.

        Replicas are the rows of ``angle``; ``radius`` has one number for each.
        """
        raise NotImplementedError


class BlockSource(Source):
    """All triplets within random blocks of points; each pass has every point in one block."""

    def __init__(self, weights: PairWeights, kind: str, block_size: int) -> None:
        super().__init__(weights, kind)
        self.use_blocks(block_size)

    def use_blocks(self, size: int) -> None:
        n_blocks = max(1, -(-self.n_points // size))
        self._start = np.linspace(0, self.n_points, n_blocks + 1).astype(np.int64)

    @property
    def n_triplets(self) -> int:
        """Triplets of one pass."""
        m = np.diff(self._start)
        return int((m * (m - 1) * (m - 2) // 6).sum())

    def gradient(
        self, angle: np.ndarray, radius: np.ndarray, temperature: float, random: np.random.Generator, threads: int
    ) -> tuple[float, np.ndarray]:
        replicas, n = angle.shape
        begin = n * np.arange(replicas)[:, None]
        rows = np.tile(np.arange(n), (replicas, 1))
        if len(self._start) > 2:
            rows = random.permuted(rows, axis=1)
        start = np.append((begin + self._start[:-1]).reshape(-1), replicas * n)
        points = (begin + rows).reshape(-1)
        out = np.empty(replicas * n)
        # Exponents e^(d/τ) have to fit: float32 holds a range of 157, float64 one of 1270.
        wide = bool(2.0 * np.arctanh(radius.max()) > 150.0 * temperature)
        radii = np.repeat(radius, len(self._start) - 1)
        loss = self._blocks(wide, start, rows.reshape(-1), points, angle.reshape(-1), radii, temperature, out, threads)
        sign = 1.0 if self.kind == "similarity" else -1.0
        return sign * loss, sign * out.reshape(replicas, n)

    def _blocks(self, wide: bool, start: np.ndarray, rows: np.ndarray, *rest: Any) -> float:
        raise NotImplementedError


class FeatureSource(BlockSource):
    """Dense features: similarities are products, worked out in the kernel."""

    def __init__(self, weights: PairWeights, kind: str, block_size: int, features: Any) -> None:
        super().__init__(weights, kind, block_size)
        self._features = features

    def _blocks(self, wide: bool, start: np.ndarray, rows: np.ndarray, *rest: Any) -> float:
        f = self._features
        return _core.feature_blocks(f.z, f.offset, f.shift, f.scale, wide, start, rows, *rest)


class MatrixSource(BlockSource):
    """A given matrix."""

    def __init__(self, weights: PairWeights, kind: str, block_size: int, matrix: np.ndarray) -> None:
        super().__init__(weights, kind, block_size)
        scaled = np.clip(matrix / find_unit(matrix), -_LARGEST, _LARGEST)
        self._matrix = np.ascontiguousarray(scaled, dtype=np.float32)

    def _blocks(self, wide: bool, start: np.ndarray, rows: np.ndarray, *rest: Any) -> float:
        return _core.matrix_blocks(self._matrix, wide, start, rows, *rest)


class MetricSource(BlockSource):
    """Any metric and any rows: the blocks of a pass are worked out first, n · block_size values."""

    def __init__(self, weights: PairWeights, kind: str, block_size: int, X: Any, metric: Similarity, jobs: Any) -> None:
        super().__init__(weights, kind, block_size)
        self._X = X
        self._metric = metric
        self._jobs = jobs
        some = np.linspace(0, weights.n - 1, min(weights.n, 256)).astype(np.int64)
        self._unit = find_unit(metric.block_of(X, some, some))

    def _blocks(self, wide: bool, start: np.ndarray, rows: np.ndarray, *rest: Any) -> float:
        values = np.zeros((len(rows), int(np.diff(start).max())), dtype=np.float32)

        def fill(block: slice) -> None:
            points = rows[block]
            found = self._metric.block_of(self._X, points, points) / self._unit
            values[block, : len(points)] = np.clip(found, -_LARGEST, _LARGEST)

        map_blocks(fill, [slice(a, b) for a, b in pairwise(start)], n_jobs=self._jobs)
        return _core.stack_blocks(values, wide, start, np.arange(len(rows)), *rest)


class EdgeSource(Source):
    r"""A sparse graph, where random triplets have no edge.

    The cost is a sum over edges, :math:`\sum_{ij} w_{ij} \sum_k (1 - p_{ij}(k))` with p the softmax of the triplet: so
    edges are drawn with probability :math:`w_{ij}`, each with a random third point, which leaves the expected gradient
    as it is and the weights all alike.
    """

    def __init__(self, weights: GraphWeights, n_draws: int) -> None:
        super().__init__(weights, "similarity")
        self._edges = weights.edges
        total = np.cumsum(weights.values, dtype=np.float64)
        self._share = total / total[-1] if len(total) else total
        self.n_triplets = n_draws

    def gradient(
        self, angle: np.ndarray, radius: np.ndarray, temperature: float, random: np.random.Generator, threads: int
    ) -> tuple[float, np.ndarray]:
        n = self.n_points
        if len(self._share) == 0 or n < 3:
            return 0.0, np.zeros_like(angle)
        draws = random.random(self.n_triplets)
        edge = np.minimum(np.searchsorted(self._share, draws, side="right"), len(self._share) - 1)
        i, j = self._edges[0][edge], self._edges[1][edge]
        ids = with_third(i, j, n, random)
        weight = np.zeros((len(ids), 3))
        weight[:, 0] = 1.0
        return mean_loss(angle, radius, ids, weight, temperature, threads)


class PairSource(Source):
    """The printed sampling: every pair of points in random order, each with a third point drawn for it.

    A step takes the next ``batch`` of them. Each pair once is an epoch, about n² / 2 triplets.
    """

    def __init__(self, weights: PairWeights, kind: str, matrix: np.ndarray, batch: int | None) -> None:
        super().__init__(weights, kind)
        scaled = np.clip(matrix / find_unit(matrix), -_LARGEST, _LARGEST)
        self._matrix = scaled.astype(np.float32)
        n = weights.n
        n_pairs = n * (n - 1) // 2
        self.batch = batch or max(_BATCH, -(-_EPOCHS * n_pairs // _STEPS))
        self.n_steps = max(1, -(-_EPOCHS * n_pairs // self.batch))
        self._first = np.arange(n - 1) * (2 * n - np.arange(n - 1) - 1) // 2  # where the pairs of each row begin
        self._epoch = np.empty(0, dtype=np.int64)
        self._next = 0

    def gradient(
        self, angle: np.ndarray, radius: np.ndarray, temperature: float, random: np.random.Generator, threads: int
    ) -> tuple[float, np.ndarray]:
        n = self.n_points
        if n < 3:
            return 0.0, np.zeros_like(angle)
        if self._next >= len(self._epoch):
            self._epoch, self._next = random.permutation(n * (n - 1) // 2), 0
        pair = self._epoch[self._next : self._next + self.batch]
        self._next += self.batch
        i = np.searchsorted(self._first, pair, side="right") - 1
        j = pair - self._first[i] + i + 1
        ids = with_third(i, j, n, random)
        i, j, k = ids.T
        weight = np.stack([self._matrix[i, j], self._matrix[i, k], self._matrix[j, k]], axis=1, dtype=np.float64)
        sign = 1.0 if self.kind == "similarity" else -1.0
        return mean_loss(angle, radius, ids, sign * weight, temperature, threads)


def with_third(i: np.ndarray, j: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
    """Triplets of pairs of n points and a third one, uniformly among the others."""
    k = random.integers(n - 2, size=len(i))
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return np.stack([i, j, k], axis=1)


def mean_loss(
    angle: np.ndarray, radius: np.ndarray, ids: np.ndarray, weight: np.ndarray, temperature: float, threads: int
) -> tuple[float, np.ndarray]:
    """Mean loss of triplets, the same ones in every replica, and its derivatives by the angles."""
    replicas, n = angle.shape
    every = (ids + n * np.arange(replicas)[:, None, None]).reshape(-1, 3)
    z = on_circle(angle, radius[:, None]).reshape(-1, 2)
    out = np.empty_like(z)
    loss = _core.triplet_loss(z, every, np.tile(weight, (replicas, 1)), temperature, out, None, threads)
    turning = z[:, 0] * out[:, 1] - z[:, 1] * out[:, 0]
    return loss / len(every), turning.reshape(replicas, n) / len(ids)


def find_unit(values: np.ndarray) -> float:
    """The unit of values: 1 unless they come near the limits of float32. Steps do not depend on it."""
    largest = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))  # sums of both directions may overflow
    return 1.0 if largest == 0.0 or 1.0 / _LARGE <= largest <= _LARGE else 2.0 ** int(np.floor(np.log2(largest)))


def find_pairs(points: Points, batch: int | None, n_jobs: int | None) -> PairSource:
    """The printed sampling, of the n² similarities of vectors or of a given matrix."""
    if points.is_graph:
        raise InvalidInput("sampling='paper' takes every pair of points; of a graph use sampling='blocks'.")
    points = replace(points, weight=None)
    weights = get_objective("dasgupta" if points.kind == "similarity" else "ckmm").weights(points)
    check_memory(24 * points.n**2, f"all pairs of {points.n} points", "use sampling='blocks', whose memory is linear.")
    matrix = weights.X if isinstance(weights, MatrixWeights) else points.similarity.matrix(points.rows, n_jobs=n_jobs)
    return PairSource(weights, points.kind, matrix, batch)


def find_source(points: Points, block_size: int, n_jobs: int | None) -> Source:
    """The similarities of vectors, of a graph or of a given matrix; every point counts once."""
    points = replace(points, weight=None)
    kind = "similarity" if points.is_graph else points.kind
    weights = get_objective("dasgupta" if kind == "similarity" else "ckmm").weights(points)
    if isinstance(weights, GraphWeights):
        if weights.n > block_size:
            return EdgeSource(weights, max(2048, 8 * weights.n))
        return MatrixSource(weights, kind, block_size, weights.block(np.arange(weights.n)))  # one block of all points
    if isinstance(weights, MatrixWeights):
        return MatrixSource(weights, kind, block_size, weights.X)
    if isinstance(weights, FeatureWeights) and weights.exact and not points.is_sparse:
        features = weights.features.in_units()[0]  # steps do not depend on the unit
        if points.n > _FEW:
            return FeatureSource(weights, kind, block_size, features)
        some = np.arange(points.n)
        return MatrixSource(weights, kind, block_size, features.block(some, some))
    if points.n > _FEW:
        return MetricSource(weights, kind, block_size, points.rows, points.similarity, n_jobs)
    matrix = points.similarity.matrix(points.rows, dtype=np.float64, n_jobs=n_jobs)
    return MatrixSource(weights, kind, block_size, matrix)
