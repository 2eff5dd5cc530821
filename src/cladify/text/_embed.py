"""Texts as vectors: TF-IDF and truncated SVD (latent semantic analysis), or an embedder of the user's.

References
----------
Deerwester et al., Indexing by latent semantic analysis, J. Am. Soc. Inf. Sci. 41 (1990).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import CladifyError, InvalidInput, MissingExtra
from cladify.text._terms import Terms, count_terms, grams_of

__all__ = ["TextEmbedder", "embed_texts", "embedding_terms", "load_callable"]

_PREFIX = "sentence-transformers:"


class TextEmbedder:
    """TF-IDF of words and phrases, reduced by a truncated SVD; rows have length 1.

    Parameters
    ----------
    n_components : int
        Dimensions of the vectors, and one more for texts without a known word.
    max_terms : int
        The most common terms are kept.
    random_state : int
        For the randomised SVD.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "steam engine", "diesel engine"]
    >>> X = TextEmbedder(n_components=2).fit_transform(texts)
    >>> bool(X[0] @ X[1] > X[0] @ X[2])
    True
    """

    def __init__(self, *, n_components: int = 100, max_terms: int = 60_000, random_state: int = 0) -> None:
        self.n_components = n_components
        self.max_terms = max_terms
        self.random_state = random_state

    def fit_transform(self, texts: Sequence[str], report: Progress | None = None) -> np.ndarray:
        """Vectors of the texts that the embedder learns its words from; texts without a word are alike."""
        return self.fit_terms(embedding_terms(texts, report or Progress()), report)

    def fit_terms(self, terms: Terms, report: Progress | None = None) -> np.ndarray:
        """The same, of texts whose terms are counted already."""
        from sklearn.decomposition import TruncatedSVD

        report = report or Progress()
        times = terms.times
        n = times.shape[0]
        seen = np.bincount(times.indices, minlength=times.shape[1])
        kept = np.sort(np.argsort(-seen, kind="stable")[: self.max_terms])
        self.words = [" ".join(terms.words[i]) for i in kept]
        self.stop_words = terms.stop_words
        self.idf = (np.log((1.0 + n) / (1.0 + seen[kept])) + 1.0).astype(np.float32)
        tfidf = self._weigh(times[:, kept])
        report.update("text to vectors", 1, 3)
        rank = min(self.n_components, min(tfidf.shape) - 1)
        if rank < 1:  # one term or one text: nothing to reduce
            self.components = np.eye(tfidf.shape[1], dtype=np.float32)[: max(1, min(tfidf.shape))]
        else:
            svd = TruncatedSVD(rank, n_iter=4, random_state=self.random_state)
            self.components = svd.fit(tfidf).components_.astype(np.float32)
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
            found = [known[gram] for gram in grams_of(text, self.stop_words) if gram in known]
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
        """Rows of length 1; the last column is for texts without a known word, which are alike in just that."""
        X = np.zeros((tfidf.shape[0], len(self.components) + 1), np.float32)
        X[:, :-1] = np.asarray(tfidf @ self.components.T)
        length = np.linalg.norm(X, axis=1)
        unknown = length < 1e-6
        X[unknown], X[unknown, -1] = 0.0, 1.0
        X[~unknown] /= length[~unknown, None]
        return X

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a file needs to hold: arrays, and plain values."""
        arrays = {"embed_components": self.components.astype(np.float16), "embed_idf": self.idf}
        return arrays, {"kind": "tfidf", "words": self.words, "stop_words": sorted(self.stop_words)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], words: Any) -> Self:
        """The embedder that :meth:`to_arrays` described."""
        if not isinstance(words, Mapping) or words.get("kind") != "tfidf":
            raise InvalidInput("its embedder is of an unknown kind")
        self = cls()
        self.words = [str(word) for word in words["words"]]
        self.stop_words = frozenset(str(word) for word in words["stop_words"])
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


def embed_texts(
    texts: list[str], embedder: str | Callable[[list[str]], Any], *, random_state: Any = 0, report: Progress
) -> tuple[np.ndarray, TextEmbedder | None, Terms | None]:
    """Vectors of texts by the embedder asked for; the embedder and the terms it rests on, if it is cladify's own."""
    if embedder == "tfidf":
        own = TextEmbedder(random_state=random_state if isinstance(random_state, int) else 0)
        terms = embedding_terms(texts, report)
        return own.fit_terms(terms, report), own, terms
    function = embedder if callable(embedder) else _by_name(embedder)
    report.update("text to vectors", 0, 1)
    try:
        X = np.asarray(function(texts))
    except CladifyError:
        raise
    except Exception as error:
        raise InvalidInput(f"the embedder failed: {type(error).__name__}: {str(error)[:200]}.") from error
    report.update("text to vectors", 1, 1)
    if X.ndim != 2 or len(X) != len(texts) or X.dtype.kind not in "fiu":
        raise InvalidInput(
            f"the embedder gave an array of shape {X.shape} and dtype {X.dtype} for {len(texts)} texts; "
            "it must give one row of numbers a text."
        )
    return X.astype(np.float32, copy=False), None, None


def _by_name(name: str) -> Callable[[list[str]], Any]:
    if not name.startswith(_PREFIX):
        return load_callable(name, "embedder")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra(f"The embedder {name!r}", "text") from None
    model_name = name.removeprefix(_PREFIX)
    try:
        model = SentenceTransformer(model_name)
    except Exception as error:  # offline, misspelt, not a model: many errors of many libraries
        reason = (str(error).splitlines() or [""])[0][:150]
        raise InvalidInput(
            f"the model {model_name!r} cannot be loaded ({reason}); download it first, give the path of its folder, "
            'or use --embedder tfidf (embedder="tfidf"), which needs no download.'
        ) from None
    return lambda texts: model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def load_callable(name: str, what: str) -> Callable[..., Any]:
    """The function called ``module:function``, of what is installed or else of the current folder.

    The folder is searched last, and only for this import: a file there that happens to be called like a library
    does not take its place.
    """
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name:
        known = (
            "tfidf, sentence-transformers:NAME or module:function"
            if what == "embedder"
            else ("openai:MODEL@URL, ollama:MODEL or module:function")
        )
        raise InvalidInput(f"{what} must be {known}, got {name!r}.")
    folder = os.getcwd()
    sys.path.append(folder)
    try:
        function = getattr(import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"{what} {name!r} cannot be found: {error}.") from None
    finally:
        del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]
    if not callable(function):
        raise InvalidInput(f"{what} {name!r} is not a function.")
    return function
