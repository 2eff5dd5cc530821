"""What the page can take away: labels, the table of all levels, the tree, a part of it.

All of them have the same items: those that are not hidden. A hidden cluster that is asked for by itself is given.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.explore._text import Items

if TYPE_CHECKING:
    from cladify.explore._document import Document

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
        table = document.taxonomy.table(form="arrow")
        rows = _rows(document, document.view.tree.root)
        return _table(document, table if len(rows) == len(table) else table.take(rows), form, "levels")
    if what in ("json", "newick"):
        view = document.view
        v = view.node(int(values["node"])) if values.get("node", "").isdigit() else view.tree.root
        part = "tree" if v == view.tree.root else "part"
        text = json.dumps(_nested(document, v), ensure_ascii=False) if what == "json" else _newick(document, v)
        return _name(document, text.encode("utf-8", "replace"), "json" if what == "json" else "nwk", part)
    raise InvalidInput("what must be labels, table, json or newick.")


def _rows(document: Document, v: int) -> np.ndarray:
    """Rows of the items to export, ascending."""
    rows = np.sort(document.view.kept(v))
    if not len(rows):
        raise InvalidInput("All of it is hidden.")
    return rows


def _labels(document: Document, cut: dict[str, Any]) -> Any:
    import pyarrow as pa

    view = document.view
    nodes = view.cut_nodes(**cut)
    rows = _rows(document, view.tree.root)
    labels = view.labels(nodes)[rows]
    names = pa.array([view.name(int(v)) for v in nodes])
    return pa.table(
        {
            "row": rows,
            "item": pa.array([view.text(i) for i in rows.tolist()]),
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
    """A node and all below it as ``{name, size, children}``, without recursion; sizes count what is there."""
    view, tree = document.view, document.view.tree
    size, _ = view.kept_size(v)
    if not size[v]:
        raise InvalidInput("All of it is hidden.")
    root: dict[str, Any] = {"name": view.name(v), "size": int(size[v])}
    stack = [(v, root)]
    while stack:
        node, record = stack.pop()
        if node < tree.n_leaves:
            continue
        record["children"] = []
        for kid in view.shown(node):
            if size[kid]:
                child: dict[str, Any] = {"name": view.name(kid), "size": int(size[kid])}
                record["children"].append(child)
                stack.append((kid, child))
    return root


def _newick(document: Document, v: int) -> str:
    """A node and all below it, leaves by their items."""
    tree, rows = document.view.tree, _rows(document, v)
    part = tree if len(rows) == tree.n_leaves else tree.prune(rows)
    return part.to_newick(Items(document.taxonomy.arrow_items).take(rows))


def _name(document: Document, content: bytes, ending: str, name: str) -> tuple[bytes, str, str]:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", document.title).strip("-")[:60] or "cladify"
    return content, _KINDS[ending], f"{stem}-{name}.{ending}"
