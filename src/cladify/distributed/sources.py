"""Vectors in parts: a Dask array, or shards in files, read by the worker that needs them.

A part is a run of rows small enough for one task: a chunk of a Dask array, some row groups of a Parquet file, some rows
of a ``.npy`` file or a Zarr array. Everything is checked once, at the door, by one task a part; an error names the
shard and its row. After that a part is a float32 array of the right shape without NaN.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.arrays import read_npy
from cladify._kit.files import find_file, listing, reading
from cladify._kit.parallel import row_blocks
from cladify._kit.progress import Progress
from cladify.data._vectors import check_vectors
from cladify.distributed._job import Job, require_dask, run
from cladify.errors import FileError, InvalidInput
from cladify.io._tables import read_table_vectors, table_width

__all__ = ["ShardedVectors", "open_vectors"]

KINDS = (".npy", ".parquet", ".zarr")
_PART_BYTES = 1 << 25  # of float32 rows in a part


@dataclass(frozen=True)
class ShardedVectors:
    """Rows in parts, of which no worker needs all.

    Attributes
    ----------
    n, d : int
        Rows and columns.
    offsets : int64 array of shape (n_parts + 1,)
        Part ``i`` has the rows ``offsets[i]:offsets[i + 1]``.
    parts : list of Delayed
        Each gives a C-contiguous float32 array of shape (n_i, d).
    names : list of str
        Where each part comes from.
    largest : float
        The largest absolute value.
    zero_row : int
        The first row that is all zeros, -1 without one.
    fingerprint : int
        Of the values of all rows and how they are cut into parts.
    held : list
        Futures of rows that came from this process; they must live as long as the parts are in use.
    """

    n: int
    d: int
    offsets: np.ndarray
    parts: list[Any]
    names: list[str]
    largest: float
    zero_row: int
    fingerprint: int
    held: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.d

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """One delayed ``function(part, *args)`` a part."""
        from dask import delayed

        return [delayed(function)(part, *args) for part in self.parts]

    def take(self, rows: Any) -> Any:
        """The given rows, delayed: ascending ids of rows, one array."""
        from dask import delayed

        rows = np.asarray(rows, dtype=np.int64)
        cut = np.searchsorted(rows, self.offsets)
        some = [
            delayed(_take)(part, rows[a:b] - start)
            for part, a, b, start in zip(self.parts, cut, cut[1:], self.offsets, strict=False)
            if a < b
        ]
        return delayed(np.concatenate)(some)


def open_vectors(
    X: Any, *, client: Any, column: Any = None, part_bytes: int = _PART_BYTES, report: Progress | None = None
) -> ShardedVectors:
    """Vectors for the Dask engine, checked.

    Parameters
    ----------
    X : Dask array, folder, list of paths, or array
        A Dask array of shape (n, d) keeps its chunks of rows. A folder stands for the ``.npy``, ``.parquet`` and
        ``.zarr`` shards in it, in the order of their names; the workers must see it under the same path. An array of
        this process is sent to the workers.
    client : distributed.Client
    column : str or list of str, optional
        Of Parquet shards, as in :func:`cladify.io.read_vectors`.
    part_bytes : int
        About how large a part of a file is, in float32.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from distributed import Client
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "a.npy", np.zeros((3, 2))), np.save(folder / "b.npy", np.ones((2, 2)))
    (None, None)
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
    ...     vectors = open_vectors(folder, client=client)
    >>> vectors.shape, vectors.offsets.tolist()
    ((5, 2), [0, 3, 5])
    """
    if isinstance(X, ShardedVectors):
        return X
    require_dask()
    import dask.array
    from dask import delayed

    held: list[Any] = []
    if isinstance(X, dask.array.Array):
        names, parts = _of_dask(X)
    elif isinstance(X, (str, os.PathLike)) or _are_paths(X):
        shards = _shards(X)
        tasks = [delayed(_ranges)(path, column, part_bytes) for path in shards]
        ranges = run(client, tasks, stage="look at shards", report=report)
        cuts = [(path, cut) for path, cuts in zip(shards, ranges, strict=True) for cut in cuts]
        names = [f"{path}, rows {cut.start}:{cut.stop}" for path, cut in cuts]
        parts = [delayed(_read)(path, column, cut) for path, cut in cuts]
    else:
        names, parts, held = _of_array(X, client, part_bytes)
    looks = run(client, [delayed(_look)(part) for part in parts], stage="check rows", report=report)
    return _checked(names, parts, looks, held)


def part_bytes_for(client: Any) -> int:
    """How large a part may be: work on it takes some ten times as much."""
    return int(min(max(Job(client).memory / 40, 1 << 20), _PART_BYTES))


# --- parts of each source --------------------------------------------------------------------------------------------


def _of_dask(X: Any) -> tuple[list[str], list[Any]]:
    from dask import delayed

    if X.ndim != 2:
        raise InvalidInput(f"the Dask array has shape {X.shape}; expected (rows, dimensions).")
    if X.dtype.kind not in "fiub":
        raise InvalidInput(f"the Dask array holds {X.dtype}, not numbers.")
    blocks = X.rechunk({1: -1}).to_delayed()[:, 0]
    return [f"chunk {i}" for i in range(len(blocks))], [delayed(_float32)(block) for block in blocks]


def _of_array(X: Any, client: Any, part_bytes: int) -> tuple[list[str], list[Any], list[Any]]:
    from dask import delayed

    X = check_vectors(X, accept_sparse=False)
    blocks = row_blocks(X.shape[0], max(1, part_bytes // (4 * X.shape[1])))
    held = client.scatter([_float32(X[rows]) for rows in blocks], hash=False)
    return [f"rows {rows.start}:{rows.stop}" for rows in blocks], [delayed(_float32)(part) for part in held], held


def _are_paths(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(path, (str, os.PathLike)) for path in X)


def _shards(X: Any) -> list[str]:
    """The shards that a folder, a file or a list of them stands for; whole paths, which mean the same on a worker."""
    if isinstance(X, (list, tuple)):
        return [shard for path in X for shard in _shards(path)]
    path = Path(X).absolute()
    if path.suffix.lower() in KINDS or (path / "zarr.json").exists() or (path / ".zarray").exists():
        if path.suffix.lower() == ".zarr" or path.is_dir():
            return [str(path)]
        return [str(find_file(path))]
    if not path.is_dir():
        find_file(path)  # raises for a path that does not exist
        raise FileError(f"{path}: a shard is one of {', '.join(KINDS)}; give such a file, or a folder of them.")
    names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
    found = [str(path / name) for name in names if os.path.splitext(name)[1].lower() in KINDS]
    if not found:
        raise FileError(f"{path} has no shards ({', '.join(KINDS)}). It has: {listing(names)}.")
    return found


@dataclass(frozen=True)
class _Cut:
    """Some rows of a shard; of a Parquet file, also the row groups that they are."""

    start: int
    stop: int
    groups: tuple[int, ...] = ()


def _ranges(path: str, column: Any, part_bytes: int) -> list[_Cut]:
    """How a shard is cut into parts."""
    kind = _kind(path)
    with reading(path, kind):
        if kind == ".parquet":
            return _row_groups(path, column, part_bytes)
        array = _open(path, kind)
        if array.ndim != 2 or 0 in array.shape:
            raise FileError(f"{path} has shape {tuple(array.shape)}; expected (rows, dimensions), both above 0.")
        return [_Cut(rows.start, rows.stop) for rows in row_blocks(array.shape[0], _rows(part_bytes, array.shape[1]))]


def _row_groups(path: str, column: Any, part_bytes: int) -> list[_Cut]:
    import pyarrow.parquet as pq

    most = _rows(part_bytes, table_width(path, ".parquet", column))
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    cuts: list[_Cut] = []
    start = rows = 0
    groups: list[int] = []
    for i, size in enumerate(sizes):
        if groups and rows + size > most:
            cuts.append(_Cut(start, start + rows, tuple(groups)))
            start, rows, groups = start + rows, 0, []
        rows += size
        groups.append(i)
    return [*cuts, _Cut(start, start + rows, tuple(groups))]


def _rows(part_bytes: int, d: int) -> int:
    return max(1, part_bytes // (4 * d))


# --- on the workers ---------------------------------------------------------------------------------------------------


def _read(path: str, column: Any, cut: _Cut) -> np.ndarray:
    """One part of a shard."""
    kind = _kind(path)
    with reading(path, kind):
        if kind == ".parquet":
            rows = read_table_vectors(path, kind, column, row_groups=cut.groups)
        else:
            rows = _open(path, kind)[cut.start : cut.stop]
        return _float32(rows)


def _kind(path: str) -> str:
    return ".zarr" if os.path.isdir(path) else os.path.splitext(path)[1].lower()


def _open(path: str, kind: str) -> Any:
    """A ``.npy`` file or a Zarr array, of which nothing is read yet."""
    if kind == ".npy":
        return read_npy(path)
    try:
        import zarr
    except ImportError:
        raise FileError(f"{path} is a Zarr array, which needs a reader. Install it with: pip install zarr") from None
    return zarr.open_array(path, mode="r")


def _float32(rows: Any) -> np.ndarray:
    with np.errstate(over="ignore"):  # becomes infinite, which the look at the rows finds
        return np.ascontiguousarray(rows, dtype=np.float32)


def _take(part: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return part[rows]


@dataclass(frozen=True)
class _Look:
    """Results of the check of a part; rows count from the part's first."""

    shape: tuple[int, ...]
    bad: int
    bad_row: int
    zero_row: int
    largest: float
    checksum: int


