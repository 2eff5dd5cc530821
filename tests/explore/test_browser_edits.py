"""Edits in a real browser, also by several pages."""

import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

import cladify
from cladify.explore import Explorer, open_document
from tests.explore.chromium import MARKS, enter, heading, settled, show, until, watched

pytestmark = MARKS


def test_edit_undo_redo(page, document):
    enter(page)
    page.get_by_role("button", name="Rename").click()
    page.locator("#new-name").fill("my own <i>name</i>")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#card h2')?.textContent === 'my own <i>name</i>'")
    assert len(document.taxonomy.edits) == 1
    page.locator("#undo").click()
    until(page, "document.querySelector('#card h2')?.textContent !== 'my own <i>name</i>'")
    page.locator("#redo").click()
    until(page, "document.querySelector('#card h2')?.textContent === 'my own <i>name</i>'")


def test_two_tabs_ask_and_lose_nothing(browser, explorer, document):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    addresses = (explorer.url, explorer.url.split("?")[0])
    first, second = (show(watched(context.new_page()), url) for url in addresses)
    assert "code=" not in first.url and explorer.token not in first.url
    for page, name in ((first, "named in A"), (second, "named in B")):
        page.get_by_role("button", name="Rename").click()  # both dialogs are open before the first edit is done
        page.locator("#new-name").fill(name)
    first.locator("#dialog button[type=submit]").click()
    until(first, "document.querySelector('#card h2')?.textContent === 'named in A'")
    second.locator("#dialog button[type=submit]").click()
    second.wait_for_selector("#redo-edit")
    assert "Rename “all items” to “named in B”" in second.locator("#dialog").inner_text()
    until(second, "document.querySelector('#card h2')?.textContent === 'named in A'")  # what the other tab did
    second.locator("#redo-edit").click()
    until(second, "document.querySelector('#card h2')?.textContent === 'named in B'")
    assert [step.name for step in document.taxonomy.edits] == ["named in A", "named in B"]
    until(first, "document.querySelector('#card h2')?.textContent === 'named in B'")  # noticed without an edit
    assert "has changed this taxonomy" in first.locator("#tip").inner_text()
    context.close()


def test_an_address_that_was_used_only_reads(browser, tab, explorer):
    url = explorer.url
    show(tab, url)
    page = show(watched(browser.new_page()), url)  # another profile, without the cookie
    assert page.get_by_role("button", name="Rename").count() == 0
    assert "was used before" in page.locator("#tip").inner_text()
    page.close()


def test_a_file_that_is_replaced_is_said(tab, tmp_path, taxonomy, texts):
    taxonomy.save(tmp_path / "a.taxonomy")
    explorer = Explorer(open_document(tmp_path / "a.taxonomy"), port=0).start()
    page = show(tab, explorer.url)
    cladify.Taxonomy.from_texts([text for text in texts if "violin" not in text], min_size=4).save(
        tmp_path / "a.taxonomy"
    )
    until(page, "document.querySelector('#tip')?.textContent.includes('replaced')")
    until(page, "document.querySelector('#card .facts')?.textContent.startsWith('90 items')")
    explorer.stop()


def test_merge_move_collapse_hide_and_undo(page, document):
    def kinds():
        return [edit.kind for edit in document.taxonomy.edits.done]

    def after(kind, *, undo=True):
        deadline = time.monotonic() + 10
        while kinds() != [kind]:
            assert time.monotonic() < deadline, kinds()
            page.wait_for_timeout(30)
        settled(page)
        if undo:
            page.wait_for_selector("#undo:not([disabled])")
            page.locator("#undo").click()
            page.wait_for_selector("#undo[disabled]", state="attached")
            settled(page)

    enter(page)
    page.get_by_role("button", name="Hide", exact=True).click()
    after("hide", undo=False)
    page.locator("#unhide").click()  # shown again by hand
    page.locator("dialog .rows button").click()
    page.wait_for_selector("#unhide", state="hidden")
    settled(page)
    for _ in range(2):
        page.wait_for_selector("#undo:not([disabled])")
        count = len(kinds())
        page.locator("#undo").click()
        while len(kinds()) == count:
            page.wait_for_timeout(30)
        settled(page)
    page.wait_for_selector("#undo[disabled]", state="attached")
    enter(page)
    page.get_by_role("button", name="Collapse", exact=True).click()
    after("collapse")
    page.get_by_role("button", name="Merge with…").click()
    page.locator("dialog .rows button").first.click()
    after("merge")
    enter(page)
    page.get_by_role("button", name="Move to…").click()
    page.locator("#target").fill("violin" if "violin" not in heading(page) else "planet")
    page.locator("dialog .rows button").first.click()
    after("move", undo=False)
    page.wait_for_selector("#undo:not([disabled])")
    page.keyboard.press("Escape")
    page.locator("#canvas").focus()
    page.keyboard.press("Control+z")
    page.wait_for_selector("#undo[disabled]", state="attached")
    assert kinds() == []
    # Items of a cluster that was undone meanwhile may have been on their way; the page itself takes that.
    page.problems[:] = [problem for problem in page.problems if "status of 400" not in problem]
