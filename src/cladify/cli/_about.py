"""What the commands print of a taxonomy: its outline, its levels, and all that its file holds."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cladify._kit.text import escape_controls
from cladify.cli._common import count

if TYPE_CHECKING:
    from cladify.taxonomy import Taxonomy

__all__ = ["about", "about_json", "levels_text", "outline_of"]


def outline_of(made: Taxonomy, depth: int, groups: int, examples: int, *, nodes: bool = False) -> str:
    """The named groups, as wide as the terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return made.summary(depth=depth, max_children=groups, n_examples=examples, width=width, nodes=nodes)


def levels_text(made: Taxonomy) -> str:
    """The numbers of groups, and how firm each level is."""
    return ", ".join(
        count(level.n_clusters, "group") + ("" if level.stability is None else f" ({level.stability:.2f})")
        for level in made.levels
    )


def about(made: Taxonomy, file: Path) -> str:
    """A few lines on the items, how the taxonomy was made, and what happened to it since."""
    info, ids = made.info, [name for name in made.id_names if name]
    kinds = [f"{name} ({kind})" for name, kind in made.column_kinds.items()]
    updates = made.history
    said = {
        "levels": levels_text(made),
        "made by": ", ".join(str(info[key]) for key in ("method", "metric", "embedder") if info.get(key)),
        "from": (info.get("source") or {}).get("path") or "",
        "ids": ", ".join(ids),
        "columns": ", ".join(kinds),
        "edits": len(made.edits),
        "updates": f"{len(updates)}, the last {updates[-1].when[:16].replace('T', ' ')}" if updates else 0,
    }
    head = f"{file}: {count(made.n_items, 'item')} in {count(_n_groups(made), 'group')}"
    return escape_controls("\n".join([head, *(f"{name:9}{text}" for name, text in said.items() if text != "")]))


def about_json(made: Taxonomy) -> dict[str, Any]:
    """The same for programs."""
    return {
        "n_items": made.n_items,
        "n_groups": _n_groups(made),
        "levels": [{"n_clusters": level.n_clusters, "stability": level.stability} for level in made.levels],
        "columns": made.column_kinds,
        "ids": [name for name in made.id_names if name],
        "edits": len(made.edits),
        "updates": len(made.history),
    }


def _n_groups(made: Taxonomy) -> int:
    return made.tree.n_nodes - made.n_items
