"""``cladify.fit(..., engine="dask")``: checks the arguments, opens the data and runs the stages of a method."""

from __future__ import annotations

import os
import time
import warnings
import zlib
from dataclasses import dataclass, replace
from typing import Any

from cladify._choice import choose
from cladify._estimator import TreeEstimator, complete_info, plain_value
from cladify._kit.files import listing
from cladify._kit.params import check_int
from cladify._kit.progress import Progress
from cladify.data._vectors import check_sample_weight
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import get_similarity
from cladify.distributed._job import Job, connected, explained, require_dask
from cladify.distributed._methods import METHODS, supports
from cladify.distributed._stages.neighbors import sharded_neighbors
from cladify.distributed._storage.tree_rows import check_new
from cladify.distributed._storage.work_folder import WorkFolder, checkpoint_folder
from cladify.distributed.graph_parts import ShardedGraph
from cladify.distributed.sources import ShardedVectors, open_vectors, part_bytes_for
from cladify.distributed.tree_folder import TreeFolder
from cladify.errors import CladifyWarning, FileError, InvalidInput
from cladify.graphtree._edges import default_neighbors
from cladify.methods import Method, find_method
from cladify.tree import Tree

__all__ = ["fit_dask"]

_RECALL = 0.95


@dataclass(frozen=True)
class _Size:
    """The facts about the data that :func:`cladify._estimator.complete_info` records."""

    metric: str
    n: int
    d: int
    form: str


def fit_dask(
    X: Any,
    method: str,
    *,
    client: Any = None,
    n_workers: int | None = None,
    checkpoint: Any = None,
    sample_weight: Any = None,
    out: Any = None,
    column: Any = None,
    make: Any,
    params: dict[str, Any],
    report: Progress,
) -> Tree | TreeFolder:
    """The tree of vectors in parts; :func:`cladify.fit` has the parameters.

    ``make(method)`` is the estimator of a method with these parameters, which holds and checks them.
    """
    require_dask()
    chosen, why = choose(X, engine="dask") if method == "auto" else (method, "")
    entry = _distributed(chosen)
    if n_workers is not None:
        check_int("n_workers", n_workers, low=1)
        if client is not None:
            raise InvalidInput("n_workers is for workers that start here; the client given has its own. Drop one.")
    if sample_weight is not None and not METHODS[chosen].weights:
        counting = ", ".join(name for name, form in METHODS.items() if form.weights)
        raise InvalidInput(f"with engine='dask', sample_weight counts in {counting}; method {chosen!r} takes none.")
    if out is not None:
        out = check_new(out)
    model: TreeEstimator = make(entry)
    model.check_params()
    began = time.perf_counter()
    with connected(client, n_workers=n_workers) as own, explained(own, f"method {chosen!r}"):
        job = Job(own, report=report)
        tree, size = _fit(X, entry, model, job, checkpoint, sample_weight, out, column, params)
    complete_info(model, tree.info, size, time.perf_counter() - began)  # type: ignore[arg-type]
    tree.info["engine"] = "dask"
    if why:
        tree.info["auto"] = why
    if isinstance(tree, TreeFolder):
        tree.save_info()
    return tree


def _distributed(method: str) -> Method:
    entry = find_method(method)
    if not supports(method):
        raise InvalidInput(
            f"method {method!r} has no distributed form; with engine='dask' use one of: {', '.join(METHODS)}. Or "
            "drop engine= where the data fit on one machine."
        )
    return entry


def _fit(
    X: Any,
    entry: Method,
    model: Any,
    job: Job,
    checkpoint: Any,
    sample_weight: Any,
    out: Any,
    column: Any,
    params: dict[str, Any],
) -> tuple[Tree | TreeFolder, _Size]:
    form = METHODS[entry.name]
    if isinstance(X, NeighborGraph):
        X = ShardedGraph.from_graph(X, max(1, job.n_workers))
    if isinstance(X, ShardedGraph):
        if "vectors" in form.takes:
            raise InvalidInput(f"with engine='dask', method {entry.name!r} takes vectors, got a graph; use scc.")
        with checkpoint_folder(None, "") as work:
            _check_seen(work, job)
            options: dict[str, Any] = {"sample_weight": check_sample_weight(sample_weight, X.n), "out": out}
            return form.run(X, model, replace(job, work=work), **options), _Size(str(X.metric), X.n, 0, "graph")
    wants_graph = "graph" in form.takes
    if wants_graph and model.n_neighbors is None and entry.name != "graph":
        raise InvalidInput("engine='dask' works on a graph of neighbours; give n_neighbors a number.")
    similarity = get_similarity(model.metric)
    vectors = open_vectors(
        X, client=job.client, column=column, part_bytes=part_bytes_for(job.client), report=job.report
    )
    size = _Size(str(similarity), vectors.n, vectors.d, "shards")
    weight = check_sample_weight(sample_weight, vectors.n)
    seed = params.get("random_state") or 0
    k = (model.n_neighbors or default_neighbors(vectors.n)) if wants_graph else 0
    with checkpoint_folder(checkpoint, _key(vectors, similarity, k, seed)) as work:
        _check_seen(work, job)
        job = replace(job, work=work)
        if checkpoint is not None:
            damaged = job.repair()
            if damaged:
                warnings.warn(f"damaged: {listing(damaged)}; their stages are run again.", CladifyWarning, stacklevel=2)
        counted = [] if weight is None else [zlib.crc32(weight.tobytes())]
        own = f"{entry.name}-{_hash([_params(model), *counted])}"
        tree = _kept_tree(work, own + ".tree", vectors.n)
        if tree is not None:
            return tree if out is None else TreeFolder.write(tree, out), size
        taken: list[Any] = [vectors] if "vectors" in form.takes else []
        if wants_graph:
            taken.append(sharded_neighbors(vectors, k, similarity, job=job, recall=_RECALL, random_state=seed))
        options = {"sample_weight": weight} if form.weights else {}
        if form.folders:
            options["out"] = out
        made = form.run(*taken, model, job.below(own), **options)
        if checkpoint is not None:
            if isinstance(made, Tree):
                made.save(work.path(own + ".tree"))
                work.keep(own + ".tree")
            work.clear(own)
    return made if out is None or isinstance(made, TreeFolder) else TreeFolder.write(made, out), size


def _key(vectors: ShardedVectors, *what: Any) -> str:
    """A name for everything that the graph depends on."""
    return f"{vectors.n}x{vectors.d}-{vectors.fingerprint:08x}-{_hash([str(value) for value in what])}"


def _kept_tree(work: WorkFolder, name: str, n: int) -> Tree | None:
    """The tree that an earlier run finished; None without one."""
    if work.receipt(name) is None:
        return None
    try:
        tree = Tree.load(work.path(name))
    except FileError:
        return None
    return tree if tree.n_leaves == n else None


def _params(model: Any) -> dict[str, Any]:
    return {name: plain_value(value) for name, value in model.get_params(deep=False).items() if name != "n_jobs"}


def _hash(value: Any) -> str:
    return f"{zlib.crc32(repr(value).encode()):08x}"


def _check_seen(work: WorkFolder, job: Job) -> None:
    """All workers must see the folder, or tasks cannot read the files of others."""
    blind = [
        worker for worker, seen in job.client.run(os.path.isdir, work.folder, on_error="ignore").items() if not seen
    ]
    if blind:
        raise InvalidInput(
            f"worker {blind[0]} does not see the folder {work.folder}; give checkpoint= a folder on a disk that all "
            "workers share."
        )
