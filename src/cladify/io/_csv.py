"""``.csv`` and ``.tsv`` through Arrow's parser: the separator and the header are found from the first lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cladify._kit.files import PathLike
from cladify.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of the first lines; also the longest line that is read.
HEAD = 1 << 20
BLOCK = 4 << 20


def open_csv(path: PathLike, kind: str) -> tuple[pa.Schema, int, Callable[[Sequence[str]], Iterator[pa.RecordBatch]]]:
    """Schema, an upper bound of the rows, and batches of chosen columns; number columns come as float64."""
    import pyarrow as pa
    from pyarrow import csv

    with open(path, "rb") as file:
        head = file.read(HEAD)
    text = head.decode("utf-8-sig", errors="replace")
    if not text.strip():
        raise FileError(f"{path} is empty.")
    first = next(line for line in text.splitlines() if line.strip())
    delimiter = "\t" if kind == ".tsv" else _delimiter(first)
    header = not all(_is_number(cell) for cell in first.split(delimiter))
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values='"' in text)

    def reader(convert: csv.ConvertOptions, block: int) -> Any:
        read = csv.ReadOptions(block_size=block, autogenerate_column_names=not header)
        return csv.open_csv(path, read_options=read, parse_options=parse, convert_options=convert)

    if header and len(text.split()) == len(first.split()):
        raise FileError(f"{path} has no rows, only the header {first[:60]!r}.")
    # Types are guessed from the first block; numbers are all read as float64, since an integer may be followed by 0.5.
    with reader(csv.ConvertOptions(), HEAD) as guess:
        fields = [(f.name, pa.float64() if pa.types.is_integer(f.type) else f.type) for f in guess.schema]
    # A column that is empty in the first block is text or numbers; text takes both.
    types = {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in fields}

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = {name: types[name] for name in columns}
        options = csv.ConvertOptions(column_types=wanted, include_columns=list(columns), strings_can_be_null=False)
        with reader(options, BLOCK) as stream:
            yield from stream

    return pa.schema([(name, types[name]) for name, _ in fields]), _count_lines(path), batches


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


def _count_lines(path: PathLike) -> int:
    lines = 1
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            # Old files end lines with a carriage return alone.
            lines += max(block.count(b"\n"), block.count(b"\r"))
    return lines
