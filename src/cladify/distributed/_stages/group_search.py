"""The tasks of a sharded search: rows to groups, neighbours in each group, and the best of them by row.

:mod:`cladify.distributed._stages.neighbors` describes the stages. Each leaves its files in the work folder.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cladify._kit.parallel import row_blocks
from cladify._kit.progress import Progress
from cladify.data._exact import Nearest, decide, exact_query
from cladify.data._frame import Rows, row_squares
from cladify.data.similarity import Similarity
from cladify.distributed._edges import Part
from cladify.distributed._stages.plan import Plan, distinct, load_plan
from cladify.distributed._storage.work_folder import (
    Receipt,
    WorkFolder,
    read_arrays,
    read_piece,
    write_arrays,
    write_pieces,
)
from cladify.neighbors._shards import SPARE, by_cell, search_cells

__all__ = [
    "FOUND",
    "GRAPH",
    "LAST",
    "MORE",
    "ROWS",
    "VISITS",
    "assign",
    "load_part",
    "merge_lists",
    "merge_part",
    "nearest_in",
    "no_edges",
    "save_fill",
    "search_group",
    "visit_group",
]

_BLOCK = 1 << 14  # rows that are gathered, or merged, at a time
# Files of a part: its rows and its graph. Files of a group: the neighbours in it, the rows that visit other groups, the
# last of the k neighbours of each row, and the neighbours that visits found.
ROWS, FOUND, VISITS, LAST, MORE = "rows-%05d", "found-%05d", "visits-%05d", "last-%05d", "more-%05d"
GRAPH = "graph-%05d"
_NONE = np.uint64(2**64 - 1)  # no neighbour: sorts behind all


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


def merge_lists(lists: list[np.ndarray], k: int) -> np.ndarray:
    return _best(np.concatenate(lists, axis=1), k)


def nearest_in(
    part: np.ndarray, start: int, queries: np.ndarray, own: np.ndarray, k: int, similarity: Similarity
) -> np.ndarray:
    """Keys of the k nearest rows of one part for each query; ``own`` are the queries' own rows."""
    found = exact_query(part, queries, min(k + 1, len(part)), similarity, n_jobs=1, report=Progress())
    to = found.indices.astype(np.int64) + start
    to[to == own[:, None]] = -1
    return _best(_keys(similarity.height(found.values), to), k)


# --- the stages, on the workers ---------------------------------------------------------------------------------------


def _row_type(plan: Plan) -> np.dtype:
    """A row on its way to a group: its number, the cells that it probes, nearest first, and its values.

    ``last`` is the key of the last of the k neighbours found so far, ``least`` the score that a better one must reach.
    """
    d = plan.cells.centre.shape[1]
    fields = [("id", "<i8"), ("last", "<u8"), ("least", "<f4"), ("cell", "<i4", (plan.probes,)), ("x", "<f4", (d,))]
    return np.dtype(fields)


def _found_type(k: int) -> np.dtype:
    """A row on its way back: its number, and the keys of the neighbours in its own group."""
    return np.dtype([("id", "<i8"), ("key", "<u8", (k,))])


_MORE_TYPE = np.dtype([("id", "<i8"), ("key", "<u8")])  # a neighbour of a row in another group


def assign(path: str, work: WorkFolder, part: np.ndarray, start: int, similarity: Similarity) -> Receipt:
    """Every row of a part to its own group."""
    plan = load_plan(work, similarity)
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


def search_group(
    path: str, work: WorkFolder, group: int, offsets: np.ndarray, k: int, similarity: Similarity
) -> Receipt:
    """Neighbours of the rows of one group among themselves; then the rows go to the other groups that they probe."""
    plan = load_plan(work, similarity)
    rows = _gather(work, ROWS, len(offsets) - 1, plan, group)
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
    write_arrays(work.path(LAST % group), last=rows["last"], least=rows["least"])
    sent = _write_visits(work.path(VISITS % group), plan, group, rows)

    def blocks() -> Iterator[np.ndarray]:
        for some in row_blocks(n, _BLOCK):
            records = np.empty(some.stop - some.start, dtype=_found_type(k))
            records["id"], records["key"] = rows["id"][some], keys[some]
            yield records

    kept = write_pieces(path, np.searchsorted(rows["id"], offsets), blocks())
    return {"bytes": kept + sent["bytes"], "visits": sent["visits"]}


