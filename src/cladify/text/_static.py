"""Static word vectors: a table of token vectors and its tokenizer, read from files; no network, no torch.

A text is the mean of the vectors of its words, and a word the sum of those of its tokens. Each distinct word is cut
into tokens once, so that the cost is one pass over the words and two products of sparse matrices.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import InvalidInput, MissingExtra
from cladify.text._terms import MAX_CHARACTERS

__all__ = ["STATIC_MODEL", "StaticModel", "static_vectors"]

#: The model that is installed with cladify.
STATIC_MODEL = "wordllama"
#: Installed package -> tokenizer and table of vectors in its folder.
_FILES = {STATIC_MODEL: ("tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors")}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BATCH = 20_000
_MAX_WORDS = 1_000_000


class Moves(Protocol):
    """What may move the vectors of words."""

    def move(self, words: Sequence[str], vectors: np.ndarray) -> np.ndarray: ...


class StaticModel:
    """A table of token vectors.

    Parameters
    ----------
    name : str
        What it is called in files.
    tokenizer : tokenizers.Tokenizer
    table : array of shape (n_tokens, d)

    Examples
    --------
    >>> model = StaticModel.load()  # doctest: +SKIP
    >>> model.terms(["apple", "pear", "steam engine"]).shape  # doctest: +SKIP
    (3, 256)
    """

    def __init__(self, name: str, tokenizer: Any, table: np.ndarray) -> None:
        self.name = name
        self.table = table
        self._tokenizer = tokenizer
        self._tokens: dict[str, list[int]] = {}

    @staticmethod
    def load(name: str = STATIC_MODEL) -> StaticModel:
        """The model of an installed package; :class:`cladify.errors.MissingExtra` where it is not installed."""
        if name not in _FILES:
            raise InvalidInput(f"there is no static model {name!r}. Known: {', '.join(_FILES)}.")
        found = StaticModel.find(name)
        if found is None:
            raise MissingExtra(f"The static model {name!r}")
        return found

    @staticmethod
    def find(name: str = STATIC_MODEL) -> StaticModel | None:
        """The same, or None where it is not installed."""
        return _load(name)

    @property
    def n_dimensions(self) -> int:
        return self.table.shape[1]

    @property
    def n_tokens(self) -> int:
        return self.table.shape[0]

    def terms(self, words: Sequence[str]) -> np.ndarray:
        """Unit vectors of single words or phrases; a zero row for one without a letter or digit."""
        return self.encode(words)

    def encode(self, texts: Sequence[str], report: Progress | None = None, contexts: Moves | None = None) -> np.ndarray:
        """Unit vectors of n texts, float32 of shape (n, d); a zero row for a text without a letter or digit.

        A word that a text has t times weighs 1 + log t. Common words are not weighed down: the table was trained for
        means, so that their vectors are short, and the common words of a corpus are often those of its subjects.
        ``contexts`` may move the vectors of words.
        """
        X = np.zeros((len(texts), self.n_dimensions), np.float32)
        with (report or Progress()).stage("static vectors", len(texts)) as advance:
            for rows, counts, words in self.batches(texts):
                vectors = self.vectors_of(words)
                X[rows] = counts @ (vectors if contexts is None else contexts.move(words, vectors))
                advance(counts.shape[0])
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
        return X

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[slice, Any, list[str]]]:
        """One slice of the texts after the other: the weight of each word in each text, CSR, and those words."""
        from scipy.sparse import csr_array

        find = _WORD.findall
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            ids: defaultdict[str, int] = defaultdict()
            ids.default_factory = ids.__len__
            found = array("i")
            ends = [0]
            for text in batch:
                found.extend(map(ids.__getitem__, find(_calm(text[:MAX_CHARACTERS]))))
                ends.append(len(found))
            column = np.frombuffer(found, np.int32) if found else np.empty(0, np.int32)
            counts = csr_array((np.ones(len(column), np.float32), column, ends), shape=(len(batch), max(len(ids), 1)))
            counts.sum_duplicates()
            counts.data = 1.0 + np.log(counts.data)
            yield slice(start, start + len(batch)), counts, list(ids) or [""]

    def vectors_of(self, words: list[str]) -> np.ndarray:
        """Sums of the token vectors of words, float32 of shape (len(words), d)."""
        from scipy.sparse import csr_array

        if len(self._tokens) > _MAX_WORDS:
            self._tokens.clear()
        self._learn([word for word in words if word not in self._tokens])
        tokens = [self._tokens[word] for word in words]
        ends = np.cumsum([0, *map(len, tokens)])
        ids = np.fromiter((i for some in tokens for i in some), np.int64, ends[-1])
        return csr_array((np.ones(len(ids), np.float32), ids, ends), shape=(len(words), self.n_tokens)) @ self.table

    def _learn(self, words: list[str]) -> None:
        found = self._tokenizer.encode_batch_fast(words, add_special_tokens=False)
        self._tokens.update((word, encoding.ids) for word, encoding in zip(words, found, strict=True))


def _calm(text: str) -> str:
    """A text in capitals in small letters: words in capitals are rare in a table, and cut into pieces."""
    return text.lower() if text.isupper() else text


def static_vectors(words: Sequence[str]) -> np.ndarray | None:
    """Unit vectors of words or phrases by the model that is installed with cladify; None where it is missing."""
    model = StaticModel.find()
    return None if model is None else model.terms(words)


@lru_cache(maxsize=2)
def _load(name: str) -> StaticModel | None:
    """The model, read from the files of its package; the package itself is not imported."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        return None
    tokenizer_file, table_file = (Path(spec.origin).parent / file for file in _FILES[name])
    if not tokenizer_file.exists() or not table_file.exists():
        return None
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (table,) = load_file(str(table_file)).values()
    return StaticModel(name, tokenizer, np.ascontiguousarray(table, dtype=np.float32))
