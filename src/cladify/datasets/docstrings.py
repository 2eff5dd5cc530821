"""The documentation of NumPy, SciPy and scikit-learn as a data set: real text with a known hierarchy.

Every public function and class with a docstring is a point. Its vector is TF-IDF of the docstring reduced by an SVD
(latent semantic analysis), and the path of its module is the hierarchy it truly belongs to: ``scipy.stats.qmc.Sobol``
lies in ``scipy``, in ``scipy.stats``, and in ``scipy.stats.qmc``.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from cladify.errors import InvalidInput

__all__ = ["Docstrings", "load_docstrings"]

#: Submodules that are not documentation of numerical work, or that change settings when imported.
_SKIPPED = """
char conftest core ctypeslib distutils dtypes estimator_checks experimental externals f2py matlib rec setup strings
testing tests testutils typing version
"""
#: Words of documentation as such, which say nothing about the subject.
_STOP_WORDS = """
added additional alias allocated allow api argument arguments array array_function__ array_like arrays assuming
attributes axis backend backends batch bool boolean broadcast broadcastable call callable capabilities case casting
changed class code combination combinations compatible compute computed computes condition containing contains
converted core correspond corresponding cpu created cupy dask data default defaults deprecated details dict dictionary
different dimension dimensional dimensions dtype element elements enumerate environment equal equivalent example
examples experimental false feature_names_in_ float following freshly function functions given glossary gpu guide
information input instance int int64 integer jax jit keyword kwargs lazy len length like linalg_batch linux list lists
location locations maximum method methods n_features n_features_in_ n_samples name ndarray new non nonetype note notes
number numbers numpy object objects obtained optional order org original otherwise output parameter parameters pass
passed performed possible prepended protocol provided pypi python pytorch raise raised raises random_state read ref
reference remain remains result results retain return returned returns same_kind scalar scikit scipy scipy_array_api
scope seen self sequence set shape signature similar single size sklearn slices specified specifies standard stored
str string subok sum support term torch treated true tuple tuples type typeerror ufunc ufuncs uninitialized use used
user uses using value valueerror values variable version versionadded versionchanged way wise x86_64
"""
SKIPPED = frozenset(_SKIPPED.split())
STOP_WORDS = frozenset(_STOP_WORDS.split())
MAX_DEPTH = 3
MIN_LENGTH = 120


@dataclass(frozen=True)
class Docstrings:
    """A corpus of docstrings; row i of ``X`` and of ``tfidf`` is the thing called ``names[i]``."""

    X: np.ndarray  # float32 (n, d), unit rows
    names: list[str]  # "scipy.stats.qmc.Sobol"
    summaries: list[str]  # first sentence of the docstring
    package: np.ndarray  # "scipy"
    module: np.ndarray  # "scipy.stats": the first two steps of the path
    tfidf: Any  # CSR (n, n_terms), unit rows
    terms: np.ndarray

    @property
    def described(self) -> list[str]:
        """Name and summary of each; names of groups are made from these."""
        return [f"{name}. {summary}" for name, summary in zip(self.names, self.summaries, strict=True)]


def load_docstrings(
    packages: Sequence[str] = ("numpy", "scipy", "sklearn"), *, n_components: int = 100, random_state: int = 0
) -> Docstrings:
    """The docstrings of the public functions and classes of installed packages, as vectors.

    Parameters
    ----------
    packages : names of installed packages
    n_components : int
        Dimensions of the vectors.
    random_state : int
        For the randomised SVD.

    Returns
    -------
    Docstrings

    Examples
    --------
    >>> corpus = load_docstrings(["numpy"], n_components=20)
    >>> corpus.X.shape == (len(corpus.names), 20), "numpy.linalg.norm" in corpus.names
    (True, True)

    References
    ----------
    Deerwester et al., Indexing by latent semantic analysis, J. Am. Soc. Inf. Sci. 41 (1990).
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
    from sklearn.preprocessing import normalize

    entries = list(_documented(packages))
    texts = [_subject(text) for _, _, text in entries]
    stop_words = sorted(STOP_WORDS | ENGLISH_STOP_WORDS | set(packages))
    vectorizer = TfidfVectorizer(
        stop_words=stop_words,
        token_pattern=r"[a-z][a-z0-9_]{2,}",
        ngram_range=(1, 2),
        min_df=3,
        max_df=0.15,
        sublinear_tf=True,
        dtype=np.float32,
    )
    try:
        tfidf = vectorizer.fit_transform(texts)
    except ValueError:
        raise InvalidInput(f"{', '.join(packages)}: too few docstrings ({len(texts)}) to make vectors of.") from None
    known = np.flatnonzero(np.diff(tfidf.indptr))
    tfidf = tfidf[known]
    X = TruncatedSVD(min(n_components, min(tfidf.shape) - 1), random_state=random_state).fit_transform(tfidf)
    modules = [entries[i][0].split(".") for i in known]
    return Docstrings(
        X=normalize(X).astype(np.float32),
        names=[f"{entries[i][0]}.{entries[i][1]}" for i in known],
        summaries=[_summary(entries[i][2]) for i in known],
        package=np.array([path[0] for path in modules]),
        module=np.array([".".join(path[:2]) for path in modules]),
        tfidf=tfidf,
        terms=vectorizer.get_feature_names_out(),
    )


def _documented(packages: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Module, name and docstring of everything public; under its shortest path where it has several."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules on their way out warn when they are imported
        modules = [module for package in packages for module in _modules(package)]
        seen = set()
        for module in sorted(modules, key=lambda module: (module.__name__.count("."), module.__name__)):
            for name, value in _public(module):
                text = inspect.cleandoc(value.__doc__) if isinstance(value.__doc__, str) else ""
                if len(text) >= MIN_LENGTH and text not in seen:
                    seen.add(text)
                    yield module.__name__, name, text


def _modules(package: str) -> Iterator[ModuleType]:
    try:
        waiting = [import_module(package)]
    except ImportError as error:
        raise InvalidInput(f"package {package!r} cannot be imported: {error}.") from None
    while waiting:
        module = waiting.pop()
        yield module
        if module.__name__.count(".") + 1 < MAX_DEPTH:
            for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
                if not found.name.startswith("_") and found.name not in SKIPPED:
                    try:
                        waiting.append(import_module(f"{module.__name__}.{found.name}"))
                    except Exception:  # a module that needs something not installed
                        continue


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    package = module.__name__.split(".")[0]
    listed = getattr(module, "__all__", None)
    # Without __all__, what a module only imported is not its own.
    home = package if listed is not None else module.__name__
    for name in sorted(listed if listed is not None else vars(module)):
        value = vars(module).get(name)
        if name.startswith("_") or not callable(value):
            continue
        defined = getattr(value, "__module__", None) or package
        if defined == home or defined.startswith(home + "."):
            yield name, value


def _subject(text: str) -> str:
    """A docstring without its examples and references, whose words say little about the subject."""
    kept = []
    skipping = False
    lines = text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below.startswith("---") and line.strip():
            skipping = line.strip() in ("Examples", "References", "See Also")
        elif not skipping and not line.startswith("---"):
            kept.append(line)
    return "\n".join(kept).lower()


def _summary(text: str) -> str:
    """The first sentence, without the signature that compiled functions start with."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    signature = re.compile(r"^[\w.]+\(.*\)( ->.*)?$")
    first = next((part for part in paragraphs if part and not signature.match(part)), paragraphs[0])
    return re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]
