"""The explorer on a large taxonomy: preparing it, the first picture, answers, memory, and pictures a second."""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.explore_names import chromium

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
N_QUESTIONS = 200
DEPTH, FAN = 4, 12
SYLLABLES = [first + second for first in "bdgklmnrst" for second in "ao"]

explore = Case(
    "explore",
    "A taxonomy of short texts prepared and saved (seconds, once), then explored: 200 random zooms, slider moves, "
    "cards, pages of items, searches, filters, lassos and windows of the map. Bars at a million: prepared in 90 s, "
    "first picture in 2 s, answers in 150 ms and 500 kB, 50 pictures a second while panning, "
    "memory 1.5 times the data, a picture in 16 ms",
    short={"n": 50_000},
    long={"n": 1_000_000},
    timeout=900.0,
    repeat=1,
)


@explore.prepare
def nested_topics(n: int) -> dict[str, Any]:
    """Texts of topics in topics, each level with words of its own, and the tree of bisecting k-means over them."""
    import cladify

    rng = np.random.default_rng(0)
    path = rng.integers(0, FAN, size=(n, DEPTH))
    topic = np.zeros(n, np.int64)
    X = rng.normal(scale=0.3, size=(n, 8)).astype(np.float32)
    syllables = np.array(SYLLABLES)
    vocabulary = np.array(["".join(syllables[[i % 20, i // 20 % 20, i * 7 // 3 % 20]]) for i in range(8000)])
    words = [vocabulary[np.minimum(rng.zipf(1.3, n), 7999)] for _ in range(2)]
    for level in range(DEPTH):
        topic = topic * FAN + path[:, level]
        X += (rng.normal(size=(FAN ** (level + 1), 8)) * 10 * 0.45**level).astype(np.float32)[topic]
        words.append(vocabulary[(topic * 31 + level * 977 + rng.integers(0, 3, n)) % 8000])
    data = [f"{' '.join(row)} {i}".encode() for i, row in enumerate(zip(*words, strict=True))]
    tree = cladify.fit(X, "kmeans", metric="sqeuclidean", random_state=0)
    pointers = np.cumsum([0, *(len(text) for text in data)])
    return {
        "parent": tree.parent,
        "height": tree.height,
        "text_utf8": np.frombuffer(b"".join(data), np.uint8),
        "text_ptr": pointers,
        "places": X[:, :2],
    }


@explore.contestant("cladify", needs="cladify.explore")
def prepare(
    parent: np.ndarray, height: np.ndarray, text_utf8: np.ndarray, text_ptr: np.ndarray, places: np.ndarray
) -> str:
    """From a tree and its items to a taxonomy in a file: condensed, named, with levels, examples and the index."""
    from cladify import Taxonomy, Tree

    data = text_utf8.tobytes()
    tree = Tree(parent, height)
    file = Path(tempfile.mkdtemp(prefix="cladify-explore-")) / "topics.taxonomy"
    np.save(file.with_name("places.npy"), places)
    n = tree.n_leaves
    columns = {
        "length": np.diff(text_ptr),
        "kind": np.array(["even", "odd", "third"])[np.arange(n) % 3].tolist(),
        "day": np.datetime64("2020-01-01") + (np.arange(n) * 37 % 2000).astype("m8[D]"),
        "weight": np.random.default_rng(1).lognormal(size=n),
    }
    items = [data[a:b].decode() for a, b in pairwise(text_ptr)]
    Taxonomy(tree.condense(), items, full=tree, columns=columns).save(file)
    return str(file)


class Server:
    """``cladify explore`` in a process of its own."""

    def __init__(self, file: str) -> None:
        self.started = time.perf_counter()
        command = [sys.executable, "-m", "cladify", "explore", file, "--no-browser", "--port", "0"]
        places = Path(file).with_name("places.npy")
        command += ["--points", str(places)] if places.exists() and file.endswith(".taxonomy") else []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split(": ", 1)[1].strip()

    def ask(self, path: str, **values: Any) -> tuple[Any, float, float, int]:
        """Answer, milliseconds, milliseconds of processor time at the server, and bytes."""
        address = f"{self.url.split('?')[0]}api/{path}?{urllib.parse.urlencode(values)}"
        start, cpu = time.perf_counter(), self.cpu()
        with urllib.request.urlopen(address) as answer:
            body = answer.read()
        found = body if path == "points" else json.loads(body)
        return found, 1e3 * (time.perf_counter() - start), 1e3 * (self.cpu() - cpu), len(body)

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        total = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except OSError:
                continue
        return total / 1e9

    def memory(self) -> int:
        """Bytes in use now."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def _questions(server: Server) -> dict[str, list[tuple[float, float, int]]]:
    """Random questions of every kind, as a person at the page would ask them."""
    rng = random.Random(0)
    meta = server.ask("meta")[0]
    inner = [meta["root"]["id"]]
    figures: dict[str, list[tuple[float, float, int]]] = {}

    def ask(kind: str, path: str, **values: Any) -> Any:
        answer, *rest = server.ask(path, **values)
        figures.setdefault(kind, []).append(tuple(rest))
        return answer

    for _ in range(N_QUESTIONS):
        ids = rng.sample(inner, min(len(inner), rng.choice([1, 5, 60])))
        found = ask("zoom", "children", ids=",".join(map(str, ids)))["children"]
        inner += [record["id"] for family in found.values() for record in family if record["kids"]]
        by = rng.choice(["n", "height"])
        ask("slider", "cut", **{by: int(1e5 ** rng.random()) if by == "n" else meta["height"] * rng.random()})
        ask("card", "card", node=rng.choice(inner))
        ask(
            "items",
            "items",
            node=rng.choice(inner[:50]),
            sort=rng.choice(["tree", "text", "row"]),
            offset=rng.randrange(500),
        )
        filters = ",".join(
            f"{i}:{rng.randrange(3)}.{rng.randrange(3)}" for i in rng.sample(range(4), rng.randint(0, 2))
        )
        ask("filter", "counts", filter=filters)
        side = rng.choice([1, 0.5, 0.1])
        left, top = rng.random() * (1 - side), rng.random() * (1 - side)
        ask("map", "points", left=left, top=top, side=side, filter=filters, column=rng.randrange(4))
        corners = [f"{left + side * (0.5 + 0.4 * x)},{top + side * (0.5 + 0.4 * y)}" for x, y in _CIRCLE]
        ask("lasso", "selection", polygon=",".join(corners), filter=filters)
        leaf = rng.randrange(meta["n"])
        words = ask("card", "card", node=leaf)["name"].split()
        ask("path", "path", node=leaf)
        typed = rng.choice(words)
        ask(
            "search",
            "search",
            q=rng.choice([typed, typed[: rng.randint(1, len(typed))], " ".join(rng.sample(words, 2))]),
        )
    return figures


_CIRCLE = [(round(np.cos(t), 4), round(np.sin(t), 4)) for t in np.linspace(0, 2 * np.pi, 40, endpoint=False)]
_TICKS = """() => { globalThis.ticks = []; let last = performance.now();
  const tick = (now) => { ticks.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick); }"""


def _picture(server: Server, figures: dict[str, float]) -> None:
    """The page in Chromium: when the first picture is there, and how long pictures take while zooming."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        asked = time.perf_counter()
        page.goto(server.url)
        while not page.evaluate("globalThis.cladify && cladify.ready && cladify.boxes() > 2"):
            page.wait_for_timeout(10)
        figures["first picture after the page was asked for, s"] = time.perf_counter() - asked
        page.wait_for_timeout(1500)
        page.evaluate(_TICKS)
        page.mouse.move(500, 450)
        page.mouse.down()
        for i in range(90):  # a drag in circles
            page.mouse.move(500 + 150 * np.sin(i / 7), 450 + 100 * np.cos(i / 7))
            page.wait_for_timeout(10)
        page.mouse.up()
        ticks = page.evaluate("ticks")
        figures["pictures a second while panning the map"] = 1e3 / statistics.mean(ticks[5:])
        page.mouse.up()
        for view in ("Tree", "Map", "Disk"):
            page.get_by_role("button", name=view, exact=True).click()
            page.wait_for_timeout(300)
            page.evaluate("cladify.frames.length = 0")
            page.evaluate(_TICKS)
            for i in range(60):
                page.mouse.move(200 + 9 * i % 500, 420)
                page.mouse.wheel(0, -160 if i % 40 < 30 else 320)
                page.wait_for_timeout(16)
            figures[f"a picture, {view.lower()}, ms"] = statistics.median(page.evaluate("cladify.frames"))
            figures[f"from picture to picture, {view.lower()}, ms"] = statistics.median(page.evaluate("ticks"))
        browser.close()


@cache
def _measure(file: str) -> dict[str, float]:
    import cladify

    figures: dict[str, float] = {}
    tiny = Path(file).with_name("tiny.tree")
    cladify.Tree([3, 3, 4, 4, -1]).save(tiny)
    empty = Server(str(tiny))
    _ask_all(empty)
    base = empty.memory()
    empty.stop()
    server = Server(file)
    try:
        server.ask("meta")
        figures["server up after its start, s"] = time.perf_counter() - server.started
        figures["processor time of that, s"] = server.cpu()
        _picture(server, figures)
        answers = _questions(server)
        for kind, rows in answers.items():
            wall, cpu, _ = zip(*rows, strict=True)
            figures[f"{kind}, median ms"], figures[f"{kind}, worst ms"] = statistics.median(wall), max(wall)
            figures[f"{kind}, worst ms of processor time"] = max(cpu)
        figures["largest answer, kB"] = max(size for rows in answers.values() for _, _, size in rows) / 1e3
        figures["server's memory over an empty one's, MB"] = (server.memory() - base) / 1e6
        figures["of that by tree and items"] = (server.memory() - base) / _bytes_of(file, columns=False)
        figures["of that by tree, items, columns and places"] = (server.memory() - base) / _bytes_of(file, columns=True)
    finally:
        server.stop()
        shutil.rmtree(Path(file).parent)
    return figures


def _ask_all(server: Server) -> None:
    root = server.ask("meta")[0]["root"]["id"]
    for path, values in (("search", {"q": "1"}), ("cut", {"n": 2}), ("card", {"node": root})):
        server.ask(path, **values)


def _bytes_of(file: str, *, columns: bool) -> int:
    """Both trees with what is known of their nodes, and the items; with their columns and places on the map."""
    import cladify

    taxonomy = cladify.Taxonomy.load(file)
    tree = taxonomy.tree
    arrays = (
        tree.parent,
        tree.height,
        tree.size,
        tree.first,
        tree.last,
        tree.leaf_order,
        tree.child_ids,
        tree.child_start,
    )
    full = taxonomy.full.parent.nbytes + taxonomy.full.height.nbytes
    more = taxonomy.columns.nbytes + 8 * taxonomy.n_items if columns else 0
    return sum(array.nbytes for array in arrays) + full + taxonomy.arrow_items.nbytes + more


def _figure(name: str) -> Callable[..., float]:
    def figure(result: str) -> float:
        return _measure(result).get(name, float("nan"))

    return figure


KINDS = ("zoom", "slider", "card", "items", "path", "search", "filter", "map", "lasso")
for _name in (
    "server up after its start, s",
    "processor time of that, s",
    "first picture after the page was asked for, s",
    *(f"{kind}, {what}" for kind in KINDS for what in ("median ms", "worst ms", "worst ms of processor time")),
    "pictures a second while panning the map",
    "largest answer, kB",
    "server's memory over an empty one's, MB",
    "of that by tree and items",
    "of that by tree, items, columns and places",
    *(f"{what}, {view}, ms" for what in ("a picture", "from picture to picture") for view in ("tree", "map", "disk")),
):
    explore.quality(_name)(_figure(_name))
