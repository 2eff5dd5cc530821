"""One file of each kind that people have, read as they mean it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import write_csv

from cladify.errors import CladifyWarning, FileError
from cladify.taxonomy._rows import Options
from cladify.taxonomy._sources import read_source, typed

TEXTS = ["Größe der Straße", "naïve “café” – 5 €", "señor façade"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("kind", [".csv", ".tsv", ".txt", ".jsonl", ".json"])
def test_text_in_any_encoding(tmp_path, kind, encoding):
    path = tmp_path / f"a{kind}"
    rows = [{"id": i, "body": text} for i, text in enumerate(TEXTS)]
    mark = {".csv": ";", ".tsv": "\t"}.get(kind, "")
    content = {
        ".txt": "\n".join(TEXTS),
        ".json": json.dumps({"count": 3, "rows": rows}, ensure_ascii=False),
        ".jsonl": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows),
    }.get(kind, f"id{mark}body\n" + "".join(f"{i}{mark}{text}\n" for i, text in enumerate(TEXTS)))
    path.write_bytes(content.encode(encoding))
    if encoding == "utf-8-sig":
        assert read_source(path).texts == TEXTS
    else:
        with pytest.warns(CladifyWarning, match=f"read as {encoding}. --encoding"):
            assert read_source(path).texts == TEXTS
    assert read_source(path, options=Options(encoding)).texts == TEXTS


@pytest.mark.parametrize(
    ("text", "encoding", "guess"),
    [("привет мир, как дела сегодня утром\n" * 9, "cp1251", "cp1251"), ("東京の文章です\n" * 9, "shift_jis", "cp932")],
)
def test_other_alphabets_are_guessed(tmp_path, text, encoding, guess):
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    with pytest.warns(CladifyWarning, match=guess):
        assert read_source(tmp_path / "a.txt").texts == text.splitlines()


def test_a_few_broken_bytes_do_not_stop_a_file(tmp_path):
    rows = [f"a line about oaks number {i}" for i in range(60)]
    (tmp_path / "a.txt").write_bytes("\n".join(rows).encode() + b"\n\xff\xfe\xed\xa0\x80 broken \xc3\n")
    with pytest.warns(CladifyWarning, match="6 broken characters"):
        found = read_source(tmp_path / "a.txt").texts
    assert found[:60] == rows and found[60].endswith("broken \ufffd")
    (tmp_path / "b.txt").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(FileError, match="encoding"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_source(tmp_path / "b.txt")


def test_a_first_line_that_looks_like_a_row_is_said(tmp_path):
    (tmp_path / "a.csv").write_text("".join(f"{i},an oak or an elm,{i / 7}\n" for i in range(9)))
    with pytest.warns(CladifyWarning, match="looks like a row"):
        assert len(read_source(tmp_path / "a.csv").texts) == 8
    (tmp_path / "b.csv").write_text("id,text\n1,an oak\n2,an elm\n")
    assert len(read_source(tmp_path / "b.csv").texts) == 2


def test_wrong_encodings_are_one_line(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,b\nü,ü\n".encode("cp1252"))
    with pytest.raises(FileError, match="no encoding 'cp9999'"):
        read_source(tmp_path / "a.csv", options=Options("cp9999"))
    with pytest.raises(FileError, match="not text in utf-8"):
        read_source(tmp_path / "a.csv", options=Options("utf-8"))


def test_keys_within_objects(tmp_path):
    rows = [
        {"key": f"A-{i}", "fields": {"description": text, "by": {"name": "x"}, "tags": [1, 2]}}
        for i, text in enumerate(TEXTS)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = read_source(tmp_path / "a.jsonl", "fields.description")
    assert source.texts == TEXTS and source.ids.to_pydict() == {"key": ["A-0", "A-1", "A-2"]}
    assert source.kept.to_pydict() == {"fields.tags": ["[1, 2]"] * 3, "fields.by.name": ["x"] * 3}


def test_a_sheet_of_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["id", "body", None, "price"])
    for i, text in enumerate(TEXTS):
        book.active.append([i, text, None, 1.5 * i])
    book.create_sheet("other").append(["body"])
    book["other"].append(["elsewhere"])
    book.save(tmp_path / "a.xlsx")
    source = read_source(tmp_path / "a.xlsx")
    assert source.texts == TEXTS and source.kept.to_pydict() == {"price": [0, 1.5, 3]}
    assert read_source(tmp_path / "a.xlsx", options=Options(sheet="other")).texts == ["elsewhere"]
    with pytest.raises(FileError, match="no sheet 'third'"):
        read_source(tmp_path / "a.xlsx", options=Options(sheet="third"))


def test_a_table_of_a_database(tmp_path):
    path = tmp_path / "we ird?.db"
    with sqlite3.connect(path) as database:
        database.execute('CREATE TABLE "po""sts" (id INTEGER, body TEXT, score REAL)')
        database.executemany('INSERT INTO "po""sts" VALUES (?, ?, ?)', [(i, t, i / 2) for i, t in enumerate(TEXTS)])
    database.close()
    source = read_source(path)
    assert source.texts == TEXTS and source.kept.to_pydict() == {"score": [0.0, 0.5, 1.0]}
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE users (name TEXT)")
    database.close()
    with pytest.raises(FileError, match=r'2 tables: po"sts, users. Name one with --sheet'):
        read_source(path)
    (tmp_path / "b.db").write_bytes(b"no database at all, but long enough to be read as one" * 20)
    with pytest.raises(FileError, match=r"damaged or not a .db file"):
        read_source(tmp_path / "b.db")


def test_folders(tmp_path):
    documents = tmp_path / "notes" / "inner"
    documents.mkdir(parents=True)
    (documents.parent / "b.md").write_text("# Title\n\nsome text")
    (documents / "a.txt").write_text("other text")
    source = read_source(tmp_path / "notes")
    assert source.texts == ["# Title\n\nsome text", "other text"]
    assert source.column("path") == ["b.md", "inner/a.txt"]
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(3):
        pq.write_table(pa.table({"id": [i], "text": [TEXTS[i]]}), parts / f"part-{i}.parquet")
    assert read_source(parts).texts == TEXTS
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="has no tables, no images and no files"):
        read_source(tmp_path / "empty")


def test_a_folder_of_qdrant_is_never_unpickled(tmp_path):
    (tmp_path / "collection").mkdir()
    (tmp_path / "meta.json").write_text("{}")
    with pytest.raises(FileError, match=r"a folder of Qdrant.*QdrantClient.scroll.*from_table"):
        read_source(tmp_path)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["1", "-2", ""], "int64"), (["1e3", ".5"], "double"), (["2026-01-31 12:00:00"], "timestamp[s]")]
    + [(["1,5", "2"], "double"), (["1.234,50", "-0,5", ""], "double"), (["31.12.2026", "1.2.2027"], "timestamp[s]")]
    + [(["31.12.2026 23:59"], "timestamp[s]")]
    + [(cells, "string") for cells in (["007", "1"], ["", ""], ["1", "x"], ["1,234", "5"], ["1.2.3"], ["31.13.2026"])],
)
def test_cells_are_numbers_only_if_all_are(cells, kind):
    assert str(typed(pa.chunked_array([cells])).type) == kind


@pytest.mark.parametrize("kind", [".parquet", ".csv"])
def test_reading_takes_little_more_than_the_table(tmp_path, kind):
    n = 100_000
    draw = np.random.default_rng(0)
    text = [f"{a} is beside {b}" for a, b in draw.integers(10**6, size=(n, 2)).tolist()]
    columns = {f"text {i}": text[i:] + text[:i] for i in range(6)} | {f"number {i}": draw.random(n) for i in range(9)}
    table = pa.table({"id": range(n), **columns, "kind": ["one", "other"] * (n // 2)})
    path = tmp_path / f"a{kind}"
    (pq.write_table if kind == ".parquet" else write_csv)(table, path)
    code = "import sys, pyarrow as pa; from cladify.taxonomy._sources import read_source; "
    code += "table = read_source(sys.argv[1]).table; print(pa.default_memory_pool().max_memory() / table.nbytes)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 1.25
    source = read_source(path)
    assert source.table.column_names == table.column_names and source.id_column == "id"
    assert source.table.column("text 3").to_pylist() == columns["text 3"]


@pytest.mark.parametrize(
    ("values", "different"),
    [([1, 2], True), ([2, 1, 2], False), ([1, None], False), (["b", "a"], True), ([[1], [2]], False)],
)
def test_ids_are_all_different(tmp_path, values, different):
    pq.write_table(pa.table({"id": values, "text": ["a"] * len(values)}), tmp_path / "a.parquet")
    assert (read_source(tmp_path / "a.parquet").id_column == "id") == different


def test_parts_of_columns_and_names_with_dots(tmp_path):
    table = pa.table({"a.b": ["x", "y"], "a": [{"b": 1}, {"b": 2}], "text": ["long text", "longer text"]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    assert read_source(tmp_path / "a.parquet").table.column_names == ["a.b", "a", "text"]
