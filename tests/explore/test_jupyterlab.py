"""The widget in a real JupyterLab, and what a saved notebook shows where no script runs."""

import base64
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("anywidget")
pytest.importorskip("jupyterlab", reason="the test in JupyterLab needs it: pip install jupyterlab")

from playwright.sync_api import sync_playwright

from tests.explore.chromium import CHROMIUM, FLAGS, until

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine; install the package chromium"),
    pytest.mark.nightly,
]
SECONDS = 240  # a kernel and its imports, on a busy machine
CODE = """
import numpy as np, cladify
y = np.repeat(np.arange(3), 20)
X = 9 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3))
taxonomy = cladify.Taxonomy.fit(X, [f"kind{g} </script>" for g in y])
taxonomy.widget(height=500)
"""


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab of its own, with one notebook of two cells."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": name,
            "metadata": {},
            "outputs": [],
            "source": code.strip(),
        }
        for name, code in (("one", CODE), ("two", "taxonomy"))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    own = {f"JUPYTER_{what}_DIR": str(tmp_path / what.lower()) for what in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **own, "IPYTHONDIR": str(tmp_path / "ipython"), "HOME": str(tmp_path)}
    options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token=here", "--allow-root"]
    options += [f"--ServerApp.root_dir={tmp_path}", "--LabApp.news_url=", "--LabApp.extension_manager=readonly"]
    with (tmp_path / "log.txt").open("w") as log:
        command = [sys.executable, "-m", "jupyterlab", *options]
        server = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log)
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/status?token=here", server)
            yield f"http://127.0.0.1:{port}/lab/tree/a.ipynb?token=here"
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(address, server):
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return urllib.request.urlopen(address).read()
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, "JupyterLab did not start"
            time.sleep(0.3)


def test_the_widget_in_jupyterlab_and_without_scripts(lab, tmp_path):
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(lab)
        _run(page, 0)
        page.wait_for_selector("iframe[title=cladify]", timeout=1000 * SECONDS, state="attached")
        page.locator("iframe[title=cladify]").scroll_into_view_if_needed()
        frame = page.locator("iframe[title=cladify]").element_handle().content_frame()
        until(frame, "globalThis.cladify && cladify.ready && !!document.querySelector('#card h2')", SECONDS)
        assert not frame.evaluate("document.body.innerText.includes('Failed to execute')")
        frame.evaluate("document.querySelector('#card .rows button, #legend button').click()")
        until(frame, "document.querySelector('#card h2').textContent.startsWith('kind')", SECONDS)
        assert page.locator("iframe[title=cladify]").evaluate("frame => frame.clientHeight") == 500
        _run(page, 1)
        page.wait_for_selector(".jp-OutputArea img[alt='map of 60 items']", timeout=1000 * SECONDS)
        page.screenshot(path=str(tmp_path / "lab.png"))
        page.keyboard.press("Control+s")
        outputs = _saved(tmp_path / "a.ipynb")
        still = "".join(outputs[0]["text/html"])
        assert "application/vnd.jupyter.widget-view+json" in outputs[0]
        assert "<script" not in still and still == "".join(outputs[1]["text/html"])
        (tmp_path / "still.html").write_text(f"<!doctype html><meta charset=utf-8>{still}")
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto((tmp_path / "still.html").as_uri())
        assert plain.locator("img[alt='map of 60 items']").bounding_box()["width"] == 512
        assert "kind0" in plain.locator("pre").inner_text()
        picture = re.search(r'base64,([^"]+)"', still)
        assert base64.b64decode(picture[1]).startswith(b"\x89PNG")
        browser.close()


def _run(page, cell):
    """Run a cell once the kernel is idle; what is run before is lost, and so is a click while the page is built."""
    prompt = page.locator(".jp-Notebook .jp-InputArea-prompt").nth(cell)
    deadline = time.monotonic() + SECONDS
    while True:
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=1000 * SECONDS)
        page.get_by_text("| Idle").first.wait_for(timeout=1000 * SECONDS)
        page.locator(".jp-Notebook .jp-Cell .cm-content").nth(cell).click()
        page.keyboard.press("Shift+Enter")
        for _ in range(20):
            if prompt.inner_text().strip("[]: "):  # "*" while it runs, then its number
                return
            page.wait_for_timeout(250)
        assert time.monotonic() < deadline, "the cell was not run"


def _saved(file):
    """The outputs of the cells, once the notebook has been written."""
    deadline = time.monotonic() + SECONDS
    while True:
        cells = json.loads(file.read_text())["cells"]
        found = [output["data"] for cell in cells for output in cell["outputs"] if "data" in output]
        if len(found) == 2:
            return found
        assert time.monotonic() < deadline, "the notebook was not saved"
        time.sleep(0.3)
