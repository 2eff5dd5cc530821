"""Texts without what says nothing about them: addresses and placeholders; for names also quotes and shared lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from cladify.text._body import body_of

__all__ = ["own_words", "without_addresses"]

_ADDRESS = re.compile(
    r"(?:https?|ftp|news)://\S+|www\.\S+|<?[\w.+-]+@[\w-]+(?:\.[\w-]+)*>?|\b[\w-]+(?:\.[\w-]+)+\.[a-z]{2,4}\b"
)
#: Of printf, of binutils (%pB) and of Python.
_PLACEHOLDER = re.compile(r"%(?:\d+\$)?[-+ #0-9.*]*(?:hh|h|ll|l|z|j|t)?(?:[a-zA-Z]|p[A-Z])\b|%\(\w+\)[a-z]|%\d+\b")
_QUOTED = re.compile(
    r"^\s*(?:[>|:}#]|[A-Z]{1,3}>|.{0,80}\b(?:writes|wrote|schrieb|écrit|escribió)\s*:?\s*$|In article\b)"
)
#: A line of at least so many characters that so many texts have is boilerplate.
_LINE = 12
_TEXTS = 3
#: Characters of a text that are read.
_MOST = 50_000


def without_addresses(text: str) -> str:
    """A text without addresses of mails and pages, names of hosts, and placeholders of messages.

    >>> without_addresses("see www.oaks.org or ask a.b@oaks.org about %d oaks")
    'see   or ask   about   oaks'
    """
    text = _ADDRESS.sub(" ", text) if "@" in text or "." in text else text
    return _PLACEHOLDER.sub(" ", text) if "%" in text else text


def own_words(texts: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Each text without headers, signature, quoted lines, and lines that other texts have; as it was if little is left.

    Lines are looked for in ``others``, too.

    >>> own_words(["Joe writes:\\n> are oaks old?\\nOaks grow very old.\\n-- \\nJ. Doe", "one line"])
    ['Oaks grow very old.', 'one line']
    """
    several = [i for i, text in enumerate(texts) if "\n" in text]
    shared: Counter[str] = Counter()
    for text in chain((texts[i] for i in several), others if several else ()):
        shared.update({line for line in map(str.strip, text[:_MOST].split("\n")) if len(line) >= _LINE})
    common = {line for line, count in shared.items() if count >= _TEXTS}
    own = list(texts)
    for i in several:
        body = body_of(texts[i][:_MOST])
        lines = [line for line in body.split("\n") if not _QUOTED.match(line) and line.strip() not in common]
        left = "\n".join(lines).strip()
        own[i] = left if len(left) * 10 >= len(body) else body
    return own
