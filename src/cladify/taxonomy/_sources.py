"""Texts from files and from standard input: which column has them, and which one the ids.

Every row of the file is a row of the result, in order; an error names the line that cannot be read. Texts may be of any
length and hold anything, line ends within quotes included.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cladify._kit.files import PathLike, listing, missing_column, reading
from cladify.errors import FileError, InvalidInput, InvalidType
from cladify.io import read_vectors
from cladify.io._tables import ARROW, matrix_of, open_table, without_views
from cladify.taxonomy._columns import objects_to_table
from cladify.taxonomy._items import joined_texts
from cladify.taxonomy._kept import columns_of
from cladify.taxonomy._rows import DEFAULT, LINES, TEXT_KINDS, Options, ending_of, is_vector, read_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "STDIN",
    "TEXT_KINDS",
    "Options",
    "Source",
    "as_table",
    "join_rows",
    "read_join",
    "read_source",
    "read_table",
    "text_weights",
]

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
#: The largest weight of a column of texts.
_HEAVY = 9


class Source:
    """A table of rows: which columns are the texts, the ids, the labels and the vectors; all others are kept.

    Attributes
    ----------
    table : Arrow table
        All columns but those of vectors.
    text_columns : dict from name to weight
        Empty where there are vectors and no texts.
    id_column, label_column, vector_column : str or None
    vectors : array of shape (n, d), or None
    frame : the pandas frame that the rows came in, whose index says which row is which
    """

    def __init__(
        self,
        path: str,
        table: pa.Table,
        text: Any = None,
        id_name: str | None = None,
        label: str | None = None,
        vectors: tuple[str, Any] | None = None,
        frame: Any = None,
    ) -> None:
        if not len(table) and vectors is None:
            raise FileError(f"{path} has no rows.")
        self.path = path
        self.table = table
        self.frame = frame
        self.vector_column: str | None = None if vectors is None else vectors[0]
        self.vectors: Any = None if vectors is None else vectors[1]
        if label is not None and label not in table.column_names:
            raise missing_column(path, label, table.column_names)
        self.label_column = label
        self.text_columns = self._choose(text)
        self.id_column = self._ids(id_name)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.table) if self.vectors is None else int(self.vectors.shape[0])

    @property
    def text_spec(self) -> Any:
        """The columns of texts as one would name them: one name, or names with weights."""
        plain = len(self.text_columns) < 2 and set(self.text_columns.values()) <= {1}
        return self.text_column if plain else dict(self.text_columns)

    @property
    def vector_names(self) -> str | list[str] | None:
        """The column of vectors, or the columns of numbers."""
        names = None if self.vector_column is None else self.vector_column.split(", ")
        return names[0] if names is not None and len(names) == 1 else names

    @property
    def is_images(self) -> bool:
        """Whether the rows are the files of a folder of images."""
        return self.table.column_names == ["image"]

    @property
    def text_column(self) -> str | None:
        """The first column of texts: what rows are shown as."""
        return next(iter(self.text_columns), None)

    @property
    def texts(self) -> list[Any]:
        """The texts, one a row: of several columns below each other, each as often as it weighs."""
        return joined_texts({name: self.column(name) for name in self.text_columns}, self.text_columns)

    @property
    def ids(self) -> Any:
        """A table of one column with the ids; None where no column has them."""
        import pyarrow as pa

        name = self.id_column
        return None if name is None else pa.table({name: typed(self.table.column(name))})

    @cached_property
    def kept(self) -> pa.Table:
        """The columns that are neither what rows are shown as nor the ids, with numbers and times as such."""
        import pyarrow as pa

        names = [name for name in self.table.column_names if name not in (self.text_column, self.id_column)]
        return pa.table({name: typed(self.table.column(name)) for name in names})

    def kept_beside(self, items: Any) -> pa.Table:
        """What is kept beside ``items``: the first column of texts too, where rows are shown as something else."""
        name = self.text_column
        if items is None or name is None:
            return self.kept
        return self.kept.append_column(name, self.table.column(name))

    def column(self, name: str) -> list[Any]:
        """Another column."""
        if name not in self.table.column_names:
            raise missing_column(self.path, name, self.table.column_names)
        return self.table.column(name).to_pylist()

    def taken(self) -> str:
        """Which column was taken for what, in one line."""
        texts = [name if weight == 1 else f"{name}:{weight}" for name, weight in self.text_columns.items()]
        said = {"vectors": self.vector_column, "texts": " + ".join(texts), "ids": self.id_column}
        parts = [f"{what}: {name}" for what, name in {**said, "labels": self.label_column}.items() if name]
        others = len(self.kept.column_names) - max(len(texts) - 1, 0) - (self.label_column is not None)
        return ", ".join([*parts, *([f"{others} more column{'s' * (others != 1)} kept"] if others > 0 else [])])

    def _choose(self, given: Any) -> dict[str, int]:
        names = self.table.column_names
        if given is not None:
            return text_weights(self.path, given, names)
        others = [name for name in names if name != self.label_column]
        by_lower = {column.lower(): column for column in reversed(others)}
        for known in _NAMES:
            if known in by_lower:
                return {by_lower[known]: 1}
        first = self.table.select(others).slice(0, _SAMPLE).to_pydict()
        lengths = {name: sum(len(v) for v in values if isinstance(v, str)) for name, values in first.items()}
        longest = max(lengths, key=lambda column: lengths[column], default=None)
        if longest is not None and lengths[longest]:
            return {longest: 1}
        if self.vectors is not None:
            return {}
        if self.is_images:
            return {"image": 1}
        raise FileError(f"{self.path} has no column of texts. It has: {listing(names)}.")

    def _ids(self, name: str | None) -> str | None:
        """The column of the ids: the one that was named, or one called id whose values are all different."""
        if name is not None:
            self.column(name)
            return name
        if self.frame is not None:  # its index does
            return None
        for column in self.table.column_names:
            if column.lower() in _IDS and column not in self.text_columns and _are_different(self.table.column(column)):
                return column
        return None


def _are_different(values: pa.ChunkedArray) -> bool:
    """Whether no value is missing or there twice. Sorting takes a fraction of the memory of a hash table."""
    import pyarrow.compute as pc

    if values.null_count:
        return False
    try:
        ordered = values.sort()
    except NotImplementedError:  # no order: lists
        return False
    return not pc.any(pc.equal(ordered.slice(1), ordered.slice(0, max(len(ordered) - 1, 0)))).as_py()


def text_weights(path: str, given: Any, known: list[str]) -> dict[str, int]:
    """Columns of texts with their weights: a name, "title:2,body", a list of names, or names with weights.

    >>> text_weights("a.csv", "title:2,body", ["title", "body"])
    {'title': 2, 'body': 1}
    """
    pairs: list[tuple[Any, Any]]
    if isinstance(given, str):
        if given in known:
            return {given: 1}
        parts = [part.strip() for part in given.split(",")]
        pairs = [(part, "1") if part in known else part.rpartition(":")[::2] for part in parts]
        pairs = [(name, weight) if name else (weight, "1") for name, weight in pairs]
    else:
        pairs = list(given.items()) if isinstance(given, Mapping) else [(name, 1) for name in given]
    found = {}
    for name, weight in pairs:
        if name not in known:
            raise missing_column(path, name, known)
        if not str(weight).isdigit() or not 1 <= int(weight) <= _HEAVY:
            raise InvalidInput(
                f"the weight of column {name!r} must be a whole number from 1 to {_HEAVY}, got {weight}."
            )
        found[name] = int(weight)
    if not found:
        raise InvalidInput("text must name at least one column.")
    return found


#: Numbers with a decimal comma, and those that may as well have one between thousands.
_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?$"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})?$"
_DAY = r"^\d{1,2}\.\d{1,2}\.\d{4}(\s|$)"
_DAYS = ("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S")


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as numbers or times, if every cell is one; an empty cell is a missing value.

    Numbers may have a decimal comma, and days may be written with points, as tables of much of Europe have them.

    >>> import pyarrow as pa
    >>> [str(typed(pa.chunked_array([cells])).type) for cells in (["1", ""], ["1.5", "2"], ["2026-01-31"], ["007"])]
    ['int64', 'double', 'timestamp[s]', 'string']
    >>> typed(pa.chunked_array([["1.234,5", "7,25"]])).to_pylist(), str(typed(pa.chunked_array([["31.1.2026"]])).type)
    ([1234.5, 7.25], 'timestamp[s]')
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
    if pc.all(pc.match_substring_regex(filled, _COMMA)).as_py():
        if pc.all(pc.match_substring_regex(filled, _THOUSANDS)).as_py():
            return column  # 1,234 may be either
        plain = pc.replace_substring(pc.replace_substring(filled, ".", ""), ",", ".")
        return plain.cast(pa.float64())
    if pc.all(pc.match_substring_regex(filled, _DAY)).as_py():  # not versions, such as 1.2.3
        for form in _DAYS:
            with suppress(pa.ArrowInvalid):
                return pc.strptime(filled, form, "s")
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


def read_table(
    path: Any,
    text: Any = None,
    *,
    ids: str | None = None,
    label: str | None = None,
    vectors: Any = None,
    options: Options = DEFAULT,
) -> Source:
    """The rows of a file, a folder or a frame, with their vectors where there is a column of them.

    Parameters
    ----------
    path : str or path; pandas, polars or Arrow table, anything that gives an Arrow stream; list or mapping of columns
    text : str, list or mapping, optional
        Columns of texts; see :func:`text_weights`.
    vectors : str or list of str, optional
        The column of lists of numbers, or columns of numbers; by default the only column of lists.
    """
    named = [vectors] if isinstance(vectors, str) else list(vectors or [])
    if isinstance(path, str | os.PathLike):
        ending = ending_of(path)
        with reading(path, ending):
            if ending in (".parquet", *ARROW, ".csv", ".tsv") and (ending in (".parquet", *ARROW) or named):
                found = named or _vector_names(path, ending)
                X = read_vectors(path, column=found[0] if len(found) == 1 else found) if found else None
                table = read_rows(str(path), ending, options=options, may_lack=X is not None)
                table = table.drop_columns([name for name in found if name in table.column_names])
                given = None if X is None else (", ".join(found), X)
                return Source(str(path), table, text, ids, label, given)
            table = read_rows(str(path), ending, vectors=True, options=options)
        where = str(path)
    else:
        table, where = as_table(path), "the table"
    frame = path if type(path).__module__.partition(".")[0] == "pandas" else None
    found = named or [name for name in table.column_names if _has_vectors(table.column(name))]
    if len(found) > 1 and not named:
        raise FileError(f"{where} has several columns of vectors: {listing(found)}. Name one: vectors=, --vectors.")
    missing = [name for name in found if name not in table.column_names]
    if missing:
        raise missing_column(where, missing[0], table.column_names)
    given = (", ".join(found), matrix_of(where, table.select(found))) if found else None
    return Source(where, table.drop_columns(found), text, ids, label, given, frame)


def _has_vectors(column: pa.ChunkedArray) -> bool:
    """Whether a column holds lists of numbers, all of the same length."""
    import pyarrow.compute as pc

    if not is_vector(column.type) or column.null_count:
        return False
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    return len(lengths) == 1 and lengths[0] > 1


def _vector_names(path: PathLike, ending: str) -> list[str]:
    """The only column of a file that holds lists of numbers."""
    with open_table(path, ending) as table:
        found = [field.name for field in table.schema if is_vector(field.type)]
    if len(found) > 1:
        raise FileError(f"{path} has several columns of vectors: {listing(found)}. Name one: vectors=, --vectors.")
    return found


def as_table(data: Any) -> pa.Table:
    """Rows in any form as an Arrow table: a frame, an Arrow stream, a list of objects, or a mapping of columns.

    >>> as_table([{"id": 1, "by": {"name": "Ann"}}, {"id": 2}]).to_pydict()
    {'id': [1, 2], 'by.name': ['Ann', None]}
    """
    import pyarrow as pa

    if isinstance(data, list | tuple):
        return objects_to_table("the list", data)
    n = None
    if isinstance(data, Mapping):
        n = len(next(iter(data.values()), ()))
    elif type(data).__module__.partition(".")[0] == "pandas":
        n = len(data)
    elif hasattr(data, "__arrow_c_stream__"):
        return without_views(pa.table(data))
    if n is None:
        lazy = " Collect it first." if hasattr(data, "collect") else ""
        raise InvalidType(
            f"rows must be a path, a frame, a table or a list of objects, got {type(data).__name__}.{lazy}"
        )
    return columns_of(data, n)


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
