"""The work folder of a run: files that tasks leave for later ones, each listed in a receipt with its checksum.

A task writes its files beside their places, moves them there when they are complete, and leaves a receipt. A task whose
receipt exists is not run again: a lost worker costs the task it was at, and a run that was cut off goes on from its
last receipt. A receipt is a JSON file ``NAME.json`` with

- ``version`` of the format (1),
- ``note``, the figures that the task returned,
- ``files``, the size and CRC-32 of every file that the task wrote, by name,
- ``crc32`` of these three.

``dropped.json``, in the same form, lists files that were removed because no later stage reads them. Before a run goes
on from a checkpoint, :func:`damaged_pieces` compares all files with their receipts. Damaged pieces are removed, and the
stages that made them run again.

Data from each of some tasks to each of others is one file a sender, cut into a piece a receiver: the number of files
grows with the number of parts and not with its square.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cladify.errors import FileError

__all__ = [
    "Receipt",
    "Slices",
    "WorkFolder",
    "checkpoint_folder",
    "damaged_pieces",
    "finish_piece",
    "read_arrays",
    "read_piece",
    "read_split",
    "temporary_folder",
    "write_arrays",
    "write_pieces",
    "write_split",
]

Receipt = dict[str, Any]

_VERSION = 1
_DROPPED = "dropped"
_BATCH = 64  # receipts that one task checks
_BLOCK = 1 << 22  # bytes of a file that are checked at a time


@dataclass(frozen=True)
class WorkFolder:
    """A folder that all workers see under the same path; ``durable`` files outlast a power cut."""

    folder: str
    durable: bool = False

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def below(self, name: str) -> WorkFolder:
        """A folder inside this one."""
        os.makedirs(self.path(name), exist_ok=True)
        return WorkFolder(self.path(name), self.durable)

    def clear(self, name: str) -> None:
        """Remove a folder inside this one."""
        shutil.rmtree(self.path(name), ignore_errors=True)

    # --- receipts -----------------------------------------------------------------------------------------------------

    def receipt(self, name: str) -> Receipt | None:
        """The figures that the task of a file returned; None without a whole receipt."""
        found = self._read(name)
        return None if found is None else dict(found["note"])

    def drop(self, names: Iterable[str]) -> None:
        """Remove files that no task needs any more, and keep their receipts."""
        names = [name for name in names if os.path.exists(self.path(name))]
        if not names:
            return
        # Listed first: a file that is gone without being listed counts as lost.
        self._write(_DROPPED, {"names": sorted({*self._dropped(), *names})}, {})
        for name in names:
            Path(self.path(name)).unlink(missing_ok=True)

    def keep(self, name: str, note: Receipt | None = None) -> None:
        """Leave a receipt for a file that was written by other means."""
        size, checksum = _checksum(self.path(name))
        self._write(name, note or {}, {name: [size, checksum]})

    def folders(self) -> list[WorkFolder]:
        """This folder and all folders inside it."""
        return [WorkFolder(folder, self.durable) for folder, _, _ in os.walk(self.folder)]

    def batches(self) -> list[list[str]]:
        """The names of all receipts, some at a time."""
        names = sorted(name.removesuffix(".json") for name in os.listdir(self.folder) if name.endswith(".json"))
        return [names[i : i + _BATCH] for i in range(0, len(names), _BATCH)]

    def forget(self, damaged: Sequence[str]) -> list[str]:
        """Remove damaged pieces; gives their paths.

        Where files were dropped, what a piece was made of may be gone: then all stages of this folder run again.
        """
        names = sorted(damaged)
        if names and (_DROPPED in names or self._dropped()):
            for entry in os.scandir(self.folder):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
        for name in names:
            for file in (name, name + ".json"):
                Path(self.path(file)).unlink(missing_ok=True)
        return [self.path(name) for name in names]

    def _dropped(self) -> list[str]:
        found = self._read(_DROPPED)
        return [] if found is None else list(found["note"]["names"])

    def _read(self, name: str) -> dict[str, Any] | None:
        """A receipt; None where it is missing or damaged."""
        try:
            with open(self.path(name + ".json"), "rb") as file:
                found = json.load(file)
            content = {key: found[key] for key in ("version", "note", "files")}
            whole = found["crc32"] == _json_checksum(content) and content["version"] == _VERSION
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return content if whole else None

    def _write(self, name: str, note: Receipt, files: dict[str, list[int]]) -> None:
        content = {"version": _VERSION, "note": note, "files": files}
        with _whole_file(self.path(name + ".json"), self.durable) as file:
            file.write(json.dumps({**content, "crc32": _json_checksum(content)}).encode())


def finish_piece(work: WorkFolder, name: str, function: Callable[..., Receipt], *args: Any) -> Receipt:
    """Run ``function(path, *args)``, which writes a file and perhaps others beside it, and leave the receipt."""
    done = work.receipt(name)
    if done is not None:  # the worker that had the result was lost, and its file was not
        return done
    _TASK.files, _TASK.durable = {}, work.durable
    try:
        note = function(work.path(name), *args)
        files = {os.path.basename(path): about for path, about in _TASK.files.items()}
    finally:
        _TASK.files, _TASK.durable = None, False
    work._write(name, note, files)
    return note


def damaged_pieces(work: WorkFolder, names: Sequence[str]) -> list[str]:
    """Those of some receipts that are damaged themselves, or whose files are."""
    dropped = set(work._dropped())
    return [name for name in names if not _is_whole(work, name, dropped)]


def _is_whole(work: WorkFolder, name: str, dropped: set[str]) -> bool:
    receipt = work._read(name)
    if receipt is None:
        return False
    for file, about in receipt["files"].items():
        if file in dropped:
            continue
        try:
            if os.path.basename(file) != file or list(_checksum(work.path(file))) != about:
                return False
        except OSError:
            return False
    return True


def _json_checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _checksum(path: str) -> tuple[int, int]:
    """The size and the CRC-32 of a file."""
    size = checksum = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            size, checksum = size + len(block), zlib.crc32(block, checksum)
    return size, checksum


@contextmanager
def checkpoint_folder(checkpoint: Any, key: str) -> Iterator[WorkFolder]:
    """The folder for a run: one of its own below ``checkpoint``, or a temporary one where that is None.

    ``key`` stands for the input and everything else that the result depends on: another run never reads these files.
    """
    if checkpoint is None:
        with temporary_folder() as work:
            yield work
        return
    folder = os.path.join(os.path.abspath(checkpoint), key)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder} for checkpoints: {error.strerror or error}.") from None
    yield WorkFolder(folder, durable=True)


@contextmanager
def temporary_folder() -> Iterator[WorkFolder]:
    """A folder that is removed after the run."""
    with tempfile.TemporaryDirectory(prefix="cladify-", ignore_cleanup_errors=True) as folder:
        yield WorkFolder(folder)


# --- writing ----------------------------------------------------------------------------------------------------------


class _Task(threading.local):
    """The files that the task of this thread has written so far; None outside of tasks."""

    files: dict[str, list[int]] | None = None
    durable: bool = False


_TASK = _Task()


class _Checked:
    """An open file, and the size and checksum of the bytes written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.size, self.checksum = file, 0, 0

    def write(self, data: Any) -> None:
        self.file.write(data)
        self.size += memoryview(data).nbytes
        self.checksum = zlib.crc32(data, self.checksum)

    def write_array(self, array: np.ndarray) -> None:
        if array.nbytes:
            self.write(np.ascontiguousarray(array).view(np.uint8).data)


