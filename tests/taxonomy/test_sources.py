"""Texts from files: every row, in order, whatever is in it."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cladify.errors import FileError, InvalidType
from cladify.taxonomy._kept import columns_of
from cladify.taxonomy._sources import as_table, read_source

ODD = ['a "quoted" text', "two\nlines\r\nand more", "semi; colon, comma\ttab", "", "naïve 漢字 \x1b[31m", "  spaces  "]


def write(path, texts, kind):
    rows = [{"id": i, "body": text, "title": f"t{i}"} for i, text in enumerate(texts)]
    if kind in (".csv", ".tsv"):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "body", "title"], delimiter="," if kind == ".csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pa.Table.from_pylist(rows).schema) as writer:
            writer.write_table(pa.Table.from_pylist(rows))


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"])
def test_texts_come_back_as_they_were(tmp_path, kind):
    path = tmp_path / f"posts{kind}"
    write(path, ODD, kind)
    source = read_source(path, "body")
    assert source.texts == ODD and source.column("title") == [f"t{i}" for i in range(len(ODD))]
    assert read_source(path).text_column == "body"
    with pytest.raises(FileError, match=r"has no column 'bdy'. Did you mean 'body'"):
        read_source(path, "bdy")


def test_frames_and_files_of_polars_hold_views_of_texts(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": ["a", "b", "c"], "body": ["one text", None, "a third"], "kind": ["x", "y", "x"]})
    frame = frame.with_columns(polars.col("kind").cast(polars.Categorical))
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_ipc_stream(tmp_path / "b.arrow")
    for source in (as_table(frame), *(read_source(tmp_path / name).table for name in ("a.arrow", "b.arrow"))):
        assert source.to_pydict() == frame.to_dict(as_series=False)
        assert {str(kind) for kind in source.schema.types} == {"large_string"}
    assert read_source(tmp_path / "a.arrow").id_column == "id"
    assert columns_of(frame, 3).to_pydict() == frame.to_dict(as_series=False)
    with pytest.raises(InvalidType, match=r"got LazyFrame\. Collect it first"):
        as_table(frame.lazy())


def test_the_column_of_the_longest_texts_is_taken(tmp_path):
    (tmp_path / "a.csv").write_text("key,note\nab,a long sentence about things\ncd,another one\n")
    assert read_source(tmp_path / "a.csv").text_column == "note"


def test_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\n\nfour")
    assert read_source(tmp_path / "a.txt").texts == ["one", "two", "", "four"]
    with pytest.raises(FileError, match="lines, not columns"):
        read_source(tmp_path / "a.txt", "body")


def test_a_huge_text_in_a_table(tmp_path):
    write(tmp_path / "a.csv", ["x" * 10_000_000, "y"], ".csv")
    assert [len(text) for text in read_source(tmp_path / "a.csv", "body").texts] == [10_000_000, 1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"id,body\n", "has no rows"),
        ("a.csv", b"id,body\n1,a,b\n", "line 2: expected 2 columns as in the first line, got 3"),
        ("a.csv", b"id,id\n1,a\n", "several columns of the same name"),
        ("a.csv", b"id,body\n1,\xff\n", "not UTF-8"),
        ("a.jsonl", b'{"a": "b"}\n{oops\n', "line 2 is not JSON"),
        ("a.parquet", b"PAR1 no", "damaged or not a .parquet file"),
        ("a.docx", b"x", "cannot be read as texts"),
        ("a.jsonl", b'{"a": 1}\n', "no column of texts"),
    ],
)
def test_bad_files_are_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=message) as caught:
        read_source(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "text", "kind", "expected"),
    [
        (b"one\ntwo\n", None, None, ["one", "two"]),
        (b'{"body": "one"}\n{"body": "two"}\n', None, None, ["one", "two"]),
        (b'"one"\n"two"\n', None, None, ["one", "two"]),
        (b"id,body\n1,one\n2,two\n", "body", None, ["one", "two"]),
        (b"id\tbody\n1\tone, x\n", "body", "tsv", ["one, x"]),
    ],
)
def test_standard_input(monkeypatch, data, text, kind, expected):
    class Stdin:
        buffer = io.BytesIO(data)

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read_source("-", text, kind=kind).texts == expected
