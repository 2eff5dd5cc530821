"""``.h5ad`` (AnnData): the matrix ``X``, a layer, or an embedding in ``obsm``; dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.arrays import MAX_DEFLATE
from cladify._kit.files import PathLike, missing_column
from cladify._kit.memory import check_memory
from cladify.errors import FileError, MissingExtra

#: Bytes that a data set may have beyond those that are stored: values that were never written have none.
_SLACK = 1 << 20


def read_h5ad(path: PathLike, key: str | None) -> Any:
    """``key`` is ``X`` (the default), or a name in ``obsm`` or ``layers``, such as ``X_pca``."""
    try:
        import h5py
    except ImportError:
        raise MissingExtra("Reading .h5ad files", "h5ad") from None

    with h5py.File(path, "r") as file:
        groups = {group: node for group in ("obsm", "layers") if (node := member(path, file, group)) is not None}
        places = {} if file.get("X", getlink=True) is None else {"X": file}
        places |= {name: node for node in groups.values() for name in node if name != "X"}
        name = key or "X"
        node = places.get(name.rsplit("/", 1)[-1])
        if node is None:
            raise missing_column(path, name, list(places), "matrix")
        matrix = member(path, node, name.rsplit("/", 1)[-1])
        return read_values(path, matrix) if isinstance(matrix, h5py.Dataset) else read_sparse(path, matrix)


def member(path: PathLike, group: Any, name: str) -> Any:
    """The entry ``name`` of ``group``, or None; raises where its bytes would come from another file.

    HDF5 has links to other files, data sets whose bytes lie in other files, and data sets put together from others.
    """
    import h5py

    link = group.get(name, getlink=True)
    if link is None:
        return None
    if not isinstance(link, h5py.HardLink):
        raise FileError(f"{path}: {name} is a link; only what lies in the file itself is read.")
    node = group[name]
    if isinstance(node, h5py.Dataset) and (node.external or node.is_virtual):
        raise FileError(f"{path}: {name} takes its bytes from another file; only what lies in the file itself is read.")
    return node


def read_values(path: PathLike, dataset: Any, kinds: str = "fiub") -> np.ndarray:
    """A data set in memory, if it holds numbers (``kinds``) and the file has as many bytes as it promises."""
    if dataset.dtype.kind not in kinds:
        raise FileError(f"{path}: {dataset.name} has dtype {dataset.dtype}; expected numbers.")
    need, stored = dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
    # No filter packs better than the best that deflate can do.
    if need > (MAX_DEFLATE if dataset.id.get_create_plist().get_nfilters() else 1) * stored + _SLACK:
        raise FileError(f"{path} is damaged: {dataset.name} promises {need} bytes, {stored} are there.")
    check_memory(need, f"{dataset.name} of {path}", "choose an embedding, such as X_pca.")
    return np.asarray(dataset[()])


def read_sparse(path: PathLike, group: Any) -> Any:
    """A sparse matrix as CSR rows."""
    from scipy.sparse import csc_matrix, csr_matrix

    encoding = group.attrs.get("encoding-type", "csr_matrix")
    kinds = {"csr_matrix": csr_matrix, "csc_matrix": csc_matrix}
    parts = [member(path, group, name) for name in ("data", "indices", "indptr")]
    if encoding not in kinds or None in parts:
        raise FileError(
            f"{path}: {group.name} is stored as {encoding!r}; expected a dense array, csr_matrix or csc_matrix."
        )
    shape = tuple(int(side) for side in group.attrs["shape"])
    arrays = [read_values(path, part) for part in parts]
    if len(shape) != 2 or len(arrays[2]) != 1 + shape[0 if encoding == "csr_matrix" else 1]:
        raise FileError(f"{path} is damaged: {group.name} has {len(arrays[2])} offsets for shape {shape}.")
    matrix = kinds[encoding](tuple(arrays), shape=shape)
    matrix.check_format(full_check=True)
    check_memory(8 * shape[0], f"{group.name} of {path}, by rows,", "choose an embedding, such as X_pca.")
    return matrix.tocsr()
