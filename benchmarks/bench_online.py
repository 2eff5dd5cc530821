"""Points that arrive and leave: how good and how fast the online methods are, beside others that learn as they go."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.changes import shake
from benchmarks.data import clustered, real
from benchmarks.entities import packages

EXACT = {"cap": None, "single_elimination": False, "single_search": False}
BATCH = 5000


def _stream(X: np.ndarray, name: str, options: dict[str, Any], batch: int = BATCH) -> Any:
    """The tree after all rows have come, a batch at a time."""
    import cladify

    online = getattr(cladify, name)(**options)
    for start in range(0, len(X), batch):
        online.partial_fit(X[start : start + batch])
    return online.tree_


def _purity(result: Any, y: np.ndarray) -> float:
    from cladify.metrics import dendrogram_purity

    return float(dendrogram_purity(result, y)) if hasattr(result, "n_leaves") else float("nan")


def _ari(result: Any, y: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    flat = result.cut(n_clusters=len(np.unique(y))) if hasattr(result, "n_leaves") else result
    return float(adjusted_rand_score(y, flat))


def _arriving(order: str, n: int | None = None) -> dict[str, Any]:
    from cladify.datasets import arrival_order

    data = real("aloi")
    X, y = data["X"].astype(np.float32), data["y"]
    if n is not None and n < len(y):
        some = np.random.default_rng(0).permutation(len(y))[:n]
        X, y = X[some], y[some]
    come = arrival_order(y, order, random_state=0)
    return {"X": X[come], "y": y[come]}


# --- ALOI: tables 3.3, 3.5 and 4.11 of the thesis ---------------------------------------------------------------------

#: What the thesis has: random order; and round-robin, sorted.
aloi = {
    order: Case(
        f"online-aloi-{order}",
        f"ALOI, {order} order, batches of {BATCH}; the thesis: {told}",
        short={"n": 20_000},
        long={"n": 108_000},
        repeat=1,
        timeout=3600,
    )
    for order, told in {
        "random": "GRINCH .504 (.531 in table 4.11), ROTATE .476, GREEDY .435, PERCH .44, PERCH-BC .37, MB-HAC .30, "
        "OHAC .494, FISHDBC .576, MB-SCC .591",
        "round-robin": "GRINCH .503, PERCH .446, MB-HAC .299 (5000), .171 (2000)",
        "sorted": "GRINCH .457, PERCH .351, MB-HAC .464 (5000), .451 (2000)",
    }.items()
}
ONLINE = [
    ("Grinch", "Grinch", {}),
    ("Rotate", "Rotate", {}),
    ("Greedy", "Greedy", {}),
    ("Perch", "Perch", {}),
    ("Perch, collapsed", "Perch", {"max_leaves": 50_000}),
    ("MiniBatchSCC", "MiniBatchSCC", {}),
    ("LiveTree", "LiveTree", {}),
    ("OHAC", "OHAC", {}),
    ("MiniBatchHAC 2000", "MiniBatchHAC", {"buffer_size": 2000}),
]


def _fishdbc(X: np.ndarray) -> Any:
    """Density-based, incremental; its tree is that of single linkage on mutual reachability."""
    from fishdbc import FISHDBC

    from cladify import Tree

    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    online = FISHDBC.from_metric("euclidean")
    for start in range(0, len(unit), BATCH):
        online.update(unit[start : start + BATCH])
    merges = np.asarray(online.cluster().single_linkage_tree, dtype=np.float64)
    return Tree.from_linkage(merges)


def _river(X: np.ndarray, name: str, options: dict[str, Any]) -> np.ndarray:
    """Flat clusters of rows that come one at a time, as dictionaries."""
    from river import cluster

    model = getattr(cluster, name)(**options)
    rows = [dict(enumerate(row)) for row in (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(float).tolist()]
    for row in rows:
        model.learn_one(row)
    return np.array([model.predict_one(row) for row in rows])


for _order, _case in aloi.items():
    _case.prepare(partial(_arriving, _order))
    for _label, _name, _options in ONLINE:
        _case.contestant(_label, needs="cladify.online")(partial(_stream, name=_name, options=_options))
    _case.contestant("FISHDBC", needs="fishdbc")(_fishdbc)
    _case.quality("purity")(_purity)
    _case.quality("ARI at the number of classes")(_ari)

peers = Case(
    "online-peers",
    "Images of 100 objects of ALOI, beside incremental clustering of river and FISHDBC",
    short={"n": 500},
    long={"n": 3000},
    repeat=1,
    timeout=1800,
)


@peers.prepare
def few_objects(n: int) -> dict[str, Any]:
    data = real("aloi")
    some = np.random.default_rng(0).permutation(np.flatnonzero(data["y"] < 100))[:n]
    return {"X": data["X"][some].astype(np.float32), "y": data["y"][some]}


for _label, _name, _options in ONLINE:
    peers.contestant(_label, needs="cladify.online")(partial(_stream, name=_name, options=_options, batch=500))
peers.contestant("FISHDBC", needs="fishdbc")(_fishdbc)
START = {"n_clusters": 100, "seed": 0, "mu": 0.033, "sigma": 0.02}  # of its own far starts one takes all rows
for _label, _name, _options in [
    ("river STREAMKMeans", "STREAMKMeans", {"chunk_size": 500, **START}),
    ("river DBSTREAM", "DBSTREAM", {"clustering_threshold": 0.3, "fading_factor": 1e-9}),
    ("river KMeans", "KMeans", START),
]:
    peers.contestant(_label, needs="river.cluster")(partial(_river, name=_name, options=_options))
peers.quality("purity")(_purity)
peers.quality("ARI at the number of classes")(_ari)


# --- the synthetic set of section 3.5.1 -------------------------------------------------------------------------------

synthetic = Case(
    "online-separated",
    "2500 binary rows, 100 clusters, cosine of sums; thesis: GRINCH 1.0, approximate .993, ROTATE .872, GREEDY .854",
    short={"seed": 0},
    long={"seed": 4},
    repeat=1,
)


@synthetic.prepare
def words(seed: int) -> dict[str, Any]:
    from cladify.datasets import make_model_separated

    X, y = make_model_separated(2500, 100, random_state=seed)
    # The same angles in as many columns as there are rows.
    return {"X": np.linalg.qr(X.toarray().astype(np.float64).T, mode="r").T.astype(np.float32), "y": y}


for _label, _name, _options in [
    ("Grinch, approximate", "Grinch", {}),
    ("Grinch", "Grinch", EXACT),
    ("Rotate", "Rotate", {}),
    ("Greedy", "Greedy", {}),
]:
    synthetic.contestant(_label, needs="cladify.online")(
        partial(_stream, name=_name, options={"linkage": "centroid", **_options})
    )
synthetic.quality("purity")(_purity)


# --- as good as a rebuild ---------------------------------------------------------------------------------------------

# No choice was made on the last two.
SETS = {
    "newsgroups20_minilm": "y1",
    "debian_minilm": "y",
    "mnist": "y",
    "aloi": "y",
    "glove100": "y1",
    "wordnet_minilm": "y1",
}
rebuilds = {
    (name, order): Case(
        f"online-live-{name.partition('_')[0]}-{order}",
        "Half built as a batch, half streamed, a tenth removed; bars: purity within .005, cost within 1 % of a rebuild",
        short={"n": 16_000},
        long={"n": 10**6},
        repeat=1,
        timeout=3600,
    )
    for name in SETS
    for order in ("random", "sorted")
}


def _half(name: str, order: str, n: int) -> dict[str, Any]:
    import cladify
    from cladify.datasets import arrival_order

    data = real(name)
    y = data[SETS[name]]
    some = np.flatnonzero(y >= 0)
    some = some[np.sort(np.random.default_rng(5).permutation(len(some))[:n])]
    come = arrival_order(y[some], order, random_state=0)
    X, y = data["X"][some][come].astype(np.float32), y[some][come]
    gone = np.random.default_rng(1).permutation(len(y))[: len(y) // 10]
    kept = np.setdiff1d(np.arange(len(y)), gone)
    graph = cladify.neighbors(X[kept], 25, metric="cosine", random_state=0)
    return {"X": X, "y": y[kept], "gone": gone, "kept": kept, "edges": _weighed(graph)}


def _weighed(graph: Any) -> Any:
    """What the cost of the batch method counts."""
    from cladify.graphtree._edges import neighbor_edges

    return neighbor_edges(graph, np.ones(graph.n_points), -1).to_scipy()


def _live(X: np.ndarray, gone: np.ndarray, seconds: float) -> Any:
    from cladify.online import LiveTree

    live = LiveTree().partial_fit(X[: len(X) // 2]).partial_fit(X[len(X) // 2 :]).remove(gone)
    return (live.refresh(budget_seconds=seconds) if seconds else live).tree_


def _rebuilt(X: np.ndarray, kept: np.ndarray, seed: int) -> Any:
    from cladify.graphtree import GraphTree

    return GraphTree(metric="cosine", n_neighbors=25, random_state=seed).fit(X[kept]).tree_


def _cost(result: Any, edges: Any) -> float:
    import cladify

    graph = cladify.NeighborGraph.from_scipy(edges, kind="similarity")
    return float(cladify.score(result, graph, objective="dasgupta").value)


for (_name, _order), _case in rebuilds.items():
    _case.prepare(partial(_half, _name, _order))
    _case.contestant("streamed", needs="cladify.online")(partial(_live, seconds=0.0))
    _case.contestant("streamed, then refresh", needs="cladify.online")(partial(_live, seconds=600.0))
    for _seed in range(3):
        _case.contestant(f"rebuild, seed {_seed}", needs="cladify.graphtree")(partial(_rebuilt, seed=_seed))
    _case.quality("purity")(_purity)
    _case.quality("cost")(_cost)


# --- speed and growth -------------------------------------------------------------------------------------------------

growth = Case(
    "online-growth",
    "Microseconds a point (CPU) for the next 1000 of n, and for points removed; bars at two cores: Grinch 5000 and "
    "LiveTree 2000 points a second, removal 20 000, a batch of 1000 into a million in 2 s (MiniBatchSCC)",
    short={"n": 10_000},
    long={"n": 1_000_000},
    repeat=1,
    timeout=7200,
)


@growth.prepare
def mixture(n: int) -> dict[str, Any]:
    return {"X": clustered(n + 1000, 64, n_clusters=max(100, n // 100))}


def _next(X: np.ndarray, name: str) -> tuple[float, float]:
    """CPU seconds for the last 1000 rows, and for taking 1000 others out."""
    import cladify

    online = getattr(cladify, name)()
    online.partial_fit(X[:-1000])
    began = time.process_time()
    online.partial_fit(X[-1000:])
    added = time.process_time() - began
    began = time.process_time()
    online.remove(range(0, 500_000 if len(X) > 500_000 else len(X) // 2, max(1, min(len(X), 10**6) // 2000)))
    return added, time.process_time() - began


for _name in ("Grinch", "LiveTree", "MiniBatchSCC", "Perch"):
    growth.contestant(_name, needs="cladify.online")(partial(_next, name=_name))


@growth.quality("µs a point, added")
def added(result: tuple[float, float]) -> float:
    return 1000.0 * result[0]


@growth.quality("µs a point, removed")
def removed(result: tuple[float, float]) -> float:
    return 1000.0 * result[1]


# --- changes ----------------------------------------------------------------------------------------------------------

changes = Case(
    "online-changes",
    "Random insertions, removals and updates of 1 to 8 items, everything checked after each, and 20 times on the way "
    "also that the folder opens as the same tree. MB: what the process has more at the end than after a fifth",
    short={"steps": 1_000},
    long={"steps": 25_000},
    repeat=1,
    timeout=7200,
)
halves = Case(
    "online-half",
    "ALOI, half removed at random, and the purity beside a fresh build (bar: within .01)",
    short={"n": 5_000},
    long={"n": 20_000},
    repeat=1,
    timeout=3600,
)
METHODS = {
    **{name: (name, {}) for name in ("Grinch", "Rotate", "Greedy", "Perch", "OHAC", "LiveTree", "MiniBatchSCC")},
    "Perch, collapsed": ("Perch", {"max_leaves": 500}),
    "MiniBatchHAC": ("MiniBatchHAC", {"buffer_size": 200}),
}


@changes.prepare
def images() -> dict[str, Any]:
    return _arriving("random", 20_000)


def _shaken(X: np.ndarray, steps: int, name: str, options: dict[str, Any]) -> float:
    """Megabytes that the process has more than after a fifth of the changes."""
    import tempfile
    from pathlib import Path

    import cladify

    with tempfile.TemporaryDirectory() as folder:
        online = getattr(cladify, name)(**options)
        online.partial_fit(X[:1], ids=["first"]).save(folder).remove(["first"])
        used = []
        for part in (steps // 5, steps - steps // 5):
            row = shake(online, X, part, seed=part, batch=8, most=1000, folder=Path(folder), every=max(1, steps // 20))
            used.append(_resident())
            online.remove(list(row))
        online.close()
    return used[1] - used[0]


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def _halved(X: np.ndarray, y: np.ndarray, name: str, options: dict[str, Any]) -> tuple[float, float]:
    """Purity of what is left, and of a fresh tree of it."""
    import cladify
    from cladify.metrics import dendrogram_purity

    kept = np.sort(np.random.default_rng(1).permutation(len(X))[: len(X) // 2])
    kind = getattr(cladify, name)
    online = kind(**options).fit(X).remove(np.setdiff1d(np.arange(len(X)), kept))
    fresh = kind(**options).fit(X[kept])
    return float(dendrogram_purity(online.tree_, y[kept])), float(dendrogram_purity(fresh.tree_, y[kept]))


halves.prepare(partial(_arriving, "random"))
for _label, (_name, _options) in METHODS.items():
    changes.contestant(_label, needs="cladify.online")(partial(_shaken, name=_name, options=_options))
    halves.contestant(_label, needs="cladify.online")(partial(_halved, name=_name, options=_options))


@changes.quality("MB more")
def grown(result: float) -> float:
    return result


@halves.quality("purity")
def after(result: tuple[float, float]) -> float:
    return result[0]


@halves.quality("purity of a fresh build")
def fresh(result: tuple[float, float]) -> float:
    return result[1]


# --- small sets of seed 000 -------------------------------------------------------------------------------------------

for _name, _told in {
    "glass": "GRINCH .91 CKMM, .89 MW, .53 purity; PERCH .20, .20, .47",
    "spambase": "GRINCH .23 CKMM, .42 MW, .60 purity; PERCH .15, .07, .60",
}.items():
    _case = Case(
        f"online-{_name}",
        f"Random order, objectives normalised; published: {_told}",
        short={"order": 0},
        long={"order": 9},
        repeat=1,
    )

    def _small(order: int, name: str = _name) -> dict[str, Any]:
        data = real(name)
        come = np.random.default_rng(order).permutation(len(data["y"]))
        return {"X": data["X"][come].astype(np.float32), "y": data["y"][come]}

    def _centred(X: np.ndarray, name: str) -> Any:
        """The published purities are nearest to those of centred columns."""
        return _stream(X - X.mean(axis=0), name, {"metric": "cosine"})

    _case.prepare(_small)
    for _method in ("Grinch", "Perch", "Rotate", "OHAC"):
        for _metric in ("cosine", "sqeuclidean"):
            _case.contestant(f"{_method} {_metric}", needs="cladify.online")(
                partial(_stream, name=_method, options={"metric": _metric})
            )
        _case.contestant(f"{_method} cosine, centred", needs="cladify.online")(partial(_centred, name=_method))

    @_case.quality("CKMM")
    def _ckmm(result: Any, X: np.ndarray) -> float:
        import cladify

        return float(cladify.score(result, X, metric="sqeuclidean", objective="ckmm").normalized)

    @_case.quality("MW")
    def _mw(result: Any, X: np.ndarray) -> float:
        import cladify

        return float(cladify.score(result, X, metric="cosine", objective="mw").normalized)

    @_case.quality("purity, a point with itself counted")
    def _published(result: Any, y: np.ndarray) -> float:
        """As the paper's formula has it: over all pairs of a class, those of a point with itself among them."""
        own = len(y) / (np.unique(y, return_counts=True)[1] ** 2).sum()
        return own + (1.0 - own) * _purity(result, y)

    _case.quality("purity")(_purity)


