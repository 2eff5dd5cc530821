"""The project's own name: the one it had before is a stranger's on PyPI."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OLD = "ram" + "ify"


def test_the_old_name_is_gone():
    """In no tracked file and no file's name, but for the one line of the changelog that tells of it."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of the project's own files")
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout
    files = [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    assert len(files) > 100
    assert not [name for name in files if OLD in name.lower()]
    lines = [
        (name, line)
        for name in files
        for line in (ROOT / name).read_bytes().lower().splitlines()
        if OLD.encode() in line
    ]
    assert [name for name, _ in lines] == ["CHANGELOG.md"], lines
