"""Answers of a model: read strictly, cleaned, and refused where they are no names."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from cladify._kit.text import printable, shorten
from cladify.taxonomy._names.prompt import MOST_CHARACTERS
from cladify.text._language import fold
from cladify.text._terms import near_duplicates

__all__ = ["Unusable", "alike", "content_of", "read_name", "words_of"]

#: An answer longer than this is no name that went on for too long, but something else.
_MOST_ANSWER = 2 * MOST_CHARACTERS
_MOST_WORDS = 12
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_LINK = re.compile(r"https?:|www\.|\]\(|javascript:", re.IGNORECASE)
_ENDS = " \t\"'`*_#“”„«».,;:|<>[]{}"
_WORD = re.compile(r"\w+")
_NOTHING = (
    "group groups item items name names cluster unnamed untitled unknown none null other others various misc "
    "miscellaneous undefined n a"
)
_SAYS_NOTHING = frozenset(_NOTHING.split())
_JOINING = "a an and as at by for from in of on or the to with und der die das et de la le y e"
_SMALL = frozenset(_JOINING.split())

#: Codes and English names of languages by their scripts; other languages are not checked.
_LANGUAGES = {
    "LATIN": "en english de german fr french es spanish it italian pt portuguese nl dutch sv swedish da danish no "
    "norwegian fi finnish pl polish cs czech sk slovak sl slovenian hr croatian hu hungarian ro romanian tr turkish "
    "ca catalan et estonian lv latvian lt lithuanian vi vietnamese id indonesian",
    "CYRILLIC": "ru russian uk ukrainian bg bulgarian be belarusian mk macedonian",
    "CYRILLIC LATIN": "sr serbian",
    "GREEK": "el greek",
    "ARABIC": "ar arabic fa persian ur urdu",
    "HEBREW": "he hebrew",
    "CJK": "zh chinese",
    "CJK HIRAGANA KATAKANA KATAKANA-HIRAGANA": "ja japanese",
    "HANGUL CJK": "ko korean",
    "THAI": "th thai",
    "DEVANAGARI": "hi hindi",
}
_SCRIPTS = {name: frozenset(scripts.split()) for scripts, names in _LANGUAGES.items() for name in names.split()}
#: Scripts that names in any language may have words of: brands, formulas.
_COMMON = frozenset({"LATIN", "GREEK"})


class Unusable(Exception):
    """An answer that is no name; the message says why, without any of the answer."""


def content_of(reply: Any) -> str:
    """The text of a chat completion; empty where it has none or was cut short."""
    try:
        choice = reply["choices"][0]
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return ""
    return text if isinstance(text, str) and choice.get("finish_reason") != "length" else ""


def read_name(text: str, *, known: str = "", language: str | None = None) -> str:
    """The name in an answer; ``known`` is the text of the group, whose words may be of any script.

    >>> read_name('{"name": "**Stringed  instruments**"}')
    'Stringed instruments'
    """
    text = _THOUGHT.sub("", text)
    fenced = _FENCE.match(text)
    try:
        answer = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        raise Unusable("it was not one JSON object") from None
    name = answer.get("name") if isinstance(answer, dict) else None
    if not isinstance(name, str):
        raise Unusable("it had no text called name")
    name = _cleaned(name)
    words = words_of(name)
    if not words or set(words) <= _SAYS_NOTHING:
        raise Unusable("the name said nothing")
    if len(name) > _MOST_ANSWER or len(words) > _MOST_WORDS:
        raise Unusable(f"the name was longer than {MOST_CHARACTERS} characters")
    if _LINK.search(name):
        raise Unusable("the name had a link in it")
    if not _in_language(name, known, language):
        raise Unusable(f"the name was not in {printable(language)}")
    return shorten(name, MOST_CHARACTERS)


def _cleaned(name: str) -> str:
    """Without markup, control characters, line breaks, and marks at its ends."""
    name = printable(unicodedata.normalize("NFC", _TAG.sub(" ", name[:10_000])))
    return name.replace("**", "").replace("__", "").replace("`", "").strip(_ENDS)


def words_of(name: str) -> list[str]:
    """Words of a name in lower case, without those that join others."""
    words = [word.casefold() for word in _WORD.findall(name)]
    return [word for word in words if word not in _SMALL] or words


def alike(first: str, second: str) -> bool:
    """Whether a reader would take two names for the same.

    >>> alike("Network tools", "Tools for networking"), alike("Network tools", "Network games")
    (True, False)
    """
    one, other = set(map(fold, words_of(first))), set(map(fold, words_of(second)))
    same = [word for word in one if word in other or any(near_duplicates(word, old) for old in other)]
    return len(same) >= 0.75 * max(len(one), len(other))


def _in_language(name: str, known: str, language: str | None) -> bool:
    """Whether a name has a letter of the language's scripts and none of a foreign one, words of the group aside."""
    own = _SCRIPTS.get((language or "").strip().casefold().split("-")[0])
    if own is None:
        return True
    of_group = set(words_of(known))
    words = words_of(name)
    new = _scripts_of(word for word in words if word not in of_group)
    return not new or bool(_scripts_of(words) & own and new <= own | _COMMON)


def _scripts_of(words: Iterable[str]) -> set[str]:
    return {unicodedata.name(letter, "").split(" ")[0] for word in words for letter in word if letter.isalpha()}
