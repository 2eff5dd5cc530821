"""``.h5ad`` (AnnData): names of the rows and graphs of neighbours in, labels back out into a copy."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.atomic import atomic_path
from cladify._kit.files import PathLike, find_file, missing_column, reading
from cladify.errors import FileError, InvalidInput, MissingExtra
from cladify.io._h5ad import member, read_sparse, read_values

if TYPE_CHECKING:
    import pyarrow as pa

    from cladify.neighbors import NeighborGraph

__all__ = ["read_obs", "read_obsp", "write_labels_into"]

_PREFIX = "cladify_"


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("Reading .h5ad files", "h5ad") from None
    return h5py


def read_obs(path: PathLike, column: str | None = None) -> list[str]:
    """A column of ``obs`` as text, categories by name; by default the names of the rows."""
    h5py = _h5py()
    with reading(find_file(path), ".h5ad"), h5py.File(path, "r") as file:
        obs = _obs(path, file)
        name = column or _text(obs.attrs.get("_index", "_index"))
        node = member(path, obs, name)
        if node is None:
            raise missing_column(path, name, [str(key) for key in obs])
        if isinstance(node, h5py.Dataset):
            return _texts(path, node)
        parts = [member(path, node, part) for part in ("categories", "codes")]
        if None in parts:
            raise FileError(f"{path}: obs/{name} is stored in a way that is not known here.")
        categories, codes = _texts(path, parts[0]), read_values(path, parts[1], "iu")
        if codes.size and not -1 <= codes.min() <= codes.max() < len(categories):
            raise FileError(f"{path}: obs/{name} has codes without a category.")
        return [categories[code] if code >= 0 else "" for code in codes.tolist()]


def _obs(path: PathLike, file: Any) -> Any:
    obs = member(path, file, "obs")
    if obs is None or not hasattr(obs, "keys"):
        raise FileError(f"{path} has no obs, which names the rows of an .h5ad file.")
    return obs


def _texts(path: PathLike, dataset: Any) -> list[str]:
    return [_text(value) for value in read_values(path, dataset, "fiubOSU").tolist()]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def read_obsp(path: PathLike, name: str) -> NeighborGraph:
    """The graph of similarities called ``name`` in ``obsp``, such as ``connectivities``."""
    from cladify.neighbors import NeighborGraph

    h5py = _h5py()
    with reading(find_file(path), ".h5ad"), h5py.File(path, "r") as file:
        group = member(path, file, "obsp")
        node = None if group is None else member(path, group, name)
        if node is None:
            raise missing_column(path, name, [str(key) for key in group or ()], "graph in obsp called")
        matrix = read_sparse(path, node)
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidInput(f"{path}: obsp/{name} has shape {matrix.shape}; expected a square matrix.")
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return NeighborGraph.from_scipy(matrix.tocsr(), kind="similarity")


def write_labels_into(source: PathLike, target: PathLike, table: pa.Table) -> None:
    """A copy of ``source`` with the labels, names and confidences of ``table`` as columns of ``obs``.

    Columns are called ``cladify_label_1``, ``cladify_name_1``, … and replace those of an earlier run.
    """
    h5py = _h5py()
    find_file(source)
    with atomic_path(target) as draft:
        shutil.copyfile(source, draft)
        with reading(source, ".h5ad"), h5py.File(draft, "r+") as file:
            obs = _obs(source, file)
            index = member(source, obs, _text(obs.attrs.get("_index", "_index")))
            n_rows = 0 if index is None else len(index)
            if n_rows != table.num_rows:
                raise InvalidInput(f"{source} has {n_rows} rows and the taxonomy {table.num_rows} items.")
            order = [_text(name) for name in obs.attrs.get("column-order", [])]
            for name in table.column_names:
                if name.startswith(("label_", "name_", "confidence_", "also_")) or name == "path":
                    _write_column(h5py, obs, _PREFIX + name, table.column(name))
                    order = [*(old for old in order if old != _PREFIX + name), _PREFIX + name]
            obs.attrs["column-order"] = np.array(order, dtype=h5py.string_dtype())


def _write_column(h5py: Any, obs: Any, name: str, column: Any) -> None:
    """One column as AnnData stores it: numbers as an array, text as a categorical."""
    import pyarrow as pa

    if name in obs:
        del obs[name]
    if not pa.types.is_string(column.type):
        data = obs.create_dataset(name, data=column.to_numpy())
        data.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        return
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded if isinstance(encoded, pa.DictionaryArray) else encoded.combine_chunks()
    group = obs.create_group(name)
    group.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
    indices = np.asarray(encoded.indices.fill_null(-1)).astype(np.int32)  # -1: missing
    codes = group.create_dataset("codes", data=indices)
    codes.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    texts = np.array(encoded.dictionary.to_pylist(), dtype=object)
    categories = group.create_dataset("categories", data=texts, dtype=h5py.string_dtype())
    categories.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
