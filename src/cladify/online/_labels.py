"""Numbers of flat clusters that stay while the clusters change."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Clusters", "StableLabels"]

#: Share of a cluster that makes its going elsewhere a split, or its coming from elsewhere a merger.
_PART = 0.1


class Clusters(NamedTuple):
    """Flat clusters, and what became of those of the last time."""

    labels: np.ndarray  #: of every item, in the order of ``ids_``
    born: list[int]  #: labels that were not there the last time
    gone: list[int]  #: labels that are no longer there
    split: dict[int, list[int]]  #: label of the last time -> the labels among which its items are now, if several
    merged: dict[int, list[int]]  #: label -> those of the last time from which its items come, if several


class StableLabels:
    """The label of every item at the last call, from which the labels of the next one follow.

    Old and new clusters are paired by the number of items they share, the most first: a pair's label stays. Other
    clusters get numbers that were never used.
    """

    def __init__(self) -> None:
        self._label: dict[Hashable, int] = {}
        self._next = 0

    def update(self, ids: list[Hashable], cluster: np.ndarray) -> Clusters:
        """Labels of clusters 0, 1, … of these items; the next call compares with them."""
        before = np.array([self._label.get(item, -1) for item in ids], dtype=np.int64)
        old, count = np.unique(before[before >= 0], return_counts=True)
        size = np.bincount(cluster)
        common = before >= 0
        pairs, shared = np.unique(np.stack([before[common], cluster[common]]), axis=1, return_counts=True)
        label = np.full(len(size), -1, dtype=np.int64)
        taken: set[int] = set()
        for i in np.lexsort((pairs[0], -shared)):
            o, c = int(pairs[0, i]), int(pairs[1, i])
            if o not in taken and label[c] < 0:
                label[c] = o
                taken.add(o)
        fresh = np.flatnonzero(label < 0)
        label[fresh] = self._next + np.arange(len(fresh))
        self._next += len(fresh)

        had = dict(zip(old.tolist(), count.tolist(), strict=True))
        split: dict[int, list[int]] = {}
        merged: dict[int, list[int]] = {}
        for (o, c), s in zip(pairs.T.tolist(), shared.tolist(), strict=True):
            if s >= max(1.0, _PART * had[o]):
                split.setdefault(o, []).append(int(label[c]))
            if s >= max(1.0, _PART * size[c]):
                merged.setdefault(int(label[c]), []).append(o)
        gone = sorted(set(self._label.values()) - set(label.tolist()))
        labels = label[cluster]
        self._label = dict(zip(ids, labels.tolist(), strict=True))
        return Clusters(
            labels,
            sorted(label[fresh].tolist()),
            gone,
            {o: sorted(parts) for o, parts in split.items() if len(parts) > 1},
            {c: sorted(parts) for c, parts in merged.items() if len(parts) > 1},
        )

    def dump(self) -> dict[str, Any]:
        return {"ids": list(self._label), "labels": list(self._label.values()), "next": self._next}

    @classmethod
    def load(cls, kept: dict[str, Any]) -> StableLabels:
        labels = cls()
        labels._label = dict(zip(kept["ids"], map(int, kept["labels"]), strict=True))
        labels._next = int(kept["next"])
        return labels
