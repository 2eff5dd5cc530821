import pickle
import sqlite3
import sys
import types

import numpy as np
import pytest
from mock_server import MockServer
from taxonomy_texts import make_texts

from cladify import Taxonomy
from cladify._kit.progress import Progress
from cladify.errors import CladifyError, CladifyWarning, InvalidInput, MissingExtra
from cladify.text import StaticModel, _models
from cladify.text._cache import VectorCache, cache_path


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CLADIFY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model2vec(monkeypatch):
    """A library with one model, that of the extra, and a list of what it was asked."""
    asked = []

    class Model:
        @classmethod
        def from_pretrained(cls, name):
            if name != "known":
                raise OSError(f"{name} is not here and there is no network\nsecond line")
            return cls()

        def encode(self, texts):
            asked.extend(texts)
            return 3 * StaticModel.load().encode(texts)

    monkeypatch.setitem(sys.modules, "model2vec", types.SimpleNamespace(StaticModel=Model))
    return asked


def test_each_text_is_embedded_once_and_never_again(model2vec):
    texts, _ = make_texts(60)
    first = Taxonomy.from_texts(texts, embedder="model2vec:known")
    assert first.info["embedder"] == "tfidf + model2vec:known"
    assert sorted(model2vec) == sorted(set(texts))
    model2vec.clear()
    second = Taxonomy.from_texts(texts, embedder="model2vec:known")
    assert not model2vec and np.allclose(second._X, first._X)
    Taxonomy.from_texts([*texts, "a new text"], embedder="model2vec:known")
    assert model2vec == ["a new text"]


def test_a_stopped_run_goes_on(model2vec, monkeypatch):
    texts = [f"text number {i} of many" for i in range(40)]
    monkeypatch.setattr(_models, "_BATCH", 10)

    def stop(stage, done, total):
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _models.NamedModel("model2vec:known")(texts, Progress(stop))
    assert len(model2vec) == 20
    _models.NamedModel("model2vec:known")(texts, Progress())
    assert len(model2vec) == 40


def test_long_texts_are_means_of_passages(model2vec):
    long = "apple pie " * 140 + "steam engine " * 110
    pieces = _models._passages(long)
    assert len(pieces) == 2 and " ".join(pieces) == long.strip() and max(map(len, pieces)) <= _models._PASSAGE
    got = _models.NamedModel("model2vec:known")([long, "", "apple"], Progress())
    parts = StaticModel.load().encode(pieces)
    assert np.allclose(got[0], parts.sum(axis=0) / np.linalg.norm(parts.sum(axis=0)), atol=1e-5)
    assert not got[1].any() and np.isclose(np.linalg.norm(got[2]), 1)
    assert len(_models._passages("x" * 1_000_000)) == _models._MAX_PASSAGES


def test_a_file_opens_no_model_on_its_own(model2vec, tmp_path):
    texts, _ = make_texts(60)
    made = Taxonomy.from_texts(texts, embedder="model2vec:known")
    paths = made.table(form="arrow")["path"].to_pylist()
    assert made.place(texts[:5], form="arrow")["path"].to_pylist() == paths[:5]
    made.save(tmp_path / "a.taxonomy")
    again = Taxonomy.load(tmp_path / "a.taxonomy")
    with pytest.raises(InvalidInput, match="give it again: place"):
        again.place(texts[:5])
    with pytest.raises(InvalidInput, match="not of 'model2vec:other'"):
        again.place(texts[:5], embedder="model2vec:other")
    assert again.place(texts[:5], embedder="model2vec:known", form="arrow")["path"].to_pylist() == paths[:5]
    assert pickle.loads(pickle.dumps(made)).place(texts[:5], form="arrow")["path"].to_pylist() == paths[:5]


class Library:
    """Stands in for a library of models: a class of its own that is opened by a name and embeds lists of texts."""

    def __init__(self, name):
        if name != "known":
            raise OSError(f"{name} is not here and there is no network")

    def encode(self, texts, show_progress_bar=False):
        return 3 * StaticModel.load().encode(texts)

    def embed(self, texts):
        yield from self.encode(texts)


