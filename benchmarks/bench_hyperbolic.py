"""Gradient-based trees: triplets a second beside PyTorch, decoding, the published costs, and large sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench_refine import table_rows
from benchmarks.case import Case
from benchmarks.data import clustered, real

#: Dasgupta's cost and dendrogram purity (%) of HypHC, and the cost of UFit, in tables 1 and 2 of the paper.
HYPHC = {
    "zoo": (2.802e5, 98.7, 2.896e5),
    "iris": (7.881e5, 77.3, 7.916e5),
    "glass": (2.902e6, 49.2, 2.925e6),
    "segmentation": (3.341e9, 55.9, 3.560e9),
    "spambase": (3.126e10, 79.2, 3.204e10),
    "letter": (2.384e12, np.nan, np.nan),
}
CLASSIFIED = ("zoo", "iris", "glass", "segmentation")

triplets = Case(
    "hyperbolic-triplets",
    "loss and gradient of a million random triplets of 20 000 points, on two threads",
    short={"n": 20_000, "count": 1_000_000},
)


@triplets.prepare
def draw(n: int, count: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    angle = random.uniform(0, 2 * np.pi, n)
    z = 0.99 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return {"z": z, "ids": random.integers(n, size=(count, 3)), "weight": random.random((count, 3))}


def _native(z: np.ndarray, ids: np.ndarray, weight: np.ndarray, dtype: Any) -> Any:
    from cladify.hyperbolic import triplet_loss

    return triplet_loss(z.astype(dtype), ids, weight.astype(dtype), temperature=0.05, n_jobs=2)


@triplets.contestant("native, float32", needs="cladify.hyperbolic")
def native_single(z: np.ndarray, ids: np.ndarray, weight: np.ndarray) -> Any:
    return _native(z, ids, weight, np.float32)


@triplets.contestant("native, float64", needs="cladify.hyperbolic")
def native_double(z: np.ndarray, ids: np.ndarray, weight: np.ndarray) -> Any:
    return _native(z, ids, weight, np.float64)


@triplets.contestant("all triplets of blocks of 128", needs="cladify.hyperbolic")
def native_blocks(z: np.ndarray, ids: np.ndarray, weight: np.ndarray) -> Any:
    """53 million triplets, on the same points."""
    from cladify import _core

    random = np.random.default_rng(0)
    rows = random.standard_normal((len(z), 16)).astype(np.float32)
    points = random.permutation(len(z))
    start = np.append(np.arange(0, len(z), 128), len(z))
    angle, radius = np.arctan2(z[:, 1], z[:, 0]), np.full(len(start) - 1, 0.99)
    out = np.empty(len(z))
    blocks = (False, start, points, points, angle, radius)
    loss = _core.feature_blocks(rows, np.zeros(len(z)), 0.5, 0.5, *blocks, 0.05, out, 2)
    return loss, out


def _torch(z: np.ndarray, ids: np.ndarray, weight: np.ndarray, dtype: Any) -> Any:
    import torch

    from benchmarks.torch_hyphc import triplet_loss

    torch.set_num_threads(2)
    points = torch.tensor(z.astype(dtype), requires_grad=True)
    loss = triplet_loss(points, torch.from_numpy(ids), torch.from_numpy(weight.astype(dtype)), 0.05)
    loss.backward()
    assert points.grad is not None
    return float(loss.detach()), points.grad.numpy()


@triplets.contestant("PyTorch, float32", needs="torch", warm_up=True)
def torch_single(z: np.ndarray, ids: np.ndarray, weight: np.ndarray) -> Any:
    return _torch(z, ids, weight, np.float32)


@triplets.contestant("PyTorch, float64", needs="torch", warm_up=True)
def torch_double(z: np.ndarray, ids: np.ndarray, weight: np.ndarray) -> Any:
    return _torch(z, ids, weight, np.float64)


@triplets.quality("mean loss")
def mean_loss(result: Any, count: int) -> float:
    return result[0] / count


decoding = Case("hyperbolic-decode", "angles on a circle to a tree, greedy", short={"n": 1_000_000}, repeat=1)


@decoding.prepare
def angles(n: int) -> dict[str, Any]:
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, n)
    return {"Z": 0.999 * np.stack([np.cos(angle), np.sin(angle)], axis=1)}


@decoding.contestant("cladify.hyperbolic.decode", needs="cladify.hyperbolic")
def decode_all(Z: np.ndarray) -> Any:
    from cladify.hyperbolic import decode

    return decode(Z, method="greedy")


large = Case(
    "hyperbolic-large",
    "HypHC on many points: one start from random angles, 300 steps of all triplets of blocks of 128 (2.7e8 triplets a "
    "step and 8e10 in all for 100 000 points)",
    short={"n": 20_000},
    long={"n": 100_000},
    repeat=1,
)


@large.prepare
def rows(n: int) -> dict[str, Any]:
    return {"X": clustered(n, 64)}


@large.contestant("HypHC", needs="cladify.hyperbolic")
def hyphc_large(X: np.ndarray) -> Any:
    from cladify import HypHC

    return HypHC(init="random", n_init=1, n_steps=300, n_rounds=0, patience=None, random_state=0).fit(X).tree_


@large.contestant("bisect", needs="cladify.divide")
def bisect_large(X: np.ndarray) -> Any:
    import cladify

    return cladify.fit(X, "bisect", metric="cosine", random_state=0)


@large.quality("normalized")
def normalized(result: Any, X: np.ndarray) -> float:
    import cladify

    return cladify.score(result, X, "cosine").normalized


def _memory_case(n: int) -> None:
    """The peak depends on the points, not on the steps: two of them are enough."""
    case = Case(f"hyperbolic-memory-{n}", "memory of HypHC and of decoding, beyond 16 float32 columns", repeat=1)

    @case.prepare
    def prepare() -> dict[str, Any]:
        return {"X": clustered(n, 16)}

    @case.contestant("HypHC", needs="cladify.hyperbolic")
    def hyphc(X: np.ndarray) -> Any:
        from cladify import HypHC

        return HypHC(init="random", n_init=1, n_steps=2, n_rounds=0, random_state=0).fit(X).tree_


for _n in (10_000, 100_000, 1_000_000):
    _memory_case(_n)


lasting = Case(
    "hyperbolic-million-steps",
    "a million steps of HypHC on inputs that tempt it to divide by zero: nothing may be other than finite",
    short={"n": 12, "steps": 1_000_000},
    repeat=1,
    timeout=3600.0,
)

#: Twelve rows each.
HARD = {
    "all equal": np.ones((12, 3)),
    "duplicates": np.repeat(np.eye(3), 4, axis=0),
    "far outlier": np.concatenate([np.random.default_rng(0).standard_normal((11, 3)), np.full((1, 3), 1e8)]),
}


for _kind in HARD:

    @lasting.contestant(_kind, needs="cladify.hyperbolic")
    def a_million(steps: int, kind: str = _kind) -> Any:
        from cladify import HypHC

        metric = "sqeuclidean" if kind == "far outlier" else "cosine"
        options = {"init": "random", "n_init": 1, "n_rounds": 0, "patience": None, "n_snapshots": 1000}
        return HypHC(metric=metric, n_steps=steps, random_state=0, **options).fit(HARD[kind])


@lasting.quality("not finite")
def not_finite(result: Any) -> float:
    values = [Z for _, Z in result.snapshots_] + [result.embedding_, np.array(result.losses_)[1:]]
    return float(sum((~np.isfinite(part)).sum() for part in values))


@lasting.quality("leaves")
def leaves(result: Any) -> float:
    return result.tree_.n_leaves


def _table_case(name: str) -> None:
    case = Case(
        f"hyperbolic-table-{name}",
        f"Dasgupta's cost on {name}, both (i, j) and (j, i) counted, and dendrogram purity",
        repeat=1,
    )
    cost, purity, ufit_cost = HYPHC[name]

    @case.prepare
    def prepare() -> dict[str, Any]:
        return {"X": table_rows(name).astype(np.float32), "y": real(name)["y"]}

    for init in ("random", "auto"):

        @case.contestant(f"HypHC, init {init}", needs="cladify.hyperbolic")
        def hyphc(X: np.ndarray, init: str = init) -> Any:
            from cladify import HypHC

            return HypHC(init=init, random_state=0).fit(X).tree_

    @case.contestant("HypHC, refined", needs="cladify.hyperbolic")
    def refined(X: np.ndarray) -> Any:
        from cladify import HypHC

        return HypHC(refine=True, n_steps=100, n_rounds=0, random_state=0).fit(X).tree_

    if name != "letter":

        @case.contestant("UFit", needs="cladify.hyperbolic")
        def ufit(X: np.ndarray) -> Any:
            from cladify import UFit

            return UFit().fit(X).tree_

    @case.contestant("gHHC", needs="cladify.hyperbolic")
    def ghhc(X: np.ndarray) -> Any:
        from cladify import GHHC

        return GHHC(random_state=0).fit(X).tree_

    @case.quality("cost")
    def cost_of(result: Any, X: np.ndarray) -> float:
        from cladify import objectives

        return 2 * objectives.dasgupta(result, X)

    @case.quality("published HypHC")
    def published() -> float:
        return cost

    @case.quality("published UFit")
    def published_ufit() -> float:
        return ufit_cost

    @case.quality("purity")
    def purity_of(result: Any, y: np.ndarray) -> float:
        from cladify.metrics import dendrogram_purity

        return 100 * dendrogram_purity(result, y)

    @case.quality("published purity")
    def published_purity() -> float:
        return purity


for _name in HYPHC:
    _table_case(_name)


#: How the classes of a split are found: what HypHC's loss or the propagation runs on, and how.
CLASSIFIERS = {
    "end to end": {"joint": True},
    "two steps": {"joint": False},
    "label propagation": {"kernel": "knn", "n_neighbors": 7},
    "end to end, all pairs": {"joint": True, "n_neighbors": None},
    "two steps, all pairs": {"joint": False, "n_neighbors": None},
    "label propagation, all pairs": {"kernel": "cosine"},
}


def _classify_case(name: str) -> None:
    """Five random splits, 30 % of the labels known, accuracy on 60 % (the rest is for validation, and not used)."""
    case = Case(
        f"hyperbolic-classify-{name}",
        f"accuracy on {name} with 30 % of the labels, mean and spread of 5 splits; 7 neighbours, or all pairs",
        short={"runs": 5},
        repeat=1,
        timeout=1200.0,
    )

    @case.prepare
    def prepare() -> dict[str, Any]:
        return {"X": table_rows(name).astype(np.float32), "y": real(name)["y"].astype(np.int64)}

    for how, options in CLASSIFIERS.items():
        needs = ("torch", "cladify.hyperbolic") if "joint" in options else "sklearn.semi_supervised"

        @case.contestant(how, needs=needs)
        def accuracies(X: np.ndarray, y: np.ndarray, runs: int, options: dict[str, Any] = options) -> Any:
            return [accuracy(X, y, seed, **options) for seed in range(runs)]

    @case.quality("mean")
    def mean(result: Any) -> float:
        return 100 * float(np.mean(result))

    @case.quality("spread")
    def spread(result: Any) -> float:
        return 100 * float(np.std(result))


def accuracy(X: np.ndarray, y: np.ndarray, seed: int, **options: Any) -> float:
    """Accuracy on the test rows of one split."""
    import warnings

    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: int(0.3 * len(X))], order[int(0.4 * len(X)) :]
    known = np.full(len(X), -1)
    known[train] = y[train]
    if "joint" in options:
        from cladify.hyperbolic.torch import HyperbolicClassifier

        model = HyperbolicClassifier(random_state=seed, **options).fit(X, known)
        return float((model.transduction_[test] == y[test]).mean())
    from sklearn.semi_supervised import LabelPropagation

    if options["kernel"] == "cosine":  # the similarities that HypHC sees
        options["kernel"] = lambda A, B=None: 0.5 + 0.5 * (A @ (A if B is None else B).T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says when it stops before it has converged
        model = LabelPropagation(max_iter=2000, **options).fit(X.astype(np.float64), known)
    return float((model.transduction_[test] == y[test]).mean())


for _name in CLASSIFIED:
    _classify_case(_name)
