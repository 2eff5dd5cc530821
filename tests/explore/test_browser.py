"""The page in a real browser: paths, levels, search, keys, themes, faults."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

from tests.explore.chromium import COLORS, MARKS, enter, faults, heading, show, until

pytestmark = MARKS


def test_zoom_breadcrumb_back_and_reload(page):
    assert heading(page) == "all items"
    enter(page)
    inside = heading(page)
    assert page.locator("#path button").count() >= 2
    page.reload()
    until(page, "globalThis.cladify && cladify.ready")
    until(page, f"document.querySelector('#card h2')?.textContent === {json.dumps(inside)}")
    page.go_back()
    until(page, "document.querySelector('#card h2')?.textContent === 'all items'")
    page.go_forward()
    until(page, "document.querySelector('#card h2')?.textContent !== 'all items'")
    page.locator("#path button").first.click()
    until(page, "document.querySelector('#card h2')?.textContent === 'all items'")


def test_levels_and_slider(page):
    page.locator("#levels button").last.click()
    until(page, "document.querySelector('#levels button:last-child').ariaPressed === 'true'")
    before = page.locator("#sizes").inner_text()
    page.locator("#count").fill("2")
    page.locator("#count").press("Enter")
    until(page, f"document.getElementById('sizes').textContent !== {json.dumps(before)}")
    assert "n=2" in page.url
    page.locator("#slider").fill("1000")
    until(page, "document.getElementById('count').value > 20")


def test_search_goes_to_the_item(page):
    page.locator("#query").fill("comet ring")
    page.wait_for_selector("#found li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#card h2')?.textContent.includes('planet')")


def test_hostile_items_are_text(page):
    page.locator("#query").fill("onerror")
    page.wait_for_selector("#found li")
    assert "<img" in page.locator("#found li").first.inner_text()
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#card h2')?.textContent.includes('<script>')")
    assert page.locator("#card h2 img, #card script").count() == 0
    assert "owned" not in page.title()


def test_keyboard_alone(page):
    page.locator("#canvas").focus()
    page.keyboard.press("ArrowDown")
    until(page, "document.querySelector('#card h2')?.textContent !== 'all items'")
    first = heading(page)
    page.keyboard.press("ArrowRight")
    until(page, f"document.querySelector('#card h2')?.textContent !== {json.dumps(first)}")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    until(page, "document.querySelector('#card h2')?.textContent === 'all items'")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"


def test_views_and_themes(page):
    for view in ("Map", "Disk", "Tree"):
        page.get_by_role("button", name=view, exact=True).click()
        page.wait_for_timeout(150)
        assert page.evaluate(COLORS) > 5
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "dark")])
def test_no_serious_accessibility_fault(tab, explorer, width, scheme):
    pytest.importorskip("axe_playwright_python")
    tab.set_viewport_size({"width": width, "height": 800})
    tab.emulate_media(color_scheme=scheme)
    page = show(tab, explorer.url)
    assert page.locator("#views button[aria-pressed=true]").inner_text() == "Map"
    assert faults(page) == []
    for view in ("Tree", "Disk"):
        page.get_by_role("button", name=view, exact=True).click()
        assert faults(page) == [], view
    page.locator("#query").fill("comet")
    page.wait_for_selector("#found li")
    assert faults(page) == []
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#card h2')?.textContent !== 'all items'")
    assert faults(page) == []
    if width < 800:
        page.locator("#fold").click()
        assert faults(page) == []
    for button in ("export", "compare", "help"):
        page.locator(f"#{button}").click()
        page.wait_for_selector("dialog[open]")
        assert faults(page) == [], button
        page.keyboard.press("Escape")


@pytest.mark.nightly
def test_no_serious_accessibility_fault_in_any_place(many, colored, tmp_path):
    """In a process of its own: in this one Playwright may be running already."""
    pytest.importorskip("axe_playwright_python")
    for name, taxonomy in (("many", many), ("colored", colored)):
        taxonomy.save(tmp_path / f"{name}.taxonomy")
    files = sorted(map(str, tmp_path.glob("*.taxonomy")))
    command = [sys.executable, "-m", "benchmarks.explore_axe", *files]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_more_like_this_goes_there(page):
    page.locator("#query").fill("comet ring")
    page.wait_for_selector("#found li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#card h3:has-text('Most like it')")
    first = heading(page)
    page.locator("#card .rows button").first.click()
    until(page, f"document.querySelector('#card h2')?.textContent !== {json.dumps(first)}")


def test_narrow_screen(tab, explorer):
    tab.set_viewport_size({"width": 390, "height": 800})
    page = show(tab, explorer.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#canvas").bounding_box()["height"] > 300
    assert heading(page) == "all items"
