"""``.csv`` and ``.tsv`` through Arrow's parser: the separator and the header are found from the first lines.

Arrow reads a quote that is never closed as one long cell, and takes a column with one misspelt number for text. Both
are found here and are errors, so that no row and no column is left out without a word.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from cladify._kit.files import PathLike
from cladify.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of the first lines, from which types are guessed, and bytes that are parsed at a time; both hold a whole row.
HEAD = 1 << 20
BLOCK = 1 << 20
_MOST = 2**31 - 1
_WIDE = 5000  # columns; Arrow takes some .1 ms for each to find its type

#: As Arrow reads numbers, and what it takes for a missing one.
_NUMBER = re.compile(r"\s*-?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan|null)\s*", re.IGNORECASE)
_MISSING = {
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "1.#IND",
    "1.#QNAN",
    "N/A",
    "NA",
    "NULL",
    "n/a",
    "null",
}
#: A cell that was meant as a number: with thousands, a decimal comma, a unit of money, or followed by a lost line end.
_LIKE_NUMBER = r"^[\s$€£+-]*\.?\d[\d.,'_\s]*([eE][+-]?\d+)?\s*%?\s*$|^\s*-?[\d.]+\s*\n"
_SHOWN = 3


class TextTable:
    """A table in a text file, read block by block.

    Parameters
    ----------
    path : str or path
        The file, or a name for ``data``.
    kind : str
        ``.csv`` or ``.tsv``.
    data : bytes, optional
        What was read already, such as standard input.
    header : bool, optional
        Whether the first line names the columns; by default, unless it has numbers only.
    """

    def __init__(self, path: PathLike, kind: str, data: bytes | None = None, *, header: bool | None = None) -> None:
        self.path, self._data = path, data
        self.max_rows, has_quotes, longest = self._survey()
        with self._file() as file:
            text = file.read(max(HEAD, 2 * longest + 2)).decode("utf-8-sig", errors="replace")
        if not text.strip():
            raise FileError(f"{path} is empty.")
        first, *rest = (line for line in text.splitlines() if line.strip())
        self._delimiter = "\t" if kind == ".tsv" else _delimiter(first)
        self._is_wide = first.count(self._delimiter) >= _WIDE
        self._header = not all(map(_is_number, first.split(self._delimiter))) if header is None else header
        if self._header and not rest:
            raise FileError(f"{path} has no rows, only the header {first.strip()[:60]!r}.")
        self._newlines = has_quotes
        self._row = longest + (self._check_quotes() if has_quotes else 0)

    def _file(self) -> IO[bytes]:
        return open(self.path, "rb") if self._data is None else io.BytesIO(self._data)

    def _survey(self) -> tuple[int, bool, int]:
        """An upper bound of the rows, whether there are quotes, and the bytes of the longest line."""
        lines, has_quotes, longest, start, at = 1, False, 0, 0, 0
        with self._file() as file:
            while block := file.read(HEAD):
                has_quotes = has_quotes or b'"' in block
                mark = b"\n" if b"\n" in block else b"\r"  # old files end lines with a carriage return alone
                lines += max(block.count(b"\n"), block.count(b"\r"))
                ends = np.flatnonzero(np.frombuffer(block, np.uint8) == mark[0])
                if len(ends):
                    longest = max(longest, at + int(ends[0]) - start, int(np.diff(ends).max(initial=0)))
                    start = at + int(ends[-1])
                at += len(block)
        return lines, has_quotes, max(longest, at - start)

    def _check_quotes(self) -> int:
        """The longest text in quotes; raises where a quote is not closed, or only by one of another cell."""
        with self._file() as file:
            data = file.read()
        mark = re.escape(self._delimiter).encode()
        quoted = re.compile(rb"(?:\A|[\r\n]|" + mark + rb')"((?:[^"]++|"")*+)("?)')
        longest = 0
        for found in quoted.finditer(data):
            longest = max(longest, found.end() - found.start())
            after = data[found.end() : found.end() + 1]
            if found[2] and (after in (b"", b"\r", b"\n", self._delimiter.encode()) or b"\n" not in found[1]):
                continue
            line = data.count(b"\n", 0, found.start(1)) + 1
            swallowed = found[1].count(b"\n")
            how = "closed in the middle of a later cell" if found[2] else "never closed"
            raise FileError(
                f"{self.path}, line {line}: the quote that opens a cell is {how}, so that {swallowed} line ends "
                'would be part of it. Remove it, or double it where it belongs to a text ("").'
            )
        return longest

    # --- Arrow --------------------------------------------------------------------------------------------------------

    def _reader(self, convert: Any, block: int) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow

        return arrow.open_csv(
            self.path if self._data is None else pa.BufferReader(self._data),
            read_options=arrow.ReadOptions(
                block_size=min(_MOST, max(block, 2 * self._row + 2)), autogenerate_column_names=not self._header
            ),
            parse_options=arrow.ParseOptions(delimiter=self._delimiter, newlines_in_values=self._newlines),
            convert_options=convert,
        )

    @cached_property
    def _sample(self) -> pa.RecordBatch:
        """The first block, with the types that Arrow finds in it; of a wide table, only texts and empty numbers."""
        from pyarrow import csv as arrow

        if self._is_wide:
            with suppress(csv.Error):  # a cell that is too long
                return self._wide_sample()
        with self._errors(), self._reader(arrow.ConvertOptions(), HEAD) as reader:
            return reader.read_next_batch()

    def _wide_sample(self) -> pa.RecordBatch:
        import pyarrow as pa

        with self._file() as file:
            text = file.read(max(HEAD, 2 * self._row + 2)).decode("utf-8-sig", errors="replace")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter) if row]
        names = rows.pop(0) if self._header else [f"f{i}" for i in range(len(rows[0]))]
        rows = [row for row in rows if len(row) == len(names)] or [[""] * len(names)]  # the last one may be cut
        texts: set[int] = set()
        for row in rows:
            texts.update(i for i, cell in enumerate(row) if not (cell in _MISSING or _NUMBER.fullmatch(cell)))
        texts.update(
            i for i, cell in enumerate(rows[0]) if cell in _MISSING and all(row[i] in _MISSING for row in rows)
        )
        numbers = pa.nulls(len(rows), pa.float64())
        return pa.RecordBatch.from_arrays(
            [pa.array([row[i] for row in rows]) if i in texts else numbers for i in range(len(names))], names
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns; all numbers are float64, since an integer may be followed by a fraction."""
        import pyarrow as pa

        def typed(kind: pa.DataType) -> pa.DataType:
            # A column that is empty in the first block may turn out as either; text takes both.
            return pa.float64() if pa.types.is_integer(kind) else pa.string() if pa.types.is_null(kind) else kind

        return pa.schema([(field.name, typed(field.type)) for field in self._sample.schema])

    def batches(self, columns: Sequence[str], *, as_text: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of some columns, in the types of the schema or as the text that the file has."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        schema = self.schema
        kinds = dict(zip(schema.names, schema.types, strict=True))
        wanted = {name: pa.string() if as_text else kinds[name] for name in columns}
        options = arrow.ConvertOptions(column_types=wanted, include_columns=list(columns), strings_can_be_null=False)
        with self._errors(), self._reader(options, BLOCK) as reader:
            yield from reader

    def misspelt(self, names: Sequence[str]) -> str | None:
        """The first of the text columns ``names`` most of whose cells, in the first block, are meant as numbers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in names:
            column = self._sample.column(self._sample.schema.get_field_index(name))
            if pa.types.is_string(column.type):
                filled = column.filter(pc.not_equal(column, ""))
                alike = pc.sum(pc.match_substring_regex(filled, _LIKE_NUMBER)).as_py() or 0
                if 2 * alike >= len(filled) > 0:
                    return name
        return None

    def refuse_cells(self, name: str) -> NoReturn:
        """Raise with the cells of a column that are no numbers."""
        bad: list[str] = []
        row = count = 0
        for batch in self.batches([name], as_text=True):
            for cell in batch.column(0).to_pylist():
                if cell not in _MISSING and _NUMBER.fullmatch(cell) is None:
                    count += 1
                    if count <= _SHOWN:
                        bad.append(f"row {row}: {cell[:40]!r}")
                row += 1
        more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
        raise FileError(
            f"{self.path}: column {name!r} has {count} cell{'s' * (count != 1)} that {'are' if count != 1 else 'is'} "
            f"no number ({', '.join(bad)}{more}). Correct them, or choose other columns with column=[...]."
        )

    def refuse_row(self) -> None:
        """Raise with the first row that has more or fewer cells than there are columns."""
        with self._file() as file, suppress(csv.Error):  # Arrow's own error stands where this finds none
            text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
            rows = csv.reader(text, delimiter=self._delimiter)
            width = 0
            for row in filter(None, rows):
                width = width or len(row)
                if len(row) != width:
                    raise FileError(
                        f"{self.path}, line {rows.line_num}: expected {width} columns as in the first line, got "
                        f"{len(row)}. Texts with separators or line ends must stand in quotes."
                    ) from None

    def _errors(self) -> _Errors:
        return _Errors(self)


class _Errors:
    """Arrow's errors as lines that say where the fault is."""

    def __init__(self, table: TextTable) -> None:
        self._table = table

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import pyarrow as pa

        if not isinstance(error, pa.ArrowInvalid):
            return
        table, text = self._table, str(error)
        if "UTF8" in text:
            raise FileError(f"{table.path} is not UTF-8 text; convert it first.") from None
        if re.search(r"Expected \d+ columns, got", text):
            table.refuse_row()
        number = re.search(r"column #(\d+):(?: Row #\d+:)? CSV conversion error to double", text)
        if number is not None:
            table.refuse_cells(table.schema.names[int(number[1])])


def _delimiter(line: str) -> str:
    counts = {mark: line.count(mark) for mark in ",;\t|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


def _is_number(cell: str) -> bool:
    cell = cell.strip().strip('"')
    try:
        float(cell)
    except ValueError:
        return cell == ""
    return True
