"""Text that is safe to show: one line, no control characters, no longer than asked for."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

__all__ = ["printable", "shorten"]

#: Escape sequences of terminals, as a whole: without its first character, the rest of one would be left over.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|\x9b[0-?]*[ -/]*[@-~]")
#: What a terminal, or the reader's eye, may take for an order: controls, direction marks, surrogates, private use.
_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
#: Joiners that belong to words and emoji.
_ALLOWED = {"‌", "‍"}


def printable(value: Any) -> str:
    r"""The text of a value in one line, without anything that could act on a terminal.

    >>> printable("a\x1b[31mred\x1b[0m\tword\n\u202eabc"), printable(None)
    ('ared word abc', '')
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = " ".join(_ESCAPES.sub("", text).split())
    if text.isprintable():
        return text
    kept = (c if c in _ALLOWED or unicodedata.category(c) not in _UNSAFE else " " if c.isspace() else "" for c in text)
    return " ".join("".join(kept).split())


def shorten(value: Any, width: int = 60) -> str:
    """:func:`printable`, cut at a word where it is longer than ``width``.

    >>> shorten("a rather long description of a thing", 20)
    'a rather long…'
    """
    text = printable(value if not isinstance(value, str) else value[: 20 * width + 1000])
    if len(text) <= width:
        return text
    cut = text[: width - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space >= width // 2 else cut).rstrip(" ,;:.-") + "…"
