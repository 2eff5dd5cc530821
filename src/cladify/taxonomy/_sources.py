"""Texts from files and from standard input: which column has them, and which one the ids.

Every row of the file is a row of the result, in order; an error names the line that cannot be read. Texts may be of any
length and hold anything, line ends within quotes included.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladify._kit.files import PathLike, listing, missing_column, reading
from cladify.errors import FileError
from cladify.io._tables import ARROW, open_table
from cladify.taxonomy._rows import DEFAULT, LINES, TEXT_KINDS, Options, ending_of, is_vector, read_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["STDIN", "TEXT_KINDS", "Options", "Source", "join_rows", "read_join", "read_source", "vector_column"]

STDIN = "-"
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
#: Columns that hold ids, if their values are all different.
_IDS = {"id", "_id", "uuid", "guid", "key", "ticket_id", "doc_id"}
_SAMPLE = 200


class Source:
    """A table of texts: the column that was chosen, the ids, and all other columns by name.

    Attributes
    ----------
    table : Arrow table
        All columns but those of vectors.
    text_column, id_column : str or None
    """

    def __init__(self, path: str, table: pa.Table, text: str | None, id_name: str | None = None) -> None:
        if not len(table):
            raise FileError(f"{path} has no rows.")
        self.path = path
        self.table = table
        self.text_column = self._choose(text)
        self.id_column = self._ids(id_name)

    @property
    def texts(self) -> list[Any]:
        """The texts, one a row."""
        return self.column(self.text_column)

    @property
    def ids(self) -> Any:
        """A table of one column with the ids; None where no column has them."""
        import pyarrow as pa

        name = self.id_column
        return None if name is None else pa.table({name: typed(self.table.column(name))})

    @cached_property
    def kept(self) -> pa.Table:
        """The columns that are neither the texts nor the ids, with numbers and times as such."""
        import pyarrow as pa

        names = [name for name in self.table.column_names if name not in (self.text_column, self.id_column)]
        return pa.table({name: typed(self.table.column(name)) for name in names})

    def column(self, name: str) -> list[Any]:
        """Another column."""
        if name not in self.table.column_names:
            raise missing_column(self.path, name, self.table.column_names)
        return self.table.column(name).to_pylist()

    def _choose(self, name: str | None) -> str:
        names = self.table.column_names
        if name is not None:
            if name not in names:
                raise missing_column(self.path, name, names)
            return name
        by_lower = {column.lower(): column for column in reversed(names)}
        for known in _NAMES:
            if known in by_lower:
                return by_lower[known]
        first = self.table.slice(0, _SAMPLE).to_pydict()
        lengths = {name: sum(len(v) for v in values if isinstance(v, str)) for name, values in first.items()}
        longest = max(lengths, key=lambda column: lengths[column], default=None)
        if longest is None or not lengths[longest]:
            raise FileError(f"{self.path} has no column of texts. It has: {listing(names)}.")
        return longest

    def _ids(self, name: str | None) -> str | None:
        """The column of the ids: the one that was named, or one called id whose values are all different."""
        if name is not None:
            self.column(name)
            return name
        import pyarrow.compute as pc

        for column in self.table.column_names:
            if column.lower() in _IDS and column != self.text_column:
                values = self.table.column(column)
                if not values.null_count and pc.count_distinct(values).as_py() == len(values):
                    return column
        return None


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as numbers or times, if every cell is one; an empty cell is a missing value.

    >>> import pyarrow as pa
    >>> [str(typed(pa.chunked_array([cells])).type) for cells in (["1", ""], ["1.5", "2"], ["2026-01-31"], ["007"])]
    ['int64', 'double', 'timestamp[s]', 'string']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return column
    filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if filled.null_count == len(filled) or pc.any(pc.match_substring_regex(filled, r"^[+-]?0\d")).as_py():
        return column  # nothing to go by, or codes whose zeros count
    for kind in (pa.int64(), pa.float64(), pa.timestamp("s")):
        with suppress(pa.ArrowInvalid):
            return filled.cast(kind)
    return column


def join_rows(rows: pa.Table, labels: pa.Table, id_name: str | None) -> tuple[pa.Table, int]:
    """The columns of ``rows`` with those of ``labels`` beside them, and how many rows have no label.

    Rows are matched by the column ``id_name`` where both have it, else by position.
    """
    import pyarrow as pa

    beside = [name for name in labels.column_names if name not in ("row", "item", id_name)]
    clash = sorted(set(beside) & set(rows.column_names))
    if clash:
        raise FileError(f"the file has columns of the same name already: {listing(clash)}. Rename them.")
    if id_name is not None and id_name in rows.column_names and id_name in labels.column_names:
        place = {value: i for i, value in enumerate(labels.column(id_name).to_pylist())}
        wanted = typed(rows.column(id_name)).to_pylist()
        at = pa.array([place.get(value) for value in wanted], pa.int64())
        if len(place) and at.null_count == len(at):
            raise FileError(f"no value of column {id_name!r} is an id of the taxonomy.")
        labels, missing = labels.take(at), at.null_count
    elif len(rows) != len(labels):
        raise FileError(
            f"the file has {len(rows)} rows and the taxonomy {len(labels)} items, and they share no column of ids."
        )
    else:
        missing = 0
    for name in beside:
        rows = rows.append_column(name, labels.column(name))
    return rows, missing


def read_join(path: PathLike, options: Options = DEFAULT) -> pa.Table:
    """All columns of a file, as it has them."""
    ending = ending_of(path)
    with reading(path, ending):
        return read_rows(str(path), ending, vectors=True, options=options)


def vector_column(path: PathLike) -> str | None:
    """The only column of a Parquet or Arrow file that holds lists of numbers; None for any other file."""
    ending = Path(path).suffix.lower()
    if ending not in (".parquet", *ARROW) or not Path(path).is_file():
        return None
    with reading(path, ending), open_table(path, ending) as table:
        found = [field.name for field in table.schema if is_vector(field.type)]
    return found[0] if len(found) == 1 else None


def read_source(
    path: PathLike,
    text: str | None = None,
    *,
    ids: str | None = None,
    kind: str | None = None,
    options: Options = DEFAULT,
) -> Source:
    """The texts in a file, or on standard input for ``"-"``.

    Parameters
    ----------
    path : str or path
        A file of one of :data:`TEXT_KINDS`, or a folder of texts or of tables.
    text : str, optional
        Column with the texts; by default one called text, body, content, … or the one with the longest texts.
    ids : str, optional
        Column with the ids; by default one called id whose values are all different.
    kind : str, optional
        What standard input is: "csv", "tsv", "json", "jsonl" or "txt"; by default found from its beginning.
    options : Options
        The encoding, and the sheet or table within the file.
    """
    if str(path) == STDIN:
        data = sys.stdin.buffer.read()
        with reading("standard input", "text"):
            ending = f".{kind}" if kind else _guess(data, text)
            return _parse("standard input", ending, data, text, ids, options)
    ending = f".{kind}" if kind else ending_of(path)
    with reading(path, ending):
        return _parse(str(path), ending, None, text, ids, options)


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


def _parse(path: str, ending: str, data: bytes | None, text: str | None, ids: str | None, options: Options) -> Source:
    """The texts of a file, or of ``data`` that was read already."""
    if ending in LINES and not text is ids is None:
        raise FileError(f"{path} has lines, not columns; leave --text and --id out.")
    return Source(path, read_rows(path, ending, data, options=options), text, ids)
