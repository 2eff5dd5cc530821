"""Terms of texts: words and phrases, counted by the number of texts they occur in.

A word is folded (lower case, base form), so that "Games", "game" and "games" are one term, shown as it is mostly
written. Addresses and numbers are no terms, and words of scripts without spaces are found by
:mod:`cladify.text._language`. A phrase is two to five words in a row, none of them a stop word, with no punctuation
between them, that occur together more often than chance. Python only cuts the texts into words; everything after that
is arrays, so that a million short texts take half a minute.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import combining, normalize

import numpy as np

from cladify._kit.progress import Progress
from cladify.errors import InvalidInput
from cladify.text._clean import without_addresses
from cladify.text._language import Language, find_language

__all__ = ["Terms", "count_terms", "grams_of", "near_duplicates", "telling_words"]

#: Runs of scripts without spaces, words ("c++" and "c#" are words) with their marks, and what ends a phrase.
_RUN = "[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\u0e01-\u0e3a\u0e40-\u0e4e]+"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u200c\u200d"
_TOKEN = re.compile(
    rf"{_RUN}|[^\W_](?:[^\W_]|[{_MARKS}])*(?:\+\+|(?<!\w\w)#)?|[.,;:!?()\[\]{{}}<>|\"。、，；：！？（）「」]"
)
_BREAK = frozenset('.,;:!?()[]{}<>|"。、，；：！？（）「」')
_IS_RUN = re.compile(_RUN)
_IDEOGRAPH = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
#: Characters of a text that are read: a book is known by its beginning, and one text must not outweigh all others.
MAX_CHARACTERS = 50_000
_MAX_WORDS = 5
#: A word is shown in capitals where at least this share of its occurrences is.
_CAPITALS = 0.8
#: Letters and digits in turn, as in ids.
_IS_ID = re.compile(r"[0-9][^\W\d_]+[0-9]+[^\W\d_]")
_BATCH = 20_000


@dataclass(frozen=True)
class Terms:
    """How often each text has each term: ``times`` is CSR of shape (n, n_terms)."""

    times: Any
    shown: list[str]  # as mostly written
    words: list[tuple[str, ...]]  # the folded words of each term
    stop_words: frozenset[str] = frozenset()
    language: str = "en"
    empty: np.ndarray | None = None  # which texts have no word at all

    def __len__(self) -> int:
        return len(self.shown)

    @property
    def counts(self) -> Any:
        """CSR with 1 where a text has a term, however often."""
        from scipy.sparse import csr_array

        times = self.times
        return csr_array((np.ones_like(times.data), times.indices, times.indptr), shape=times.shape)


def count_terms(
    texts: Sequence[str],
    *,
    min_texts: int | None = None,
    max_terms: int = 200_000,
    language: str = "auto",
    stop_words: Iterable[str] | None = None,
    tokenizer: Callable[[str], Sequence[str]] | None = None,
    report: Progress | None = None,
) -> Terms:
    """The terms of ``texts``.

    Parameters
    ----------
    texts : sequence of n str
    min_texts : int, optional
        Terms of fewer texts are left out; by default 2, and 5 from some ten thousand texts on.
    max_terms : int
        The most common ones are kept.
    language : str
        "auto", an ISO 639-1 code or an English name.
    stop_words : words, optional
        Words that are no terms; by default those of the language.
    tokenizer : function from a text to its words, optional
        In place of cladify's own.
    report : Progress, optional

    Examples
    --------
    >>> terms = count_terms(["A board game.", "Board games, old ones", "a tree", "the trees", *["stones, water"] * 8])
    >>> sorted(terms.shown)
    ['board', 'board game', 'game', 'stones', 'tree', 'water']
    >>> terms.counts.toarray().sum(axis=0).tolist()
    [2.0, 2.0, 2.0, 8.0, 8.0, 2.0]
    """
    n = len(texts)
    least = min_texts if min_texts is not None else 2 if n < 20_000 else 5
    spoken = find_language(texts, language, stop_words)
    stop = spoken.stop_words
    doc, surface, surfaces = _tokens(texts, _cutter(spoken, tokenizer), report or Progress())
    word, names, forms = _fold_all(surface, surfaces, spoken)
    useful = np.array([_is_useful(name, stop) for name in names] or [False])
    # What is no word, or a stop word, ends a phrase as punctuation does.
    word = np.where((word >= 0) & useful[word], word, -1).astype(np.int64)
    single = _single_words(doc, word, least)
    at_word = _positions(single.words[:, 0], word)  # kept word at each position
    found, starts = [single], at_word
    written = [[forms[w] for w in single.words[:, 0].tolist()]]
    for _ in range(1, _MAX_WORDS):
        grams, starts = _longer(n, doc, starts, at_word, single, found[-1], least)
        found.append(grams)
        written.append(_mostly_written(grams, starts, surface, surfaces))
    terms = _matrix(n, found, written, names, spoken, max_terms)
    return replace(terms, empty=np.bincount(doc, minlength=n) == 0)


def grams_of(text: str, stop_words: frozenset[str], language: str = "en") -> Iterator[str]:
    """Words and runs of words of one text, folded, as :func:`count_terms` looks at them."""
    spoken = Language(language, stop_words)
    tokens = _cutter(spoken, None)(text[:MAX_CHARACTERS])
    words = [None if token in _BREAK else spoken.fold(token) for token in tokens]
    useful = [word if word is not None and _is_useful(word, stop_words) else None for word in words]
    for i in range(len(useful)):
        gram: list[str] = []
        for word in useful[i : i + _MAX_WORDS]:
            if word is None:
                break
            gram.append(word)
            yield " ".join(gram)


@dataclass(frozen=True)
class _Grams:
    """Terms of one length: folded words of each, and the (text, term) pairs."""

    words: np.ndarray  # (n_terms, length)
    texts: np.ndarray  # in how many texts each is
    seen_at: np.ndarray  # position of one occurrence of each
    pair_doc: np.ndarray
    pair_term: np.ndarray
    pair_times: np.ndarray  # how often the text has the term


def _cutter(language: Language, tokenizer: Callable[[str], Sequence[str]] | None) -> Callable[[str], Sequence[str]]:
    """The function that cuts a text into words and what ends a phrase."""
    if tokenizer is not None:
        return lambda text: _checked_words(tokenizer(text))
    find = _TOKEN.findall

    def cut(text: str) -> list[str]:
        tokens = find(without_addresses(text))
        if text.isascii():
            return tokens
        return [word for token in tokens for word in (_words_of(token, language) if _IS_RUN.match(token) else (token,))]

    return cut


def _words_of(run: str, language: Language) -> Sequence[str]:
    """The words of a run without spaces: characters where they cannot be told."""
    words = language.segment(run)
    if words is not None:
        return words
    return list(run) if _IDEOGRAPH.match(run) else [run]


def _checked_words(words: Any) -> Sequence[str]:
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise InvalidInput("tokenizer must be a function that takes a text and returns a list of its words.")
    return words


def _tokens(
    texts: Sequence[str], cut: Callable[[str], Sequence[str]], report: Progress
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Text and word of every token in order; word -1 is punctuation."""
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__
    known = ids.__getitem__
    tokens, lengths = array("i"), array("q")
    with report.stage("words", len(texts)) as advance:
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            for text in batch:
                words = cut(text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS])
                lengths.append(len(words))
                tokens.extend(map(known, words))
            advance(len(batch))
    doc = np.repeat(np.arange(len(texts), dtype=np.int64), np.frombuffer(lengths, np.int64) if lengths else [])
    return doc, np.frombuffer(tokens, np.int32) if tokens else np.empty(0, np.int32), list(ids)


