"""Text that is safe to show: on one line, without control characters, no longer than asked for.

========================  ==========================================================================================
:func:`printable`         One line; characters that act on a terminal are removed. For names, keywords and items.
:func:`shorten`           The same, cut at a word.
:func:`one_line`          One line of a fixed width; such characters become U+FFFD, so that they are noticed.
:func:`escape_controls`   Keeps line breaks; such characters become ``\\uXXXX``, as in JSON. For output of commands.
========================  ==========================================================================================
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

__all__ = ["escape_controls", "one_line", "printable", "shorten"]

#: Escape sequences of terminals as a whole: without its first character, the rest of one would be left over.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|\x9b[0-?]*[ -/]*[@-~]")
#: Categories of characters that may act on a terminal or mislead a reader: controls, direction marks, surrogates,
#: private use.
_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
#: Joiners that belong to words and emoji.
_ALLOWED = {"‌", "‍"}
#: Control characters but for line ends and tabs, and those that change the direction of writing.
_CONTROLS = {
    code: f"\\u{code:04x}"
    for code in (
        *range(9),
        *range(11, 32),
        *range(127, 160),
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
    )
}


def printable(value: Any) -> str:
    r"""The text of a value on one line, without anything that could act on a terminal; None is empty.

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


def one_line(value: Any, width: int = 60) -> str:
    r"""The text of a value on one line of at most ``width`` characters.

    >>> one_line("two\n lines \x1b[31m", 20), one_line("a rather long description", 12)
    ('two lines �[31m', 'a rather lo…')
    """
    text = " ".join(str(value).split())
    if not text[:width].isprintable():
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: width + 1])
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def escape_controls(text: str) -> str:
    r"""The text with escapes in place of characters that a terminal would obey; line ends stay.

    >>> print(escape_controls("red \x1b[31malert"))
    red \u001b[31malert
    """
    return text.translate(_CONTROLS)
