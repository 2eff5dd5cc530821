"""`cladify taxonomy`, `name`, `levels` and `table`."""

import csv
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from taxonomy_texts import make_texts

from cladify.taxonomy import Taxonomy


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A folder with posts.csv, which is the current one."""
    monkeypatch.chdir(tmp_path)
    texts, _ = make_texts(90)
    with open("posts.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "body"])
        writer.writerows([i, f"post {i}", text] for i, text in enumerate(texts))
    return tmp_path


def test_texts_to_a_named_outline(cladify, posts):
    done = cladify("taxonomy", "posts.csv", "--text", "body", "--items-column", "title", "--table", "labels.csv")
    assert done.code == 0, done.err
    assert (
        "posts.csv: 90 texts (texts: body, ids: id, 1 more column kept)" in done.out
        and "├─ " in done.out
        and "post " in done.out
    )
    taxonomy = Taxonomy.load("posts.taxonomy")
    assert taxonomy.items[0] == "post 0" and taxonomy.info["source"]["column"] == "body"
    with open("labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 90 and rows[5]["item"] == "post 5" and 0 <= float(rows[5]["confidence_1"]) <= 1


def test_levels_table_and_name(cladify, posts):
    assert cladify("taxonomy", "posts.csv", "-q").code == 0
    done = cladify("levels", "posts.taxonomy")
    assert done.code == 0 and done.out.startswith("clusters  stability")
    levels = json.loads(cladify("levels", "posts.taxonomy", "--json").out)["levels"]
    assert levels and levels[0]["n_clusters"] >= 2
    done = cladify("table", "posts.taxonomy", "--levels", "3")
    assert done.code == 0 and len(done.out.splitlines()) == 91 and done.out.startswith('"id","row","item","label_1"')
    for name in ("t.parquet", "t.jsonl", "t.tsv"):
        assert cladify("table", "posts.taxonomy", "--out", name).code == 0 and Path(name).stat().st_size
    node = Taxonomy.load("posts.taxonomy").levels[0].nodes[0]
    done = cladify("name", "posts.taxonomy", "--rename", f"{node}=mine")
    assert done.code == 0 and f"[{node}] mine" in done.out
    assert Taxonomy.load("posts.taxonomy").names[node] == "mine"


def test_a_namer_that_fails_loses_nothing(cladify, posts):
    Path("mynamer.py").write_text(
        "from cladify.taxonomy._names import namer\nnamer.PAUSE = 0\n"
        "def good(views):\n    return [f'N{i}' for i, _ in enumerate(views)]\n"
        "def bad(views):\n    raise RuntimeError('no answer')\n"
    )
    assert cladify("taxonomy", "posts.csv", "-q").code == 0
    done = cladify("name", "posts.taxonomy", "--namer", "mynamer:bad", "--retries", "0")
    assert done.code == 1 and "the namer failed 1 times: RuntimeError: no answer" in done.err
    assert Taxonomy.load("posts.taxonomy").n_items == 90
    done = cladify("name", "posts.taxonomy", "--namer", "mynamer:good", "--cache", "answers.jsonl")
    assert done.code == 0 and "N1" in done.out and Path("answers.jsonl").exists()
    done = cladify("taxonomy", "posts.csv", "--namer", "mynamer:bad", "-o", "other.taxonomy")
    assert done.code == 1 and Taxonomy.load("other.taxonomy").n_items == 90


def test_an_embedder_of_ones_own(cladify, posts):
    Path("myembedder.py").write_text(
        "import numpy as np\n"
        "def embed(texts):\n    return np.array([[len(t), t.count('a'), 1] for t in texts], float)\n"
        "def wrong(texts):\n    return np.zeros((3, 2))\n"
    )
    done = cladify("taxonomy", "posts.csv", "--embedder", "myembedder:embed", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["taxonomy"]["size"] == 90
    done = cladify("taxonomy", "posts.csv", "--embedder", "myembedder:wrong")
    assert done.code == 1 and "one row of numbers a text" in done.err
    done = cladify("taxonomy", "posts.csv", "--embedder", "myembedder:none")
    assert done.code == 1 and "cannot be found" in done.err
    done = cladify("taxonomy", "posts.csv", "--embedder", "word2vec")
    assert done.code == 1 and "embedder must be auto, tfidf" in done.err


def test_a_model_that_is_not_there(cladify, posts, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    done = cladify("taxonomy", "posts.csv", "--embedder", "sentence-transformers:all-MiniLM-L6-v2")
    assert done.code == 1 and "pip install 'cladify[transformers]'" in done.err and done.err.count("\n") == 1


def test_vectors_and_items(cladify, posts):
    texts, y = make_texts(90)
    np.save("X.npy", np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(90, 3)))
    Path("names.txt").write_text("\n".join(texts) + "\n")
    done = cladify("taxonomy", "X.npy", "--items", "names.txt")
    assert done.code == 0 and "90 vectors of 3 dimensions" in done.out
    assert Taxonomy.load("X.taxonomy").vectors_at["path"].endswith("X.npy")
    Path("few.txt").write_text("a\nb\n")
    done = cladify("taxonomy", "X.npy", "--items", "few.txt")
    assert done.code == 1 and "there are 2 items in few.txt for 90 vectors" in done.err


def test_h5ad_in_and_labels_back_out(cladify, posts):
    h5py = pytest.importorskip("h5py")
    _, y = make_texts(90)
    with h5py.File("cells.h5ad", "w") as file:
        file["obsm/X_pca"] = np.eye(3)[y] + 0.1 * np.random.default_rng(0).normal(size=(90, 3))
        obs = file.create_group("obs")
        obs.attrs["_index"] = "cell"
        obs["cell"] = [f"cell{i}" for i in range(90)]
        obs["kind/codes"] = y.astype(np.int8)
        obs["kind/categories"] = ["fruit cell", "metal cell", "music cell"]
        graph = file.create_group("obsp/connectivities")
        rows = np.arange(90)
        graph["data"] = np.ones(180)
        graph["indices"] = np.column_stack([(rows + 3) % 90, (rows - 3) % 90]).ravel()
        graph["indptr"] = np.arange(0, 181, 2)
        graph.attrs.update({"encoding-type": "csr_matrix", "shape": [90, 90]})
    done = cladify("taxonomy", "cells.h5ad", "--column", "X_pca", "--items-column", "kind", "--table", "out.h5ad")
    assert done.code == 0, done.err
    assert "metal cell" in done.out or "metal" in done.out
    with h5py.File("out.h5ad") as file:
        obs = file["obs"]
        assert len(obs["cladify_label_1"]) == 90 and obs["cladify_name_1"].attrs["encoding-type"] == "categorical"
        assert "cladify_label_1" in list(obs.attrs["column-order"]) and file["obsm/X_pca"].shape == (90, 3)
    done = cladify("taxonomy", "cells.h5ad", "--obsp", "connectivities", "-o", "graph.taxonomy")
    assert done.code == 0, done.err
    assert Taxonomy.load("graph.taxonomy").items[3] == "cell3"
    done = cladify("taxonomy", "cells.h5ad", "--obsp", "conectivities")
    assert done.code == 1 and "Did you mean 'connectivities'" in done.err


def test_standard_input(cladify, posts, monkeypatch):
    import io

    class Stdin:
        buffer = io.BytesIO(Path("posts.csv").read_bytes())

        def isatty(self):
            return False

    monkeypatch.setattr("sys.stdin", Stdin())
    done = cladify("taxonomy", "-", "--text", "body")
    assert done.code == 0 and "standard input: 90 texts" in done.out and Path("texts.taxonomy").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("taxonomy none.csv", "does not exist"),
        ("taxonomy posts.csv --text bodi", "Did you mean 'body'"),
        ("taxonomy posts.csv -o no/such/x.taxonomy", "the folder"),
        ("taxonomy posts.csv --table labels.docx", "known endings"),
        ("table posts.csv", "is not a taxonomy"),
        ("table none.taxonomy", "No such file"),
        ("levels posts.csv", "posts.csv"),
        ("name posts.csv", "is not a taxonomy"),
        ("taxonomy posts.csv --obsp x", "in an .h5ad file"),
    ],
)
def test_what_goes_wrong_is_one_line(cladify, posts, line, message):
    done = cladify(*line.split())
    assert done.code in (1, 2) and message in done.err
    assert not Path("posts.taxonomy").exists()
    assert done.err.count("\n") == 1 and "Traceback" not in done.err


def test_columns_of_a_table_are_found_kept_and_joined(cladify, posts):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    with open("posts.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    table = {name: [row[name] for row in rows] for name in ("id", "title", "body")}
    pq.write_table(pa.table({**table, "embedding": list(rng.normal(size=(90, 4)))}), "posts.parquet")
    done = cladify("taxonomy", "posts.parquet", "--out", "v.taxonomy")
    assert done.code == 0 and "90 vectors of 4 dimensions (vectors: embedding, texts: body, ids: id" in done.out
    made = Taxonomy.load("v.taxonomy")
    assert made.ids == list(map(int, table["id"])) and made.columns.column_names == ["title"]
    with open("some.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "id", "price"])
        writer.writerows([[table["title"][i], table["id"][i], "007"] for i in (5, 3, 80)] + [["new", 1000, "1"]])
    done = cladify("table", "v.taxonomy", "--join", "some.csv", "--out", "joined.csv")
    assert done.code == 0 and "1 row with an id that is not in v.taxonomy" in done.err
    with open("joined.csv", newline="") as file:
        joined = list(csv.DictReader(file))
    expected = made.table(form="arrow").column("path").to_pylist()
    assert [row["path"] for row in joined] == [expected[5], expected[3], expected[80], ""]
    assert list(joined[0])[:3] == ["title", "id", "price"] and joined[0]["price"] == "007"
    refused = cladify("table", "v.taxonomy", "--join", "some.csv", "--out", "some.csv")
    assert refused.code != 0 and "some.csv" in refused.err


def test_new_texts_are_placed(cladify, posts):
    assert cladify("taxonomy", "posts.csv", "-q").code == 0
    Path("new.csv").write_text("when,body\nmonday,fruit plum cherry\ntuesday,metal tin\n")
    done = cladify("place", "posts.taxonomy", "new.csv", "--out", "placed.jsonl")
    assert done.code == 0, done.err
    placed = [json.loads(line) for line in Path("placed.jsonl").read_text().splitlines()]
    assert [row["when"] for row in placed] == ["monday", "tuesday"]
    assert "fruit" in placed[0]["path"] and "metal" in placed[1]["path"]


def test_a_taxonomy_stands_for_its_tree(cladify, posts):
    assert cladify("taxonomy", "posts.csv", "-q").code == 0
    done = cladify("cut", "posts.taxonomy", "-k", "7", "--out", "labels.csv")
    assert done.code == 0 and "7 clusters" in done.out
    assert cladify("convert", "posts.taxonomy", "posts.nwk").code == 0
    assert "fruit" in Path("posts.nwk").read_text()
    assert cladify("condense", "posts.taxonomy", "short.tree").code == 0
    done = cladify("info", "posts.taxonomy", "--json")
    assert json.loads(done.out)["n_leaves"] == 90
    node = Taxonomy.load("posts.taxonomy").levels[0].nodes[0]
    assert cladify("name", "posts.taxonomy", "--rename", f"{node}=mine").code == 0
    done = cladify("cut", "posts.taxonomy", "-k", "2", "--out", "labels.csv")
    assert done.code == 0 and "has edits" in done.err


def test_info_says_what_a_taxonomy_holds(cladify, posts):
    assert cladify("taxonomy", "posts.csv", "-q").code == 0
    Path("new.csv").write_text("id,title,body\n900,new,fruit plum cherry\n")
    assert cladify("update", "posts.taxonomy", "new.csv").code == 0
    made = Taxonomy.load("posts.taxonomy")
    done = cladify("info", "posts.taxonomy")
    assert done.code == 0 and done.out.startswith(f"posts.taxonomy: 91 items in {made.tree.n_nodes - 91} groups")
    said = ("made by  graph, cosine", "from     posts.csv", "columns  title (", "edits    0", "updates  1, the last 2")
    for line in said:
        assert line in done.out
    assert made.summary(max_children=12) in done.out
    found = cladify("info", "posts.taxonomy", "--json").json
    assert (found["n_items"], found["updates"], found["ids"]) == (91, 1, ["id"])
    assert [level["n_clusters"] for level in found["levels"]] == [level.n_clusters for level in made.levels]
    assert "--items is for trees" in cladify("info", "posts.taxonomy", "--items", "posts.csv").err


def test_a_trend_by_a_column(cladify, posts):
    rows = ["id,day,body"]
    rows += [f"{i},2026-0{1 + i % 2}-0{1 + i % 7},{'fruit plum' if i % 2 else 'metal tin'} {i}" for i in range(60)]
    Path("days.csv").write_text("\n".join(rows))
    assert cladify("taxonomy", "days.csv", "-q").code == 0
    done = cladify("trend", "days.taxonomy", "--by", "day", "--every", "month", "--level", "2", "--out", "months.csv")
    assert done.code == 0 and "60 items in 2 groups by day: 2 bins" in done.out and "rising: fruit" in done.out
    with open("months.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert sorted((row["2026-01"], row["2026-02"]) for row in table) == [("0", "30"), ("30", "0")]
    done = cladify("trend", "days.taxonomy", "--by", "day", "--every", "month", "--level", "2", "--json")
    assert len(json.loads(done.out)["bursts"]) == 2
    assert "no column 'date'" in cladify("trend", "days.taxonomy", "--by", "date").err


def test_report(cladify, tmp_path):
    (tmp_path / "t.txt").write_text(
        "\n".join(f"{kind} {i}" for kind in ("red apple", "steam engine") for i in range(9))
    )
    (tmp_path / "y.txt").write_text("\n".join(["fruit"] * 9 + ["machine"] * 9))
    assert cladify("taxonomy", "t.txt", "--min-size", 3, "--quiet").code == 0
    done = cladify("report", "t.taxonomy", "--labels", "y.txt", "--json", "r.json", "--html", "r.html")
    assert done.code == 0 and "purity" in done.out and "written: r.html" in done.out
    assert json.loads((tmp_path / "r.json").read_text())["overall"]["n_items"] == 18
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


TEXTS = make_texts(40)[0]
SCRIPTS = ["石头和水 很多树木", "дерево и камень в реке", "شجرة وحجر", "木と石と水", "😀🎉", "ต้นไม้และหิน", "red oak"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([*TEXTS, "", " ", "!!!"], "3 of 43 texts have no word"),
        (["the same"] * 12, "all 12 texts are the same"),
        (["only one text"], "there is one text; there is nothing to sort"),
        ([f"{text}\x00\x07\x1b[31m\u202e end" for text in TEXTS], ""),
        ([*TEXTS, "steam engine " * 800_000], ""),
        ([*TEXTS, "x" * 3_000_000], ""),
        ([f"{SCRIPTS[i % 7]} {TEXTS[i % 40]}" for i in range(60)], ""),
    ],
    ids=["empty", "equal", "one", "control", "10 MB", "one long word", "scripts"],
)
def test_texts_that_are_hard_to_sort(cladify, texts, said):
    with open("t.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    done = cladify("taxonomy", "t.jsonl", "--examples", "1")
    assert done.code == 0 and said in done.err, done.err
    assert not set("\x00\x07\x1b\u202e") & set(done.out)
    taxonomy = Taxonomy.load("t.taxonomy")
    assert taxonomy.n_items == len(texts)
    if len(texts) == 1:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(taxonomy.place(["steam engine", ""], form="arrow")) == 2


@pytest.mark.parametrize("texts", [["", " ", "\t"], ["😀🎉", "!!!", "---"], [""]])
def test_texts_without_a_word(cladify, texts):
    with open("t.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    done = cladify("taxonomy", "t.jsonl")
    assert done.code != 0 and f"none of the {len(texts)} texts has a word" in done.err and done.err.count("\n") == 1
    assert not Path("t.taxonomy").exists()


def test_ids_without_a_name_are_joined_as_id(cladify, tmp_path):
    texts = ["red apple", "green apple", "old engine", "new engine"]
    Taxonomy.from_texts(texts, ids=list("abcd"), min_size=2).save("t.taxonomy")
    Path("t.csv").write_text("id,note\nd,last\nzz,none\na,first\n")
    done = cladify("table", "t.taxonomy", "--join", "t.csv", "--out", "l.csv")
    assert done.code == 0 and "1 row with an id that is not in t.taxonomy" in done.err
    lines = Path("l.csv").read_text().splitlines()
    assert lines[1].startswith('"d","last"') and "engine" in lines[1] and "apple" in lines[3]
