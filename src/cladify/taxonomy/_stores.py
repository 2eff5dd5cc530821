"""Tables that live in a database or a store: SQLite, DuckDB, Lance, and data sets of the Hugging Face hub.

Each is opened so that nothing in it can change, and so that nothing in it can reach other files.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cladify._kit.files import listing
from cladify.errors import FileError, MissingExtra
from cladify.taxonomy._columns import cells_to_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DUCKDB", "HUB", "SQLITE", "choose", "is_lance", "read_duckdb", "read_hub", "read_lance", "read_sqlite"]

SQLITE = (".sqlite", ".sqlite3", ".db")
DUCKDB = (".duckdb", ".ddb")
HUB = "hf://"
_BATCH = 10_000


def choose(path: str, name: str | None, known: list[str], what: str) -> str:
    """The only sheet or table of a file, or the one that was named."""
    if name in known:
        return name
    if name is None and len(known) == 1:
        return known[0]
    asked = f"no {what} {name!r}" if name is not None else f"{len(known)} {what}s"
    raise FileError(f"{path} has {asked}: {listing(known)}. Name one with --sheet.")


def read_sqlite(path: str, table: str | None) -> pa.Table:
    """A table or view of an SQLite file."""
    with closing(sqlite3.connect(f"file:{quote(str(Path(path).resolve()))}?mode=ro", uri=True)) as database:
        database.execute("PRAGMA trusted_schema = OFF")
        names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        known = [name for (name,) in database.execute(names)]
        cursor = database.execute(f'SELECT * FROM "{_quoted(choose(path, table, known, "table"))}"')
        return cells_to_table(path, [column[0] for column in cursor.description], _batches(cursor))


def _batches(cursor: Any) -> Iterator[list[Any]]:
    while rows := cursor.fetchmany(_BATCH):
        yield rows


def read_duckdb(path: str, table: str | None) -> pa.Table:
    """A table or view of a DuckDB file."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("Reading DuckDB", "duckdb") from None
    try:
        with closing(duckdb.connect(path, read_only=True, config={"enable_external_access": "false"})) as database:
            found = database.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
            known = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
            schema, name = known[choose(path, table, list(known), "table")]
            return database.sql(f'SELECT * FROM "{_quoted(schema)}"."{_quoted(name)}"').to_arrow_table()
    except duckdb.Error as error:
        raise FileError(f"{path} cannot be read by DuckDB: {str(error).splitlines()[0][:160]}") from None


def _quoted(name: str) -> str:
    return name.replace('"', '""')


def is_lance(path: Path) -> bool:
    """Whether a folder is a Lance table, or a LanceDB folder of them."""
    return (path / "_versions").is_dir() or any(path.glob("*.lance"))


def read_lance(path: str, table: str | None) -> pa.Table:
    """A Lance table, or one of a LanceDB folder."""
    try:
        import lance
    except ImportError:
        raise MissingExtra("Reading Lance", "lance") from None
    folder = Path(path)
    if not (folder / "_versions").is_dir():
        known = sorted(part.stem for part in folder.glob("*.lance"))
        folder = folder / f"{choose(path, table, known, 'table')}.lance"
    try:
        return lance.dataset(str(folder)).to_table()
    except (OSError, ValueError) as error:
        raise FileError(f"{path} is not a Lance table: {str(error).splitlines()[0][:160]}") from None


def read_hub(path: str, read: Callable[[Path], pa.Table]) -> pa.Table:
    """A data set of the Hugging Face hub: its files are fetched into a temporary folder, and read from there."""
    try:
        from huggingface_hub import HfFileSystem
    except ImportError:
        raise MissingExtra("Reading hf://", "huggingface") from None
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = HfFileSystem()
            names = [path] if files.isfile(path) else sorted(files.find(path))
            kinds = (".parquet", ".arrow", ".jsonl", ".csv", ".tsv")
            kind = next((kind for kind in kinds if any(str(name).endswith(kind) for name in names)), None)
            for i, name in enumerate(name for name in names if kind is not None and str(name).endswith(kind)):
                files.get_file(name, str(Path(folder) / f"{i:06}{kind}"))
        except Exception as error:  # the network has many ways to fail
            said = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
            raise FileError(f"{path} cannot be fetched: {said}") from None
        if kind is None:
            raise FileError(f"{path} has no file with one of {', '.join(kinds)}.")
        return read(Path(folder))
