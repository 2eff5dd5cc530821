"""``cladify fit`` and ``cladify methods``."""

from pathlib import Path

import numpy as np
import pytest

import cladify as package
from cladify.io import read_labels, read_tree

# Every command line here needs an estimator; without its module there is nothing to fit.
pytest.importorskip("cladify.agglomerate")


def test_fit(cladify, points: np.ndarray, tmp_path: Path) -> None:
    done = cladify("fit", "x.npy", "--items", "names.txt", "--method", "hac", "--branches", 2)
    assert done.code == 0 and done.err == ""
    assert "x.npy: 6 vectors of 2 dimensions" in done.out and "hac (average" in done.out
    assert "ant" in done.out and "fox" in done.out and "tree: x.tree" in done.out
    tree = read_tree(tmp_path / "x.tree")
    assert tree == package.fit(points, "hac")
    assert tree.cut(n_clusters=2).tolist() == [0, 0, 0, 1, 1, 1]


def test_fit_is_quiet_or_speaks_json(cladify, points: np.ndarray) -> None:
    done = cladify("fit", "x.npy", "-m", "hac", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    data = cladify("fit", "x.npy", "-m", "hac", "--json", "-k", 2, "--labels-out", "y.npy").json
    assert data["vectors"] == {"file": "x.npy", "rows": 6, "dimensions": 2}
    assert data["tree"]["file"] == "x.tree" and data["tree"]["n_leaves"] == 6
    assert data["clusters"] == {"file": "y.npy", "count": 2}
    assert data["info"]["method"] == "hac" and data["seconds"]["fit"] > 0 and data["peak_bytes"] > 0


def test_fit_for_an_objective(cladify, points: np.ndarray) -> None:
    done = cladify("fit", "x.npy", "--objective", "ckmm", "--budget", 5)
    assert done.code == 0 and "why ckmm: hac + refine" in done.out
    refused = cladify("fit", "x.npy", "-m", "hac", "--objective", "ckmm")
    assert refused.code == 1 and "needs method='auto'" in refused.err


def test_parameters_reach_the_estimator(cladify, points: np.ndarray, tmp_path: Path) -> None:
    assert cladify("fit", "x.npy", "-m", "hac", "--linkage", "ward", "-p", "metric=euclidean", "-o", "w.npy").code == 0
    linkage = np.load(tmp_path / "w.npy")
    np.testing.assert_allclose(linkage, package.HAC(linkage="ward", metric="euclidean").fit(points).tree_.to_linkage())


@pytest.mark.parametrize("linkage", ["single", "complete", "weighted", "median"])
def test_every_linkage(cladify, points: np.ndarray, tmp_path: Path, linkage: str) -> None:
    assert cladify("fit", "x.npy", "-m", "hac", "--linkage", linkage, "--metric", "euclidean").code == 0
    assert read_tree(tmp_path / "x.tree") == package.HAC(linkage=linkage, metric="euclidean").fit(points).tree_


@pytest.mark.parametrize("ending", ["tree", "nwk", "json", "npy"])
def test_formats_of_the_tree(cladify, points: np.ndarray, tmp_path: Path, ending: str) -> None:
    assert cladify("fit", "x.npy", "-m", "hac", "--out", f"t.{ending}").code == 0
    assert read_tree(tmp_path / f"t.{ending}") == package.fit(points, "hac")


def test_labels(cladify, points: np.ndarray, tmp_path: Path) -> None:
    done = cladify("fit", "x.npy", "-m", "hac", "-k", 2, "--labels-out", "y.csv", "--items", "names.txt")
    assert "labels: y.csv, 2 clusters" in done.out
    assert read_labels(tmp_path / "y.csv").tolist() == [0, 0, 0, 1, 1, 1]
    assert cladify("fit", "x.npy", "-m", "hac", "--height", 1e9, "--labels-out", "z.txt", "-q").code == 0
    assert read_labels(tmp_path / "z.txt").tolist() == [0] * 6


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fit y.npy", "y.npy does not exist. Did you mean x.npy?"),
        ("fit x.npy --items few.txt", "there are 2 items in few.txt for 6 vectors in x.npy"),
        ("fit x.npy --method hax", "method 'hax' is not known. Did you mean 'hac'?"),
        ("fit x.npy --method hac --linkage wrad", "linkage 'wrad' is not known. Did you mean 'ward'?"),
        ("fit x.npy --method hac --param foo=1", "has no parameter 'foo'"),
        ("fit x.npy --method hac -k 7", "n_clusters must be an int in [1, 6] for 6 leaves, got 7"),
        ("fit nan.npy --method hac", "NaN in 1 row (first: 2)"),
        ("fit zero.npy --method hac --metric cosine", "zero row"),
        ("fit line.npy", "expected (rows, dimensions)"),
        ("fit x.npy --out no/t.tree", "does not exist; create it first"),
        ("fit x.npy --out t.pkl", "the ending says the format"),
        ("fit x.npy -k 2 --labels-out no/y.csv", "does not exist; create it first"),
    ],
)
def test_errors_are_one_line_and_destroy_nothing(
    cladify, points: np.ndarray, tmp_path: Path, command: str, message: str
) -> None:
    (tmp_path / "few.txt").write_text("a\nb\n")
    np.save(tmp_path / "nan.npy", np.where(np.arange(12).reshape(6, 2) == 5, np.nan, points))
    np.save(tmp_path / "zero.npy", points * (np.arange(6) != 3)[:, None])
    np.save(tmp_path / "line.npy", points[:, 0])
    (tmp_path / "x.tree").write_text("precious")
    done = cladify(*command.split())
    assert done.code == 1 and done.out == ""
    assert done.err.startswith("cladify: error: ") and done.err.count("\n") == 1
    assert message in done.err
    assert (tmp_path / "x.tree").read_text() == "precious"