def _fold_all(surface: np.ndarray, surfaces: list[str], language: Language) -> tuple[np.ndarray, list[str], list[str]]:
    """Tokens as folded words; the folded words, and how each is mostly written."""
    times = np.bincount(surface, minlength=len(surfaces))
    ids: dict[str, int] = {}
    to_word = np.empty(len(surfaces), np.int64)
    forms: list[list[tuple[int, str]]] = []
    for i, (text, count) in enumerate(zip(surfaces, times.tolist(), strict=True)):
        if text in _BREAK:
            to_word[i] = -1
            continue
        to_word[i] = w = ids.setdefault(language.fold(text), len(ids))
        if w == len(forms):
            forms.append([])
        forms[w].append((count, text))
    return to_word[surface] if len(surface) else np.empty(0, np.int64), list(ids), list(map(_best_form, forms))


def _best_form(forms: list[tuple[int, str]]) -> str:
    """The most frequent way to write a word; in capitals only where nearly all are."""
    order = sorted(forms, key=lambda form: (form[0], -len(form[1]), form[1]), reverse=True)
    total = sum(count for count, _ in forms)
    best = order[0]
    if best[1].isupper() and best[0] < _CAPITALS * total:
        best = next((form for form in order if not form[1].isupper()), best)
    return best[1]


