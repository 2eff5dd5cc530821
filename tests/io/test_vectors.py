"""Every format gives back the vectors that were written, and says what is wrong with a file that cannot be used."""

import io
import pickle
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sample_files
from scipy.sparse import csr_matrix, issparse, random_array

from cladify.errors import CladifyWarning, FileError, MissingExtra, NotEnoughMemory
from cladify.io import read_vectors


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 200, (23, 5)).astype(np.float32)


@pytest.mark.parametrize("kind", sample_files.VECTOR_KINDS)
def test_round_trip(tmp_path: Path, X: np.ndarray, kind: str) -> None:
    got = read_vectors(sample_files.write(tmp_path / f"v{kind}", X))
    np.testing.assert_array_equal(got, X)
    assert got.dtype == {".csv": np.float64, ".tsv": np.float64, ".bvecs": np.uint8}.get(kind, np.float32)
    assert type(got) is np.ndarray


@pytest.mark.parametrize("kind", [".npy", ".fvecs", ".bvecs"])
def test_memory_mapped(tmp_path: Path, X: np.ndarray, kind: str) -> None:
    got = read_vectors(sample_files.write(tmp_path / f"v{kind}", X))
    base = got
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError):
        got[0, 0] = 1


def test_fortran_order_and_other_types(tmp_path: Path, X: np.ndarray) -> None:
    for dtype in (np.float16, np.float64, ">f4", np.int64, np.uint8, bool):
        np.save(tmp_path / "x.npy", np.asfortranarray(X.astype(dtype)))
        np.testing.assert_array_equal(read_vectors(tmp_path / "x.npy"), X.astype(dtype))


# --- .npz -------------------------------------------------------------------------------------------------------------


def test_npz_choice(tmp_path: Path, X: np.ndarray) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, a=X, y=np.arange(23))
    np.testing.assert_array_equal(read_vectors(path), X)
    np.savez(path, a=X, b=X + 1)
    with pytest.raises(FileError, match=r"several arrays of vectors \(2-D\): a, b\. Choose one"):
        read_vectors(path)
    np.testing.assert_array_equal(read_vectors(path, column="b"), X + 1)
    np.savez(path, a=X + 1, X=X)
    np.testing.assert_array_equal(read_vectors(path), X)
    with pytest.raises(FileError, match=r"no array 'embeding'. It has: a, X"):
        read_vectors(path, column="embeding")
    np.savez(path, y=np.arange(3))
    with pytest.raises(FileError, match=r"no array of vectors \(2-D\)"):
        read_vectors(path)


def test_npz_that_lies_about_its_size(tmp_path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 128)})
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head.getvalue() + b"\0" * 1000)
    with pytest.raises(FileError, match="cut short or damaged: its header promises"):
        read_vectors(path)


def test_npz_that_expands_beyond_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.npz"
    np.savez_compressed(path, X=np.zeros((1000, 100)))
    monkeypatch.setattr("cladify._kit.memory.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match=r"needs 800 kB, 1 kB are free; save it as \.npy"):
        read_vectors(path)


# --- tables -----------------------------------------------------------------------------------------------------------


def test_lists_of_any_kind(tmp_path: Path, X: np.ndarray) -> None:
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.uint8())):
        table = pa.table({"e": pa.array(X.tolist()).cast(kind), "id": list(range(23))})
        pq.write_table(table, tmp_path / "v.parquet", row_group_size=6)
        np.testing.assert_array_equal(read_vectors(tmp_path / "v.parquet"), X)


def test_float_columns_without_the_others(tmp_path: Path, X: np.ndarray) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(sample_files.wide_table(X, id=list(range(23)), name=["n"] * 23), path)
    with pytest.warns(CladifyWarning, match=r"the vectors are 5 number columns without id\. Pass column="):
        np.testing.assert_array_equal(read_vectors(path), X)
    np.testing.assert_array_equal(read_vectors(path, column=["x3", "x0"]), X[:, [3, 0]])
    np.testing.assert_array_equal(read_vectors(path, column="x1"), X[:, [1]])
    with pytest.raises(FileError, match=r"no column 'nam'. Did you mean 'name'\? It has: x0, x1"):
        read_vectors(path, column=["x1", "nam"])
    with pytest.raises(FileError, match="column 'name' holds string; expected numbers"):
        read_vectors(path, column="name")


