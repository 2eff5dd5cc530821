"""Terms of texts: words and phrases, counted by the number of texts they occur in.

A word is folded (lower case, singular), so that "Games", "game" and "games" are one term, shown as it is mostly
written. A phrase is two to five words in a row, none of them a stop word, with no punctuation between them, that occur
together more often than chance. Python only cuts the texts into words; everything after that is arrays, so that a
million short texts take half a minute.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.progress import Progress

__all__ = ["Terms", "count_terms", "english_stop_words", "fold", "grams_of", "near_duplicates"]

#: Words ("c++" and "c#" are words), single characters of scripts without spaces, and what ends a phrase.
_TOKEN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힯]|[^\W_]+(?:\+\+|#)?|[.,;:!?()\[\]{}<>|\"]")
_BREAK = frozenset('.,;:!?()[]{}<>|"')
_IDEOGRAPH = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힯]")
#: Characters of a text that are read: a book is known by its beginning, and one text must not outweigh all others.
MAX_CHARACTERS = 50_000
_MAX_WORDS = 5
_BATCH = 20_000


@dataclass(frozen=True)
class Terms:
    """How often each text has each term: ``times`` is CSR of shape (n, n_terms)."""

    times: Any
    shown: list[str]  # as mostly written
    words: list[tuple[str, ...]]  # the folded words of each term
    stop_words: frozenset[str] = frozenset()

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
    stop_words: frozenset[str] | None = None,
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
    stop_words : set of folded words, optional
        Words that are no terms; by default those of English.
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
    stop = english_stop_words() if stop_words is None else stop_words
    doc, surface, surfaces = _tokens(texts, report or Progress())
    word, names, forms = _fold_all(surface, surfaces)
    useful = np.array([_is_useful(name, stop) for name in names] or [False])
    # What is no word, or a stop word, ends a phrase as punctuation does.
    word = np.where((word >= 0) & useful[word], word, -1).astype(np.int64)
    single = _single_words(doc, word, least)
    at_word = _positions(single.words[:, 0], word)  # kept word at each position
    found, starts = [single], at_word
    for _ in range(1, _MAX_WORDS):
        grams, starts = _longer(n, doc, starts, at_word, single, found[-1], least)
        found.append(grams)

    def written(grams: _Grams) -> list[str]:
        if grams is single:
            return [forms[w] for w in grams.words[:, 0].tolist()]
        length = grams.words.shape[1]
        return [_join([surfaces[i] for i in surface[at : at + length]]) for at in grams.seen_at.tolist()]

    return _matrix(n, found, [written(grams) for grams in found], names, stop, max_terms)


def grams_of(text: str, stop_words: frozenset[str]) -> Iterator[str]:
    """Words and runs of words of one text, folded, as :func:`count_terms` looks at them."""
    words = [None if token in _BREAK else fold(token) for token in _TOKEN.findall(text[:MAX_CHARACTERS])]
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


def _tokens(texts: Sequence[str], report: Progress) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Text and word of every token in order; word -1 is punctuation."""
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__
    known = ids.__getitem__
    find = _TOKEN.findall
    tokens, lengths = array("i"), array("q")
    with report.stage("words", len(texts)) as advance:
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            for text in batch:
                words = find(text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS])
                lengths.append(len(words))
                tokens.extend(map(known, words))
            advance(len(batch))
    doc = np.repeat(np.arange(len(texts), dtype=np.int64), np.frombuffer(lengths, np.int64) if lengths else [])
    return doc, np.frombuffer(tokens, np.int32) if tokens else np.empty(0, np.int32), list(ids)


