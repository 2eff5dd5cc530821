"""Makes the pictures of the gallery: ``python docs/make_gallery.py`` runs its own lines, ``... maps`` draws ten sets.

The maps need the data sets (``CLADIFY_DATA``, or ``../shared/datasets``) and ``datamapplot`` from PyPI, which draws the
same coordinates and the same groups beside ours.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

HERE = Path(__file__).resolve().parent
ROWS = 4000
SETS = (
    "debian_minilm",
    "wordnet_minilm",
    "newsgroups20_minilm",
    "glove100",
    "mnist",
    "aloi",
    "optdigits",
    "letter",
    "satimage",
)


def items_of(data: dict[str, np.ndarray], rows: np.ndarray) -> list[str]:
    if "names" in data:
        return [str(name) for name in data["names"][rows]]
    y = data["y"][rows]
    return [str(data["class_names"][label]) if "class_names" in data else f"class {label}" for label in y]


def draw(name: str, X: np.ndarray, items: list[str], *, dark: bool) -> None:
    import datamapplot

    import cladify

    taxonomy: Any = cladify.Taxonomy.fit(X, items, metric="cosine")
    axes = taxonomy.plot("map", dark=dark)
    save(axes.figure, f"{name}-cladify")
    level = min(taxonomy.levels, key=lambda level: abs(np.log(level.n_clusters / 14)))
    labels = np.full(len(items), "Unlabelled", dtype=object)
    for v in level.nodes:
        labels[taxonomy.tree.members(v)] = taxonomy.names[v]
    flipped = taxonomy.points * np.array([1, -1])  # ours goes downwards
    figure, _ = datamapplot.create_plot(flipped, labels, darkmode=dark, figsize=(10, 7.5), use_medoids=True)
    save(figure, f"{name}-datamapplot")
    pyplot.close("all")
    print(name, flush=True)


def save(figure: Any, name: str) -> None:
    figure.savefig(
        HERE / "gallery" / f"{name}.jpg", dpi=72, pil_kwargs={"quality": 80}, facecolor=figure.get_facecolor()
    )


def maps(wanted: list[str]) -> None:
    sys.path.insert(0, str(HERE.parent))
    from benchmarks.data import real
    from cladify.datasets import load_docstrings

    (HERE / "gallery").mkdir(exist_ok=True)
    for place, name in enumerate(SETS):
        if wanted and name not in wanted:
            continue
        data = real(name)
        rows = np.random.default_rng(0).permutation(len(data["X"]))[:ROWS]
        draw(name.split("_")[0], data["X"][rows].astype(np.float32), items_of(data, rows), dark=place % 4 == 1)
    if not wanted or "docstrings" in wanted:
        corpus = load_docstrings()
        draw("docstrings", corpus.X, list(corpus.names), dark=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["maps"]:
        maps(sys.argv[2:])
    else:
        code = re.findall(r"^```python\n(.*?)^```$", (HERE / "gallery.md").read_text(), flags=re.MULTILINE | re.DOTALL)
        os.chdir(HERE / "pictures")
        exec("\n".join(code), {})
