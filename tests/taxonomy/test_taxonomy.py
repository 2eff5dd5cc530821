"""`Taxonomy`: making, reading, tables, placement."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import adjusted_rand_score
from taxonomy_texts import make_texts

import cladify
from cladify.errors import InvalidInput, InvalidType
from cladify.taxonomy import Taxonomy


def test_three_kinds_are_found_and_named(taxonomy):
    _, y = make_texts()
    labels = taxonomy.table(levels=[3])["label_1"].to_numpy()
    assert adjusted_rand_score(y, labels) > 0.95

    names = taxonomy.table(levels=[3])["name_1"]
    for kind, name in zip(("fruit", "metal", "music"), (names[0], names[1], names[2]), strict=True):
        assert kind in name


def test_the_table_has_a_row_an_item(taxonomy):
    table = taxonomy.table()
    assert table["row"].tolist() == list(range(180))
    assert table["item"].tolist() == taxonomy.items
    for i, level in enumerate(taxonomy.levels, 1):
        assert sorted(set(table[f"label_{i}"])) == list(range(level.n_clusters))
        assert table[f"confidence_{i}"].between(0, 1).all()
        for label, group in table.groupby(f"label_{i}"):
            assert set(group[f"name_{i}"]) == {taxonomy.names[level.nodes[label]]}
            assert sorted(group["row"]) == taxonomy.tree.members(level.nodes[label]).tolist()
    names = [taxonomy.names[v] for v in taxonomy.path(int(table["node"][7]))]
    assert table["path"][7] == " > ".join(names)


def test_confidence_is_that_of_the_graph():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 8)) + 3 * np.eye(8)[i] for i in range(3)]).astype(np.float32)
    taxonomy = Taxonomy.fit(X, np.arange(180), metric="sqeuclidean")
    table = taxonomy.table(levels=[taxonomy.levels[0]])
    expected = cladify.graphtree.confidence(X, table["label_1"], metric="sqeuclidean")
    np.testing.assert_allclose(table["confidence_1"], expected, atol=0.003)


def test_levels_are_nested_and_hold_every_item_once(taxonomy):
    tree = taxonomy.tree
    before = None
    for level in taxonomy.levels:
        rows = np.concatenate([tree.members(v) for v in level.nodes])
        assert sorted(rows) == list(range(180))
        if before is not None:
            assert all(any(set(tree.members(v)) <= set(tree.members(u)) for u in before) for v in level.nodes)
        before = level.nodes


@pytest.mark.parametrize("levels", [[], ["x"], [0], [181], [2.5]])
def test_impossible_levels(taxonomy, levels):
    with pytest.raises(InvalidInput, match="level"):
        taxonomy.table(levels=levels)


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        np.array,
        lambda items: pd.Series(items, index=range(len(items), 0, -1)),
        lambda items: pd.DataFrame({"name": items}, index=range(len(items), 0, -1)),
        pl.Series,
        lambda items: pl.DataFrame({"name": items}),
        iter,
    ],
)
def test_items_go_by_position(wrap):
    items = [f"thing {i}" for i in range(20)]
    X = np.random.default_rng(0).random((20, 3))
    taxonomy = Taxonomy.fit(X, wrap(items))
    assert taxonomy.items == items and taxonomy.table()["item"].tolist() == items


def test_items_of_other_types_come_back():
    X = np.random.default_rng(0).random((4, 3))
    assert Taxonomy.fit(X, [10, 20, 30, 40]).items == [10, 20, 30, 40]
    assert Taxonomy.fit(X, ["a", None, "c", "d"]).items == ["a", None, "c", "d"]
    assert Taxonomy.fit(X, ["a", 2, None, "\ud800"]).items == ["a", "2", None, "?"]
    assert Taxonomy.fit(X).items == [0, 1, 2, 3]


@pytest.mark.parametrize("items", [["a"], [], ["a"] * 5])
def test_items_fewer_or_more_than_rows(items):
    with pytest.raises(InvalidInput, match=f"there are {len(items)} items for 4 rows"):
        Taxonomy.fit(np.eye(4), items)


def test_wrong_input():
    with pytest.raises(InvalidType, match="from_texts"):
        Taxonomy.fit(["a text", "another"])
    with pytest.raises(InvalidType, match="items must be a list"):
        Taxonomy.fit(np.eye(3), "abc")
    with pytest.raises(InvalidInput, match=r"one column, got shape \(3, 2\); choose one of its columns, or .*: a, b"):
        Taxonomy.fit(np.eye(3), pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]}))
    with pytest.raises(InvalidInput, match="two dimensions"):
        Taxonomy.fit(np.arange(3))
    with pytest.raises(InvalidInput, match="no texts"):
        Taxonomy.from_texts([])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny(n, tmp_path):
    taxonomy = Taxonomy.fit(np.eye(3)[:n], ["one thing", "two things", "three"][:n])
    assert len(taxonomy.table()) == n and taxonomy.summary().startswith(f"{n} item")
    assert taxonomy.to_dict()["size"] == n if n > 1 else True
    taxonomy.save(tmp_path / "t.taxonomy")
    assert Taxonomy.load(tmp_path / "t.taxonomy").items == taxonomy.items
    assert len(taxonomy.place(np.eye(3)[:1])) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["same text"] * 30,
        ["one"],
        ["", "", "a word", None, "two words", "words"],
        ["the", "of", "and"],
        ["\x1b[31mred\x1b[0m alert", "<b>red</b> &amp; blue", "\x00\x07bell", "‮reversed"] * 5,
        [f"unique{i}" for i in range(50)],
        ["日本語の文章", "日本の料理", "中文文章"] * 5,
    ],
)
@pytest.mark.filterwarnings("ignore:3 of 6 texts", "ignore:all 30 texts", "ignore:there is one text")
def test_odd_texts(texts, tmp_path):
    taxonomy = Taxonomy.from_texts(texts)
    assert taxonomy.n_items == len(texts)
    shown = taxonomy.summary() + str(taxonomy.names) + taxonomy.table(form="arrow")["path"].to_pylist()[0]
    assert all(c == "\n" or c.isprintable() for c in shown)
    taxonomy.save(tmp_path / "odd.taxonomy")
    assert Taxonomy.load(tmp_path / "odd.taxonomy").items == taxonomy.items


def test_texts_without_any_word():
    with pytest.raises(InvalidInput, match="none of the 3 texts has a word"):
        Taxonomy.from_texts(["", "...", "\x1b"])


def test_a_huge_text():
    texts, _ = make_texts(30)
    taxonomy = Taxonomy.from_texts([*texts, "word " * 2_000_000])
    assert taxonomy.n_items == 31 and len(taxonomy.summary()) < 10_000


def test_examples_are_nearest_to_the_centre():
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(90, 5)) + 5 * np.repeat(np.eye(5)[:3], 30, axis=0)).astype(np.float32)
    taxonomy = Taxonomy.fit(X, np.arange(90), metric="sqeuclidean")
    for v in range(90, taxonomy.tree.n_nodes):
        rows = taxonomy.tree.members(v)
        far = ((X[rows] - X[rows].mean(axis=0)) ** 2).sum(axis=1)
        assert taxonomy.examples(v, 3).central_rows == rows[np.argsort(far)][:3].tolist()


def test_find_looks_at_names_keywords_and_items(taxonomy):
    found = taxonomy.find("MUSIC", limit=5)
    assert found[0].kind == "group" and "music" in found[0].text and len(found) == 5
    item = taxonomy.find("quince")[-1]
    assert item.kind == "item" and "quince" in item.text and any("fruit" in name for name in item.path)
    assert taxonomy.find("no such thing") == []
    with pytest.raises(InvalidType, match="text to look for"):
        taxonomy.find("")


def test_place_puts_texts_where_they_belong(taxonomy):
    placed = taxonomy.place(["a copper coin, metal", "violin music"], levels=[3])
    assert "metal" in placed["path"][0] and "music" in placed["path"][1]
    assert (placed["confidence_1"] > 0.5).all()


def test_what_is_there_goes_to_its_own_place():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    taxonomy = Taxonomy.fit(X, np.arange(300), min_size=5)
    placed = taxonomy.place(X)
    assert placed["node"].tolist() == taxonomy.table()["node"].tolist()
    assert [len(steps) for steps in placed["path_confidence"]] == [taxonomy.tree.node_depth[v] for v in placed["node"]]


def test_place_without_the_vectors(tmp_path):
    texts, y = make_texts()
    rng = np.random.default_rng(0)
    X = (np.eye(3)[y] + 0.05 * rng.normal(size=(180, 3))).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    taxonomy = Taxonomy.fit(X, texts, vectors_at=tmp_path / "X.npy")
    taxonomy.save(tmp_path / "t.taxonomy")
    new = np.eye(3) + 0.01
    near = Taxonomy.load(tmp_path / "t.taxonomy").place(new, levels=[3])
    (tmp_path / "X.npy").unlink()
    loaded = Taxonomy.load(tmp_path / "t.taxonomy")
    centre = loaded.place(new, levels=[3])
    assert near["name_1"].tolist() == centre["name_1"].tolist()
    assert (near["confidence_1"] >= 0.5).all() and (centre["confidence_1"] > 0.5).all()
    with pytest.raises(InvalidInput, match="have 2 dimensions and the taxonomy's 3"):
        loaded.place(np.eye(2))
    with pytest.raises(InvalidInput, match="takes vectors"):
        loaded.place(["a text"])


def test_nested_values_are_as_d3_takes_them(taxonomy):
    data = json.loads(json.dumps(taxonomy.to_dict(nested=True, items=True)))
    total, waiting = 0, [data]
    while waiting:
        entry = waiting.pop()
        assert entry["name"]
        waiting += entry.get("children", [])
        total += "row" in entry
        if entry.get("children"):
            assert entry["size"] == sum(child["size"] for child in entry["children"])
    assert total == 180
    flat = taxonomy.to_dict(nested=False)
    assert {group["name"] for group in flat["groups"]} == set(taxonomy.names.values())


def test_a_graph_in_place_of_vectors():
    X = np.concatenate([np.eye(2)[[0]].repeat(20, 0), np.eye(2)[[1]].repeat(20, 0)]) + 0.01 * np.random.default_rng(
        0
    ).random((40, 2))
    taxonomy = Taxonomy.fit(cladify.neighbors(X, 5, "cosine"), [f"kind{i // 20} item" for i in range(40)])
    assert taxonomy.table(levels=[2])["label_1"].nunique() == 2
    with pytest.raises(InvalidInput, match="not at hand"):
        taxonomy.place(np.eye(2))


@pytest.mark.parametrize("method", ["hac", "reciprocal", "bisect"])
def test_other_methods(method):
    X = np.random.default_rng(0).random((60, 4))
    taxonomy = Taxonomy.fit(X, method=method)
    assert taxonomy.tree.n_leaves == 60 and taxonomy.info["method"] == method
    assert "group 1" in taxonomy.names.values() or len(taxonomy.names) == 1


def test_threads_do_not_change_it():
    texts, _ = make_texts()
    one, two = (Taxonomy.from_texts(texts, n_jobs=jobs) for jobs in (1, 2))
    assert one.names == two.names and one.table().equals(two.table())


def test_no_explorer_yet_is_one_line(taxonomy, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cladify.explore", None)
    with pytest.raises(InvalidInput, match="no explorer"):
        taxonomy.explore()
