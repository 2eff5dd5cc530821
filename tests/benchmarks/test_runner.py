"""The benchmark runner reports what it should, and a contestant's misfortune stops nothing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "benchmarks"
CASES = """
import time
import numpy as np
from benchmarks.case import Case
from benchmarks.data import real

case = Case("tiny", "A tiny case", short={"n": 1000}, long={"n": 2000}, timeout=2)

@case.prepare
def data(n):
    return {"X": np.ones((n, 10), np.float32), "truth": 10.0 * n}

@case.contestant("ours", needs="numpy")
def ours(X):
    time.sleep(0.01)
    return X.sum()

@case.contestant("hungry", warm_up=True)
def hungry(X, n):
    print("noise on stdout")
    time.sleep(0.03)
    return np.ones(20_000_000).sum() * 0 + n

@case.contestant("absent", needs="no_such_module_at_all")
def absent(X): ...

@case.contestant("broken")
def broken(X):
    raise RuntimeError("went wrong")

@case.contestant("killed")
def killed(X):
    import os
    os._exit(7)

@case.contestant("slow")
def slow(X):
    time.sleep(60)

@case.contestant("large", max_n=10)
def large(X): ...

@case.quality("error")
def error(result, truth):
    return abs(result - truth)

missing = Case("nodata", "Needs data that is not there")

@missing.prepare
def nothing():
    return real("no_such_data")

@missing.contestant("ours")
def nobody(X): ...
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    shutil.copytree(
        SOURCE, folder / "benchmarks", ignore=shutil.ignore_patterns("bench_*.py", "results", "__pycache__")
    )
    (folder / "benchmarks" / "bench_tiny.py").write_text(CASES)
    return folder


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_report(folder: Path) -> None:
    done = bench(folder, "tiny", "--repeat", "2", "--out", "out")
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "out" / "tiny.json").read_text())
    assert (folder / "out" / "tiny.md").read_text().strip() == done.stdout.strip()
    assert report["machine"]["versions"]["numpy"] and report["machine"]["commit"]
    ours, hungry = report["contestants"]["ours"], report["contestants"]["hungry"]
    assert len(ours["runs"]) == len(hungry["runs"]) == 2
    assert ours["median_seconds"] >= 0.01 and ours["time_ratio"] == 1
    assert hungry["time_ratio"] > 1 and hungry["warm_up_seconds"] > 0
    assert 150e6 < hungry["peak_bytes"] < 250e6, "20 M doubles are 160 MB"
    assert ours["peak_bytes"] < 20e6
    assert ours["quality"] == {"error": 0.0} and hungry["quality"] == {"error": 9000.0}
    for line in (
        "- absent: No module named 'no_such_module_at_all'",
        "- broken: RuntimeError: went wrong",
        "- killed: process ended with code 7",
        "- slow: took over 2 s",
        "- large: not run above n = 10",
    ):
        assert line in done.stdout
    assert "(n = 1 000)" in done.stdout


def test_long_sizes_and_choice_of_contestants(folder: Path) -> None:
    done = bench(folder, "t*y", "--repeat", "1", "--long", "--only", "ours", "--out", "out")
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "out" / "tiny-long.json").read_text())
    assert report["sizes"] == {"n": 2000} and list(report["contestants"]) == ["ours"]
    assert report["contestants"]["ours"]["quality"] == {"error": 0.0}


def test_missing_data_and_unknown_cases(folder: Path) -> None:
    done = bench(folder, "nodata", "--out", "out")
    assert done.returncode == 0 and "Skipped: data set 'no_such_data' not found" in done.stdout
    done = bench(folder, "tinny")
    assert done.returncode == 2 and "no case is called 'tinny'; known: tiny, nodata" in done.stderr
    assert "tiny" in bench(folder, "--list").stdout


def test_every_case_of_the_project_is_declared_well() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--list"],
        cwd=SOURCE.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "import" in done.stdout
