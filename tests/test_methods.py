"""The registry: what it declares is true, and everything that lists methods reads it."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cladify
from cladify.errors import InvalidInput
from cladify.methods import INPUTS, METHODS, Size, find_method, machine

ROOT = Path(__file__).resolve().parents[1]
X = np.random.default_rng(0).normal(size=(30, 3))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_an_entry_is_whole(method):
    cls = method.load()
    assert getattr(cladify, method.estimator) is cls
    assert set(method.inputs) <= set(INPUTS) and method.advice.endswith(".") and len(method.advice) <= 80
    parameters = inspect.signature(cls).parameters
    assert ("random_state" in parameters) == method.draws
    assert ("metric" in parameters) == (method.metrics != () and method.name != "random")
    small, large = method.estimate(Size(1000, 10)), method.estimate(Size(100_000, 10))
    assert 0 < small[0] < large[0] and 0 < small[1] < large[1]


def test_info_tells_approximations():
    graph = cladify.neighbors(X, 5).connect(X)
    assert cladify.HAC(epsilon=0.1).fit(graph).tree_.info["approximations"] == ["epsilon 0.1"]
    laplacian = cladify.fit(X, "bisect", metric="laplacian", random_state=0)
    assert laplacian.info["approximations"] == ["random features"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ward", "method='hac', linkage='ward'"),
        ("HAC", "method='hac'"),
        ("hdbscan", "method='robust'"),
        ("HDBSCAN", "method='robust'"),
        ("BisectingKMeans", "method='kmeans'"),
        ("k-means", "method='kmeans'"),
        ("sccc", "Did you mean 'scc'"),
    ],
)
def test_hints(name, hint):
    with pytest.raises(InvalidInput, match=re.escape(hint)):
        cladify.fit(X, name)
    with pytest.raises(InvalidInput, match=re.escape(hint)):
        find_method(name)


def test_the_probe_is_quick_and_kept():
    machine.cache_clear()
    found = machine(1)
    assert found.flops > 1e8 and found.steps > 1e6
    assert machine(1) is found


def test_the_table_of_the_documentation_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_methods", ROOT / "docs" / "make_methods.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "run python docs/make_methods.py"


def test_nobody_asks_again_what_X_is():
    sources = {path: path.read_text() for path in (ROOT / "src" / "cladify").rglob("*.py")}
    assert [path for path, text in sources.items() if re.search(r"hasattr\(X|(?<!def )\bis_graph\(", text)] == []


def test_import_stays_quick():
    code = "import time; t = time.process_time(); import cladify; print(time.process_time() - t)"
    took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    assert took < 0.1
