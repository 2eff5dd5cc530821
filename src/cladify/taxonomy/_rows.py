"""All rows and columns of a file or a folder as one Arrow table.

Text may be in any encoding: what is not UTF-8 is guessed, and said in a warning. Every row of the file is a row of the
table, in order.
"""

from __future__ import annotations

import codecs
import json
import warnings
from collections.abc import Iterator
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cladify._kit.files import PathLike, find_file, instead, listing
from cladify.errors import CladifyWarning, FileError, MissingExtra
from cladify.io._csv import TextTable
from cladify.io._tables import ARROW, check_distinct, open_table, read_columns
from cladify.io._texts import json_rows, text_lines
from cladify.taxonomy._columns import cells_to_table, objects_to_table
from cladify.taxonomy._stores import (
    DUCKDB,
    HUB,
    SQLITE,
    choose,
    is_lance,
    read_duckdb,
    read_hub,
    read_lance,
    read_sqlite,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DEFAULT", "IMAGES", "LINES", "TEXT_KINDS", "Options", "ending_of", "is_vector", "read_rows"]

#: One text a line.
LINES = (".txt", ".log")
_JSON_LINES = (".jsonl", ".ndjson")
#: One text a file, in a folder.
_DOCUMENTS = (".txt", ".md", ".rst")
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".avif")
_FOLDER = "folder"
TEXT_KINDS = (".csv", ".tsv", *_JSON_LINES, ".json", *LINES, ".parquet", *ARROW, ".xlsx", *SQLITE, *DUCKDB)
#: Letters and signs beyond ASCII that are frequent in texts of western Europe.
_WESTERN = set("àáâãäåæçèéêëìíîïñòóôõöøùúûüßœÀÁÂÄÅÆÇÈÉÊËÍÎÓÔÖØÙÚÛÜÑ“”‘’„–—…€£§°«»·´¿¡©®™\xa0")
_SAMPLE = 1 << 20
_BATCH = 10_000


class Options(NamedTuple):
    """How a file is read: the encoding of its text, and the sheet or table of it."""

    encoding: str | None = None
    sheet: str | None = None


DEFAULT = Options()


def ending_of(path: PathLike) -> str:
    """The kind of a file by its ending, or that it is a folder; raises for what cannot be read."""
    if str(path).startswith(HUB):
        return HUB
    if Path(path).is_dir():
        return _FOLDER
    ending = find_file(path).suffix.lower()
    if ending not in TEXT_KINDS:
        known = ", ".join(TEXT_KINDS)
        raise FileError(f"{path}: {ending or 'such'} files cannot be read as texts. Known: {known}.{instead(path)}")
    return ending


def read_rows(
    path: str,
    ending: str,
    data: bytes | None = None,
    *,
    vectors: bool = False,
    may_lack: bool = False,
    options: Options = DEFAULT,
) -> pa.Table:
    """All columns, in order; cells of text files as they are written there.

    Parameters
    ----------
    path : str
        The file, or a name for ``data``.
    ending : str
        One of :data:`TEXT_KINDS`, or what :func:`ending_of` gives.
    data : bytes, optional
        What was read already, such as standard input.
    vectors : bool
        Also columns of lists of numbers.
    may_lack : bool
        A table of vectors alone is no error.
    """
    import pyarrow as pa

    if ending == HUB:
        return read_hub(path, lambda folder: _folder(folder, vectors, options))
    if ending == _FOLDER:
        return _folder(Path(path), vectors, options)
    if ending == ".xlsx":
        return _workbook(path, options.sheet)
    if ending in (*SQLITE, *DUCKDB):
        read = read_sqlite if ending in SQLITE else read_duckdb
        return _chosen(path, read(path, options.sheet), vectors)
    if ending in (".csv", ".tsv"):
        data = _utf8_of(path, data, options.encoding)
    if ending not in (*LINES, *_JSON_LINES, ".json"):
        return _columns(path, ending, data, vectors, may_lack)
    if ending in _JSON_LINES and data is None and options.encoding is None and _is_utf8(path):
        with open(path, encoding="utf-8-sig", newline="\n") as lines:  # never the whole file in memory
            return _chosen(path, objects_to_table(path, (row for _, row in json_rows(path, lines))), vectors)
    data = Path(path).read_bytes() if data is None else data
    data = _in_utf8(path, data, options.encoding)
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileError(f"{path} is empty.")
    if ending in LINES:
        return pa.table({"text": pa.array(text_lines(data), pa.string())})
    values = _json_values(path, data) if ending == ".json" else (row for _, row in json_rows(path, data))
    return _chosen(path, objects_to_table(path, values), vectors)


