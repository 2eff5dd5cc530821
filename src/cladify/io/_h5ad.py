"""``.h5ad`` (AnnData): the matrix ``X``, a layer, or an embedding in ``obsm``; dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladify._kit.files import PathLike, missing_column
from cladify._kit.memory import check_memory
from cladify.errors import FileError, MissingExtra


def read_h5ad(path: PathLike, key: str | None) -> Any:
    """``key`` is ``X`` (the default), or a name in ``obsm`` or ``layers``, such as ``X_pca``."""
    try:
        import h5py
    except ImportError:
        raise MissingExtra("Reading .h5ad files", "h5ad") from None

    with h5py.File(path, "r") as file:
        places = {
            **({"X": "X"} if "X" in file else {}),
            **{name: f"{group}/{name}" for group in ("obsm", "layers") if group in file for name in file[group]},
        }
        name = key or "X"
        place = places.get(name.rsplit("/", 1)[-1])
        if place is None:
            raise missing_column(path, name, list(places), "matrix")
        node = file[place]
        if isinstance(node, h5py.Dataset):
            _check_numbers(path, node)
            return np.asarray(node[()])
        return read_sparse(path, node)


def _check_numbers(path: PathLike, dataset: Any) -> None:
    if dataset.dtype.kind not in "fiub":
        raise FileError(f"{path}: {dataset.name} has dtype {dataset.dtype}; expected numbers.")
    check_memory(
        dataset.size * dataset.dtype.itemsize, f"{dataset.name} of {path}", "choose an embedding, such as X_pca."
    )


def read_sparse(path: PathLike, group: Any) -> Any:
    from scipy.sparse import csc_matrix, csr_matrix

    encoding = group.attrs.get("encoding-type", "csr_matrix")
    kinds = {"csr_matrix": csr_matrix, "csc_matrix": csc_matrix}
    if encoding not in kinds or not {"data", "indices", "indptr"} <= set(group):
        raise FileError(
            f"{path}: {group.name} is stored as {encoding!r}; expected a dense array, csr_matrix or csc_matrix."
        )
    for part in ("data", "indices", "indptr"):
        _check_numbers(path, group[part])
    shape = tuple(int(side) for side in group.attrs["shape"])
    matrix = kinds[encoding]((group["data"][()], group["indices"][()], group["indptr"][()]), shape=shape)
    matrix.check_format(full_check=True)
    return matrix.tocsr()
