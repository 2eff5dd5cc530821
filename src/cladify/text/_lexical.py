"""Texts as vectors of their words: TF-IDF and truncated SVD (latent semantic analysis).

References
----------
Deerwester et al., Indexing by latent semantic analysis, J. Am. Soc. Inf. Sci. 41 (1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.text._terms import Terms, count_terms, grams_of

__all__ = ["Lexical", "embedding_terms"]

#: So many texts are enough to learn the components from.
_SAMPLE = 100_000


class Lexical:
    """TF-IDF of words and phrases, reduced by a truncated SVD; rows have length 1, or 0 without a known word.

    Parameters
    ----------
    n_components : int
        Dimensions of the vectors.
    max_terms : int
        The most common terms are kept.
    random_state : int
        For the randomised SVD.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "steam engine", "diesel engine"]
    >>> X = Lexical(n_components=2).fit_terms(embedding_terms(texts, Progress()), Progress())
    >>> bool(X[0] @ X[1] > X[0] @ X[2])
    True
    """

    def __init__(self, *, n_components: int = 100, max_terms: int = 60_000, random_state: int = 0) -> None:
        self.n_components = n_components
        self.max_terms = max_terms
        self.random_state = random_state

    def fit_terms(self, terms: Terms, report: Progress) -> np.ndarray:
        """Vectors of the texts whose terms these are."""
        from sklearn.utils.extmath import randomized_svd

        times = terms.times
        n = times.shape[0]
        seen = np.bincount(times.indices, minlength=times.shape[1])
        kept = np.sort(np.argsort(-seen, kind="stable")[: self.max_terms])
        self.words = [" ".join(terms.words[i]) for i in kept]
        self.stop_words, self.language = terms.stop_words, terms.language
        self.idf = (np.log((1.0 + n) / (1.0 + seen[kept])) + 1.0).astype(np.float32)
        tfidf = self._weigh(times[:, kept])
        report.update("text to vectors", 1, 3)
        rank = min(self.n_components, min(tfidf.shape) - 1)
        if rank < 1:  # one term or one text: nothing to reduce
            self.components = np.eye(tfidf.shape[1], dtype=np.float32)[: max(1, min(tfidf.shape))]
        else:
            some = tfidf
            if n > _SAMPLE:
                some = tfidf[np.sort(np.random.default_rng(self.random_state).choice(n, _SAMPLE, replace=False))]
            self.components = randomized_svd(some, rank, n_iter=4, random_state=self.random_state)[2].astype(np.float32)
        report.update("text to vectors", 2, 3)
        X = self._reduce(tfidf)
        report.update("text to vectors", 3, 3)
        return X

    def transform(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of other texts."""
        from scipy.sparse import csr_array

        known = {word: i for i, word in enumerate(self.words)}
        rows: list[int] = []
        columns: list[int] = []
        for row, text in enumerate(texts):
            found = [known[gram] for gram in grams_of(text, self.stop_words, self.language) if gram in known]
            columns += found
            rows += [row] * len(found)
        ones = np.ones(len(rows), np.float32)
        times = csr_array((ones, (rows, columns)), shape=(len(texts), len(self.words)))
        times.sum_duplicates()
        return self._reduce(self._weigh(times))

    def _weigh(self, times: Any) -> Any:
        """TF-IDF with logarithmic counts, rows of length 1."""
        from scipy.sparse import csr_matrix
        from sklearn.preprocessing import normalize

        weighed = csr_matrix(times, dtype=np.float32, copy=True)
        weighed.data = (1.0 + np.log(weighed.data)) * self.idf[weighed.indices]
        return normalize(weighed, copy=False)

    def _reduce(self, tfidf: Any) -> np.ndarray:
        """Rows of length 1, or of zeros for texts without a known word."""
        X = np.asarray(tfidf @ self.components.T, np.float32)
        length = np.linalg.norm(X, axis=1, keepdims=True)
        return np.divide(X, length, out=np.zeros_like(X), where=length >= 1e-6)

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a file needs to hold: arrays, and plain values."""
        arrays = {"embed_components": self.components.astype(np.float16), "embed_idf": self.idf}
        return arrays, {"words": self.words, "stop_words": sorted(self.stop_words), "language": self.language}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], said: Mapping[str, Any]) -> Self:
        """What :meth:`to_arrays` described."""
        self = cls()
        self.words = [str(word) for word in said["words"]]
        self.stop_words = frozenset(str(word) for word in said["stop_words"])
        self.language = str(said.get("language", "en"))
        self.components = arrays["embed_components"].astype(np.float32)
        self.idf = arrays["embed_idf"].astype(np.float32)
        fits = self.components.ndim == 2 and self.components.shape[1] == len(self.idf) == len(self.words)
        if not fits or len(set(self.words)) != len(self.words) or not np.isfinite(self.components).all():
            raise InvalidInput("the arrays of its embedder do not fit each other")
        return self


def embedding_terms(texts: Sequence[str], report: Progress) -> Terms:
    """Terms of at least two texts; all terms, and stop words too, where that leaves none."""
    for options in ({}, {"min_texts": 1}, {"min_texts": 1, "stop_words": frozenset()}):
        terms = count_terms(texts, report=report, **options)
        if len(terms):
            return terms
    raise InvalidInput(f"none of the {len(texts)} texts has a word to go by; give texts, or vectors of your own.")
