"""Texts from files and from standard input: a column of a table, JSON lines, or one text a line.

Every row of the file is a row of the result, in order; an error names the line that cannot be read. Texts may be of any
length and hold anything, line ends within quotes included.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cladify._kit.files import PathLike, find_file, listing, missing_column, reading
from cladify.errors import FileError
from cladify.io._csv import TextTable
from cladify.io._tables import check_distinct, open_table, read_columns
from cladify.io._texts import LINES, json_rows, text_lines

__all__ = ["STDIN", "TEXT_KINDS", "Source", "read_source"]

STDIN = "-"
TEXT_KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".txt", ".parquet", ".arrow", ".feather", ".ipc")
#: Columns that are texts, if nobody says which one is; else it is the one with the longest texts.
_NAMES = [
    "text",
    "texts",
    "body",
    "content",
    "message",
    "description",
    "abstract",
    "summary",
    "review",
    "comment",
    "sentence",
    "document",
    "title",
    "name",
]
_SAMPLE = 200


class Source:
    """A table of texts: the column that was chosen, and others by name."""

    def __init__(self, path: str, columns: dict[str, list[Any]], text: str | None) -> None:
        self.path = path
        self._columns = columns
        self.text_column = self._choose(text)
        if not self.texts:
            raise FileError(f"{path} has no rows.")

    @property
    def texts(self) -> list[Any]:
        """The texts, one a row."""
        return self._columns[self.text_column]

    def column(self, name: str) -> list[Any]:
        """Another column."""
        if name not in self._columns:
            raise missing_column(self.path, name, list(self._columns))
        return self._columns[name]

    def _choose(self, name: str | None) -> str:
        if name is not None:
            self.column(name)
            return name
        by_lower = {column.lower(): column for column in reversed(self._columns)}
        for known in _NAMES:
            if known in by_lower:
                return by_lower[known]
        lengths = {
            column: sum(len(value) for value in values[:_SAMPLE] if isinstance(value, str))
            for column, values in self._columns.items()
        }
        longest = max(lengths, key=lambda column: lengths[column], default=None)
        if longest is None or not lengths[longest]:
            raise FileError(f"{self.path} has no column of texts. It has: {listing(self._columns)}.")
        return longest


def read_source(
    path: PathLike, text: str | None = None, others: Sequence[str] = (), *, kind: str | None = None
) -> Source:
    """The texts in a file, or on standard input for ``"-"``.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.arrow``, or ``.txt`` with one text a line.
    text : str, optional
        Column with the texts; by default one called text, body, content, … or the one with the longest texts.
    others : names of more columns to read
    kind : str, optional
        What standard input is: "csv", "tsv", "jsonl" or "txt"; by default found from its beginning.
    """
    if str(path) == STDIN:
        data = sys.stdin.buffer.read()
        with reading("standard input", "text"):
            return _parse("standard input", f".{kind}" if kind else _guess(data, text), data, text, others)
    ending = f".{kind}" if kind else find_file(path).suffix.lower()
    if ending not in TEXT_KINDS:
        raise FileError(f"{path}: {ending or 'such'} files cannot be read as texts. Known: {', '.join(TEXT_KINDS)}.")
    with reading(path, ending):
        return _parse(str(path), ending, None, text, others)


def _guess(data: bytes, text: str | None) -> str:
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"{", b'"')) and _is_json(start.split(b"\n", 1)[0], whole=len(data) < 4096):
        return ".jsonl"
    return ".txt" if text is None else ".csv"


def _is_json(line: bytes, whole: bool) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return not whole and line.startswith(b"{")
    return True


def _parse(path: str, ending: str, data: bytes | None, text: str | None, others: Sequence[str]) -> Source:
    """The columns of a file, or of ``data`` that was read already."""
    if ending not in LINES:
        names = [name for name in (text, *others) if name]
        return Source(path, _columns(path, ending, data, names), text)
    data = Path(path).read_bytes() if data is None else data
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileError(f"{path} is empty.")
    if ending != ".txt":
        return Source(path, _json_columns(path, data), text)
    if text is not None:
        raise FileError(f"{path} has lines, not columns; leave --text out.")
    return Source(path, {"text": text_lines(data)}, "text")


def _json_columns(path: str, data: bytes) -> dict[str, list[Any]]:
    rows = [row if isinstance(row, dict) else {"text": row} for _, row in json_rows(path, data)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_plain(row.get(name)) for row in rows] for name in names}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else json.dumps(value, ensure_ascii=False)


def _columns(path: str, ending: str, data: bytes | None, names: list[str]) -> dict[str, list[Any]]:
    """The columns called ``names`` of a table, or all columns of texts."""
    is_text = ending in (".csv", ".tsv")
    with nullcontext(TextTable(path, ending, data, header=True)) if is_text else open_table(path, ending) as table:
        known = table.schema.names
        check_distinct(path, known)
        for name in names:
            if name not in known:
                raise missing_column(path, name, known)
        wanted = list(dict.fromkeys(names or (f.name for f in table.schema if is_text or _is_plain(f.type))))
        if not wanted:
            raise FileError(f"{path} has no column of texts. It has: {listing(known)}.")
        read = read_columns(table, wanted)
    return {name: read.column(name).to_pylist() for name in wanted}


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
