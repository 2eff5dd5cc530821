"""Which build of the core is loaded: the best that is there and that this processor runs."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from cladify import _core


def level(missing: list[str], wanted: str = "v4") -> str:
    """``cladify._core.ISA`` in a process where these builds are not installed; empty if it cannot be imported."""
    code = f"""
import os, sys
os.environ["CLADIFY_ISA"] = {wanted!r}
sys.modules.update(dict.fromkeys({[f"cladify.{name}" for name in missing]!r}))
from cladify import _core
print(_core.ISA)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def test_one_build_is_enough() -> None:
    built = [name for name in ("base", "v3") if level([f"_core_{other}" for other in {"base", "v3"} - {name}], "v3")]
    assert built
    for name in built:
        others = [f"_core_{other}" for other in {"base", "v3"} - {name}]
        assert level(others, "v3") == name
    assert level(["_core_base", "_core_v3"]) == ""


def test_a_lower_level_can_be_asked_for() -> None:
    if not level(["_core_v3"], "v3"):
        pytest.skip("the core was built for this machine alone; both builds: make .venv/.test")
    assert level([], "base") == "base"


def test_the_processor_is_read_as_the_system_reads_it() -> None:
    cpuinfo = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        pytest.skip("only Linux on x86-64 lists what its processor can do by these names")
    flags = set(next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")).split())
    v3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
    assert _core.supports_v3() == (v3 <= flags)
    assert _core.can_screen() == ({"avx512f", "avx512bw", "avx512_vnni"} <= flags)


def test_every_level_finds_the_same_neighbors() -> None:
    if not level(["_core_v3"], "v3"):
        pytest.skip("the core was built for this machine alone; both builds: make .venv/.test")
    code = """
import hashlib, os, sys
os.environ["CLADIFY_ISA"] = sys.argv[1]
import numpy as np, cladify
rng = np.random.default_rng(0)
X = (rng.normal(size=(40, 37))[rng.integers(40, size=4500)] + 0.3 * rng.normal(size=(4500, 37))).astype(np.float32)
X[::50] = X[0]
for metric in ("cosine", "sqeuclidean"):
    for method in ("exact", "shards"):
        graph = cladify.neighbors(X, 9, metric, method, n_jobs=1)
        print(hashlib.sha256(graph.indices.tobytes() + graph.distances().tobytes()).hexdigest())
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, timeout=120, check=True
        ).stdout
        for name in ("base", "v3", "v4")
    }
    assert len(found) == 1
