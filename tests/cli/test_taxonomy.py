"""`cladify taxonomy`, `name`, `levels` and `table`."""

import csv
import json
import sys
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
    assert "posts.csv: 90 texts (column body)" in done.out and "├─ " in done.out and "post " in done.out
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
    assert done.code == 0 and len(done.out.splitlines()) == 91 and done.out.startswith('"row","item","label_1"')
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
