"""``cladify compare``, ``plot``, ``export`` and the door of ``explore``."""

import json
from pathlib import Path

import numpy as np
import pytest

import cladify as package
from cladify.cli._contest import contest


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)) + 6 * np.repeat(np.eye(5)[:3], 40, axis=0)
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    (tmp_path / "y.txt").write_text("".join(f"c{i // 40}\n" for i in range(120)))
    (tmp_path / "names.txt").write_text("".join(f"item $x_{i}$ é\n" for i in range(120)))
    package.fit(X, "hac").save(tmp_path / "x.tree")
    return tmp_path


def test_compare_has_every_figure_and_says_what_it_left_out(cladify, rows: Path) -> None:
    given = ["-m", "kmeans", "-m", "llama", "--labels", rows / "y.txt", "--chart", rows / "c.png", "--json"]
    done = cladify("compare", rows / "x.npy", *given)
    assert done.code == 0, done.err
    assert "llama: left out. llama gives clusters that overlap" in done.err
    assert json.loads(done.out)["chart"] == str(rows / "c.png")
    for figure in ("dendrogram purity", "ARI", "largest of 30", "seconds", "MB"):
        assert figure in done.out
    assert (rows / "c.png").stat().st_size > 5000


def test_compare_draws_in_the_terminal(cladify, rows: Path) -> None:
    done = cladify("compare", rows / "x.npy", "-m", "kmeans", "--metric", "sqeuclidean")
    assert done.code == 0, done.err
    assert "█" in done.out
    assert "kmeans ...\nkmeans: " in done.err


def test_compare_without_any_tree(cladify, rows: Path) -> None:
    done = cladify("compare", rows / "x.npy", "-m", "llama", "-q")
    assert done.code == 1
    assert done.err.splitlines()[-1].endswith("No method gave a tree; the lines above say why.")


def test_the_clock_counts_the_method_alone(rows: Path) -> None:
    request = {"method": "kmeans", "file": str(rows / "x.npy"), "column": None, "out": str(rows / "out.tree")}
    found = contest({**request, "options": {"metric": "sqeuclidean", "random_state": 0, "n_jobs": 1}})
    assert 0 < found["seconds"] < 5
    assert found["bytes"] >= 0
    assert package.Tree.load(rows / "out.tree").n_leaves == 120
    wrong = contest({**request, "options": {"metric": "nonsense"}})
    assert "nonsense" in wrong["error"] and "\n" not in wrong["error"]


@pytest.mark.parametrize("kind", ["dendrogram", "icicle", "sizes", "disk", "heatmap"])
def test_plot(cladify, rows: Path, kind: str) -> None:
    out = rows / f"{kind}.svg"
    given = ["--vectors", rows / "x.npy"] if kind == "heatmap" else []
    done = cladify("plot", rows / "x.tree", "--kind", kind, "--items", rows / "names.txt", "--out", out, *given)
    assert done.code == 0, done.err
    assert out.read_text().startswith("<?xml")


def test_plot_of_a_taxonomy(cladify, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = np.repeat(6 * np.eye(4), 12, axis=0) + random.normal(size=(48, 4))
    package.Taxonomy.fit(X, [f"kind{i // 12} item{i}" for i in range(48)], min_size=5).save(tmp_path / "x.taxonomy")
    for given, start in (([], b"\x89PNG"), (["--kind", "tree", "--dark", "--title", "T $x"], b"%PDF")):
        out = tmp_path / f"picture{'.pdf' if given else '.png'}"
        done = cladify("plot", tmp_path / "x.taxonomy", "--out", out, *given)
        assert done.code == 0, done.err
        assert done.out.endswith(f"{'tree' if given else 'map'} of 48 items\n") and out.read_bytes().startswith(start)


def test_a_map_needs_a_taxonomy(cladify, rows: Path) -> None:
    done = cladify("plot", rows / "x.tree", "--kind", "map", "--out", rows / "h.png")
    assert done.code == 2
    assert ".taxonomy" in done.err


def test_a_heat_map_needs_its_rows(cladify, rows: Path) -> None:
    done = cladify("plot", rows / "x.tree", "--kind", "heatmap", "--out", rows / "h.png")
    assert done.code == 2
    assert "--vectors" in done.err


def test_export_html(cladify, rows: Path) -> None:
    done = cladify(
        "export", rows / "x.tree", "--items", rows / "names.txt", "--html", rows / "x.html", "--title", "T <b>"
    )
    assert done.code == 0, done.err
    page = (rows / "x.html").read_text()
    assert "item $x_0$ é" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--items", "y_short.txt"], "items"),
        (["--points", "x.npy"], r"shape (n, 2)"),
        (["--vectors", "short.npy"], "vectors must have one entry a leaf"),
        (["--compare", "other.tree"], "compare trees of the same items"),
        (["--images", "empty.npy"], "is no array of pictures"),
        (["--port", "70000"], "port must be in"),
        (["--save", "x.taxonomy", "--port", "70000"], "port must be in"),
    ],
)
def test_explore_refuses_what_does_not_fit(cladify, rows: Path, given, message) -> None:
    (rows / "y_short.txt").write_text("a\nb\n")
    np.save(rows / "short.npy", np.zeros((3, 2)))
    package.Tree([2, 2, -1]).save(rows / "other.tree")
    (rows / "empty.npy").write_bytes(b"")
    values = [rows / word if Path(word).suffix else word for word in given]
    done = cladify("explore", rows / "x.tree", "--no-browser", *values)
    assert done.code == 1
    assert message in done.err and len(done.err.strip().splitlines()) == 1
