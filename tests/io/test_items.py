"""Items and labels from every format."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cladify.errors import FileError, InvalidInput
from cladify.io import check_items, read_items, read_labels, write_labels


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_lines(tmp_path: Path) -> None:
    assert read_items(put(tmp_path / "a.txt", "one\r\ntwö\n\nthree")) == ["one", "twö", "", "three"]
    assert read_items(put(tmp_path / "a.txt", "\ufeffone\n")) == ["one"]
    with pytest.raises(FileError, match=r"is not UTF-8 text .byte 0xff at offset 3"):
        read_items(put(tmp_path / "a.txt", b"abc\xff"))


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert read_items(put(path, '"one"\n2\n\nnull\n')) == ["one", "2", ""]
    assert read_items(put(path, '{"id": 1, "title": "a"}\n{"title": "b"}\n')) == ["a", "b"]
    assert read_items(put(path, '{"id": 1, "foo": "a"}\n')) == ["a"]
    assert read_items(path, "id") == ["1"]
    for text, message in [
        ('{"title": "a"}\n{"titel": "b"}\n', "no key, line 2, 'title'. Did you mean 'titel'"),
        ('{"title": "a"\n', "line 1 is not JSON"),
        ("[" * 100_000 + "\n", "line 1 is not JSON"),
        ('{"p": "a", "q": "b"}\n', "several keys: p, q. Choose"),
    ]:
        with pytest.raises(FileError, match=message):
            read_items(put(path, text))


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_tables(tmp_path: Path, kind: str) -> None:
    def table(**columns: list) -> Path:
        path = tmp_path / f"a{kind}"
        if kind == ".parquet":
            pq.write_table(pa.table(columns), path)
            return path
        rows = zip(*columns.values(), strict=True)
        return put(path, "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))

    assert read_items(table(x=[1.5, 2.5], name=["a", "b"])) == ["a", "b"]
    assert read_items(table(x=[1.5, 2.5], foo=["a", "b"])) == ["a", "b"]
    assert read_items(table(foo=["c", "d"], Title=["a", "b"])) == ["a", "b"]
    assert read_items(table(foo=["c", "d"], bar=["a", "b"]), "foo") == ["c", "d"]
    with pytest.raises(FileError, match=r"several columns: foo, bar\. Choose the one with the items"):
        read_items(table(foo=["c", "d"], bar=["a", "b"]))
    with pytest.raises(FileError, match=r"no column 'baz'. Did you mean 'bar'"):
        read_items(table(foo=["c", "d"], bar=["a", "b"]), "baz")


def test_labels(tmp_path: Path) -> None:
    for labels in (np.array([0, 2, -1]), np.array(["a", "b", "a"])):
        for kind in (".npy", ".txt", ".csv", ".tsv", ".parquet"):
            write_labels(tmp_path / f"y{kind}", labels)
            got = read_labels(tmp_path / f"y{kind}")
            np.testing.assert_array_equal(got, labels)
            assert got.dtype.kind == labels.dtype.kind, kind
    np.savez(tmp_path / "y.npz", X=np.zeros((3, 2)), y=[5, 6, 7], z=[1, 2, 3])
    assert read_labels(tmp_path / "y.npz").tolist() == [5, 6, 7]
    assert read_labels(tmp_path / "y.npz", "z").tolist() == [1, 2, 3]
    np.save(tmp_path / "y.npy", np.zeros((2, 2)))
    with pytest.raises(FileError, match="expected one of the labels a row"):
        read_labels(tmp_path / "y.npy")


def test_labels_beside_items(tmp_path: Path) -> None:
    for kind in (".csv", ".parquet"):
        write_labels(tmp_path / f"y{kind}", np.array([1, 0]), ['a, "quoted"', "b"])
        assert read_items(tmp_path / f"y{kind}") == ['a, "quoted"', "b"]
        assert read_labels(tmp_path / f"y{kind}").tolist() == [1, 0]
    with pytest.raises(FileError, match=r"known endings are .csv"):
        write_labels(tmp_path / "y.pkl", np.array([1]))


def test_one_item_a_row() -> None:
    check_items(["a"], 1)
    with pytest.raises(InvalidInput, match="there are 2 items for 3 rows in X; there must be one for each"):
        check_items(["a", "b"], 3)
