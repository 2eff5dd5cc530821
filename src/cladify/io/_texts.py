"""Lines of text, and JSON lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from cladify._kit.files import PathLike
from cladify.errors import FileError

__all__ = ["LINES", "json_rows", "text_lines"]

LINES = (".jsonl", ".ndjson", ".txt")


def text_lines(data: bytes) -> list[str]:
    """The lines of a text, without their ends; an end of the last line makes no further one."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=None)
    return [line.rstrip("\n") for line in text]


def json_rows(path: PathLike, data: bytes | Iterable[str]) -> Iterator[tuple[int, Any]]:
    """The values of JSON lines with the numbers of their lines; empty lines are left out."""
    # Only \n ends a line: others may stand within a value.
    lines = io.StringIO(data.decode("utf-8-sig"), newline="\n") if isinstance(data, bytes) else data
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}, line {number} is not JSON: {error}.") from None
