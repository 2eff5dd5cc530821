"""``cladify demo``, on the documentation of NumPy alone to be quick."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from cladify import datasets
from cladify.io import read_items, read_labels, read_tree, read_vectors
from cladify.taxonomy import Taxonomy

METHODS = ["--method", "hac", "--method", "random"]


@pytest.fixture(scope="module")
def corpus():
    return datasets.load_docstrings(["numpy"], n_components=30)


@pytest.fixture(autouse=True)
def small(corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_docstrings", lambda: corpus)


def test_demo(cladify, corpus, tmp_path: Path) -> None:
    done = cladify("demo", *METHODS, "--out", "deep/er", "--branches", 12)
    assert done.code == 0, done.err
    assert "dendrogram purity" in done.out and "random" in done.out and "seconds" in done.out
    assert "Their taxonomy" in done.out and ".tree (hac" in done.out
    assert "├─ " in done.out and "  numpy." in done.out
    assert "cladify info deep/er/docstrings.tree --items deep/er/docstrings.csv" in done.out
    folder = tmp_path / "deep" / "er"
    tree = read_tree(folder / "docstrings.tree")
    assert tree.n_leaves == len(corpus.names)
    np.testing.assert_array_equal(read_vectors(folder / "docstrings.npy"), corpus.X)
    assert read_items(folder / "docstrings.csv", "name") == corpus.names
    assert read_labels(folder / "docstrings.csv", "module").tolist() == corpus.module.tolist()
    assert Taxonomy.load(folder / "docstrings.taxonomy").items == corpus.names
    assert done.out.index("Their taxonomy") < done.out.index("dendrogram purity")  # the outline comes first
    assert '"points":' in (folder / "docstrings.html").read_text()
    # What the demo suggests to try, works.
    assert cladify("table", "deep/er/docstrings.taxonomy", "--out", "labels.csv").code == 0
    done = cladify("info", "deep/er/docstrings.tree", "--items", "deep/er/docstrings.csv")
    assert done.code == 0 and "numpy." in done.out


def test_demo_as_it_is_run_by_make(cladify, corpus, monkeypatch) -> None:
    """All of its methods, on a few rows: one that cannot take part would end the demo."""
    rows = {field.name: getattr(corpus, field.name)[:150] for field in dataclasses.fields(corpus)}
    few = dataclasses.replace(corpus, **rows | {"terms": corpus.terms})
    monkeypatch.setattr(datasets, "load_docstrings", lambda: few)
    plain = json.loads(cladify("demo", "--json").out)
    assert "scoreboard" not in plain and "out/docstrings.html" in plain["files"]
    done = cladify("demo", "--scoreboard", "--json")
    assert done.code == 0, done.err
    rows = {row["tree"] for row in json.loads(done.out)["scoreboard"]}
    assert {"graph", "hac", "hac, refined", "scc"} <= rows and "llama" not in rows
    assert cladify("demo", "--method", "llama").code == 1


def test_demo_as_json(cladify, corpus) -> None:
    done = cladify("demo", *METHODS, "--json")
    data = json.loads(done.out)
    assert data["n"] == len(corpus.names) and data["best"].startswith("hac")
    purity = {row["tree"]: row["dendrogram purity"] for row in data["scoreboard"]}
    assert purity["hac"] > purity["random"] + 0.1  # the texts are those of the installed NumPy
    mw = {row["tree"]: row["scores"][0]["value"] for row in data["scoreboard"]}
    assert mw["hac, refined"] > mw["hac"] > mw["random"]


def test_demo_needs_a_place_and_known_methods(cladify, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cladify("demo", "--out", "file")
    assert done.code == 1 and "cannot make the folder file" in done.err
    done = cladify("demo", "--method", "hax")
    assert done.code == 1 and "Did you mean 'hac'?" in done.err


def test_words_say_what_a_group_is_about(corpus) -> None:
    import cladify as package

    taxonomy = package.Taxonomy.fit(corpus.X, corpus.names, texts=corpus.described)
    of_module = np.flatnonzero(corpus.module == "numpy.polynomial")
    node = taxonomy.find("polynomial")[0].node
    assert np.isin(taxonomy.tree.members(node), of_module).mean() > 0.8
