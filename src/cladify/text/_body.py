"""The body of a mail or a post: what is left of it without its headers and signature.

Quoted lines stay: they say what an answer is about, and groups of posts without them were worse
(``docs/studies/text.md``).
"""

from __future__ import annotations

import re

__all__ = ["body_of"]

_HEADER = re.compile(r"[A-Z][\w-]{1,30}:\s")
_SUBJECT = re.compile(r"Subject:\s*(.*)")
_SIGNATURE = re.compile(r"--\s*$")
_SIGNATURE_LINES = 12
#: Fewer characters than this are no body: the text stays as it was.
_LEAST = 20


def body_of(text: str) -> str:
    """``text`` without mail headers but the subject, and without a signature; as it is where nothing is left.

    Examples
    --------
    >>> body_of("From: joe\\nSubject: Oil\\n\\nThe engine only needs oil.\\n--\\nJoe, ACME, Anvil Street")
    'Oil\\n\\nThe engine only needs oil.'
    """
    if "\n" not in text:
        return text
    lines = text.splitlines()
    end = 0
    while end < len(lines) and _HEADER.match(lines[end]):
        end += 1
    if end >= 2 and end < len(lines) and not lines[end].strip():
        lines = [found.group(1) for line in lines[:end] if (found := _SUBJECT.match(line))] + lines[end:]
    for i in range(max(1, len(lines) - _SIGNATURE_LINES), len(lines)):
        if _SIGNATURE.match(lines[i]):
            lines = lines[:i]
            break
    body = "\n".join(lines).strip()
    return body if len(body) >= _LEAST else text