def _write_visits(path: str, plan: Plan, group: int, rows: np.ndarray) -> Receipt:
    """Rows to the other groups that they probe, once to each, by group and then by row."""
    n = len(rows)
    goal = plan.group[rows["cell"]].astype(np.int64)
    pairs = distinct((goal * n + np.arange(n)[:, None])[goal != group])
    blocks = (rows[pairs[some] % n] for some in row_blocks(len(pairs), _BLOCK))
    return {
        "bytes": write_pieces(path, np.searchsorted(pairs, np.arange(plan.groups + 1) * n), blocks),
        "visits": len(pairs),
    }


def visit_group(
    path: str, work: WorkFolder, group: int, offsets: np.ndarray, k: int, similarity: Similarity
) -> Receipt:
    """Neighbours between the rows of a group and its visitors that are nearer than those found so far."""
    plan = load_plan(work, similarity)
    rows = _gather(work, ROWS, len(offsets) - 1, plan, group)
    own = len(rows)
    for name, column in read_arrays(work.path(LAST % group)).items():
        rows[name] = column
    rows = np.concatenate([rows, _gather(work, VISITS, plan.groups, plan, group)])
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
    heaps[(heaps & np.uint64(0xFFFFFFFF)) == 0] = 0  # floors, which stand for no row
    some = np.flatnonzero(heaps.any(axis=1))
    found = _decided(z, heaps[some], k, similarity, some.astype(np.int32))
    to = np.where(found.indices < 0, -1, ids[found.indices])
    keys = _keys(similarity.height(found.values), to)
    row, place = np.nonzero(keys < last[some][:, None])
    edges = np.empty(len(row), dtype=_MORE_TYPE)
    edges["id"], edges["key"] = ids[some][row], keys[row, place]
    return edges[np.argsort(edges["id"], kind="stable")]


def _gather(work: WorkFolder, names: str, senders: int, plan: Plan, group: int) -> np.ndarray:
    """The rows sent to a group, in the order of the senders."""
    dtype = _row_type(plan)
    return np.concatenate([read_piece(work.path(names % i), group, plan.groups, dtype) for i in range(senders)])


def _own_cells(plan: Plan, group: int) -> np.ndarray:
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
    square = row_squares(span).astype(np.float64)
    length = z.length[some]
    reach = length + np.sqrt(square)
    slack = (z.width + 8) * 2.0**-23 * reach * (length + reach)
    return np.where(last < 0, -np.inf, (length**2 - square) / 2 - slack).astype(np.float32)


def _floor_keys(least: np.ndarray) -> np.ndarray:
    """Keys of the core's heaps that stand for a score and for no row (``core/data/topk.hpp``)."""
    bits = (least + np.float32(0)).view(np.uint32)
    ordered = bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))
    return np.where(np.isneginf(least), np.uint64(0), ordered.astype(np.uint64) << np.uint64(32))


def merge_part(path: str, work: WorkFolder, i: int, groups: int, offsets: np.ndarray, k: int) -> Receipt:
    """The k nearest of each row of a part among all that the groups found, by column as in CSR form."""
    low, high, n_parts = int(offsets[i]), int(offsets[i + 1]), len(offsets) - 1
    best = np.full((high - low, k), _NONE)
    for g in range(groups):
        found = read_piece(work.path(FOUND % g), i, n_parts, _found_type(k))
        best[found["id"] - low] = found["key"]
    more = np.concatenate([read_piece(work.path(MORE % g), i, n_parts, _MORE_TYPE) for g in range(groups)])
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
    write_arrays(path, edges=_by_column(best))
    return {"few": few.tolist()}


def _by_column(keys: np.ndarray) -> np.ndarray:
    """Keys with the row above the distance, ascending: as CSR keeps the edges of a row."""
    turned = (keys << np.uint64(32)) | (keys >> np.uint64(32))
    turned.sort(axis=1)
    return turned


def save_fill(path: str, rows: np.ndarray, keys: np.ndarray) -> Receipt:
    write_arrays(path, rows=rows, edges=_by_column(keys))
    return {"rows": len(rows)}


def load_part(path: str, low: int, fill: str | None) -> Part:
    edges = np.array(read_arrays(path)["edges"])
    if fill is not None:
        filled = read_arrays(fill)
        rows, more = filled["rows"], filled["edges"]
        mine = (rows >= low) & (rows < low + len(edges))
        edges[rows[mine] - low] = more[mine]
    indptr = np.arange(len(edges) + 1, dtype=np.int64) * edges.shape[1]
    distance = (edges.ravel() & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    return indptr, (edges.ravel() >> np.uint64(32)).astype(np.int64), distance


def no_edges(n: int) -> Part:
    return np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
