"""`EdgeLists`: the edges of a symmetric graph as plain arrays, in the form that the kernels take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["EdgeLists"]


@dataclass
class EdgeLists:
    """A symmetric graph in CSR form: row i has the edges ``indptr[i]:indptr[i + 1]``, to ``indices`` with ``value``."""

    indptr: np.ndarray
    indices: np.ndarray
    value: np.ndarray

    @property
    def n_points(self) -> int:
        return len(self.indptr) - 1

    def to_scipy(self) -> Any:
        from scipy.sparse import csr_array

        # Both of one type, or SciPy copies the indices.
        few = len(self.indices) < 2**31
        indptr = self.indptr.astype(np.int32) if few else self.indptr
        return csr_array((self.value, self.indices, indptr), shape=(self.n_points, self.n_points))
