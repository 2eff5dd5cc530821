"""Words moved to where a corpus uses them, against a naive twin."""

from collections import Counter

import numpy as np
import pytest
from taxonomy_texts import make_texts

from cladify import Taxonomy
from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.text import StaticModel, TextEmbedder, _contexts, _static
from cladify.text._contexts import Contexts


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=-1, keepdims=True), 1e-9)


def naive(texts):
    """Word -> direction of the weighed mean of the texts that have it, less the mean of all words."""
    model = StaticModel.load()
    X = model.encode(texts)
    counts = [Counter(_static._WORD.findall(text)) for text in texts]
    words = [word for word in {w for c in counts for w in c} if sum(word in c for c in counts) >= 2]
    means = {}
    for word in words:
        weight = np.array([1 + np.log(c[word]) if word in c else 0.0 for c in counts])
        means[word] = weight @ X / weight.sum()
    middle = np.mean(list(means.values()), axis=0)
    return {word: unit(mean - middle) for word, mean in means.items()}


TEXTS = ["red apple pie, red", "green apple pie", "steam engine", "old steam engine oil", "apple oil", "lonely"]


def test_directions_are_those_of_a_naive_twin(monkeypatch):
    expected = naive(TEXTS)
    for batch in (20_000, 2):
        monkeypatch.setattr(_static, "_BATCH", batch)
        contexts = Contexts.learn(StaticModel.load(), TEXTS, Progress())
        assert set(contexts.words) == set(expected) == {"apple", "pie", "steam", "engine", "oil"}
        got = unit(contexts.directions.astype(np.float64))
        for word, direction in zip(contexts.words, got, strict=True):
            assert direction @ expected[word] > 0.999


def test_a_moved_word_is_its_own_and_that_of_its_texts():
    contexts = Contexts.learn(StaticModel.load(), TEXTS, Progress())
    vectors = StaticModel.load().vectors_of(["apple", "unheard"])
    before = vectors.copy()
    moved = contexts.move(["apple", "unheard"], vectors)
    length = np.linalg.norm(before[0])
    direction = unit(contexts.directions[contexts.words.index("apple")].astype(np.float32))
    assert np.allclose(moved[0], before[0] + length * direction, atol=1e-5)
    assert np.array_equal(moved[1], before[1]) and np.array_equal(vectors, before)


def test_words_of_one_corpus_come_together():
    """Words that no table knows, in the same company."""
    texts = [f"{name} {thing}" for name in ("blorp", "zindle") for thing in ("apple", "pear", "plum")]
    texts += [f"{name} {thing}" for name in ("quaxo", "mirkul") for thing in ("engine", "motor", "pump")]
    X = TextEmbedder(n_components=2).fit_transform([*texts, "blorp", "zindle", "quaxo", "mirkul"])
    a, b, c, d = X[-4:]
    assert min(a @ b, c @ d) > max(a @ c, a @ d, b @ c, b @ d)


def test_only_a_sample_and_the_most_common_words(monkeypatch):
    monkeypatch.setattr(_contexts, "_SAMPLE", 30)
    monkeypatch.setattr(_contexts, "_MAX_WORDS", 4)
    texts, _ = make_texts(60)
    contexts = Contexts.learn(StaticModel.load(), texts, Progress())
    again = Contexts.learn(StaticModel.load(), texts, Progress())
    assert len(contexts.words) == 4 and contexts.words == again.words
    assert np.array_equal(contexts.directions, again.directions)


@pytest.mark.parametrize("texts", [["one", "two"], ["same"] * 3, [""], ["x", ""]])
def test_too_little_to_learn_from(texts):
    contexts = Contexts.learn(StaticModel.load(), texts, Progress())
    X = StaticModel.load().encode(texts, contexts=contexts)
    assert np.isfinite(X).all() and X.shape == (len(texts), 256)


def test_files(tmp_path):
    texts, _ = make_texts(60)
    made = Taxonomy.from_texts(texts)
    arrays, said = made._embedder.to_arrays()
    new = ["a rare cello", "cheap zinc and copper"]
    assert np.allclose(TextEmbedder.from_arrays(arrays, said).transform(new), made._embedder.transform(new), atol=2e-3)
    older = {name: array for name, array in arrays.items() if name != "context_directions"}
    assert TextEmbedder.from_arrays(older, said).contexts is None
    with pytest.raises(InvalidInput, match="do not fit"):
        TextEmbedder.from_arrays(arrays, said | {"context_words": said["context_words"][1:]})
