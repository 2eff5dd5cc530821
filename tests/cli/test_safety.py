"""No command writes over what it reads, and nothing in a file commands the terminal or a spreadsheet."""

import os
import subprocess
import sys

import numpy as np
import pytest

import cladify as package

X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.fixture
def files(cladify, tmp_path):
    np.save("x.npy", X)
    (tmp_path / "names.txt").write_text("".join(f"name {i}\n" for i in range(12)))
    assert cladify("fit", "x.npy", "--quiet").code == 0
    os.link("x.npy", "link.npy")
    os.symlink("x.tree", "also.tree")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "fit x.npy --out x.npy",
        "fit x.npy --out link.npy",
        "fit x.npy -k 2 --labels-out x.npy",
        "fit x.npy --items names.txt -k 2 --labels-out names.txt",
        "refine x.tree x.npy --out x.tree",
        "refine x.tree x.npy --out also.tree",
        "refine x.tree x.npy --out x.npy",
        "cut x.tree x.npy --dp-means 1 --out x.npy",
        "cut x.tree -k 2 --items names.txt --out names.txt",
        "convert x.tree x.tree",
        "convert x.tree also.tree",
    ],
)
def test_no_command_writes_over_its_input(cladify, files, line):
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    done = cladify(*line.split())
    assert done.code == 1 and "is read by this command and would be overwritten" in done.err
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_two_results_need_two_names(cladify, files):
    done = cladify("fit", "x.npy", "-k", 2, "--out", "a.npy", "--labels-out", "./a.npy")
    assert done.code == 2 and "name the same file" in done.err


def test_control_characters_are_shown_and_not_obeyed(cladify, files):
    evil = "\x1b]0;owned\x07\x1b[2Jx\u202eтxt\x9b31m"
    (files / "evil.txt").write_text("".join(f"{evil}{i}\n" for i in range(12)), encoding="utf-8")
    for line in (
        "fit x.npy --items evil.txt --out e.tree",
        "info x.tree --items evil.txt",
        "cut x.tree -k 2 --items evil.txt",
        "fit x.npy --items \x1b[31mnone.txt",
        "refine x.tree x.npy --items evil.txt",
    ):
        done = cladify(*line.split(" "))
        shown = done.out + done.err
        assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"}, line
        assert "\\u001b" in shown or "\ufffd" in shown, line


def test_excel_safe(cladify, files):
    (files / "formulas.txt").write_text("".join(f"{mark}1+1\n" for mark in "=+-@x=+-@x=+"))
    for kind in ("csv", "tsv"):
        plain = cladify("cut", "x.tree", "-k", 2, "--items", "formulas.txt", "--out", f"plain.{kind}")
        safe = cladify("cut", "x.tree", "-k", 2, "--items", "formulas.txt", "--out", f"safe.{kind}", "--excel-safe")
        assert plain.code == safe.code == 0
        assert '"=1+1"' in (files / f"plain.{kind}").read_text()
        text = (files / f"safe.{kind}").read_text()
        assert '"\'=1+1"' in text and '"\'@1+1"' in text and '"x1+1"' in text
    line = "fit x.npy --quiet -k 2 --items formulas.txt --labels-out f.csv --excel-safe"
    assert cladify(*line.split()).code == 0 and '"\'=1+1"' in (files / "f.csv").read_text()


def test_terminals_without_unicode_get_ascii(files):
    (files / "names.txt").write_text("".join(f"Bäume → {i} {'long ' * 30}\n" for i in range(12)), encoding="utf-8")
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for line in ("fit x.npy --items names.txt --out y.tree", "cut x.tree -k 2 --items names.txt", "fit ä.npy"):
        code = [sys.executable, "-m", "cladify", *line.split()]
        done = subprocess.run(code, env=env, capture_output=True, check=False)
        assert b"bug in cladify" not in done.stderr and b"Traceback" not in done.stderr
        assert done.stdout.isascii() and done.stderr.isascii()
        assert done.returncode == (1 if "ä" in line else 0)


@pytest.mark.parametrize("method", ["scc", "hac", "affinity", "birch", "reciprocal"])
def test_k_means_the_same_to_the_estimator_and_to_the_command_line(cladify, method):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    np.save("x.npy", rows)
    assert cladify("fit", "x.npy", "-m", method, "-k", 10, "--labels-out", "y.npy", "--quiet").code == 0
    model = package.methods.METHODS[method].load()(n_clusters=10).fit(rows)
    assert len(set(model.labels_)) == 10
    assert np.array_equal(np.load("y.npy"), model.labels_)


def test_methods_reads_the_registry(cladify):
    listed = cladify("methods", "--json").json
    assert list(listed) == list(package.methods.METHODS)
    assert listed["scc"]["inputs"] == list(package.methods.METHODS["scc"].inputs)
    assert "linkage='ward'" in cladify("methods", "ward").err