def _mostly_written(grams: _Grams, starts: np.ndarray, surface: np.ndarray, surfaces: list[str]) -> list[str]:
    """The most frequent way to write each phrase."""
    length = grams.words.shape[1]
    at = np.flatnonzero(starts >= 0)
    form = starts[at]
    for j in range(length):  # phrases written alike get the same number
        _, form = np.unique(form * len(surfaces) + surface[at + j], return_inverse=True)
    _, first, count = np.unique(form, return_index=True, return_counts=True)
    best = np.lexsort((first, -count, starts[at[first]]))
    term = starts[at[first[best]]]
    top = best[np.flatnonzero(np.append(True, term[1:] != term[:-1]))] if len(term) else best
    return [_join([surfaces[i] for i in surface[a : a + length]]) for a in at[first[top]].tolist()]


def _is_useful(word: str, stop: frozenset[str]) -> bool:
    """Whether a folded word can be (part of) a term: not a stop word, a number, or a lone letter."""
    if word in stop or word.isdigit() or _without_accents(word) in stop:
        return False
    if len(word) == 1:
        return _IDEOGRAPH.match(word) is not None
    digits = sum(map(str.isdigit, word))
    if not digits:
        return len(word) <= 40
    # "x11" and "python3" are words; "2nd", "v20240101" and "3fa85f64" are numbers and ids.
    return digits < 4 and not (word[0].isdigit() and digits * 2 >= len(word)) and not _IS_ID.search(word)


def _without_accents(word: str) -> str:
    """A word of the Latin script as lists of stop words often have it: "déjà" as "deja"."""
    if word.isascii() or word[0] > "\u024f":
        return word
    return "".join(char for char in normalize("NFD", word) if not combining(char))


def _single_words(doc: np.ndarray, word: np.ndarray, least: int) -> _Grams:
    """The words that enough texts have."""
    at = np.flatnonzero(word >= 0)
    distinct, first, term = np.unique(word[at], return_index=True, return_inverse=True)
    return _frequent(distinct[:, None], at[first] if len(at) else first, doc[at], term, least)


def _frequent(words: np.ndarray, seen_at: np.ndarray, doc: np.ndarray, term: np.ndarray, least: int) -> _Grams:
    """Terms of at least so many texts, each pair of text and term once."""
    pairs, times = np.unique(doc * max(len(words), 1) + term, return_counts=True)
    doc, term = np.divmod(pairs, max(len(words), 1))
    texts = np.bincount(term, minlength=len(words))
    return _some(_Grams(words, texts, seen_at, doc, term, times), texts >= least)


def _some(grams: _Grams, keep: np.ndarray) -> _Grams:
    new = np.cumsum(keep) - 1
    stay = keep[grams.pair_term]
    return _Grams(
        grams.words[keep],
        grams.texts[keep],
        grams.seen_at[keep],
        grams.pair_doc[stay],
        new[grams.pair_term[stay]],
        grams.pair_times[stay],
    )


