"""Texts as vectors, in parts side by side: their words, static vectors of their words, and those of a model.

The lexical part knows the words of this corpus, names and rare ones among them; the static part, and even more a model,
knows which different words mean the same. Each part has rows of length 1 times a weight. The evidence is in
``docs/studies/text.md``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import CladifyWarning, InvalidInput, MissingExtra
from cladify.text._body import body_of
from cladify.text._lexical import Lexical, embedding_terms
from cladify.text._models import NamedModel, call_function, is_model_name, load_callable
from cladify.text._static import STATIC_MODEL, StaticModel
from cladify.text._terms import Terms

__all__ = ["TextEmbedder", "embed_texts", "load_callable"]

_SAMPLE = 2000
_WORD = re.compile(r"\w+")
#: Weight of the lexical part beside one of weight 1: in short texts, and at most. It grows with the root of the length
#: from _SHORT words on, as more words say more about a text on their own.
_LEAST_WEIGHT, _MOST_WEIGHT, _SHORT = 0.35, 0.8, 20


class TextEmbedder:
    """Vectors of texts: the words of the corpus beside static word vectors, or beside those of a model.

    Parameters
    ----------
    static : "auto", str or None
        The static model; ``"auto"`` is that of wordllama, which is installed with cladify.
    model : str, optional
        Name of a model, such as ``"sentence-transformers:NAME"``, that takes the place of the static one.
    n_components : int
        Dimensions of the lexical part.
    random_state : int
        For the randomised SVD.

    Attributes
    ----------
    weights : dict
        Weight of each part.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "steam engine", "diesel engine"]
    >>> X = TextEmbedder(n_components=2).fit_transform(texts)
    >>> bool(X[0] @ X[1] > X[0] @ X[2])
    True
    """

    def __init__(
        self,
        *,
        static: str | None = "auto",
        model: str | None = None,
        n_components: int = 100,
        random_state: int = 0,
    ) -> None:
        self.static = static
        self.model = model
        self._opened = None if model is None else NamedModel(model)
        self.n_components = n_components
        self.random_state = random_state

    def fit_transform(self, texts: Sequence[str], report: Progress | None = None) -> np.ndarray:
        """Vectors of the texts that the embedder learns its words from, of length 1."""
        return self.fit(texts, report)[0]

    def fit(self, texts: Sequence[str], report: Progress | None = None) -> tuple[np.ndarray, Terms]:
        """Vectors of the texts, and the terms that their lexical part rests on."""
        report = report or Progress()
        bodies = [body_of(text) for text in texts]
        terms = embedding_terms(bodies, report)
        self.lexical = Lexical(n_components=self.n_components, random_state=self.random_state)
        parts = {"lexical": self.lexical.fit_terms(terms, report)}
        self.weights = {"lexical": 1.0}
        self.mean: np.ndarray | None = None
        other = self._other(bodies, report)
        if other is not None:
            self.mean = other[other.any(axis=1)].mean(axis=0) if other.any() else other.sum(axis=0)
            parts[self._other_name] = _centred(other, self.mean)
            self.weights = {"lexical": _lexical_weight(bodies), self._other_name: 1.0}
        return self._side_by_side(parts), terms

    def transform(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of other texts."""
        bodies = [body_of(text) for text in texts]
        parts = {"lexical": self.lexical.transform(bodies)}
        if self.mean is not None:
            other = self._other(bodies, Progress())
            if other is None:
                raise MissingExtra("This taxonomy's embedder")
            if other.shape[1] != len(self.mean):
                raise InvalidInput(f"the model gives {other.shape[1]} dimensions and gave {len(self.mean)} before.")
            parts[self._other_name] = _centred(other, self.mean)
        return self._side_by_side(parts)

    @property
    def kind(self) -> str:
        """What the vectors are made of, such as "tfidf + wordllama"."""
        return "tfidf" if self.mean is None else f"tfidf + {self._other_name}"

    @property
    def _other_name(self) -> str:
        return self.model or (STATIC_MODEL if self.static in ("auto", None) else str(self.static))

    def _other(self, bodies: list[str], report: Progress) -> np.ndarray | None:
        """Vectors of the part beside the lexical one."""
        if self._opened is not None:
            return self._opened(bodies, report)
        if self.model is not None:
            raise InvalidInput(
                f"the vectors of this taxonomy were made by {self.model!r}, which no file opens on its own; "
                f"give it again: place(texts, embedder={self.model!r})."
            )
        if self.static is None:
            return None
        found = StaticModel.find() if self.static == "auto" else StaticModel.load(self.static)
        return None if found is None else found.encode(bodies, report)

    def open_model(self, name: str) -> None:
        """Allow the model of an embedder from a file to be opened; it must be the one that made the vectors."""
        if name != self.model:
            raise InvalidInput(f"the vectors of this taxonomy are {self.kind}, not of {name!r}.")
        self._opened = NamedModel(name)

    def _side_by_side(self, parts: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows of length 1. A text of which no part knows a word lies at random between some others."""
        X = np.hstack([np.float32(self.weights[name]) * part for name, part in parts.items()])
        length = np.linalg.norm(X, axis=1, keepdims=True)
        known = length[:, 0] >= 1e-6
        X = np.divide(X, length, out=X, where=length >= 1e-6)
        n_blank = len(X) - int(known.sum())
        if n_blank:
            rng = np.random.default_rng(self.random_state)
            between = _unit(rng.standard_normal((n_blank, X.shape[1])).astype(np.float32))
            if known.any():
                between += X[rng.choice(np.flatnonzero(known), (n_blank, 3))].sum(axis=1)
            X[~known] = _unit(between)
        return X

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What a file needs to hold: arrays, and plain values."""
        arrays, said = self.lexical.to_arrays()
        said |= {"kind": "parts", "weights": self.weights}
        if self.mean is not None:
            arrays["other_mean"] = self.mean.astype(np.float32)
            said["static" if self.model is None else "model"] = self._other_name
        return arrays, said

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], said: Any) -> Self:
        """The embedder that :meth:`to_arrays` described; a model is known by its name only, and never opened here."""
        if not isinstance(said, Mapping) or said.get("kind") != "parts":
            raise InvalidInput("its embedder is of an unknown kind")
        static, model = said.get("static"), said.get("model")
        self = cls(static=None if static is None else str(static))
        self.model = None if model is None else str(model)
        self.lexical = Lexical.from_arrays(arrays, said)
        self.weights = {str(name): float(weight) for name, weight in said["weights"].items()}
        self.mean = arrays.get("other_mean")
        expected = {"lexical"} if self.mean is None else {"lexical", self._other_name}
        if set(self.weights) != expected or not all(0.0 < w < 100.0 for w in self.weights.values()):
            raise InvalidInput("the weights of its embedder do not fit its parts")
        return self


