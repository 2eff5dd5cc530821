"""Large arrays as files beside the database, which are mapped into memory: what nobody looks at costs no time.

A file is written once and never changed; what changes in the array later is in patches. Its checksum is in the
database, and is compared when it is mapped. Entries may be put in and added behind, in memory alone.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit import system
from cladify._kit.system import OPEN_FLAGS
from cladify.online._storage.owner import check_plain
from cladify.online._storage.packing import array_type

__all__ = ["map_file", "write_file"]

_ROOM = 8  # part of its entries for which an array has room behind them: a hole, which takes none of the disk


def write_file(path: Path, array: np.ndarray) -> list[Any]:
    """Write an array to a new file; returns what :func:`map_file` has to know."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o600)
    with open(file, "wb") as out:
        out.write(data)
        out.truncate((len(array) + len(array) // _ROOM) * _width(array.dtype, array.shape))
        os.fsync(out.fileno())
    return [array.dtype.str, list(array.shape), zlib.crc32(data)]


def map_file(path: Path, held: list[Any]) -> tuple[int, np.ndarray]:
    """How many entries or rows an array in a file has, and the array with its room; it is changed in memory alone."""
    dtype, shape, crc = array_type(held[0]), [int(n) for n in held[1]], held[2]
    if dtype.kind not in "iuf" or not 1 <= len(shape) <= 2 or min(shape) < 1 or not check_plain(path):
        raise ValueError("shape")
    width, size = _width(dtype, shape), path.stat().st_size
    n, rows = shape[0], size // width
    if not n <= rows <= 2 * n:
        raise ValueError("size")
    if system.on_windows():  # which moves no folder with a file that is in use
        found = np.fromfile(path, dtype, rows * width // dtype.itemsize).reshape(rows, *shape[1:])
    else:
        found = np.asarray(np.memmap(path, dtype, "c", shape=(rows, *shape[1:])))
    if zlib.crc32(found[:n].reshape(-1).view(np.uint8).data) != crc:
        raise ValueError("checksum")
    return n, found


def _width(dtype: np.dtype, shape: Sequence[int]) -> int:
    return math.prod(shape[1:]) * dtype.itemsize
