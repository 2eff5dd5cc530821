"""Static word vectors: a table of token vectors and its tokenizer, read from files; no network, no torch.

A text is the mean of the vectors of its tokens. Each distinct word is cut into tokens once, so that the cost
is one pass over the words and one product of a sparse matrix with the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
        self._words: dict[str, int] = {}
        self._tokens: list[list[int]] = []

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

    def encode(self, texts: Sequence[str], report: Progress | None = None) -> np.ndarray:
        """Unit vectors of n texts, float32 of shape (n, d); a zero row for a text without a letter or digit.

        A token that a text has t times weighs 1 + log t. Common tokens are not weighed down: the table was trained for
        means, so that their vectors are short, and the common words of a corpus are often those of its subjects.
        """
        X = np.zeros((len(texts), self.n_dimensions), np.float32)
        with (report or Progress()).stage("static vectors", len(texts)) as advance:
            for rows, counts in self._batches(texts):
                counts.data = 1.0 + np.log(counts.data)
                X[rows] = counts @ self.table
                advance(counts.shape[0])
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
        return X

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[slice, Any]]:
        """How often each text has each token, CSR, for one slice of the texts after the other."""
        from scipy.sparse import csr_array

        known, find = self._words, _WORD.findall
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            if len(known) > _MAX_WORDS:
                known.clear()
                self._tokens.clear()
            found = [find(_calm(text[:MAX_CHARACTERS])) for text in batch]
            self._learn({word for words in found for word in words if word not in known})
            lengths = [len(words) for words in found]
            ids = np.fromiter((known[word] for words in found for word in words), np.int64, sum(lengths))
            distinct, inverse = np.unique(ids, return_inverse=True)
            tokens = [self._tokens[i] for i in distinct.tolist()]
            ends = np.cumsum([0, *map(len, tokens)])
            of_word = csr_array(
                (np.ones(ends[-1], np.float32), np.fromiter((t for ids in tokens for t in ids), np.int64), ends),
                shape=(len(tokens), self.n_tokens),
            )
            rows = np.cumsum([0, *lengths])
            words_of = csr_array((np.ones(len(ids), np.float32), inverse, rows), shape=(len(batch), len(tokens)))
            counts = words_of @ of_word
            counts.sum_duplicates()
            yield slice(start, start + len(batch)), counts

    def _learn(self, words: set[str]) -> None:
        new = sorted(words)
        for word, encoding in zip(new, self._tokenizer.encode_batch_fast(new, add_special_tokens=False), strict=True):
            self._words[word] = len(self._tokens)
            self._tokens.append(encoding.ids)


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
