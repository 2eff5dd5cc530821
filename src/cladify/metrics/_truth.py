"""Labels: a partition (one label a point) or a cover (any number of labels a point)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cladify import _core
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_labels
from cladify.data._vectors import is_sparse
from cladify.errors import InvalidInput
from cladify.tree import Tree

__all__ = ["Cover", "labelled", "read_cover", "threads_for"]


@dataclass(frozen=True)
class Cover:
    """Labels of points: those of point i are ``label[start[i]:start[i + 1]]``, all below ``n_labels`` and all used."""

    start: np.ndarray
    label: np.ndarray
    n_labels: int

    @classmethod
    def of_codes(cls, codes: np.ndarray) -> Cover:
        """The partition of label codes; -1 has no label."""
        kept = codes >= 0
        start = np.concatenate([[0], np.cumsum(kept)])
        return cls(start, np.ascontiguousarray(codes[kept]), int(codes.max(initial=-1)) + 1)

    @cached_property
    def label_size(self) -> np.ndarray:
        """Points of each label."""
        return np.bincount(self.label, minlength=self.n_labels)

    def has_label(self) -> np.ndarray:
        """Mask of the points that have one."""
        return np.diff(self.start) > 0

    def without_unlabelled(self) -> Cover:
        """The same labels over the points that have one."""
        return Cover(np.concatenate([[0], np.cumsum(np.diff(self.start)[self.has_label()])]), self.label, self.n_labels)

    def on(self, tree: Tree) -> Any:
        """The native form for walking the points of each label inside ``tree``."""
        return _core.LabelledTree(tree.leaf_order, self.start, self.label, self.n_labels)


def threads_for(n_jobs: int | None, work: int) -> int:
    """Threads for so many steps of work; starting one costs more than a few thousand of them."""
    return min(resolve_jobs(n_jobs), 1 + work // 10_000)


def labelled(tree: Tree, y: Any, *, name: str = "y") -> tuple[Tree, np.ndarray]:
    """The tree of the leaves that have a label, and their label codes."""
    codes = check_labels(y, tree.n_leaves, name=name)
    kept = codes >= 0
    if kept.all():
        return tree, codes
    if not kept.any():
        raise InvalidInput(f"{name} has no labels: all of its {len(codes)} entries are -1.")
    return tree.prune(kept), codes[kept]


def read_cover(truth: Any, n: int, *, name: str = "truth") -> Cover:
    """Labels in any accepted form: one a point, a sparse indicator (n, labels), CSR arrays, or n collections."""
    if is_sparse(truth):
        return _from_sparse(truth, n, name)
    if isinstance(truth, tuple) and len(truth) == 2 and n != 2:
        return _from_csr(*truth, n, name)
    if isinstance(truth, Sequence) and not isinstance(truth, str) and any(_is_collection(entry) for entry in truth):
        return _from_collections(truth, n, name)
    return Cover.of_codes(check_labels(truth, n, name=name))


def _is_collection(entry: Any) -> bool:
    return isinstance(entry, (set, frozenset, list, tuple, np.ndarray))


def _from_sparse(truth: Any, n: int, name: str) -> Cover:
    matrix = truth.tocsr(copy=True)
    if matrix.shape[0] != n:
        raise InvalidInput(f"{name} must have one row a point ({n}) and one column a label, got shape {matrix.shape}.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return _packed(matrix.indptr, matrix.indices)


def _from_csr(indptr: Any, indices: Any, n: int, name: str) -> Cover:
    indptr, indices = np.asarray(indptr), np.asarray(indices)
    good = indptr.shape == (n + 1,) and indices.ndim == 1 and indptr.dtype.kind in "iu" and indices.dtype.kind in "iu"
    if not good or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise InvalidInput(
            f"{name} as (indptr, indices) needs integer arrays with indptr of shape ({n + 1},) rising from 0 to "
            f"len(indices), got shapes {indptr.shape} and {indices.shape}."
        )
    point = np.repeat(np.arange(n), np.diff(indptr))
    if len(indices) and indices.min() < 0:
        raise InvalidInput(f"{name} has the label {indices.min()}; labels are 0 or above.")
    return _from_pairs(point, indices, n)


def _from_collections(truth: Sequence[Any], n: int, name: str) -> Cover:
    if len(truth) != n:
        raise InvalidInput(f"{name} must have one collection of labels a point ({n}), got {len(truth)}.")
    known: dict[Any, int] = {}
    try:
        label = [known.setdefault(each, len(known)) for entry in truth for each in entry]
        point = np.repeat(np.arange(n), [len(entry) for entry in truth])
    except TypeError:
        raise InvalidInput(
            f"{name} mixes collections of labels with single labels; use a collection for each point."
        ) from None
    return _from_pairs(point, np.array(label, dtype=np.int64), n)


def _from_pairs(point: np.ndarray, label: np.ndarray, n: int) -> Cover:
    """From (point, label) pairs in order of points; repeated ones count once."""
    both = np.unique(np.stack([point, label]), axis=1) if len(label) else np.empty((2, 0), dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(np.bincount(both[0], minlength=n))])
    return _packed(start, both[1])


def _packed(start: np.ndarray, label: np.ndarray) -> Cover:
    """Renumbers labels so that none is empty."""
    used, codes = np.unique(label, return_inverse=True)
    return Cover(np.asarray(start, dtype=np.int64), codes.astype(np.int64).reshape(-1), len(used))
