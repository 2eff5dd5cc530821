"""A file of records that survives being cut off anywhere: what was acknowledged is there, what is damaged is noticed.

A record is a header of three little-endian words (its length, a checksum of the length, a checksum of the payload) and
the payload. A file that ends within a record was cut off while that record was written, before it was acknowledged: the
rest of it is dropped, and said. A checksum that does not fit, on the other hand, is damage, and an error.
"""

from __future__ import annotations

import json
import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cladify.data._vectors import aligned
from cladify.errors import CladifyWarning, FileError

__all__ = ["Journal", "pack", "unpack"]

_HEADER = struct.Struct("<III")
_WORD = struct.Struct("<I")


class Journal:
    """Records at the end of a file.

    Parameters
    ----------
    path : Path
    sync : bool
        Whether each record is on the disk (``fsync``) when :meth:`append` returns, not only in the system's hands: then
        it survives a power cut, too.
    """

    def __init__(self, path: Path, *, sync: bool) -> None:
        self.path, self._sync = path, sync
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._end = self._file.tell()

    @property
    def size(self) -> int:
        return self._end

    def append(self, payload: bytes) -> None:
        """One more record; on an error (a full disk) the file is as it was."""
        word = _WORD.pack(len(payload))
        record = _HEADER.pack(len(payload), zlib.crc32(word), zlib.crc32(payload)) + payload
        try:
            rest = memoryview(record)
            while len(rest):
                rest = rest[self._file.write(rest) :]
            if self._sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            os.truncate(self.path, self._end)
            self._file.seek(self._end)
            raise FileError(f"{self.path} cannot be written ({error.strerror}); nothing was changed.") from error
        self._end += len(record)

    def close(self) -> None:
        self._file.close()

    @staticmethod
    def read(path: Path) -> Iterator[bytes]:
        """All records; afterwards the file ends with the last whole one."""
        with open(path, "rb") as file:
            start = 0
            while header := file.read(_HEADER.size):
                if len(header) == _HEADER.size:
                    length, check, sum_ = _HEADER.unpack(header)
                    if zlib.crc32(_WORD.pack(length)) != check:
                        raise FileError(f"{path} is damaged at byte {start}; restore the folder from a copy.")
                    payload = file.read(length)
                    if len(payload) == length:
                        if zlib.crc32(payload) != sum_:
                            raise FileError(f"{path} is damaged at byte {start}; restore the folder from a copy.")
                        yield payload
                        start += _HEADER.size + length
                        continue
                dropped = path.stat().st_size - start
                warnings.warn(
                    f"{path} ended within a record; its {dropped} bytes, of a change that was never acknowledged, "
                    "were dropped.",
                    CladifyWarning,
                    stacklevel=4,
                )
                break
            else:
                return
        os.truncate(path, start)


def pack(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """A payload of some values and arrays."""
    shapes = {name: [str(array.dtype), list(array.shape)] for name, array in arrays.items()}
    head = json.dumps({**meta, "arrays": shapes}).encode()
    return b"".join(
        [_WORD.pack(len(head)), head, *(np.ascontiguousarray(array).tobytes() for array in arrays.values())]
    )


def unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The values and arrays of a payload."""
    (length,) = _WORD.unpack_from(payload)
    at = _WORD.size + length
    meta = json.loads(payload[_WORD.size : at])
    arrays = {}
    for name, (dtype, shape) in meta.pop("arrays").items():
        array = np.frombuffer(payload, dtype=dtype, count=int(np.prod(shape)), offset=at).reshape(shape)
        arrays[name] = aligned(array)
        at += array.nbytes
    return meta, arrays
