"""``.fvecs`` and ``.bvecs``: each row is its dimension as a 32-bit integer, then that many float32 or uint8 values."""

from __future__ import annotations

import os

import numpy as np

from cladify._kit.files import PathLike
from cladify.errors import FileError

DTYPES: dict[str, np.dtype] = {".fvecs": np.dtype("<f4"), ".bvecs": np.dtype("u1")}


def read_vecs(path: PathLike, kind: str) -> np.ndarray:
    """The rows, memory-mapped: a view that steps over the dimensions."""
    dtype = DTYPES[kind]
    size = os.stat(path).st_size
    if size < 4:
        raise FileError(f"{path} is empty; a {kind} file starts with the dimension of its first row.")
    d = int(np.fromfile(path, dtype="<i4", count=1)[0])
    row = 4 + d * dtype.itemsize
    if d < 1 or size % row:
        raise FileError(
            f"{path} is cut short or not a {kind} file: it starts with dimension {d}, and its {size} bytes are not "
            "whole rows of that dimension."
        )
    raw = np.memmap(path, dtype=np.uint8, mode="r", shape=(size // row, row))
    dimensions = np.ascontiguousarray(raw[:, :4]).view("<i4").ravel()
    wrong = np.flatnonzero(dimensions != d)
    if len(wrong):
        raise FileError(
            f"{path} has rows of different dimension: row 0 has {d}, row {wrong[0]} has {dimensions[wrong[0]]}."
        )
    return raw[:, 4:].view(dtype)