def _fold_all(surface: np.ndarray, surfaces: list[str]) -> tuple[np.ndarray, list[str], list[str]]:
    """Tokens as folded words; the folded words, and how each is mostly written."""
    times = np.bincount(surface, minlength=len(surfaces))
    ids: dict[str, int] = {}
    to_word = np.empty(len(surfaces), np.int64)
    best: list[int] = []
    forms: list[str] = []
    for i, (text, count) in enumerate(zip(surfaces, times.tolist(), strict=True)):
        if text in _BREAK:
            to_word[i] = -1
            continue
        to_word[i] = w = ids.setdefault(fold(text), len(ids))
        if w == len(forms):
            forms.append(text)
            best.append(count)
        elif (count, -len(text), text) > (best[w], -len(forms[w]), forms[w]):
            forms[w], best[w] = text, count
    return to_word[surface] if len(surface) else np.empty(0, np.int64), list(ids), forms


def fold(word: str) -> str:
    """A word in lower case and in the singular, by rules that are right for most English words.

    >>> [fold(word) for word in ("Libraries", "games", "glass", "boxes", "status", "GPUs", "analysis")]
    ['library', 'game', 'glass', 'box', 'status', 'gpu', 'analysis']
    """
    word = word.lower()
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "ous", "tus", "rus", "nus", "is", "as", "os")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "sses", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _is_useful(word: str, stop: frozenset[str]) -> bool:
    """Whether a folded word can be (part of) a term: not a stop word, a number, or a lone letter."""
    if word in stop or word.isdigit():
        return False
    if len(word) == 1:
        return _IDEOGRAPH.match(word) is not None
    return not (word[0].isdigit() and sum(c.isdigit() for c in word) * 2 >= len(word)) and len(word) <= 40


def english_stop_words() -> frozenset[str]:
    """scikit-learn's English stop words, folded, and what is left of "don't", "it's" and the like."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    more = (
        "don doesn didn isn wasn aren won couldn wouldn shouldn ll ve re does did like just use used using via etc eg"
    )
    return frozenset(map(fold, ENGLISH_STOP_WORDS)) | ENGLISH_STOP_WORDS | frozenset(more.split())


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
    n: int, found: list[_Grams], written: list[list[str]], names: list[str], stop: frozenset[str], max_terms: int
) -> Terms:
    from scipy.sparse import csr_array

    words = [tuple(names[w] for w in row) for grams in found for row in grams.words.tolist()]
    shown = [text for texts_of_length in written for text in texts_of_length]
    starts = np.cumsum([0, *(len(grams.words) for grams in found)])
    texts = np.concatenate([grams.texts for grams in found])
    doc = np.concatenate([grams.pair_doc for grams in found])
    term = np.concatenate([grams.pair_term + start for grams, start in zip(found, starts, strict=False)])
    times = np.concatenate([grams.pair_times for grams in found]).astype(np.float32)
    if len(texts) > max_terms:
        kept = np.sort(np.argsort(-texts, kind="stable")[:max_terms])
        new = np.full(len(texts), -1, np.int64)
        new[kept] = np.arange(len(kept))
        stay = new[term] >= 0
        doc, term, times = doc[stay], new[term[stay]], times[stay]
        words, shown = [words[i] for i in kept], [shown[i] for i in kept]
    matrix = csr_array((times, (doc, term)), shape=(n, len(shown)))
    matrix.sort_indices()
    return Terms(matrix, shown, words, stop)


def _join(words: list[str]) -> str:
    """Words of a phrase as they are written: characters of scripts without spaces stand together."""
    text = words[0]
    for word in words[1:]:
        text += word if _IDEOGRAPH.match(word) and _IDEOGRAPH.match(text[-1]) else f" {word}"
    return text


def near_duplicates(first: str, second: str) -> bool:
    """Whether two folded words say the same to a reader: "network" and "networking", "develop" and "development".

    >>> near_duplicates("network", "networking"), near_duplicates("port", "portable")
    (True, False)
    """
    short, long = sorted((first, second), key=len)
    if len(short) >= 5 and len(long) - len(short) <= 5 and long.startswith(short[: max(5, len(short) - 1)]):
        return True
    return len(short) >= 5 and long.replace("ou", "o") == short.replace("ou", "o")
