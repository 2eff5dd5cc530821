"""A taxonomy as text: names, sizes and examples, indented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cladify._kit.text import printable, shorten
from cladify.taxonomy._names.names import ITEM_MARK
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.text._clean import own_words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["outline", "visible_children"]


def visible_children(now: Snapshot, v: int) -> list[int]:
    """Groups below a node that are not hidden, the largest first."""
    tree = now.tree
    hidden = now.hidden
    inner = [int(child) for child in tree.children(v) if child >= tree.n_leaves and int(child) not in hidden]
    return sorted(inner, key=lambda child: (-int(tree.size[child]), child))


def outline(
    now: Snapshot, *, depth: int, max_children: int, n_examples: int, width: int | None, nodes: bool
) -> Iterator[str]:
    """Lines of the outline, top down."""
    tree = now.tree
    names = now.names
    n_items = _count(tree.n_leaves)
    yield f"{n_items} {'item' if tree.n_leaves == 1 else 'items'}"
    stack: list[tuple[int, str, str, int]] = []

    def push(v: int, lead: str, level: int) -> None:
        children = visible_children(now, v)
        shown, rest = children[:max_children], children[max_children:]
        if rest:
            stack.append((-len(rest), f"{lead}└─ ", "", 0))
        for i in reversed(range(len(shown))):
            last = i == len(shown) - 1 and not rest
            stack.append((shown[i], lead + ("└─ " if last else "├─ "), lead + ("   " if last else "│  "), level))

    push(tree.root, "", 1)
    while stack:
        v, lead, below, level = stack.pop()
        if v < 0:
            yield f"{lead}{_count(-v)} smaller {'group' if v == -1 else 'groups'}"
            continue
        number = f"[{v}] " if nodes else ""
        line = f"{lead}{number}{printable(names[v])}  {_count(int(tree.size[v]))}"
        has_more = level < depth and bool(visible_children(now, v))
        if not has_more and n_examples and ITEM_MARK not in names[v]:  # else the name shows the examples already
            central = own_words([str(item) for item in now.examples(v).central[:n_examples]])  # no quotes, no headers
            line += f"  {ITEM_MARK.join(shorten(item, 50) for item in central)}"
        yield line if width is None or len(line) <= width else line[: width - 1] + "…"
        if has_more:
            push(v, below, level + 1)


def _count(number: int) -> str:
    return f"{number:,}".replace(",", " ")
