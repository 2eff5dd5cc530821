"""Names in the map and the tree of the explorer, measured in the page by their boxes.

``python -m benchmarks.explore_names [A.taxonomy B.taxonomy …]`` opens each (or ten of real data) in Chromium at 1280
and 1920 pixels: the map at four zooms, and the tree. It counts names that overlap or are in the way of the legend, that
go over an edge, that are not drawn whole (also those of the legend), that are paler than 4.5 to 1, and pictures without
names. It ends with 1 where there is any.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

__all__ = ["chromium", "contrast", "measure", "ten_files"]

FLAGS = ["--no-sandbox", "--disable-gpu"]
FAULTS = ("overlap", "over the edge", "cut", "pale", "bare")
PALEST = 4.5


def main(files: list[str]) -> int:
    """Measure each file, print a line for each, and say whether all is well."""
    from playwright.sync_api import sync_playwright

    from cladify.explore import Explorer, open_document

    faults = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=FLAGS)
        for file in files or ten_files(folder):
            explorer = Explorer(open_document(file), port=0).start()
            for width in (1280, 1920):
                page = browser.new_page(viewport={"width": width, "height": width * 5 // 8})
                page.set_default_timeout(600_000)  # the machine may be busy
                for view in ("map", "tree"):
                    found = measure(page, explorer.url, view)
                    line = ", ".join(f"{found[what]} {what}" for what in ("names", *FAULTS))
                    print(f"{Path(file).stem:14} {width} {view:5} {line}", flush=True)
                    faults += sum(found[what] for what in FAULTS)
                page.close()
            explorer.stop()
        browser.close()
    return int(faults > 0)


def chromium() -> str | None:
    """The browser that is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def ten_files(folder: str) -> Any:
    """The ten taxonomies of real data, each saved."""
    from benchmarks.ten import taxonomies

    for name, taxonomy in taxonomies():
        taxonomy.save(Path(folder) / f"{name}.taxonomy")
        yield str(Path(folder) / f"{name}.taxonomy")


def measure(page: Any, url: str, view: str) -> dict[str, int]:
    """Names and their faults in a view of the page."""
    page.goto("about:blank")
    page.goto(url if view == "map" else f"{url}#view=tree")
    for _ in range(600):
        if page.evaluate("globalThis.cladify && cladify.ready && cladify.boxes() > 1"):
            break
        page.wait_for_timeout(50)
    page.wait_for_timeout(700)
    stage = page.locator("#stage").bounding_box()
    found = dict.fromkeys(("names", *FAULTS), 0)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for _ in range(4 if view == "map" else 1):
        names = page.evaluate("cladify.labels()" if view == "map" else "cladify.texts()")
        if not names:
            found["bare"] += 1
            break
        found["names"] += len(names)
        found["overlap"] += _overlaps(names)
        found["over the edge"] += sum(
            x < 0 or y < 0 or x + w > stage["width"] or y + h > stage["height"] for x, y, w, h in names
        )
        if view == "tree":
            rows = page.evaluate("cladify.labels()")
            found["overlap"] += _overlaps([[x + 0.5, y + 0.5, w - 1, h - 1] for x, y, w, h in rows])
            break
        drawn, whole = page.evaluate("[cladify.names(), cladify.whole()]")
        found["cut"] += sum("".join(a.split()) != "".join(b.split()) for a, b in zip(drawn, whole, strict=True))
        found["pale"] += sum(contrast(ink, ground) < PALEST for ink in page.evaluate("cladify.inks()"))
        rows = page.locator("#legend li")
        for row in rows.all() if page.locator("#legend").is_visible() else ():
            x, y, w, h = (row.bounding_box()[side] for side in ("x", "y", "width", "height"))
            found["cut"] += row.evaluate("row => (row.querySelector('.name') ?? row).scrollWidth > row.clientWidth")
            found["overlap"] += sum(_meet([x - stage["x"], y - stage["y"], w, h], name) for name in names)
        x, y, w, h = names[0]
        page.mouse.move(stage["x"] + x + w / 2, stage["y"] + y + h / 2)
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(500)
    return found


def contrast(ink: str, ground: str) -> float:
    """How much two colours differ, 1 to 21, as the WCAG define it.

    >>> contrast("rgb(0 0 0)", "#ffffff")
    21.0
    """
    one, two = sorted(_luminance(color) + 0.05 for color in (ink, ground))
    return round(two / one, 2)


def _luminance(color: str) -> float:
    if color.startswith("#"):
        values = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        values = [int(value) for value in re.findall(r"\d+", color)[:3]]
    linear = [v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _meet(a: list[float], b: list[float]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def _overlaps(boxes: list[list[float]]) -> int:
    return sum(_meet(a, b) for a, b in combinations(boxes, 2))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
