"""What the rows are (names, texts, image paths) and which class they have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cladify._kit.arrays import read_npy, read_npz
from cladify._kit.atomic import atomic_path, atomic_write
from cladify._kit.files import PathLike, find, listing, missing_column, reading
from cladify.errors import FileError, InvalidInput
from cladify.io._table import KINDS as TABLES
from cladify.io._table import read_table_column

__all__ = ["check_items", "read_items", "read_labels", "write_labels"]

LINES = (".jsonl", ".ndjson", ".txt")
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
        return np.array([int(text) for text in texts], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(texts, dtype=np.str_)


def write_labels(
    path: PathLike, labels: np.ndarray, items: Sequence[str] | None = None, *, excel_safe: bool = False
) -> None:
    """Write one label a row: ``.npy`` or ``.txt``; with the items beside them ``.csv``, ``.tsv`` or ``.parquet``.

    A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula; ``excel_safe`` puts an
    apostrophe before such items in ``.csv`` and ``.tsv`` files.
    """
    from pathlib import Path

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

        texts = None if items is None else [str(item) for item in items]
        if texts is not None and excel_safe and kind != ".parquet":
            texts = [f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text for text in texts]
        columns = {} if texts is None else {"item": pa.array(texts, pa.string())}
        table = pa.table({**columns, "label": pa.array(labels)})
        with atomic_path(path) as draft:
            if kind == ".parquet":
                import pyarrow.parquet as pq

                pq.write_table(table, draft)
            else:
                from pyarrow import csv

                csv.write_csv(table, draft, csv.WriteOptions(delimiter="," if kind == ".csv" else "\t"))
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
            return _array_or_list(values)
        if kind == ".txt":
            with open(path, encoding="utf-8-sig", newline=None) as lines:
                return [line.rstrip("\n") for line in lines]
        return list(_json_lines(path, column, names, what))


def _array_or_list(values: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_integer(values.type) and not values.null_count:
        return values.to_numpy()
    values = values.to_pylist()
    # Whole numbers in text files come as floats, since another line may have a fraction.
    whole = all(isinstance(value, float) and value.is_integer() for value in values)
    return [int(value) for value in values] if whole else values


def _json_lines(path: PathLike, column: str | None, names: tuple[str, ...], what: str) -> Iterator[Any]:
    key = column
    with open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FileError(f"{path}, line {number} is not JSON: {error}.") from None
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


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)
