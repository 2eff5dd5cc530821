"""Random inputs to all methods: each gives a tree, or an error of one line, within ten seconds, and changes nothing.

``python benchmarks/fuzz.py --count 10000 --seed 0`` runs inputs 0 to 9999 of the seed in other processes, so that a
crash or a hang is one line of the report. ``--only 4711`` runs a single one here, with its traceback.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import pickle
import sys
import time
import warnings
from collections import Counter
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

LIMIT = 10.0  # seconds a fit may take
GIVEN_UP = 40.0  # seconds after which its process is ended
METRICS = ("sqeuclidean", "euclidean", "cosine", "dot", "rbf", "laplacian", "manhattan", "chebyshev", "correlation")
DTYPES = ("f8", "f8", "f8", "f4", "f4", "f2", ">f8", "i8", "i4", "u1", "i1", "?", "g", "O")
POWERS = (-323, -310, -308, -200, -160, -100, -45, -38, -30, -20, 20, 30, 38, 100, 153, 200, 307)
ODD = ("masked", "fortran", "strided", "list", "ragged", "1-D", "3-D", "empty", "view", "readonly", "matrix")
ODD += ("no columns", "text", "complex")
BROKEN = ("repeated", "outside", "zeros stored", "wide", "float32", "int64 indices")
LINKAGES = ("average", "single", "complete", "weighted", "ward", "centroid", "median")
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


class Input(NamedTuple):
    method: str
    form: str
    data: Any
    params: dict[str, Any]
    weight: Any
    told: str


def draw(seed: int, index: int) -> Input:
    """Input ``index`` of that seed."""
    from cladify.methods import METHODS

    rng = np.random.default_rng([seed, index])
    method = METHODS[rng.choice(list(METHODS))]
    form = str(rng.choice(method.inputs)) if rng.random() < 0.97 else str(rng.choice(["rows", "graph", "distances"]))
    n = int(rng.choice([1, 2, 3, 4, 7, 20, 60, 200])) + int(rng.integers(0, 3))
    d = int(rng.choice([1, 1, 2, 3, 8, 40]))
    told: list[str] = []
    values = numbers(rng, n, d, told)
    metrics = [metric for metric in METRICS if method.takes(metric)] if rng.random() < 0.95 else METRICS
    metric = str(rng.choice(metrics)) if metrics and rng.random() < 0.6 else None
    if form == "rows":
        data = dense(rng, values, told)
    elif form == "sparse":
        data = sparse(rng, values, told)
    else:
        data, metric = given(rng, values, form, told)
    known = method.load()().get_params()
    params: dict[str, Any] = {"random_state": 0, "n_jobs": int(rng.choice([1, 2])), "metric": metric}
    params |= {"linkage": str(rng.choice(LINKAGES))} if method.name == "hac" and rng.random() < 0.7 else {}
    params |= {"n_clusters": int(rng.integers(1, n + 1))} if rng.random() < 0.3 else {}
    params |= {"distance_threshold": float(10.0 ** rng.uniform(-5, 5))} if rng.random() < 0.1 else {}
    params |= {"n_neighbors": int(rng.choice([1, 2, 5, 1000]))} if rng.random() < 0.3 else {}
    params = {name: value for name, value in params.items() if name in known and value is not None}
    weight = weights(rng, n, told) if rng.random() < (0.3 if method.weights else 0.03) else None
    return Input(method.name, form, data, params, weight, " ".join(told))


def numbers(rng: np.random.Generator, n: int, d: int, told: list[str]) -> np.ndarray:
    """Rows of one of many shapes, at one of many scales, with accidents."""
    shape = str(rng.choice(["normal", "clusters", "grid", "constant", "binary", "line", "heavy"]))
    told.append(f"{shape} {n}x{d}")
    X = {
        "normal": lambda: rng.normal(size=(n, d)),
        "clusters": lambda: rng.normal(size=(3, d))[rng.integers(0, 3, n)] * 20 + rng.normal(size=(n, d)),
        "grid": lambda: rng.integers(-2, 3, (n, d)).astype(float),
        "constant": lambda: np.full((n, d), rng.normal()),
        "binary": lambda: (rng.random((n, d)) < 0.3).astype(float),
        "line": lambda: np.outer(np.arange(n), rng.normal(size=d)),
        "heavy": lambda: rng.standard_cauchy((n, d)) ** 3,
    }[shape]()
    if rng.random() < 0.4:
        power = float(rng.choice(POWERS))
        told.append(f"*1e{power:g}")
        X = np.clip(X, -9, 9) * 10.0**power if power > 0 else X * 10.0**power
    if rng.random() < 0.15:
        told.append("a scale per row")
        X = (
            X * 10.0 ** rng.uniform(-300, 300, (n, 1))
            if rng.random() < 0.5
            else X * 10.0 ** rng.uniform(-15, 15, (n, 1))
        )
    if rng.random() < 0.2:
        told.append("duplicates")
        X = X[rng.integers(0, max(1, n // 4), n)]
    if rng.random() < 0.2:
        value = float(rng.choice([np.nan, np.inf, -np.inf, 1e20, 1e200, 1e308, -1e308, 5e-324, -0.0]))
        told.append(f"one {value}")
        X[rng.integers(n), rng.integers(d)] = value
    if rng.random() < 0.15:
        told.append("rows of zeros")
        X[rng.random(n) < 0.3] = 0.0
    if rng.random() < 0.1:
        told.append("+1e8")
        X = X + 1e8
    return X


def dense(rng: np.random.Generator, X: np.ndarray, told: list[str]) -> Any:
    """Rows of some type: arrays of all dtypes and layouts, and things that are no matrix."""
    dtype = str(rng.choice(DTYPES))
    told.append(dtype)
    X = X.astype(dtype)
    kind = str(rng.choice(["plain"] * 8 + [*ODD]))
    told.append(kind)
    match kind:
        case "masked":
            return np.ma.masked_array(X, rng.random(X.shape) < rng.choice([0.0, 0.1]))
        case "fortran":
            return np.asfortranarray(X)
        case "strided":
            return np.repeat(X, 2, axis=0)[::2]
        case "view":
            return X[::-1, ::-1]
        case "readonly":
            X.setflags(write=False)
        case "list":
            return X.tolist()
        case "ragged":
            return [*X.tolist(), [1.0] * (X.shape[1] + 1)]
        case "1-D":
            return X.ravel()
        case "3-D":
            return X[:, :, None]
        case "empty":
            return X[:0]
        case "no columns":
            return X[:, :0]
        case "matrix":
            return np.matrix(X)
        case "text":
            return X.astype(str)
        case "complex":
            return X.astype("f8").astype(complex)
    return X


def sparse(rng: np.random.Generator, X: np.ndarray, told: list[str]) -> Any:
    """Sparse rows in some format, sometimes with repeated, unsorted, stored-zero or impossible entries."""
    X = np.where(rng.random(X.shape) < rng.choice([0.1, 0.5, 1.0]), X, 0.0)
    rows = (sp.csr_matrix if rng.random() < 0.5 else sp.csr_array)(X)
    accident = str(rng.choice(["none"] * 6 + [*BROKEN]))
    told.append(accident)
    match accident:
        case "repeated" if rows.nnz:
            indices, indptr = np.repeat(rows.indices, 2)[::1], rows.indptr * 2
            return type(rows)((np.repeat(rows.data, 2), indices, indptr), shape=rows.shape)
        case "outside" if rows.nnz:
            rows.indices[rng.integers(rows.nnz)] = rng.choice([-1, -(10**6), X.shape[1], 10**6])
            return rows
        case "zeros stored":
            rows.data[rng.random(rows.nnz) < 0.5] = 0.0
            return rows
        case "wide":
            return sp.csr_array((rows.data, rows.indices * 1000, rows.indptr), shape=(X.shape[0], X.shape[1] * 1000))
        case "float32":
            return rows.astype(np.float32)
        case "int64 indices":
            rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    form = str(rng.choice(FORMATS))
    told.append(form)
    return rows.asformat(form)


def given(rng: np.random.Generator, X: np.ndarray, form: str, told: list[str]) -> tuple[Any, str | None]:
    """Given distances or similarities: dense, condensed, sparse, or as a graph; not always what they are said to be."""
    from scipy.spatial.distance import pdist, squareform

    import cladify

    matrix = squareform(pdist(X, str(rng.choice(["euclidean", "cityblock", "sqeuclidean"]))), checks=False)
    if X.shape[0] == 1:
        matrix = np.zeros((1, 1))
    similar = form == "similarities" or (form == "graph" and rng.random() < 0.5)
    if similar:
        matrix = np.exp(-matrix / (np.median(matrix) or 1.0)) if rng.random() < 0.7 else X @ X.T
    accident = str(rng.choice(["none"] * 7 + ["asymmetric", "negative", "diagonal", "NaN", "the other"]))
    match accident:
        case "asymmetric":
            matrix = np.triu(matrix)
        case "negative":
            matrix = -matrix
        case "diagonal":
            matrix = matrix + np.eye(len(matrix))
        case "NaN":
            matrix[rng.integers(len(matrix)), rng.integers(len(matrix))] = np.nan
        case "the other":
            similar = not similar
    metric = "precomputed-similarity" if similar else "precomputed"
    told.append(accident)
    if form == "graph":
        keep = rng.random(matrix.shape) < rng.choice([0.02, 0.2, 1.0])
        kept = sp.csr_array(np.where((keep | keep.T) & ~np.eye(len(matrix), dtype=bool), matrix, 0.0))
        if rng.random() < 0.5:
            told.append("sparse")
            return kept.asformat(str(rng.choice(["csr", "coo", "csc"]))), metric
        return lambda: cladify.NeighborGraph.from_scipy(kept, kind="similarity" if similar else "distance"), None
    told.append(what := str(rng.choice(["square"] * 3 + ["condensed", "float32", "fortran"])))
    if what == "condensed" and form == "distances":
        return squareform(matrix, checks=False), metric
    return {"float32": matrix.astype("f4"), "fortran": np.asfortranarray(matrix)}.get(what, matrix), metric


def weights(rng: np.random.Generator, n: int, told: list[str]) -> Any:
    kind = str(rng.choice(["ones", "integers", "zeros", "large", "small", "negative", "NaN", "short", "spread"]))
    told.append(f"weights: {kind}")
    return {
        "ones": np.ones(n),
        "integers": rng.integers(1, 5, n),
        "zeros": rng.integers(0, 2, n),
        "large": np.full(n, 1e308),
        "small": np.full(n, 1e-308),
        "negative": -np.ones(n),
        "NaN": np.where(np.arange(n) == 0, np.nan, 1.0),
        "short": np.ones(max(0, n - 1)),
        "spread": 10.0 ** rng.uniform(-99, 99, n),
    }[kind]


def run(case: Input) -> str:
    """What became of one input: "result", "refused", or what is wrong."""
    from cladify.errors import CladifyError, CladifyWarning
    from cladify.methods import METHODS

    before = pickle.dumps((None if callable(case.data) else case.data, case.weight))
    began, outcome = time.perf_counter(), "result"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CladifyWarning)
        try:
            data = case.data() if callable(case.data) else case.data
            fitted = METHODS[case.method].load()(**case.params).fit(data, sample_weight=case.weight)
            outcome = wrong_result(fitted, case) or outcome
        except CladifyError as error:
            outcome = "refused" if "\n" not in str(error) else f"WRONG an error of several lines: {error!r}"
        except Exception as error:
            outcome = f"WRONG {type(error).__name__}: {error}".replace("\n", " / ")
    took = time.perf_counter() - began
    if took > LIMIT:
        return f"WRONG took {took:.1f} s ({outcome})"
    if pickle.dumps((None if callable(case.data) else case.data, case.weight)) != before:
        return f"WRONG the input was changed ({outcome})"
    return outcome


def wrong_result(fitted: Any, case: Input) -> str | None:
    """What is wrong with a result, if anything."""
    from cladify.methods import METHODS

    if METHODS[case.method].result == "dag":
        return None if fitted.dag_.n_leaves == fitted.points_.n else "WRONG leaves"
    tree = fitted.tree_
    if tree.n_leaves != fitted.points_.n:
        return f"WRONG {tree.n_leaves} leaves for {fitted.points_.n} points"
    if not np.isfinite(tree.height).all():
        return "WRONG heights that are not finite"
    return None if len(fitted.labels_) == tree.n_leaves else "WRONG labels_"


def work(seed: int, channel: Connection) -> None:
    """A process: numbers of inputs in, what became of them out."""
    faulthandler.enable()
    while (index := channel.recv()) is not None:
        channel.send(run(silently(seed, index)))


def silently(seed: int, index: int) -> Input:
    """The input, without NumPy's warnings about the numbers that it is made of."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return draw(seed, index)


