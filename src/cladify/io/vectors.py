"""`read_vectors`: the rows to cluster, from whatever file they are in."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.arrays import read_npy, read_npz, read_sparse_npz
from cladify._kit.files import Columns, PathLike, find, reading
from cladify.errors import FileError
from cladify.io._h5ad import read_h5ad
from cladify.io._tables import KINDS as TABLES
from cladify.io._tables import read_table_vectors
from cladify.io._vecs import DTYPES as VECS
from cladify.io._vecs import read_vecs

__all__ = ["read_vectors"]

NAMES = ("X", "embeddings", "embedding", "vectors", "data")


def read_vectors(path: PathLike, *, column: Columns = None) -> Any:
    """The vectors in a file, one row a point.

    - ``.npy``, ``.fvecs``, ``.bvecs``: memory-mapped, so a file larger than memory can be opened
    - ``.npz``: one array; ``column`` is its name. Also the sparse matrices of ``scipy.sparse.save_npz``
    - ``.parquet``, ``.arrow``, ``.feather``: a column of lists of equal length, or several float columns
    - ``.csv``, ``.tsv``: all number columns, as float64; the separator and the header are found
    - ``.h5ad``: ``X``, or with ``column`` an embedding such as ``"X_pca"``; needs ``cladify[h5ad]``

    Nothing is ever unpickled, and a damaged or hostile file raises :class:`~cladify.errors.FileError`.

    Parameters
    ----------
    path : str or path
    column : str or list of str, optional
        Name of the column of lists, of the number columns, or of the array. Found when the file leaves no doubt.

    Returns
    -------
    array of shape (n, d), or SciPy CSR rows where the file is sparse

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("name,x,y\\na,0.5,1\\nb,2,3\\n")
    >>> read_vectors(path, column=["x", "y"]).tolist()
    [[0.5, 1.0], [2.0, 3.0]]
    """
    kind = find(path, (".npy", ".npz", ".h5ad", *VECS, *TABLES), "vectors")
    one = column if isinstance(column, str) or column is None else _only(path, list(column), kind)
    with reading(path, kind):
        if kind == ".npy":
            vectors: Any = read_npy(path)
        elif kind in VECS:
            vectors = read_vecs(path, kind)
        elif kind == ".npz":
            vectors = read_sparse_npz(path) if one is None else None
            if vectors is None:
                vectors = read_npz(path, one, NAMES, ndim=2)
        elif kind == ".h5ad":
            vectors = read_h5ad(path, one)
        else:
            vectors = read_table_vectors(path, kind, column)
    return _check_matrix(path, vectors)


def _only(path: PathLike, columns: list[str], kind: str) -> str | None:
    """The one name that ``.npz`` and ``.h5ad`` take."""
    if kind in (".npz", ".h5ad") and len(columns) != 1:
        raise FileError(f"{path}: a {kind} file takes one name, got {len(columns)}.")
    return columns[0] if columns else None


def _check_matrix(path: PathLike, vectors: Any) -> Any:
    if vectors.dtype.kind not in "fiub":
        raise FileError(f"{path} holds {vectors.dtype}, not numbers. Embed texts and categories as vectors first.")
    if vectors.ndim != 2:
        way_out = "Reshape it to one row a point: np.save(path, X.reshape(len(X), -1))." if vectors.ndim else ""
        raise FileError(f"{path} has shape {vectors.shape}; expected (rows, dimensions). {way_out}".rstrip())
    if 0 in vectors.shape:
        raise FileError(f"{path} has shape {vectors.shape}: there is nothing to cluster.")
    return vectors if not isinstance(vectors, np.memmap) else _plain(vectors)


def _plain(vectors: np.memmap) -> np.ndarray:
    """The same mapping as an ordinary array: code that tests for the type sees what it knows."""
    return vectors.view(np.ndarray)
