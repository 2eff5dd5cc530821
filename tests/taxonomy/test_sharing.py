"""`Taxonomy.from_table`: rows in any form, with every column; and Arrow out."""

import json
import shutil
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cladify.errors import FileError, InvalidInput, InvalidType
from cladify.taxonomy import Taxonomy

WORDS = ["red apple pie", "green apple tart", "ripe apple jam", "steam engine", "diesel engine", "old steam train"]
ROWS = [
    {"id": 10 + i, "title": f"T{i} {word}", "body": f"about {word} and more", "score": 0.5 * i, "vec": vec}
    for i, (word, vec) in enumerate(
        zip(WORDS, [[1.0, i / 10] for i in range(3)] + [[i / 10, 1.0] for i in range(3)], strict=True)
    )
]


def forms():
    frame = pd.DataFrame(ROWS)
    return {
        "pandas": frame,
        "polars": pl.DataFrame(ROWS),
        "arrow": pa.Table.from_pylist(ROWS),
        "batches": pa.Table.from_pylist(ROWS).to_reader(max_chunksize=2),
        "list": ROWS,
        "mapping": frame.to_dict("list"),
    }


@pytest.mark.parametrize("form", list(forms()))
def test_every_form_gives_the_same_taxonomy(form):
    made = Taxonomy.from_table(forms()[form], text={"title": 2, "body": 1}, min_size=2)
    assert made.info["source"]["taken"].startswith("vectors: vec, texts: title:2 + body")
    assert made.items == [row["title"] for row in ROWS]
    assert made.columns.column("body").to_pylist() == [row["body"] for row in ROWS]
    assert made.columns.column("score").to_pylist() == [row["score"] for row in ROWS]
    assert made.ids == (list(range(6)) if form == "pandas" else [row["id"] for row in ROWS])
    assert len(set(made.tree.parent[:3])) == 1 and made.tree.parent[0] != made.tree.parent[3]  # by the vectors


def test_a_duckdb_relation_and_an_adbc_reader():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_arrow(pa.Table.from_pylist(ROWS))
    assert Taxonomy.from_table(relation, min_size=2).ids == [row["id"] for row in ROWS]


def test_a_pandas_index_joins_back_unless_an_id_is_named():
    frame = pd.DataFrame(ROWS).drop(columns="vec").iloc[[4, 0, 3, 1, 5]]
    made = Taxonomy.from_table(frame, text="body", min_size=2)
    joined = frame.join(made.table())
    assert joined["item"].tolist() == frame["body"].tolist()
    named = Taxonomy.from_table(frame, text="body", id="id", min_size=2)
    assert named.table().index.tolist() == frame["id"].tolist()


def test_weights_are_repetitions_and_every_wrong_use_is_one_line():
    seen = []

    def embedder(texts):
        seen.extend(texts)
        return np.eye(2)[[0, 0, 0, 1, 1, 1]] + 0.01

    Taxonomy.from_table(ROWS, text="title:2,body", vectors=None, embedder=embedder, min_size=2)
    assert not seen  # there are vectors
    plain = [{key: row[key] for key in ("title", "body")} for row in ROWS]
    Taxonomy.from_table(plain, text="title:2, body", embedder=embedder, min_size=2)
    assert seen[0] == "T0 red apple pie\nT0 red apple pie\nabout red apple pie and more"
    for text, match in [
        ("titel", "Did you mean 'title'"),
        ("title:0", "from 1 to 9"),
        ("title:x,body", "weight"),
        ([], "at least"),
    ]:
        with pytest.raises((FileError, InvalidInput), match=match):
            Taxonomy.from_table(plain, text=text)
    with pytest.raises(FileError, match="has no column 'nope'"):
        Taxonomy.from_table(plain, label="nope")
    with pytest.raises(FileError, match="has no column 'nope'"):
        Taxonomy.from_table(plain, vectors="nope")
    with pytest.raises(InvalidType, match="must be a path, a frame"):
        Taxonomy.from_table(3)
    with pytest.raises(FileError, match="several columns of vectors"):
        Taxonomy.from_table([row | {"two": [1.0, 2.0]} for row in ROWS])
    with pytest.raises(InvalidInput, match="from_table"):
        Taxonomy.from_texts(pd.DataFrame(plain))


def test_columns_of_numbers_as_vectors_and_labels_for_the_report():
    rows = [{"x": row["vec"][0], "y": row["vec"][1], "kind": "a" if i < 3 else "b"} for i, row in enumerate(ROWS)]
    made = Taxonomy.from_table(rows, vectors=["x", "y"], label="kind", min_size=2)
    assert made.report(resamples=0).agreement.levels[0].purity == 1.0


