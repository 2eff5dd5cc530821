"""The unpacked size of a compressed Arrow file, from its headers alone: a small file may unpack to more than memory."""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["unpacked_bytes"]

_DICTIONARY, _BATCH = 2, 3  # kinds of messages that have data


def unpacked_bytes(buffer: Any, start: int) -> int:
    """Bytes that the compressed buffers of a stream of messages announce; ``start`` is where the stream begins.

    The reader itself says what is wrong with a stream that does not follow the format.
    """
    import pyarrow as pa

    total = 0
    try:
        reader = pa.ipc.MessageReader.open_stream(buffer.slice(start))
        for message in reader:
            if message.body is not None and message.body.size:
                total += _message_bytes(memoryview(message.metadata), memoryview(message.body))
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError):
        pass  # also the end of a file: its footer is no message
    return total


def _message_bytes(head: memoryview, body: memoryview) -> int:
    """The sizes that stand before the compressed buffers of one message (tables of the format's Message.fbs)."""
    message = _Table(head, struct.unpack_from("<I", head, 0)[0])
    kind = message.read(1, "<B")
    batch = message.table(2)
    if kind == _DICTIONARY and batch is not None:
        batch = batch.table(1)
    if kind not in (_DICTIONARY, _BATCH) or batch is None or batch.table(3) is None:
        return 0
    total = 0
    for offset, length in batch.structs(2, "<qq"):
        if length >= 8:
            size = struct.unpack_from("<q", body, offset)[0]
            total += length if size < 0 else size
    return total


class _Table:
    """A table of a FlatBuffer: fields by their number."""

    def __init__(self, data: memoryview, place: int) -> None:
        self.data, self.place = data, place
        self.fields = place - struct.unpack_from("<i", data, place)[0]

    def _field(self, number: int) -> int:
        slot = 4 + 2 * number
        within = slot < struct.unpack_from("<H", self.data, self.fields)[0]
        offset = struct.unpack_from("<H", self.data, self.fields + slot)[0] if within else 0
        return self.place + offset if offset else 0

    def read(self, number: int, form: str) -> int:
        place = self._field(number)
        return int(struct.unpack_from(form, self.data, place)[0]) if place else 0

    def table(self, number: int) -> _Table | None:
        place = self._field(number)
        return _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]) if place else None

    def structs(self, number: int, form: str) -> list[tuple[int, ...]]:
        place = self._field(number)
        if not place:
            return []
        first = place + struct.unpack_from("<I", self.data, place)[0]
        count, size = struct.unpack_from("<I", self.data, first)[0], struct.calcsize(form)
        return [struct.unpack_from(form, self.data, first + 4 + i * size) for i in range(count)]