def _look(part: np.ndarray) -> _Look:
    low, high = part.min(axis=1, initial=0.0), part.max(axis=1, initial=0.0)
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    zero = np.flatnonzero((low == 0) & (high == 0))
    largest = float(max(high.max(initial=0.0), -low.min(initial=0.0)))
    return _Look(part.shape, len(bad), _first(bad), _first(zero), largest, zlib.crc32(part.data))


def _first(rows: np.ndarray) -> int:
    return int(rows[0]) if len(rows) else -1


# --- results of the check ---------------------------------------------------------------------------------------------


def _checked(names: list[str], parts: list[Any], looks: Sequence[_Look], held: list[Any]) -> ShardedVectors:
    filled = [i for i, look in enumerate(looks) if look.shape[0]]
    if not filled:
        raise InvalidInput("X has 0 rows; was everything filtered out?")
    d = looks[filled[0]].shape[1]
    if d == 0:
        raise InvalidInput(f"X has 0 columns (in {names[filled[0]]}).")
    for i in filled:
        if looks[i].shape[1] != d:
            raise InvalidInput(
                f"{names[i]}: row 0 of these has {looks[i].shape[1]} numbers, and {names[filled[0]]} has {d} a row; "
                "embed all shards alike."
            )
    offsets = np.concatenate([[0], np.cumsum([looks[i].shape[0] for i in filled])]).astype(np.int64)
    for i, start in zip(filled, offsets, strict=False):
        look = looks[i]
        if look.bad:
            row = _row_in_shard(names[i], look.bad_row)
            raise InvalidInput(
                f"{names[i]}: row {row} (row {start + look.bad_row} of all) has NaN, infinity or a value beyond "
                f"float32, as {look.bad} of these rows have. Drop or impute such rows first."
            )
    zeros = [
        int(start) + looks[i].zero_row for i, start in zip(filled, offsets, strict=False) if looks[i].zero_row >= 0
    ]
    content = repr([(looks[i].shape, looks[i].checksum) for i in filled]).encode()
    return ShardedVectors(
        n=int(offsets[-1]),
        d=d,
        offsets=offsets,
        parts=[parts[i] for i in filled],
        names=[names[i] for i in filled],
        largest=max(looks[i].largest for i in filled),
        zero_row=zeros[0] if zeros else -1,
        fingerprint=zlib.crc32(content),
        held=held,
    )


def _row_in_shard(name: str, row: int) -> int:
    """A row of a part, counted as its shard does."""
    _, found, rows = name.rpartition("rows ")
    return row + int(rows.partition(":")[0]) if found else row