@pytest.mark.parametrize(
    ("name", "module", "opener"),
    [
        ("sentence-transformers", "sentence_transformers", "SentenceTransformer"),
        ("fastembed", "fastembed", "TextEmbedding"),
    ],
)
def test_every_library_goes_through_one_door(monkeypatch, tmp_path, name, module, opener):
    monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**{opener: Library}))
    monkeypatch.setattr(_models, "_BATCH", 16)
    texts, _ = make_texts(60)
    seen = []
    made = Taxonomy.from_texts(
        texts, embedder=f"{name}:known", progress=lambda stage, done, total: seen.append((stage, done))
    )
    assert made.info["embedder"] == f"tfidf + {name}:known"
    assert ("text to vectors", 16) in seen and made._X.shape[1] > 256
    made.save(tmp_path / "a.taxonomy")
    placed = Taxonomy.load(tmp_path / "a.taxonomy").place(texts[:3], embedder=f"{name}:known", form="arrow")
    assert placed["path"].to_pylist() == made.table(form="arrow")["path"].to_pylist()[:3]
    monkeypatch.setattr(Library, "encode", lambda *a, **k: pytest.fail("a text was embedded again"))
    assert np.allclose(Taxonomy.from_texts(texts, embedder=f"{name}:known")._X, made._X)
    with pytest.raises(InvalidInput, match=r"the model 'unknown' cannot be loaded .*no network") as caught:
        Taxonomy.from_texts(["red apple", "green apple"], embedder=f"{name}:unknown")
    assert "\n" not in str(caught.value)


def test_a_function_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_vectors.py").write_text(
        "import numpy as np\n"
        "def lengths(texts):\n    return np.array([[len(t), t.count('e'), 1] for t in texts])\n"
        "def broken(texts):\n    raise RuntimeError('no such device')\n"
        "def short(texts):\n    return [[1.0, 2.0]]\n"
    )
    texts = ["an apple", "a pear", "an engine", "a steam engine"]
    made = Taxonomy.from_texts(texts, embedder="my_vectors:lengths")
    assert made.info["embedder"] == "my_vectors:lengths" and made._X[0].tolist() == [8, 1, 1]
    for name, said in (
        ("my_vectors:broken", "the embedder failed: RuntimeError: no such device"),
        ("my_vectors:short", "one row of numbers a text"),
        ("my_vectors:missing", "cannot be found"),
        ("no_such_module_here:f", "cannot be found"),
        ("word2vec", "embedder must be auto, tfidf"),
    ):
        with pytest.raises(InvalidInput, match=said):
            Taxonomy.from_texts(texts, embedder=name)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("sentence-transformers:x", "sentence_transformers", "transformers"),
        ("model2vec:x", "model2vec", "model2vec"),
        ("fastembed:x", "fastembed", "fastembed"),
    ],
)
def test_missing_libraries(monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"cladify\[{extra}\]"):
        Taxonomy.from_texts(["red apple", "green apple"], embedder=name)


def test_a_model_that_does_not_exist(model2vec):
    with pytest.raises(InvalidInput, match="the model 'unknown' cannot be loaded") as caught:
        Taxonomy.from_texts(["red apple", "green apple"], embedder="model2vec:unknown")
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInput, match="lacks the name"):
        Taxonomy.from_texts(["red apple", "green apple"], embedder="model2vec:")


def _embeddings(payload):
    X = StaticModel.load().encode(payload["input"])
    rows = [{"index": i, "embedding": row.tolist()} for i, row in enumerate(X)]
    return {"data": rows[::-1]}


def test_a_server(monkeypatch):
    monkeypatch.setattr("cladify._kit.openai.PAUSE", 0.01)
    texts, _ = make_texts(60)
    with MockServer(_embeddings, faults=["500", "429"]) as server:
        name = f"openai:small@{server.url}"
        taxonomy = Taxonomy.from_texts(texts, embedder=name)
        assert len(server.calls) == 3 and server.calls[-1].path.endswith("/embeddings")
        assert server.calls[-1].payload["model"] == "small"
        again = Taxonomy.from_texts(texts, embedder=name)
        assert len(server.calls) == 3
    assert np.allclose(taxonomy._X, again._X)
    with pytest.raises(CladifyError) as caught:
        Taxonomy.from_texts(["another text", "and one more"], embedder=name)
    assert "\n" not in str(caught.value)


def test_a_server_without_embeddings():
    with MockServer(lambda payload: {"choices": []}) as server, pytest.raises(InvalidInput, match="no embeddings"):
        Taxonomy.from_texts(["red apple", "green apple"], embedder=f"openai:chat@{server.url}")


def test_a_damaged_cache_is_only_slower(model2vec):
    cache_path().parent.mkdir(parents=True)
    cache_path().write_bytes(b"not a database" * 100)
    with pytest.warns(CladifyWarning, match="vectors are not kept"):
        X = _models.NamedModel("model2vec:known")(["red apple"], Progress())
    assert X.shape == (1, 256)


def test_the_cache_holds_no_texts(tmp_path):
    cache = VectorCache("m", tmp_path / "c.sqlite")
    cache.write(["a secret"], np.ones((1, 3)))
    assert cache.read(["a secret", "other"])["a secret"].tolist() == [1, 1, 1]
    assert not VectorCache("other model", tmp_path / "c.sqlite").read(["a secret"])
    cache.close()
    rows = sqlite3.connect(tmp_path / "c.sqlite").execute("SELECT * FROM vectors").fetchall()
    assert len(rows) == 1 and b"secret" not in (tmp_path / "c.sqlite").read_bytes()
