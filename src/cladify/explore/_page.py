"""The explorer as one file: the page with its style, its program and the readable top of a tree written into it.

It opens from disk without a server and asks nobody for anything. The policy of the page names the one script by its
hash, so that nothing that the data hold could ever run; the data themselves are JSON in which no tag can end.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify.explore._picture import thumbnail
from cladify.explore._select import plane_of
from cladify.explore._text import one_line

if TYPE_CHECKING:
    from cladify.explore._view import View

__all__ = ["page_of"]

MOST_NODES = 20_000
MOST_BYTES = 4_500_000
MOST_POINTS = 8000
MOST_PICTURES = 1_500_000  # bytes


def page_of(view: View, *, most_nodes: int = MOST_NODES, n_examples: int = 5) -> str:
    """The page of a view as HTML text, at most some 5 MB.

    Parameters
    ----------
    view : View
    most_nodes : int
        The largest nodes are kept; what is below them is counted.
    n_examples : int
        Items written with each node.
    """
    while True:
        data = json.dumps(_data(view, most_nodes, n_examples), ensure_ascii=False, separators=(",", ":"))
        if len(data.encode("utf-8", "replace")) <= MOST_BYTES or most_nodes < 100:
            return _assemble(view.title, data)
        most_nodes //= 2


def _data(view: View, most_nodes: int, n_examples: int) -> dict[str, Any]:
    tree = view.tree
    nodes, parent = _largest(view, most_nodes)
    place = {v: i for i, v in enumerate(nodes)}
    terms: dict[int, list[str]] = {}
    examples: dict[int, list[list[Any]]] = {}
    for i, v in enumerate(nodes):
        if v < tree.n_leaves:
            continue
        about = {} if view.describe is None else view.describe(v)
        if len(about.get("terms", ())):
            terms[i] = [one_line(term, 40) for term in about["terms"]][:8]
        if view.items is not None:
            rows = list(about.get("central", ()))[:n_examples]
            if not rows:
                take = min(n_examples, int(tree.size[v]))
                rows = tree.leaf_order[np.linspace(tree.first[v], tree.last[v] - 1, take).astype(np.int64)].tolist()
            examples[i] = [[one_line(view.items[int(row)], 110), int(row)] for row in rows]
    meta = view.meta()
    pictures = _pictures(view, examples)
    meta.update(vectors=False, images=bool(pictures), most_clusters=min(len(nodes), 2000))
    if not meta["points"]:
        meta["columns"] = []
    shown = [[place[v] for v in level_nodes.tolist() if v in place] for level_nodes, _ in view.levels]
    cuts = [_cut(indices, tree, nodes) for indices in shown if indices]
    meta["levels"] = [level for level, indices in zip(meta["levels"], shown, strict=True) if indices]
    kids = np.bincount(np.array(parent[1:], dtype=np.int64), minlength=len(nodes)) if len(nodes) > 1 else [0]
    meta["root"] = {**meta["root"], "id": 0, "kids": int(kids[0])}
    return {
        "meta": meta,
        "parent": parent,
        "size": tree.size[nodes].tolist(),
        "height": [float(f"{height:.5g}") for height in tree.height[nodes].tolist()],
        "name": [one_line(view.name(v), 90) for v in nodes],
        "terms": terms,
        "examples": examples,
        "pictures": pictures,
        "classes": _classes(view, nodes),
        "cuts": cuts,
        **(_map(view, place) if meta["points"] else {}),
    }


def _map(view: View, place: dict[int, int]) -> dict[str, Any]:
    """A sample of the points with their items, and where the names stand."""
    tree = view.tree
    packed = plane_of(view).points(most=MOST_POINTS)
    count = int(np.frombuffer(packed, "<u4", 1, 28)[0])
    drawn = np.frombuffer(packed, "<u4", count, 32)
    rows = tree.leaf_order[drawn].tolist()
    islands = [
        {**island, "id": place[v]} for island in plane_of(view).islands if (v := view.node(island["id"])) in place
    ]
    return {
        "points": base64.b64encode(packed).decode(),
        "texts": [] if view.items is None else [one_line(view.items[row], 90) for row in rows],
        "codes": [base64.b64encode(view.columns.code(i)[drawn]).decode() for i in range(len(view.columns))],
        "islands": [{**each, "parent": place[view.node(each["parent"])]} for each in islands],
        "spans": [[int(tree.first[v]), int(tree.last[v])] for v in place],
    }


def _pictures(view: View, examples: dict[int, list[list[Any]]]) -> dict[int, str]:
    """Small pictures of the examples by row, those of the largest groups first, as many as there is room for."""
    found: dict[int, str] = {}
    if view.images is None:
        return found
    room = MOST_PICTURES
    for row in dict.fromkeys(row for some in examples.values() for _, row in some):
        made = thumbnail(view.images[row])
        if made is None:
            continue
        text = f"data:{made[1]};base64,{base64.b64encode(made[0]).decode()}"
        room -= len(text)
        if room < 0:
            break
        found[row] = text
    return found


def _classes(view: View, nodes: list[int]) -> dict[int, list[list[Any]]]:
    """The labels in each group: name, count and share of the most frequent."""
    if view.classes is None:
        return {}
    groups = [(i, v) for i, v in enumerate(nodes) if v >= view.tree.n_leaves]
    return {i: [[c["name"], c["count"], round(c["share"], 4)] for c in view.histogram(v)[:6]] for i, v in groups}


def _largest(view: View, most: int) -> tuple[list[int], list[int]]:
    """The largest nodes in rows from the root, children in their order, and the place of each one's parent."""
    tree = view.tree
    heap = [(-int(tree.size[tree.root]), tree.root)]
    opened = set()
    count = 1
    while heap:
        _, v = heapq.heappop(heap)
        kids = view.shown(v)
        if count + len(kids) > most:
            continue
        opened.add(v)
        count += len(kids)
        for kid in kids:
            if kid >= tree.n_leaves:
                heapq.heappush(heap, (-int(tree.size[kid]), kid))
    nodes, parent, at = [tree.root], [-1], 0
    while at < len(nodes):
        if nodes[at] in opened:
            kids = view.shown(nodes[at])
            nodes += kids
            parent += [at] * len(kids)
        at += 1
    return nodes, parent