def describe(seed: int, index: int) -> str:
    case = silently(seed, index)
    return f"{case.method} {case.form} [{case.told}] {case.params}"


class Worker:
    """A process that is started again after a crash or a hang."""

    def __init__(self, seed: int) -> None:
        self.seed, self.index = seed, -1
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.channel, other = context.Pipe()
        self.process = context.Process(target=work, args=(self.seed, other), daemon=True)
        self.process.start()
        other.close()

    def give(self, index: int) -> None:
        self.index, self.began = index, time.perf_counter()
        self.channel.send(index)

    def answer(self, ready: bool) -> str | None:
        """What became of its input, or None while it works."""
        if ready:
            try:
                return self.channel.recv()
            except EOFError:
                self.process.join()
                found = f"WRONG the process ended with {self.process.exitcode}"
        elif time.perf_counter() - self.began < GIVEN_UP:
            return None
        else:
            self.process.kill()
            self.process.join()
            found = f"WRONG no end after {GIVEN_UP:g} s"
        self.start()
        return found


def campaign(seed: int, first: int, count: int, jobs: int, seconds: float) -> int:
    """Run the inputs, print what is wrong, and return how many are."""
    began, left, outcomes = time.perf_counter(), iter(range(first, first + count)), Counter[str]()
    busy = [Worker(seed) for _ in range(min(jobs, count))]
    for worker in busy:
        worker.give(next(left))
    while busy:
        ready = wait([worker.channel for worker in busy], timeout=1.0)
        for worker in list(busy):
            found = worker.answer(worker.channel in ready)
            if found is None:
                continue
            outcomes[found if found in ("result", "refused") else "wrong"] += 1
            if found not in ("result", "refused"):
                print(f"{worker.index}: {found}\n    {describe(seed, worker.index)}", flush=True)
            if time.perf_counter() - began < seconds and (index := next(left, None)) is not None:
                worker.give(index)
            else:
                worker.channel.send(None)
                busy.remove(worker)
    print(f"{outcomes.total()} inputs: {dict(outcomes)}, {time.perf_counter() - began:.0f} s")
    return outcomes["wrong"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", type=int, help="run this input alone, in this process")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start none after that time")
    args = parser.parse_args()
    if args.only is not None:
        print(describe(args.seed, args.only), flush=True)
        case = silently(args.seed, args.only)
        print(run(case))
        from cladify.methods import METHODS

        data = case.data() if callable(case.data) else case.data
        METHODS[case.method].load()(**case.params).fit(data, sample_weight=case.weight)
        return 0
    return 1 if campaign(args.seed, args.first, args.count, args.jobs, args.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