def test_methods(cladify) -> None:
    from cladify.methods import METHODS

    done = cladify("methods")
    assert done.code == 0 and all(name in done.out for name in METHODS)
    assert "]_" not in done.out and "``" not in done.out
    assert "linkage = " in cladify("methods", "hac").out
    assert cladify("methods", "--json").json["hac"]["estimator"] == "HAC"
    done = cladify("methods", "hacc")
    assert done.code == 1 and "Did you mean 'hac'?" in done.err


def test_fit_in_an_embedding(cladify, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 6))
    X[:20] += 5
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    line = "fit x.npy -m hac -p linkage=ward --embed pca --embed-param n_components=2 --embed-out z.npy --json -k 2"
    done = cladify(*line.split())
    assert done.code == 0
    Z = np.load(tmp_path / "z.npy")
    assert Z.shape == (40, 2) and Z.dtype == np.float32
    assert read_tree(tmp_path / "x.tree") == package.fit(Z, "hac", linkage="ward")
    assert done.json["info"]["embedding"] == {"name": "pca", "n_components": 2}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--embed word2vec", "embed 'word2vec' is not known. Known: pca, vae, vade"),
        ("--embed pca --embed-param n_latent=2", "pca has no parameter 'n_latent'; it has n_components"),
        ("--embed pca --embed-param s=2", "pca has no parameter 's'; it has n_components"),
        ("--embed pca --embed-param name=2", "pca has no parameter 'name'; it has n_components"),
        ("--embed pca --embed-param random_state=x", "random_state' parameter of PCA must be an int"),
        ("--embed pca --embed-param n_components=90", "pca: n_components=90 must be between"),
        ("--embed-out z.npy", "belong to --embed"),
        ("--embed pca --embed-out z.csv", "--embed-out writes .npy files"),
        ("--embed pca --embed-out x.npy", "would be overwritten"),
    ],
)
def test_bad_embeddings(cladify, points: np.ndarray, line: str, message: str) -> None:
    done = cladify("fit", "x.npy", *line.split())
    assert done.code in (1, 2) and message in done.err


def test_fit_in_a_trained_embedding(cladify, points: np.ndarray, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    small = [
        "--embed-param",
        "n_jobs=1",
        "--embed-param",
        "hidden=small",
        "--embed-param",
        "n_epochs=2",
        "--embed-param",
        "n_latent=2",
    ]
    assert cladify("fit", "x.npy", "--embed", "vae", *small, "--embed-out", "z.npy").code == 0
    assert np.load(tmp_path / "z.npy").shape == (6, 2)
    small += ["--embed-param", "n_components=2", "--embed-param", "n_pretrain=2", "--embed-param", "s=0"]
    assert cladify("fit", "x.npy", "--embed", "vade", *small, "--quiet").code == 0
