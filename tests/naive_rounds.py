"""The definitions of the round-based methods, run on a dense matrix of similarities."""

from __future__ import annotations

import numpy as np

LINKAGE = {"average": np.mean, "single": np.max, "complete": np.min}


def linkage_values(S: np.ndarray, clusters: list[list[int]], linkage: str) -> np.ndarray:
    """f between all clusters; −∞ to themselves."""
    f = np.full((len(clusters), len(clusters)), -np.inf)
    for a, A in enumerate(clusters):
        for b, B in enumerate(clusters):
            if a != b:
                f[a, b] = LINKAGE[linkage](S[np.ix_(A, B)])
    return f


def naive_rounds(S, linkage, thresholds, *, pairs=False, until_stable=True):
    """Partitions (lists of sorted clusters) after every round that merged something, and each one's threshold.

    Clusters are kept in order of their smallest point, so the first of equal neighbours is the smaller one; but one
    chosen before stays the nearest while it is there, though a merge made another one equal to it.
    """
    chosen: dict[tuple[int, ...], tuple[int, ...]] = {}
    clusters = [[i] for i in range(len(S))]
    rounds, used = [clusters], []
    for threshold in thresholds:
        while len(clusters) > 1:
            f = linkage_values(S, clusters, linkage)
            nearest = f.argmax(axis=1)
            names = [tuple(c) for c in clusters]
            for c, name in enumerate(names):
                if chosen.get(name) in names:
                    nearest[c] = names.index(chosen[name])
                chosen[name] = names[nearest[c]]
            root = list(range(len(clusters)))
            merged = False
            for c, other in enumerate(nearest):
                if f[c, other] <= 0 or f[c, other] < threshold or (pairs and nearest[other] != c):
                    continue
                a, b = root[c], root[other]
                if a != b:
                    merged = True
                    root = [min(a, b) if r in (a, b) else r for r in root]
            if not merged:
                break
            clusters = [
                sorted(i for c, r in enumerate(root) if r == kept for i in clusters[c]) for kept in sorted(set(root))
            ]
            rounds.append(clusters)
            used.append(threshold)
            if not until_stable:
                break
    return rounds, used


def partition(labels: np.ndarray) -> list[list[int]]:
    """Clusters in order of their smallest point."""
    return sorted(np.flatnonzero(labels == label).tolist() for label in np.unique(labels))