@contextmanager
def _whole_file(path: str, durable: bool) -> Iterator[_Checked]:
    """A file that appears at its place when it is complete and, where it is durable, on disk."""
    draft = f"{path}.{secrets.token_hex(6)}.tmp"
    try:
        with open(draft, "wb") as file:
            checked = _Checked(file)
            yield checked
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:  # an error of writing does not name the file
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        Path(draft).unlink(missing_ok=True)


@contextmanager
def _piece_file(path: str) -> Iterator[_Checked]:
    """A file for the receipt of the task that runs in this thread."""
    with _whole_file(path, _TASK.durable) as file:
        yield file
    if _TASK.files is not None:
        _TASK.files[path] = [file.size, file.checksum]


def write_pieces(path: str, offsets: np.ndarray, blocks: Iterable[np.ndarray]) -> int:
    """Records one after another, piece i from record ``offsets[i]`` to ``offsets[i + 1]``; gives the bytes written."""
    with _piece_file(path) as file:
        file.write_array(offsets.astype("<i8"))
        for block in blocks:
            file.write_array(block)
    return file.size


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


def write_arrays(path: str, **arrays: np.ndarray) -> int:
    """Some arrays in one file for :func:`read_arrays`; gives its bytes."""
    about: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        about[name] = (array.dtype.str, array.shape, at)
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    head = json.dumps(about).encode()
    head += b" " * (-(len(head) + 8) % _ALIGN)
    with _piece_file(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays.values():
            file.write_array(array)
            file.write(bytes(-array.nbytes % _ALIGN))
    return file.size


def read_arrays(path: str) -> dict[str, np.ndarray]:
    """The arrays of a file, mapped: only what is touched is read."""
    whole = np.memmap(path, dtype=np.uint8, mode="r")
    return {
        name: np.asarray(whole[at : at + dtype.itemsize * int(np.prod(shape))]).view(dtype).reshape(shape)
        for name, (dtype, shape, at) in _table(path).items()
    }


class Slices:
    """The arrays of a file, read slice by slice.

    Pages mapped from many files at once count as a worker's memory, and the system maps more than was asked for.
    """

    def __init__(self, path: str) -> None:
        self.path, self._table = path, _table(path)

    def read(self, name: str, start: int, stop: int) -> np.ndarray:
        dtype, (length,), at = self._table[name]
        start, stop = min(start, length), min(stop, length)
        return np.fromfile(self.path, dtype=dtype, count=stop - start, offset=at + start * dtype.itemsize)


def write_split(path: str, to: np.ndarray, n_receivers: int, **arrays: np.ndarray) -> int:
    """Some arrays of one length by the receiver of each entry, in their order, for :func:`read_split`."""
    to = to.astype(np.int16 if n_receivers < 2**15 else np.int32)  # sorts faster
    order = np.argsort(to, kind="stable")
    cut = np.searchsorted(to[order], np.arange(n_receivers + 1))
    return write_arrays(path, cut=cut, **{name: array[order] for name, array in arrays.items()})


def read_split(paths: Sequence[str], receiver: int, *names: str) -> tuple[np.ndarray, ...]:
    """The entries of some files for one receiver, in the order of the files."""
    pieces = []
    for path in paths:
        sent = Slices(path)
        some = sent.read("cut", receiver, receiver + 2)
        pieces.append([sent.read(name, *some) for name in names])
    return tuple(np.concatenate(column) for column in zip(*pieces, strict=True))


def _table(path: str) -> dict[str, tuple[np.dtype, tuple[int, ...], int]]:
    """Type, shape and place of each array of a file."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))
    return {name: (np.dtype(dtype), tuple(shape), 8 + size + at) for name, (dtype, shape, at) in about.items()}
