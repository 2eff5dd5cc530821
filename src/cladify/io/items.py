"""Items (names, texts, image paths) and labels of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cladify._kit.arrays import read_npy, read_npz
from cladify._kit.atomic import atomic_write
from cladify._kit.files import PathLike, find, listing, missing_column, reading
from cladify.errors import FileError, InvalidInput
from cladify.io._tables import KINDS as TABLES
from cladify.io._tables import read_table_column
from cladify.io._texts import LINES, json_rows, text_lines
from cladify.io._write import write_table

__all__ = ["check_items", "read_items", "read_labels", "write_labels"]

ITEM_NAMES = ("item", "items", "name", "names", "title", "text", "path", "word")
LABEL_NAMES = ("label", "labels", "y", "class", "target", "cluster", "category")


def read_items(path: PathLike, column: str | None = None) -> list[str]:
    """One text a row: from a column of a table, from JSON lines, or from the lines of a text file.

    Parameters
    ----------
    path : str or path
        ``.txt`` (one item a line), ``.jsonl`` (strings or objects), ``.csv`` / ``.tsv``, ``.parquet`` / ``.arrow``, and
        ``.npy`` / ``.npz`` arrays of text.
    column : str, optional
        Name of the column or of the key. Found when there is only one, or one called item, name, title, text, path or
        word.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "words.jsonl"
    >>> _ = path.write_text('{"word": "oak", "id": 1}\\n{"word": "elm", "id": 2}\\n')
    >>> read_items(path)
    ['oak', 'elm']
    """
    return [_text(value) for value in _values(path, column, ITEM_NAMES, "items")]


def read_labels(path: PathLike, column: str | None = None) -> np.ndarray:
    """One class a row, as integers where all of them are, else as text.

    Takes what :func:`read_items` takes. The column is found when there is only one, or one called label, y, class,
    target, cluster or category. In integers, -1 means that a row has no class.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "y.txt"
    >>> _ = path.write_text("0\\n0\\n1\\n")
    >>> read_labels(path)
    array([0, 0, 1])
    """
    values = _values(path, column, LABEL_NAMES, "labels")
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return values.astype(np.int64)
    texts = [_text(value) for value in values]
    try:
        return np.array([_whole(text) for text in texts], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(texts, dtype=np.str_)


def write_labels(
    path: PathLike, labels: np.ndarray, items: Sequence[str] | None = None, *, excel_safe: bool = False
) -> None:
    """Write one label a row: ``.npy`` or ``.txt``; with the items beside them ``.csv``, ``.tsv`` or ``.parquet``.

    A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula; ``excel_safe`` puts an
    apostrophe before such items in ``.csv`` and ``.tsv`` files.
    """
    kind = Path(path).suffix.lower()
    labels = np.asarray(labels)
    if kind == ".npy":
        with atomic_write(path) as file:
            np.save(file, labels, allow_pickle=False)
    elif kind == ".txt":
        with atomic_write(path, "w") as file:
            file.writelines(f"{label}\n" for label in labels.tolist())
    elif kind in (".csv", ".tsv", ".parquet"):
        import pyarrow as pa

        texts = {} if items is None else {"item": pa.array([str(item) for item in items], pa.string())}
        write_table(path, pa.table({**texts, "label": pa.array(labels)}), excel_safe=excel_safe)
    else:
        raise FileError(f"cannot write labels to {path}: known endings are .csv, .npy, .parquet, .tsv and .txt.")


def check_items(items: Sequence[Any] | np.ndarray, n: int, *, what: str = "items", rows: str = "rows in X") -> None:
    """Raise unless there is one item a row."""
    if len(items) != n:
        raise InvalidInput(
            f"there are {len(items)} {what} for {n} {rows}; there must be one for each, in the same order."
        )


def _values(path: PathLike, column: str | None, names: tuple[str, ...], what: str) -> Any:
    """The values of a column as they are stored: an array, or an iterator."""
    kind = find(path, (*LINES, *TABLES, ".npy", ".npz"), what)
    with reading(path, kind):
        if kind in (".npy", ".npz"):
            array = read_npy(path) if kind == ".npy" else read_npz(path, column, names, ndim=1)
            if array.ndim != 1:
                raise FileError(f"{path} has shape {array.shape}; expected one of the {what} a row.")
            return np.asarray(array)
        if kind in TABLES:
            values = read_table_column(path, kind, column, names, what)
            return values.to_numpy() if _are_integers(values) else values.to_pylist()
        data = Path(path).read_bytes()
        return text_lines(data) if kind == ".txt" else list(_by_key(path, data, column, names, what))


def _are_integers(values: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(values.type)) and not values.null_count


def _by_key(path: PathLike, data: bytes, key: str | None, names: tuple[str, ...], what: str) -> Iterator[Any]:
    """The values of JSON lines: those of one key where they are objects."""
    for number, value in json_rows(path, data):
        if not isinstance(value, dict):
            yield value
            continue
        if key is None:
            key = _choose_key(path, value, names, what)
        if key not in value:
            raise FileError(f"{missing_column(path, key, list(value), f'key, line {number},')}")
        yield value[key]


def _choose_key(path: PathLike, value: dict[str, Any], names: tuple[str, ...], what: str) -> str:
    by_lower = {name.lower(): name for name in reversed(value)}
    for name in names:
        if name in by_lower:
            return by_lower[name]
    plain = [name for name, entry in value.items() if isinstance(entry, str)]
    if len(plain) == 1:
        return plain[0]
    raise FileError(f"{path} has several keys: {listing(value)}. Choose the one with the {what} by its name.")


def _whole(text: str) -> int:
    """The integer that a text says; programs that hold labels as floats write 3.0."""
    return int(text.removesuffix(".0"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)
