"""Models by name: one door for embedders that others wrote.

A named model embeds each distinct passage once, in batches, and keeps the vectors on disk. Long texts are means of
their passages, as models read only the beginning of a text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from cladify._kit.openai import Server
from cladify._kit.progress import Progress
from cladify.errors import CladifyError, InvalidInput, MissingExtra
from cladify.text._cache import VectorCache

__all__ = ["NamedModel", "call_function", "is_model_name", "load_callable"]

Encode = Callable[[list[str]], Any]

_KNOWN = "auto, tfidf, sentence-transformers:NAME, model2vec:NAME, fastembed:NAME, openai:MODEL@URL or module:function"
_BATCH = 256
#: Characters of a passage, and how many passages of a text are read.
_PASSAGE, _MAX_PASSAGES = 1500, 8


def is_model_name(name: str) -> bool:
    """Whether a name is one of a model, not of a function."""
    return name.partition(":")[0] in _OPENERS


class NamedModel:
    """A model that was opened by its name, from texts to unit vectors.

    Parameters
    ----------
    name : str
        ``sentence-transformers:NAME``, ``model2vec:NAME``, ``fastembed:NAME`` or ``openai:MODEL@URL``; NAME may be
        the path of a folder.
    """

    def __init__(self, name: str) -> None:
        kind, _, rest = name.partition(":")
        if not rest:
            raise InvalidInput(f"embedder {name!r} lacks the name of a model. Known: {_KNOWN}.")
        self.name = name
        self._kind, self._rest = kind, rest
        self._encode: Encode | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encode": None}

    def __call__(self, texts: list[str], report: Progress) -> np.ndarray:
        """Vectors of texts; a zero row for one without a passage."""
        pieces = [_passages(text) for text in texts]
        distinct = list(dict.fromkeys(piece for some in pieces for piece in some))
        vectors = self._vectors(distinct, report)
        d = len(next(iter(vectors.values()))) if vectors else 1
        X = np.zeros((len(texts), d), np.float32)
        for row, some in zip(X, pieces, strict=True):
            for piece in some:
                row += vectors[piece]
        return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)

    def _vectors(self, distinct: list[str], report: Progress) -> dict[str, np.ndarray]:
        """Unit vectors of distinct passages, from the cache or the model."""
        cache = VectorCache(self._key())
        try:
            known = cache.read(distinct)
            missing = sorted((text for text in distinct if text not in known), key=len)
            with report.stage("text to vectors", len(distinct)) as advance:
                advance(len(known))
                for start in range(0, len(missing), _BATCH):
                    batch = missing[start : start + _BATCH]
                    if self._encode is None:
                        self._encode = _OPENERS[self._kind](self._rest)
                    X = call_function(self._encode, batch)
                    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
                    cache.write(batch, X)
                    known.update(zip(batch, X, strict=True))
                    advance(len(batch))
        finally:
            cache.close()
        if len({len(vector) for vector in known.values()}) > 1:
            raise InvalidInput(f"{self.name!r} has given vectors of different lengths; delete {cache.path}.")
        return known

    def _key(self) -> str:
        """The name, and for a folder when it was changed last: it may hold another model tomorrow."""
        if not os.path.isdir(self._rest):
            return self.name
        changed = max((entry.stat().st_mtime_ns for entry in os.scandir(self._rest)), default=0)
        return f"{self._kind}:{os.path.realpath(self._rest)} {changed}"


def call_function(function: Encode, texts: list[str]) -> np.ndarray:
    """The vectors that a function gives for texts, checked."""
    try:
        X = np.asarray(function(texts))
    except CladifyError:
        raise
    except Exception as error:
        raise InvalidInput(f"the embedder failed: {type(error).__name__}: {str(error)[:200]}.") from error
    if X.ndim != 2 or len(X) != len(texts) or X.dtype.kind not in "fiu":
        raise InvalidInput(
            f"the embedder gave an array of shape {X.shape} and dtype {X.dtype} for {len(texts)} texts; "
            "it must give one row of numbers a text."
        )
    return X.astype(np.float32, copy=False)


def _passages(text: str) -> list[str]:
    """A text in pieces that a model reads to the end, cut between words."""
    text = " ".join(text[: _PASSAGE * _MAX_PASSAGES * 2].split())
    pieces: list[str] = []
    while text and len(pieces) < _MAX_PASSAGES:
        end = len(text) if len(text) <= _PASSAGE else text.rfind(" ", _PASSAGE // 2, _PASSAGE)
        end = end if end > 0 else _PASSAGE
        pieces.append(text[:end])
        text = text[end:].lstrip()
    return pieces


def _sentence_transformers(name: str) -> Encode:
    module = _extra("sentence_transformers", f"sentence-transformers:{name}", "transformers")
    model = _opened(name, lambda: module.SentenceTransformer(name))
    return lambda texts: model.encode(texts, show_progress_bar=False)


def _model2vec(name: str) -> Encode:
    module = _extra("model2vec", f"model2vec:{name}", "model2vec")
    model = _opened(name, lambda: module.StaticModel.from_pretrained(name))
    return lambda texts: model.encode(texts)


def _fastembed(name: str) -> Encode:
    module = _extra("fastembed", f"fastembed:{name}", "fastembed")
    model = _opened(name, lambda: module.TextEmbedding(name))
    return lambda texts: np.stack(list(model.embed(texts)))


def _openai(name: str) -> Encode:
    def encode(texts: list[str]) -> np.ndarray:
        with Server.parse(f"openai:{name}") as server:
            answer = server.post("embeddings", {"input": texts, "encoding_format": "float"})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            return np.array([row["embedding"] for row in rows], np.float32)
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(f"{server.url} gave no embeddings; is {server.model!r} a model for them?") from None

    return encode


_OPENERS: dict[str, Callable[[str], Encode]] = {
    "sentence-transformers": _sentence_transformers,
    "model2vec": _model2vec,
    "fastembed": _fastembed,
    "openai": _openai,
}


def _extra(module: str, what: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(f"The embedder {what!r}", extra) from None


def _opened(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # offline, misspelt, not a model: many errors of many libraries
        reason = (str(error).splitlines() or [""])[0][:150]
        raise InvalidInput(
            f"the model {name!r} cannot be loaded ({reason}); download it first, give the path of its folder, "
            "or leave --embedder (embedder=) out: the default needs no download."
        ) from None


def load_callable(name: str, what: str) -> Callable[..., Any]:
    """The function called ``module:function``, of what is installed or else of the current folder.

    The folder is searched last, and only for this import: a file there that happens to be called like a library
    does not take its place.
    """
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name:
        known = _KNOWN if what == "embedder" else "openai:MODEL@URL, ollama:MODEL or module:function"
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