def _longer(
    n: int, doc: np.ndarray, starts: np.ndarray, at_word: np.ndarray, single: _Grams, shorter: _Grams, least: int
) -> tuple[_Grams, np.ndarray]:
    """Phrases one word longer, and the one that begins at each position (-1 for none).

    ``starts`` has the shorter phrase that begins at each position, ``at_word`` the single word.
    """
    length = shorter.words.shape[1]
    begin = np.flatnonzero((starts[:-length] >= 0) & (at_word[length:] >= 0) & (doc[:-length] == doc[length:]))
    n_last = max(len(single.words), 1)
    key = starts[begin] * n_last + at_word[begin + length]
    distinct, first, term = np.unique(key, return_index=True, return_inverse=True)
    head, tail = np.divmod(distinct, n_last)
    words = np.column_stack([shorter.words[head], single.words[tail, 0]])
    grams = _frequent(words, begin[first] if len(begin) else first, doc[begin], term, least)
    # In most texts that have the rarer part; or four times as often as by chance, and in a fair share of them.
    at = grams.seen_at
    head_texts, tail_texts = shorter.texts[starts[at]], single.texts[at_word[at + length]]
    share = grams.texts / np.maximum(np.minimum(head_texts, tail_texts), 1)
    above_chance = grams.texts.astype(np.float64) * n > 4.0 * head_texts * tail_texts
    kept = _some(grams, (share >= 0.5) | above_chance & (share >= 0.02))
    longer = np.full(len(doc), -1, np.int64)
    number = np.full(len(distinct), -1, np.int64)
    number[np.searchsorted(distinct, starts[kept.seen_at] * n_last + at_word[kept.seen_at + length])] = np.arange(
        len(kept.words)
    )
    longer[begin] = number[term]
    return kept, longer


def _positions(sorted_values: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Index of each value in a sorted array, -1 where it is not there."""
    if not len(sorted_values):
        return np.full(len(values), -1, np.int64)
    at = np.searchsorted(sorted_values, values).clip(max=len(sorted_values) - 1)
    return np.where(sorted_values[at] == values, at, -1)


def _matrix(
    n: int, found: list[_Grams], written: list[list[str]], names: list[str], language: Language, max_terms: int
) -> Terms:
    from scipy.sparse import csr_array

    words = [tuple(names[w] for w in row) for grams in found for row in grams.words.tolist()]
    shown = [text for texts_of_length in written for text in texts_of_length]
    starts = np.cumsum([0, *(len(grams.words) for grams in found)])
    texts = np.concatenate([grams.texts for grams in found])
    doc = np.concatenate([grams.pair_doc for grams in found])
    term = np.concatenate([grams.pair_term + start for grams, start in zip(found, starts, strict=False)])
    times = np.concatenate([grams.pair_times for grams in found]).astype(np.float32)
    # A single character of a script without spaces is part of a word.
    whole = np.array([len(text) > 1 for text in shown] or [], bool)
    if len(texts) > max_terms or not whole.all():
        order = np.argsort(-texts, kind="stable")
        kept = np.sort(order[whole[order]][:max_terms])
        new = np.full(len(texts), -1, np.int64)
        new[kept] = np.arange(len(kept))
        stay = new[term] >= 0
        doc, term, times = doc[stay], new[term[stay]], times[stay]
        words, shown = [words[i] for i in kept], [shown[i] for i in kept]
    matrix = csr_array((times, (doc, term)), shape=(n, len(shown)))
    matrix.sort_indices()
    return Terms(matrix, shown, words, language.stop_words, language.code)


def _join(words: list[str]) -> str:
    """Words of a phrase as they are written: characters of scripts without spaces stand together."""
    text = words[0]
    for word in words[1:]:
        text += word if _IDEOGRAPH.match(word) and _IDEOGRAPH.match(text[-1]) else f" {word}"
    return text


def telling_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words by which a term is compared with others: characters without spaces are one word.

    >>> telling_words(("文", "件")), telling_words(("board", "game"))
    (('文件',), ('board', 'game'))
    """
    return ("".join(words),) if all(map(_IDEOGRAPH.match, words)) else words


def near_duplicates(first: str, second: str) -> bool:
    """Whether two folded words say the same to a reader: "network" and "networking", "develop" and "development".

    Of words without spaces, one in the other does.

    >>> near_duplicates("network", "networking"), near_duplicates("port", "portable")
    (True, False)
    """
    short, long = sorted((first, second), key=len)
    if _IDEOGRAPH.match(short):
        return short in long
    if len(short) >= 5 and len(long) - len(short) <= 5 and long.startswith(short[: max(5, len(short) - 1)]):
        return True
    return len(short) >= 5 and long.replace("ou", "o") == short.replace("ou", "o")
