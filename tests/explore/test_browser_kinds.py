"""The page in a real browser for all that can be opened and taken away."""

import json
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

import cladify
from cladify.explore import Explorer, open_document, write_page
from tests.explore.chromium import MARKS, show, until

pytestmark = MARKS


def test_images_and_those_that_are_missing(tab, taxonomy, tmp_path):
    from matplotlib import image

    image.imsave(tmp_path / "a.png", np.random.default_rng(0).random((8, 8)))
    paths = [tmp_path / "a.png"] * (taxonomy.n_items - 1) + [tmp_path / "gone.png"]
    explorer = Explorer(open_document(taxonomy, images=paths), port=0).start()
    page = show(tab, explorer.url)
    page.wait_for_selector("#card .thumbs img")
    until(
        page,
        "[...document.querySelectorAll('#card .thumbs img')].every((shown) => shown.naturalWidth === 8)",
    )
    page.goto(f"{explorer.url}#node={taxonomy.n_items - 1}")
    until(page, f"document.querySelector('#card h2')?.textContent === {json.dumps(taxonomy.items[-1])}")
    page.wait_for_selector("#card .thumbs .note")  # the text in place of the picture
    explorer.stop()


def test_overlap_shows_what_else_an_item_is_in(tab):
    dag = cladify.ClusterDag([0, 1, 3, 4, 5, 6, 6], [3, 3, 4, 4, 5, 5])
    explorer = Explorer(open_document(dag, items=["collie", "shepherd", "farmer"]), port=0).start()
    page = show(tab, explorer.url)
    page.locator("#query").fill("shepherd")
    page.wait_for_selector("#found li")
    page.keyboard.press("Enter")
    page.wait_for_selector("#card h3:has-text('Also in')")
    assert "collie" in page.locator("#card .rows").first.inner_text()
    explorer.stop()


def test_a_frame_in_a_notebook(tab, document, tmp_path):
    import http.server
    import threading

    explorer = Explorer(document, port=0, frame=True).start()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title>{explorer._repr_html_()}")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    notebook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: Quiet(*given, directory=str(tmp_path)))
    threading.Thread(target=notebook.serve_forever, daemon=True).start()
    tab.goto(f"http://localhost:{notebook.server_port}/notebook.html")
    tab.frame_locator("iframe").locator("#card h2").wait_for(timeout=15_000)
    notebook.shutdown()
    notebook.server_close()
    explorer.stop()


def test_server_that_stops_is_said_and_found_again(tab, document):
    explorer = Explorer(document, port=0).start()
    page = show(tab, explorer.url)
    explorer.stop()
    page.locator("#query").fill("moon")
    page.wait_for_selector("#offline:not([hidden])")
    again = Explorer(document, port=explorer.port).start()
    assert again.port == explorer.port
    page.wait_for_selector("#offline", state="hidden")
    again.stop()


def test_page_in_one_file(tab, document, tmp_path):
    file = tmp_path / "things.html"
    write_page(document, file)
    assert file.stat().st_size < 5_000_000
    requests = []
    page = tab

    def heard(request):
        requests.append(request.url)

    page.on("request", heard)
    page.goto(file.as_uri())
    until(page, "globalThis.cladify && cladify.ready")
    page.locator("#query").fill("violin")
    page.wait_for_selector("#found li")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#card h2')?.textContent !== 'all items'")
    assert page.title() == "things — cladify"
    for view in ("Tree", "Disk", "Map"):
        page.get_by_role("button", name=view, exact=True).click()
    page.locator("#query").fill("onerror")
    page.wait_for_selector("#found li")
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert "owned" not in page.title()
    assert page.locator("#card img").count() == 0
    assert requests == [file.as_uri()]
    page.remove_listener("request", heard)


def test_a_tree_in_a_folder_opens_a_group_and_leads_back(tab, tree_folder):
    explorer = Explorer(open_document(tree_folder.folder), port=0).start()
    page = show(tab, f"{explorer.url}#node=1")
    page.get_by_role("button", name="Open this group").click()
    page.wait_for_url("**/below/1/")
    until(page, "globalThis.cladify && cladify.ready")
    assert page.locator("#title").inner_text() == "big, group 1"
    assert page.locator("#card .facts").first.inner_text().startswith(f"{tree_folder.size[1]} items")
    page.get_by_role("button", name="Rename").click()  # the token came along
    page.locator("#new-name").fill("second")
    page.locator("#dialog button[type=submit]").click()
    until(page, "document.querySelector('#card h2')?.textContent === 'second'")
    page.get_by_role("button", name="The whole tree").click()
    until(page, "globalThis.cladify && cladify.ready && document.querySelector('#title').textContent === 'big'")
    explorer.stop()


def test_an_item_among_very_many(tab):
    n = 1000
    explorer = Explorer(
        open_document(cladify.Tree([n] * n + [-1]), items=[f"item x{i}x" for i in range(n)]), port=0
    ).start()
    tab.goto(explorer.url)
    until(tab, "globalThis.cladify && cladify.ready")
    tab.locator("#query").fill("x987x")
    tab.wait_for_selector("#found li")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelector('#card h2')?.textContent === 'item x987x'")
    assert tab.problems == []
    explorer.stop()


def test_export_and_compare(page):
    page.locator("#export").click()
    with page.expect_download() as download:
        page.get_by_text("Labels of this cut, CSV").click()
    assert Path(download.value.path()).read_text().startswith('"row","item","label","name"')
    page.keyboard.press("Escape")
    page.locator("#compare").click()
    page.wait_for_selector("dialog table")
    assert "adjusted Rand" in page.locator("dialog").inner_text()


def test_pictures_as_svg_and_png(page):
    for view in ("Tree", "Map", "Disk"):
        page.get_by_role("button", name=view, exact=True).click()
        page.wait_for_timeout(300)
        page.locator("#export").click()
        with page.expect_download() as download:
            page.get_by_text("This picture, SVG").click()
        assert download.value.suggested_filename == f"things-{view.lower()}.svg"
        drawn = xml.etree.ElementTree.fromstring(Path(download.value.path()).read_text())
        assert len(list(drawn)) > 20
        assert not [part for part in drawn.iter() if part.tag.endswith("script")]
        page.keyboard.press("Escape")
    page.locator("#export").click()
    with page.expect_download() as download:
        page.get_by_text("This picture, PNG").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
