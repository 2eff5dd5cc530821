"""Values and arrays as one blob, with a checksum beside it."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import numpy as np

from cladify.data._vectors import aligned

__all__ = ["array_type", "pack", "unpack"]

_WORD = struct.Struct("<I")
_TYPE = re.compile(r"[<>|][biufSU]\d{1,9}")


def array_type(name: Any) -> np.dtype:
    """The type of an array by the name that ``dtype.str`` gave it; NumPy itself takes far more than those."""
    if not isinstance(name, str) or not _TYPE.fullmatch(name):
        raise ValueError(f"{name!r} is no type of numbers or texts")
    return np.dtype(name)


def pack(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Values and arrays as bytes: the length of a JSON header, the header, the arrays one after another."""
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    head = json.dumps({**meta, "arrays": shapes}).encode()
    return b"".join([_WORD.pack(len(head)), head, *(np.ascontiguousarray(array).data for array in arrays.values())])


def unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The values and arrays of :func:`pack`; arrays that do not fit the payload are a ValueError."""
    (length,) = _WORD.unpack_from(payload)
    at = _WORD.size + length
    meta = json.loads(payload[_WORD.size : at])
    arrays = {}
    for name, (dtype, shape) in meta.pop("arrays").items():
        dtype = array_type(dtype)
        if any(n < 0 for n in shape):
            raise ValueError(f"array {name!r} has a negative length")
        count = 1
        for n in shape:
            count *= int(n)
        array = np.frombuffer(payload, dtype=dtype, count=count, offset=at) if count else np.empty(0, dtype)
        arrays[name] = aligned(array.reshape(shape))
        at += array.nbytes
    return meta, arrays
