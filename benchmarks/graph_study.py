"""The tables of ``docs/studies/graph.md``: purity, ARI and the largest of 30 clusters of trees on labelled data.

``python -m benchmarks.graph_study methods [set ...]`` compares the methods, ``weights`` the numbers of neighbours
and the weights of edges, ``peers`` flat clusterings at their own numbers of clusters, with the tree cut at the same
numbers and its firmest items at the same coverage. One line a result; ``--rows all`` takes all
rows instead of 6000 random ones.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.data import real

EMBEDDINGS = ("newsgroups20_minilm", "debian_minilm", "mnist", "glove100", "aloi")
TABLES = ("optdigits", "satimage", "letter", "segmentation", "vowel", "glass", "wine", "zoo")
METHODS: dict[str, dict[str, Any]] = {
    "graph": {},
    "average": {"method": "hac"},
    "ward": {"method": "hac", "linkage": "ward"},
    "reciprocal": {"method": "reciprocal"},
    "scc": {"method": "scc"},
    "kmeans": {"method": "kmeans"},
    "bisect": {"method": "bisect"},
}


def data(name: str, rows: int | None, seed: int = 0) -> tuple[np.ndarray, np.ndarray, str]:
    """Rows, labels and metric of a set: tables as z-scores; of GloVe the labelled words, of ALOI 55 objects."""
    arrays = real(name)
    X, y = arrays["X"].astype(np.float32), arrays["y1" if "y1" in arrays else "y"].astype(np.int64)
    random = np.random.default_rng(seed)
    if rows is not None:
        if name == "aloi":
            keep = np.flatnonzero(np.isin(y, random.choice(1000, 55, replace=False)))
        elif name == "glove100":
            keep = np.sort(random.permutation(np.flatnonzero(y >= 0))[:rows])
        else:
            keep = np.sort(random.permutation(len(X))[:rows])
        X, y = X[keep], y[keep]
    if name in EMBEDDINGS:
        return X, y, "cosine"
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), y, "sqeuclidean"


def quality(tree: Any, y: np.ndarray) -> str:
    """Dendrogram purity, ARI cut at the number of classes, share of the largest of 30 clusters."""
    from sklearn.metrics import adjusted_rand_score

    from cladify.metrics import dendrogram_purity

    known = np.flatnonzero(y >= 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = tree.cut(n_clusters=len(np.unique(y[known])))
        largest = np.bincount(tree.cut(n_clusters=min(30, tree.n_leaves))).max() / tree.n_leaves
    ari = adjusted_rand_score(y[known], labels[known])
    purity = dendrogram_purity(tree.prune(known) if len(known) < len(y) else tree, y[known])
    return f"{purity:.3f} / {ari:.3f} / {largest:.2f}"


def timed(work: Callable[[], Any]) -> tuple[Any, str]:
    cpu, wall = time.process_time(), time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = work()
    return result, f"{time.process_time() - cpu:.1f} CPU s, {time.monotonic() - wall:.1f} s"


def compare_methods(name: str, rows: int | None) -> Iterator[str]:
    import cladify

    X, y, metric = data(name, rows)
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12) if metric == "cosine" else X
    for method, options in METHODS.items():
        own = {"method": "graph", "metric": metric, **options}
        if method == "ward":
            own["metric"] = "euclidean"
        if method in ("kmeans", "bisect"):
            del own["metric"]
        tree, took = timed(lambda own=own: cladify.fit(unit, random_state=0, **own))  # type: ignore[misc]
        yield f"{method:12s} {quality(tree, y)}   {took}"


def compare_weights(name: str, rows: int | None) -> Iterator[str]:
    import cladify
    from cladify.graphtree import GraphTree

    X, y, metric = data(name, rows)
    for k in (10, 15, 25, 40):
        if k >= len(X):
            continue
        graph = cladify.neighbors(X, k, metric).connect(X)
        for label, matrix in weighings(graph).items():
            tree, took = timed(lambda m=matrix: GraphTree(metric="precomputed-similarity").fit(m).tree_)  # type: ignore[misc]
            yield f"k {k:2d} {label:12s} {quality(tree, y)}   {took}"


def weighings(graph: Any) -> dict[str, Any]:
    """Symmetric weights of a graph of neighbours, by several rules."""
    from scipy.sparse import csr_array, eye_array

    distance = graph.to_scipy("distance")
    n = graph.n_points
    row = np.repeat(np.arange(n), graph.degree)
    order = np.lexsort((distance.data, row))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order)) - graph.indptr[row]
    fifth = np.zeros(n)
    at = rank == np.minimum(4, graph.degree[row] - 1)
    fifth[row[at]] = np.maximum(distance.data[at], 1e-9)
    step = csr_array((np.ones(len(row)), graph.indices, graph.indptr), shape=graph.shape) + eye_array(n, format="csr")

    def both(values: np.ndarray) -> Any:
        matrix = csr_array((values, graph.indices, graph.indptr), shape=graph.shape)
        return (matrix + matrix.T).tocsr()

    plain = both(graph.weight.astype(np.float64))
    return {
        "similarity": plain,
        "shared": ((step @ step.T) * (plain > 0)).tocsr(),
        "own scale": both(fifth[row] / (fifth[row] + distance.data)),
        "1/(rank+3)": both(1.0 / (rank + 3.0)),
    }


def compare_peers(name: str, rows: int | None) -> Iterator[str]:
    """Flat clusterings at their own numbers of clusters, and the tree cut at the same numbers."""
    import cladify

    X, y, metric = data(name, rows)
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12) if metric == "cosine" else X
    model, took = timed(lambda: cladify.GraphTree(metric=metric).fit(X))
    yield f"graph: {quality(model.tree_, y)}   {took}"
    for peer, work in PEERS.items():
        try:
            labels, took = timed(lambda work=work: work(unit))  # type: ignore[misc]
        except ImportError as error:
            yield f"{peer}: not installed ({error})"
            continue
        yield f"{peer}: {_flat(labels, y)}   {took}"
        yield from _confident(model, labels, y, peer)


def _evoc(X: np.ndarray) -> np.ndarray:
    from evoc import EVoC

    labels: np.ndarray = np.asarray(EVoC(random_state=0).fit_predict(X))
    return labels


def _hdbscan(X: np.ndarray) -> np.ndarray:
    from sklearn.cluster import HDBSCAN

    labels: np.ndarray = HDBSCAN(min_cluster_size=max(5, len(X) // 500), copy=True).fit_predict(X)
    return labels


def _bertopic(X: np.ndarray) -> np.ndarray:
    from sklearn.cluster import HDBSCAN
    from umap import UMAP

    low = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=0).fit_transform(X)
    labels: np.ndarray = HDBSCAN(min_cluster_size=10, copy=True).fit_predict(low)
    return labels


PEERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"EVoC": _evoc, "HDBSCAN": _hdbscan, "UMAP + HDBSCAN": _bertopic}


def _flat(labels: np.ndarray, y: np.ndarray) -> str:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    known = y >= 0
    covered = known & (labels >= 0)
    count = len(np.unique(labels[labels >= 0]))
    alone = adjusted_rand_score(y[covered], labels[covered]) if covered.any() else 0.0
    return (
        f"{count} clusters, ARI {adjusted_rand_score(y[known], labels[known]):.3f}, "
        f"AMI {adjusted_mutual_info_score(y[known], labels[known]):.3f}, "
        f"coverage {covered.sum() / known.sum():.2f} (ARI there {alone:.3f})"
    )


def _confident(model: Any, labels: np.ndarray, y: np.ndarray, peer: str) -> Iterator[str]:
    count, share = len(np.unique(labels[labels >= 0])), float((labels >= 0).mean())
    if count > 0:
        yield f"  graph, {count} clusters, firmest {share:.0%} as {peer}: {firmest(model, y, count, share)}"


def firmest(model: Any, y: np.ndarray, n_clusters: int, share: float) -> str:
    """ARI over all items, and over the share of them that sits most firmly in its cluster."""
    from sklearn.metrics import adjusted_rand_score

    from cladify.graphtree import confidence

    labels = model.tree_.cut(n_clusters=n_clusters)
    firm = confidence(model.graph_, labels)
    known = y >= 0
    kept = known & (firm >= np.quantile(firm, 1.0 - share))
    return (
        f"ARI {adjusted_rand_score(y[known], labels[known]):.3f}, "
        f"of the firmest {adjusted_rand_score(y[kept], labels[kept]):.3f}"
    )


WORK = {"methods": compare_methods, "weights": compare_weights, "peers": compare_peers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=sorted(WORK))
    parser.add_argument("sets", nargs="*", default=[*EMBEDDINGS, *TABLES])
    parser.add_argument("--rows", default="6000")
    args = parser.parse_args()
    for name in args.sets:
        for line in WORK[args.table](name, None if args.rows == "all" else int(args.rows)):
            print(f"{name:20s} {line}", flush=True)


if __name__ == "__main__":
    main()
