"""Arriving rows under a metric: features whose sums a tree can keep, and float32 copies to search."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify.data._frame import to_unit_length
from cladify.data._vectors import check_vectors, is_sparse
from cladify.data.similarity import Similarity, get_similarity
from cladify.errors import InvalidInput

__all__ = ["OnlineRows"]


class OnlineRows:
    """Rows ``z`` with w = a + b·(scale ⟨z, z'⟩ + offset + offset'), fixed by the first batch.

    For squared distances the origin is the mean of the first batch: products of rows far from the origin would drown
    the distances.
    """

    def __init__(self, metric: Any) -> None:
        self.similarity: Similarity = get_similarity(metric)
        if self.similarity.name not in ("cosine", "dot", "sqeuclidean"):
            raise InvalidInput(
                f"metric {str(self.similarity)!r} is not one of cosine, dot and sqeuclidean, whose sums a tree can "
                "keep; give linkage= a function of two arrays of rows to cluster by anything else."
            )
        self.scale = 2.0 if self.similarity.name == "sqeuclidean" else 1.0
        self.n_features: int | None = None
        self._centre: np.ndarray | None = None

    def check(self, X: Any, model: str) -> np.ndarray:
        """The rows as a dense array, checked; the object does not change."""
        X = check_vectors(
            X,
            min_rows=0,
            nonzero_rows=self.similarity.needs_nonzero_rows,
            n_features=self.n_features,
            model=model,
        )
        rows = np.asarray(X.toarray() if is_sparse(X) else X)
        if self.similarity.name != "cosine":
            _check_range(rows)
        return rows

    def settle(self, X: np.ndarray) -> None:
        """Fixes the number of columns and the origin by the first rows."""
        if self.n_features is None and len(X):
            self.n_features = int(X.shape[1])
            if self.similarity.name == "sqeuclidean":
                self._centre = X.mean(axis=0, dtype=np.float64)

    def features(self, X: np.ndarray) -> np.ndarray:
        """``[z, offset]`` in float64."""
        out = np.empty((len(X), X.shape[1] + 1))
        z = out[:, :-1]
        z[:] = X
        if self.similarity.name == "cosine":
            to_unit_length(z)
        elif self._centre is not None:
            z -= self._centre
        out[:, -1] = -np.einsum("ij,ij->i", z, z) if self._centre is not None else 0.0
        return out

    def searched(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``z`` in float32 and, where nearness is distance, |z|²."""
        z = np.ascontiguousarray(features[:, :-1], dtype=np.float32)
        return z, None if self._centre is None else -features[:, -1]

    def originals(self, z: np.ndarray) -> np.ndarray:
        """Rows in float64 whose features are these ``z`` again, up to rounding."""
        rows = z.astype(np.float64)
        return rows if self._centre is None else rows + self._centre

    def heights(self, linkage: np.ndarray) -> np.ndarray:
        """Linkages (larger is closer) as heights: 1 − cos, −⟨x, y⟩ or the squared distance."""
        return 1.0 - linkage if self.similarity.name == "cosine" else -linkage

    def dump(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"n_features": self.n_features}, {} if self._centre is None else {"centre": self._centre}

    def load(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.n_features, self._centre = meta["n_features"], arrays.get("centre")


def _check_range(X: np.ndarray) -> None:
    """Searches work in float32, and the origin is that of the first batch: rows cannot be scaled as they come."""
    largest = float(np.abs(X).max(initial=0.0))
    if largest > 1e17 or 0.0 < largest < 1e-17:
        raise InvalidInput(
            f"X has values up to {largest:.3g}, whose squares do not fit float32, in which online methods search; "
            "scale all rows by one number first, so that values are near 1."
        )
