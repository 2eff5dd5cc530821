"""What the tests in a real browser share: Chromium, as the system has it."""

import shutil
import time
from importlib.resources import files

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MARKS = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine; install the package chromium"),
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
#: How many colours the picture has.
COLORS = (
    "() => { const c = document.getElementById('canvas'), x = c.getContext('2d');"
    "const d = x.getImageData(0, 0, c.width, c.height).data, s = new Set();"
    "for (let i = 0; i < d.length; i += 4 * 97) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; }"
)


def until(page, condition, seconds=15.0):
    """Wait for a condition; Playwright's own way needs eval, which the page forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(30)


def settled(page):
    """Wait until the answers to all that the page has asked for are there."""
    quiet = 0
    while quiet < 3:
        page.wait_for_timeout(30)
        quiet = 0 if page.pending else quiet + 1


def watched(page):
    """The page, which keeps the errors that it reports and the requests that wait for an answer."""
    page.set_default_timeout(15_000)
    page.problems, page.pending = [], set()
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: page.pending.add(request))
    page.on("requestfinished", lambda request: page.pending.discard(request))
    page.on("requestfailed", lambda request: page.pending.discard(request))
    return page


def show(page, url):
    page.goto(url)
    until(page, "globalThis.cladify && cladify.ready && cladify.boxes() > 2 && document.querySelector('#card h2')")
    return page


def heading(page):
    return page.locator("#card h2").inner_text()


def enter(page):
    """From the whole tree, click a box of the second row, again where the page was still busy with the picture."""
    page.locator("#path button").first.click()
    until(page, "document.querySelector('#card h2')?.textContent === 'all items'")
    settled(page)
    for _ in range(10):
        page.mouse.click(200, 260)
        for _ in range(10):
            page.wait_for_timeout(70)
            if heading(page) != "all items":
                return settled(page)
    raise AssertionError("a click did not select a cluster")


def faults(page):
    """Accessibility faults that axe-core calls serious or critical."""
    if not page.evaluate("globalThis.axe !== undefined"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [(fault["id"], fault["nodes"][0]["html"]) for fault in found if fault["impact"] in ("serious", "critical")]


def clear(at, boxes):
    """Whether a place is in none of the boxes."""
    return not any(x <= at[0] <= x + w and y <= at[1] <= y + h for x, y, w, h in boxes)
