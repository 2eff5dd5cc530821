import subprocess
import sys

import numpy as np
import pytest
from taxonomy_texts import make_texts

from cladify import Taxonomy
from cladify.errors import CladifyWarning, InvalidInput, MissingExtra
from cladify.text import StaticModel, TextEmbedder, static_vectors
from cladify.text import _static as static_module
from cladify.text._body import body_of


@pytest.fixture
def no_extra(monkeypatch):
    """As if the extra were not installed."""
    monkeypatch.setattr(static_module, "_load", lambda name: None)


def test_static_vectors_are_means_of_token_vectors():
    model = StaticModel.load()
    text = "The old violin, the new violin: 3 strings"
    tokens = [t for word in static_module._WORD.findall(text) for t in _tokens(model, word)]
    ids, times = np.unique(tokens, return_counts=True)
    expected = ((1 + np.log(times))[:, None] * model.table[ids]).sum(axis=0)
    got = model.encode(["", text])
    assert np.allclose(got[1], expected / np.linalg.norm(expected), atol=1e-5)
    assert not got[0].any()


def _tokens(model, word):
    return model._tokenizer.encode(word, add_special_tokens=False).ids


def test_static_vectors_know_meanings():
    apple, fruit, engine = static_vectors(["apple", "fruit", "engine"])
    assert apple @ fruit > 0.2 > apple @ engine
    loud, calm = StaticModel.load().encode(["FRESH FRUIT", "fresh fruit"])
    assert np.allclose(loud, calm)


def test_batches_do_not_change_vectors(monkeypatch):
    texts, _ = make_texts(50)
    model = StaticModel.load()
    whole = model.encode(texts)
    monkeypatch.setattr(static_module, "_BATCH", 7)
    monkeypatch.setattr(static_module, "_MAX_WORDS", 3)
    assert np.allclose(model.encode(texts), whole, atol=1e-6)


def test_wordllama_is_never_imported():
    code = "import sys, cladify.text as t; t.static_vectors(['a']); assert 'wordllama' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parts_are_found_again_in_a_file(tmp_path):
    texts, _ = make_texts(60)
    taxonomy = Taxonomy.from_texts(texts)
    assert taxonomy.info["embedder"] == "tfidf + wordllama"
    taxonomy.save(tmp_path / "a.taxonomy")
    again = Taxonomy.load(tmp_path / "a.taxonomy")
    assert np.allclose(again._embedder.transform(texts), taxonomy._X, atol=2e-3)
    assert (
        again.place(texts[:9], form="arrow")["path"].to_pylist() == taxonomy.table(form="arrow")["path"].to_pylist()[:9]
    )


def test_without_the_static_model(no_extra):
    texts, _ = make_texts(60)
    with pytest.warns(CladifyWarning, match=r"TF-IDF alone.*pip install --upgrade wordllama"):
        taxonomy = Taxonomy.from_texts(texts)
    assert taxonomy.info["embedder"] == "tfidf"
    assert static_vectors(["word"]) is None
    with pytest.raises(MissingExtra, match="pip install 'cladify'"):
        StaticModel.load()
    with pytest.raises(MissingExtra, match="pip install 'cladify'"):
        Taxonomy.from_texts(texts, embedder="wordllama")


def test_a_file_with_static_vectors_needs_them(tmp_path, request):
    texts, _ = make_texts(60)
    Taxonomy.from_texts(texts).save(tmp_path / "a.taxonomy")
    request.getfixturevalue("no_extra")
    taxonomy = Taxonomy.load(tmp_path / "a.taxonomy")
    assert taxonomy.n_items == 60
    with pytest.raises(MissingExtra, match="pip install 'cladify'"):
        taxonomy.place(["old metal iron"])


def test_lexical_weight_grows_with_length():
    short = TextEmbedder()
    short.fit(["red apple pie", "green apple pie", "old engine oil", "new engine oil"])
    long = TextEmbedder()
    long.fit(["red apple pie " * 40, "green apple pie " * 40, "old engine oil " * 40])
    assert short.weights == {"lexical": 0.35, "wordllama": 1.0}
    assert 0.7 < long.weights["lexical"] <= 0.8


def test_empty_texts_are_said_and_form_no_group():
    texts, _ = make_texts(300)
    texts = [*texts, *["", "  ", "..."] * 20]
    with pytest.warns(CladifyWarning, match="60 of 360 texts have no word"):
        taxonomy = Taxonomy.from_texts(texts)
    tree = taxonomy.tree
    for v in range(taxonomy.n_items, tree.n_nodes):
        leaves = tree.leaf_order[tree.first[v] : tree.first[v] + tree.size[v]]
        assert (leaves >= 300).mean() < 0.8


def test_a_large_group_at_the_top_is_said():
    texts, _ = make_texts(30)
    with pytest.warns(CladifyWarning, match="% of the texts are in one group at the top"):
        Taxonomy.from_texts([*texts, *[f"steam engine number {i} of the railway" for i in range(170)]], max_children=3)


def test_same_texts_are_said():
    with pytest.warns(CladifyWarning, match="all 12 texts are the same"):
        Taxonomy.from_texts(["the same"] * 12)


def test_unknown_static_model():
    with pytest.raises(InvalidInput, match="no static model 'word2vec'"):
        StaticModel.load("word2vec")


def test_bodies_of_mails():
    mail = "From: a@b.c\nSubject: Broken pump\n\n> Is it?\nYes, the pump is broken again.\n-- \nAnn\nACME Inc."
    assert body_of(mail) == "Broken pump\n\n> Is it?\nYes, the pump is broken again."
    for text in (
        "one line",
        "short\n--\nx",
        "Title: a\ntext without an empty line, and no header",
        "a\n\n====\nb " * 9,
    ):
        assert body_of(text).strip() == text.strip()
