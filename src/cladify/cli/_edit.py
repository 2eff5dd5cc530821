"""``cladify edit``: changes of a taxonomy by hand, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify._kit.text import escape_controls
from cladify.cli._common import AsJson, TaxonomyFile, count, print_json

if TYPE_CHECKING:
    from cladify.taxonomy import Taxonomy

#: What can be done: its arguments as they are shown, how many there are at least and at most, and the call.
_ACTIONS: dict[str, tuple[str, int, float, Callable[[Any, list[str]], Any]]] = {
    "rename": ("NODE NAME", 2, 2, lambda made, given: made.rename(_node(given[0]), given[1])),
    "note": ("NODE TEXT", 2, 2, lambda made, given: made.note(_node(given[0]), given[1])),
    "split": ("NODE K", 2, 2, lambda made, given: made.split(_node(given[0]), _node(given[1]))),
    "merge": ("NODE NODE ...", 2, float("inf"), lambda made, given: made.merge([_node(v) for v in given])),
    "move": (
        "NODE ... TO",
        2,
        float("inf"),
        lambda made, given: made.move([_node(v) for v in given[:-1]], _node(given[-1])),
    ),
    "collapse": ("NODE", 1, 1, lambda made, given: made.collapse(_node(given[0]))),
    "hide": ("NODE", 1, 1, lambda made, given: made.hide(_node(given[0]))),
    "undo": ("", 0, 0, lambda made, given: made.undo()),
    "redo": ("", 0, 0, lambda made, given: made.redo()),
}


def edit(
    file: TaxonomyFile,
    action: Annotated[
        str | None,
        typer.Argument(metavar="ACTION", help=f"One of {', '.join(_ACTIONS)}; without one, edits are listed."),
    ] = None,
    given: Annotated[list[str] | None, typer.Argument(metavar="...", help="Numbers of nodes, a name, a text.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a taxonomy by hand: split, merge, move, rename, note, undo; each step is kept and can be taken back.

    Numbers of nodes are those in brackets of [bold]cladify name FILE[/bold]; those of items are rows from 0.

    Example: [bold]cladify edit posts.taxonomy split 64123 4[/bold]
    """
    from cladify.taxonomy import Taxonomy

    values = list(given or ())
    made = Taxonomy.load(file)
    if action is not None:
        if action not in _ACTIONS:
            raise typer.BadParameter(f"{action!r} is not known; one of {', '.join(_ACTIONS)}.")
        shown, least, most, call = _ACTIONS[action]
        if not least <= len(values) <= most:
            raise typer.BadParameter(f"{action} takes {shown or 'nothing'}, got {len(values)} values.")
        with made.editing(file):
            call(made, values)
    if as_json:
        notes = {str(v): text for v, text in made.notes.items()}
        print_json({"file": str(file), **made.edits.to_dict(), "notes": notes})
        return
    print(escape_controls("\n".join(_lines(made))))


def _lines(made: Taxonomy) -> list[str]:
    lines = [f"{i}. {_said(edit)}" for i, edit in enumerate(made.edits.done, 1)]
    lines += [f"undone: {_said(edit)}" for edit in reversed(made.edits.undone)]
    lines += [f"note on {v} ({made.names_of([v])[0]}): {text}" for v, text in made.notes.items()]
    return [
        *lines,
        f"{count(len(made.edits), 'edit')}; levels: {', '.join(str(level.n_clusters) for level in made.levels)}",
    ]


def _said(edit: Any) -> str:
    """An edit in words; nodes by their keys, which stay the same."""
    nodes = " ".join(str(key) for key in edit.nodes[:10]) + (" ..." if len(edit.nodes) > 10 else "")
    into = f" into {edit.to}" if edit.to is not None else f" into {', '.join(edit.names)}" if edit.names else ""
    return f"{edit.kind} {nodes}{into}" + (f": {edit.name}" if edit.name else "")


def _node(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"a number is expected, got {text!r}.")
    return int(text)
