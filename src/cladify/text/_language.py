"""What depends on the language of texts: stop words, base forms of words, and where words begin and end.

Stop words come from ``stopwordsiso``, base forms from ``simplemma``, words of scripts without spaces from ``budoux``;
all three are installed with cladify. A language that they do not know has no base forms, its stop words are found from
the texts, and words of scripts without spaces are runs of characters that occur together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from cladify._kit.params import check_choice

__all__ = ["LANGUAGES", "Language", "english_stop_words", "find_language", "fold"]

#: Code of each language that can be asked for, and its name.
LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
#: Stop words that the lists have not.
_MORE_STOP_WORDS = {"fr": "veuillez", "ja": "場合", "zh": "没有 必须 通常 已经"}
#: Languages whose words cannot be taken for English ones, so that English stop words can be left out, too.
_OTHER_SCRIPTS = frozenset(["ar", "bg", "el", "fa", "he", "hi", "ja", "ko", "ru", "th", "uk", "zh"])
#: simplemma's codes where they differ.
_LEMMA_CODES = {"no": "nb", "hr": "hbs"}
_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_THAI = re.compile(r"[\u0e01-\u0e5b]")
_WORD = re.compile(r"[^\W\d_]+")
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")
_PIECE = re.compile(r"[\u30a1-\u30ff]+|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005]+")
#: Texts looked at to find the language, and characters of each.
_SAMPLE, _BEGINNING = 2000, 400
#: A second language counts where texts have this share of the hits of the first; related ones share words.
_SECOND = 0.6
#: Different stop words that texts must have to be of a language.
_FEWEST = 6


@dataclass(frozen=True)
class Language:
    """How words of one language are read.

    Attributes
    ----------
    code : str
        ISO 639-1, or "" where it is not known.
    stop_words : frozenset of folded words
    """

    code: str
    stop_words: frozenset[str]

    def fold(self, word: str) -> str:
        """A word in lower case and in its base form."""
        return _folder(self.code)(word)

    def segment(self, run: str) -> list[str] | None:
        """The words of a run of characters without spaces; None where they cannot be told.

        Among texts of another language, its characters say which one a run is of.
        """
        code = self.code if self.code in ("ja", "zh", "th") else ""
        code = "th" if _THAI.match(run) else code or ("ja" if _KANA.search(run) else "zh")
        if code == "ja":  # what ends in hiragana ends a phrase, as punctuation does
            parts = [(_PIECE.findall(part), _HIRAGANA.search(part)) for part in _segments("ja", run) or [run]]
            return [word for words, ends in parts for word in (*words, *("." if ends else ""))]
        return _segments(code, run)


def find_language(texts: Sequence[str], language: str = "auto", stop_words: Any = None) -> Language:
    """The language asked for, or the one that most texts are in; with stop words of all that many texts are in.

    Parameters
    ----------
    texts : sequence of str
    language : "auto", an ISO 639-1 code or an English name
    stop_words : words, optional
        In place of those of the language.

    Examples
    --------
    >>> find_language(["the cat is on the mat", "where are the dogs and the cats"]).code
    'en'
    >>> find_language(["ignored"], "German").code
    'de'
    """
    code = _code_of(language)
    codes = [code] if code is not None else _detect(texts)
    if stop_words is not None:
        words = frozenset(str(word).lower() for word in stop_words)
    elif codes:
        words = frozenset().union(*map(_stop_words, [*codes, *(["en"] if codes[0] in _OTHER_SCRIPTS else [])]))
    else:
        words = _frequent_short_words(texts)
    main = codes[0] if codes else ""
    folded = frozenset(map(_folder(main), words)) | words
    return Language(main, folded)


def _code_of(language: str) -> str | None:
    lower = str(language).lower()
    if lower == "auto":
        return None
    by_name = {name.lower(): code for code, name in LANGUAGES.items()}
    return by_name.get(lower) or check_choice("language", lower, ["auto", *LANGUAGES])


def _detect(texts: Sequence[str]) -> list[str]:
    """Codes of the languages of the texts, the most common first; [] where none is recognised."""
    step = max(1, len(texts) // _SAMPLE)
    sample = [text[:_BEGINNING] for text in texts[::step]]
    joined = "\n".join(sample)
    letters = sum(map(str.isalpha, joined)) or 1
    kana, han, thai = (len(found.findall(joined)) for found in (_KANA, _HAN, _THAI))
    if kana + han + thai > 0.3 * letters:
        return ["th"] if thai > kana + han else ["ja"] if kana > 0.1 * (kana + han) else ["zh"]
    seen = Counter(word for text in sample for word in set(_WORD.findall(text.lower())))
    hits: dict[str, float] = {}
    for code in LANGUAGES:
        # A word that the lists of many languages have says little about one of them.
        hits[code] = sum(seen[word] * weight for word, weight in _telling(code) if word in seen)
    best = max(hits.values(), default=0.0)
    total = sum(seen.values()) or 1
    order = sorted(hits, key=lambda code: -hits[code])
    if best < 0.03 * total or sum(word in seen for word in _stop_words(order[0])) < _FEWEST:
        return ["en"] if joined.isascii() else []
    return [order[0], *(code for code in order[1:3] if hits[code] >= _SECOND * best)]


@cache
def _telling(code: str) -> list[tuple[str, float]]:
    """Stop words of a language, each by one over the number of lists that have it."""
    return [(word, 1.0 / _lists_with()[word] ** 2) for word in _stop_words(code) if len(word) > 1]


@cache
def _lists_with() -> Counter[str]:
    return Counter(word for code in LANGUAGES for word in _stop_words(code))


@cache
def _stop_words(code: str) -> frozenset[str]:
    if code == "en":
        return english_stop_words()
    try:
        import stopwordsiso
    except ImportError:
        return frozenset()
    words = frozenset(map(str.lower, stopwordsiso.stopwords(code))) if stopwordsiso.has_lang(code) else frozenset()
    words |= frozenset(_MORE_STOP_WORDS.get(code, "").split())
    return words | frozenset(part for word in words for part in _WORD.findall(word))


def english_stop_words() -> frozenset[str]:
    """scikit-learn's English stop words, folded, and what is left of "don't", "it's" and the like."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    more = (
        "don doesn didn isn wasn aren won couldn wouldn shouldn hasn haven hadn ll ve re does did like just use used "
        "using via etc eg ie im say said says going got really know think thing want come let lot sure yes "
        "writes wrote thanks thank hi hello regards cheers sincerely dear mr mrs ms dr prof"
    )
    return frozenset(map(fold, ENGLISH_STOP_WORDS)) | ENGLISH_STOP_WORDS | frozenset(more.split())