def is_vector(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists of numbers."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def _chosen(path: str, table: pa.Table, vectors: bool) -> pa.Table:
    """All columns, or those that hold no vectors."""
    wanted = [field.name for field in table.schema if vectors or not is_vector(field.type)]
    if not wanted:
        raise FileError(f"{path} has no column of texts. It has: {listing(table.schema.names)}.")
    return table.select(wanted)


def _columns(path: str, ending: str, data: bytes | None, vectors: bool, may_lack: bool) -> pa.Table:
    is_text = ending in (".csv", ".tsv")
    with nullcontext(TextTable(path, ending, data, header=True)) if is_text else open_table(path, ending) as table:
        check_distinct(path, table.schema.names)
        if is_text:
            _doubt_header(path, table.schema)
        wanted = [field.name for field in table.schema if vectors or not is_vector(field.type)]
        if not wanted and not may_lack:
            raise FileError(f"{path} has no column of texts. It has: {listing(table.schema.names)}.")
        return read_columns(table, wanted)


def _doubt_header(path: str, schema: pa.Schema) -> None:
    """Warn where the first line looks like a row of the table: it has numbers just where the rows have them."""
    from pyarrow import types

    numbers = [types.is_integer(field.type) or types.is_floating(field.type) for field in schema]
    if any(numbers) and numbers == [_is_number(name) for name in schema.names]:
        warnings.warn(
            CladifyWarning(f"{path}: the first line was taken for the names of the columns; it looks like a row."),
            stacklevel=5,
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- JSON -------------------------------------------------------------------------------------------------------------


def _json_values(path: str, data: bytes) -> list[Any]:
    """The rows of a JSON file: a list of them, the only list within an object, or the object itself."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON: {error}. One value a line is .jsonl.") from None
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else [found]
    return found if isinstance(found, list) else [found]


# --- sheets, databases, folders ---------------------------------------------------------------------------------------


def _workbook(path: str, sheet: str | None) -> pa.Table:
    """A sheet of an Excel file; its first row names the columns. Formulas give the values that were saved."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("Reading .xlsx", "excel") from None
    book = load_workbook(path, read_only=True, data_only=True)
    with closing(book):
        first = book.sheetnames[0] if sheet is None else sheet
        rows = book[choose(path, first, book.sheetnames, "sheet")].iter_rows(values_only=True)
        header = [("" if cell is None else str(cell)) for cell in next(rows, ())]
        blank = 0

        def filled() -> Iterator[list[Any]]:
            nonlocal blank
            while batch := list(islice(rows, _BATCH)):
                kept = [row for row in batch if any(cell is not None for cell in row)]
                blank += len(batch) - len(kept)
                yield kept

        table = cells_to_table(path, header, filled())
    if blank:
        warnings.warn(CladifyWarning(f"{path}: {blank} rows without any cell were left out."), stacklevel=4)
    return table


def _folder(folder: Path, vectors: bool, options: Options) -> pa.Table:
    """Tables of one kind below each other, or documents of one text each with the column ``path``."""
    import pyarrow as pa

    if is_lance(folder):
        return _chosen(str(folder), read_lance(str(folder), options.sheet), vectors)
    if (folder / "meta.json").is_file() and (folder / "collection").is_dir():
        raise FileError(
            f"{folder} is a folder of Qdrant, which holds Python objects that cladify never unpickles. Read its points "
            "with QdrantClient.scroll, and give their payloads and vectors to Taxonomy.from_table."
        )
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
    tables = [file for file in files if file.suffix.lower() in (".parquet", *ARROW, ".csv", ".tsv", *_JSON_LINES)]
    if tables:
        parts = [read_rows(str(f), f.suffix.lower(), vectors=vectors, options=options) for f in tables]
        try:
            return pa.concat_tables(parts, promote_options="default")
        except pa.ArrowInvalid as error:
            raise FileError(f"the tables in {folder} have different columns: {str(error).splitlines()[0]}.") from None
    documents = [file for file in files if file.suffix.lower() in _DOCUMENTS]
    images = [file for file in files if file.suffix.lower() in IMAGES]
    if images and not documents:
        return pa.table({"image": [str(file) for file in images]})
    if not documents:
        raise FileError(f"{folder} has no tables, no images and no files with one of {', '.join(_DOCUMENTS)}.")
    texts = [_in_utf8(str(f), f.read_bytes(), options.encoding).decode("utf-8-sig") for f in documents]
    return pa.table({"path": [file.relative_to(folder).as_posix() for file in documents], "text": texts})


# --- encodings --------------------------------------------------------------------------------------------------------


def _utf8_of(path: str, data: bytes | None, encoding: str | None) -> bytes | None:
    """The text in UTF-8; None where the file has it already, so that it need not be read whole."""
    if data is None:
        if encoding is None and _is_utf8(path):
            return None
        data = Path(path).read_bytes()
    return _in_utf8(path, data, encoding)


def _is_utf8(path: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        try:
            while block := file.read(_SAMPLE):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _in_utf8(path: str, data: bytes, encoding: str | None) -> bytes:
    if encoding is None:
        try:
            data.decode("utf-8")
            return data
        except UnicodeDecodeError:
            encoding = _guess_encoding(data)
        if encoding is None or not _decodes(data, encoding):
            mended, broken = _mended(data)
            if mended is not None:
                text = f"{path} is not UTF-8 everywhere: {broken} broken characters are shown as \ufffd."
                warnings.warn(CladifyWarning(text), stacklevel=4)
                return mended
        if encoding is None:
            raise FileError(
                f"{path} is not UTF-8 text, and its encoding cannot be guessed; name it: --encoding cp1252."
            )
        warnings.warn(
            CladifyWarning(f"{path} is not UTF-8; it was read as {encoding}. --encoding names another."), stacklevel=4
        )
    try:
        return data.decode(encoding).encode("utf-8", "replace")
    except LookupError:
        raise FileError(f"there is no encoding {encoding!r}; examples: utf-8, cp1252, utf-16, shift_jis.") from None
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not text in {encoding} (byte {error.start}); name another with --encoding."
        ) from None


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _mended(data: bytes) -> tuple[bytes | None, int]:
    """UTF-8 with a mark for what is broken, and how often; None where more than one character in a hundred is."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return (text.encode() if 100 * broken <= len(text) and "\0" not in text else None), broken


def _guess_encoding(data: bytes) -> str | None:
    """By its mark; else cp1252 where nearly all letters beyond ASCII are those of western Europe; else by statistics.

    >>> _guess_encoding("Größe, naïve, “café” – 5 €".encode("cp1252"))
    'cp1252'
    """
    from charset_normalizer import from_bytes

    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    lines = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE]
    if b"\0" not in lines:
        beyond = [letter for letter in lines.decode("cp1252", "replace") if ord(letter) > 127]
        if sum(letter in _WESTERN for letter in beyond) >= 0.9 * len(beyond):
            return "cp1252"
    best = from_bytes(lines).best()
    return None if best is None else str(best.encoding)