def test_arrow_stream_and_compression(tmp_path: Path, X: np.ndarray) -> None:
    table = sample_files.list_table(X)
    for options in (None, pa.ipc.IpcWriteOptions(compression="zstd")):
        with pa.ipc.new_stream(str(tmp_path / "s.arrow"), table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=4)
        np.testing.assert_array_equal(read_vectors(tmp_path / "s.arrow"), X)


def test_a_single_batch_is_not_copied(tmp_path: Path, X: np.ndarray) -> None:
    table = sample_files.list_table(X)
    with pa.ipc.new_file(str(tmp_path / "s.arrow"), table.schema) as writer:
        writer.write_table(table)
    got = read_vectors(tmp_path / "s.arrow")
    np.testing.assert_array_equal(got, X)
    assert not got.flags.owndata and not got.flags.writeable


def test_lists_that_are_no_matrix(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    for rows, message in [
        ([[1.0, 2.0], [3.0]], "vectors of different length: row 0 has 2, row 1 has 1"),
        ([[1.0, 2.0], None], "no vector in row 1; drop such rows"),
        ([[], []], "vectors of length 0"),
    ]:
        pq.write_table(pa.table({"e": pa.array(rows, pa.list_(pa.float32()))}), path)
        with pytest.raises(FileError, match=message):
            read_vectors(path)
    pq.write_table(pa.table({"e": pa.array([[1, None], [1, 2]], pa.list_(pa.int32()))}), path)
    with pytest.raises(FileError, match="1 missing numbers; impute them"):
        read_vectors(path)
    pq.write_table(pa.table({"e": pa.array([[1.0]] * 5 + [[1.0, 2.0]] * 5)}), path, row_group_size=5)
    with pytest.raises(FileError, match="different length"):
        read_vectors(path)
    pq.write_table(pa.table({"e": pa.array([], pa.list_(pa.float32()))}), path)
    with pytest.raises(FileError, match="has no rows"):
        read_vectors(path)
    pq.write_table(pa.table({"a": [[1.0]], "b": [[1.0]]}), path)
    with pytest.raises(FileError, match="several columns of vectors: a, b"):
        read_vectors(path)
    pq.write_table(pa.table({"a": ["x"]}), path)
    with pytest.raises(FileError, match=r"no column of vectors or numbers. It has: a"):
        read_vectors(path)


def test_missing_numbers_become_nan_for_validation_to_find(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, None], "b": [3.0, 4.0]}), tmp_path / "v.parquet")
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.parquet"), [[1, 3], [np.nan, 4]])


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1,2\n3,4.5", [[1, 2], [3, 4.5]]),
        ("x,y\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("x;y\r\n1;2\r\n3;4\r\n", [[1, 2], [3, 4]]),
        ("name|a|b\nn|1e-3|-2\n", [[0.001, -2]]),
        ('"a","b"\n"1","2"\n', [[1, 2]]),
        ('name,a,b\n"one, two",1,2\n', [[1, 2]]),
        ("\ufeffa,b\n1,2\n", [[1, 2]]),
        ("a,b\n1,\n3,4\n", [[1, np.nan], [3, 4]]),
        ("a\n1\n2\n", [[1], [2]]),
    ],
)
def test_csv(tmp_path: Path, text: str, expected: list) -> None:
    (tmp_path / "v.csv").write_text(text, encoding="utf-8", newline="")
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.csv"), expected)


def test_csv_integers_then_fractions_over_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladify.io._csv.BLOCK", 1 << 10)
    X = np.repeat(np.arange(500.0)[:, None], 3, axis=1)
    X[300:] += 0.5
    np.savetxt(tmp_path / "v.csv", X, delimiter=",", fmt="%g")
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.csv"), X)


