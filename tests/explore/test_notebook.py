"""The page as a widget: what it sends, what is shown without scripts, and in the frame of a browser."""

import builtins
import json
import re
import sys

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

import cladify
from cladify.errors import InvalidInput, MissingExtra
from cladify.explore import widget
from tests.explore.chromium import CHROMIUM, FLAGS, until


@pytest.fixture(scope="module")
def taxonomy():
    y = np.repeat(np.arange(3), 20)
    X = 9 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3))
    return cladify.Taxonomy.fit(X, [f"kind{g} </script>" for g in y])


def test_the_widget_holds_the_page_and_a_still_picture(taxonomy):
    pytest.importorskip("anywidget")
    made = taxonomy.widget(height=500)
    assert made.height == 500 and made.page.startswith("<!doctype html>") and "Content-Security-Policy" in made.page
    bundle = made._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert shown["text/html"] == taxonomy._repr_html_()
    script = str(made._esm)
    assert 'setAttribute("sandbox", "allow-scripts allow-downloads")' in script  # no rights of the notebook's page
    with pytest.raises(InvalidInput, match="height"):
        widget(taxonomy, height=3)


def test_without_anywidget_the_message_has_the_install_line(taxonomy, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "anywidget":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "cladify.explore._widget", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'cladify[notebook]'")):
        taxonomy.widget()


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine; install the package chromium")
@pytest.mark.nightly
def test_the_page_runs_in_the_frame_of_the_widget(taxonomy, tmp_path):
    pytest.importorskip("anywidget")
    made = taxonomy.widget()
    page = json.dumps(made.page).replace("<", "\\u003c")
    model = f"{{ get: (key) => key === 'page' ? {page} : 640, on() {{}} }}"
    call = f"widget.render({{ model: {model}, el: document.body }});"
    script = str(made._esm).replace("export default", "const widget =") + call
    file = tmp_path / "a.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body><script type=module>{script}</script>")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page()
        opened.goto(file.as_uri())
        frame = opened.wait_for_selector("iframe[title=cladify]").content_frame()
        until(frame, "globalThis.cladify && cladify.ready && !!document.querySelector('#card h2')", 60)
        frame.evaluate("document.querySelector('#legend button').click()")
        until(frame, "document.querySelector('#card h2').textContent.startsWith('kind')", 60)
        assert not frame.evaluate("document.body.innerText.includes('Failed to execute')")
        browser.close()
