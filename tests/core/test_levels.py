"""Which build of the core is loaded: the best that is there and that this processor runs."""

import subprocess
import sys

import pytest


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
