"""Writes small files of every format the readers take."""

from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq


def list_table(X: np.ndarray, **columns: list) -> pa.Table:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    return pa.table({"embedding": lists, **columns})


def wide_table(X: np.ndarray, **columns: list) -> pa.Table:
    return pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, **columns})


def vecs(path: Path, X: np.ndarray) -> None:
    dimension = np.full((len(X), 1), X.shape[1], "<i4").view(np.uint8).reshape(len(X), 4)
    np.hstack([dimension, np.ascontiguousarray(X).view(np.uint8).reshape(len(X), -1)]).tofile(path)


def write(path: Path, X: np.ndarray) -> Path:
    """``X`` in the format that the ending of ``path`` names; every file also has one text column where it can."""
    names = [f"item {i}" for i in range(len(X))]
    kind = path.suffix
    if kind == ".npy":
        np.save(path, X)
    elif kind == ".npz":
        np.savez_compressed(path, X=X, names=np.array(names))
    elif kind == ".parquet":
        pq.write_table(list_table(X, name=names), path, row_group_size=7)
    elif kind == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, list_table(X).schema) as writer:
            writer.write_table(list_table(X), max_chunksize=7)
    elif kind == ".feather":
        pa.feather.write_feather(wide_table(X, name=names), path)
    elif kind in (".csv", ".tsv"):
        mark = "," if kind == ".csv" else "\t"
        lines = [mark.join(["name", *(f"x{j}" for j in range(X.shape[1]))])]
        lines += [mark.join([name, *map(repr, map(float, row))]) for name, row in zip(names, X, strict=True)]
        path.write_text("\n".join(lines) + "\n")
    elif kind in (".fvecs", ".bvecs"):
        vecs(path, X.astype("<f4" if kind == ".fvecs" else "u1"))
    elif kind == ".h5ad":
        with h5py.File(path, "w") as file:
            file["X"] = X
            file["obsm/X_pca"] = X[:, :2]
    else:
        raise ValueError(kind)
    return path


VECTOR_KINDS = [".npy", ".npz", ".parquet", ".arrow", ".feather", ".csv", ".tsv", ".fvecs", ".bvecs", ".h5ad"]


def mutated(raw: bytes, random: np.random.Generator) -> bytes:
    """Cut short, bytes flipped, numbers blown up, pieces repeated and removed, up to three times."""
    data = bytearray(raw)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(max(1, len(data))))
        span = int(random.integers(1, 9))
        match random.integers(7):
            case 0:
                data[at : at + span] = random.bytes(span)
            case 1:
                data[at : at + span] = b"\xff" * span
            case 2:
                data[at : at + span] = b"\x7f" * span
            case 3:
                del data[at : at + span * 8]
            case 4:
                data[at:at] = data[at : at + span * 8]
            case 5:
                data[at : at + 1] = bytes(byte ^ (1 << int(random.integers(8))) for byte in data[at : at + 1])
            case _:
                del data[at:]
    return bytes(data)