def test_csv_labels_are_not_coordinates(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("id,a,b,label\n7,1,2,0\n8,3,4,1\n")
    with pytest.warns(CladifyWarning, match="without id, label"):
        np.testing.assert_array_equal(read_vectors(tmp_path / "v.csv"), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "has no rows"),
        ("name,text\nx,y\n", "no column of vectors or numbers"),
        ("a,b\n1,2\n3\n", "line 3: expected 2 columns as in the first line, got 1"),
        ("a,a\n1,2\n", "several columns of the same name: a"),
    ],
)
def test_csv_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(FileError, match=message):
        read_vectors(tmp_path / "v.csv")


# --- .h5ad ------------------------------------------------------------------------------------------------------------


def test_h5ad_embedding_and_sparse(tmp_path: Path, X: np.ndarray) -> None:
    path = sample_files.write(tmp_path / "v.h5ad", X)
    np.testing.assert_array_equal(read_vectors(path, column="X_pca"), X[:, :2])
    np.testing.assert_array_equal(read_vectors(path, column="obsm/X_pca"), X[:, :2])
    with pytest.raises(FileError, match=r"no matrix 'X_umap'. It has: X, X_pca"):
        read_vectors(path, column="X_umap")
    S = csr_matrix(random_array((30, 8), density=0.3, rng=np.random.default_rng(0)))
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"] = "csr_matrix"
        group.attrs["shape"] = S.shape
        group["data"], group["indices"], group["indptr"] = S.data, S.indices, S.indptr
    got = read_vectors(path)
    assert issparse(got) and (got != S).nnz == 0
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = 1000
    with pytest.raises(FileError, match="damaged"):
        read_vectors(path)


def test_h5ad_that_claims_to_be_huge(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "v.h5ad", "w") as file:
        file.create_dataset("X", (1 << 32, 1 << 12), dtype="f4", chunks=(16, 16))
    with pytest.raises(FileError, match="promises 70368744177664 bytes, 0 are there"):
        read_vectors(tmp_path / "v.h5ad")


def test_h5ad_without_h5py(tmp_path: Path, X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample_files.write(tmp_path / "v.h5ad", X)
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"pip install 'cladify\[h5ad\]'"):
        read_vectors(path)


# --- files that are not what they should be ---------------------------------------------------------------------------


def test_where_there_is_no_file(tmp_path: Path, X: np.ndarray) -> None:
    np.save(tmp_path / "embeddings.npy", X)
    with pytest.raises(FileError, match=r"embedings.npy does not exist. Did you mean .*embeddings.npy\?"):
        read_vectors(tmp_path / "embedings.npy")
    with pytest.raises(FileError, match="there is no folder"):
        read_vectors(tmp_path / "no" / "x.npy")
    with pytest.raises(FileError, match="is a folder"):
        read_vectors(tmp_path)
    (tmp_path / "model.pkl").write_bytes(b"")
    with pytest.raises(FileError, match=r"'.pkl' files cannot be read as vectors. Known: .*\.npy"):
        read_vectors(tmp_path / "model.pkl")


