"""The vectors whose distances to means are the DP-means cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.params import check_choice
from cladify.data._vectors import check_vectors, squared_norms
from cladify.data.features import FeatureMap
from cladify.data.similarity import sqeuclidean

__all__ = ["METRICS", "check_metric", "cost_features"]

METRICS = ("sqeuclidean", "cosine")


def check_metric(metric: Any) -> str:
    return check_choice("metric", metric, METRICS)


def cost_features(X: Any, metric: str) -> FeatureMap:
    """The feature map with ``w_ij`` = squared distance: of the rows, or with "cosine" of the rows at length 1."""
    if check_metric(metric) == "sqeuclidean":
        return sqeuclidean.features(check_vectors(X))
    X = check_vectors(X, nonzero_rows=True)
    length = np.sqrt(squared_norms(X))
    return FeatureMap(X, np.ones(X.shape[0]), -2.0, 0.0, exact=True, row_scale=1.0 / length)
