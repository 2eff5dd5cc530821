"""Texts from files and from standard input: a column of a table, JSON lines, or one text a line.

Every row of the file is a row of the result, in order; what cannot be read stops with the number of its line. Texts may
be of any length and hold anything, line ends within quotes included.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cladify._kit.files import PathLike, find_file, listing, missing_column, reading
from cladify.errors import FileError

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
            return _parse(data, f".{kind}" if kind else _guess(data, text), "standard input", text)
    ending = f".{kind}" if kind else find_file(path).suffix.lower()
    if ending not in TEXT_KINDS:
        raise FileError(f"{path}: {ending or 'such'} files cannot be read as texts. Known: {', '.join(TEXT_KINDS)}.")
    with reading(path, ending):
        if ending in (".parquet", ".arrow", ".feather", ".ipc"):
            return Source(str(path), _table(path, ending, [name for name in (text, *others) if name]), text)
        return _parse(Path(path).read_bytes(), ending, str(path), text)


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


def _parse(data: bytes, ending: str, path: str, text: str | None) -> Source:
    content = data.decode("utf-8-sig")
    if not content.strip():
        raise FileError(f"{path} is empty.")
    if ending == ".txt":
        if text is not None:
            raise FileError(f"{path} has lines, not columns; leave --text out.")
        return Source(path, {"text": io.StringIO(content, newline=None).read().removesuffix("\n").split("\n")}, "text")
    if ending in (".jsonl", ".ndjson"):
        return Source(path, _json_columns(content, path), text)
    return Source(path, _csv_columns(content, ending, path), text)


def _csv_columns(content: str, ending: str, path: str) -> dict[str, list[Any]]:
    first = content[: content.find("\n") + 1] or content
    counts = {mark: first.count(mark) for mark in ",;\t|"}
    mark = "\t" if ending == ".tsv" else max(counts, key=lambda m: counts[m])
    before = csv.field_size_limit(sys.maxsize)
    try:
        rows = csv.reader(io.StringIO(content, newline=""), delimiter=mark)
        header = next(rows)
        if len(set(header)) != len(header):
            raise FileError(f"{path} has several columns of the same name in its first line: {listing(header)}.")
        columns: list[list[Any]] = [[] for _ in header]
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise FileError(
                    f"{path}, line {rows.line_num}: expected {len(header)} columns as in the first line, got "
                    f"{len(row)}. Texts with separators or line ends must stand in quotes."
                )
            for column, value in zip(columns, row, strict=True):
                column.append(value)
    except csv.Error as error:
        raise FileError(f"{path} is not a CSV file: {error}.") from None
    finally:
        csv.field_size_limit(before)
    if columns and not columns[0]:
        raise FileError(f"{path} has no rows, only the first line {first.strip()[:60]!r}, which names the columns.")
    return dict(zip(header, columns, strict=True))


def _json_columns(content: str, path: str) -> dict[str, list[Any]]:
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for row in _json_rows(content, path):
        rows.append(row)
        names.update(dict.fromkeys(row))
    return {name: [_plain(row.get(name)) for row in rows] for name in names}


def _json_rows(content: str, path: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(content), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}, line {number} is not JSON: {error}.") from None
        yield value if isinstance(value, dict) else {"text": value}


def _lines(content: str) -> Iterable[str]:
    return io.StringIO(content, newline="\n")  # JSON texts may hold other line ends


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else json.dumps(value, ensure_ascii=False)


def _table(path: PathLike, ending: str, names: list[str]) -> dict[str, list[Any]]:
    import pyarrow as pa

    from cladify.io._table import open_table

    with open_table(path, ending) as table:
        plain = [field.name for field in table.schema if _is_plain(field.type)]
        for name in names:
            if name not in table.schema.names:
                raise missing_column(path, name, table.schema.names)
        wanted = list(dict.fromkeys([*names, *(plain if not names else [])]))
        if not wanted:
            raise FileError(f"{path} has no column of texts. It has: {listing(table.schema.names)}.")
        read = pa.Table.from_batches(list(table.batches(wanted)), pa.schema([table.schema.field(w) for w in wanted]))
    return {name: read.column(name).to_pylist() for name in wanted}


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
