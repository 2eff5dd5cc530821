"""Damaged and forged files of every format of our own: read, or refused in one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("safetensors")
pytest.importorskip("torch")  # one of the files is a trained model


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured as Linux shows it")
@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.nightly)])
def test_mutants_are_read_or_refused(count):
    script = Path(__file__).with_name("mutants.py")
    ran = subprocess.run([sys.executable, script, str(count)], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(lines) == 8
    for outcomes in (outcomes for line in lines for outcomes in line.values()):
        assert set(outcomes) <= {"read", "refused"}, lines
        assert outcomes["refused"] > 0 and sum(outcomes.values()) == count