def write_sqlite(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE posts (id INTEGER, title TEXT, body TEXT, score REAL)")
        database.executemany(
            "INSERT INTO posts VALUES (:id, :title, :body, :score)",
            [{k: v for k, v in row.items() if k != "vec"} for row in ROWS],
        )
    database.close()


def write_duckdb(path):
    duckdb = pytest.importorskip("duckdb")
    table = pa.Table.from_pylist(ROWS)
    with duckdb.connect(str(path)) as database:
        database.register("given", table)
        database.execute("CREATE TABLE posts AS SELECT * FROM given")


def write_lance(path):
    lance = pytest.importorskip("lance")
    lance.write_dataset(pa.Table.from_pylist(ROWS), str(path))


def write_lancedb(path):
    path.mkdir()
    write_lance(path / "posts.lance")


def write_folder(path):
    path.mkdir()
    for i in range(3):
        with pa.OSFile(str(path / f"p{i}.feather"), "wb") as sink:
            part = pa.Table.from_pylist(ROWS[2 * i : 2 * i + 2])
            with pa.ipc.new_file(sink, part.schema) as writer:
                writer.write_table(part)


WRITERS = {
    "a.sqlite": write_sqlite,
    "a.duckdb": write_duckdb,
    "a.lance": write_lance,
    "lancedb": write_lancedb,
    "folder": write_folder,
    "a.json": lambda path: path.write_text(json.dumps({"posts": ROWS})),
    "a.jsonl": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in ROWS)),
    "a.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "a.csv": lambda path: pd.DataFrame(ROWS).drop(columns="vec").to_csv(path, sep=";", index=False, encoding="cp1252"),
    "a.xlsx": lambda path: pd.DataFrame(ROWS).drop(columns="vec").to_excel(path, index=False),
}


@pytest.mark.parametrize("name", list(WRITERS))
def test_every_file_is_right_at_once(tmp_path, name):
    WRITERS[name](tmp_path / name)
    made = Taxonomy.from_table(tmp_path / name, min_size=2)
    assert made.ids == [row["id"] for row in ROWS] and made.items == [row["body"] for row in ROWS]
    assert made.columns.column_names == ["title", "score"]
    assert made.columns.column("score").to_pylist() == [row["score"] for row in ROWS]
    has_vectors = name not in ("a.sqlite", "a.csv", "a.xlsx")
    assert made.info["source"]["taken"].startswith("vectors: vec, texts: body, ids: id") == has_vectors


def test_images_need_an_embedder_of_theirs(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.png").write_bytes(b"\x89PNG")
    with pytest.raises(InvalidInput, match="a folder of images needs vectors"):
        Taxonomy.from_table(tmp_path)
    rows = np.eye(2)[[0, 0, 0, 1, 1, 1]] + 0.01
    made = Taxonomy.from_table(tmp_path, embedder=lambda paths: rows[: len(paths)], min_size=2)
    assert made.items == [str(tmp_path / f"{i}.png") for i in range(6)]


def test_the_hub_is_read_file_by_file(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    pq.write_table(pa.Table.from_pylist(ROWS[:3]), tmp_path / "a.parquet")
    pq.write_table(pa.Table.from_pylist(ROWS[3:]), tmp_path / "b.parquet")

    class Files:
        def isfile(self, path):
            return False

        def find(self, path):
            if "gone" in path:
                raise OSError("no route to host\nmore")
            return [str(tmp_path / "b.parquet"), str(tmp_path / "a.parquet"), "README.md"]

        def get_file(self, name, target):
            shutil.copy(name, target)

    monkeypatch.setattr(hub, "HfFileSystem", Files)
    made = Taxonomy.from_table("hf://datasets/someone/posts", min_size=2)
    assert made.ids == [row["id"] for row in ROWS]
    with pytest.raises(FileError, match=r"cannot be fetched: no route to host$"):
        Taxonomy.from_table("hf://datasets/gone")


def test_a_duckdb_view_reaches_no_other_file(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    with pytest.raises(FileError, match="cannot be read by DuckDB"):
        Taxonomy.from_table(tmp_path / "v.duckdb")
    (tmp_path / "no.duckdb").write_bytes(b"nonsense" * 1000)
    with pytest.raises(FileError, match="cannot be read by DuckDB"):
        Taxonomy.from_table(tmp_path / "no.duckdb")


def test_json_lines_of_many_batches_have_one_type_a_column(tmp_path):
    n = 25_000
    rows = [{"a": i if i < 12_000 else i + 0.5, "b": i if i % 2 else f"x{i}", "t": "word"} for i in range(n)]
    rows[20_000]["late"] = "only here"
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    from cladify.taxonomy._sources import read_join

    table = read_join(tmp_path / "a.jsonl")
    assert table.column("a").to_pylist() == [row["a"] for row in rows]
    assert table.column("b").to_pylist() == [str(row["b"]) for row in rows]
    assert table.column("late").to_pylist()[20_000] == "only here" and table.column("late").null_count == n - 1


def test_what_is_not_shown_is_kept():
    plain = [{key: row[key] for key in ("title", "body")} for row in ROWS]
    made = Taxonomy.from_table(plain, text="body", items=[row["title"] for row in plain], min_size=2)
    assert made.items[0] == plain[0]["title"]
    assert made.columns.column("body").to_pylist() == [row["body"] for row in plain]


def test_arrow_out():
    made = Taxonomy.from_table(ROWS, min_size=2)
    assert pa.table(made).equals(made.table(form="arrow"))
    assert pl.DataFrame(made)["id"].to_list() == [row["id"] for row in ROWS]
