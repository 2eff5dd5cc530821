"""Models by name: one door for embedders that others wrote."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import CladifyError, InvalidInput, MissingExtra

__all__ = ["call_model", "load_callable", "open_model"]

_PREFIX = "sentence-transformers:"
_KNOWN = "auto, tfidf, wordllama, sentence-transformers:NAME or module:function"


def call_model(model: Callable[[list[str]], Any], texts: list[str], report: Progress) -> np.ndarray:
    """The vectors that a function gives for texts, checked."""
    report.update("text to vectors", 0, 1)
    try:
        X = np.asarray(model(texts))
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
    return X.astype(np.float32, copy=False)


def open_model(name: str) -> tuple[Callable[[list[str]], Any], bool]:
    """The function from texts to vectors that ``name`` stands for, and whether it is one of the user's own."""
    if not name.startswith(_PREFIX):
        return load_callable(name, "embedder"), True
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra(f"The embedder {name!r}", "transformers") from None
    model_name = name.removeprefix(_PREFIX)
    try:
        model = SentenceTransformer(model_name)
    except Exception as error:  # offline, misspelt, not a model: many errors of many libraries
        reason = (str(error).splitlines() or [""])[0][:150]
        raise InvalidInput(
            f"the model {model_name!r} cannot be loaded ({reason}); download it first, give the path of its folder, "
            "or leave --embedder (embedder=) out: the default needs no download."
        ) from None
    return lambda texts: model.encode(texts, normalize_embeddings=True, show_progress_bar=False), False


def load_callable(name: str, what: str) -> Callable[..., Any]:
    """The function called ``module:function``, of what is installed or else of the current folder.

    The folder is searched last, and only for this import: a file there that happens to be called like a library
    does not take its place.
    """
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name:
        known = _KNOWN if what == "embedder" else "module:function"
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
