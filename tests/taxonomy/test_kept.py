"""Ids, the index of a frame, and columns stay with the rows that they came with."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cladify
from cladify.errors import InvalidInput, InvalidType


@pytest.fixture(scope="module")
def words() -> list[str]:
    rng = np.random.default_rng(0)
    kinds = ["apple pear fruit", "engine wheel car", "violin flute music"]
    return [f"{kinds[i % 3]} {rng.integers(1000)}" for i in range(60)]


def fitted(frame: pd.DataFrame) -> cladify.Taxonomy:
    """A taxonomy whose items name their rows, without the cost of a search."""
    return cladify.Taxonomy(cladify.fit(np.eye(len(frame)), method="random").condense(), frame["text"])


@pytest.mark.parametrize("seed", range(40))  # 200 frames
def test_a_join_after_filters_and_sorts_is_right(words, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"text": words, "number": rng.normal(size=60)})
    kind = seed % 5
    if kind == 1:
        frame.index = pd.Index([f"key {i}" for i in rng.permutation(60)], name="key")
    elif kind == 2:
        frame.index = pd.MultiIndex.from_arrays([rng.integers(3, size=60), rng.permutation(60)], names=["a", None])
    elif kind == 3:
        frame.index = pd.date_range("2026-01-01", periods=60, tz="Europe/Berlin")
    elif kind == 4:
        frame.index = pd.period_range("2020-01", periods=60, freq="M")
    for _ in range(5):
        some = frame[rng.random(60) < 0.7].sort_values("number")
        some = some.iloc[rng.permutation(len(some))]
        joined = some.join(fitted(some).table())
        assert joined["item"].tolist() == some["text"].tolist()
        assert joined["row"].tolist() == list(range(len(some)))


def test_rows_with_the_same_index_keep_their_own_labels(words):
    frame = pd.DataFrame({"text": words}, index=[7] * 30 + [8] * 30)
    table = fitted(frame).table()
    assert pd.concat([frame, table], axis=1)["item"].tolist() == words


def test_ids_and_columns_come_back_from_the_file(words, tmp_path):
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=i) for i in range(60)]
    columns = {"day": days, "score": np.arange(60.0), "kind": pd.Categorical(["a", "b", "c"] * 20)}
    made = cladify.Taxonomy.from_texts(words, ids=[f"t{i}" for i in range(60)], columns=columns)
    made.save(tmp_path / "a.taxonomy")
    again = cladify.Taxonomy.load(tmp_path / "a.taxonomy")
    assert again.ids == [f"t{i}" for i in range(60)]
    assert again.columns.to_pydict() == {"day": days, "score": list(range(60)), "kind": ["a", "b", "c"] * 20}
    assert again.table(form="arrow").column_names[:3] == ["id", "row", "item"]
    assert again.table(form="pandas").index.tolist() == again.ids


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(np.arange(60)[::-1], name="item"),
        pd.MultiIndex.from_product([["x", "y"], range(30)], names=["side", "place"]),
        pd.date_range("2026-01-01", periods=60, freq="h", name="when"),
        pd.date_range("2026-01-01", periods=60, freq="h", tz="Europe/Berlin").as_unit("ns"),
        pd.timedelta_range("1h", periods=60, freq="min").as_unit("s"),
    ],
    ids=["numbers", "levels", "times", "nanoseconds", "spans"],
)
def test_an_index_comes_back_from_the_file(words, tmp_path, index):
    frame = pd.DataFrame({"text": words}, index=index)
    fitted(frame).save(tmp_path / "a.taxonomy")
    table = cladify.Taxonomy.load(tmp_path / "a.taxonomy").table()
    assert table.index.equals(index)
    assert table.index.dtype == index.dtype or isinstance(index, pd.MultiIndex)
    assert table.index.names == index.names
    assert frame.join(table)["item"].tolist() == words


def test_rows_without_ids_are_known_by_their_number(words):
    made = cladify.Taxonomy.from_texts(words)
    assert made.ids == list(range(60))
    assert made.columns.num_columns == 0
    assert made.table(form="arrow").column_names[:2] == ["row", "item"]


def test_columns_are_taken_from_any_table(words):
    polars = pytest.importorskip("polars")
    data = {"n": list(range(60))}
    for table in (pa.table(data), pd.DataFrame(data, index=range(5, 65)), polars.DataFrame(data), data):
        made = cladify.Taxonomy(cladify.fit(np.eye(60), method="random"), words, columns=table)
        assert made.columns.to_pydict() == data


def test_bad_ids_and_columns_are_one_line(words):
    tree = cladify.fit(np.eye(60), method="random")
    with pytest.raises(InvalidInput, match="'a' is the id of rows 0 and 1"):
        cladify.Taxonomy(tree, words, ids=["a"] * 60)
    with pytest.raises(InvalidInput, match="row 2 has none"):
        cladify.Taxonomy(tree, words, ids=["a", "b", None, *range(57)])
    with pytest.raises(InvalidInput, match="59 values of column 'n' for 60 rows"):
        cladify.Taxonomy(tree, words, columns={"n": range(59)})
    with pytest.raises(InvalidType, match="columns must be a table"):
        cladify.Taxonomy(tree, words, columns=[1, 2])