def embed_texts(
    texts: list[str], embedder: str | Callable[[list[str]], Any], *, random_state: Any = 0, report: Progress
) -> tuple[np.ndarray, TextEmbedder | None, Terms | None, str]:
    """Vectors of texts by the embedder asked for; the embedder and the terms it rests on; what they are made of.

    The vectors of a function of the user's are taken as they are, without an embedder and terms.
    """
    seed = random_state if isinstance(random_state, int) else 0
    if embedder == "auto":
        own = TextEmbedder(random_state=seed)
    elif embedder == "tfidf":
        own = TextEmbedder(static=None, random_state=seed)
    elif embedder == STATIC_MODEL:
        own = TextEmbedder(static=STATIC_MODEL, random_state=seed)
    elif isinstance(embedder, str) and is_model_name(embedder):
        own = TextEmbedder(model=embedder, random_state=seed)
    else:
        function = load_callable(embedder, "embedder") if isinstance(embedder, str) else embedder
        report.update("text to vectors", 0, 1)
        X = call_function(function, texts)
        report.update("text to vectors", 1, 1)
        return X, None, None, embedder if isinstance(embedder, str) else repr(embedder)
    X, terms = own.fit(texts, report)
    _say(texts, embedder == "auto" and own.mean is None)
    return X, own, terms, own.kind


def _say(texts: list[str], weak: bool) -> None:
    """Warn about vectors of the weak kind, and texts that cannot be sorted."""
    if weak:
        _warn("the vectors are TF-IDF alone; for better groups: pip install --upgrade wordllama")
    empty = sum(_WORD.search(text) is None for text in texts)
    if empty:
        _warn(f"{empty} of {len(texts)} texts have no word; where they are placed says nothing. Leave them out.")
    if len(texts) == 1:
        _warn("there is one text; there is nothing to sort.")
    elif len(set(texts)) == 1:
        _warn(f"all {len(texts)} texts are the same; there is nothing to sort.")


def _warn(message: str) -> None:
    warnings.warn(message, CladifyWarning, stacklevel=5)


def _lexical_weight(texts: Sequence[str]) -> float:
    """Weight of the lexical part, from the middle number of words of a text."""
    step = max(1, len(texts) // _SAMPLE)
    words = float(np.median([len(_WORD.findall(text[:20_000])) for text in texts[::step]]))
    return float(np.clip(_LEAST_WEIGHT * np.sqrt(words / _SHORT), _LEAST_WEIGHT, _MOST_WEIGHT))


def _centred(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Unit rows less what all texts share; zero rows stay."""
    return _unit(np.where(X.any(axis=1, keepdims=True), X - mean, 0.0).astype(np.float32))


def _unit(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, length, out=np.zeros_like(X), where=length >= 1e-6)
