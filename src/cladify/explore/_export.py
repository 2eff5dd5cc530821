"""Downloads of the page: labels, the table of all levels, the tree, a part of it.

All of them are made from one version of the document and have the same items: those that are not hidden. A hidden
cluster that is asked for by itself is given.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.errors import InvalidInput
from cladify.io._write import write_csv

if TYPE_CHECKING:
    from cladify.explore._document import Version
    from cladify.explore._view import View

__all__ = ["export"]

_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "nwk": "text/plain; charset=utf-8",
}


def export(
    now: Version, what: str, form: str, v: int, cut: dict[str, Any], chosen: np.ndarray | None = None
) -> tuple[bytes, str, str]:
    """Content, type and file name of a download.

    ``v`` is the node whose part of the tree is asked for; ``chosen`` says which places of the line of items are (None
    for all), of labels and tables.
    """
    view = now.view
    if what == "labels":
        content, name = _written(_labels(view, cut, chosen), form), "labels"
    elif what == "table":
        table, rows = _with_columns(now), _rows(view, view.tree.root, chosen)
        content, name = _written(table if len(rows) == len(table) else table.take(rows), form), "levels"
    elif what in ("json", "newick"):
        text = json.dumps(_nested(view, v), ensure_ascii=False) if what == "json" else _newick(view, v)
        content, name = text.encode("utf-8", "replace"), "tree" if v == view.tree.root else "part"
        form = "json" if what == "json" else "nwk"
    else:
        raise InvalidInput("what must be labels, table, json or newick.")
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", view.title).strip("-")[:60] or "cladify"
    return content, _KINDS[form], f"{stem}-{name}.{form}"


def _rows(view: View, v: int, chosen: np.ndarray | None = None) -> np.ndarray:
    """Rows of the items to export, ascending."""
    rows = np.sort(view.kept(v))
    if chosen is not None:
        rows = rows[chosen[view.tree.first[rows]]]
    if not len(rows):
        raise InvalidInput("All of it is hidden." if chosen is None else "Nothing is selected.")
    return rows


def _with_columns(now: Version) -> Any:
    """The table of all levels, with the columns that came with the items."""
    table, more = now.taxonomy.table(form="arrow"), now.taxonomy.columns
    for name in more.column_names:
        if name not in table.column_names:
            table = table.append_column(name, more.column(name))
    return table


def _labels(view: View, cut: dict[str, Any], chosen: np.ndarray | None) -> Any:
    import pyarrow as pa

    nodes = view.cut_nodes(**cut)
    rows = _rows(view, view.tree.root, chosen)
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


def _written(table: Any, form: str) -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    if form == "csv":
        write_csv(out, table, excel_safe=True)
    elif form == "parquet":
        parquet.write_table(table, out)
    else:
        raise InvalidInput("format must be csv or parquet.")
    return out.getvalue()


def _nested(view: View, v: int) -> dict[str, Any]:
    """A node and all below it as ``{name, size, children}``, without recursion; sizes leave out hidden items."""
    tree = view.tree
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


def _newick(view: View, v: int) -> str:
    """A node and all below it, leaves by their items."""
    rows = _rows(view, v)
    part = view.tree if len(rows) == view.tree.n_leaves else view.tree.prune(rows)
    return part.to_newick(None if view.items is None else view.items.take(rows))
