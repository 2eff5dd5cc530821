"""What a user waits for before any work starts: importing, and the first line of the command line."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.case import Case

start = Case(
    "import",
    "A new process that imports one thing; bar: 0.1 s of the processor for cladify, 0.3 s for `cladify --help`",
    repeat=5,
)


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


@start.contestant("cladify")
def cladify() -> None:
    _python("-c", "import cladify")


@start.contestant("cladify --help")
def cladify_help() -> None:
    _python("-m", "cladify", "--help")


@start.contestant("bare python")
def bare() -> None:
    _python("-c", "pass")


@start.contestant("numpy")
def numpy() -> None:
    _python("-c", "import numpy")


@start.contestant("scipy linkage", needs="scipy")
def scipy() -> None:
    _python("-c", "import scipy.cluster.hierarchy")


@start.contestant("scikit-learn", needs="sklearn")
def sklearn() -> None:
    _python("-c", "import sklearn.cluster")


@start.contestant("fastcluster", needs="fastcluster")
def fastcluster() -> None:
    _python("-c", "import fastcluster")
