"""Takes the pictures of the explorer with Chromium: ``python docs/make_screens.py out`` after ``make run``."""

import shutil
import sys
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from cladify import Taxonomy
from cladify.datasets import load_docstrings
from cladify.explore import Explorer, open_document

HERE = Path(__file__).resolve().parent
PICTURES = HERE / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu"]


def opened(browser: Browser, url: str, width: int = 1280, height: int = 760, **options: str) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, **options)
    page.goto(url)
    deadline = time.monotonic() + 60
    while not page.evaluate("globalThis.cladify && cladify.ready && document.querySelector('#card h2')"):
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)
    page.wait_for_timeout(1200)
    return page


def take(page: Page, name: str) -> None:
    page.wait_for_timeout(900)
    page.screenshot(path=PICTURES / f"{name}.jpg", type="jpeg", quality=72)


def tutorial(browser: Browser, file: Path) -> None:
    """Explored, named, edited: the steps of tutorial.md."""
    copy = file.with_name("edited.taxonomy")
    shutil.copy(file, copy)
    explorer = Explorer(open_document(copy, title="docstrings"), port=0).start()
    page = opened(browser, explorer.url)
    page.locator("#card .rows button").nth(1).click()
    take(page, "tutorial-card")
    page.get_by_role("button", name="Rename").click()
    page.locator("#new-name").fill("My own name")
    take(page, "tutorial-rename")
    page.keyboard.press("Enter")
    page.locator("#levels button").nth(1).click()
    take(page, "tutorial-edited")
    page.locator("#export").click()
    take(page, "tutorial-export")
    page.close()
    explorer.stop()
    copy.unlink()


def columns_and_flows(browser: Browser, file: Path) -> None:
    """Coloured by the package of each docstring, and beside the groups of average linkage."""
    corpus = load_docstrings()
    other = Taxonomy.fit(corpus.X, list(corpus.names), texts=list(corpus.described), method="hac")
    other.save(file.with_name("average linkage.taxonomy"))
    document = open_document(
        file, labels=list(corpus.package), compare=file.with_name("average linkage.taxonomy"), title="docstrings"
    )
    explorer = Explorer(document, port=0).start()
    page = opened(browser, explorer.url)
    page.locator("#colorby").select_option(label="label")
    page.locator("#tab-columns").click()
    page.wait_for_selector("#columns .bins button")
    take(page, "explorer-columns")
    page.locator("#colorby").select_option(label="group")
    page.locator("#compare").click()
    page.locator("#flow").click()
    page.wait_for_selector("dialog[open] svg")
    take(page, "explorer-flows")
    page.close()
    explorer.stop()


def main(out: Path) -> None:
    file = out / "docstrings.taxonomy"
    document = open_document(file, vectors=np.load(out / "docstrings.npy"), title="docstrings")
    explorer = Explorer(document, port=0).start()
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = opened(browser, explorer.url, 1180, 660)
        page.screenshot(path=HERE / "explorer.jpg", type="jpeg", quality=82)
        page.set_viewport_size({"width": 1280, "height": 760})
        page.get_by_role("button", name="Tree", exact=True).click()
        take(page, "explorer-tree")
        page.get_by_role("button", name="Disk", exact=True).click()
        take(page, "explorer-disk")
        page.get_by_role("button", name="Map", exact=True).click()
        page.locator("#query").fill("convolution")
        page.wait_for_selector("#found li")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        take(page, "search")
        page.close()
        page = opened(browser, explorer.url, 390, 780, color_scheme="dark")
        take(page, "narrow")
        page.close()
        tutorial(browser, file)
        columns_and_flows(browser, file)
        browser.close()
    explorer.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