def _frequent_short_words(texts: Sequence[str]) -> frozenset[str]:
    """Stop words of a language that no list is known of: short words that more than a tenth of the texts have."""
    seen = Counter(word for text in texts[:20_000] for word in set(_WORD.findall(text[:2000].lower())))
    least = max(3, len(texts[:20_000]) // 10)
    return frozenset(word for word, count in seen.items() if count > least and len(word) <= 4)


def fold(word: str) -> str:
    """A word in lower case and in the singular, by rules that are right for most English words.

    >>> fold("movies") == fold("movie")
    True
    >>> [fold(word) for word in ("Libraries", "games", "glass", "boxes", "status", "GPUs", "analysis")]
    ['library', 'game', 'glass', 'box', 'status', 'gpu', 'analysis']
    """
    word = word.lower()
    if len(word) > 4 and word.endswith("ie"):  # as of "movies", which ends as "stories" does
        return word[:-2] + "y"
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "ous", "tus", "rus", "nus", "is", "as", "os")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "sses", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


@cache
def _folder(code: str) -> Callable[[str], str]:
    """The function that brings a word of a language to its base form."""
    if code == "en":
        return fold
    lemma = _lemmatizer(_LEMMA_CODES.get(code, code))
    return str.lower if lemma is None else lambda word: lemma(word).lower()


@cache
def _lemmatizer(code: str) -> Callable[[str], str] | None:
    if code in ("", "zh", "ja", "ko", "th", "vi"):
        return None
    try:
        from simplemma import lemmatize

        lemmatize("a", lang=code)
    except (ImportError, ValueError):
        return None
    return lru_cache(maxsize=200_000)(lambda word: str(lemmatize(word, lang=code)))


def _segments(code: str, run: str) -> list[str] | None:
    parser = _parser(code)
    return None if parser is None else list(parser.parse(run))


@cache
def _parser(code: str) -> Any:
    try:
        import budoux
    except ImportError:
        return None
    load = {"ja": budoux.load_default_japanese_parser, "zh": budoux.load_default_simplified_chinese_parser}
    return load.get(code, budoux.load_default_thai_parser)()
