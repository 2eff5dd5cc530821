"""The folder in which tasks leave what later ones need: whole files, each with a receipt.

A task writes its file beside its place and moves it there when it is complete, then leaves a receipt. A task that finds
its receipt has nothing to do. So a worker that dies costs the task it was at, and a run that was cut off, by a lost
scheduler or a full disk, goes on where it was when it is started again.

What passes from each of some tasks to each of others is one file a sender, cut into a piece a receiver: the number of
files grows with the number of parts and not with its square.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.atomic import atomic_write
from cladify._kit.progress import Progress
from cladify.distributed._cluster import run
from cladify.errors import FileError

__all__ = [
    "Slices",
    "WorkDir",
    "read_arrays",
    "read_piece",
    "read_split",
    "work_dir",
    "write_arrays",
    "write_pieces",
    "write_split",
]

Receipt = dict[str, Any]


@dataclass(frozen=True)
class WorkDir:
    """A folder that all workers see under the same path."""

    folder: str

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def stage(
        self,
        client: Any,
        stage: str,
        names: Sequence[str],
        tasks: Callable[[str, int], tuple[Any, ...]],
        report: Progress | None = None,
    ) -> list[Receipt]:
        """Run ``function(path, *args)`` for every name that has no receipt yet, and give the receipts of all.

        ``tasks(name, i)`` is that function and its arguments, some of them delayed.
        """
        from dask import delayed

        found = [self.receipt(name) for name in names]
        waiting = [i for i, receipt in enumerate(found) if receipt is None]
        work = [delayed(_write)(self, names[i], *tasks(names[i], i)) for i in waiting]
        for i, receipt in zip(waiting, run(client, work, stage=stage, report=report), strict=True):
            found[i] = receipt
        return [receipt for receipt in found if receipt is not None]

    def receipt(self, name: str) -> Receipt | None:
        """What the task that wrote a file said about it; None where there is none yet."""
        try:
            with open(self.path(name + ".json"), encoding="utf-8") as file:
                return dict(json.load(file))
        except FileNotFoundError:
            return None

    def below(self, name: str) -> WorkDir:
        """A folder inside this one."""
        os.makedirs(self.path(name), exist_ok=True)
        return WorkDir(self.path(name))

    def clear(self, name: str) -> None:
        """Remove a folder inside this one."""
        shutil.rmtree(self.path(name), ignore_errors=True)

    def drop(self, names: Iterable[str]) -> None:
        """Remove files that no task needs any more, and keep their receipts."""
        for name in names:
            Path(self.path(name)).unlink(missing_ok=True)


def _write(work: WorkDir, name: str, function: Callable[..., Receipt], *args: Any) -> Receipt:
    done = work.receipt(name)
    if done is not None:  # the worker that had the result was lost, and its file was not
        return done
    receipt = function(work.path(name), *args)
    with _in_place(work.path(name + ".json")) as file:  # a receipt that is lost costs its task, no more
        file.write(json.dumps(receipt).encode())
    return receipt


@contextmanager
def work_dir(checkpoint: Any, key: str) -> Iterator[WorkDir]:
    """The folder for a run: one of its own below ``checkpoint``, or a temporary one that goes with the run.

    ``key`` stands for the input and everything else that the result depends on: another run never reads these files.
    """
    if checkpoint is None:
        with tempfile.TemporaryDirectory(prefix="cladify-", ignore_cleanup_errors=True) as folder:
            yield WorkDir(folder)
        return
    folder = os.path.join(os.path.abspath(checkpoint), key)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder} for checkpoints: {error.strerror or error}.") from None
    yield WorkDir(folder)


# --- files in pieces --------------------------------------------------------------------------------------------------


def write_pieces(path: str, offsets: np.ndarray, blocks: Iterable[np.ndarray]) -> int:
    """Records one after another, piece i from record ``offsets[i]`` to ``offsets[i + 1]``; gives the bytes written."""
    with atomic_write(path) as file:
        file.write(np.ascontiguousarray(offsets, dtype="<i8").tobytes())
        for block in blocks:
            file.write(np.ascontiguousarray(block).data)
        return int(file.tell())


def read_piece(path: str, piece: int, n_pieces: int, dtype: np.dtype) -> np.ndarray:
    """The records of one piece; nothing else of the file is read."""
    with open(path, "rb") as file:
        file.seek(8 * piece)
        start, stop = np.fromfile(file, dtype="<i8", count=2)
        file.seek(8 * (n_pieces + 1) + int(start) * dtype.itemsize)
        records = np.fromfile(file, dtype=dtype, count=int(stop - start))
    if len(records) != stop - start:
        raise FileError(f"{path} is cut short: piece {piece} has {len(records)} of {stop - start} records.")
    return records


# --- arrays that other tasks map --------------------------------------------------------------------------------------

_ALIGN = 64


@contextmanager
def _in_place(path: str) -> Iterator[Any]:
    """A file that appears whole, but that the system writes to disk when it likes."""
    draft = f"{path}.{secrets.token_hex(6)}.tmp"
    try:
        with open(draft, "wb") as file:
            yield file
        os.replace(draft, path)
    except OSError as error:  # one of writing does not know its file
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        Path(draft).unlink(missing_ok=True)


def write_arrays(path: str, **arrays: np.ndarray) -> int:
    """Some arrays in one file for :func:`read_arrays`; gives its bytes."""
    about: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        about[name] = (array.dtype.str, len(array), at)
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    head = json.dumps(about).encode()
    head += b" " * (-(len(head) + 8) % _ALIGN)
    with _in_place(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)
            file.write(bytes(-array.nbytes % _ALIGN))
        return int(file.tell())


def read_arrays(path: str) -> dict[str, np.ndarray]:
    """The arrays of a file, one dimension each, mapped: only what is touched is read."""
    whole = np.memmap(path, dtype=np.uint8, mode="r")
    return {
        name: np.asarray(whole[at : at + length * dtype.itemsize]).view(dtype)
        for name, (dtype, length, at) in _table(path).items()
    }


class Slices:
    """The arrays of a file, read slice by slice: what is mapped from many files at once counts as a worker's memory,
    and the system maps more than was asked for."""

    def __init__(self, path: str) -> None:
        self.path, self._table = path, _table(path)

    def read(self, name: str, start: int, stop: int) -> np.ndarray:
        dtype, length, at = self._table[name]
        start, stop = min(start, length), min(stop, length)
        return np.fromfile(self.path, dtype=dtype, count=stop - start, offset=at + start * dtype.itemsize)


def write_split(path: str, to: np.ndarray, n_receivers: int, **arrays: np.ndarray) -> int:
    """Some arrays of one length by the receiver of each entry, in their order, for :func:`read_split`."""
    to = to.astype(np.int16 if n_receivers < 2**15 else np.int32)  # sorts faster
    order = np.argsort(to, kind="stable")
    cut = np.searchsorted(to[order], np.arange(n_receivers + 1))
    return write_arrays(path, cut=cut, **{name: array[order] for name, array in arrays.items()})


def read_split(paths: Sequence[str], receiver: int, *names: str) -> tuple[np.ndarray, ...]:
    """What some files have for one receiver, in the order of the files."""
    pieces = []
    for path in paths:
        sent = Slices(path)
        some = sent.read("cut", receiver, receiver + 2)
        pieces.append([sent.read(name, *some) for name in names])
    return tuple(np.concatenate(column) for column in zip(*pieces, strict=True))


def _table(path: str) -> dict[str, tuple[np.dtype, int, int]]:
    """Type, length and place of each array of a file."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))
        total = file.seek(0, os.SEEK_END)
    found = {name: (np.dtype(dtype), int(length), 8 + size + int(at)) for name, (dtype, length, at) in about.items()}
    for name, (dtype, length, at) in found.items():
        if at + length * dtype.itemsize > total:
            raise FileError(f"{path} is cut short: {name} ends beyond byte {total}. Remove the checkpoint.")
    return found
