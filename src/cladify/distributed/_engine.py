"""``cladify.fit(..., engine="dask")``: the door of the Dask engine."""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass
from typing import Any

from cladify._estimator import TreeEstimator, tell, told_value
from cladify._kit.params import check_int
from cladify._kit.progress import Progress
from cladify.data._vectors import check_sample_weight
from cladify.data.graph import NeighborGraph
from cladify.data.similarity import get_similarity
from cladify.distributed._cluster import connected, explained
from cladify.distributed._methods import DISTRIBUTED
from cladify.distributed._neighbors import sharded_neighbors
from cladify.distributed._tree_rows import check_new
from cladify.distributed._workdir import WorkDir, work_dir
from cladify.distributed.graph_parts import ShardedGraph
from cladify.distributed.sources import ShardedVectors, open_vectors, part_bytes_for
from cladify.distributed.tree_folder import TreeFolder
from cladify.errors import InvalidInput
from cladify.graphtree._edges import default_neighbors
from cladify.methods import Method, find_method
from cladify.tree import Tree

__all__ = ["fit_dask"]

_AUTO = "scc"
_RECALL = 0.95


@dataclass(frozen=True)
class _Size:
    """What :func:`cladify._estimator.tell` wants to know of the data."""

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
    chosen = _AUTO if method == "auto" else method
    entry = _distributed(chosen)
    if n_workers is not None:
        check_int("n_workers", n_workers, low=1)
        if client is not None:
            raise InvalidInput("n_workers is for workers that start here; the client given has its own. Drop one.")
    if sample_weight is not None and not DISTRIBUTED[chosen].weights:
        counting = ", ".join(name for name, form in DISTRIBUTED.items() if form.weights)
        raise InvalidInput(f"with engine='dask', sample_weight counts in {counting}; method {chosen!r} takes none.")
    if out is not None:
        out = check_new(out)
    model: TreeEstimator = make(entry)
    model.check_params()
    began = time.perf_counter()
    with connected(client, n_workers=n_workers) as own, explained(own, f"method {chosen!r}"):
        tree, size = _fit(X, entry, model, own, checkpoint, sample_weight, out, column, params, report)
    tell(model, tree.info, size, time.perf_counter() - began)  # type: ignore[arg-type]
    tree.info["engine"] = "dask"
    if method == "auto":
        tree.info["auto"] = f"{_AUTO}: of the methods that work in parts, the one for large data"
    if isinstance(tree, TreeFolder):
        tree.tell()
    return tree


def _distributed(method: str) -> Method:
    entry = find_method(method)
    if method not in DISTRIBUTED:
        raise InvalidInput(
            f"method {method!r} has no distributed form; with engine='dask' use one of: {', '.join(DISTRIBUTED)}. Or "
            "drop engine= where the data fit on one machine."
        )
    return entry


def _fit(
    X: Any,
    entry: Method,
    model: Any,
    client: Any,
    checkpoint: Any,
    sample_weight: Any,
    out: Any,
    column: Any,
    params: dict[str, Any],
    report: Progress,
) -> tuple[Tree | TreeFolder, _Size]:
    form = DISTRIBUTED[entry.name]
    if isinstance(X, NeighborGraph):
        X = ShardedGraph.from_graph(X, max(1, len(client.nthreads())))
    if isinstance(X, ShardedGraph):
        if "vectors" in form.takes:
            raise InvalidInput(f"with engine='dask', method {entry.name!r} takes vectors, got a graph; use scc.")
        with work_dir(None, "") as work:
            _check_seen(work, client)
            options: dict[str, Any] = {
                "work": work,
                "sample_weight": check_sample_weight(sample_weight, X.n),
                "out": out,
            }
            return form.run(X, model, client, report, **options), _Size(str(X.metric), X.n, 0, "graph")
    wants_graph = "graph" in form.takes
    if wants_graph and model.n_neighbors is None and entry.name != "graph":
        raise InvalidInput("engine='dask' works on a graph of neighbours; give n_neighbors a number.")
    similarity = get_similarity(model.metric)
    vectors = open_vectors(X, client=client, column=column, part_bytes=part_bytes_for(client), report=report)
    size = _Size(str(similarity), vectors.n, vectors.d, "shards")
    weight = check_sample_weight(sample_weight, vectors.n)
    seed = params.get("random_state") or 0
    k = (model.n_neighbors or default_neighbors(vectors.n)) if wants_graph else 0
    with work_dir(checkpoint, _key(vectors, similarity, k, seed)) as work:
        _check_seen(work, client)
        counted = [] if weight is None else [zlib.crc32(weight.tobytes())]
        own = f"{entry.name}-{_hash([_told(model), *counted])}"
        name = work.path(own + ".tree")
        if os.path.exists(name):
            tree = Tree.load(name)
            return tree if out is None else TreeFolder.write(tree, out), size
        taken: list[Any] = [vectors] if "vectors" in form.takes else []
        if wants_graph:
            about = {"client": client, "work": work, "recall": _RECALL, "random_state": seed, "report": report}
            taken.append(sharded_neighbors(vectors, k, similarity, **about))
        options = {"work": work.below(own)} if form.works else {}
        if form.weights:
            options["sample_weight"] = weight
        if form.folders:
            options["out"] = out
        made = form.run(*taken, model, client, report, **options)
        if checkpoint is not None:
            if isinstance(made, Tree):
                made.save(name)
            work.clear(own)
    return made if out is None or isinstance(made, TreeFolder) else TreeFolder.write(made, out), size


def _key(vectors: ShardedVectors, *what: Any) -> str:
    """A name for what the graph depends on."""
    return f"{vectors.n}x{vectors.d}-{vectors.fingerprint:08x}-{_hash([str(value) for value in what])}"


def _told(model: Any) -> dict[str, Any]:
    return {name: told_value(value) for name, value in model.get_params(deep=False).items() if name != "n_jobs"}


def _hash(value: Any) -> str:
    return f"{zlib.crc32(repr(value).encode()):08x}"


def _check_seen(work: WorkDir, client: Any) -> None:
    """All workers must see the folder, or the stages cannot hand on what they made."""
    blind = [worker for worker, seen in client.run(os.path.isdir, work.folder, on_error="ignore").items() if not seen]
    if blind:
        raise InvalidInput(
            f"worker {blind[0]} does not see the folder {work.folder}; give checkpoint= a folder on a disk that all "
            "workers share."
        )
