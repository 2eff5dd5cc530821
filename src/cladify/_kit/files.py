"""Shared by all readers: find the file, choose the reader, report any failure in one line."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cladify.errors import CladifyError, FileError, NotEnoughMemory

PathLike = str | os.PathLike[str]
Columns = str | Sequence[str] | None


def find_file(path: PathLike) -> Path:
    """An existing file; otherwise an error with the way out."""
    file = Path(path)
    if file.is_dir():
        raise FileError(f"{path} is a folder; give the name of a file in it.")
    if not file.exists():
        try:
            names = [entry.name for entry in os.scandir(file.parent)]
        except OSError:
            raise FileError(f"{path} does not exist: there is no folder {file.parent}.") from None
        near = difflib.get_close_matches(file.name, names, n=1)
        raise FileError(f"{path} does not exist." + (f" Did you mean {file.with_name(near[0])}?" if near else ""))
    return file


def find(path: PathLike, kinds: Iterable[str], what: str) -> str:
    """The ending of an existing file that is one of ``kinds``; otherwise an error with the way out."""
    kind = find_file(path).suffix.lower()
    if kind not in kinds:
        found = f"{kind!r} files" if kind else "files without an ending"
        raise FileError(f"{path}: {found} cannot be read as {what}. Known: {', '.join(sorted(kinds))}.{instead(path)}")
    return kind


#: What files usually hold by their endings, and the commands that take them.
_HOLDS = {
    "a taxonomy": (".taxonomy", "'cladify table', 'cladify explore' and 'cladify place' take"),
    "a tree": (".tree .nwk .newick .tre", "'cladify info', 'cladify cut' and 'cladify plot' take"),
    "a table": (
        ".csv .tsv .json .jsonl .ndjson .parquet .arrow .feather .xlsx .sqlite .sqlite3 .db .duckdb .txt .log",
        "'cladify taxonomy' takes",
    ),
    "vectors": (".npy .npz .h5ad .fvecs .bvecs", "'cladify fit' and 'cladify taxonomy' take"),
}


def instead(path: PathLike) -> str:
    """A sentence on what a file of the wrong kind seems to be, by its ending, and what takes it; empty if unknown."""
    ending = Path(path).suffix.lower()
    for what, (endings, taken) in _HOLDS.items():
        if ending in endings.split():
            return f" It looks like {what}, which {taken}."
    return ""


@contextmanager
def reading(path: PathLike, kind: str) -> Iterator[None]:
    """Whatever a damaged or hostile file makes a library raise becomes one line about that file."""
    try:
        yield
    except CladifyError:
        raise
    except PermissionError:
        raise FileError(f"{path} may not be read by this user; change its permissions.") from None
    except MemoryError as error:
        raise NotEnoughMemory(f"{path} does not fit in memory{_detail(error)}") from None
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise FileError(f"{path} is not UTF-8 text ({byte}); convert it first.") from None
    except Exception as error:
        raise FileError(f"{path} is damaged or not a {kind} file{_detail(error)}") from None


def _detail(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = lines[0] if len(lines[0]) <= 200 else lines[0][:197] + "..."
    return f": {text.rstrip('.')}."


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Names for an error message, cut off when there are many."""
    names = list(names)
    more = f", … ({len(names) - limit} more)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more if names else "none"


def missing_column(path: PathLike, column: str, names: Sequence[str], word: str = "column") -> FileError:
    """The error for a column (or array) that the file does not have."""
    near = difflib.get_close_matches(column, names, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return FileError(f"{path} has no {word} {column!r}. {hint}It has: {listing(names)}.")
