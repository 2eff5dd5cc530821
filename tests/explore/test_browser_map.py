"""The map and the tree in a real browser: names, points, pictures."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

import cladify
from benchmarks.explore_names import measure
from cladify.explore import Explorer, open_document, write_page
from tests.explore.chromium import COLORS, MARKS, clear, faults, show, until, watched

pytestmark = MARKS


def test_frames_are_quick(page):
    page.get_by_role("button", name="Map", exact=True).click()
    for _ in range(12):
        page.mouse.move(500, 450)
        page.mouse.wheel(0, -240)
        page.wait_for_timeout(30)
    frames = sorted(page.evaluate("cladify.frames"))
    assert len(frames) > 5
    assert frames[len(frames) // 2] < 100  # generous: other work may share the machine


@pytest.mark.parametrize("view", ["map", "tree"])
@pytest.mark.parametrize("width", [1280, 1920])
def test_no_two_names_overlap_and_none_is_cut_or_pale(tab, many, width, view):
    explorer = Explorer(open_document(many), port=0).start()
    tab.set_viewport_size({"width": width, "height": width * 5 // 8})
    found = measure(tab, explorer.url, view)
    assert found.pop("names") >= (12 if view == "tree" else 8)
    assert sum(found.values()) == 0, found
    if view == "tree":
        assert all(h >= 17 for *_, h in tab.evaluate("cladify.labels()"))
    explorer.stop()


def test_long_names_are_drawn_whole(tab, many):
    taxonomy = copy.deepcopy(many)
    groups = [int(v) for v in taxonomy.tree.children(taxonomy.tree.root) if v >= taxonomy.n_items]
    for i, v in enumerate(groups):
        taxonomy.rename(v, ["a name of many words " * 5, "one-word-that-is-long/" * 4, "wide" * 24][i % 3].strip())
    explorer = Explorer(open_document(taxonomy), port=0).start()
    whole = {taxonomy.names[v].replace(" ", "") for v in groups}
    for view in ("map", "tree"):
        found = measure(tab, explorer.url, view)
        assert found.pop("names") > 3
        assert sum(found.values()) == 0, (view, found)
    tab.goto("about:blank")
    page = show(tab, explorer.url)
    drawn = [name.replace(" ", "") for name in page.evaluate("cladify.names()")]
    assert sum(name in whole for name in drawn) >= len(groups) - 1
    explorer.stop()


def test_the_legend_is_not_on_the_points_of_a_narrow_picture(tab, many):
    explorer = Explorer(open_document(many), port=0).start()
    tab.set_viewport_size({"width": 900, "height": 700})
    page = show(tab, explorer.url)
    assert not page.locator("#legend").is_visible() and not page.locator("#key").is_visible()
    tab.set_viewport_size({"width": 1280, "height": 800})
    page.locator("#key").click()  # shown when it is asked for
    page.locator("#legend").wait_for()
    legend, stage = page.locator("#legend").bounding_box(), page.locator("#stage").bounding_box()
    page.wait_for_timeout(200)
    places = [page.evaluate(f"cladify.pointAt({place})") for place in range(0, many.n_items, 50)]
    inside = [x < legend["x"] - stage["x"] + legend["width"] for x, _ in places]
    assert sum(inside) <= 1
    explorer.stop()


def test_names_are_those_of_the_legend(tab):
    """Groups of one level at several depths: a group above two of them is not named in their place."""
    tree = cladify.Tree([*np.repeat([90, 91, 92], 30), 93, 93, 94, 94, -1])
    turn = np.linspace(0, 2 * np.pi, 30)
    ring = 0.1 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points = np.vstack([ring, ring + np.array([0.25, 0]), ring + np.array([1.5, 0.6])])
    explorer = Explorer(open_document(tree, points=points), port=0).start()
    page = show(tab, f"{explorer.url}#n=3")
    page.wait_for_timeout(400)
    names = [row.inner_text() for row in page.locator("#legend .name").all()]
    assert len(names) == 3 and set(names) <= set(page.evaluate("cladify.names()"))
    explorer.stop()


def test_groups_are_named_where_they_are_in_sight(tab):
    tree = cladify.Tree([*np.repeat([120, 121, 122], 40), 123, 123, 123, -1])
    points = np.stack([np.tile(np.linspace(0, 1, 40), 3), np.repeat([0.0, 0.1, 0.2], 40)], axis=1)  # three long islands
    explorer = Explorer(open_document(tree, points=points), port=0).start()
    page = show(tab, explorer.url)
    every = sorted(page.evaluate("cladify.names()"))
    assert len(every) == 3
    stage = page.locator("#stage").bounding_box()
    for place in (40, 79):  # at one end or at both, the middle of the islands is out of sight
        x, y = page.evaluate(f"cladify.pointAt({place})")
        page.mouse.move(stage["x"] + x, stage["y"] + y)
        for delta in (-900, 900):
            page.mouse.wheel(0, delta)
            page.wait_for_timeout(450)
            assert sorted(page.evaluate("cladify.names()")) == every
            rows = page.locator("#legend").inner_text()
            assert all(name in rows for name in every)
    explorer.stop()


def test_the_map_leads_to_groups_and_items(tab, many):
    explorer = Explorer(open_document(many), port=0).start()
    page = show(tab, explorer.url)
    stage = page.locator("#stage").bounding_box()
    x, y, w, h = page.evaluate("cladify.labels()[0]")
    page.mouse.move(stage["x"] + x + w / 2, stage["y"] + y + h / 2)
    page.wait_for_selector("#tip:not([hidden])")
    page.mouse.click(stage["x"] + x + w / 2, stage["y"] + y + h / 2)
    until(page, "document.querySelector('#card h2')?.textContent !== 'all items'")
    page.locator("#path button").first.click()
    until(page, "document.querySelector('#card h2')?.textContent === 'all items'")
    page.wait_for_timeout(700)  # the way back
    page.locator("#key").click()
    legend = page.locator("#legend").bounding_box()
    taken = [*page.evaluate("cladify.labels()"), [0, 0, legend["x"] + legend["width"], stage["height"]]]
    seen = (page.evaluate(f"cladify.pointAt({place})") for place in range(many.n_items))
    at = next(at for at in seen if clear(at, taken) and 0 < at[0] < stage["width"] and 0 < at[1] < stage["height"])
    page.mouse.move(stage["x"] + at[0] - 1, stage["y"] + at[1])
    page.mouse.move(stage["x"] + at[0], stage["y"] + at[1])
    until(page, "document.querySelector('#tip:not([hidden])')?.textContent.includes('<b>item</b>')")
    assert page.locator("#tip b").count() == 0
    page.mouse.click(stage["x"] + at[0], stage["y"] + at[1])
    until(page, "document.querySelector('#card h2')?.textContent.includes('<b>item</b>')")
    assert page.locator("#card b, #legend b").count() == 0
    page.locator("#legend button").first.click()
    until(page, "!document.querySelector('#card h2')?.textContent.includes('<b>item</b>')")
    assert page.problems == []
    explorer.stop()


def test_few_items_are_written_beside_their_points(tab):
    """All in sight are written, also hostile ones, in nobody's way."""
    points = np.stack([np.arange(24) % 6, np.arange(24) // 6], axis=1).astype(np.float64)
    items = [f"<b>thing</b> {i}" for i in range(24)]
    tree = cladify.Tree([*np.repeat([24, 25], 12), 26, 26, -1])
    explorer = Explorer(open_document(tree, items=items, points=points), port=0).start()
    page = tab
    page.goto(explorer.url)
    until(page, "globalThis.cladify?.ready && cladify.items().length >= 12")
    boxes = [*page.evaluate("cladify.items()"), *page.evaluate("cladify.labels()")]
    stage = page.locator("#stage").bounding_box()
    for i, (x, y, w, h) in enumerate(boxes):
        assert x >= 0 and y >= 0 and x + w <= stage["width"] and y + h <= stage["height"]
        assert not any(x < a + c and a < x + w and y < b + d and b < y + h for a, b, c, d in boxes[:i])
    dots = [page.evaluate(f"cladify.pointAt({place})") for place in range(24)]
    assert all(clear(at, boxes) for at in dots)
    assert page.locator("#stage b").count() == 0 and page.problems == []
    explorer.stop()


def test_a_map_without_webgl_and_one_in_a_file(browser, document, tmp_path):
    write_page(document, tmp_path / "things.html")
    page = browser.new_page()
    page.add_init_script(
        "const get = HTMLCanvasElement.prototype.getContext; HTMLCanvasElement.prototype.getContext ="
        " function (kind, ...more) { return kind === 'webgl' ? null : get.call(this, kind, ...more); }"
    )
    page.goto((tmp_path / "things.html").as_uri())
    until(page, "globalThis.cladify && cladify.ready && cladify.boxes() > 2")
    assert page.locator("#views button[aria-pressed=true]").inner_text() == "Map"
    assert page.evaluate(COLORS) > 5
    page.close()


def test_a_tree_without_vectors_begins_with_the_tree(tab):
    explorer = Explorer(open_document(cladify.Tree([3, 3, 4, 4, -1])), port=0).start()
    page = show(tab, explorer.url)
    assert page.locator("#views button").all_inner_texts() == ["Tree", "Disk"]
    explorer.stop()


def test_columns_colour_and_filter(tab, colored):
    explorer = Explorer(open_document(colored, labels=[f"<i>{i % 3}</i>" for i in range(colored.n_items)]), port=0)
    page = show(tab, explorer.start().url)
    page.locator("#colorby").select_option(label="size")
    until(page, "document.querySelector('#legend .strip')")
    page.locator("#tab-columns").click()
    page.get_by_role("button", name="<i>1</i>").first.click()
    until(page, "document.querySelector('#filtered:not([hidden])')?.textContent.startsWith('40 of 120 items')")
    assert page.locator("#columns i, #legend i").count() == 0
    assert "filter=0%3A1" in page.url and "color=1" in page.url
    page.get_by_label("size, from").fill("20")
    until(page, "!document.querySelector('#filtered').textContent.startsWith('40 of')")
    left = int(page.locator("#filtered").inner_text().split()[0])
    rows = [i for i in range(colored.n_items) if i % 3 == 1]
    assert 0 < left < len(rows)
    assert faults(page) == []
    page.go_back()
    until(page, "document.querySelector('#filtered:not([hidden])')?.textContent.startsWith('40 of')")
    page.get_by_role("button", name="Show all").click()
    until(page, "document.querySelector('#filtered').hidden")
    assert page.problems == []
    explorer.stop()


def test_a_file_has_columns_to_colour_and_filter_by(tab, colored, tmp_path):
    write_page(colored, tmp_path / "a.html")
    tab.goto(f"{(tmp_path / 'a.html').as_uri()}#color=1&filter=1:0")
    until(tab, "globalThis.cladify && cladify.ready && document.querySelector('#filtered:not([hidden])')")
    tone = colored.columns.column("tone").to_pylist()
    assert tab.locator("#filtered").inner_text().startswith(f"{tone.count('red')} of 120 items")
    assert "red" in tab.locator("#legend").inner_text()
    assert tab.problems == []


def test_lasso_report_flows_and_hits(tab, colored):
    explorer = Explorer(open_document(colored, compare=colored), port=0).start()
    page = show(tab, explorer.url)
    stage = page.locator("#stage").bounding_box()
    page.locator("#query").fill("onerror")
    until(page, "cladify.hits() === 1")
    page.keyboard.press("Escape")
    page.locator("#lasso").click()
    page.mouse.move(stage["x"] + 5, stage["y"] + 5)
    page.mouse.down()
    for x, y in ((0.98, 0.01), (0.98, 0.98), (0.01, 0.98)):
        page.mouse.move(stage["x"] + x * stage["width"], stage["y"] + y * stage["height"], steps=4)
    page.mouse.up()
    until(page, "/^1\\d\\d items in the lasso/.test(document.querySelector('#lassoed h2')?.textContent)")
    with page.expect_download() as download:
        page.get_by_role("link", name="As CSV").click()
    assert Path(download.value.path()).read_text().count("\n") > 100
    assert faults(page) == []
    page.get_by_role("button", name="Move to…").click()
    page.locator("#target").fill("violin")
    page.locator("dialog .rows button").first.click()
    until(page, "!document.querySelector('#undo').disabled")
    page.locator("#undo").click()
    page.locator("#tab-report").click()
    page.wait_for_selector("#report table")
    assert faults(page) == []
    page.locator("#compare").click()
    page.locator("#flow").click()
    page.wait_for_selector("dialog svg path")
    assert page.locator("dialog .crosstab tbody tr").count() >= 3
    assert page.locator("dialog img, dialog script").count() == 0 and "owned" not in page.title()
    assert faults(page) == []
    page.keyboard.press("Escape")
    assert page.problems == []
    explorer.stop()


def test_names_of_flows_are_whole_and_inside(tab, colored, tmp_path):
    name = "a long name of a group that was made with much care, and needs three lines"
    colored.save(tmp_path / "a.taxonomy")
    shown, other = (cladify.Taxonomy.load(tmp_path / "a.taxonomy") for _ in range(2))
    for taxonomy in (shown, other):
        for v in {int(v) for level in taxonomy.levels for v in level.nodes}:
            taxonomy.rename(v, f"{name} {v}")
    explorer = Explorer(open_document(shown, compare=other), port=0).start()
    page = show(tab, explorer.url)
    page.locator("#compare").click()
    page.locator("#flow").click()
    page.wait_for_selector("dialog svg path")
    lines = "[...t.children].map((l) => l.textContent).join(' ')"
    texts = page.evaluate(f"[...document.querySelectorAll('.flows text')].map((t) => {lines})")
    assert len(texts) >= 4 and all(re.fullmatch(rf"{name} \d+|in no group|\d+ smaller groups", text) for text in texts)
    inside = (
        "[...document.querySelectorAll('.flows tspan')].every((t) => { const a = t.getBoundingClientRect(), "
        "b = t.closest('svg').getBoundingClientRect(); return a.left >= b.left - 1 && a.right <= b.right + 1; })"
    )
    assert page.evaluate(inside) and page.problems == []
    explorer.stop()


def test_controls_fold_on_a_phone_and_fingers_work(browser, colored):
    explorer = Explorer(open_document(colored), port=0).start()
    context = browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    page = show(watched(context.new_page()), explorer.url)
    assert not page.locator("#slider").is_visible()
    page.locator("#fold").tap()
    assert page.locator("#slider").is_visible() and page.locator("#export").is_visible()
    page.locator("#fold").tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    stage = page.locator("#stage").bounding_box()
    x, y, w, h = page.evaluate("cladify.labels()[0]")
    page.touchscreen.tap(stage["x"] + x + w / 2, stage["y"] + y + h / 2)
    until(page, "document.querySelector('#card h2')?.textContent !== 'all items'")
    assert page.problems == []
    context.close()
    explorer.stop()
