"""A taxonomy beside labels: purity, ARI and AMI of each level, and which labels each group has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.text import shorten
from cladify.errors import InvalidInput
from cladify.taxonomy._read.levels import Level, labels_of
from cladify.taxonomy._read.snapshot import Snapshot

__all__ = ["Agreement", "LevelAgreement", "agreement"]

#: Labels in a crosstab, at most; the rest is one column.
_COLUMNS = 20
OTHERS = "(other labels)"


@dataclass(frozen=True)
class LevelAgreement:
    """How well the clusters of a level agree with labels."""

    n_clusters: int
    purity: float
    ari: float
    ami: float


@dataclass(frozen=True)
class Agreement:
    """Agreement of all levels, and a crosstab of the first: counts of labels (columns) in groups (rows)."""

    levels: list[LevelAgreement]
    groups: list[str]
    labels: list[str]
    crosstab: list[list[int]]
    n_labelled: int

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        return {
            "n_labelled": self.n_labelled,
            "levels": [vars(level) for level in self.levels],
            "crosstab": {"groups": self.groups, "labels": self.labels, "counts": self.crosstab},
        }

    def lines(self) -> list[str]:
        """As text."""
        rows = [f"{a.n_clusters:8}  {a.purity:6.3f}  {a.ari:5.3f}  {a.ami:5.3f}" for a in self.levels]
        return ["clusters  purity    ARI    AMI", *rows]


def agreement(now: Snapshot, labels: Sequence[Any]) -> Agreement:
    """Agreement with labels; items whose label is missing, empty or -1 are left out."""
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    given = ["" if label is None or label == -1 or label != label else str(label) for label in labels]
    known = np.array([bool(label.strip()) for label in given])
    if not known.any():
        raise InvalidInput("no item has a label.")
    truth = np.array(given, dtype=object)[known]
    _, code = np.unique(truth.astype(str), return_inverse=True)
    levels = []
    for level in now.levels:
        cluster = _clusters(now, level)[known]
        pairs = np.zeros((cluster.max() + 1, code.max() + 1), np.int64)
        np.add.at(pairs, (cluster, code), 1)
        ari, ami = adjusted_rand_score(code, cluster), adjusted_mutual_info_score(code, cluster)
        levels.append(
            LevelAgreement(level.n_clusters, float(pairs.max(axis=1).sum() / len(code)), float(ari), float(ami))
        )
    first = now.levels[0]
    cluster = _clusters(now, first)[known]
    common = [label for label, _ in Counter(truth.tolist()).most_common(_COLUMNS)]
    column = {label: i for i, label in enumerate(common)}
    counts = np.zeros((first.n_clusters, len(common) + 1), np.int64)
    np.add.at(counts, (cluster, [column.get(label, len(common)) for label in truth]), 1)
    shown = [shorten(label, 60) for label in common]
    if counts[:, -1].any():
        shown.append(OTHERS)
    else:
        counts = counts[:, :-1]
    names = [" + ".join(now.names_of(part)) for part in first.parts()]
    return Agreement(levels, names, shown, counts.tolist(), int(known.sum()))


def _clusters(now: Snapshot, level: Level) -> np.ndarray:
    own = labels_of(now.tree, level.nodes)
    return own if level.cluster is None else np.array(level.cluster)[own]
