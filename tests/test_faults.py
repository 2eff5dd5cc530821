"""Disks that are full or broken for a moment: every call on every file fails once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CODES = ["ENOSPC", "EIO", "EINTR"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calls are caught by the loader of Linux")
@pytest.mark.parametrize(
    ("count", "codes"), [(1, ["EIO"]), *(pytest.param(n, CODES, marks=pytest.mark.nightly) for n in (1, 10**6))]
)
def test_the_old_state_is_whole_after_any_fault(count, codes, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HERE / "io_faults.c", "-ldl"], check=True)
    ran = subprocess.run(
        [sys.executable, HERE / "io_faults.py", str(count), *codes],
        env={**os.environ, "LD_PRELOAD": str(library), "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=True,
        text=True,
    )
    found = json.loads(ran.stdout)
    assert {name: case["problems"] for name, case in found.items() if case["problems"]} == {}
    assert all(case["failed"] > 0 for case in found.values()) or codes == ["EINTR"]
