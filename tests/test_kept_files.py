"""Files that a released version wrote are read by this one, and say the same (``kept_files.py``)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from kept_files import KEPT, formats, read, read_model, write

VERSIONS = sorted(KEPT.iterdir())


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the files of a version: an online folder gets a lock when it is opened."""
    return Path(shutil.copytree(request.param, tmp_path / "kept"))


def test_files_of_released_versions_say_what_they_said(kept):
    says = json.loads((kept / "says.json").read_text(encoding="utf-8"))
    del says["model"]
    assert read(kept) == says


def test_models_of_released_versions_place_rows_as_they_did(kept):
    pytest.importorskip("torch")
    says = json.loads((kept / "says.json").read_text(encoding="utf-8"))["model"]
    assert np.ptp(says) > 1
    np.testing.assert_allclose(read_model(kept), says, rtol=1e-4, atol=1e-4)


def test_every_format_of_today_is_kept(tmp_path):
    """A new version of a format needs a folder of its files before it is released."""
    write(tmp_path / "today")
    today = formats(tmp_path / "today")
    assert len(today) == 6 and today in [formats(folder) for folder in VERSIONS]
