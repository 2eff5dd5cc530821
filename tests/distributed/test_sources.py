"""Vectors in parts: every source gives the rows that were written, and what is wrong is named by shard and row."""

import numpy as np
import pytest

from cladify.distributed import open_vectors
from cladify.distributed._job import run
from cladify.errors import FileError, InvalidInput

X = np.random.default_rng(0).normal(size=(1000, 7)).astype(np.float32)


def write_parquet(path, rows, row_group_size=128):
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    pq.write_table(pa.table({"id": np.arange(len(rows)), "vector": lists}), path, row_group_size=row_group_size)


def write_zarr(path, rows):
    import zarr

    array = zarr.create_array(str(path), shape=rows.shape, chunks=(100, rows.shape[1]), dtype=rows.dtype)
    array[:] = rows


WRITERS = {".npy": np.save, ".parquet": write_parquet, ".zarr": write_zarr}


def all_rows(vectors, client):
    parts = run(client, vectors.parts, stage="read")
    assert all(p.dtype == np.float32 and p.flags.c_contiguous for p in parts)
    assert np.diff(vectors.offsets).tolist() == [len(p) for p in parts]
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_folder_of_shards_gives_its_rows_in_order(kind, client, tmp_path):
    if kind == ".zarr":
        pytest.importorskip("zarr")
    for i, rows in enumerate(np.split(X, [300, 301, 800])):
        WRITERS[kind](tmp_path / f"part-{i}{kind}", rows)
    (tmp_path / "_SUCCESS").write_text("")
    vectors = open_vectors(tmp_path, client=client, part_bytes=150 * 7 * 4)
    assert vectors.shape == X.shape and vectors.largest == np.abs(X).max() and vectors.zero_row == -1
    assert len(vectors.parts) > 4, "large shards are cut"
    assert np.array_equal(all_rows(vectors, client), X)
    some = np.array([0, 299, 300, 301, 999])
    assert np.array_equal(run(client, [vectors.take(some)], stage="take")[0], X[some])


def test_dask_arrays_lists_of_files_and_plain_arrays(client, tmp_path):
    import dask.array as da

    np.save(tmp_path / "b.npy", X[:400].astype(np.float64))
    np.save(tmp_path / "a.npy", X[400:])
    sources = [
        da.from_array(X.astype(np.float64), chunks=(123, 4)),
        da.from_array(X, chunks=(200, 7))[np.arange(1000) >= 0],
        da.concatenate([da.from_array(X[:0], chunks=(1, 7)), da.from_array(X, chunks=(400, 7))]),
        [tmp_path / "b.npy", tmp_path / "a.npy"],
        X,
    ]
    for source in sources:
        vectors = open_vectors(source, client=client, part_bytes=5000)
        assert np.array_equal(all_rows(vectors, client), X)
        assert open_vectors(vectors, client=client) is vectors


def test_the_fingerprint_follows_the_values(client):
    first, again, other = (open_vectors(Y, client=client).fingerprint for Y in (X, X.copy(), X + 1))
    assert first == again != other


def test_map_is_one_task_a_part_and_zero_rows_are_found(client):
    Y = X.copy()
    Y[617] = 0
    vectors = open_vectors(Y, client=client, part_bytes=7 * 4 * 100)
    assert vectors.zero_row == 617
    sums = run(client, vectors.map(np.sum, 0), stage="sum")
    assert len(sums) == 10 and np.allclose(np.sum(sums, axis=0), Y.sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("row", [417, 500])
@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_nan_names_the_shard_and_the_row(kind, row, client, tmp_path):
    Y = X.copy()
    Y[[row, 900], 3] = np.nan
    for i, rows in enumerate(np.split(Y, 2)):
        WRITERS[kind](tmp_path / f"part-{i}{kind}", rows)
    where = rf"part-{row // 500}{kind}, rows .*: row {row % 500} \(row {row} of all\) has NaN"
    with pytest.raises(InvalidInput, match=where):
        open_vectors(tmp_path, client=client, part_bytes=200 * 7 * 4)


def test_values_beyond_float32_are_refused(client):
    import dask.array as da

    Y = X.astype(np.float64)
    Y[700, 1] = 1e200
    with pytest.raises(InvalidInput, match=r"chunk 3: row 100 \(row 700 of all\) has NaN, infinity or a value beyond"):
        open_vectors(da.from_array(Y, chunks=(200, 7)), client=client)


def test_another_dimension_names_the_shard(client, tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :6])
    with pytest.raises(InvalidInput, match=r"b.npy, rows 0:1000: row 0 of these has 6 numbers, and .*a.npy.* has 7"):
        open_vectors(tmp_path, client=client)


def test_lists_of_another_length_name_the_row(client, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"vector": [[1.0, 2.0]] * 10 + [[1.0]] + [[1.0, 2.0]] * 9})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=5)
    with pytest.raises(FileError, match=r"a.parquet: .* different length: row 0 has 2, row 10 has 1"):
        open_vectors(tmp_path, client=client, part_bytes=4 * 2 * 5)


@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_a_truncated_file_is_named(kind, client, tmp_path):
    WRITERS[kind](tmp_path / f"a{kind}", X)
    WRITERS[kind](tmp_path / f"b{kind}", X)
    whole = (tmp_path / f"b{kind}").read_bytes()
    (tmp_path / f"b{kind}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=rf"b{kind} is (cut short or )?damaged"):
        open_vectors(tmp_path, client=client)


def test_bad_sources_say_what_is_expected(client, tmp_path):
    import dask.array as da

    with pytest.raises(FileError, match=r"has no shards \(.npy, .parquet, .zarr\). It has: notes.txt"):
        (tmp_path / "notes.txt").write_text("")
        open_vectors(tmp_path, client=client)
    with pytest.raises(FileError, match=r"does not exist"):
        open_vectors(tmp_path / "nowhere", client=client)
    with pytest.raises(FileError, match=r"a shard is one of"):
        open_vectors(tmp_path / "notes.txt", client=client)
    np.save(tmp_path / "a.npy", X[0])
    with pytest.raises(FileError, match=r"a.npy has shape \(7,\)"):
        open_vectors(tmp_path, client=client)
    with pytest.raises(InvalidInput, match=r"shape \(4,\)"):
        open_vectors(da.zeros(4), client=client)
    with pytest.raises(InvalidInput, match=r"not numbers"):
        open_vectors(da.from_array(np.array([["a"]])), client=client)
    with pytest.raises(InvalidInput, match=r"0 rows"):
        open_vectors(da.zeros((0, 3)), client=client)
