"""The neighbour graph of vectors in parts: overlapping shards [1]_ as independent tasks.

The search is that of :mod:`cladify.neighbors._shards`: coarse cells from a sample, every row probes the few cells
nearest to it, and two rows find each other when one of them probes the cell of the other. Here cells near one another
form *groups* of a size that a worker holds, and there are four stages of independent tasks:

1. *assign*, a task a part: every row goes to the group of its nearest cell;
2. *search*, a task a group: matrix products between the members of each cell and the rows of the group that probe it,
   the best of each row picked by the core and their distances computed in float64. Then the rows that probe cells of
   other groups go there, with the distance of the last of the k neighbours found so far;
3. *visit*, a task a group: products between the members of each cell and the visitors that probe it. Only nearer
   ones are kept, which are few;
4. *merge*, a task a part: the k nearest of all that the groups found for each row.

Which pairs meet depends on the rows, the cells and the probes alone, not on groups, parts, workers or the order of
tasks. How many cells to probe follows from the true neighbours of a sample of rows, and so does the recall that
``info`` states.

References
----------
.. [1] Monath. Incremental Non-Greedy Clustering at Scale (thesis), §4.1.3: overlapping k-means shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.params import check_float, check_int, check_random_state
from cladify.data.similarity import Similarity, get_similarity
from cladify.distributed._job import Job
from cladify.distributed._stages import group_search as tasks
from cladify.distributed._stages.plan import CELLS, make_cells, make_plan
from cladify.distributed._storage.work_folder import Receipt
from cladify.distributed.graph_parts import ShardedGraph
from cladify.distributed.sources import ShardedVectors
from cladify.errors import InvalidInput
from cladify.neighbors._cells import cell_sample
from cladify.neighbors._shards import n_cells, sample_size

__all__ = ["sharded_neighbors"]

_SIZED = 50_000  # rows of the sample from which the sizes of groups are estimated
_FAN_IN = 16  # lists that one task merges


def sharded_neighbors(
    vectors: ShardedVectors,
    k: int = 25,
    metric: str | Similarity = "sqeuclidean",
    *,
    job: Job,
    recall: float = 0.95,
    random_state: Any = 0,
) -> ShardedGraph:
    """The directed graph from every row to about its ``k`` nearest other rows, in the parts of the vectors.

    Parameters
    ----------
    vectors : ShardedVectors
    k : int
        At most n − 1.
    metric : "sqeuclidean", "euclidean" or "cosine"
    job : Job
        Its work folder keeps the graph, and on the way there about ``info["shuffled_bytes"]`` of rows and candidates.
    recall : float
        The share of the true neighbours to find.
    random_state : int or Generator
        For the cells and the sample.

    Returns
    -------
    ShardedGraph
        Its parts are read from ``work``. ``info`` has the plan and the recall, the groups, how many of them a row was
        sent to (``copies``) and the bytes that passed between tasks.
    """
    similarity = get_similarity(metric)
    _check(vectors, similarity)
    k = min(check_int("k", k, low=1), vectors.n - 1)
    recall = check_float("recall", recall, low=0.0, high=1.0, open_low=True)
    search = _Search(vectors, k, similarity, job)
    info: dict[str, Any] = {"method": "shards", "k": k, "metric": str(similarity)}
    if k > 0:
        info |= search.plan(recall, check_random_state(random_state))
        info |= search.graph()
    return ShardedGraph(vectors.offsets, search.parts(), values="distance", metric=similarity, info=info)


def _check(vectors: ShardedVectors, similarity: Similarity) -> None:
    if similarity.order not in ("distance", "angle"):
        raise InvalidInput(
            f"engine='dask' finds neighbours under cosine or a Euclidean metric, got {str(similarity)!r}."
        )
    if similarity.needs_nonzero_rows and vectors.zero_row >= 0:
        raise InvalidInput(f"row {vectors.zero_row} of all is zero, which has no direction for cosine; drop such rows.")
    if vectors.n >= 2**32:
        raise InvalidInput(f"a graph in parts has at most 4 294 967 295 points, got {vectors.n}; split the data.")
    if similarity.order == "distance" and not (vectors.largest == 0.0 or 1e-12 < vectors.largest < 1e12):
        raise InvalidInput(f"values of up to {vectors.largest:.1e} have squares beyond float32; scale the data first.")


@dataclass
class _Search:
    vectors: ShardedVectors
    k: int
    similarity: Similarity
    job: Job

    # --- the plan -----------------------------------------------------------------------------------------------------

    def plan(self, recall: float, rng: np.random.Generator) -> dict[str, Any]:
        """Cells, probes and groups, made once and kept in the work folder.

        The draws are those of :func:`cladify.neighbors._shards.make_plan`, so that the same rows make the cells and
        give the recall as on one machine.
        """
        from dask import delayed

        vectors, n, d = self.vectors, self.vectors.n, self.vectors.d
        count = n_cells(n, self.k)
        if not isinstance(rng.bit_generator, np.random.PCG64):  # whose state a receipt can hold
            rng = np.random.default_rng(int(rng.integers(2**32)))
        some = cell_sample(n, count, rng)
        # The task that finds the cells holds its sample about four times.
        fits = max(4 * count, int(self.job.memory / (64 * d)))
        some = some[:: -(-len(some) // fits)]

        def cells(i: int) -> tuple[Any, ...]:
            return make_cells, vectors.take(some), self.similarity, count, rng.bit_generator.state

        (receipt,) = self.job.stage([CELLS], cells, "cells")
        rng.bit_generator.state = receipt["random"]
        asked = np.sort(rng.choice(n, size=sample_size(n, d), replace=False))

        def task(i: int) -> tuple[Any, ...]:
            (keys,) = self.job.run([self._nearest_of_all(asked)], "sample")
            truth = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
            # Each row of the sample and each of its true neighbours once, and where they are in that list.
            both, place = np.unique(np.concatenate([asked, truth.ravel()]), return_inverse=True)
            where = place[: len(asked)], place[len(asked) :].reshape(truth.shape)
            sized = vectors.take(some[:: max(1, len(some) // _SIZED)])
            shape = (n, d, self.k, self.job.memory, 4 * self.job.n_threads)  # groups that keep all workers busy
            return make_plan, self.job.work, vectors.take(both), delayed(where), sized, self.similarity, shape, recall

        (receipt,) = self.job.stage(["plan"], task, "probes")
        return receipt

    def _nearest_of_all(self, rows: np.ndarray) -> Any:
        """Keys of the true k nearest other rows of some rows, nearest first; delayed."""
        from dask import delayed

        vectors = self.vectors
        queries = vectors.take(rows)
        lists = [
            delayed(tasks.nearest_in)(part, int(start), queries, rows, self.k, self.similarity)
            for part, start in zip(vectors.parts, vectors.offsets, strict=False)
        ]
        while len(lists) > 1:
            lists = [delayed(tasks.merge_lists)(lists[i : i + _FAN_IN], self.k) for i in range(0, len(lists), _FAN_IN)]
        return lists[0]

    # --- the search ---------------------------------------------------------------------------------------------------

    def graph(self) -> dict[str, Any]:
        """Run the three stages; the parts of the graph are then in the work folder."""
        from dask import delayed

        vectors, work, n_parts = self.vectors, self.job.work, len(self.vectors.parts)
        assert work is not None
        receipt = work.receipt("plan")
        assert receipt is not None
        groups = int(receipt["groups"])
        offsets = delayed(vectors.offsets)

        def assign(i: int) -> tuple[Any, ...]:
            return tasks.assign, work, vectors.parts[i], int(vectors.offsets[i]), self.similarity

        def search(g: int) -> tuple[Any, ...]:
            return tasks.search_group, work, g, offsets, self.k, self.similarity

        def visit(g: int) -> tuple[Any, ...]:
            return tasks.visit_group, work, g, offsets, self.k, self.similarity

        def merge(i: int) -> tuple[Any, ...]:
            return tasks.merge_part, work, i, groups, offsets, self.k

        def stage(label: str, names: str, count: int, task: Any) -> list[Receipt]:
            return self.job.stage([names % i for i in range(count)], task, label)

        rows = stage("assign to cells", tasks.ROWS, n_parts, assign)
        found = stage("neighbours in groups", tasks.FOUND, groups, search)
        more = stage("neighbours across groups", tasks.MORE, groups, visit)
        work.drop(
            name % i
            for name, count in ((tasks.ROWS, n_parts), (tasks.VISITS, groups), (tasks.LAST, groups))
            for i in range(count)
        )
        parts = stage("merge by point", tasks.GRAPH, n_parts, merge)
        work.drop(name % g for name in (tasks.FOUND, tasks.MORE) for g in range(groups))
        self._fill_up(parts)
        return {
            "copies": round(1 + sum(r["visits"] for r in found) / vectors.n, 2),
            "shuffled_bytes": sum(r["bytes"] for r in (*rows, *found, *more)),
        }

    def _fill_up(self, parts: list[Receipt]) -> None:
        """Rows whose cells had fewer rows than they need neighbours search everywhere."""
        few = np.array([row for receipt in parts for row in receipt["few"]], dtype=np.int64)

        def fill(i: int) -> tuple[Any, ...]:
            return tasks.save_fill, few, self._nearest_of_all(few)

        if len(few):
            self.job.stage(["fill"], fill, "fill up")

    def parts(self) -> list[Any]:
        """The parts of the graph, each read by the worker that needs it."""
        from dask import delayed

        low_high = zip(self.vectors.offsets, self.vectors.offsets[1:], strict=False)
        if self.k == 0:
            return [delayed(tasks.no_edges)(int(high - low)) for low, high in low_high]
        work = self.job.work
        assert work is not None
        fill = work.path("fill") if work.receipt("fill") else None
        return [
            delayed(tasks.load_part)(work.path(tasks.GRAPH % i), int(low), fill) for i, (low, _) in enumerate(low_high)
        ]
