"""``.npy`` and ``.npz``: nothing is unpickled, and no header is believed before the file's size bears it out."""

from __future__ import annotations

import math
import os
import threading
import zipfile
from typing import IO, Any

import numpy as np

from cladify._kit.files import PathLike, listing, missing_column
from cladify._kit.memory import check_memory
from cladify.errors import FileError

#: Deflate cannot shrink data by more than this factor, so a larger claim is a lie.
MAX_DEFLATE = 1032

#: Held while a header is parsed: CPython 3.11 may fail where several threads parse literals at once.
PARSING = threading.Lock()

Header = tuple[tuple[int, ...], bool, np.dtype]


def read_npy(path: PathLike) -> np.ndarray:
    """The array of a ``.npy`` file, memory-mapped read-only."""
    with open(path, "rb") as file:
        shape, fortran_order, dtype = _header(file, path)
        offset = file.tell()
        size = os.fstat(file.fileno()).st_size
    _check_size(path, shape, dtype, size - offset)
    if 0 in shape:
        return np.empty(shape, dtype)
    order: Any = "F" if fortran_order else "C"
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)


def read_npz(path: PathLike, key: str | None, names: tuple[str, ...], ndim: int) -> np.ndarray:
    """One array of a ``.npz`` file: ``key``, or the only one with ``ndim`` axes, or the first of ``names``."""
    size = os.stat(path).st_size
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        name = key if key is not None else _choose(path, archive, members, names, ndim)
        if name not in members:
            raise missing_column(path, name, list(members), "array")
        info = members[name]
        if info.compress_size > size or info.file_size > MAX_DEFLATE * info.compress_size + 1024:
            raise FileError(f"{path} is damaged: array {name!r} claims {info.file_size} bytes in a file of {size}.")
        with archive.open(info) as member:
            shape, _, dtype = _header(member, f"{path}, array {name!r},")
            _check_size(path, shape, dtype, info.file_size - member.tell())
        check_memory(
            info.file_size, f"array {name!r} of {path}", "save it as .npy, which cladify reads without loading."
        )
        with PARSING, archive.open(info) as member:
            return np.lib.format.read_array(member, allow_pickle=False)


def read_sparse_npz(path: PathLike) -> Any:
    """CSR rows that SciPy's ``save_npz`` wrote, or None where the file is something else."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    if not {"indices.npy", "indptr.npy", "data.npy", "shape.npy", "format.npy"} <= names:
        return None
    from scipy.sparse import csc_matrix, csr_matrix

    kinds = {b"csr": csr_matrix, b"csc": csc_matrix}
    kind = read_npz(path, "format", (), ndim=0).item()
    if kind not in kinds:
        raise FileError(f"{path} holds a sparse matrix in format {kind!r}; save it as CSR: save_npz(path, X.tocsr()).")
    parts = [read_npz(path, name, (), ndim=1) for name in ("data", "indices", "indptr")]
    shape = tuple(int(side) for side in read_npz(path, "shape", (), ndim=1))
    matrix = kinds[kind](tuple(parts), shape=shape)
    matrix.check_format(full_check=True)
    return matrix.tocsr()


def _choose(
    path: PathLike, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], names: tuple[str, ...], ndim: int
) -> str:
    fitting = []
    for name, info in members.items():
        with archive.open(info) as member:
            try:
                shape, _, _ = _header(member, path)
            except FileError:
                continue
            if len(shape) == ndim:
                fitting.append(name)
    if len(fitting) == 1:
        return fitting[0]
    for name in names:
        if name in fitting:
            return name
    axes = {1: "one label a row (1-D)", 2: "vectors (2-D)"}[ndim]
    if not fitting:
        raise FileError(f"{path} has no array of {axes}. It has: {listing(members)}.")
    raise FileError(f"{path} has several arrays of {axes}: {listing(fitting)}. Choose one by its name with column=...")


def _header(file: IO[bytes], where: PathLike) -> Header:
    """Shape, order and type of the array that follows; only plain numbers and text pass."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise FileError(
            f"{where} is a .npy file of version {version[0]}.{version[1]}; only plain arrays of numbers are read."
        )
    with PARSING:
        first = version == (1, 0)
        header: Header = (np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0)(file)
    if header[2].hasobject:
        raise FileError(
            f"{where} holds Python objects, which cladify never unpickles. "
            "Save numbers instead: np.save(path, X.astype('float32'))."
        )
    if header[2].kind not in "fiubUS":
        raise FileError(f"{where} has dtype {header[2]}; expected numbers.")
    return header


def _check_size(path: PathLike, shape: tuple[int, ...], dtype: np.dtype, available: int) -> None:
    need = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or need > available:
        there = f"promises {need} bytes of shape {shape}, {max(available, 0)} are there"
        raise FileError(f"{path} is cut short or damaged: its header {there}.")


def aligned(array: np.ndarray) -> np.ndarray:
    """The array, copied where its numbers lie across words (a field of records, bytes at an odd offset).

    The native core reads whole words, and some processors fault on any other address.
    """
    return np.require(array, requirements="A")


def column_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]