class Boom:
    """Pickles to something that would make a folder when loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (__import__("os").mkdir, (str(self.path),))


@pytest.mark.parametrize("kind", [".npy", ".npz"])
def test_nothing_is_unpickled(tmp_path: Path, kind: str) -> None:
    array = np.array([[Boom(tmp_path / "boom")]], dtype=object)
    path = tmp_path / f"v{kind}"
    np.save(path, array, allow_pickle=True) if kind == ".npy" else np.savez(path, X=array)
    with pytest.raises(FileError, match=r"Python objects, which cladify never unpickles|no array of vectors"):
        read_vectors(path)
    with pytest.raises(FileError, match="never unpickles"):
        read_vectors(path, column="X")
    path = tmp_path / "raw.npy"
    path.write_bytes(pickle.dumps(Boom(tmp_path / "boom")))
    with pytest.raises(FileError, match=r"damaged or not a .npy file"):
        read_vectors(path)
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1 << 40, 128), "cut short or damaged"),
        ((1 << 62, 1 << 62), "cut short or damaged"),
        ((-4, 4), "cut short or damaged"),
        ((0, 4), "nothing to cluster"),
        ((16,), r"has shape \(16,\); expected \(rows, dimensions\). Reshape"),
        ((), "has shape"),
        ((2, 2, 4), "Reshape it to one row a point"),
    ],
)
def test_npy_shapes(tmp_path: Path, shape: tuple, message: str) -> None:
    with open(tmp_path / "v.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        file.write(np.zeros(16, np.float32).tobytes())
    with pytest.raises(FileError, match=message):
        read_vectors(tmp_path / "v.npy")


def test_npy_of_text(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([["a", "b"]]))
    with pytest.raises(FileError, match=r"not numbers. Embed texts"):
        read_vectors(tmp_path / "v.npy")


@pytest.mark.parametrize("kind", [".fvecs", ".bvecs"])
def test_vecs_that_are_broken(tmp_path: Path, X: np.ndarray, kind: str) -> None:
    path = sample_files.write(tmp_path / f"v{kind}", X)
    raw = path.read_bytes()
    row = len(raw) // len(X)
    changed = bytearray(raw)
    changed[3 * row] = 9
    for content, message in [
        (raw[:-1], "cut short or not"),
        (b"", "is empty"),
        (b"\xff" * 8, "starts with dimension -1"),
        (bytes(changed), "rows of different dimension: row 0 has 5, row 3 has 9"),
    ]:
        path.write_bytes(content)
        with pytest.raises(FileError, match=message):
            read_vectors(path)


def test_sparse_npz(tmp_path: Path) -> None:
    from scipy.sparse import coo_matrix, save_npz

    S = csr_matrix(random_array((30, 8), density=0.3, rng=np.random.default_rng(0)))
    for matrix in (S, S.tocsc()):
        save_npz(tmp_path / "s.npz", matrix)
        got = read_vectors(tmp_path / "s.npz")
        assert got.format == "csr" and (got != S).nnz == 0
    save_npz(tmp_path / "s.npz", coo_matrix((3, 3)))
    with pytest.raises(FileError, match=r"several arrays|no array of vectors"):
        read_vectors(tmp_path / "s.npz")
    save_npz(tmp_path / "s.npz", S.tobsr())
    with pytest.raises(FileError, match="save it as CSR"):
        read_vectors(tmp_path / "s.npz")
    np.savez(tmp_path / "s.npz", data=S.data, indices=S.indices + 100, indptr=S.indptr, shape=S.shape, format=b"csr")
    with pytest.raises(FileError, match="damaged"):
        read_vectors(tmp_path / "s.npz")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_small_arrow_file_that_unpacks_to_more_than_memory_is_refused(tmp_path, stream, codec):
    import pyarrow as pa

    from cladify._kit.memory import available_memory
    from cladify.errors import NotEnoughMemory

    batch = pa.record_batch({"x": np.zeros(1 << 20)})
    path = tmp_path / "bomb.arrow"
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), batch.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        for _ in range(20):
            writer.write_batch(batch)
    assert read_vectors(path).shape == (20 << 20, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cladify._kit.memory.available_memory", lambda: 100 << 20)
        with pytest.raises(NotEnoughMemory, match="unpacked, needs 168 MB"):
            read_vectors(path)
    assert available_memory() > 0


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables_of_many_columns_are_quick(tmp_path, kind):
    """24 s for 20 000 columns: every look at the names made them anew."""
    import time

    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({f"gene {i}": np.arange(3.0) for i in range(20_000)})
    path = tmp_path / f"wide.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    began = time.process_time()
    assert read_vectors(path).shape == (3, 20_000)
    assert read_vectors(path, column=[f"gene {i}" for i in range(20_000)]).shape == (3, 20_000)
    assert time.process_time() - began < 8
