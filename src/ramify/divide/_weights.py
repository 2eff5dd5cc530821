"""The weights that splits are valued by, in the form the native code takes them: features, a graph or a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramify import _core
from ramify.agglomerate._links import is_graph, point_links
from ramify.divide._rows import shuffled_features
from ramify.features import FeatureMap, squared_norms
from ramify.parallel import row_blocks
from ramify.progress import Progress
from ramify.similarity import Similarity, get_similarity
from ramify.validate import check_memory, is_sparse

__all__ = ["Weights", "find_weights"]

_SKETCH = 1024  # columns that random binning features are hashed to


@dataclass
class Weights:
    """Weights between n points in a random order.

    Attributes
    ----------
    n_points : int
    sign : 1.0 or -1.0
        Distances or similarities.
    to_height : (a, b)
        The height of a mean weight w: ``a + b·w``.
    run : callable
        ``run(parameters, threads, tell)`` splits them: parents, heights, and ``inside`` as it was used.
    info : dict
        For the tree's info.
    """

    n_points: int
    sign: float
    to_height: tuple[float, float]
    run: Callable[[Any, int, Callable[[int], None]], tuple[np.ndarray, np.ndarray, float]]
    info: dict[str, Any] = field(default_factory=dict)


def find_weights(X: Any, metric: Any, random: np.random.Generator, *, n_jobs: int | None, report: Progress) -> Weights:
    """The weights of vectors, of a graph or of a precomputed matrix."""
    if is_graph(X, metric):
        return _graph_weights(X, metric, random, n_jobs, report)
    similarity = get_similarity(metric)
    X = similarity.check(X)
    if similarity.has_features:
        return _feature_weights(X, similarity, random, n_jobs)
    return _matrix_weights(X, similarity, random, n_jobs, report)


def _feature_weights(X: Any, similarity: Similarity, random: np.random.Generator, n_jobs: int | None) -> Weights:
    features, unit = similarity.features(X, random_state=random).in_units()
    if is_sparse(features.rows) and not is_sparse(X):
        features = _sketch(features, random)
    order = random.permutation(features.shape[0])
    z = shuffled_features(features, order, n_jobs)
    offset, shift = features.offset[order], features.shift
    a, b = _to_height(similarity, lambda: float(squared_norms(z).max()) * features.scale)
    if similarity.kind == "similarity":
        # Rows that share a direction, as embeddings do, are told apart better about their mean.
        mean = z.mean(axis=0, dtype=np.float64).astype(np.float32)
        z -= mean
        offset = offset + features.scale * (z @ mean)
        shift = shift + features.scale * float(mean.astype(np.float64) @ mean)

    def run(parameters: Any, threads: int, tell: Any) -> tuple[np.ndarray, np.ndarray, float]:
        return _core.bisect_features(z, order, offset, features.scale, shift, parameters, threads, tell)

    info = {"metric": str(similarity), "weights": "features" if features.exact else "random features"}
    return Weights(len(order), _sign(similarity), (a, b * unit), run, info)


def _sketch(features: FeatureMap, random: np.random.Generator) -> FeatureMap:
    """Sparse random features hashed to a few dense columns with random signs: the products stay right on average."""
    from scipy.sparse import csr_array

    n, k = features.shape
    column = random.integers(_SKETCH, size=k)
    sign = random.choice(np.array([-1.0, 1.0], dtype=np.float32), size=k)
    hashing = csr_array((sign, column, np.arange(k + 1)), shape=(k, _SKETCH))
    rows = np.empty((n, _SKETCH), dtype=np.float32)
    for block in row_blocks(n, 4096):
        rows[block] = (features.rows[block] @ hashing).toarray()
    return FeatureMap(rows, features.offset, features.scale, features.shift, exact=False)


def _matrix_weights(
    X: Any, similarity: Similarity, random: np.random.Generator, n_jobs: int | None, report: Progress
) -> Weights:
    n = X.shape[0]
    check_memory(
        4 * n * n,
        f"BisectConquer with metric {str(similarity)!r} on {n} points",
        "use a metric with a feature map (cosine, dot, sqeuclidean, rbf, laplacian) or a graph (ramify.neighbors).",
    )
    order = random.permutation(n)
    weight = similarity.matrix(X, order, n_jobs=n_jobs, report=report)

    def run(parameters: Any, threads: int, tell: Any) -> tuple[np.ndarray, np.ndarray, float]:
        return _core.bisect_matrix(weight, order, parameters, threads, tell)

    info = {"metric": str(similarity), "weights": "matrix"}
    return Weights(n, _sign(similarity), _to_height(similarity, lambda: float(weight.max())), run, info)


def _graph_weights(X: Any, metric: Any, random: np.random.Generator, n_jobs: int | None, report: Progress) -> Weights:
    links = point_links(X, metric, 0, n_jobs=n_jobs, report=report)
    n = links.n_points
    order = random.permutation(n)
    indptr, indices, value = links.take()
    weight = (links.shift + links.scale * value).astype(np.float32)

    def run(parameters: Any, threads: int, tell: Any) -> tuple[np.ndarray, np.ndarray, float]:
        return _core.bisect_graph(indptr, indices.copy(), weight, order, parameters, threads, tell)

    return Weights(n, -1.0, links.to_height, run, {**links.info, "weights": "graph"})


def _to_height(similarity: Similarity, top: Callable[[], float]) -> tuple[float, float]:
    """Heights of products and of similarities of unknown range count from the largest one down."""
    a, b = similarity.to_height
    return (top(), b) if (a, b) == (0.0, -1.0) else (a, b)


def _sign(similarity: Similarity) -> float:
    return 1.0 if similarity.kind == "distance" else -1.0
