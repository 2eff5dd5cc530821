"""A taxonomy as an outline for other programs: Markdown, OPML and Mermaid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import IO
from xml.sax.saxutils import quoteattr

from cladify.taxonomy._read.outline import visible_children
from cladify.taxonomy._read.snapshot import Snapshot

__all__ = ["KINDS", "write_outline"]

#: What could mean something in Markdown, and in a label of Mermaid.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|<>~&-])")
_MERMAID = re.compile(r"[^\w ,.·…()/-]")


def _walk(now: Snapshot) -> Iterator[tuple[int, int, bool]]:
    """Groups with their depth, top down, and whether this is where one ends."""
    stack = [(now.tree.root, 0, False)]
    while stack:
        v, depth, ends = stack.pop()
        yield v, depth, ends
        if not ends:
            stack.append((v, depth, True))
            stack.extend((child, depth + 1, False) for child in reversed(visible_children(now, v)))


def _markdown(file: IO[str], now: Snapshot) -> None:
    for v, depth, ends in _walk(now):
        if not ends:
            name = _MARKDOWN.sub(r"\\\1", now.names_of([v])[0])
            lead = "# " if depth == 0 else "  " * (depth - 1) + "- "
            file.write(f"{lead}{name} ({int(now.tree.size[v])})\n" + "\n" * (depth == 0))


def _opml(file: IO[str], now: Snapshot) -> None:
    file.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0">\n<head><title>taxonomy</title></head>\n<body>\n'
    )
    for v, _, ends in _walk(now):
        (name,) = now.names_of([v])
        file.write("</outline>\n" if ends else f'<outline text={quoteattr(name)} size="{int(now.tree.size[v])}">\n')
    file.write("</body>\n</opml>\n")


def _mermaid(file: IO[str], now: Snapshot) -> None:
    file.write("mindmap\n")
    for v, depth, ends in _walk(now):
        if not ends:
            (name,) = now.names_of([v])
            text = _MERMAID.sub(lambda mark: f"#{ord(mark[0])};", name)
            file.write(f'{"  " * (depth + 1)}g{v}["{text}"]\n')


#: How each is written, by its ending.
KINDS: dict[str, Callable[[IO[str], Snapshot], None]] = {".md": _markdown, ".opml": _opml, ".mmd": _mermaid}


def write_outline(file: IO[str], now: Snapshot, kind: str) -> None:
    """The names of all groups that are not hidden, with their sizes."""
    KINDS[kind](file, now)