def _cut(indices: list[int], tree: Any, nodes: list[int]) -> dict[str, Any]:
    sizes = np.sort(tree.size[[nodes[i] for i in indices]])
    return {
        "nodes": indices,
        "n": len(indices),
        "smallest": int(sizes[0]),
        "median": int(np.median(sizes)),
        "largest": int(sizes[-1]),
    }


def _assemble(title: str, data: str) -> str:
    """The page's own files in one, the data before the program."""
    static = files("cladify.explore").joinpath("static")
    script = _bundle()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = static.joinpath("style.css").read_text(encoding="utf-8")
    style_digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'sha256-{style_digest}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    html = static.joinpath("index.html").read_text(encoding="utf-8")
    html = re.sub(r'<link rel="icon"[^>]*>\n', "", html)
    html = html.replace('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>")
    html = html.replace('<script type="module" src="main.js"></script>\n', "")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{meta}')
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    tail = (
        f'<script type="application/json" id="cladify-data">{safe}</script>\n<script type="module">{script}</script>\n'
    )
    return html.replace("</body>", tail + "</body>")


def _bundle() -> str:
    """The modules of the page in one, each after those it imports: names are unique, so only the joints go."""
    static = files("cladify.explore").joinpath("static")
    done: dict[str, str] = {}
    waiting = ["main.js"]
    while waiting:
        name = waiting[-1]
        text = static.joinpath(name).read_text(encoding="utf-8")
        needs = [other for other in re.findall(r'^import .* from "\./([\w.]+)";$', text, re.M) if other not in done]
        if needs:
            waiting += needs
            continue
        waiting.pop()
        text = re.sub(r"^import .*;\n", "", text, flags=re.M)
        done.setdefault(name, re.sub(r"^export ", "", text, flags=re.M))
    return "".join(f"{text}\n" for text in done.values())
