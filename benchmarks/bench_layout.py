"""Maps of points in the plane: quality and time beside UMAP, t-SNE and PaCMAP, all from the vectors.

Quality: the share of each point's 15 nearest kept in the map (``kept``), the accuracy of a vote of the 15 nearest
(``vote``), random triplets in the same order (``triplets``), and the rank correlation of the distances between the
centres of classes (``centres``).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors

from benchmarks.case import Case
from benchmarks.data import clustered, real

K = 15
#: Set and its labels; all by cosine.
SETS = {
    "mnist": "y",
    "newsgroups20_minilm": "y1",
    "debian_minilm": "y",
    "wordnet_minilm": "y1",  # 45 files of lexicographers; the four parts of speech have six distances only
    "aloi": "y",
    "optdigits": "y",
    "letter": "y",  # this and the next had no say in any choice
    "satimage": "y",
}


def _nearest(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    found = NearestNeighbors(n_neighbors=K + 1).fit(X).kneighbors(X[rows], return_distance=False)
    return np.array([[j for j in near if j != i][:K] for near, i in zip(found, rows, strict=True)])


def _load(n: int, name: str) -> dict[str, Any]:
    data = real(name)
    random = np.random.default_rng(0)
    rows = random.permutation(len(data["X"]))[:n]
    X = data["X"][rows].astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    asked = random.permutation(len(X))[:2000]
    y = np.unique(data[SETS[name]][rows], return_inverse=True)[1]
    return {"X": X, "y": y, "asked": asked, "near": _nearest(X, asked)}


def _ours(X: np.ndarray) -> np.ndarray:
    import cladify

    return cladify.layout(X, metric="cosine")


def _umap(X: np.ndarray) -> np.ndarray:
    import umap

    return umap.UMAP(n_neighbors=K, metric="cosine", random_state=0).fit_transform(X)


def _tsne(X: np.ndarray) -> np.ndarray:
    import openTSNE

    return np.asarray(openTSNE.TSNE(metric="cosine", n_jobs=-1, random_state=0).fit(X))


def _pacmap(X: np.ndarray) -> np.ndarray:
    import pacmap

    return pacmap.PaCMAP(random_state=0).fit_transform(X)


def kept(result: np.ndarray, asked: np.ndarray, near: np.ndarray) -> float:
    found = _nearest(result, asked)
    return float(np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found, near, strict=True)]))


def vote(result: np.ndarray, asked: np.ndarray, y: np.ndarray) -> float:
    found = _nearest(result, asked)
    return float(np.mean([np.bincount(y[near]).argmax() == y[i] for near, i in zip(found, asked, strict=True)]))


def triplets(result: np.ndarray, X: np.ndarray) -> float:
    i, j, k = np.random.default_rng(0).integers(0, len(X), (3, 100_000))

    def nearer(points: np.ndarray) -> np.ndarray:
        return ((points[i] - points[j]) ** 2).sum(axis=1) < ((points[i] - points[k]) ** 2).sum(axis=1)

    return float((nearer(X) == nearer(result)).mean())


def centres(result: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    classes = [c for c in range(y.max() + 1) if (y == c).sum() >= 5]
    between = (pdist([points[y == c].mean(axis=0) for c in classes]) for points in (X, result))
    return float(spearmanr(*between)[0])


def _case(name: str, n: int, more: int) -> None:
    case = Case(
        f"layout-{name.split('_')[0].removesuffix('20')}",
        "a map from vectors; bars: kept and vote of UMAP - 0.005, triplets and centres of PaCMAP - 0.02, 1/10 of its s",
        short={"n": n},
        long={"n": more},
        repeat=1,
        timeout=1200,
    )
    case.prepare(partial(_load, name=name))
    case.contestant("cladify", needs="cladify")(_ours)
    case.contestant("umap-learn", needs="umap", warm_up=True)(_umap)
    case.contestant("openTSNE", needs="openTSNE")(_tsne)
    case.contestant("PaCMAP", needs="pacmap", warm_up=True)(_pacmap)
    for quality in (kept, vote, triplets, centres):
        case.quality(quality.__name__)(quality)


for name in SETS:
    _case(name, 10_000, 70_000)

million = Case(
    "layout-million",
    "a map from a given graph; bar: 60 s for a million points",
    short={"n": 50_000},
    long={"n": 1_000_000},
    repeat=1,
    timeout=1200,
)


@million.prepare
def graph(n: int) -> dict[str, Any]:
    import cladify

    found = cladify.neighbors(clustered(n, 128), K, "cosine")
    return {"indptr": found.indptr, "indices": found.indices, "distance": found.distances()}


@million.contestant("cladify", needs="cladify")
def million_ours(indptr: np.ndarray, indices: np.ndarray, distance: np.ndarray) -> np.ndarray:
    import cladify

    return cladify.layout(cladify.NeighborGraph(indptr, indices, distance=distance, metric="cosine"))
