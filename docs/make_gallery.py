"""Makes the pictures of the gallery: ``python docs/make_gallery.py`` runs its own lines, ``... maps`` draws ten sets.

The maps need the data sets (``CLADIFY_DATA``, or ``../shared/datasets``), Chromium, and ``datamapplot`` from PyPI, that
draws the same coordinates, groups and names beside the page of the explorer.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

HERE = Path(__file__).resolve().parent
GROUPS = 12  # the page begins with the level nearest to it


def page(browser: Any, name: str, taxonomy: Any, *, dark: bool) -> None:
    """The first picture of the explorer."""
    from cladify.explore import Explorer, open_document

    with tempfile.TemporaryDirectory() as folder:
        taxonomy.save(Path(folder) / f"{name}.taxonomy")
        explorer = Explorer(open_document(Path(folder) / f"{name}.taxonomy"), port=0).start()
        opened = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="dark" if dark else "light")
        opened.goto(explorer.url)
        while not opened.evaluate("globalThis.cladify && cladify.ready && cladify.boxes() > 2"):
            opened.wait_for_timeout(50)
        opened.wait_for_timeout(900)
        opened.screenshot(path=HERE / "gallery" / f"{name}-cladify.jpg", type="jpeg", quality=68)
        opened.close()
        explorer.stop()


def map_plot(name: str, taxonomy: Any, *, dark: bool) -> None:
    """The same by datamapplot."""
    import datamapplot

    level = min(taxonomy.levels, key=lambda level: abs(np.log(level.n_clusters / GROUPS)))
    labels = np.full(taxonomy.n_items, "Unlabelled", dtype=object)
    for v in level.nodes:
        labels[taxonomy.tree.members(v)] = taxonomy.names[v]
    places = taxonomy.points * np.array([1, -1])  # ours goes downwards
    figure, _ = datamapplot.create_plot(
        places, labels, darkmode=dark, figsize=(12, 7.5), use_medoids=True, font_family="DejaVu Sans"
    )
    figure.savefig(
        HERE / "gallery" / f"{name}-datamapplot.jpg",
        dpi=72,
        pil_kwargs={"quality": 72},
        facecolor=figure.get_facecolor(),
    )
    pyplot.close("all")


def maps(wanted: list[str]) -> None:
    """Both pictures of each set."""
    sys.path.insert(0, str(HERE.parent))
    from playwright.sync_api import sync_playwright

    from benchmarks.ten import SETS, taxonomies

    (HERE / "gallery").mkdir(exist_ok=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for name, taxonomy in taxonomies(wanted):
            dark = [each.split("_")[0] for each in SETS].index(name) % 4 == 1
            page(browser, name, taxonomy, dark=dark)
            map_plot(name, taxonomy, dark=dark)
            print(name, flush=True)
        browser.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["maps"]:
        maps(sys.argv[2:])
    else:
        code = re.findall(r"^```python\n(.*?)^```$", (HERE / "gallery.md").read_text(), flags=re.MULTILINE | re.DOTALL)
        os.chdir(HERE / "pictures")
        exec("\n".join(code), {})
