"""Neighbour graphs: exact against brute force elsewhere, shards against other approximate methods at their recall."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench_hac import pairwise_product
from benchmarks.case import Case
from benchmarks.data import clustered, real

K = 25

exact = Case(
    "knn-exact",
    "25 exact neighbours; bars: 1.5x the bare products, not slower than faiss, 2x faster than scikit-learn",
    short={"n": 20_000, "d": 384},
    long={"n": 50_000},
)


@exact.prepare
def blobs(n: int, d: int) -> dict[str, Any]:
    return {"X": clustered(n, d)}


@exact.contestant("cladify", needs="cladify.neighbors")
def exact_ours(X: np.ndarray) -> Any:
    import cladify

    return cladify.neighbors(X, K, method="exact").indices.reshape(len(X), K)


@exact.contestant("one product", needs="cladify._kit.parallel")
def exact_product(X: np.ndarray) -> None:
    pairwise_product(X)


@exact.contestant("faiss IndexFlat", needs="faiss")
def exact_faiss(X: np.ndarray) -> Any:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, K + 1)[1]


@exact.contestant("scikit-learn brute", needs="sklearn.neighbors")
def exact_sklearn(X: np.ndarray) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X).kneighbors(return_distance=False)


def _shards(X: np.ndarray, share: float) -> Any:
    import cladify

    return cladify.neighbors(X, K, method="shards", recall=share).indices.reshape(len(X), K)


def _descent(X: np.ndarray) -> Any:
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=K + 1, random_state=0).neighbor_graph[0]


def _hnswlib(X: np.ndarray, ef: int) -> Any:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=ef, random_seed=0)
    index.add_items(X)
    index.set_ef(ef)
    return index.knn_query(X, K + 1)[0]


def _faiss_hnsw(X: np.ndarray, ef: int) -> Any:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = ef, ef
    index.add(X)
    return index.search(X, K + 1)[1]


def _faiss_ivf(X: np.ndarray, probes: int) -> Any:
    import faiss

    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], 1024)
    index.train(X)
    index.add(X)
    index.nprobe = probes
    return index.search(X, K + 1)[1]


def _approximate(name: str, about: str, make: Any, short: dict[str, int], long: dict[str, int]) -> None:
    case = Case(name, about, short=short, long=long, repeat=1)

    @case.prepare
    def data(n: int) -> dict[str, Any]:
        import cladify

        X = np.ascontiguousarray(make(n))
        rows = np.sort(np.random.default_rng(0).choice(n, size=500, replace=False))
        found = cladify.neighbors.query(X, X[rows], K + 1).indices
        truth = np.array([row[row != own][:K] for row, own in zip(found, rows, strict=True)])
        return {"X": X, "rows": rows, "truth": truth}

    for share in (0.95, 0.98, 0.99):
        case.contestant(f"cladify {share}", needs="cladify.neighbors")(partial(_shards, share=share))
    case.contestant("pynndescent", needs="pynndescent", warm_up=True)(_descent)
    for ef in (50, 100):
        case.contestant(f"hnswlib ef {ef}", needs="hnswlib", max_n=300_000)(partial(_hnswlib, ef=ef))
        case.contestant(f"faiss HNSW ef {ef}", needs="faiss", max_n=300_000)(partial(_faiss_hnsw, ef=ef))
    for probes in (48, 96):
        case.contestant(f"faiss IVF {probes}/1024", needs="faiss", max_n=300_000)(partial(_faiss_ivf, probes=probes))

    @case.quality("recall")
    def recall(result: np.ndarray, rows: np.ndarray, truth: np.ndarray) -> float:
        found = ([i for i in result[row] if i != row][:K] for row in rows)
        return float(np.mean([len(set(a) & set(b)) / K for a, b in zip(found, truth, strict=True)]))


def _glove(n: int) -> np.ndarray:
    X = real("glove100")["X"][:n].astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


_approximate("knn-glove", "25 neighbours of word vectors of length 1", _glove, {"n": 50_000}, {"n": 198_399})
_approximate(
    "knn-clustered", "25 neighbours of clustered vectors", lambda n: clustered(n, 128), {"n": 50_000}, {"n": 200_000}
)
