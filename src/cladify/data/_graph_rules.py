"""The rules that the arrays of a graph keep; :meth:`cladify.NeighborGraph.validate` lists them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify.errors import InvalidInput

__all__ = ["check_graph", "frozen", "precision"]


def check_graph(
    indptr: np.ndarray, indices: np.ndarray, weight: np.ndarray | None, distance: np.ndarray | None, kind: str
) -> None:
    """Raise with the first rule that the arrays break, if they break one."""
    degree = np.diff(indptr)
    if len(indptr) < 1 or indptr[0] != 0 or (degree < 0).any() or indptr[-1] != len(indices):
        raise InvalidInput("graph breaks rule 1 (indptr starts at 0, never decreases, ends at the number of edges).")
    n = len(degree)
    if len(indices) and (indices.min() < 0 or indices.max() >= n):
        bad = indices[(indices < 0) | (indices >= n)][0]
        raise InvalidInput(f"graph breaks rule 2 (indices are points 0 to {n - 1}): there is an index {bad}.")
    descends = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    starts = np.zeros(len(indices) + 1, dtype=bool)
    starts[indptr] = True
    if not starts[descends].all():
        row = int(np.searchsorted(indptr, descends[~starts[descends]][0], side="right")) - 1
        raise InvalidInput(f"graph breaks rule 3 (indices ascend within a row, each once): row {row} does not.")
    if len(indices) and (indices == np.repeat(np.arange(n, dtype=np.int32), degree)).any():
        raise InvalidInput("graph breaks rule 4 (no point is its own neighbour); drop the diagonal.")
    for name, values in (("weight", weight), ("distance", distance)):
        if values is None:
            continue
        if len(values) != len(indices):
            raise InvalidInput(f"graph breaks rule 5 (one {name} an edge): {len(values)} for {len(indices)} edges.")
        if np.isnan(values).any():
            raise InvalidInput(f"graph breaks rule 5 (no {name} is NaN); drop those edges.")
        if name == "distance" and kind == "distance" and (values < 0).any():
            raise InvalidInput(
                f"graph breaks rule 5 (no distance is negative): there is {values.min()}. "
                "Pass similarities as weight, or kind='similarity'."
            )


def frozen(values: Any, dtype: type, name: str) -> np.ndarray:
    """A read-only array of this type; the caller's own array stays as it is."""
    try:
        array: np.ndarray = np.require(values, dtype, ["C", "A"])
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} of a graph must be an array of numbers, got {type(values).__name__}.") from None
    if array.ndim != 1:
        raise InvalidInput(f"{name} of a graph must be 1-D, got shape {array.shape}.")
    array = array.view()
    array.flags.writeable = False
    return array


def precision(values: Any) -> type:
    """float64 for float64 values, float32 for all others."""
    return np.float64 if getattr(values, "dtype", None) == np.float64 else np.float32
