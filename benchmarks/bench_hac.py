"""Exact agglomeration, against the packages that do the same and against one matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered, real


def pairwise_product(X: np.ndarray) -> None:
    """All products of rows, block by block with one BLAS thread each: the least that an exact method does."""
    from cladify._kit.parallel import map_blocks, row_blocks

    columns = row_blocks(len(X), 4096)
    map_blocks(lambda rows: [X[rows] @ X[part].T for part in columns] and None, row_blocks(len(X), 512))


hac = Case(
    "hac",
    "HAC of clustered vectors; bars: 10x faster than fastcluster in a tenth of its memory, half a product at 100 000",
    short={"n": 20_000, "d": 128},
    long={"n": 100_000},
)


@hac.prepare
def blobs(n: int, d: int) -> dict[str, Any]:
    return {"X": clustered(n, d)}


def _ours(linkage: str) -> Any:
    def run(X: np.ndarray) -> Any:
        import cladify

        return cladify.HAC(linkage=linkage).fit(X).tree_

    return run


for _linkage in ("average", "ward", "centroid"):
    hac.contestant(f"cladify {_linkage}", needs="cladify.agglomerate")(_ours(_linkage))


@hac.contestant("one product", needs="cladify._kit.parallel")
def product(X: np.ndarray) -> None:
    pairwise_product(X)


@hac.contestant("fastcluster average", needs="fastcluster", max_n=30_000)
def fastcluster_average(X: np.ndarray) -> Any:
    import fastcluster

    return fastcluster.linkage(X, "average", metric="sqeuclidean")


@hac.contestant("scipy average", needs="scipy.cluster.hierarchy", max_n=30_000)
def scipy_average(X: np.ndarray) -> Any:
    from scipy.cluster.hierarchy import linkage

    return linkage(X, "average", metric="sqeuclidean")


def _fastcluster_vectors(linkage: str) -> Any:
    def run(X: np.ndarray) -> Any:
        import fastcluster

        return fastcluster.linkage_vector(X, linkage)

    return run


for _linkage in ("ward", "centroid"):
    hac.contestant(f"fastcluster {_linkage}", needs="fastcluster", max_n=30_000)(_fastcluster_vectors(_linkage))


complete = Case(
    "hac-complete",
    "Complete linkage, Euclidean; bars: after the distances 2x faster than fastcluster, in half its memory",
    short={"n": 20_000, "d": 128},
    long={"n": 40_000},
)
complete.prepare(blobs)


@complete.contestant("cladify", needs="cladify.agglomerate")
def complete_ours(X: np.ndarray) -> Any:
    import cladify

    return cladify.HAC(linkage="complete", metric="euclidean").fit(X).tree_.to_linkage()


@complete.contestant("cladify's distances", needs="cladify.agglomerate")
def complete_our_distances(X: np.ndarray) -> None:
    from cladify._kit.progress import Progress
    from cladify.agglomerate._matrix import distance_matrix
    from cladify.similarity import euclidean

    distance_matrix(X, euclidean, np.dtype(np.float32), -1, Progress())


@complete.contestant("fastcluster", needs="fastcluster", max_n=30_000)
def complete_fastcluster(X: np.ndarray) -> Any:
    import fastcluster

    return fastcluster.linkage(X, "complete")


@complete.contestant("scipy", needs="scipy.cluster.hierarchy", max_n=30_000)
def complete_scipy(X: np.ndarray) -> Any:
    from scipy.cluster.hierarchy import linkage

    return linkage(X, "complete")


@complete.contestant("scipy's distances", needs="scipy.spatial.distance", max_n=30_000)
def complete_distances(X: np.ndarray) -> None:
    from scipy.spatial.distance import pdist

    pdist(X)


@complete.quality("sum of heights")
def complete_heights(result: Any) -> float:
    return 0.0 if result is None else float(result[:, 2].sum())


euclidean = Case(
    "hac-euclidean",
    "Average linkage under plain Euclidean distances, which takes a matrix",
    short={"n": 16_000, "d": 128},
    long={"n": 32_000},
)
euclidean.prepare(blobs)


@euclidean.contestant("cladify", needs="cladify.agglomerate")
def euclidean_ours(X: np.ndarray) -> Any:
    import cladify

    return cladify.HAC(linkage="average", metric="euclidean").fit(X).tree_.to_linkage()


@euclidean.contestant("fastcluster", needs="fastcluster", max_n=30_000)
def euclidean_fastcluster(X: np.ndarray) -> Any:
    import fastcluster

    return fastcluster.linkage(X, "average")


@euclidean.quality("sum of heights")
def euclidean_heights(result: Any) -> float:
    return float(result[:, 2].sum())


def _single(name: str, about: str, make: Any) -> None:
    """A case of exact spanning trees: clustered data needs searches beyond a point's own cluster, noise needs none."""
    case = Case(name, about, short={"n": 20_000, "d": 64}, long={"n": 50_000}, timeout=300.0)
    case.prepare(make)

    @case.contestant("cladify", needs="cladify.agglomerate")
    def ours(X: np.ndarray) -> Any:
        import cladify

        return np.sort(cladify.HAC(linkage="single", metric="euclidean").fit(X).tree_.height[len(X) :])

    @case.contestant("genieclust (quitefastmst)", needs="quitefastmst")
    def genieclust(X: np.ndarray) -> Any:
        import quitefastmst

        return quitefastmst.mst_euclid(X)[0]

    @case.contestant("fastcluster", needs="fastcluster")
    def fastcluster(X: np.ndarray) -> Any:
        import fastcluster

        return np.sort(fastcluster.linkage_vector(X, "single")[:, 2])

    @case.contestant("scikit-learn", needs="sklearn.cluster")
    def scikit_learn(X: np.ndarray) -> Any:
        from sklearn.cluster import AgglomerativeClustering

        model = AgglomerativeClustering(n_clusters=None, distance_threshold=0, linkage="single").fit(X)
        return np.sort(model.distances_)

    @case.contestant("fast_hdbscan", needs="fast_hdbscan", warm_up=True)
    def fast_hdbscan(X: np.ndarray) -> Any:
        # Its estimator is approximate above 30 dimensions; this is the exact tree beneath it.
        import numba
        from fast_hdbscan.boruvka import parallel_boruvka
        from fast_hdbscan.hdbscan import build_kdtree

        none = np.empty(1, dtype=np.float32)
        threads = numba.get_num_threads()
        edges, _, _ = parallel_boruvka(build_kdtree(X), threads, min_samples=1, sample_weights=none, reproducible=False)
        return np.sort(edges[:, 2])

    @case.quality("sum of edges")
    def total(result: Any) -> float:
        return float(np.sum(result))


_single(
    "hac-single",
    "Single linkage of clustered vectors; bar: 3x faster than the fastest exact one",
    lambda n, d: {"X": clustered(n, d)},
)
_single(
    "hac-single-noise",
    "Single linkage of one Gaussian; bar: 3x faster than the fastest exact one",
    lambda n, d: {"X": np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)},
)


words = Case(
    "hac-glove",
    "Average linkage of 198 399 word vectors (or the first n), cosine",
    short={"n": 20_000},
    long={"n": 198_399},
)


@words.prepare
def glove(n: int) -> dict[str, Any]:
    return {"X": real("glove100")["X"][:n].astype(np.float32)}


@words.contestant("cladify", needs="cladify.agglomerate")
def words_ours(X: np.ndarray) -> Any:
    import cladify

    return cladify.HAC(metric="cosine").fit(X).tree_


@words.contestant("one product", needs="cladify._kit.parallel")
def words_product(X: np.ndarray) -> None:
    pairwise_product(X)
