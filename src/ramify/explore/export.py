"""What the page can take away: labels, the table of all levels, the tree, a part of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ramify.errors import InvalidInput
from ramify.explore.text import Items

if TYPE_CHECKING:
    from ramify.explore.document import Document

__all__ = ["export"]

_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "nwk": "text/plain; charset=utf-8",
}
_FORMULA = re.compile(r"^[=+\-@\t\r]")


def export(
    document: Document, what: str, form: str, values: Mapping[str, str], cut: dict[str, Any]
) -> tuple[bytes, str, str]:
    """Content, type and file name of a download."""
    if what == "labels":
        return _table(document, _labels(document, cut), form, "labels")
    if what == "table":
        return _table(document, document.taxonomy.table(form="arrow"), form, "levels")
    if what in ("json", "newick"):
        view = document.view
        v = view.node(int(values["node"])) if values.get("node", "").isdigit() else view.tree.root
        part = "tree" if v == view.tree.root else "part"
        text = json.dumps(_nested(document, v), ensure_ascii=False) if what == "json" else _newick(document, v)
        return _name(document, text.encode("utf-8", "replace"), "json" if what == "json" else "nwk", part)
    raise InvalidInput("what must be labels, table, json or newick.")


def _labels(document: Document, cut: dict[str, Any]) -> Any:
    import numpy as np
    import pyarrow as pa

    view = document.view
    nodes = view.cut_nodes(**cut)
    labels = view.labels(nodes)
    names = pa.array([view.name(int(v)) for v in nodes])
    return pa.table(
        {
            "row": np.arange(len(labels)),
            "item": pa.array([view.text(i) for i in range(len(labels))]),
            "label": labels,
            "name": names.take(pa.array(labels)),
        }
    )


def _table(document: Document, table: Any, form: str, name: str) -> tuple[bytes, str, str]:
    from pyarrow import csv, parquet

    out = io.BytesIO()
    if form == "csv":
        csv.write_csv(_escaped(table), out)
    elif form == "parquet":
        parquet.write_table(table, out)
    else:
        raise InvalidInput("format must be csv or parquet.")
    return _name(document, out.getvalue(), form, name)


def _escaped(table: Any) -> Any:
    """Texts that a spreadsheet would run as a formula get an apostrophe in front."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(i)
            wild = pc.match_substring_regex(column, _FORMULA.pattern)
            table = table.set_column(
                i, field.name, pc.if_else(wild, pc.binary_join_element_wise("'", column, ""), column)
            )
    return table


def _nested(document: Document, v: int) -> dict[str, Any]:
    """A node and all below it as ``{name, size, children}``, without recursion."""
    view = document.view
    root: dict[str, Any] = {"name": view.name(v), "size": int(view.tree.size[v])}
    stack = [(v, root)]
    while stack:
        node, record = stack.pop()
        if node < view.tree.n_leaves:
            continue
        record["children"] = []
        for kid in view.shown(node):
            child: dict[str, Any] = {"name": view.name(kid), "size": int(view.tree.size[kid])}
            record["children"].append(child)
            stack.append((kid, child))
    return root


def _newick(document: Document, v: int) -> str:
    """A node and all below it that is not hidden, leaves by their items."""
    import numpy as np

    tree = document.view.tree
    inside = np.zeros(tree.n_leaves, bool)
    inside[tree.members(v)] = True
    for u in document.view.hidden - {v, tree.root}:
        inside[tree.members(u)] = False
    rows = np.flatnonzero(inside)
    if not len(rows):
        raise InvalidInput("All of it is hidden.")
    part = tree if len(rows) == tree.n_leaves else tree.prune(rows)
    return part.to_newick(Items(document.taxonomy.arrow_items).take(rows))


def _name(document: Document, content: bytes, ending: str, name: str) -> tuple[bytes, str, str]:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", document.title).strip("-")[:60] or "ramify"
    return content, _KINDS[ending], f"{stem}-{name}.{ending}"
