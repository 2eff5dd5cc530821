"""A process forked after a fit has none of its threads: every method works there all the same."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, sys, time, warnings
import numpy as np
import cladify
from cladify._fit import METHODS

rng = np.random.default_rng(0)
X = (rng.normal(size=(20, 8))[np.arange(200) % 20] + 0.1 * rng.normal(size=(200, 8))).astype(np.float32)

def fit(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = {"n_steps": 10} if METHODS[method].family == "gradient" else {}
        return cladify.fit(X, method=method, random_state=0, n_jobs=2, **steps).height

def forked(method, expected):
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if (fit(method) == expected).all() else 2)
        finally:
            os._exit(1)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"

bad = {m: status for m in METHODS if (status := forked(m, fit(m))) != 0}
sys.exit(str(bad) if bad else 0)
"""

POOL = """
import multiprocessing, sys
import numpy as np
import cladify

X = np.random.default_rng(0).normal(size=(600, 8)).astype(np.float32)

def fit(method):
    return cladify.fit(X, method=method, random_state=0, n_jobs=2).height

if __name__ == "__main__":
    methods = ["scc", "kmeans", "hac", "bisect"]
    expected = [fit(m) for m in methods]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(fit, methods).get(timeout=90)
    sys.exit(0 if all((a == b).all() for a, b in zip(found, expected)) else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("script", [SCRIPT, POOL], ids=["os.fork", "multiprocessing"])
def test_methods_work_in_a_forked_child(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
