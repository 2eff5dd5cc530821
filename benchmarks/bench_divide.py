"""Top-down methods: their speed next to the data's own passes and to scikit-learn, and how good their trees are."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered, real

# --- random cut -------------------------------------------------------------------------------------------------------

line = Case(
    "random-cut-5m",
    "Projected Random Cut; bar: 2.5x one product with a vector and one sort",
    short={"n": 1_000_000, "d": 128},
    long={"n": 5_000_000},
)


@line.prepare
def normal(n: int, d: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    X = np.empty((n, d), dtype=np.float32)
    for first in range(0, n, 100_000):
        random.standard_normal(out=X[first : first + 100_000], dtype=np.float32)
    return {"X": X}


@line.contestant("cladify", needs="cladify.divide")
def cut(X: np.ndarray) -> Any:
    import cladify

    return cladify.RandomCut(random_state=0).fit(X).tree_


@line.contestant("X @ g, argsort")
def project_and_argsort(X: np.ndarray) -> Any:
    return np.argsort(X @ np.ones(X.shape[1], dtype=np.float32))


@line.contestant("X @ g, sort")
def project_and_sort(X: np.ndarray) -> Any:
    return np.sort(X @ np.ones(X.shape[1], dtype=np.float32))


# --- bisecting k-means ------------------------------------------------------------------------------------------------

words = Case(
    "kmeans-glove",
    "1000 clusters of 100 000 word vectors; bar: twice as fast as scikit-learn",
    short={"n": 100_000, "k": 1000},
)


@words.prepare
def glove(n: int) -> dict[str, Any]:
    return {"X": real("glove100")["X"][:n].astype(np.float32)}


@words.contestant("cladify", needs="cladify.divide")
def ours(X: np.ndarray, k: int) -> Any:
    import cladify

    return cladify.BisectingKMeans(n_clusters=k, random_state=0).fit(X).labels_


@words.contestant("scikit-learn", needs="sklearn.cluster")
def theirs(X: np.ndarray, k: int) -> Any:
    from sklearn.cluster import BisectingKMeans

    return BisectingKMeans(k, random_state=0).fit(X).labels_


@words.quality("inertia")
def inertia(result: np.ndarray, X: np.ndarray, k: int) -> float:
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, result, X)
    size = np.bincount(result, minlength=k)
    return float((X.astype(np.float64) ** 2).sum() - ((sums**2).sum(axis=1) / size).sum())


# --- Bisect++ and Conquer ---------------------------------------------------------------------------------------------

million = Case(
    "bisect-million",
    "Down to the leaves; bars: 3x bisecting k-means, memory 2.5x the data",
    short={"n": 100_000, "d": 128},
    long={"n": 1_000_000},
    repeat=1,
    timeout=1200.0,
)


@million.prepare
def blobs(n: int, d: int) -> dict[str, Any]:
    return {"X": clustered(n, d)}


def _tree(method: str, **parameters: Any) -> Any:
    def run(X: np.ndarray) -> Any:
        import cladify

        return cladify.fit(X, method, random_state=0, **parameters)

    return run


million.contestant("bisect", needs="cladify.divide")(_tree("bisect"))
million.contestant("bisect, balanced", needs="cladify.divide")(_tree("bisect", delta=0.0))
million.contestant("bisecting k-means", needs="cladify.divide")(_tree("kmeans"))
million.contestant("random cut", needs="cladify.divide")(_tree("random-cut"))


@million.quality("CKMM over random")
def over_random(result: Any, X: np.ndarray) -> float:
    import cladify

    return cladify.objectives.ckmm(result, X) / cladify.objectives.random_value(X, "sqeuclidean", "ckmm") - 1.0


growth = Case(
    "bisect-growth",
    "Time against the number of points; bar: close to linear",
    short={"n": 100_000, "d": 128},
    long={"n": 1_000_000},
    repeat=1,
    timeout=1200.0,
)
growth.prepare(blobs)


def _first(n: int) -> Any:
    def run(X: np.ndarray) -> Any:
        import cladify

        return cladify.fit(X[:n], "bisect", random_state=0)

    return run


for _n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
    growth.contestant(f"{_n:_} points".replace("_", " "), needs="cladify.divide")(_first(_n))
