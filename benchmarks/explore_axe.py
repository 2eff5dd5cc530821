"""Accessibility of the explorer, by axe-core: ``python -m benchmarks.explore_axe [A.taxonomy …]``.

Each taxonomy (or ten of real data) is opened in Chromium, light and dark, at 1280 and at 390 pixels: map, tree and
disk, a group, the report, the columns, a search, and the dialogs of exporting, renaming, moving, merging and comparing.
Faults that axe-core calls serious or critical, contrast among them, are printed. It ends with 1 where there is any.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.explore_names import FLAGS, chromium, ten_files

LOOKS = ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"))
DIALOGS = ("Export", "Rename", "Move to…", "Merge with…", "Compare", "?")


def main(paths: list[str]) -> int:
    """Look at each file, print a line for each, and say whether all is well."""
    from playwright.sync_api import sync_playwright

    from cladify.explore import Explorer, open_document
    from cladify.taxonomy import Taxonomy

    found = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=FLAGS)
        for path in paths or ten_files(folder):
            explorer = Explorer(open_document(path, compare=Taxonomy.load(path).full.condense()), port=0).start()
            for width, scheme in LOOKS:
                page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
                page.set_default_timeout(60_000)
                looked = 0
                for place, faults in _places(page, explorer.url):
                    looked += 1
                    found += len(faults)
                    for fault, html in faults:
                        print(f"{Path(path).stem} {width} {scheme}, {place}: {fault} {html[:160]}", flush=True)
                page.close()
                print(f"{Path(path).stem:14} {width:4} {scheme:5} {looked} places, {found} faults so far", flush=True)
            explorer.stop()
        browser.close()
    return int(found > 0)


def _places(page: Any, url: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """What is looked at, and the faults there."""
    page.goto(url)
    _wait(page, "globalThis.cladify && cladify.ready && cladify.boxes() > 1 && document.querySelector('#card h2')")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    if page.locator("#fold").is_visible():
        page.locator("#fold").click()
    for view in ("Tree", "Disk", "Map"):
        page.get_by_role("button", name=view, exact=True).click()
        yield view, _faults(page)
    page.locator("#tabs button[data-tab=report]").click()
    _wait(page, "document.querySelector('#report h3')")
    yield "report", _faults(page)
    if page.locator("#tabs button[data-tab=columns]").count():
        page.locator("#tabs button[data-tab=columns]").click()
        _wait(page, "document.querySelector('#columns h3')")
        yield "columns", _faults(page)
    page.locator("#query").fill("a")
    page.wait_for_selector("#found li")
    yield "search", _faults(page)
    page.keyboard.press("Escape")
    page.locator("#tabs button[data-tab=card]").click()
    page.locator("#card .rows button").first.click()
    _wait(page, "document.querySelector('#card h2').textContent !== 'all items'")
    yield "group", _faults(page)
    for name in DIALOGS:
        page.get_by_role("button", name=name, exact=True).first.click()
        page.wait_for_selector("dialog[open]")
        yield name, _faults(page)
        if name == "Compare":
            page.locator("#flow").click()
            page.wait_for_selector("dialog[open] svg")
            yield "flows", _faults(page)
        page.keyboard.press("Escape")


def _wait(page: Any, condition: str) -> None:
    for _ in range(1200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise TimeoutError(condition)


def _faults(page: Any) -> list[tuple[str, str]]:
    page.wait_for_timeout(120)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        (fault["id"], node["html"])
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
