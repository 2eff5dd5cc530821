"""Nearest neighbours among rows that come and go, a batch at a time.

Methods that take points one by one need, for each, its neighbours among all that came before it. A batch is searched at
once: against the rows that are there and against itself, in blocks of matrix products, and of two rows of the batch
only the later one sees the other. For methods that keep everyone's neighbours, the same products also say who has a new
row among its own nearest. Up to some ten thousand rows everything is looked at; beyond, the rows of the nearest
coarse cells (:mod:`cladify.neighbors._growing_cells`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from cladify import _core
from cladify._kit.parallel import map_blocks, row_blocks
from cladify._kit.params import check_random_state
from cladify._kit.progress import Progress
from cladify.data._exact import Nearest, decide, empty_heaps
from cladify.data._frame import Frame, Rows
from cladify.data.similarity import Similarity
from cladify.neighbors._growing_cells import GrowingCells

__all__ = ["Arrived", "GrowingRows", "growing_neighbors"]

_EXACT, _FEW = 20_000, 64  # rows up to which all are looked at, of their own accord and where cells are asked for
_QUERIES, _COLUMNS = 1024, 2048  # rows and columns of a block of scores
_ROOM = 16  # part of the rows from a file for which there is room left
_ALONE = 1 << 25  # products up to which one thread is enough
_LOWEST = np.finfo(np.float32).min


class Arrived(NamedTuple):
    """Where new rows are, and who is near them."""

    slots: np.ndarray  #: of each, int32
    near: np.ndarray  #: int32 of shape (m, k), slots of the nearest, nearest first; -1 where there are fewer
    start: np.ndarray  #: int64 of shape (m + 1,): row i is also within reach of ``back[start[i] : start[i + 1]]``
    back: np.ndarray  #: slots, int32


class GrowingRows:
    """Rows in numbered slots; slots of removed rows are used again.

    Scores are ``<z_i, z_j> + bias_j``, larger is nearer, as in :mod:`cladify.data._frame`.

    Parameters
    ----------
    method : {"auto", "exact", "cells"}
    seed : int
        For the cells.
    """

    def __init__(self, *, method: Literal["auto", "exact", "cells"], seed: int, n_jobs: int | None) -> None:
        self._method, self._seed, self._n_jobs = method, seed, n_jobs
        self._z = np.empty((0, 0), dtype=np.float32)
        self._bias = np.empty(0, dtype=np.float32)
        self._reach = np.empty(0, dtype=np.float32)  # score from which on a row is among the nearest of this one
        self._free: list[int] = []
        self._written = np.empty(0, dtype=bool)  # whether a slot has got a row since changed_slots() was last asked
        self._used = 0
        self._count = 0
        self._cells: GrowingCells | None = None
        self._trained = 0  # rows when the cells were found, or last measured

    def __len__(self) -> int:
        return self._count

    @property
    def has_cells(self) -> bool:
        """Whether rows are looked for in the nearest cells only."""
        return self._cells is not None

    def z(self, slots: np.ndarray) -> np.ndarray:
        return self._z[slots]

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows and their bias, by slot."""
        return self._z, self._bias

    def add(self, z: np.ndarray, squared: np.ndarray | None, k: int, *, back: bool = False) -> Arrived:
        """Slots of these new rows, and for each the slots of its ``k`` nearest among all that came before it.

        Parameters
        ----------
        z : float32 array of shape (m, d)
        squared : array of shape (m,), or None
            |z|² where nearness is distance, None where it is the product.
        back : bool
            Whether to look, too, for the rows that came before it and have it within their reach.
        """
        slots = self._take(len(z), z.shape[1])
        self._z[slots] = z
        bias = np.zeros(len(z), np.float32) if squared is None else (-0.5 * squared).astype(np.float32)
        keys, locks = empty_heaps(len(z), k)
        reached = _Reached(bias) if back else None
        self._offer_present(z, keys, locks, reached)
        within = self._offer_earlier(z, bias, slots, keys, locks, back)
        near, score = _best(keys, k)
        if reached is not None:
            for I, J, products in within:
                reached.look(products, _ids(I), slots[J], score[J, -1])
        self._bias[slots] = bias
        self._reach[slots] = np.inf
        self._count += len(z)
        self._list(slots)
        return Arrived(slots, near, *(reached or _Reached(bias)).others(near))

    def put(self, z: np.ndarray, squared: np.ndarray | None) -> np.ndarray:
        """Slots of these new rows; their own neighbours are not searched."""
        slots = self._take(len(z), z.shape[1])
        self._z[slots] = z
        self._bias[slots] = 0.0 if squared is None else (-0.5 * squared).astype(np.float32)
        self._reach[slots] = np.inf
        self._count += len(z)
        self._list(slots)
        return slots

    def set_reach(self, slots: np.ndarray, value: np.ndarray, *, squared: bool) -> None:
        """A row is among the nearest of these if its product with them is above, or its distance squared below."""
        self._reach[slots] = -self._bias[slots] - 0.5 * value if squared else value

    def values(self, slots: np.ndarray, score: np.ndarray, *, squared: bool) -> np.ndarray:
        """Products, or distances squared, of these rows and those they have such scores with, one row each."""
        return np.maximum(-2.0 * (score + self._bias[slots, None]), 0.0) if squared else score

    def remove(self, slots: np.ndarray) -> None:
        """These rows are gone."""
        at = slots.astype(np.intp)  # converted once: the conversion takes most of the time for one row
        self._bias[at] = -np.inf
        self._reach[at] = np.inf
        self._count -= len(slots)
        self._free.extend(slots[::-1].tolist())
        if self._cells is not None:
            self._cells.remove(slots)

    def nearest(self, z: np.ndarray, k: int) -> np.ndarray:
        """Slots of the ``k`` rows nearest to each of ``z``, nearest first; -1 where there are fewer."""
        return _best(self.candidates(z, k), k)[0]

    def candidates(self, z: np.ndarray, capacity: int) -> np.ndarray:
        """The best rows for each of ``z`` by float32 scores, as the native heaps keep them."""
        keys, locks = empty_heaps(len(z), capacity)
        self._offer_present(z, keys, locks, None)
        return keys

    def dump(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Values and arrays that say all there is to say; rows are those in use here, not a copy."""
        arrays: dict[str, np.ndarray] = {"z": self._z[: self._used], "bias": self._bias[: self._used].copy()}
        arrays["free"] = np.array(self._free, dtype=np.int32)
        if self._cells is not None:
            arrays |= {"centre": self._cells.centre, "list": self._cells.lists_of(self._there())}
            names = ("usual", "far", "turn", "due")
            return {"trained": self._trained, **{name: getattr(self._cells, name) for name in names}}, arrays
        return {"trained": self._trained}, arrays

    def load(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Fills an empty object from the result of :meth:`dump`."""
        self._used = len(arrays["bias"])
        self._z = arrays["z"]
        if len(self._z) == self._used:  # else it comes with room behind, and is ours
            self._z = np.zeros((self._used + self._used // _ROOM, self._z.shape[1]), dtype=np.float32)
            self._z[: self._used] = arrays["z"]
        size = len(self._z)
        self._bias = np.full(size, -np.inf, dtype=np.float32)
        self._bias[: self._used] = arrays["bias"]
        self._reach = np.full(size, np.inf, dtype=np.float32)
        self._written = np.zeros(size, dtype=bool)
        self._free = arrays["free"].tolist()
        self._count, self._trained = len(self._there()), meta["trained"]
        if "list" in arrays:
            self._cells = GrowingCells(
                arrays["centre"], meta["usual"], meta["far"], seed=self._seed, n_jobs=self._n_jobs
            )
            self._cells.turn, self._cells.due = meta.get("turn", 0), meta.get("due", 0)  # older folders have none
            self._cells.restore(self._there(), np.ascontiguousarray(arrays["list"]))

    def _jobs(self, pairs: int) -> int | None:
        """Threads for this many pairs of rows: starting them takes longer than a small search."""
        return self._n_jobs if pairs * self._z.shape[1] > _ALONE else 1

    # --- slots --------------------------------------------------------------------------------------------------------

    def _take(self, count: int, width: int) -> np.ndarray:
        again = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = count - len(again)
        need = self._used + fresh
        if need > len(self._bias):
            size = max(need, 1024, 2 * len(self._bias))
            grown = np.zeros((size, width), dtype=np.float32)
            if self._used:
                grown[: self._used] = self._z[: self._used]
            self._z = grown
            more = np.full(size - len(self._bias), np.inf, dtype=np.float32)
            self._bias, self._reach = np.concatenate([self._bias, -more]), np.concatenate([self._reach, more])
            self._written = np.concatenate([self._written, np.zeros(len(more), dtype=bool)])
        slots = np.array([*again, *range(self._used, need)], dtype=np.int32)
        self._used = need
        self._written[slots] = True
        return slots

    def changed_slots(self) -> np.ndarray:
        """Slots that have got rows since the last call."""
        slots = np.flatnonzero(self._written)
        self._written[slots] = False
        return slots.astype(np.int32)

    # --- searching ----------------------------------------------------------------------------------------------------

    def _offer_present(self, z: np.ndarray, keys: np.ndarray, locks: np.ndarray, reached: _Reached | None) -> None:
        if self._cells is None:
            self._offer_all(z, keys, locks, reached)
            return
        bias = np.zeros(len(z), dtype=np.float32) if reached is None else reached.bias
        rows = (self._z, self._bias, self._reach)
        found = self._cells.scan(rows, z, bias, keys, locks, back=reached is not None)
        if reached is not None:
            reached.pairs.extend(found)

    def _offer_all(self, z: np.ndarray, keys: np.ndarray, locks: np.ndarray, reached: _Reached | None) -> None:
        blocks = [(I, J) for I in row_blocks(len(z), _QUERIES) for J in row_blocks(self._used, _COLUMNS)]

        def work(block: tuple[slice, slice]) -> None:
            I, J = block
            columns = np.arange(J.start, J.stop, dtype=np.int32)
            score = z[I] @ self._z[J].T
            _offer(keys, locks, score, _ids(I), columns, self._bias[J])
            if reached is not None:
                reached.look(score, _ids(I), columns, self._reach[J])

        map_blocks(work, blocks, n_jobs=self._jobs(len(z) * self._used))

    def _offer_earlier(
        self, z: np.ndarray, bias: np.ndarray, slots: np.ndarray, keys: np.ndarray, locks: np.ndarray, keep: bool
    ) -> list[tuple[slice, slice, np.ndarray]]:
        parts = row_blocks(len(z), _QUERIES)

        def work(block: tuple[slice, slice]) -> tuple[slice, slice, np.ndarray] | None:
            I, J = block
            score = z[I] @ z[J].T
            if I is J:
                score[np.triu_indices(len(score))] = -np.inf
            _offer(keys, locks, score, _ids(I), slots[J], bias[J])
            return (I, J, score) if keep else None

        pairs = [(I, J) for i, I in enumerate(parts) for J in parts[: i + 1]]
        return [kept for kept in map_blocks(work, pairs, n_jobs=self._jobs(len(z) ** 2)) if kept is not None]

    def _list(self, slots: np.ndarray) -> None:
        """Puts new rows into cells; first finds cells, where there are rows enough.

        Where more than half of these have gone, all rows are looked at again.
        """
        if self._method == "exact":
            return
        enough = _EXACT if self._method == "auto" else _FEW
        if self._count <= (enough if self._cells is None else enough // 2):
            self._cells = None
        elif self._cells is None:
            self._cells = GrowingCells.find(self._z, self._there(), seed=self._seed, n_jobs=self._n_jobs)
            self._trained = self._count
        else:
            self._cells.add(self._z, slots)
            if self._count > 2 * self._trained:
                self._cells.measure(self._z, self._there())
                self._trained = self._count

    def _there(self) -> np.ndarray:
        """Slots that hold a row."""
        return np.flatnonzero(np.isfinite(self._bias[: self._used])).astype(np.int32)


def growing_neighbors(
    X: np.ndarray, k: int, similarity: Similarity, *, random_state: Any, n_jobs: int | None, report: Progress
) -> Nearest:
    """About the ``k`` nearest other rows of every row, from the cells of an index that holds them all."""
    assert similarity.order is not None
    rows = Rows.of(X, Frame.of(X, similarity.order, n_jobs), n_jobs)
    index = GrowingRows(method="cells", seed=int(check_random_state(random_state).integers(2**31)), n_jobs=n_jobs)
    with report.stage("index", 1) as advance:
        index.put(rows.z, None if similarity.order == "product" else rows.length**2)
        advance(1)
    ids = np.arange(len(rows), dtype=np.int32)
    keys = index.candidates(rows.z, k + 1)
    found = decide(rows, rows, ids, keys, k + 1, similarity, None, n_jobs=n_jobs, report=report)
    other = found.indices != ids[:, None]
    other[other.all(axis=1), k] = False  # a row that did not find itself has one neighbour too many
    return Nearest(found.indices[other].reshape(-1, k), found.values[other].reshape(-1, k))


class _Reached:
    """Pairs of a new row and one that has it within reach."""

    def __init__(self, bias: np.ndarray) -> None:
        self.bias = bias
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def look(self, score: np.ndarray, rows: np.ndarray, columns: np.ndarray, reach: np.ndarray) -> None:
        # A row that does not count has score −inf, and is never a neighbour.
        i, j = _core.reached(score, self.bias[rows], np.maximum(reach, _LOWEST))
        self.pairs.append((rows[i], columns[j]))

    def others(self, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where those of each new row begin, and their slots; without the row's own nearest."""
        row = np.concatenate([np.empty(0, np.int32), *(pair[0] for pair in self.pairs)])
        slot = np.concatenate([np.empty(0, np.int32), *(pair[1] for pair in self.pairs)])
        fresh = ~(near[row] == slot[:, None]).any(axis=1)
        row, slot = row[fresh], slot[fresh]
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(self.bias)))])
        return start.astype(np.int64), slot[np.lexsort((slot, row))]


def _ids(rows: slice) -> np.ndarray:
    return np.arange(rows.start, rows.stop, dtype=np.int32)


def _offer(
    keys: np.ndarray, locks: np.ndarray, score: np.ndarray, rows: np.ndarray, columns: np.ndarray, bias: np.ndarray
) -> None:
    none = np.full(len(rows), -1, dtype=np.int32)
    _core.offer(keys, locks, score, rows, columns, none, columns, np.zeros(len(rows), np.float32), bias, False, False)


def _best(keys: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    near, score = np.empty((len(keys), k), dtype=np.int32), np.empty((len(keys), k), dtype=np.float32)
    _core.best(keys, near, score)
    near[~np.isfinite(score)] = -1
    return near, score
