"""Tables out: ``.csv``, ``.tsv``, ``.jsonl`` and ``.parquet``, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cladify._kit.atomic import PathLike, atomic_path, atomic_write
from cladify.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_table_name", "escape_formulas", "write_csv", "write_table"]

KINDS = (".csv", ".jsonl", ".parquet", ".tsv")
#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = r"^[=+\-@\t\r\n]"


def check_table_name(path: PathLike, kinds: tuple[str, ...] = KINDS) -> str:
    """The ending of a table's name, if it says how to write it."""
    kind = Path(path).suffix.lower()
    if kind not in kinds:
        raise FileError(f"cannot write a table to {path}: known endings are {', '.join(kinds[:-1])} and {kinds[-1]}.")
    return kind


def write_table(path: PathLike, table: pa.Table, *, excel_safe: bool = False) -> None:
    """Write an Arrow table in the format of the file's ending; ``excel_safe`` is for ``.csv`` and ``.tsv``."""
    kind = check_table_name(path)
    if kind == ".parquet":
        import pyarrow.parquet as pq

        with atomic_path(path) as draft:
            pq.write_table(table, draft)
    elif kind == ".jsonl":
        with atomic_write(path, "w") as file:
            file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in table.to_pylist())
    else:
        with atomic_write(path) as file:
            write_csv(file, table, "," if kind == ".csv" else "\t", excel_safe=excel_safe)


def write_csv(file: IO[bytes], table: pa.Table, delimiter: str = ",", *, excel_safe: bool = False) -> None:
    """Write an Arrow table as CSV to an open file."""
    from pyarrow import csv

    csv.write_csv(escape_formulas(table) if excel_safe else table, file, csv.WriteOptions(delimiter=delimiter))


def escape_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before texts that a spreadsheet would take for a formula."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column: Any = table.column(i)
            begins = pc.match_substring_regex(column, _FORMULA)
            escaped = pc.if_else(begins, pc.binary_join_element_wise("'", column, ""), column)
            table = table.set_column(i, field.name, escaped)
    return table