# --- entities ---------------------------------------------------------------------------------------------------------

entities = {
    order: Case(
        f"online-entities-{order}",
        "Debian packages to source packages, a linkage learned from a tenth of the sources, the cut chosen on these; "
        "the scores are those of the other nine tenths",
        short={"n": 8_000},
        long={"n": 10**6},
        repeat=1,
        timeout=3600,
    )
    for order in ("random", "round-robin", "sorted")
}


def _records(order: str, n: int) -> dict[str, Any]:
    from cladify.datasets import arrival_order

    data = packages(n)
    come = arrival_order(data["y"], order, random_state=0)
    return {**{name: data[name][come] for name in ("X", "y", "known")}, "blocks": data["blocks"]}


def _resolve(X: np.ndarray, y: np.ndarray, known: np.ndarray, blocks: np.ndarray, name: str) -> np.ndarray:
    """Flat clusters, cut where the packages of known sources are found best."""
    from cladify.entities import BlockLinkage, best_height

    link = BlockLinkage(blocks.tolist()).fit(X[known], y[known])
    tree = _stream(link.transform(X), name, {})
    return tree.cut(height=best_height(tree, np.where(known, y, -1)))


for _order, _case in entities.items():
    _case.prepare(partial(_records, _order))
    for _name in ("Grinch", "Rotate", "Greedy", "Perch", "OHAC"):
        _case.contestant(_name, needs="cladify.entities.linkage")(partial(_resolve, name=_name))

    @_case.quality("pairwise F1")
    def _pairs(result: np.ndarray, y: np.ndarray, known: np.ndarray) -> float:
        from cladify.metrics import pairwise_f1

        return float(pairwise_f1(result[~known], y[~known]).f1)

    @_case.quality("B³")
    def _cubed(result: np.ndarray, y: np.ndarray, known: np.ndarray) -> float:
        from cladify.metrics import b_cubed

        return b_cubed(result[~known], y[~known]).f1

    @_case.quality("CEAF-e")
    def _ceaf(result: np.ndarray, y: np.ndarray, known: np.ndarray) -> float:
        from cladify.metrics import ceaf_e

        return ceaf_e(result[~known], y[~known]).f1
