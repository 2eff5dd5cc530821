"""Names in the map and the tree of the explorer, measured by their boxes: how many overlap, or go over the edge.

``python -m benchmarks.explore_names A.taxonomy B.taxonomy …`` opens each in Chromium at 1280 and 1920 pixels: the map
at four zooms and the tree, whose boxes are those of its rows. It ends with 1 where two overlap or one goes over the
edge, or a picture is bare of names. Names that end in "…" are counted, too.
"""

from __future__ import annotations

import shutil
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

FLAGS = ["--no-sandbox", "--disable-gpu"]
LOWEST = 17  # pixels of a row of the tree


def main(files: list[str]) -> int:
    """Measure each file, print a line for each, and say whether all is well."""
    from playwright.sync_api import sync_playwright

    from cladify.explore import Explorer, open_document

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    faults = 0
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=FLAGS)
        for file in files:
            explorer = Explorer(open_document(file), port=0).start()
            for width in (1280, 1920):
                page = browser.new_page(viewport={"width": width, "height": width * 5 // 8})
                found = [_map(page, explorer.url), _tree(page, explorer.url)]
                for view, (names, overlap, cut, short, bare) in zip(("map", "tree"), found, strict=True):
                    line = f"{names} names, {overlap} overlap, {cut} over the edge, {short} shortened, {bare} bare"
                    print(f"{Path(file).stem:16} {width} {view:5} {line}", flush=True)
                    faults += overlap + cut + bare
                page.close()
            explorer.stop()
        browser.close()
    return int(faults > 0)


def _ready(page: Any, url: str) -> None:
    page.goto(url)
    for _ in range(600):
        if page.evaluate("globalThis.cladify && cladify.ready && cladify.boxes() > 1"):
            break
        page.wait_for_timeout(50)
    page.wait_for_timeout(700)


def _map(page: Any, url: str) -> tuple[int, int, int, int, int]:
    _ready(page, url)
    stage = page.locator("#stage").bounding_box()
    total = [0, 0, 0, 0]
    for _ in range(4):
        names = page.evaluate("cladify.labels()")
        if not names:
            return total[0], total[1], total[2], total[3], 1
        texts = page.evaluate("cladify.names()")
        total[0] += len(names)
        total[1] += _overlaps(names)
        total[2] += sum(x < 0 or y < 0 or x + w > stage["width"] or y + h > stage["height"] for x, y, w, h in names)
        total[3] += sum("…" in text for text in texts)
        x, y, w, h = names[0]
        page.mouse.move(stage["x"] + x + w / 2, stage["y"] + y + h / 2)
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(500)
    return total[0], total[1], total[2], total[3], 0


def _tree(page: Any, url: str) -> tuple[int, int, int, int, int]:
    page.goto("about:blank")
    _ready(page, f"{url}#view=tree")
    stage = page.locator("#stage").bounding_box()
    rows = page.evaluate("cladify.labels()")
    apart = _overlaps([[x + 0.5, y + 0.5, w - 1, h - 1] for x, y, w, h in rows])
    edge = sum(x + w > stage["width"] + 1 or y + h > stage["height"] + 1 or h < LOWEST for x, y, w, h in rows)
    return len(rows), apart, edge, page.evaluate("cladify.shortened()"), int(not rows)


def _overlaps(boxes: list[list[float]]) -> int:
    def meet(a: list[float], b: list[float]) -> bool:
        return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]

    return sum(meet(a, b) for a, b in combinations(boxes, 2))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
