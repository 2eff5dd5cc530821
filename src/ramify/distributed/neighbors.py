"""The neighbour graph of vectors in parts: overlapping shards [1]_ as independent tasks.

The search is that of :mod:`ramify.neighbors.shards`: coarse cells from a sample, every row probes the few cells nearest
to it, and two rows find each other when one of them probes the cell of the other. Here cells near one another form
*groups* of a size that a worker holds, and there are four stages of independent tasks:

1. *assign*, a task a part: every row goes to the group of its nearest cell;
2. *search*, a task a group: matrix products between the members of each cell and the rows of the group that probe it,
   the best of each row picked by the core and their distances computed in float64. Then the rows that probe cells of
   other groups set out for these, with the distance of the last of the k that they have;
3. *visit*, a task a group: products between the members of each cell and the visitors that probe it. Only what beats
   that distance is kept, which is little;
4. *merge*, a task a part: what the groups found for each row, the k nearest of it.

Which pairs meet depends on the rows, the cells and the probes alone, not on groups, parts, workers or the order of
tasks. How many cells to probe follows from the true neighbours of a sample of rows, and so does the recall that
``info`` states.

References
----------
.. [1] Monath. Incremental Non-Greedy Clustering at Scale (thesis), §4.1.3: overlapping k-means shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramify.distributed.cluster import run, task_memory
from ramify.distributed.graph_parts import Part, ShardedGraph
from ramify.distributed.sources import ShardedVectors
from ramify.distributed.workdir import Receipt, WorkDir, read_piece, write_pieces
from ramify.errors import InvalidInput
from ramify.io.arrays import read_npy, read_npz
from ramify.io.atomic import atomic_write
from ramify.neighbors.cells import Cells, cell_sample, cells_of
from ramify.neighbors.exact import Nearest, decide, exact_query
from ramify.neighbors.rows import Frame, Rows
from ramify.neighbors.shards import SPARE, by_cell, cell_ranks, n_cells, probing_plan, sample_size, search_cells
from ramify.parallel import row_blocks
from ramify.progress import Progress
from ramify.similarity import Similarity, get_similarity
from ramify.validate import check_float, check_int, check_random_state

__all__ = ["sharded_neighbors"]

_SHARE = 0.25  # of a task's memory for the rows of a group
_SIZED = 50_000  # rows of the sample that tell how many rows a group will get
_FAN_IN = 16  # lists that one task merges
_BLOCK = 1 << 14  # rows that are gathered, or merged, at a time
# Files: the rows of a part; of a group, what its rows found, their visits, the last of their k, and what visits found;
# the graph of a part.
_ROWS, _FOUND, _VISITS, _LAST, _MORE = "rows-%05d", "found-%05d", "visits-%05d", "last-%05d.npz", "more-%05d"
_GRAPH, _CELLS = "graph-%05d", "cells.npz"
_NONE = np.uint64(2**64 - 1)  # no neighbour: sorts behind all


def sharded_neighbors(
    vectors: ShardedVectors,
    k: int = 25,
    metric: str | Similarity = "sqeuclidean",
    *,
    client: Any,
    work: WorkDir,
    recall: float = 0.95,
    random_state: Any = 0,
    report: Progress | None = None,
) -> ShardedGraph:
    """The directed graph from every row to about its ``k`` nearest other rows, in the parts of the vectors.

    Parameters
    ----------
    vectors : ShardedVectors
    k : int
        At most n − 1.
    metric : "sqeuclidean", "euclidean" or "cosine"
    client : distributed.Client
    work : WorkDir
        Keeps the graph, and on the way there about ``info["shuffled_bytes"]`` of rows and candidates.
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
    search = _Search(vectors, k, similarity, client, work, report)
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
    client: Any
    work: WorkDir
    report: Progress | None

    # --- the plan -----------------------------------------------------------------------------------------------------

    def plan(self, recall: float, rng: np.random.Generator) -> dict[str, Any]:
        """Cells, probes and groups, made once and kept in the work folder.

        The draws are those of :func:`ramify.neighbors.shards.make_plan`, so that the same rows make the cells and tell
        the recall as on one machine.
        """
        from dask import delayed

        vectors, n, d = self.vectors, self.vectors.n, self.vectors.d
        count = n_cells(n, self.k)
        if not isinstance(rng.bit_generator, np.random.PCG64):  # whose state a receipt can hold
            rng = np.random.default_rng(int(rng.integers(2**32)))
        some = cell_sample(n, count, rng)
        # The task that finds the cells holds its sample about four times.
        fits = max(4 * count, int(task_memory(self.client) / (64 * d)))
        some = some[:: -(-len(some) // fits)]

        def cells(name: str, i: int) -> tuple[Any, ...]:
            return _make_cells, vectors.take(some), self.similarity, count, rng.bit_generator.state

        (receipt,) = self.work.stage(self.client, "cells", [_CELLS], cells, self.report)
        rng.bit_generator.state = receipt["random"]
        asked = np.sort(rng.choice(n, size=sample_size(n, d), replace=False))

        def task(name: str, i: int) -> tuple[Any, ...]:
            (keys,) = run(self.client, [self._nearest_of_all(asked)], stage="sample", report=self.report)
            truth = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
            # Each row of the sample and each of its true neighbours once, and where they are in that list.
            both, place = np.unique(np.concatenate([asked, truth.ravel()]), return_inverse=True)
            where = place[: len(asked)], place[len(asked) :].reshape(truth.shape)
            sized = vectors.take(some[:: max(1, len(some) // _SIZED)])
            shape = (n, d, self.k, task_memory(self.client), self._tasks())
            return _make_plan, self.work, vectors.take(both), delayed(where), sized, self.similarity, shape, recall

        (receipt,) = self.work.stage(self.client, "probes", ["plan"], task, self.report)
        return receipt

    def _tasks(self) -> int:
        """Groups that keep all workers busy to the end."""
        return 4 * sum(self.client.nthreads().values())

    def _nearest_of_all(self, rows: np.ndarray) -> Any:
        """Keys of the true k nearest other rows of some rows, nearest first; delayed."""
        from dask import delayed

        vectors = self.vectors
        queries = vectors.take(rows)
        lists = [
            delayed(_nearest_in)(part, int(start), queries, rows, self.k, self.similarity)
            for part, start in zip(vectors.parts, vectors.offsets, strict=False)
        ]
        while len(lists) > 1:
            lists = [delayed(_merge_lists)(lists[i : i + _FAN_IN], self.k) for i in range(0, len(lists), _FAN_IN)]
        return lists[0]

    # --- the search ---------------------------------------------------------------------------------------------------

    def graph(self) -> dict[str, Any]:
        """Run the three stages; the parts of the graph are then in the work folder."""
        from dask import delayed

        vectors, work, n_parts = self.vectors, self.work, len(self.vectors.parts)
        receipt = work.receipt("plan")
        assert receipt is not None
        groups = int(receipt["groups"])
        offsets = delayed(vectors.offsets)

        def assign(name: str, i: int) -> tuple[Any, ...]:
            return _assign, work, vectors.parts[i], int(vectors.offsets[i]), self.similarity

        def search(name: str, g: int) -> tuple[Any, ...]:
            return _search_group, work, g, offsets, self.k, self.similarity

        def visit(name: str, g: int) -> tuple[Any, ...]:
            return _visit_group, work, g, offsets, self.k, self.similarity

        def merge(name: str, i: int) -> tuple[Any, ...]:
            return _merge_part, work, i, groups, offsets, self.k

        def stage(told: str, names: str, count: int, task: Any) -> list[Receipt]:
            return work.stage(self.client, told, [names % i for i in range(count)], task, self.report)

        rows = stage("assign to cells", _ROWS, n_parts, assign)
        found = stage("neighbours in groups", _FOUND, groups, search)
        more = stage("neighbours across groups", _MORE, groups, visit)
        work.drop(
            name % i for name, count in ((_ROWS, n_parts), (_VISITS, groups), (_LAST, groups)) for i in range(count)
        )
        parts = stage("merge by point", _GRAPH, n_parts, merge)
        work.drop(name % g for name in (_FOUND, _MORE) for g in range(groups))
        self._fill_up(parts)
        return {
            "copies": round(1 + sum(r["visits"] for r in found) / vectors.n, 2),
            "shuffled_bytes": sum(r["bytes"] for r in (*rows, *found, *more)),
        }

    def _fill_up(self, parts: list[Receipt]) -> None:
        """Rows whose cells had fewer rows than they need neighbours search everywhere."""
        few = np.array([row for receipt in parts for row in receipt["few"]], dtype=np.int64)

        def fill(name: str, i: int) -> tuple[Any, ...]:
            return _save_fill, few, self._nearest_of_all(few)

        if len(few):
            self.work.stage(self.client, "fill up", ["fill"], fill, self.report)

    def parts(self) -> list[Any]:
        """The parts of the graph, each read by the worker that needs it."""
        from dask import delayed

        low_high = zip(self.vectors.offsets, self.vectors.offsets[1:], strict=False)
        if self.k == 0:
            return [delayed(_no_edges)(int(high - low)) for low, high in low_high]
        fill = self.work.path("fill") if self.work.receipt("fill") else None
        return [delayed(_load_part)(self.work.path(_GRAPH % i), int(low), fill) for i, (low, _) in enumerate(low_high)]


# --- keys: a distance and the row it leads to, in the order of both ---------------------------------------------------


def _keys(distance: np.ndarray, to: np.ndarray) -> np.ndarray:
    """uint64 keys that sort by distance, then by row; none where ``to`` is negative."""
    bits = (np.maximum(distance, 0.0).astype(np.float32) + np.float32(0)).view(np.uint32)
    keys = (bits.astype(np.uint64) << np.uint64(32)) | to.astype(np.uint64)
    keys[to < 0] = _NONE
    return keys


def _best(keys: np.ndarray, k: int) -> np.ndarray:
    """The k smallest different keys of each row, ascending; filled up with none."""
    keys = np.sort(keys, axis=1)
    again = np.zeros(keys.shape, dtype=bool)
    again[:, 1:] = keys[:, 1:] == keys[:, :-1]
    if again.any():
        keys[again] = _NONE
        keys.sort(axis=1)
    if keys.shape[1] < k:
        keys = np.pad(keys, ((0, 0), (0, k - keys.shape[1])), constant_values=_NONE)
    return keys[:, :k]


def _merge_lists(lists: list[np.ndarray], k: int) -> np.ndarray:
    return _best(np.concatenate(lists, axis=1), k)


def _nearest_in(
    part: np.ndarray, start: int, queries: np.ndarray, own: np.ndarray, k: int, similarity: Similarity
) -> np.ndarray:
    """Keys of the k nearest rows of one part for each query; ``own`` are the queries' own rows."""
    found = exact_query(part, queries, min(k + 1, len(part)), similarity, n_jobs=1, report=Progress())
    to = found.indices.astype(np.int64) + start
    to[to == own[:, None]] = -1
    return _best(_keys(similarity.height(found.values), to), k)


def _distinct(values: np.ndarray) -> np.ndarray:
    """The different values, ascending; ``np.unique`` hashes them, which takes longer."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


# --- the plan ---------------------------------------------------------------------------------------------------------


def _make_cells(path: str, sample: np.ndarray, similarity: Similarity, count: int, random: dict[str, Any]) -> Receipt:
    """Cells of a sample, and where the draws are after it."""
    assert similarity.order is not None
    frame = Frame.of(sample, similarity.order, 1)
    assert frame.centre is not None
    rng = np.random.default_rng()
    rng.bit_generator.state = random
    z = Rows.of(sample, frame, 1).z[: len(sample)]
    cells = cells_of(z, count, rng, n_jobs=1, report=Progress())
    with atomic_write(path) as file:
        np.savez(file, frame=frame.centre, unit=frame.unit, centre=cells.centre)
    return {"random": rng.bit_generator.state}


def _make_plan(
    path: str,
    work: WorkDir,
    both: np.ndarray,
    where: tuple[np.ndarray, np.ndarray],
    sized: np.ndarray,
    similarity: Similarity,
    shape: tuple[int, int, int, float, int],
    recall: float,
) -> Receipt:
    """The probes that find the true neighbours of some rows, and groups that fit a worker."""
    n, d, k, memory, tasks = shape
    frame, cells = _load_cells(work, similarity)
    asked, truth = where
    rank = cell_ranks(Rows.of(both, frame, 1), cells, asked, truth, n_jobs=1)
    plan = probing_plan(cells, rank, recall)
    probed = cells.nearest(Rows.of(sized, frame, 1).z, plan.probes, n_jobs=1)
    most = max(1.0, _SHARE * memory / _row_bytes(d, k, plan.probes))
    group = _groups(cells, probed, n / len(sized), most, min(tasks, max(1, n // 10_000)))
    with atomic_write(path) as file:
        np.savez(file, group=group, probes=plan.probes)
    return {**plan.info, "groups": int(group.max()) + 1}


def _row_bytes(d: int, k: int, probes: int) -> int:
    """What a row takes while its group is searched: as read, as ``z``, its candidates and what is written of them."""
    return 12 * d + 8 * probes + 48 * k + 64


def _groups(cells: Cells, probed: np.ndarray, scale: float, most: float, least: int) -> np.ndarray:
    """The group of each cell: at least ``least`` of them, and so many that no one is sent more than ``most`` rows."""
    weight = np.bincount(probed[:, 0], minlength=len(cells)) + 1.0
    count = min(least, len(cells))
    while True:
        group = _halved(cells.centre, weight, count)
        copies = _distinct((group[probed] + np.arange(len(probed), dtype=np.int64)[:, None] * count).ravel())
        if count == len(cells) or np.bincount(copies % count).max() * scale <= most:
            return group
        count = min(2 * count, len(cells))


def _halved(centre: np.ndarray, weight: np.ndarray, count: int) -> np.ndarray:
    """Cells in ``count`` groups of about equal weight: cut across the longest direction, again and again."""
    group = np.zeros(len(centre), dtype=np.int32)
    waiting = [(np.arange(len(centre)), 0, count)]
    while waiting:
        some, first, share = waiting.pop()
        if share == 1:
            group[some] = first
            continue
        z = centre[some] - centre[some].mean(axis=0)
        order = some[np.argsort(z @ _long_direction(z), kind="stable")]
        half = share // 2
        sums = np.cumsum(weight[order])
        cut = int(np.searchsorted(sums, sums[-1] * half / share))
        cut = min(max(cut, half), len(order) - (share - half))  # at least a cell for every group
        waiting += [(order[:cut], first, half), (order[cut:], first + half, share - half)]
    return group


def _long_direction(z: np.ndarray) -> np.ndarray:
    """About the direction in which rows around 0 spread most: some steps from the longest row towards it."""
    direction = z[np.argmax(np.einsum("ij,ij->i", z, z))].astype(np.float64)
    for _ in range(8):
        direction = z.T @ (z @ direction)
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    return direction


@dataclass(frozen=True)
class _Cut:
    """The plan as a worker reads it."""

    frame: Frame
    cells: Cells
    group: np.ndarray
    probes: int

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1


def _load_cells(work: WorkDir, similarity: Similarity) -> tuple[Frame, Cells]:
    assert similarity.order is not None
    path = work.path(_CELLS)
    frame, unit, centre = (read_npz(path, name, (), ndim) for name, ndim in (("frame", 1), ("unit", 0), ("centre", 2)))
    return Frame(similarity.order, frame, float(unit)), Cells.of(centre)


def _load_plan(work: WorkDir, similarity: Similarity) -> _Cut:
    group, probes = (read_npz(work.path("plan"), name, (), ndim) for name, ndim in (("group", 1), ("probes", 0)))
    return _Cut(*_load_cells(work, similarity), group, int(probes))


# --- the stages, on the workers ---------------------------------------------------------------------------------------


def _row_type(plan: _Cut) -> np.dtype:
    """A row on its way to a group: its number, the cells that it probes, nearest first, its values, and what the last
    of the k that it has so far is: its key, and the score that another one must reach."""
    d = plan.cells.centre.shape[1]
    fields = [("id", "<i8"), ("last", "<u8"), ("least", "<f4"), ("cell", "<i4", (plan.probes,)), ("x", "<f4", (d,))]
    return np.dtype(fields)


def _found_type(k: int) -> np.dtype:
    """A row on its way back: its number, and the keys of what its own group has for it."""
    return np.dtype([("id", "<i8"), ("key", "<u8", (k,))])


_MORE_TYPE = np.dtype([("id", "<i8"), ("key", "<u8")])  # a neighbour that another group has for a row


def _assign(path: str, work: WorkDir, part: np.ndarray, start: int, similarity: Similarity) -> Receipt:
    """Every row of a part to its own group."""
    plan = _load_plan(work, similarity)
    probed = plan.cells.nearest(Rows.of(part, plan.frame, 1).z, plan.probes, n_jobs=1)
    own = plan.group[probed[:, 0]]
    order = np.argsort(own, kind="stable")

    def blocks() -> Iterator[np.ndarray]:
        for some in row_blocks(len(order), _BLOCK):
            row = order[some]
            records = np.zeros(len(row), dtype=_row_type(plan))
            records["id"], records["cell"], records["x"] = row + start, probed[row], part[row]
            yield records

    offsets = np.searchsorted(own[order], np.arange(plan.groups + 1))
    return {"bytes": write_pieces(path, offsets, blocks())}


def _search_group(path: str, work: WorkDir, group: int, offsets: np.ndarray, k: int, similarity: Similarity) -> Receipt:
    """What the rows of one group find among themselves; then they set out for the other groups that they probe."""
    plan = _load_plan(work, similarity)
    rows = _gather(work, _ROWS, len(offsets) - 1, plan, group)
    n = len(rows)
    own = _own_cells(plan, group)[rows["cell"]]
    z = Rows.of(rows["x"].copy(), plan.frame, 1)
    keys = np.full((n, k), _NONE)
    rows["last"], rows["least"] = _NONE, -np.inf
    if n > 1:
        heaps = np.zeros((n, min(k + SPARE, n - 1)), dtype=np.uint64)
        count = int(own.max()) + 1
        search_cells(z, by_cell(own[:, :1], count), by_cell(own[:, 1:], count), heaps, n_jobs=1, report=Progress())
        found = _decided(z, heaps, k, similarity)
        for some in row_blocks(n, _BLOCK):
            near = found.indices[some]
            keys[some] = _keys(similarity.height(found.values[some]), np.where(near < 0, -1, rows["id"][near]))
            rows["least"][some] = _least(z, some, near[:, -1])
        rows["last"] = keys[:, -1]
    with atomic_write(work.path(_LAST % group)) as file:
        np.savez(file, last=rows["last"], least=rows["least"])
    sent = _send(work.path(_VISITS % group), plan, group, rows)

    def blocks() -> Iterator[np.ndarray]:
        for some in row_blocks(n, _BLOCK):
            records = np.empty(some.stop - some.start, dtype=_found_type(k))
            records["id"], records["key"] = rows["id"][some], keys[some]
            yield records

    kept = write_pieces(path, np.searchsorted(rows["id"], offsets), blocks())
    return {"bytes": kept + sent["bytes"], "visits": sent["visits"]}


def _send(path: str, plan: _Cut, group: int, rows: np.ndarray) -> Receipt:
    """Rows to the other groups that they probe, once to each, by group and then by row."""
    n = len(rows)
    goal = plan.group[rows["cell"]].astype(np.int64)
    pairs = _distinct((goal * n + np.arange(n)[:, None])[goal != group])
    blocks = (rows[pairs[some] % n] for some in row_blocks(len(pairs), _BLOCK))
    return {
        "bytes": write_pieces(path, np.searchsorted(pairs, np.arange(plan.groups + 1) * n), blocks),
        "visits": len(pairs),
    }


def _visit_group(path: str, work: WorkDir, group: int, offsets: np.ndarray, k: int, similarity: Similarity) -> Receipt:
    """What the rows of a group and those that visit it find in one another, where it beats what they have."""
    plan = _load_plan(work, similarity)
    rows = _gather(work, _ROWS, len(offsets) - 1, plan, group)
    own = len(rows)
    for name in ("last", "least"):
        rows[name] = read_npz(work.path(_LAST % group), name, (), 1)
    rows = np.concatenate([rows, _gather(work, _VISITS, plan.groups, plan, group)])
    ids, last = rows["id"].copy(), rows["last"].copy()
    heaps = np.zeros((len(rows), min(k + SPARE, max(len(rows) - 1, 1))), dtype=np.uint64)
    heaps[:] = _floor_keys(rows["least"])[:, None]
    cell = _own_cells(plan, group)[rows["cell"]]
    z = Rows.of(rows["x"].copy(), plan.frame, 1)
    del rows
    edges = np.empty(0, dtype=_MORE_TYPE)
    if len(ids) > own:
        count = int(cell.max()) + 1
        home, away = cell[:, :1].copy(), cell.copy()
        home[own:] = away[:own] = -1
        search_cells(z, by_cell(home, count), by_cell(away, count), heaps, within=False, n_jobs=1, report=Progress())
        edges = _better(z, heaps, ids, last, k, similarity)
    blocks = [edges]
    return {"bytes": write_pieces(path, np.searchsorted(edges["id"], offsets), blocks), "edges": len(edges)}


def _better(
    z: Rows, heaps: np.ndarray, ids: np.ndarray, last: np.ndarray, k: int, similarity: Similarity
) -> np.ndarray:
    """The candidates in the heaps that beat the last of their row's k, by row."""
    heaps[(heaps & np.uint64(0xFFFFFFFF)) == 0] = 0  # what only said how good a candidate must be
    some = np.flatnonzero(heaps.any(axis=1))
    found = _decided(z, heaps[some], k, similarity, some.astype(np.int32))
    to = np.where(found.indices < 0, -1, ids[found.indices])
    keys = _keys(similarity.height(found.values), to)
    row, place = np.nonzero(keys < last[some][:, None])
    edges = np.empty(len(row), dtype=_MORE_TYPE)
    edges["id"], edges["key"] = ids[some][row], keys[row, place]
    return edges[np.argsort(edges["id"], kind="stable")]


def _gather(work: WorkDir, names: str, senders: int, plan: _Cut, group: int) -> np.ndarray:
    """What was sent to a group, in the order of the senders."""
    dtype = _row_type(plan)
    return np.concatenate([read_piece(work.path(names % i), group, plan.groups, dtype) for i in range(senders)])


def _own_cells(plan: _Cut, group: int) -> np.ndarray:
    """Numbers of the cells of a group, -1 for all others."""
    own = np.flatnonzero(plan.group == group)
    local = np.full(len(plan.cells), -1, dtype=np.int32)
    local[own] = np.arange(len(own))
    return local


def _decided(z: Rows, heaps: np.ndarray, k: int, similarity: Similarity, ids: np.ndarray | None = None) -> Nearest:
    ids = np.arange(len(heaps), dtype=np.int32) if ids is None else ids
    return decide(z, z, ids, heaps, k, similarity, None, n_jobs=1, report=Progress())


def _least(z: Rows, some: slice, last: np.ndarray) -> np.ndarray:
    """The score ⟨z, z'⟩ − |z'|²/2 that no row nearer than ``last`` stays below, with room for float32's rounding."""
    span = z.z[some] - z.z[last]
    square = np.einsum("ij,ij->i", span, span).astype(np.float64)
    length = z.length[some]
    reach = length + np.sqrt(square)
    slack = (z.width + 8) * 2.0**-23 * reach * (length + reach)
    return np.where(last < 0, -np.inf, (length**2 - square) / 2 - slack).astype(np.float32)


def _floor_keys(least: np.ndarray) -> np.ndarray:
    """Keys of the core's heaps that stand for a score and for no row (``core/neighbors/topk.hpp``)."""
    bits = (least + np.float32(0)).view(np.uint32)
    ordered = bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))
    return np.where(np.isneginf(least), np.uint64(0), ordered.astype(np.uint64) << np.uint64(32))


def _merge_part(path: str, work: WorkDir, i: int, groups: int, offsets: np.ndarray, k: int) -> Receipt:
    """The k nearest of each row of a part, of all that the groups found; kept by column, as a graph wants them."""
    low, high, n_parts = int(offsets[i]), int(offsets[i + 1]), len(offsets) - 1
    best = np.full((high - low, k), _NONE)
    for g in range(groups):
        found = read_piece(work.path(_FOUND % g), i, n_parts, _found_type(k))
        best[found["id"] - low] = found["key"]
    more = np.concatenate([read_piece(work.path(_MORE % g), i, n_parts, _MORE_TYPE) for g in range(groups)])
    more = more[np.argsort(more["id"], kind="stable")]
    for some in row_blocks(high - low, _BLOCK):
        first = np.searchsorted(more["id"], np.arange(low + some.start, low + some.stop + 1))
        count = np.diff(first)
        rows = np.flatnonzero(count)
        if len(rows):
            mine = more[first[0] : first[-1]]
            table = np.full((len(rows), k + int(count.max())), _NONE)
            table[:, :k] = best[some][rows]
            slot = np.arange(len(mine)) - np.repeat(first[rows] - first[0], count[rows])
            table[np.repeat(np.arange(len(rows)), count[rows]), k + slot] = mine["key"]
            best[some.start + rows] = _best(table, k)
    few = np.flatnonzero(best[:, -1] == _NONE) + low
    with atomic_write(path) as file:
        np.save(file, _by_column(best))
    return {"few": few.tolist()}


def _by_column(keys: np.ndarray) -> np.ndarray:
    """Keys with the row above the distance, ascending: as CSR keeps the edges of a row."""
    turned = (keys << np.uint64(32)) | (keys >> np.uint64(32))
    turned.sort(axis=1)
    return turned


def _save_fill(path: str, rows: np.ndarray, keys: np.ndarray) -> Receipt:
    with atomic_write(path) as file:
        np.savez(file, rows=rows, edges=_by_column(keys))
    return {"rows": len(rows)}


def _load_part(path: str, low: int, fill: str | None) -> Part:
    edges = np.array(read_npy(path))
    if fill is not None:
        rows, more = read_npz(fill, "rows", (), 1), read_npz(fill, "edges", (), 2)
        mine = (rows >= low) & (rows < low + len(edges))
        edges[rows[mine] - low] = more[mine]
    indptr = np.arange(len(edges) + 1, dtype=np.int64) * edges.shape[1]
    distance = (edges.ravel() & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    return indptr, (edges.ravel() >> np.uint64(32)).astype(np.int64), distance


def _no_edges(n: int) -> Part:
    return np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
