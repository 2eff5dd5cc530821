"""The index of words against a search through all texts."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cladify
from cladify.errors import FileError, InvalidInput
from cladify.taxonomy._file import store
from cladify.taxonomy._names.words import WordIndex, index_words

TEXTS = st.lists(st.text(alphabet="abäB c.中", max_size=12), min_size=1, max_size=30)


def naive(texts, query):
    wanted = query.lower().split()
    found = []
    for i, text in enumerate(texts):
        words = text.lower().split()
        has = [any(word.startswith(w) if len(w) == 1 else w in word for word in words) for w in wanted]
        if wanted and all(has):
            found.append((i, all(w in words for w in wanted)))
    return found


@given(TEXTS, st.text(alphabet="abä 中.", max_size=6))
@example(["ä中 ", "Bä.", "中 ", "Bä.", "Bä.", "ä中 "], "ä中 ")  # Arrow splits some last words with their blank
@settings(max_examples=200, deadline=None)
def test_finds_what_a_pass_over_all_texts_finds(texts, query):
    rows, whole = index_words(texts).find(query)
    assert list(zip(rows.tolist(), whole.tolist(), strict=True)) == naive(texts, query)


@given(TEXTS)
@settings(max_examples=50, deadline=None)
def test_arrays_and_back(texts):
    index = index_words(texts)
    again = WordIndex.from_arrays(index.to_arrays(), len(texts))
    for query in ("a", "b", "ab", "c 中"):
        assert [part.tolist() for part in again.find(query)] == [part.tolist() for part in index.find(query)]
    rows = np.arange(len(texts))
    by_text = [texts[i].lower() for i in again.sorted_rows(rows)]
    assert by_text == sorted(by_text, key=lambda text: text.encode())


@pytest.mark.parametrize("items", [[1, 20, 3], [None, "a", None], [], pa.array([1.5, None]), [{"x": 1}, {"x": 2}]])
def test_items_that_are_no_texts(items):
    index = index_words(items)
    assert len(index.order) == len(items)
    assert index.find("zzz")[0].tolist() == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("words_rows", lambda a: a + 100),
        ("words_order", lambda a: a - 9),
        ("words_offset", lambda a: a[::-1].copy()),
        ("words_start", lambda a: a * 7),
        ("words_rows", lambda a: a.astype(np.int64)),
        ("words_start", lambda a: a[:-1]),
    ],
)
def test_hostile_arrays_are_refused(name, change):
    arrays = index_words(["red oak", "old oak tree"]).to_arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(InvalidInput, match="points outside"):
        WordIndex.from_arrays(arrays, 2)


def test_a_large_taxonomy_keeps_it_in_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "INDEXED", 4)
    texts = ["red apple", "green apple", "ripe red apple", "steam engine", "diesel engine", "old steam engine"]
    made = cladify.Taxonomy.from_texts(texts, min_size=2)
    made.save(tmp_path / "a.taxonomy")
    again = cladify.Taxonomy.load(tmp_path / "a.taxonomy")
    assert again.words.find("steam")[0].tolist() == [3, 5]
    again.release()
    assert again.words.find("steam")[0].tolist() == [3, 5]
    assert again.full == made.full
    assert again.items == texts
    group = again.find("engine")[0].node
    assert again.cohesion(group) == pytest.approx(made.cohesion(group))
    again.rename(group, "machines")
    again.save(tmp_path / "a.taxonomy")
    third = cladify.Taxonomy.load(tmp_path / "a.taxonomy")
    assert "machines" in third.names.values()
    assert again.full == made.full
    data = bytearray((tmp_path / "a.taxonomy").read_bytes())
    data[data.index(b"ripe red apple")] ^= 1
    (tmp_path / "b.taxonomy").write_bytes(bytes(data))
    with pytest.raises(FileError):
        cladify.Taxonomy.load(tmp_path / "b.taxonomy")


def test_cohesion_is_the_share_of_spread_outside():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 8 * np.repeat(np.eye(3), 20, axis=0)
    taxonomy = cladify.Taxonomy.fit(X, metric="sqeuclidean", method="hac", min_size=5)
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    for v in range(60, taxonomy.tree.n_nodes):
        rows = X[taxonomy.tree.members(v)]
        inside = ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()
        assert taxonomy.cohesion(v) == pytest.approx(1 - inside / total, abs=1e-5)
