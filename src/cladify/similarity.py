"""The metrics between rows, by the names that ``metric=`` takes; see :mod:`cladify.data.similarity`."""

from cladify.data.similarity import (
    METRICS,
    FeatureMap,
    Similarity,
    cosine,
    custom,
    dot,
    euclidean,
    get_similarity,
    jaccard,
    laplacian,
    precomputed,
    rbf,
    sqeuclidean,
)

__all__ = [
    "METRICS",
    "FeatureMap",
    "Similarity",
    "cosine",
    "custom",
    "dot",
    "euclidean",
    "get_similarity",
    "jaccard",
    "laplacian",
    "precomputed",
    "rbf",
    "sqeuclidean",
]
